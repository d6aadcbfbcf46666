//! Which names counter paths can mean: `\set(instance)\counter`, and wildcards in each of the three.

use crate::CounterSetInfo;

/// What is wrong with the name of a counter set, as the end of a sentence that begins with what has the name; `None` where
/// counter paths can mean it.
pub fn fault_of_set_name(name: &str) -> Option<String> {
    fault_of_counter_name(name).or_else(|| {
        // What stands in parentheses after the name of a set is an instance.
        holds(name, |letter| matches!(letter, '(' | ')'))
    })
}

/// As [`fault_of_set_name`], of the name of a counter.
pub fn fault_of_counter_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("cannot be empty".to_owned());
    }
    if name.encode_utf16().count() > CounterSetInfo::MAX_NAME {
        return Some(format!("has at most {} characters of UTF-16", CounterSetInfo::MAX_NAME));
    }
    if name.trim() != name {
        return Some("cannot begin or end with a blank: paths of counters could not tell it".to_owned());
    }
    if !is_balanced(name) {
        return Some(
            "has to have a partner for each parenthesis: paths of counters could not tell it".to_owned(),
        );
    }
    holds(name, |letter| matches!(letter, '\\' | '*' | '?') || letter.is_control())
}

fn holds(name: &str, is_wrong: impl Fn(char) -> bool) -> Option<String> {
    let wrong = name.chars().find(|&letter| is_wrong(letter))?;
    Some(format!("cannot hold {wrong:?}: paths of counters could not tell it"))
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
            ("Shop (a)", "cannot hold '(': "),
            ("Sh*op", "cannot hold '*': "),
            ("Shop?", "cannot hold '?': "),
            ("Sh\\op", "cannot hold '\\\\': "),
            ("Sh\u{1b}op", "cannot hold '\\u{1b}': "),
            ("", "cannot be empty"),
            (" ", "cannot be empty"),
            ("Shop ", "cannot begin or end with a blank: "),
            ("Shop)", "has to have a partner for each parenthesis: "),
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
