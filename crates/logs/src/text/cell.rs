//! Parses a cell of a row: a number, or no value.

/// The contents of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// Only white space: no value.
    Blank,
    /// A finite number.
    Number(f64),
    /// Anything else, including infinity, NaN, and numbers outside the range of a double.
    Other,
}

/// Maximum length of a number; no program writes longer ones.
const MAX_LENGTH: usize = 400;

/// Parses a cell.
///
/// A single comma without a point is a decimal comma: Windows' tools write the decimal separator of the user's
/// locale, and never thousands separators.
pub(super) fn parse_cell(bytes: &[u8]) -> Cell {
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        return Cell::Blank;
    }
    // The words that Rust parses as infinity and NaN start with a letter, after an optional sign.
    let unsigned = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    if bytes.len() > MAX_LENGTH || unsigned.first().is_none_or(u8::is_ascii_alphabetic) {
        return Cell::Other;
    }
    let mut with_point = [0; MAX_LENGTH];
    let mut text = bytes;
    if let Some(comma) = bytes.iter().position(|&byte| byte == b',') {
        let is_decimal = !bytes.contains(&b'.') && !bytes[comma + 1..].contains(&b',');
        if !is_decimal {
            return Cell::Other;
        }
        with_point[..bytes.len()].copy_from_slice(bytes);
        with_point[comma] = b'.';
        text = &with_point[..bytes.len()];
    }
    match std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) {
        Some(number) if number.is_finite() => Cell::Number(number),
        _ => Cell::Other,
    }
}

/// Whether a number has more than 17 significant digits, as written by Windows 10 and later.
pub(super) fn has_more_than_17_digits(cell: &[u8]) -> bool {
    // Most cells are shorter.
    if cell.len() <= 17 {
        return false;
    }
    let mantissa = cell.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit());
    digits.skip_while(|&&digit| digit == b'0').count() > 17
}

#[cfg(test)]
mod tests {
    use super::{Cell, has_more_than_17_digits, parse_cell};

    #[test]
    fn more_than_17_digits_are_detected() {
        for (cell, expected) in [
            ("78.80082537392173947", true),
            ("-1.0203296383395057401e-005", true),
            ("123456789012345678", true),
            ("0.33300142472592542", false),
            ("0.00000000000000000000001", false),
            ("1.2345678901234567e-0000000000005", false),
            ("12345678901234567", false),
            ("", false),
        ] {
            assert_eq!(has_more_than_17_digits(cell.as_bytes()), expected, "{cell}");
        }
    }

    #[test]
    fn cells_are_parsed() {
        for (text, expected) in [
            ("", Cell::Blank),
            (" ", Cell::Blank),
            ("\r", Cell::Blank),
            ("0", Cell::Number(0.0)),
            ("-0", Cell::Number(-0.0)),
            (" 12.5 ", Cell::Number(12.5)),
            ("12,5", Cell::Number(12.5)),
            (",5", Cell::Number(0.5)),
            ("1e-005", Cell::Number(1e-5)),
            ("1.0000000000000002e+17", Cell::Number(1.0000000000000002e17)),
            ("0.10000000000000001", Cell::Number(0.1)),
            ("1,234,567", Cell::Other),
            ("1,234.5", Cell::Other),
            ("1.234,5", Cell::Other),
            ("12 5", Cell::Other),
            ("NaN", Cell::Other),
            ("-nan(ind)", Cell::Other),
            ("1.#INF", Cell::Other),
            ("inf", Cell::Other),
            ("+Infinity", Cell::Other),
            ("1e999", Cell::Other),
            ("-", Cell::Other),
            (",", Cell::Other),
            ("0x10", Cell::Other),
            ("text", Cell::Other),
        ] {
            assert_eq!(parse_cell(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(parse_cell(&[0xff, 0xfe]), Cell::Other);
        assert_eq!(parse_cell(&[b'1'; 401]), Cell::Other);
        assert!(matches!(parse_cell(&[b'1'; 300]), Cell::Number(_)));
    }
}
