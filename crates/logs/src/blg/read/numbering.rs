//! Assigns the `#n` indexes to the instances of one record.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use tachograph_counters::path::split_index;
use tachograph_counters::set::{Instance, InstanceTable};

use crate::Problem;

/// Maximum number of distinct instances of a counter set in a log; more are reported as damage.
const MAX_INSTANCES: usize = 1 << 20;

/// Numbers the instances of one record in order, so that each has a unique label.
///
/// If several instances have the same name, Windows writes the same name for each; the k-th (from 0) gets index k.
/// Other recorders write `name#n` for the instance with index n.
pub(super) struct Numbering {
    used_ids: HashSet<u32>,
    /// The last index assigned to each repeated name, by parent and name, where the next search for a free index
    /// starts. This makes the total time of all searches linear.
    last_index: HashMap<String, u32>,
    base_name: String,
    /// Remaining budget for the bytes of names. Several items can point at the same bytes, so the size of the
    /// record alone does not limit them.
    remaining_bytes: usize,
    max_bytes: usize,
}

/// Maximum bytes of a record's decoded names, as a multiple of the record's length. A name can double in size when it is
/// decoded from UTF-16, and a parent's name is repeated for each child.
const MAX_EXPANSION: usize = 4;

impl Numbering {
    pub(super) fn new(record_bytes: usize) -> Self {
        let max_bytes = record_bytes.saturating_mul(MAX_EXPANSION);
        Self {
            used_ids: HashSet::new(),
            last_index: HashMap::new(),
            base_name: String::new(),
            remaining_bytes: max_bytes,
            max_bytes,
        }
    }

    /// Returns the next instance of the record, named `text`, and interns it in `table`.
    pub(super) fn next(
        &mut self,
        table: &mut InstanceTable,
        parent: Option<&str>,
        text: &str,
    ) -> Result<Arc<Instance>, Problem> {
        let bytes = text.len() + parent.map_or(0, str::len);
        let Some(remaining) = self.remaining_bytes.checked_sub(bytes) else {
            return Err(Problem::new(
                0,
                "the instance names of a record are together longer than 4 times the record",
            )
            .found(
                format_args!("more than {}", self.max_bytes),
                format!("at most {} bytes", self.max_bytes),
            ));
        };
        self.remaining_bytes = remaining;
        let (name, index) = split_index(text);
        let mut instance = table.intern(parent, name, index);
        if !self.used_ids.insert(instance.id()) {
            self.base_name.clear();
            // Writing into a String cannot fail.
            let _ = write!(self.base_name, "{}/{name}", parent.unwrap_or_default());
            if !self.last_index.contains_key(&self.base_name) {
                self.last_index.insert(self.base_name.clone(), index);
            }
            let mut unknown = index;
            let last = self.last_index.get_mut(&self.base_name).unwrap_or(&mut unknown);
            while !self.used_ids.insert(instance.id()) {
                *last = last.checked_add(1).unwrap_or(1);
                instance = table.intern(parent, name, *last);
            }
        }
        if table.len() > MAX_INSTANCES {
            return Err(Problem::new(0, "too many different instances of a counter set")
                .found(table.len(), format!("at most {MAX_INSTANCES}")));
        }
        Ok(instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_get_unique_indexes() {
        let mut table = InstanceTable::default();
        let mut numbering = Numbering::new(100);
        let labels: Vec<_> = ["a", "a#2", "a", "a", "b", "a#4294967295", "a#4294967295"]
            .into_iter()
            .map(|text| numbering.next(&mut table, None, text).expect("few instances").label().to_owned())
            .collect();
        assert_eq!(labels, ["a", "a#2", "a#1", "a#3", "b", "a#4294967295", "a#4"]);
    }
}
