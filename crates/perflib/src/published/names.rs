//! Handles names from applications, which are not trusted.

use tachograph_counters::path::CounterPath;
use uuid::Uuid;

use crate::Guid;

/// Replaces control characters by U+FFFD.
pub(super) fn replace_controls(text: &str) -> String {
    text.chars().map(replace_control).collect()
}

/// Like [`cleaned`], but in place. Allocates only if there is a control character.
pub(super) fn clean_in_place(text: &mut String) {
    if text.chars().any(|c| c.is_control()) {
        *text = replace_controls(text);
    }
}

fn replace_control(c: char) -> char {
    if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }
}

/// Whether counter paths can select exactly this set and counter, with and without an instance.
pub(super) fn is_addressable(set: &str, counter: &str) -> bool {
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

/// The displayed name of a set that another user publishes.
pub(super) fn name_with_owner(name: &str, owner: u32) -> String {
    format!("{name} [uid {owner}]")
}

/// The GUID of a set that another user publishes: a version 5 UUID, computed from the set's GUID and the text `uid N`.
pub(super) fn guid_with_owner(guid: Guid, owner: u32) -> Guid {
    let space = Uuid::from_bytes_le(guid.to_bytes());
    Guid::from_u128(Uuid::new_v5(&space, format!("uid {owner}").as_bytes()).as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_path_can_contain_are_addressable() {
        for (set, counter) in [
            ("Shop", "Requests/sec"),
            ("Shop & Co", "% Hits"),
            ("Größe", "Bytes (in)"),
            ("a.b", "Avg. sec/Request"),
        ] {
            assert!(is_addressable(set, counter), "{set} {counter}");
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
            assert!(!is_addressable(set, counter), "{set:?} {counter:?}");
        }
    }

    proptest::proptest! {
        /// Every name that publishers accept can be shown by readers.
        #[test]
        fn publishers_and_readers_agree(set in "[a-zü ()#/\\\\.:*?]{0,8}", counter in "[a-zü ()#/\\\\.:*?]{0,8}") {
            use tachograph_shm::naming::{fault_of_counter_name, fault_of_set_name};
            if fault_of_set_name(&set).is_none() && fault_of_counter_name(&counter).is_none() {
                proptest::prop_assert!(is_addressable(&set, &counter), "{set:?} {counter:?}");
            }
        }
    }

    #[test]
    fn a_set_of_another_user_has_its_own_name_and_guid() {
        let guid = Guid::from_u128(0x1234);
        assert_eq!(name_with_owner("Shop", 1000), "Shop [uid 1000]");
        assert_ne!(guid_with_owner(guid, 1000), guid);
        assert_ne!(guid_with_owner(guid, 1000), guid_with_owner(guid, 1001));
        assert_eq!(guid_with_owner(guid, 1000), guid_with_owner(guid, 1000));
    }
}
