//! Reading one number after another.

/// What is left of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl Cursor<'_> {
    /// The next number. A byte must follow it, so that a number that was cut off is none.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let mut place = 0;
        loop {
            let &byte = self.0.get(place)?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            // 19 digits fit in any case.
            value = if place < 19 {
                value * 10 + u64::from(digit)
            } else {
                value.checked_mul(10)?.checked_add(digit.into())?
            };
            place += 1;
        }
        if place == 0 {
            return None;
        }
        self.0 = &self.0[place + 1..];
        Some(value)
    }

    /// The next number, which may have a minus sign.
    #[inline]
    pub(super) fn signed(&mut self) -> Option<i64> {
        let is_negative = self.0.first() == Some(&b'-');
        if is_negative {
            self.0 = &self.0[1..];
        }
        let value = i64::try_from(self.number()?).ok()?;
        Some(if is_negative { -value } else { value })
    }

    /// Goes past so many fields.
    #[inline]
    pub(super) fn skip(&mut self, fields: usize) -> Option<()> {
        for _ in 0..fields {
            let blank = find(self.0, b' ')?;
            self.0 = &self.0[blank + 1..];
        }
        Some(())
    }

    /// The number behind blanks and tabs.
    #[inline]
    pub(super) fn aligned(&mut self) -> Option<u64> {
        let blanks = self.0.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
        self.0 = &self.0[blanks..];
        self.number()
    }

    /// Goes to the next line; `None` where this one has no end.
    #[inline]
    pub(super) fn next_line(&mut self) -> Option<()> {
        let end = find(self.0, b'\n')?;
        self.0 = &self.0[end + 1..];
        Some(())
    }
}

/// Where a byte first stands. Eight bytes are looked at in one step: half of the time of a sample that is not the
/// kernel's goes into this.
#[inline]
fn find(text: &[u8], byte: u8) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let pattern = ONES * u64::from(byte);
    let (eights, rest) = text.as_chunks::<8>();
    for (place, &eight) in eights.iter().enumerate() {
        let differences = u64::from_le_bytes(eight) ^ pattern;
        // The lowest bit that is set belongs to the first byte without difference; higher ones may be wrong.
        let hits = differences.wrapping_sub(ONES) & !differences & (ONES << 7);
        if hits != 0 {
            return Some(place * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let place = rest.iter().position(|&other| other == byte)?;
    Some(text.len() - rest.len() + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first() {
        for length in 0..40 {
            for place in 0..length {
                let mut text = vec![0x0b_u8; length];
                text[place] = b'\n';
                assert_eq!(find(&text, b'\n'), Some(place));
                text[length - 1] = b'\n';
                assert_eq!(find(&text, b'\n'), Some(place));
            }
            assert_eq!(find(&vec![0x8a; length], b'\n'), None);
        }
    }

    #[test]
    fn numbers_end() {
        assert_eq!(Cursor(b"12").number(), None);
        assert_eq!(Cursor(b"").number(), None);
        assert_eq!(Cursor(b"x ").number(), None);
        assert_eq!(Cursor(b"18446744073709551615 ").number(), Some(u64::MAX));
        assert_eq!(Cursor(b"18446744073709551616 ").number(), None);
        assert_eq!(Cursor(b"9999999999999999999999999999999 ").number(), None);
        assert_eq!(Cursor(b"-9223372036854775807 ").signed(), Some(-i64::MAX));
        assert_eq!(Cursor(b"9223372036854775808 ").signed(), None);
        assert_eq!(Cursor(b"- ").signed(), None);
        assert_eq!(Cursor(b"\t   7 kB\n").aligned(), Some(7));
        assert_eq!(Cursor(b"a b").skip(2), None);
        assert_eq!(Cursor(b"a b").next_line(), None);
    }
}
