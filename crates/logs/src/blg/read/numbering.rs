//! Instances from the names of one record: which `#n` a name has.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use tachograph_counters::path::split_index;
use tachograph_counters::set::{Instance, InstanceTable};

use super::MAX_INSTANCES;
use crate::problem::Problem;

/// Gives out the instances of one record, in its order, each of them once.
///
/// Windows repeats a name where instances share it: the k-th is number k. Recorders that number instances themselves
/// write `name#n`, which is number n.
pub(super) struct Numbering {
    taken: HashSet<u32>,
    /// By parent and name: the number last given to a repetition of it. One for all numbers of a name, so that the
    /// numbers taken are passed over once, whatever the record repeats.
    last_index: HashMap<String, u32>,
    family: String,
    /// How many bytes of names the record may still give: its items may share theirs.
    room: usize,
    most: usize,
}

/// How many times its own length a record's names may have together. Whole names in UTF-16 never take more than twice
/// their bytes; a parent's name comes again with each of its children.
const MOST_NAMES: usize = 4;

impl Numbering {
    /// For a record of this many bytes.
    pub(super) fn new(record_bytes: usize) -> Self {
        let most = record_bytes.saturating_mul(MOST_NAMES);
        Self { taken: HashSet::new(), last_index: HashMap::new(), family: String::new(), room: most, most }
    }

    /// The instance that `text` names, interned in `table`.
    pub(super) fn next(
        &mut self,
        table: &mut InstanceTable,
        parent: Option<&str>,
        text: &str,
    ) -> Result<Arc<Instance>, Problem> {
        let bytes = text.len() + parent.map_or(0, str::len);
        let Some(room) = self.room.checked_sub(bytes) else {
            return Err(Problem::new(0, "the names of a record's instances are longer than the record")
                .found(format_args!("more than {}", self.most), format!("at most {} bytes", self.most)));
        };
        self.room = room;
        let (name, index) = split_index(text);
        let mut instance = table.intern(parent, name, index);
        if self.taken.contains(&instance.id()) {
            self.family.clear();
            // Writing into a String cannot fail.
            let _ = write!(self.family, "{}/{name}", parent.unwrap_or_default());
            if !self.last_index.contains_key(&self.family) {
                self.last_index.insert(self.family.clone(), index);
            }
            let mut unknown = index;
            let last = self.last_index.get_mut(&self.family).unwrap_or(&mut unknown);
            while self.taken.contains(&instance.id()) {
                *last = last.checked_add(1).unwrap_or(1);
                instance = table.intern(parent, name, *last);
            }
        }
        self.taken.insert(instance.id());
        if table.len() > MAX_INSTANCES {
            return Err(Problem::new(0, "more instances of one counter set than a log may hold")
                .found(table.len(), format!("at most {MAX_INSTANCES}")));
        }
        Ok(instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_are_numbered_and_never_given_out_twice() {
        let mut table = InstanceTable::default();
        let mut numbering = Numbering::new(100);
        let labels: Vec<_> = ["a", "a#2", "a", "a", "b", "a#4294967295", "a#4294967295"]
            .into_iter()
            .map(|text| numbering.next(&mut table, None, text).expect("few instances").label().to_owned())
            .collect();
        assert_eq!(labels, ["a", "a#2", "a#1", "a#3", "b", "a#4294967295", "a#4"]);
    }
}
