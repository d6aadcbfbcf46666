//! Samples, each of which has all raw values of one moment. Samples flow from sources to sinks.

use std::sync::Arc;

use crate::civil::{FileTime, Moment};
use crate::raw::RawValue;
use crate::set::{CounterSet, Instances};
use crate::status::Status;

/// All raw values of one or more machines at one moment, in [`Group`]s.
///
/// A source overwrites a sample in place, so nothing is allocated in the steady state. The descriptions of columns and
/// rows are shared between samples. Groups keep their order as long as the source has the same counters.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The time, with the UTC offset in force where the sample was taken.
    pub at: Moment,
    /// The raw values.
    pub groups: Vec<Group>,
    /// Whether the sample precedes the requested window. Such a sample starts the first interval, but is not counted in
    /// statistics.
    pub is_baseline: bool,
    /// The id of the log, or of the part of a log, that contains the sample. A part ends where the counter list changes
    /// or another log was appended. For pairing, samples with different ids are treated as being from different logs.
    pub log: u32,
    /// When the machine was started, in UTC; 0 if unknown. Values from before and after a restart are never paired.
    pub boot_time: FileTime,
}

/// The raw values of a counter set, or of a part of it, at one moment. Rows are instances, and columns are counters.
#[derive(Clone, Debug)]
pub struct Group {
    /// The description of the columns.
    pub set: Arc<CounterSet>,
    /// The instance of each row. A set without instances has a single row, whose instance has no name.
    pub instances: Instances,
    /// The identity of each row's instance, such as a process id; empty if unknown. If the identity changes, the
    /// name belongs to a different instance.
    pub identities: Vec<u64>,
    /// The values, row after row: `instances.len() * set.counters.len()` in total.
    pub values: Vec<RawValue>,
    /// The status of the group. [`Status::ITEM_NOT_VALIDATED`] means that the group is not part of this sample (it is
    /// from another log of a merge), so its instances do not count as absent either.
    pub status: Status,
    /// The local time at which the values were read, if the source knows a more precise time than [`Sample::at`];
    /// otherwise 0.
    pub read_at: FileTime,
    /// The clocks that were read with the values.
    pub clocks: Clocks,
    /// When this group's machine was started, in UTC, if the sample has several machines; otherwise 0, and
    /// [`Sample::boot_time`] applies.
    pub boot_time: FileTime,
}

/// The clocks that were read together with a group. They are stored in block records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Clocks {
    /// The performance counter, in ticks.
    pub ticks: i64,
    /// Ticks of the performance counter per second.
    pub frequency: i64,
    /// The system time, in UTC.
    pub system_time: FileTime,
    /// The counter set's own clock; 0 if the set has no clock.
    pub object_time: i64,
    /// Units of `object_time` per second.
    pub object_frequency: i64,
}

impl Group {
    /// A group without rows.
    pub fn new(set: Arc<CounterSet>) -> Self {
        Self {
            set,
            instances: Instances::default(),
            identities: Vec::new(),
            values: Vec::new(),
            status: Status::VALID_DATA,
            read_at: FileTime(0),
            clocks: Clocks::default(),
            boot_time: FileTime(0),
        }
    }

    /// Removes all rows, but keeps the buffers.
    pub fn clear(&mut self) {
        self.clear_values();
        self.clear_rows();
    }

    /// Removes the values and their attributes, but keeps the list of instances, since the next sample usually has
    /// the same instances. Call [`set_rows`](Self::set_rows) or [`clear_rows`](Self::clear_rows) afterwards.
    pub fn clear_values(&mut self) {
        self.identities.clear();
        self.values.clear();
        self.status = Status::VALID_DATA;
        self.clocks = Clocks::default();
        self.boot_time = FileTime(0);
    }

    /// Sets the instances of the rows. If the list is the same object as before, its reference count is not changed:
    /// groups are passed between threads, which would contend for the count.
    pub fn set_rows(&mut self, instances: &Instances) {
        if !Arc::ptr_eq(&self.instances, instances) {
            self.instances = Arc::clone(instances);
        }
    }

    /// Removes the instances of all rows.
    pub fn clear_rows(&mut self) {
        if !self.instances.is_empty() {
            self.instances = Instances::default();
        }
    }

    /// Sets the description. Like [`set_rows`](Self::set_rows), does not change the reference count of the same
    /// object.
    pub fn describe(&mut self, set: &Arc<CounterSet>) {
        if !Arc::ptr_eq(&self.set, set) {
            self.set = Arc::clone(set);
        }
    }

    /// Whether the group is part of this sample.
    pub fn is_present(&self) -> bool {
        self.status != Status::ITEM_NOT_VALIDATED
    }

    /// A copy with only the given columns, which `set` describes.
    pub fn with_columns(&self, set: &Arc<CounterSet>, columns: &[usize]) -> Self {
        Self {
            set: Arc::clone(set),
            instances: Arc::clone(&self.instances),
            identities: self.identities.clone(),
            values: self.rows().flat_map(|row| columns.iter().map(move |&column| row[column])).collect(),
            ..*self
        }
    }

    /// The raw values of a counter, row after row.
    pub fn column(&self, column: usize) -> impl ExactSizeIterator<Item = &RawValue> {
        let from_column = self.values.get(column..).unwrap_or_default();
        // Each chunk begins with the column's value in a row. The last chunk is shorter: it ends with the last row.
        from_column.chunks(self.set.counters.len().max(1)).map(|chunk| &chunk[0])
    }

    /// The rows: the raw values of each instance, in the order of the set's counters.
    pub fn rows(&self) -> impl Iterator<Item = &[RawValue]> {
        // A set without counters has no values, but a chunk size of 0 would panic.
        self.values.chunks_exact(self.set.counters.len().max(1))
    }
}

impl Sample {
    /// Whether the groups have these descriptions, compared by pointer.
    pub fn has_sets<'a>(&self, sets: impl ExactSizeIterator<Item = &'a Arc<CounterSet>>) -> bool {
        sets.len() == self.groups.len()
            && sets.zip(&self.groups).all(|(set, group)| Arc::ptr_eq(set, &group.set))
    }

    /// The number of records in which a log stores the sample.
    pub fn record_count(&self) -> usize {
        self.groups.iter().map(|group| group.set.record_count()).sum()
    }

    /// Copies all fields except the groups from `other`.
    pub fn copy_head(&mut self, other: &Self) {
        let groups = std::mem::take(&mut self.groups);
        *self = Self {
            groups,
            at: other.at,
            is_baseline: other.is_baseline,
            log: other.log,
            boot_time: other.boot_time,
        };
    }

    /// When the machine of one of the groups was started, in UTC; 0 if unknown.
    pub fn boot_time_of(&self, group: &Group) -> FileTime {
        if group.boot_time.0 != 0 { group.boot_time } else { self.boot_time }
    }

    /// The number of raw values.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.values.len()).sum()
    }

    /// The number of raw values that exist: those whose status is not an error.
    pub fn value_count(&self) -> usize {
        let values = self.groups.iter().flat_map(|group| &group.values);
        values.filter(|raw| raw.status.is_good()).count()
    }

    /// Whether there are no raw values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
