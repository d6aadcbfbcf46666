//! The sample: all raw values of one moment. What flows from every source to every sink.

use std::sync::Arc;

use crate::civil::{FileTime, Moment};
use crate::raw::RawValue;
use crate::set::{CounterSet, Instances};
use crate::status::Status;

/// All raw values of one moment of one or more machines, one [`Group`] per record.
///
/// A sample is reused from one moment to the next: a source overwrites it in place, so that the steady state allocates
/// nothing. Descriptions are shared; the groups keep their order for as long as the source's set of counters holds.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The moment, with the bias that was in force where the sample was taken.
    pub at: Moment,
    /// The raw values.
    pub groups: Vec<Group>,
    /// The sample before the window that was asked for: it opens the first interval and is counted by no statistic.
    pub is_baseline: bool,
    /// Number of the log, or of the part of one, that the sample is from: values of different numbers are paired as
    /// across two logs.
    pub log: u32,
    /// When the machine was started, UTC; 0 where unknown. No pair reaches across a start.
    pub boot_time: FileTime,
}

/// The raw values of a counter set, or of the part of it that one record holds, at one moment: rows are instances,
/// columns are counters.
#[derive(Clone, Debug)]
pub struct Group {
    /// The description of the columns.
    pub set: Arc<CounterSet>,
    /// The rows; a set without instances has one row without a name.
    pub instances: Instances,
    /// What each row's instance is beyond its name (a process id); empty where nothing is known. A name whose identity
    /// changed is another instance.
    pub identities: Vec<u64>,
    /// Row after row, `instances.len() * set.counters.len()` values.
    pub values: Vec<RawValue>,
    /// The status of the record as a whole. [`Status::ITEM_NOT_VALIDATED`]: the group was not part of this sample
    /// (it belongs to another log of a merge), so its instances are not absent either.
    pub status: Status,
    /// The moment at which this machine was read, local time, where the source knows it better than
    /// [`Sample::at`].
    pub read_at: FileTime,
    /// The clocks read with the values.
    pub clocks: Clocks,
    /// When this group's machine was started, UTC, where it differs from [`Sample::boot_time`] because the sample holds
    /// several machines; 0 where it does not.
    pub boot_time: FileTime,
}

/// The clocks that were read together with a group, which block records keep beside the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Clocks {
    /// Performance counter, ticks.
    pub ticks: i64,
    /// Performance counter, ticks per second.
    pub frequency: i64,
    /// System time, 100 ns units since 1601, UTC.
    pub system_time: FileTime,
    /// The counter set's own clock and its frequency; 0 where it has none.
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

    /// Takes all rows out, keeping the buffers.
    pub fn clear(&mut self) {
        self.clear_values();
        self.take_rows_out();
    }

    /// Takes the values out and what was said of them, but not the rows, which are mostly those of the next sample too:
    /// [`set_rows`](Self::set_rows) or [`take_rows_out`](Self::take_rows_out) is to follow.
    pub fn clear_values(&mut self) {
        self.identities.clear();
        self.values.clear();
        self.status = Status::VALID_DATA;
        self.clocks = Clocks::default();
        self.boot_time = FileTime(0);
    }

    /// Takes these rows. Where they are those of before, nothing is counted: groups that go from thread to thread would
    /// make processors wait for each other.
    pub fn set_rows(&mut self, instances: &Instances) {
        if !Arc::ptr_eq(&self.instances, instances) {
            self.instances = Arc::clone(instances);
        }
    }

    /// Takes the names of all rows out.
    pub fn take_rows_out(&mut self) {
        if !self.instances.is_empty() {
            self.instances = Instances::default();
        }
    }

    /// Takes this description; where it is that of before, nothing is counted, as in [`set_rows`](Self::set_rows).
    pub fn describe(&mut self, set: &Arc<CounterSet>) {
        if !Arc::ptr_eq(&self.set, set) {
            self.set = Arc::clone(set);
        }
    }

    /// Whether the group was part of this sample.
    pub fn is_present(&self) -> bool {
        self.status != Status::ITEM_NOT_VALIDATED
    }

    /// The rows, each with its instance's place and its raw values in the order of the set's counters.
    pub fn rows(&self) -> impl Iterator<Item = &[RawValue]> {
        // A set without counters has no values, and chunks of 0 are not allowed.
        self.values.chunks_exact(self.set.counters.len().max(1))
    }
}

impl Sample {
    /// Takes over what `other` says of itself as a whole: everything but the groups.
    pub fn take_head(&mut self, other: &Self) {
        let groups = std::mem::take(&mut self.groups);
        *self = Self {
            groups,
            at: other.at,
            is_baseline: other.is_baseline,
            log: other.log,
            boot_time: other.boot_time,
        };
    }

    /// When the machine of one of the groups was started, UTC; 0 where unknown.
    pub fn boot_time_of(&self, group: &Group) -> FileTime {
        if group.boot_time.0 != 0 { group.boot_time } else { self.boot_time }
    }

    /// How many raw values there are.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.values.len()).sum()
    }

    /// Whether there is no raw value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
