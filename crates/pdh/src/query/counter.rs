//! A counter of a query: the indexes of its values in a sample, and the collected values.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::Instance;
use tachograph_counters::{CounterType, Origin, Pairer, RawValue, Status};
use tachograph_perflib::Registry;

use super::value_indexes::{Change, ValueIndexes};
use crate::find::FoundCounter;
use crate::path::elements_of;
use crate::{CounterKind, PathElements, PdhStatus, RawCounter, Result};

/// Identifies a counter of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[doc(alias = "PDH_HCOUNTER")]
pub struct CounterId(pub(super) u64);

/// A description of a counter of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PDH_COUNTER_INFO_W")]
#[doc(alias = "PDH_COUNTER_INFO_A")]
pub struct CounterInfo {
    /// The type.
    pub counter_type: CounterType,
    /// The version of the counter, always 0.
    pub version: u32,
    /// The status of the last collection; [`PdhStatus::ITEM_NOT_VALIDATED`] before the first.
    pub status: PdhStatus,
    /// The scale factor, a power of ten.
    pub scale: i32,
    /// The power of ten by which charts multiply the values by default.
    pub default_scale: i32,
    /// The user data of the counter.
    pub user_data: usize,
    /// The user data of the query.
    pub query_user_data: usize,
    /// The path with the source's own names, including the machine if it has a name.
    pub full_path: String,
    /// The parts of the path.
    pub elements: PathElements,
    /// The help text; empty if the source has none.
    pub explain_text: String,
}

/// A counter of a query, with the values of the last collection.
pub(super) struct QueryCounter {
    id: CounterId,
    found: FoundCounter,
    kind: CounterKind,
    user_data: usize,
    /// The indexes of the counter's values in samples with the current layout.
    indexes: ValueIndexes,
    /// The values of the last collection, one row per instance.
    pub(super) rows: Vec<Row>,
    /// The status of the last collection; used only if `rows` is empty.
    status: PdhStatus,
}

/// The values of one instance.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) instance: Arc<Instance>,
    /// The raw value with which `newer` is paired.
    pub(super) older: Option<RawCounter>,
    /// The raw value of the last collection.
    pub(super) newer: RawCounter,
    /// Whether the last sample did not contain the counter's group, for example because the sample came from another of
    /// several merged logs. `newer` is then not a value of this counter.
    is_gap: bool,
    pairer: Pairer,
}

impl QueryCounter {
    pub(super) fn new(id: CounterId, found: FoundCounter, user_data: usize, is_real_time: bool) -> Self {
        let FoundCounter { counter, .. } = &found;
        let kind = CounterKind { counter_type: counter.counter_type, time_base: counter.time_base, scale: 0 };
        let indexes = ValueIndexes::new(&found.pattern, found.has_wildcard, !is_real_time);
        Self { id, found, kind, user_data, indexes, rows: Vec::new(), status: PdhStatus::ITEM_NOT_VALIDATED }
    }

    pub(super) fn id(&self) -> CounterId {
        self.id
    }

    pub(super) fn kind(&self) -> CounterKind {
        self.kind
    }

    pub(super) fn set_scale(&mut self, scale: i8) {
        self.kind.scale = scale;
    }

    pub(super) fn pattern(&self) -> &PathPattern {
        &self.found.pattern
    }

    /// The counter sets of the counter's machine; `None` for logs.
    pub(super) fn registry(&self) -> Option<&Arc<Registry>> {
        self.found.registry.as_ref()
    }

    /// Whether the instance in the path has wildcards.
    pub(super) fn has_wildcard(&self) -> bool {
        self.found.has_wildcard
    }

    /// The row of the only instance: the instance in the path, or the only process that publishes the set.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for a path with wildcards; [`PdhStatus::INVALID_INSTANCE`] for a path without an
    /// instance if several processes publish the set.
    pub(super) fn only_row(&self) -> Result<Option<&Row>> {
        match self.rows.as_slice() {
            _ if self.has_wildcard() && !self.found.selects_all_processes => Err(PdhStatus::INVALID_ARGUMENT),
            [] => Ok(None),
            [row] => Ok(Some(row)),
            _ => Err(PdhStatus::INVALID_INSTANCE),
        }
    }

    pub(super) fn status(&self) -> PdhStatus {
        let good = self.rows.iter().find(|row| !row.newer.status.is_error());
        good.or(self.rows.first()).map_or(self.status, |row| row.newer.status)
    }

    /// Whether the last collection has a valid raw value.
    pub(super) fn has_value(&self) -> bool {
        self.rows.iter().any(|row| !row.newer.status.is_error())
    }

    pub(super) fn info(&self, query_user_data: usize) -> CounterInfo {
        let path: &CounterPath = self.pattern().path();
        CounterInfo {
            counter_type: self.kind.counter_type,
            version: 0,
            status: self.status(),
            scale: self.kind.scale.into(),
            default_scale: self.found.counter.default_scale,
            user_data: self.user_data,
            query_user_data,
            full_path: path.to_string(),
            elements: elements_of(path.clone()),
            explain_text: self.found.help.to_string(),
        }
    }

    /// Discards the collected values.
    pub(super) fn reset(&mut self) {
        self.rows.clear();
        self.status = PdhStatus::ITEM_NOT_VALIDATED;
    }

    pub(super) fn push(&mut self, sample: &Sample, change: Change<'_>) {
        self.indexes.update(&self.found.pattern, sample, change);
        if self.indexes.values().is_empty() {
            self.push_missing(sample);
            return;
        }
        self.update_kind(sample);
        if change.is_none() && self.rows.len() == self.indexes.values().len() {
            for (row, index) in self.rows.iter_mut().zip(self.indexes.values()) {
                row.push(&index.value(sample), sample.at.local(), index.origin(sample));
            }
        } else {
            self.rebuild_rows(sample);
        }
        self.status = PdhStatus::VALID_DATA;
    }

    /// Updates the counter's type and time base, which may change within a log. Values before and after a change are not
    /// paired.
    fn update_kind(&mut self, sample: &Sample) {
        let Some(counter) = self.indexes.values().first().and_then(|index| index.counter(sample)) else {
            return;
        };
        let CounterKind { counter_type, time_base, scale } = self.kind;
        if (counter.counter_type, counter.time_base) != (counter_type, time_base) {
            self.kind =
                CounterKind { counter_type: counter.counter_type, time_base: counter.time_base, scale };
            self.rows.clear();
        }
    }

    /// Adds the values of a sample whose instances may differ from the previous sample's.
    fn rebuild_rows(&mut self, sample: &Sample) {
        let mut before: HashMap<Arc<str>, Row> =
            self.rows.drain(..).map(|row| (row.instance.label().into(), row)).collect();
        for index in self.indexes.values() {
            let Some(instance) = index.instance(sample) else { continue };
            let mut row = match before.remove(instance.label()) {
                Some(row) => Row { instance: Arc::clone(instance), ..row },
                None => Row::new(Arc::clone(instance)),
            };
            row.push(&index.value(sample), sample.at.local(), index.origin(sample));
            self.rows.push(row);
        }
    }

    /// Adds a sample that has no value for this counter.
    fn push_missing(&mut self, sample: &Sample) {
        let mut groups = self.indexes.groups(sample);
        let has_set = groups.clone().next().is_some();
        if self.indexes.is_log && !groups.clone().any(Group::is_present) {
            self.rows.iter_mut().for_each(|row| row.skip(sample.at.local()));
            self.status = PdhStatus::NO_MACHINE;
            return;
        }
        let failed = groups.find(|group| group.status.is_error() && group.is_present());
        // A set disappears from the samples when its last provider exits.
        let missing = if has_set { Status::NO_INSTANCE } else { Status::NO_OBJECT };
        let status = failed.map_or(missing, |group| group.status);
        self.status = status.into();
        self.rows.clear();
        if !self.has_wildcard() {
            let label = self.pattern().path().instance.as_ref().map_or("", |name| name.as_str());
            let instance = Arc::new(Instance::new(None, label, 0));
            let mut row = Row::new(instance);
            row.push(&RawValue::error(status), sample.at.local(), Origin::default());
            self.rows.push(row);
        }
    }
}

impl Row {
    /// Creates the row of an instance that has no values yet.
    fn new(instance: Arc<Instance>) -> Self {
        let newer = RawCounter::new(&RawValue::error(Status::NO_INSTANCE), FileTime(0));
        Self { instance, older: None, newer, is_gap: false, pairer: Pairer::default() }
    }

    /// Adds a raw value; `at` is its local time.
    fn push(&mut self, raw: &RawValue, at: FileTime, origin: Origin) {
        let before = if self.is_gap { self.older } else { Some(self.newer) };
        self.pairer.follow(origin);
        self.older = self.pairer.pair(raw).and(before);
        self.newer = RawCounter::new(raw, at);
        self.is_gap = false;
    }

    /// Adds a sample that does not contain the counter's group. The counter's next value is paired with the last one
    /// before this gap.
    fn skip(&mut self, at: FileTime) {
        if !self.is_gap {
            self.older = Some(self.newer);
        }
        self.newer = RawCounter::new(&RawValue::error(Status::NO_MACHINE), at);
        self.is_gap = true;
    }
}
