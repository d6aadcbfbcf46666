//! GUIDs of counter sets and providers.

use std::fmt;
use std::str::FromStr;

/// A GUID, which is displayed in braces.
///
/// ```
/// use tachograph_schema::Guid;
///
/// const SHOP: Guid = Guid::parse("{b4fc721a-0378-476f-89ba-a5a79f810b36}");
/// assert_eq!(SHOP.to_string(), "{b4fc721a-0378-476f-89ba-a5a79f810b36}");
/// assert_eq!(SHOP.to_bytes()[..4], [0x1A, 0x72, 0xFC, 0xB4]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Guid(u128);

/// The error of parsing a string that is not a GUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuidError;

impl Guid {
    /// The GUID whose 32 hexadecimal digits are those of `number`.
    pub const fn from_u128(number: u128) -> Self {
        Self(number)
    }

    /// The number with the GUID's 32 hexadecimal digits.
    pub const fn to_u128(self) -> u128 {
        self.0
    }

    /// The GUID with these 16 bytes, in the order of Windows, in which the first three fields are little-endian.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
        let [i, j, k, l, m, n, o, p] = rest;
        Self(u128::from_be_bytes([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]))
    }

    /// The GUID's 16 bytes, in the order of Windows, in which the first three fields are little-endian.
    pub const fn to_bytes(self) -> [u8; 16] {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.0.to_be_bytes();
        let [i, j, k, l, m, n, o, p] = rest;
        [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
    }

    /// Parses a GUID in a constant: 32 hexadecimal digits, either without separators or with hyphens as in the example of
    /// [`Guid`]. With hyphens, braces are optional.
    ///
    /// # Panics
    ///
    /// If the string is not a GUID. In a constant, this is a compiler error. [`str::parse`] returns an error instead.
    pub const fn parse(text: &str) -> Self {
        match Self::parse_bytes(text.as_bytes()) {
            Some(guid) => guid,
            None => panic!("not a GUID: expected a form like b4fc721a-0378-476f-89ba-a5a79f810b36"),
        }
    }

    const fn parse_bytes(text: &[u8]) -> Option<Self> {
        let start = match text.len() {
            32 => return Self::parse_digits(text),
            36 => 0,
            38 if text[0] == b'{' && text[37] == b'}' => 1,
            _ => return None,
        };
        let mut digits = [0; 32];
        let (mut offset, mut digit_count) = (0, 0);
        while offset < 36 {
            let byte = text[start + offset];
            if matches!(offset, 8 | 13 | 18 | 23) {
                if byte != b'-' {
                    return None;
                }
            } else {
                digits[digit_count] = byte;
                digit_count += 1;
            }
            offset += 1;
        }
        Self::parse_digits(&digits)
    }

    const fn parse_digits(digits: &[u8]) -> Option<Self> {
        let mut number = 0;
        let mut index = 0;
        while index < digits.len() {
            let digit = match digits[index] {
                byte @ b'0'..=b'9' => byte - b'0',
                byte @ b'a'..=b'f' => byte - b'a' + 10,
                byte @ b'A'..=b'F' => byte - b'A' + 10,
                _ => return None,
            };
            number = number << 4 | digit as u128;
            index += 1;
        }
        Some(Self(number))
    }
}

impl FromStr for Guid {
    type Err = GuidError;

    fn from_str(text: &str) -> Result<Self, GuidError> {
        Self::parse_bytes(text.as_bytes()).ok_or(GuidError)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        write!(
            f,
            "{{{:08x}-{:04x}-{:04x}-{:04x}-{:012x}}}",
            number >> 96,
            number >> 80 & 0xFFFF,
            number >> 64 & 0xFFFF,
            number >> 48 & 0xFFFF,
            number & 0xFFFF_FFFF_FFFF
        )
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for GuidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a GUID: expected a form like {b4fc721a-0378-476f-89ba-a5a79f810b36}")
    }
}

impl std::error::Error for GuidError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_are_not_guids_are_rejected() {
        let good = "{b4fc721a-0378-476f-89ba-a5a79f810b36}";
        assert_eq!(good.parse::<Guid>().expect("a GUID").to_string(), good);
        assert_eq!(good[1..37].to_uppercase().parse(), good.parse::<Guid>());
        assert_eq!(good[1..37].replace('-', "").parse(), good.parse::<Guid>());
        for index in 0..good.len() {
            let mut text = good.as_bytes().to_vec();
            text[index] = b'!';
            assert!(String::from_utf8(text).expect("ASCII").parse::<Guid>().is_err(), "at {index}");
        }
        for length in 0..good.len() {
            assert!(good[..length].parse::<Guid>().is_err(), "{length} characters");
        }
    }

    #[test]
    fn bytes_are_in_the_order_of_windows() {
        let guid = Guid::parse("00112233-4455-6677-8899-aabbccddeeff");
        let bytes =
            [0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF];
        assert_eq!(guid.to_bytes(), bytes);
        assert_eq!(Guid::from_bytes(bytes), guid);
    }
}
