//! Checks that a name can be part of a counter path.

use crate::CounterSetInfo;

/// Returns the reason why `name` cannot be the name of a counter set in a counter path; `None` if it can. In a message,
/// the reason follows the name: "cannot be empty".
pub fn fault_of_set_name(name: &str) -> Option<String> {
    fault_of_counter_name(name).or_else(|| {
        // In a path, parentheses after the name of a set contain an instance.
        forbidden_character(name, |character| matches!(character, '(' | ')'))
    })
}

/// Like [`fault_of_set_name`], but for the name of a counter.
pub fn fault_of_counter_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("cannot be empty".to_owned());
    }
    if name.encode_utf16().count() > CounterSetInfo::MAX_NAME {
        return Some(format!("cannot have more than {} UTF-16 units", CounterSetInfo::MAX_NAME));
    }
    if name.trim() != name {
        return Some("cannot begin or end with a blank: counter paths do not allow it".to_owned());
    }
    if !is_balanced(name) {
        return Some("has unbalanced parentheses: counter paths do not allow them".to_owned());
    }
    forbidden_character(name, |character| matches!(character, '\\' | '*' | '?') || character.is_control())
}

fn forbidden_character(name: &str, is_forbidden: impl Fn(char) -> bool) -> Option<String> {
    let found = name.chars().find(|&character| is_forbidden(character))?;
    Some(format!("cannot contain {found:?}: counter paths do not allow it"))
}

fn is_balanced(name: &str) -> bool {
    let mut depth = 0_usize;
    for character in name.chars() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_names_are_rejected_with_a_reason() {
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
            (&"x".repeat(1024), "cannot have more than 1023 UTF-16 units"),
        ] {
            let found = fault_of_set_name(name).expect("a fault");
            assert!(found.starts_with(fault), "{name}: {found}");
        }
        for name in ["a(b", "a)b(", "a\\b"] {
            assert!(fault_of_counter_name(name).is_some(), "{name}");
        }
    }
}
