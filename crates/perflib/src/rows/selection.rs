//! The counters and instances that are collected.

use std::collections::HashSet;

use tachograph_counters::{Formula, Subtype, TimeBase};

use crate::filter::InstanceFilter;
use crate::registration::{CounterInfo, CounterSetInfo};

/// The column of a counter that is not selected or does not exist on this machine.
const NO_COLUMN: u32 = u32::MAX;

/// Ids below this number are looked up by index, other ids by binary search, because an id can be any number.
const DENSE_IDS: usize = 1024;

/// The selected counters with their columns, and the selected instances.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// For each counter id below [`DENSE_IDS`], its column or [`NO_COLUMN`].
    columns: Vec<u32>,
    /// The other ids with their columns, sorted.
    sparse_columns: Vec<(u32, u32)>,
    /// For each column, the meaning of the second number of its values.
    pub(super) second_number_kinds: Vec<SecondNumberKind>,
    /// For each column, the index of its counter in the registration.
    pub(super) positions: Vec<usize>,
    /// The ids of the selected counters that are also companions of selected counters, sorted.
    selected_companions: Vec<u32>,
    pub(super) filters: Vec<InstanceFilter>,
}

/// The meaning of the second number of a raw value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondNumberKind {
    /// Unused: the counter is a plain number.
    None,
    /// The performance clock at the time of the collection.
    Ticks,
    /// The system time of the collection.
    SystemTime,
    /// The value of the base, which the provider supplies.
    Base,
}

impl Selection {
    pub(super) fn new(info: &CounterSetInfo) -> Self {
        let table_lengths = info.counters.iter().map(|counter| counter.id as usize + 1);
        let dense_length = table_lengths.filter(|&length| length <= DENSE_IDS).max().unwrap_or_default();
        Self {
            columns: vec![NO_COLUMN; dense_length],
            sparse_columns: Vec::new(),
            second_number_kinds: Vec::new(),
            positions: Vec::new(),
            selected_companions: Vec::new(),
            filters: Vec::new(),
        }
    }

    /// Changes the selection. Returns false if it is the same as before.
    pub(super) fn change(
        &mut self,
        info: &CounterSetInfo,
        ids: HashSet<u32>,
        filters: Vec<InstanceFilter>,
    ) -> bool {
        let companions: HashSet<u32> = info.counters.iter().flat_map(CounterInfo::companions).collect();
        let is_selected = |counter: &CounterInfo| {
            // A companion that is never displayed has no column: its value is part of the counter that it belongs to.
            let has_value = counter.counter_type.formula().is_some()
                && (counter.is_displayable() || !companions.contains(&counter.id));
            has_value && (ids.contains(&counter.id) || counter.companions().any(|id| ids.contains(&id)))
        };
        let counters = info.counters.iter().enumerate();
        let positions: Vec<usize> =
            counters.filter(|(_, counter)| is_selected(counter)).map(|(position, _)| position).collect();
        if positions == self.positions && filters == self.filters {
            return false;
        }
        self.columns.fill(NO_COLUMN);
        self.sparse_columns.clear();
        self.second_number_kinds.clear();
        for (column, &position) in (0..).zip(&positions) {
            let counter = &info.counters[position];
            match self.columns.get_mut(counter.id as usize) {
                Some(dense) => *dense = column,
                None => self.sparse_columns.push((counter.id, column)),
            }
            self.second_number_kinds.push(SecondNumberKind::for_counter(counter));
        }
        self.sparse_columns.sort_unstable();
        let companions = positions.iter().flat_map(|&position| info.counters[position].companions());
        self.selected_companions = companions.filter(|&id| self.column(id).is_some()).collect();
        self.selected_companions.sort_unstable();
        self.positions = positions;
        self.filters = filters;
        true
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.positions == other.positions && self.filters == other.filters
    }

    #[inline]
    pub(super) fn column(&self, id: u32) -> Option<usize> {
        match self.columns.get(id as usize) {
            Some(&NO_COLUMN) => None,
            Some(&column) => Some(column as usize),
            None => {
                let index = self.sparse_columns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
                Some(self.sparse_columns[index].1 as usize)
            }
        }
    }

    /// Whether the counter is selected and also a companion of a selected counter.
    pub(super) fn is_selected_companion(&self, id: u32) -> bool {
        self.selected_companions.binary_search(&id).is_ok()
    }
}

impl SecondNumberKind {
    pub(crate) fn for_counter(counter: &CounterInfo) -> Self {
        let counter_type = counter.counter_type;
        match (counter_type.formula(), counter_type.subtype()) {
            (None | Some(Formula::Value | Formula::Double), _) => Self::None,
            (_, Subtype::Fraction | Subtype::Precision | Subtype::Base) => Self::Base,
            // An elapsed time is measured by a clock of the provider or, if it has none, by the system time.
            (Some(Formula::Elapsed), _) => Self::SystemTime,
            _ if counter_type.time_base() == TimeBase::Tick => Self::Ticks,
            _ => Self::SystemTime,
        }
    }
}
