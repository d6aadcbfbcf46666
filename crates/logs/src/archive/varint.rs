//! Variable-length integers (LEB128), zigzag-encoded if signed, as in Parquet's own metadata.

use super::Damage;

/// Appends an unsigned integer.
pub(super) fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed integer.
pub(super) fn push_signed(out: &mut Vec<u8>, number: i64) {
    push(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a text with its length.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    push(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends the second differences of a list of integers. They are small for numbers that grow steadily, such as times.
pub(super) fn push_series(out: &mut Vec<u8>, numbers: impl Iterator<Item = i64>) {
    let (mut previous, mut step) = (0i64, 0i64);
    for number in numbers {
        let next_step = number.wrapping_sub(previous);
        push_signed(out, next_step.wrapping_sub(step));
        (previous, step) = (number, next_step);
    }
}

/// Reads integers and texts from untrusted bytes.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The number of remaining bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Damage> {
        let (&first, rest) = self.bytes.split_first().ok_or(Damage("a list ends too early"))?;
        self.bytes = rest;
        Ok(first)
    }

    pub(super) fn number(&mut self) -> Result<u64, Damage> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damage("a number has more than 64 bits"))
    }

    pub(super) fn signed(&mut self) -> Result<i64, Damage> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads a number that must be at most `max`.
    pub(super) fn number_up_to(&mut self, max: usize) -> Result<usize, Damage> {
        let number = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if number <= max { Ok(number) } else { Err(Damage("a number is too large")) }
    }

    /// Reads the number of elements of a list. Each element takes at least one byte, so the number must not exceed the
    /// remaining bytes.
    pub(super) fn count(&mut self) -> Result<usize, Damage> {
        self.number_up_to(self.len())
    }

    /// The next `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or(Damage("a list ends too early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// The bytes that `read` consumes.
    pub(super) fn consumed(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), Damage>,
    ) -> Result<&'a [u8], Damage> {
        let before = self.bytes;
        read(self)?;
        Ok(before.get(..before.len() - self.len()).unwrap_or_default())
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Damage> {
        let len = self.count()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| Damage("a text is not UTF-8"))
    }

    /// Reads `count` integers that [`push_series`] wrote.
    pub(super) fn series(&mut self, count: usize) -> Result<Vec<i64>, Damage> {
        if count > self.len() {
            return Err(Damage("a list ends too early"));
        }
        let (mut previous, mut step) = (0i64, 0i64);
        let mut next = || {
            step = step.wrapping_add(self.signed()?);
            previous = previous.wrapping_add(step);
            Ok(previous)
        };
        (0..count).map(|_| next()).collect()
    }

    /// Checks that no bytes remain.
    pub(super) fn end(&self) -> Result<(), Damage> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Damage("a list has trailing bytes")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_back(numbers in prop::collection::vec(any::<i64>(), 0..50), text in ".*") {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|&number| {
                push(&mut bytes, number as u64);
                push_signed(&mut bytes, number);
            });
            push_text(&mut bytes, &text);
            push_series(&mut bytes, numbers.iter().copied());
            let mut cursor = Cursor::new(&bytes);
            for &number in &numbers {
                prop_assert_eq!(cursor.number(), Ok(number as u64));
                prop_assert_eq!(cursor.signed(), Ok(number));
            }
            prop_assert_eq!(cursor.text(), Ok(text.as_str()));
            prop_assert_eq!(cursor.series(numbers.len()), Ok(numbers));
            prop_assert_eq!(cursor.end(), Ok(()));
        }

        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut cursor = Cursor::new(&bytes);
            while cursor.len() > 0 && cursor.number().is_ok() && cursor.text().is_ok() {}
            let _ = Cursor::new(&bytes).series(bytes.len());
        }
    }

    #[test]
    fn oversized_numbers_are_rejected() {
        assert!(Cursor::new(&[0xFF; 9]).number().is_err());
        assert_eq!(
            Cursor::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).number(),
            Ok(u64::MAX)
        );
        assert!(Cursor::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]).number().is_err());
        assert!(Cursor::new(&[0x80; 11]).number().is_err());
        assert!(Cursor::new(&[200]).count().is_err());
    }
}
