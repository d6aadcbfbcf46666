//! Checking that counter paths can contain a name.

use crate::CounterSetInfo;

/// If counter paths cannot contain `name` as the name of a counter set, returns the reason, such as "cannot be empty",
/// for a message that begins with the name.
pub fn fault_of_set_name(name: &str) -> Option<String> {
    fault_of_counter_name(name).or_else(|| {
        // In a path, parentheses after the name of a set contain an instance.
        contains(name, |letter| matches!(letter, '(' | ')'))
    })
}

/// Like [`fault_of_set_name`], but for the name of a counter.
pub fn fault_of_counter_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("cannot be empty".to_owned());
    }
    if name.encode_utf16().count() > CounterSetInfo::MAX_NAME {
        return Some(format!("has at most {} characters of UTF-16", CounterSetInfo::MAX_NAME));
    }
    if name.trim() != name {
        return Some("cannot begin or end with a blank: counter paths do not allow it".to_owned());
    }
    if !is_balanced(name) {
        return Some("has unbalanced parentheses: counter paths do not allow them".to_owned());
    }
    contains(name, |letter| matches!(letter, '\\' | '*' | '?') || letter.is_control())
}

fn contains(name: &str, is_wrong: impl Fn(char) -> bool) -> Option<String> {
    let wrong = name.chars().find(|&letter| is_wrong(letter))?;
    Some(format!("cannot contain {wrong:?}: counter paths do not allow it"))
}

fn is_balanced(name: &str) -> bool {
    let mut open = 0_usize;
    for letter in name.chars() {
        match letter {
            '(' => open += 1,
            ')' if open == 0 => return false,
            ')' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_faults() {
        for name in ["Shop", "Shop & Co", "Größe", "a.b", "% Hits/sec"] {
            assert_eq!((fault_of_set_name(name), fault_of_counter_name(name)), (None, None), "{name}");
        }
        assert_eq!(fault_of_counter_name("Bytes (in)"), None);
        for (name, fault) in [
            ("Shop (a)", "cannot contain '(': "),
            ("Sh*op", "cannot contain '*': "),
            ("Shop?", "cannot contain '?': "),
            ("Sh\\op", "cannot contain '\\\\': "),
            ("Sh\u{1b}op", "cannot contain '\\u{1b}': "),
            ("", "cannot be empty"),
            (" ", "cannot be empty"),
            ("Shop ", "cannot begin or end with a blank: "),
            ("Shop)", "has unbalanced parentheses: "),
            (&"x".repeat(1024), "has at most 1023 characters of UTF-16"),
        ] {
            let found = fault_of_set_name(name).expect("a fault");
            assert!(found.starts_with(fault), "{name}: {found}");
        }
        for name in ["a(b", "a)b(", "a\\b"] {
            assert!(fault_of_counter_name(name).is_some(), "{name}");
        }
    }
}
