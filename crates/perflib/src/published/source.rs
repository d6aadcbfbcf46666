//! Locates and reads the raw values of counters in a file.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::{CounterType, Formula, RawValue, Size, Status, TimeBase};
use tachograph_shm::{Attributes, CellKind, CellLocation, CounterInfo, CounterSetInfo, Instance};

use crate::rows::SecondNumberKind;
use crate::{FREQUENCY, Timestamps};

/// Where the second number of a raw value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecondLocation {
    /// Always 0.
    Zero,
    /// The performance clock at the time of the collection.
    Ticks,
    /// The system time of the collection.
    SystemTime,
    /// The base in the cell of the value.
    SameCell,
    /// Another cell, which contains a base, or a clock that the provider itself supplies.
    OtherCell { cell: CellLocation, mask: u64 },
}

/// The second numbers that do not depend on the instance: 0 and the timestamps of the collection. Indexed by
/// [`Source::stamp_index`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps([i64; 3]);

const ZERO_INDEX: u8 = 0;
const TICKS_INDEX: u8 = 1;
const SYSTEM_TIME_INDEX: u8 = 2;

impl Stamps {
    pub(super) fn new(at: &Timestamps) -> Self {
        Self([0, at.ticks, at.system_time.0])
    }

    #[inline]
    pub(super) fn get(&self, index: u8) -> i64 {
        self.0.get(usize::from(index)).copied().unwrap_or_default()
    }
}

/// Where the numbers of one counter's raw value are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) cell: CellLocation,
    /// The bits of the cell that belong to the value.
    pub(super) mask: u64,
    second: SecondLocation,
    /// The cell with the multiplier of a multi timer.
    multiplier: Option<CellLocation>,
    /// The cell with the frequency of the clock that the provider supplies, in ticks per second.
    frequency: Option<CellLocation>,
    /// Whether this is a counter by reference, whose value is missing until the provider sets it.
    is_by_reference: bool,
    /// Whether the counter's history combines ended instances by a sum, not by the counter's aggregate function.
    pub(super) is_history_sum: bool,
    /// Whether the counter's formula compares two samples.
    needs_two_samples: bool,
}

/// The sources of a set's counters in one file, in the order of registration.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    /// One item per counter; `None` if the file does not have the counter as registered.
    by_position: Vec<Option<Source>>,
    /// Whether the counters in the file's description differ from those in the registration.
    pub(super) differs: bool,
}

impl Sources {
    /// Locates the counters of a registration in a file with this description. A counter has no source if the file does
    /// not have it, or has it with another type or other companions.
    pub(super) fn new(info: &CounterSetInfo, description: &CounterSetInfo) -> Self {
        let has_other_instance_type = description.instance_type != info.instance_type;
        // Reversed, so that if several counters have the same id, the first one is found.
        let indexes = description.counters.iter().enumerate().rev();
        let indexes: HashMap<u32, usize> = indexes.map(|(index, counter)| (counter.id, index)).collect();
        let cells = CellLocation::for_counters(description);
        let source = |counter: &CounterInfo| {
            let index = *indexes.get(&counter.id)?;
            let described = &description.counters[index];
            let is_compatible = !has_other_instance_type && has_same_type(counter, described);
            is_compatible.then(|| Source::new(described, cells[index], description, &indexes, &cells))
        };
        let by_position: Vec<_> = info.counters.iter().map(source).collect();
        let differs = by_position.contains(&None) || description.counters.len() != info.counters.len();
        Self { by_position, differs }
    }

    #[inline]
    pub(super) fn get(&self, position: usize) -> Option<&Source> {
        self.by_position.get(position)?.as_ref()
    }

    /// Whether any counter's formula uses the change, between two samples, of a base or time that is stored in another
    /// cell.
    pub(super) fn has_separate_bases(&self) -> bool {
        self.by_position.iter().flatten().any(Source::has_separate_base)
    }

    /// Whether the file has none of the registration's counters.
    pub(super) fn is_empty(&self) -> bool {
        self.by_position.iter().all(Option::is_none)
    }
}

/// Whether a counter in a file has the registered type and companions.
fn has_same_type(info: &CounterInfo, described: &CounterInfo) -> bool {
    info.counter_type == described.counter_type && info.companion_ids() == described.companion_ids()
}

impl Source {
    fn new(
        counter: &CounterInfo,
        cell: CellLocation,
        description: &CounterSetInfo,
        indexes: &HashMap<u32, usize>,
        cells: &[CellLocation],
    ) -> Self {
        let counter_type = counter.counter_type;
        let cell_of = |id: Option<u32>| {
            let index = *indexes.get(&id?)?;
            (description.counters[index].cell != CellKind::None).then_some(cells[index])
        };
        let mask_of = |id: Option<u32>| {
            let base = id.and_then(|id| indexes.get(&id));
            base.map_or(u64::MAX, |&index| mask(description.counters[index].counter_type))
        };
        let time = cell_of(counter.time_id);
        let second = match SecondNumberKind::for_counter(counter) {
            SecondNumberKind::None => SecondLocation::Zero,
            SecondNumberKind::Base if counter.cell.has_base() => SecondLocation::SameCell,
            SecondNumberKind::Base => match cell_of(counter.base_id) {
                Some(cell) => SecondLocation::OtherCell { cell, mask: mask_of(counter.base_id) },
                None => SecondLocation::Zero,
            },
            stamp => match time.filter(|_| counter_type.time_base() == TimeBase::Object) {
                Some(cell) => SecondLocation::OtherCell { cell, mask: u64::MAX },
                None if stamp == SecondNumberKind::Ticks => SecondLocation::Ticks,
                None => SecondLocation::SystemTime,
            },
        };
        // Only an elapsed time is converted to seconds. The other formulas divide by the change of the provider's
        // clock, so its frequency cancels out.
        let has_frequency = counter_type.formula() == Some(Formula::Elapsed) && time.is_some();
        let multiplier = cell_of(counter.multiplier_id);
        let frequency = cell_of(counter.frequency_id).filter(|_| has_frequency);
        Self {
            cell,
            // A value that is stored together with its base is 64 bits wide even if the counter type has 32 bits.
            mask: if counter.cell.has_base() { u64::MAX } else { mask(counter_type) },
            second,
            multiplier,
            frequency,
            is_by_reference: counter.attributes.has(Attributes::BY_REFERENCE),
            needs_two_samples: counter_type.needs_two_samples(),
            is_history_sum: counter.cell != CellKind::Plain || counter.stripes > 0,
        }
    }

    /// The index of the second number in [`Stamps`]; `None` if the second number is stored in a cell.
    pub(super) fn stamp_index(&self) -> Option<u8> {
        match self.second {
            SecondLocation::Zero => Some(ZERO_INDEX),
            SecondLocation::Ticks => Some(TICKS_INDEX),
            SecondLocation::SystemTime => Some(SYSTEM_TIME_INDEX),
            SecondLocation::SameCell | SecondLocation::OtherCell { .. } => None,
        }
    }

    /// Whether the second number is the base in the same cell.
    pub(super) fn has_base_in_cell(&self) -> bool {
        self.second == SecondLocation::SameCell
    }

    /// Whether the counter has a multiplier, or a clock with its own frequency.
    pub(super) fn has_companions(&self) -> bool {
        self.multiplier.is_some() || self.frequency.is_some()
    }

    /// Whether the value is 64 bits wide.
    pub(super) fn is_wide(&self) -> bool {
        self.mask == u64::MAX
    }

    /// Whether the formula uses the change of a number in another cell between two samples. In a new instance, this
    /// number can start above 0.
    fn has_separate_base(&self) -> bool {
        self.needs_two_samples && matches!(self.second, SecondLocation::OtherCell { .. })
    }

    pub(super) fn read(&self, instance: &Instance<'_>, stamps: &Stamps) -> RawValue {
        let Some(reading) = instance.value_at(&self.cell) else { return self.missing_value() };
        let second = match (self.stamp_index(), self.second) {
            (Some(index), _) => stamps.get(index),
            (None, SecondLocation::OtherCell { cell, mask }) => match instance.value_at(&cell) {
                Some(base) => (base.value & mask) as i64,
                None => return self.missing_value(),
            },
            _ => reading.base.unwrap_or_default() as i64,
        };
        let raw = RawValue::new((reading.value & self.mask) as i64, second);
        if self.has_companions() { self.with_companions(instance, raw) } else { raw }
    }

    /// The error for a value that is not set or cannot be read.
    #[cold]
    fn missing_value(&self) -> RawValue {
        RawValue::error(if self.is_by_reference { Status::NO_DATA } else { Status::CSTATUS_INVALID_DATA })
    }

    /// Adds the multiplier to a raw value, and converts its numbers from ticks of the provider's clock.
    fn with_companions(&self, instance: &Instance<'_>, mut raw: RawValue) -> RawValue {
        let value = |cell: CellLocation| instance.value_at(&cell).map(|reading| reading.value);
        if let Some(cell) = self.multiplier {
            let Some(multiplier) = value(cell) else { return self.missing_value() };
            raw.multi_count = multiplier as u32;
        }
        if let Some(cell) = self.frequency {
            // Convert from ticks of the provider's clock to ticks at `FREQUENCY`.
            let Some(frequency) = value(cell).filter(|&frequency| frequency > 0) else {
                return self.missing_value();
            };
            let scale = |ticks: i64| {
                let scaled = i128::from(ticks) * i128::from(FREQUENCY) / i128::from(frequency);
                scaled.clamp(i64::MIN.into(), i64::MAX.into()) as i64
            };
            (raw.first, raw.second) = (scale(raw.first), scale(raw.second));
        }
        raw
    }
}

/// The bits of a plain cell that belong to a value of this type: 32-bit types wrap at 2^32.
fn mask(counter_type: CounterType) -> u64 {
    match counter_type.size() {
        Size::Dword => u32::MAX.into(),
        _ => u64::MAX,
    }
}

/// The message for a counter that a file does not have, or has with another type.
pub(super) fn mismatch_text(process: u64) -> Arc<str> {
    format!("process {process} does not publish this counter, or publishes it with another type").into()
}
