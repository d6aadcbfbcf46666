//! What a provider fills in: the instances of a counter set and their raw values at one moment.

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::{Formula, RawValue, Status, Subtype, TimeBase};

use crate::clock::Moments;
use crate::filter::InstanceFilter;
use crate::registration::{CounterInfo, CounterSetInfo};
use crate::{FREQUENCY, InstanceKey};

/// No column: the counter is not wanted, or this machine does not have it.
const NO_COLUMN: u32 = u32::MAX;

/// Ids below this are looked up by place, others by searching: an id is any number.
const DENSE_IDS: usize = 1024;

/// The instances of a counter set and the raw values of the wanted counters at one moment: rows are instances, columns
/// are the wanted counters in the order of the registration, companions left out (a base's value is the `second` of
/// its counter).
#[derive(Clone, Debug)]
pub struct Rows {
    info: Arc<CounterSetInfo>,
    /// By counter id below [`DENSE_IDS`]: its column, or [`NO_COLUMN`].
    columns: Vec<u32>,
    /// The columns of the other ids, sorted.
    sparse_columns: Vec<(u32, u32)>,
    seconds: Vec<Second>,
    /// By column: the counter's place in the registration.
    positions: Vec<usize>,
    /// The ids of the wanted counters that are also companions of wanted counters, sorted.
    shared: Vec<u32>,
    filters: Vec<InstanceFilter>,
    at: Moments,
    /// The instances; beyond `count` those of the collection before, so that one that comes again need not be touched.
    instances: Vec<Arc<InstanceKey>>,
    /// How many rows there are.
    count: usize,
    values: Vec<RawValue>,
    troubles: Vec<Trouble>,
}

/// Where the second number of a raw value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// Plain numbers have none.
    None,
    Ticks,
    SystemTime,
    /// The provider gives the base's value.
    Base,
}

/// A reason for which values of a counter could not be read, and how often it was met in this collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The counter's id.
    pub counter_id: u32,
    /// The first instance that it was met at.
    pub instance: Arc<InstanceKey>,
    /// The cause in words.
    pub reason: Arc<str>,
    /// How many values it concerns.
    pub count: u64,
}

/// The row of one instance, to be filled.
#[derive(Debug)]
pub struct Row<'a> {
    rows: &'a mut Rows,
    start: usize,
}

impl Rows {
    /// Rows of a set in which nothing is wanted yet.
    pub fn new(info: Arc<CounterSetInfo>) -> Self {
        let ids = info.counters.iter().map(|counter| counter.id as usize + 1);
        let most = ids.filter(|&count| count <= DENSE_IDS).max().unwrap_or_default();
        Self {
            info,
            columns: vec![NO_COLUMN; most],
            sparse_columns: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
            shared: Vec::new(),
            filters: Vec::new(),
            at: Moments::default(),
            instances: Vec::new(),
            count: 0,
            values: Vec::new(),
            troubles: Vec::new(),
        }
    }

    /// Rows in which every counter of every instance is wanted.
    pub fn of_everything(info: Arc<CounterSetInfo>) -> Self {
        let mut rows = Self::new(Arc::clone(&info));
        rows.want(info.counters.iter().map(|counter| counter.id), vec![InstanceFilter::everything()]);
        rows
    }

    /// Says what is wanted from now on: these counters (a companion stands for the counters that it belongs to), of
    /// instances that one of the filters takes.
    ///
    /// Gives whether that is something else than before; then all rows are taken out.
    pub fn want(&mut self, ids: impl IntoIterator<Item = u32>, filters: Vec<InstanceFilter>) -> bool {
        let ids: HashSet<u32> = ids.into_iter().collect();
        let companions: HashSet<u32> = self.info.counters.iter().flat_map(CounterInfo::companions).collect();
        let is_wanted = |counter: &CounterInfo| {
            // A companion that is not shown has no value of its own: it is read with the counters that it belongs to.
            let has_value = counter.counter_type.formula().is_some()
                && (counter.is_displayable() || !companions.contains(&counter.id));
            has_value && (ids.contains(&counter.id) || counter.companions().any(|id| ids.contains(&id)))
        };
        let counters = self.info.counters.iter().enumerate();
        let positions: Vec<usize> =
            counters.filter(|(_, counter)| is_wanted(counter)).map(|(place, _)| place).collect();
        if positions == self.positions && filters == self.filters {
            return false;
        }
        self.columns.fill(NO_COLUMN);
        self.sparse_columns.clear();
        self.seconds.clear();
        for (column, &place) in (0..).zip(&positions) {
            let counter = &self.info.counters[place];
            match self.columns.get_mut(counter.id as usize) {
                Some(dense) => *dense = column,
                None => self.sparse_columns.push((counter.id, column)),
            }
            self.seconds.push(second_of(counter));
        }
        self.sparse_columns.sort_unstable();
        let of_wanted = positions.iter().flat_map(|&place| self.info.counters[place].companions());
        let has_column = |id: &u32| positions.iter().any(|&place| self.info.counters[place].id == *id);
        self.shared = of_wanted.filter(has_column).collect();
        self.shared.sort_unstable();
        self.positions = positions;
        self.filters = filters;
        self.clear(Moments::default());
        true
    }

    /// Rows that want the same, without any row.
    pub(crate) fn without_values(&self) -> Self {
        Self {
            info: Arc::clone(&self.info),
            columns: self.columns.clone(),
            sparse_columns: self.sparse_columns.clone(),
            seconds: self.seconds.clone(),
            positions: self.positions.clone(),
            shared: self.shared.clone(),
            filters: self.filters.clone(),
            at: self.at,
            instances: Vec::new(),
            count: 0,
            values: Vec::new(),
            troubles: Vec::new(),
        }
    }

    /// Takes over what another wants; nothing is allocated where that is the same as before.
    pub(crate) fn want_as(&mut self, other: &Self) {
        if self.positions != other.positions || self.filters != other.filters {
            *self = other.without_values();
        }
        self.clear(other.at);
    }

    /// Takes all rows out, keeping the buffers, and sets the moment of those that come.
    pub fn clear(&mut self, at: Moments) {
        self.at = at;
        self.instances.truncate(self.count);
        self.count = 0;
        self.values.clear();
        self.troubles.clear();
    }

    /// The counter set.
    pub fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    /// The moment of this collection.
    pub fn at(&self) -> Moments {
        self.at
    }

    /// Whether the counter of this id is wanted, and this machine has it.
    #[inline]
    pub fn wants(&self, id: u32) -> bool {
        self.column(id).is_some()
    }

    /// Whether any of these counters is wanted: whether a file that tells them is to be read.
    pub fn wants_any(&self, ids: impl IntoIterator<Item = u32>) -> bool {
        ids.into_iter().any(|id| self.wants(id))
    }

    /// Whether an instance of this name (`parent/name` where there are parents) and id is wanted.
    #[inline]
    pub fn wants_instance(&self, name: &str, id: u32) -> bool {
        self.filters.iter().any(|filter| filter.may_take(name, id))
    }

    /// Whether all instances are wanted, so that asking for each can be spared.
    pub fn wants_all_instances(&self) -> bool {
        self.filters.iter().any(InstanceFilter::is_everything)
    }

    /// Adds a row. Its values are "not valid" until they are set.
    pub fn push(&mut self, instance: &Arc<InstanceKey>) -> Row<'_> {
        let start = self.values.len();
        self.push_instance(instance);
        self.values.resize(start + self.seconds.len(), RawValue::error(Status::CSTATUS_INVALID_DATA));
        Row { rows: self, start }
    }

    #[inline]
    fn push_instance(&mut self, instance: &Arc<InstanceKey>) {
        match self.instances.get_mut(self.count) {
            Some(known) if Arc::ptr_eq(known, instance) => {}
            Some(known) => *known = Arc::clone(instance),
            None => self.instances.push(Arc::clone(instance)),
        }
        self.count += 1;
    }

    /// Adds a row. `fill` gets the raw value of each column, which says "not valid" before.
    #[inline]
    pub(crate) fn push_with(&mut self, instance: &Arc<InstanceKey>, fill: impl FnOnce(&mut [RawValue])) {
        self.push_instance(instance);
        let start = self.values.len();
        self.values.resize(start + self.positions.len(), RawValue::error(Status::CSTATUS_INVALID_DATA));
        fill(&mut self.values[start..]);
    }

    /// By column: the place of its counter in the registration.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Says why an instance, or what stands in its place, has no row: met at the first wanted counter.
    pub(crate) fn complain(&mut self, instance: &Arc<InstanceKey>, reason: &Arc<str>) {
        let Some(&position) = self.positions.first() else { return };
        let counter_id = self.info.counters[position].id;
        let known = self.troubles.iter_mut().find(|trouble| Arc::ptr_eq(&trouble.reason, reason));
        match known {
            Some(trouble) => trouble.count += 1,
            None => self.troubles.push(Trouble {
                counter_id,
                instance: Arc::clone(instance),
                reason: Arc::clone(reason),
                count: 1,
            }),
        }
    }

    /// The row of this place again, to set what is known only later (a total).
    ///
    /// # Panics
    ///
    /// When there is no such row.
    pub fn row_mut(&mut self, place: usize) -> Row<'_> {
        assert!(place < self.count, "row {place} of {}", self.count);
        let start = place * self.seconds.len();
        Row { rows: self, start }
    }

    /// Takes the rows from this place on out again.
    pub fn truncate(&mut self, rows: usize) {
        self.count = self.count.min(rows);
        self.values.truncate(rows * self.seconds.len());
    }

    /// The instances, in the provider's order.
    pub fn instances(&self) -> &[Arc<InstanceKey>] {
        &self.instances[..self.count]
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.seconds.len()
    }

    /// The column of the counter of this id, where it is wanted.
    #[inline]
    pub fn column(&self, id: u32) -> Option<usize> {
        match self.columns.get(id as usize) {
            Some(&NO_COLUMN) => None,
            Some(&column) => Some(column as usize),
            None => {
                let place = self.sparse_columns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
                Some(self.sparse_columns[place].1 as usize)
            }
        }
    }

    /// The counter of a column.
    pub fn counter(&self, column: usize) -> &CounterInfo {
        &self.info.counters[self.positions[column]]
    }

    /// The raw values of a row, by column.
    pub fn values(&self, row: usize) -> &[RawValue] {
        &self.values[row * self.seconds.len()..][..self.seconds.len()]
    }

    /// All raw values, row after row.
    pub fn all_values(&self) -> &[RawValue] {
        &self.values
    }

    /// Why values could not be read.
    pub fn troubles(&self) -> &[Trouble] {
        &self.troubles
    }

    /// Whether a counter has no value because its provider never gave one (a counter by reference).
    pub(crate) fn has_no_data(&self, row: usize, id: u32) -> bool {
        self.column(id).is_some_and(|column| self.values(row)[column].status == Status::NO_DATA)
    }

    /// The value of a counter as a raw data block holds it: of a companion, the part of its counter's raw value that it
    /// stands for; `None` where it cannot be read now.
    pub fn block_value(&self, row: usize, id: u32) -> Option<u64> {
        let good = |column: usize| {
            let raw = self.values(row)[column];
            raw.status.is_good().then_some(raw)
        };
        // What is a companion as well is told as the owner's raw value has it, so that the two fit.
        if let Some(column) = self.column(id).filter(|_| self.shared.binary_search(&id).is_err()) {
            return good(column).map(|raw| raw.first as u64);
        }
        (0..self.width()).find_map(|column| {
            let owner = self.counter(column);
            let part: fn(RawValue) -> u64 = if owner.base_id == Some(id) || owner.time_id == Some(id) {
                |raw| raw.second as u64
            } else if owner.frequency_id == Some(id) {
                |_| FREQUENCY as u64
            } else if owner.multiplier_id == Some(id) {
                |raw| raw.multi_count.into()
            } else {
                return None;
            };
            good(column).map(part)
        })
    }
}

impl Row<'_> {
    /// Sets the value of a counter, if it is wanted. The time stamp is that of the collection.
    #[inline]
    pub fn set(&mut self, id: u32, value: u64) {
        if let Some(column) = self.rows.column(id) {
            let at = &self.rows.at;
            let second = match self.rows.seconds[column] {
                Second::None | Second::Base => 0,
                Second::Ticks => at.ticks,
                Second::SystemTime => at.system_time.0,
            };
            self.rows.values[self.start + column] = RawValue::new(value as i64, second);
        }
    }

    /// Sets the value of a counter together with that of its base, if it is wanted.
    #[inline]
    pub fn set_with_base(&mut self, id: u32, value: u64, base: u64) {
        self.set_raw(id, RawValue::new(value as i64, base as i64));
    }

    /// Sets both numbers and the multiplier of a counter, if it is wanted.
    #[inline]
    pub fn set_raw(&mut self, id: u32, raw: RawValue) {
        if let Some(column) = self.rows.column(id) {
            self.rows.values[self.start + column] = raw;
        }
    }

    /// Says that a counter, if it is wanted, cannot be read now, and why.
    ///
    /// `reason` is kept by pointer: a provider makes it once.
    pub fn fail(&mut self, id: u32, reason: &Arc<str>) {
        let Some(column) = self.rows.column(id) else { return };
        self.rows.values[self.start + column] = RawValue::error(Status::CSTATUS_INVALID_DATA);
        let known = |trouble: &&mut Trouble| trouble.counter_id == id && Arc::ptr_eq(&trouble.reason, reason);
        if let Some(trouble) = self.rows.troubles.iter_mut().find(known) {
            trouble.count += 1;
            return;
        }
        let width = self.rows.seconds.len().max(1);
        let instance = Arc::clone(&self.rows.instances[self.start / width]);
        self.rows.troubles.push(Trouble { counter_id: id, instance, reason: Arc::clone(reason), count: 1 });
    }

    /// Says that this instance does not have a counter at all, such as a limit that was not set: neither a value nor an
    /// error.
    pub fn leave_out(&mut self, id: u32) {
        self.set_raw(id, RawValue::error(Status::NO_INSTANCE));
    }

    /// As [`fail`](Self::fail), for several counters.
    pub fn fail_all(&mut self, ids: impl IntoIterator<Item = u32>, reason: &Arc<str>) {
        ids.into_iter().for_each(|id| self.fail(id, reason));
    }

    /// Whether the counter of this id is wanted.
    #[inline]
    pub fn wants(&self, id: u32) -> bool {
        self.rows.wants(id)
    }
}

fn second_of(counter: &CounterInfo) -> Second {
    let counter_type = counter.counter_type;
    match (counter_type.formula(), counter_type.subtype()) {
        (None | Some(Formula::Value | Formula::Double), _) => Second::None,
        (_, Subtype::Fraction | Subtype::Precision | Subtype::Base) => Second::Base,
        // The object's clock of sets of this machine is the system time.
        (Some(Formula::Elapsed), _) => Second::SystemTime,
        _ if counter_type.time_base() == TimeBase::Tick => Second::Ticks,
        _ => Second::SystemTime,
    }
}
