//! Lists that are re-read at each sample, usually in the same order: devices, interfaces, mounts.

/// Moves the item for which `is_wanted` returns true to the index `next`. Returns whether there is such an item; if not, the
/// caller must insert it.
///
/// Items that no longer exist move to the end, so the caller must truncate the list after the last item that was read.
pub(crate) fn move_if_present<T>(list: &mut [T], next: usize, is_wanted: impl Fn(&T) -> bool) -> bool {
    let Some(found) = list.iter().skip(next).position(is_wanted) else { return false };
    list[next..=next + found].rotate_right(1);
    true
}

/// Splits a text after its last newline: the complete lines, and the rest, whose last number may be truncated.
pub(crate) fn split_complete_lines(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |index| index + 1);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_follows_the_order_of_the_file() {
        let mut list = vec!['a', 'b', 'c'];
        for (next, name) in ['c', 'x', 'a'].into_iter().enumerate() {
            if !move_if_present(&mut list, next, |&known| known == name) {
                list.insert(next, name);
            }
        }
        list.truncate(3);
        assert_eq!(list, ['c', 'x', 'a']);
    }

    #[test]
    fn an_unfinished_line_is_separated() {
        assert_eq!(split_complete_lines(b"a 1\nb 2"), (&b"a 1\n"[..], &b"b 2"[..]));
        assert_eq!(split_complete_lines(b"a"), (&b""[..], &b"a"[..]));
        assert_eq!(split_complete_lines(b"a\n"), (&b"a\n"[..], &b""[..]));
    }
}
