//! Instances from the names of one record: which `#n` a name has.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_counters::set::{Instance, InstanceTable};

use super::MAX_INSTANCES;
use crate::problem::Problem;

/// Gives out the instances of one record, in its order, each of them once.
///
/// Windows repeats a name where instances share it: the k-th is number k. Recorders that number instances themselves
/// write `name#n`, which is number n.
#[derive(Default)]
pub(super) struct Numbering {
    taken: HashSet<u32>,
    /// By the first instance of a name: the number last given to a repetition of it.
    last_index: HashMap<u32, u32>,
}

impl Numbering {
    /// The instance that `text` names, interned in `table`.
    pub(super) fn next(
        &mut self,
        table: &mut InstanceTable,
        parent: Option<&str>,
        text: &str,
    ) -> Result<Arc<Instance>, Problem> {
        let (name, index) = split_index(text);
        let mut instance = table.intern(parent, name, index);
        if self.taken.contains(&instance.id()) {
            let last = self.last_index.entry(instance.id()).or_insert(index);
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

/// Splits `svchost#3` into name and index. Names such as `Adapter #2`, with a blank before the `#`, stay whole: that is
/// how Windows names its second adapter of a kind.
fn split_index(text: &str) -> (&str, u32) {
    let Some((name, digits)) = text.rsplit_once('#') else { return (text, 0) };
    let counts = !name.is_empty()
        && !name.ends_with(' ')
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(index) if counts => (name, index),
        _ => (text, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_that_a_recorder_would_write_is_an_index() {
        assert_eq!(split_index("svchost#3"), ("svchost", 3));
        for whole in ["svchost", "svchost#0", "a#03", "Adapter #2", "#4", "x#", "x#1a", "x#99999999999"] {
            assert_eq!(split_index(whole), (whole, 0));
        }
    }

    #[test]
    fn repeated_names_are_numbered_and_never_given_out_twice() {
        let mut table = InstanceTable::default();
        let mut numbering = Numbering::default();
        let labels: Vec<_> = ["a", "a#2", "a", "a", "b", "a#4294967295", "a#4294967295"]
            .into_iter()
            .map(|text| numbering.next(&mut table, None, text).expect("few instances").label().to_owned())
            .collect();
        assert_eq!(labels, ["a", "a#2", "a#1", "a#3", "b", "a#4294967295", "a#4"]);
    }
}
