//! Names that applications give, of which none is trusted.

use tachograph_counters::path::CounterPath;
use uuid::Uuid;

use crate::Guid;

/// A text without control characters: what is one becomes U+FFFD.
pub(super) fn cleaned(text: &str) -> String {
    text.chars().map(clean).collect()
}

/// As [`cleaned`], in place; nothing is allocated where there is nothing to clean.
pub(super) fn clean_up(text: &mut String) {
    if text.chars().any(|c| c.is_control()) {
        *text = cleaned(text);
    }
}

fn clean(c: char) -> char {
    if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }
}

/// Whether a counter path can name this set and counter, with or without an instance, and nothing else by it.
pub(super) fn can_be_named(set: &str, counter: &str) -> bool {
    let has_wildcard = |name: &str| name.contains(['*', '?']);
    let has_control = |name: &str| name.chars().any(char::is_control);
    if [set, counter].into_iter().any(|name| has_wildcard(name) || has_control(name) || name.trim() != name) {
        return false;
    }
    [None, Some("x")].into_iter().all(|instance| {
        let path = match instance {
            Some(instance) => format!(r"\{set}({instance})\{counter}"),
            None => format!(r"\{set}\{counter}"),
        };
        CounterPath::parse(&path).is_ok_and(|path| {
            path.machine.is_none()
                && path.set == set
                && path.counter == counter
                && path.instance.as_ref().map(|name| name.as_str()) == instance
        })
    })
}

/// The name of a set of another user.
pub(super) fn marked_name(name: &str, owner: u32) -> String {
    format!("{name} [uid {owner}]")
}

/// The GUID of a set of another user: version 5 of the set's GUID and the text `uid` with the number.
pub(super) fn marked_guid(guid: Guid, owner: u32) -> Guid {
    let space = Uuid::from_bytes_le(guid.to_bytes());
    Guid::from_u128(Uuid::new_v5(&space, format!("uid {owner}").as_bytes()).as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_paths_can_mean() {
        for (set, counter) in [
            ("Shop", "Requests/sec"),
            ("Shop & Co", "% Hits"),
            ("Größe", "Bytes (in)"),
            ("a.b", "Avg. sec/Request"),
        ] {
            assert!(can_be_named(set, counter), "{set} {counter}");
        }
        for (set, counter) in [
            ("", "x"),
            ("Shop", ""),
            ("Sh\\op", "x"),
            ("Shop(1)", "x"),
            ("Shop", "a\\b"),
            ("Shop*", "x"),
            ("Shop", "x?"),
            ("Sh\nop", "x"),
            ("Shop", "x\u{1b}[2J"),
            (" Shop", "x"),
            ("\\Shop", "x"),
        ] {
            assert!(!can_be_named(set, counter), "{set:?} {counter:?}");
        }
    }

    proptest::proptest! {
        /// What publishers let pass, readers show.
        #[test]
        fn publishers_and_readers_agree(set in "[a-zü ()#/\\\\.:*?]{0,8}", counter in "[a-zü ()#/\\\\.:*?]{0,8}") {
            use tachograph_shm::naming::{fault_of_counter_name, fault_of_set_name};
            if fault_of_set_name(&set).is_none() && fault_of_counter_name(&counter).is_none() {
                proptest::prop_assert!(can_be_named(&set, &counter), "{set:?} {counter:?}");
            }
        }
    }

    #[test]
    fn a_mark_is_a_set_of_its_own() {
        let guid = Guid::from_u128(0x1234);
        assert_eq!(marked_name("Shop", 1000), "Shop [uid 1000]");
        assert_ne!(marked_guid(guid, 1000), guid);
        assert_ne!(marked_guid(guid, 1000), marked_guid(guid, 1001));
        assert_eq!(marked_guid(guid, 1000), marked_guid(guid, 1000));
    }
}
