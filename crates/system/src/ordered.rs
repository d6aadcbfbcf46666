//! Lists that are told anew at every reading, mostly in the same order: devices, interfaces, mounts.

/// Brings the known thing that `is` recognises to the place `next`, where the reading has come to; `false` where there
/// is none yet, and it is to be inserted there.
///
/// What is gone gathers behind: cutting the list after the last place of a reading leaves exactly what it told.
pub(crate) fn bring<T>(list: &mut [T], next: usize, is: impl Fn(&T) -> bool) -> bool {
    let Some(found) = list.iter().skip(next).position(is) else { return false };
    list[next..=next + found].rotate_right(1);
    true
}

/// The lines of a text that end in a line end, and the unfinished rest: a number in it may have been cut.
pub(crate) fn finished(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |place| place + 1);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_order_of_the_reading() {
        let mut list = vec!['a', 'b', 'c'];
        for (next, name) in ['c', 'x', 'a'].into_iter().enumerate() {
            if !bring(&mut list, next, |&known| known == name) {
                list.insert(next, name);
            }
        }
        list.truncate(3);
        assert_eq!(list, ['c', 'x', 'a']);
    }

    #[test]
    fn an_unfinished_line_is_told_apart() {
        assert_eq!(finished(b"a 1\nb 2"), (&b"a 1\n"[..], &b"b 2"[..]));
        assert_eq!(finished(b"a"), (&b""[..], &b"a"[..]));
        assert_eq!(finished(b"a\n"), (&b"a\n"[..], &b""[..]));
    }
}
