//! A cursor over the fields of a text.

/// The unread rest of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl Cursor<'_> {
    /// Reads the next number, and the byte that must follow it, so that a truncated number is not accepted.
    #[inline]
    pub(super) fn next_number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let mut length = 0;
        loop {
            let &byte = self.0.get(length)?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            // 19 digits always fit.
            value = if length < 19 {
                value * 10 + u64::from(digit)
            } else {
                value.checked_mul(10)?.checked_add(digit.into())?
            };
            length += 1;
        }
        if length == 0 {
            return None;
        }
        self.0 = &self.0[length + 1..];
        Some(value)
    }

    /// Like [`number`](Self::number), for a number that can be negative.
    #[inline]
    pub(super) fn next_signed(&mut self) -> Option<i64> {
        let is_negative = self.0.first() == Some(&b'-');
        if is_negative {
            self.0 = &self.0[1..];
        }
        let value = i64::try_from(self.next_number()?).ok()?;
        Some(if is_negative { -value } else { value })
    }

    /// Skips this number of fields.
    #[inline]
    pub(super) fn skip(&mut self, fields: usize) -> Option<()> {
        for _ in 0..fields {
            let blank = find(self.0, b' ')?;
            self.0 = &self.0[blank + 1..];
        }
        Some(())
    }

    /// Like [`number`](Self::number), after any blanks and tabs.
    #[inline]
    pub(super) fn next_after_blanks(&mut self) -> Option<u64> {
        let blanks = self.0.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
        self.0 = &self.0[blanks..];
        self.next_number()
    }

    /// Skips to the next line; `None` if this one is unfinished.
    #[inline]
    pub(super) fn next_line(&mut self) -> Option<()> {
        let end = find(self.0, b'\n')?;
        self.0 = &self.0[end + 1..];
        Some(())
    }
}

/// The index of the first occurrence of a byte. Compares eight bytes per step, because half of a sample's user-mode
/// time is spent here.
#[inline]
fn find(text: &[u8], byte: u8) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let pattern = ONES * u64::from(byte);
    let (eights, rest) = text.as_chunks::<8>();
    for (index, &eight) in eights.iter().enumerate() {
        let differences = u64::from_le_bytes(eight) ^ pattern;
        // The lowest set bit is in the first equal byte. Higher bits can be false positives.
        let hits = differences.wrapping_sub(ONES) & !differences & (ONES << 7);
        if hits != 0 {
            return Some(index * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let index = rest.iter().position(|&other| other == byte)?;
    Some(text.len() - rest.len() + index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_returns_the_first_occurrence() {
        for length in 0..40 {
            for index in 0..length {
                let mut text = vec![0x0b_u8; length];
                text[index] = b'\n';
                assert_eq!(find(&text, b'\n'), Some(index));
                text[length - 1] = b'\n';
                assert_eq!(find(&text, b'\n'), Some(index));
            }
            assert_eq!(find(&vec![0x8a; length], b'\n'), None);
        }
    }

    #[test]
    fn truncated_and_overflowing_numbers_are_rejected() {
        assert_eq!(Cursor(b"12").next_number(), None);
        assert_eq!(Cursor(b"").next_number(), None);
        assert_eq!(Cursor(b"x ").next_number(), None);
        assert_eq!(Cursor(b"18446744073709551615 ").next_number(), Some(u64::MAX));
        assert_eq!(Cursor(b"18446744073709551616 ").next_number(), None);
        assert_eq!(Cursor(b"9999999999999999999999999999999 ").next_number(), None);
        assert_eq!(Cursor(b"-9223372036854775807 ").next_signed(), Some(-i64::MAX));
        assert_eq!(Cursor(b"9223372036854775808 ").next_signed(), None);
        assert_eq!(Cursor(b"- ").next_signed(), None);
        assert_eq!(Cursor(b"\t   7 kB\n").next_after_blanks(), Some(7));
        assert_eq!(Cursor(b"a b").skip(2), None);
        assert_eq!(Cursor(b"a b").next_line(), None);
    }
}
