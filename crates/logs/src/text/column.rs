//! A column of the header: from a counter path to the descriptions that samples share.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::path::{CounterPath, PathError};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances, has_parents};

/// What a column's group needs, made once.
#[derive(Debug)]
pub(super) struct ColumnParts {
    /// A set of one counter of type `DOUBLE_RAW`.
    pub(super) set: Arc<CounterSet>,
    /// The one row that the group has where the cell has a value.
    pub(super) instances: Instances,
}

impl ColumnParts {
    /// The counter path, as it stands in the header.
    pub(super) fn path(&self) -> String {
        match (self.set.counters.first(), self.instances.first()) {
            (Some(counter), Some(instance)) if !self.set.name.is_empty() => self.set.path(instance, counter),
            // A text that is no path.
            (counter, _) => counter.map(|counter| counter.name.to_string()).unwrap_or_default(),
        }
    }
}

/// Makes columns, and shares between neighbours what is equal: a log has thousands of columns of a few sets.
#[derive(Debug, Default)]
pub(super) struct ColumnMaker {
    machine: Arc<str>,
    set: Arc<str>,
    none: Option<Instances>,
}

impl ColumnMaker {
    /// The column of a header cell. A text that is no counter path becomes a counter's name, in a set without a name.
    ///
    /// A path is written without regard to what an instance's name is made of, so parent, name and index are guessed as
    /// for any path; the label is always the cell's own text.
    pub(super) fn make(&mut self, text: &str) -> (ColumnParts, Option<PathError>) {
        match CounterPath::parse(text) {
            Ok(path) => (self.described(path), None),
            Err(error) => {
                let mut set = CounterSet::new("", "", Extent::Value);
                set.has_instances = false;
                set.counters.push(Counter::new(text, CounterType::DOUBLE_RAW, 0));
                let instances = self.no_instance();
                set.instance = instances.first().cloned();
                (ColumnParts { set: Arc::new(set), instances }, Some(error))
            }
        }
    }

    fn described(&mut self, path: CounterPath) -> ColumnParts {
        let machine = path.machine.unwrap_or_default();
        share(&mut self.machine, &machine);
        share(&mut self.set, &path.set);
        let mut set = CounterSet::new(Arc::clone(&self.machine), Arc::clone(&self.set), Extent::Value);
        set.has_instances = path.instance.is_some();
        set.counters.push(Counter::new(path.counter, CounterType::DOUBLE_RAW, 0));
        let instances = match &path.instance {
            None => self.no_instance(),
            Some(name) => {
                let (parent, plain, index) = name.split(has_parents(&path.set));
                Arc::new([Arc::new(Instance::new(parent, plain, index))])
            }
        };
        set.instance = instances.first().cloned();
        ColumnParts { set: Arc::new(set), instances }
    }

    fn no_instance(&mut self) -> Instances {
        Arc::clone(self.none.get_or_insert_with(|| Arc::new([Arc::new(Instance::none())])))
    }
}

fn share(last: &mut Arc<str>, text: &str) {
    if **last != *text {
        *last = text.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_is_the_text_of_the_cell() {
        for (cell, parent, name, index) in [
            (r"\\A\Process(svchost#3)\X", None, "svchost", 3),
            (r"\\A\Network Interface(Intel #2)\X", None, "Intel #2", 0),
            (r"\\A\Process(x#0)\X", None, "x#0", 0),
            (r"\\A\Process(x#01)\X", None, "x#01", 0),
            (r"\\A\Process(a/b#1)\X", None, "a/b", 1),
            (r"\\A\Thread(a#1/7#2)\X", Some("a#1"), "7", 2),
            (r"\\A\Process((abc#2)\X", None, "(abc", 2),
            (r"\\A\Thread((a/q)#1)\X", Some("(a"), "q)", 1),
            (r"\\A\Thread(/7)\X", Some(""), "7", 0),
        ] {
            let (parts, error) = ColumnMaker::default().make(cell);
            assert_eq!(error, None, "{cell}");
            let instance = &parts.instances[0];
            assert_eq!(
                (instance.parent(), instance.name(), instance.index()),
                (parent, name, index),
                "{cell}"
            );
            assert_eq!(parts.set.path(instance, &parts.set.counters[0]), cell);
        }
    }
}
