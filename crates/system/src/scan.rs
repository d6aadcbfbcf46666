//! Parses the text files of /proc and /sys without allocation.

/// The words of a line, separated by blanks and tabs.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// The non-empty lines of a file.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// An unsigned decimal number; `None` if it is malformed or too large.
#[inline]
pub(crate) fn parse_number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for &byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(value)
}

/// An unsigned hexadecimal number without prefix; `None` if it is malformed or too large.
pub(crate) fn parse_hexadecimal(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 16 {
        return None;
    }
    word.iter().try_fold(0, |value, &byte| Some(value << 4 | u64::from(char::from(byte).to_digit(16)?)))
}

/// A decimal number, possibly negative.
pub(crate) fn parse_signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => parse_number(digits).and_then(|value| 0_i64.checked_sub_unsigned(value)),
        None => parse_number(word).and_then(|value| value.try_into().ok()),
    }
}

/// Parses `12.34` as 1,234: the kernel writes two digits after the point of averages.
pub(crate) fn parse_hundredths(word: &[u8]) -> Option<u64> {
    let point = word.len().checked_sub(3)?;
    let (whole, fraction) = (&word[..point], &word[point..]);
    let hundredths = parse_number(fraction.strip_prefix(b".")?)?;
    parse_number(whole)?.checked_mul(100)?.checked_add(hundredths)
}

/// Parses a file that contains only a number.
pub(crate) fn parse_single_number(text: &[u8]) -> Option<u64> {
    parse_number(text.trim_ascii())
}

/// Parses the list in a file such as `/sys/devices/system/cpu/online`: `0-3,8,10-11`. Returns up to 65,536 numbers.
pub(crate) fn parse_number_list(text: &[u8]) -> Vec<u32> {
    let mut list = Vec::new();
    parse_number_list_into(text, &mut list);
    list
}

/// Like [`number_list`], but fills an existing list.
pub(crate) fn parse_number_list_into(text: &[u8], list: &mut Vec<u32>) {
    list.clear();
    for part in text.trim_ascii().split(|&byte| byte == b',') {
        let mut ends = part.splitn(2, |&byte| byte == b'-').map(parse_number);
        let first = ends.next().flatten();
        let last = ends.next().map_or(first, |last| last);
        let (Some(first), Some(last)) = (first, last) else { continue };
        let room = 65_536 - list.len() as u64;
        list.extend((first..=last).take(room as usize).filter_map(|number| u32::try_from(number).ok()));
    }
}

/// Decodes the escapes of blanks, tabs, line ends and backslashes, which the kernel writes as `\` and three octal
/// digits.
pub(crate) fn unescape(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| byte == b'\\').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            u8::from_str_radix(digits, 8).ok()
        });
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed() {
        assert_eq!(parse_number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_number(b"18446744073709551616"), None);
        assert_eq!(parse_number(b"-1"), None);
        assert_eq!(parse_number(b""), None);
        assert_eq!(parse_signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_signed(b"12"), Some(12));
        assert_eq!(parse_single_number(b"42\n"), Some(42));
        assert_eq!([parse_hundredths(b"12.34"), parse_hundredths(b"0.05")], [Some(1234), Some(5)]);
        assert_eq!(
            [
                parse_hundredths(b"1.2"),
                parse_hundredths(b".12"),
                parse_hundredths(b"1.-2"),
                parse_hundredths(b"12")
            ],
            [None; 4]
        );
        assert_eq!(parse_hexadecimal(b"0000170d"), Some(0x170d));
        assert_eq!(parse_hexadecimal(b"ffffffffffffffff"), Some(u64::MAX));
        assert_eq!(
            [parse_hexadecimal(b""), parse_hexadecimal(b"0x1"), parse_hexadecimal(b"10000000000000000")],
            [None; 3]
        );
    }

    #[test]
    fn lists_are_expanded() {
        assert_eq!(parse_number_list(b"0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_number_list(b"\n"), [0; 0]);
        assert_eq!(parse_number_list(b"3-1"), [0; 0]);
        assert_eq!(parse_number_list(b"0-18446744073709551615").len(), 65_536);
    }

    #[test]
    fn words_and_lines_are_not_empty() {
        assert_eq!(words(b" a\t b ").collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(lines(b"a\n\nb").collect::<Vec<_>>(), [b"a", b"b"]);
    }
}
