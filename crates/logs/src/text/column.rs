//! Turns the counter paths of columns into descriptions that samples share.

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::{CounterPath, PathError};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{
    Counter, CounterSet, Extent, Instance, InstanceTable, Instances, has_parents,
};
use tachograph_counters::{CounterType, RawValue, Status};

use crate::{Grouping, OverBudget, Reservation};

/// Estimated memory, in bytes, of columns in a reader, in the samples being processed and in a scan: per group, per
/// row, and per byte of a path. Statistics count their own memory. crates/tacho/tests/cli/text_memory.rs compares
/// this with the memory of the process.
const BYTES_PER_GROUP: u64 = 2300;
const BYTES_PER_ROW: u64 = 400;
const BYTES_PER_PATH_BYTE: u64 = 4;

/// Estimates the memory of groups and rows whose paths have `path_bytes` bytes in total.
pub(super) fn estimated_bytes(groups: usize, rows: usize, path_bytes: u64) -> u64 {
    groups as u64 * BYTES_PER_GROUP + rows as u64 * BYTES_PER_ROW + path_bytes * BYTES_PER_PATH_BYTE
}

/// The shared description of a group: one column, or adjacent ones that differ only in the instance.
#[derive(Clone, Debug)]
pub(super) struct ColumnGroup {
    /// A set of one counter of type `DOUBLE_RAW`.
    pub(super) set: Arc<CounterSet>,
    /// One row per column. A group of a single column has this row only if the cell has a value.
    pub(super) instances: Instances,
}

impl ColumnGroup {
    pub(super) fn paths(&self) -> impl Iterator<Item = String> {
        let counter = self.set.counters.first();
        self.instances
            .iter()
            .filter_map(move |instance| counter.map(|counter| self.set.path(instance, counter)))
    }
}

/// Stores the values of columns in a sample, whose groups are replaced if they differ. If a cell has no value, a
/// single column has no row, and a column in a larger group has the status `NO_INSTANCE`.
pub(super) fn fill_sample<'a>(
    sample: &mut Sample,
    groups: impl ExactSizeIterator<Item = &'a ColumnGroup>,
    mut value: impl FnMut(usize) -> Option<f64>,
) {
    sample.groups.truncate(groups.len());
    let mut column = 0;
    for (index, column_group) in groups.enumerate() {
        if index == sample.groups.len() {
            sample.groups.push(Group::new(Arc::clone(&column_group.set)));
        }
        let group = &mut sample.groups[index];
        group.describe(&column_group.set);
        group.clear_values();
        group.read_at = FileTime(0);
        let count = column_group.instances.len();
        if count == 1 {
            match value(column) {
                Some(value) => {
                    group.values.push(RawValue::from_double(value));
                    group.set_rows(&column_group.instances);
                }
                None => group.clear_rows(),
            }
        } else {
            let absent = RawValue::error(Status::NO_INSTANCE);
            let raw = |column| value(column).map_or(absent, RawValue::from_double);
            group.values.extend((column..column + count).map(raw));
            group.set_rows(&column_group.instances);
        }
        column += count;
    }
}

/// Builds columns. Adjacent columns share equal strings, because a log can have thousands of columns but only a few sets.
#[derive(Debug, Default)]
pub(super) struct ColumnBuilder {
    machine: Arc<str>,
    set: Arc<str>,
    /// The instance list of sets without instances.
    no_instance_list: Option<Instances>,
}

impl ColumnBuilder {
    /// Builds the column of a header cell. Text that is not a counter path becomes a counter name, in a set without a
    /// name.
    ///
    /// A path does not define how an instance name is structured, so parent, name and index are guessed, as for any
    /// path; the label is always the text of the cell.
    pub(super) fn build(&mut self, text: &str) -> (ColumnGroup, Option<PathError>) {
        match CounterPath::parse(text) {
            Ok(path) => {
                let (parent, plain, index) = instance_parts(&path);
                let instances = match path.instance {
                    None => self.no_instances(),
                    Some(_) => Arc::new([Arc::new(Instance::new(parent, plain, index))]),
                };
                (self.group_of(&path, Extent::Row, instances), None)
            }
            Err(error) => {
                let mut set = CounterSet::new("", "", Extent::Row);
                set.has_instances = false;
                set.counters.push(Counter::new(text, CounterType::DOUBLE_RAW, 0));
                let instances = self.no_instances();
                set.instance = instances.first().cloned();
                (ColumnGroup { set: Arc::new(set), instances }, Some(error))
            }
        }
    }

    fn group_of(&mut self, path: &CounterPath, extent: Extent, instances: Instances) -> ColumnGroup {
        set_if_different(&mut self.machine, path.machine.as_deref().unwrap_or_default());
        set_if_different(&mut self.set, &path.set);
        let mut set = CounterSet::new(Arc::clone(&self.machine), Arc::clone(&self.set), extent);
        set.has_instances = path.instance.is_some();
        set.counters.push(Counter::new(path.counter.as_str(), CounterType::DOUBLE_RAW, 0));
        if extent == Extent::Row {
            set.instance = instances.first().cloned();
        }
        ColumnGroup { set: Arc::new(set), instances }
    }

    fn no_instances(&mut self) -> Instances {
        Arc::clone(self.no_instance_list.get_or_insert_with(|| Arc::new([Arc::new(Instance::none())])))
    }
}

fn instance_parts(path: &CounterPath) -> (Option<&str>, &str, u32) {
    path.instance.as_ref().map_or((None, "", 0), |name| name.split(has_parents(&path.set)))
}

/// Whether two adjacent columns differ only in the instance.
fn differ_only_in_instance(one: &CounterPath, other: &CounterPath) -> bool {
    one.machine == other.machine && one.set == other.set && one.counter == other.counter
}

fn set_if_different(last: &mut Arc<str>, text: &str) {
    if **last != *text {
        *last = text.into();
    }
}

/// Builds the groups of a header.
pub(super) struct ColumnGrouper {
    grouping: Grouping,
    builder: ColumnBuilder,
    groups: Vec<ColumnGroup>,
    /// The group to which columns can still be added: the path of its first column, and the instance of each column.
    open_group: Option<(CounterPath, InstanceTable, Vec<Arc<Instance>>)>,
    /// The instances of the last group with several columns. The next counter of the set usually has the same instances.
    last_instances: Instances,
    memory: Reservation,
    /// The number of columns added, and the length of their paths.
    columns: usize,
    path_bytes: u64,
}

impl ColumnGrouper {
    /// Creates a grouper that reserves the memory of the groups with `memory`.
    pub(super) fn new(grouping: Grouping, memory: Reservation) -> Self {
        Self {
            grouping,
            builder: ColumnBuilder::default(),
            groups: Vec::new(),
            open_group: None,
            last_instances: Instances::default(),
            memory,
            columns: 0,
            path_bytes: 0,
        }
    }

    /// Adds a column whose path no earlier column has; returns an error if its text is not a counter path.
    pub(super) fn push(&mut self, text: &str) -> Result<Option<PathError>, OverBudget> {
        self.path_bytes += text.len() as u64;
        self.columns += 1;
        self.memory.grow_to(estimated_bytes(self.groups.len() + 1, self.columns, self.path_bytes))?;
        let path = match CounterPath::parse(text) {
            Ok(path) if path.instance.is_some() && self.grouping == Grouping::Neighbours => path,
            _ => {
                self.finish_group();
                let (group, error) = self.builder.build(text);
                self.groups.push(group);
                return Ok(error);
            }
        };
        if !self.is_in_open_group(&path) {
            self.finish_group();
        }
        let (first, table, rows) =
            self.open_group.get_or_insert_with(|| (path.clone(), InstanceTable::default(), Vec::new()));
        let has_parents = has_parents(&first.set);
        let (parent, name, index) =
            path.instance.as_ref().map_or((None, "", 0), |name| name.split(has_parents));
        rows.push(table.intern(parent, name, index));
        Ok(None)
    }

    /// Returns the error for the memory of all columns in the header, not only of those up to the one that was
    /// refused.
    pub(super) fn with_all_columns<'a>(
        &self,
        over: OverBudget,
        cells: impl Iterator<Item = &'a [u8]>,
    ) -> OverBudget {
        let (mut groups, mut columns, mut path_bytes) = (0, 0, 0);
        let mut before = None;
        for cell in cells {
            columns += 1;
            path_bytes += cell.len() as u64;
            let path = CounterPath::parse(&String::from_utf8_lossy(cell)).ok();
            let path = path.filter(|path| path.instance.is_some() && self.grouping == Grouping::Neighbours);
            let is_in_open_group = before
                .as_ref()
                .zip(path.as_ref())
                .is_some_and(|(one, next)| differ_only_in_instance(one, next));
            groups += usize::from(!is_in_open_group);
            before = path;
        }
        let missing = estimated_bytes(groups, columns, path_bytes).saturating_sub(self.memory.bytes());
        OverBudget { requested: over.requested.max(missing), ..over }
    }

    pub(super) fn finish(mut self) -> (Vec<ColumnGroup>, Reservation) {
        self.finish_group();
        self.groups.shrink_to_fit();
        (self.groups, self.memory)
    }

    fn is_in_open_group(&self, path: &CounterPath) -> bool {
        self.open_group.as_ref().is_some_and(|(first, ..)| differ_only_in_instance(first, path))
    }

    fn finish_group(&mut self) {
        let Some((first, _, rows)) = self.open_group.take() else { return };
        let group = if rows.len() == 1 {
            self.builder.group_of(&first, Extent::Row, rows.into())
        } else {
            let is_same = rows.len() == self.last_instances.len()
                && rows.iter().zip(self.last_instances.iter()).all(|(one, other)| one == other);
            if !is_same {
                self.last_instances = rows.into();
            }
            self.builder.group_of(&first, Extent::Columns, Arc::clone(&self.last_instances))
        };
        self.groups.push(group);
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
            let (parts, error) = ColumnBuilder::default().build(cell);
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
