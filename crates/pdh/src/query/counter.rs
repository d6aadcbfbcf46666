//! One counter of a query: where its values stand in a sample, and those that were collected.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::Instance;
use tachograph_counters::{CounterType, Origin, Pairer, RawValue, Status};

use super::places::{Change, Places};
use crate::find::Found;
use crate::path::elements_of;
use crate::{CounterKind, PathElements, PdhStatus, RawCounter, Result};

/// A counter of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[doc(alias = "PDH_HCOUNTER")]
pub struct CounterId(pub(super) u64);

/// What a counter of a query is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PDH_COUNTER_INFO_W")]
#[doc(alias = "PDH_COUNTER_INFO_A")]
pub struct CounterInfo {
    /// The type.
    pub counter_type: CounterType,
    /// Version of the counter: 0.
    pub version: u32,
    /// The status of the last collection; [`PdhStatus::ITEM_NOT_VALIDATED`] before the first.
    pub status: PdhStatus,
    /// The scale factor that was set.
    pub scale: i32,
    /// The exponent of ten that charts begin with.
    pub default_scale: i32,
    /// What the caller attached to the counter.
    pub user_data: usize,
    /// What the caller attached to the query.
    pub query_user_data: usize,
    /// The path with the source's own names and, where there is one, the machine.
    pub full_path: String,
    /// The parts of the path.
    pub elements: PathElements,
    /// What the counter counts; empty where the source does not say.
    pub explain_text: String,
}

/// A counter of a query.
pub(super) struct QueryCounter {
    id: CounterId,
    found: Found,
    kind: CounterKind,
    user_data: usize,
    /// Where its values stand in samples of the known layout.
    places: Places,
    rows: Vec<Row>,
    /// Why there are no rows.
    status: PdhStatus,
}

/// The values of one instance.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) instance: Arc<Instance>,
    /// The raw value that the last one makes a pair with.
    pub(super) older: Option<RawCounter>,
    /// The raw value of the last collection.
    pub(super) newer: RawCounter,
    /// The last sample did not concern this counter (it is of another log), so `newer` is none of its values.
    is_gap: bool,
    pairer: Pairer,
}

impl QueryCounter {
    pub(super) fn new(id: CounterId, found: Found, user_data: usize, is_real_time: bool) -> Self {
        let Found { counter, .. } = &found;
        let kind = CounterKind { counter_type: counter.counter_type, time_base: counter.time_base, scale: 0 };
        let places = Places::new(&found.pattern, found.is_wild, !is_real_time);
        Self { id, found, kind, user_data, places, rows: Vec::new(), status: PdhStatus::ITEM_NOT_VALIDATED }
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

    /// Whether the path is of several instances.
    pub(super) fn is_wild(&self) -> bool {
        self.found.is_wild
    }

    /// The values of the one instance that is asked for: that of the path, or the one process that publishes the set.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for a path of several instances; [`PdhStatus::INVALID_INSTANCE`] where several
    /// processes publish a set with one instance, so that the path does not say whose is meant.
    pub(super) fn one(&self) -> Result<Option<&Row>> {
        match self.rows.as_slice() {
            _ if self.is_wild() && !self.found.is_of_processes => Err(PdhStatus::INVALID_ARGUMENT),
            [] => Ok(None),
            [row] => Ok(Some(row)),
            _ => Err(PdhStatus::INVALID_INSTANCE),
        }
    }

    /// The values of the last collection, one for each instance.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The status of the last collection.
    pub(super) fn status(&self) -> PdhStatus {
        let good = self.rows.iter().find(|row| !row.newer.status.is_error());
        good.or(self.rows.first()).map_or(self.status, |row| row.newer.status)
    }

    /// Whether the last collection gave a raw value.
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

    /// Forgets what was collected.
    pub(super) fn forget(&mut self) {
        self.rows.clear();
        self.status = PdhStatus::ITEM_NOT_VALIDATED;
    }

    /// Takes the values of a sample.
    pub(super) fn take(&mut self, sample: &Sample, change: Change<'_>) {
        self.places.follow(&self.found.pattern, sample, change);
        if self.places.values().is_empty() {
            self.take_none(sample);
            return;
        }
        self.take_kind(sample);
        if change.is_none() && self.rows.len() == self.places.values().len() {
            for (row, place) in self.rows.iter_mut().zip(self.places.values()) {
                row.take(&place.value(sample), sample.at.local(), place.origin(sample));
            }
        } else {
            self.take_anew(sample);
        }
        self.status = PdhStatus::VALID_DATA;
    }

    /// A log may have the counter with another clock later on; values of two kinds make no pair.
    fn take_kind(&mut self, sample: &Sample) {
        let Some(counter) = self.places.values().first().and_then(|place| place.counter(sample)) else {
            return;
        };
        let CounterKind { counter_type, time_base, scale } = self.kind;
        if (counter.counter_type, counter.time_base) != (counter_type, time_base) {
            self.kind =
                CounterKind { counter_type: counter.counter_type, time_base: counter.time_base, scale };
            self.rows.clear();
        }
    }

    /// Takes rows of which some may be new.
    fn take_anew(&mut self, sample: &Sample) {
        let mut before: HashMap<Arc<str>, Row> =
            self.rows.drain(..).map(|row| (row.instance.label().into(), row)).collect();
        for place in self.places.values() {
            let Some(instance) = place.instance(sample) else { continue };
            let mut row = match before.remove(instance.label()) {
                Some(row) => Row { instance: Arc::clone(instance), ..row },
                None => Row::new(Arc::clone(instance)),
            };
            row.take(&place.value(sample), sample.at.local(), place.origin(sample));
            self.rows.push(row);
        }
    }

    /// The sample has no value of the counter.
    fn take_none(&mut self, sample: &Sample) {
        let mut groups = self.places.groups(sample);
        let has_set = groups.clone().next().is_some();
        if self.places.is_of_logs() && !groups.clone().any(Group::is_present) {
            self.rows.iter_mut().for_each(|row| row.skip(sample.at.local()));
            self.status = PdhStatus::NO_MACHINE;
            return;
        }
        let failed = groups.find(|group| group.status.is_error() && group.is_present());
        // A set that programs publish goes with the last of them.
        let missing = if has_set { Status::NO_INSTANCE } else { Status::NO_OBJECT };
        let status = failed.map_or(missing, |group| group.status);
        self.status = status.into();
        self.rows.clear();
        if !self.is_wild() {
            let label = self.pattern().path().instance.as_ref().map_or("", |name| name.as_str());
            let instance = Arc::new(Instance::new(None, label, 0));
            let mut row = Row::new(instance);
            row.take(&RawValue::error(status), sample.at.local(), Origin::default());
            self.rows.push(row);
        }
    }
}

impl Row {
    /// The row of an instance without a value yet.
    fn new(instance: Arc<Instance>) -> Self {
        let newer = RawCounter::new(&RawValue::error(Status::NO_INSTANCE), FileTime(0));
        Self { instance, older: None, newer, is_gap: false, pairer: Pairer::default() }
    }

    /// Takes the next raw value, with its local time.
    fn take(&mut self, raw: &RawValue, at: FileTime, origin: Origin) {
        let before = if self.is_gap { self.older } else { Some(self.newer) };
        self.pairer.follow(origin);
        self.older = self.pairer.pair(raw).and(before);
        self.newer = RawCounter::new(raw, at);
        self.is_gap = false;
    }

    /// The sample did not concern the counter: the next one makes a pair with the last that did.
    fn skip(&mut self, at: FileTime) {
        if !self.is_gap {
            self.older = Some(self.newer);
        }
        self.newer = RawCounter::new(&RawValue::error(Status::NO_MACHINE), at);
        self.is_gap = true;
    }
}
