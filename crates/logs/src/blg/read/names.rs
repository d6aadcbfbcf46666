//! Names of counter sets and counters by title index.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::blg::raw::utf16_until_nul;

/// The name tables of a log: per machine, names by title index.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    by_machine: HashMap<String, HashMap<u32, Arc<str>>>,
    bytes: usize,
}

/// Maximum memory of all names, in bytes. The table of a large server has about 100 kB.
const MAX_BYTES: usize = 16 << 20;

/// Assumed memory overhead per name, in bytes.
const PER_NAME_BYTES: usize = 64;

impl Names {
    /// Adds the names of one name-table event.
    pub(super) fn add(&mut self, payload: &[u8]) {
        let (machine, machine_bytes) = utf16_until_nul(payload);
        let machine = machine.to_lowercase();
        if !self.by_machine.contains_key(&machine) {
            self.bytes += machine.len() + PER_NAME_BYTES;
            if self.bytes > MAX_BYTES {
                return;
            }
        }
        let table = self.by_machine.entry(machine).or_default();
        let mut rest = &payload[machine_bytes.min(payload.len())..];
        while !rest.is_empty() && self.bytes < MAX_BYTES {
            let (index, index_bytes) = utf16_until_nul(rest);
            let (name, name_bytes) = utf16_until_nul(&rest[index_bytes..]);
            if index_bytes + name_bytes == 0 {
                break;
            }
            if let Ok(index) = index.parse() {
                self.bytes += name.len() + PER_NAME_BYTES;
                // A repeated table, as in appended logs, takes no more memory.
                if let Some(old) = table.insert(index, name.into()) {
                    self.bytes -= old.len() + PER_NAME_BYTES;
                }
            }
            rest = &rest[index_bytes + name_bytes..];
        }
    }

    /// The approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The name with this title index on `machine` (with backslashes). If the log has no name table for the
    /// machine, the name is the English name of a base counter. If the name is unknown, it is the index in decimal.
    pub(super) fn name(&self, machine: &str, index: u32) -> Arc<str> {
        let table = self.by_machine.get(&machine.to_lowercase());
        match (table.map(|table| table.get(&index)), english_name(index)) {
            (Some(Some(name)), _) => Arc::clone(name),
            (None, Some(name)) => name.into(),
            _ => index.to_string().into(),
        }
    }
}

/// The English name of a base counter of Windows: one that Windows itself defines, not the base of another counter. Base
/// counters have the same index in every language.
///
/// Source: the registry value `Counter` under `Perflib\009`, up to `Last Base Counter`.
pub(super) fn english_name(index: u32) -> Option<&'static str> {
    static NAMES: LazyLock<HashMap<u32, &str>> = LazyLock::new(|| {
        include_str!("english_names.tsv")
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter_map(|(index, name)| Some((index.parse().ok()?, name)))
            .collect()
    });
    NAMES.get(&index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blg::raw::push_utf16_nul;

    #[test]
    fn names_come_from_the_machines_own_table() {
        let mut payload = Vec::new();
        for text in [r"\\HALLE", "238", "Prozessor", "6", "Prozessorzeit (%)"] {
            push_utf16_nul(&mut payload, text);
        }
        let mut names = Names::default();
        names.add(&payload);
        assert_eq!(&*names.name(r"\\halle", 238), "Prozessor");
        assert_eq!(&*names.name(r"\\halle", 9000), "9000");
        assert_eq!(&*names.name(r"\\other", 238), "Processor");
        assert_eq!(&*names.name(r"\\other", 9000), "9000");
        assert_eq!(english_name(238), Some("Processor"));
        assert_eq!(english_name(6), Some("% Processor Time"));
        assert_eq!(english_name(7), None);
    }

    #[test]
    fn a_truncated_table_causes_no_panic() {
        let mut payload = Vec::new();
        for text in [r"\\M", "2", "System", "4", "Memory"] {
            push_utf16_nul(&mut payload, text);
        }
        for cut in 0..payload.len() {
            Names::default().add(&payload[..cut]);
        }
    }
}
