//! How the raw value of a counter is made from the cells of a file.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::{CounterType, Size};
use tachograph_counters::{Formula, RawValue, Status, Subtype, TimeBase};
use tachograph_shm::{Attributes, CellKind, CellPlace, CounterInfo, CounterSetInfo, Instance};

use crate::{FREQUENCY, Moments};

/// Where the second number of a raw value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    Nothing,
    Ticks,
    SystemTime,
    /// The base that is kept with the value.
    Base,
    /// A cell of its own: a base, or the object's time.
    Cell {
        cell: CellPlace,
        mask: u64,
    },
}

/// The time stamps of a collection, by [`Source::stamp`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps([i64; 3]);

const NO_STAMP: u8 = 0;
const TICKS: u8 = 1;
const SYSTEM_TIME: u8 = 2;

impl Stamps {
    pub(super) fn of(at: &Moments) -> Self {
        Self([0, at.ticks, at.system_time.0])
    }

    #[inline]
    pub(super) fn get(&self, stamp: u8) -> i64 {
        self.0.get(usize::from(stamp)).copied().unwrap_or_default()
    }
}

/// How the raw value of one counter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    cell: CellPlace,
    mask: u64,
    second: Second,
    multiplier: Option<CellPlace>,
    /// The cell of the frequency of the time, where value and time are both in units of it.
    frequency: Option<CellPlace>,
    /// A value that is missing was never given, not missed.
    is_by_reference: bool,
    keeps_sums: bool,
    is_difference: bool,
}

/// How the counters of a set are read from one file, by their place in the registration.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    by_position: Vec<Option<Source>>,
    /// Whether a counter of the registration is described otherwise by the file.
    pub(super) is_otherwise: bool,
}

impl Sources {
    /// The sources of a registration's counters in a file with this description. A counter that the file does not have, or
    /// has with another type or other companions, has none: values of two kinds are never mixed.
    pub(super) fn new(info: &CounterSetInfo, description: &CounterSetInfo) -> Self {
        let is_other_set = description.instance_type != info.instance_type;
        let places = Places::of(description);
        let cells = CellPlace::of_all(description);
        let source = |counter: &CounterInfo| {
            let place = places.get(counter.id)?;
            let described = &description.counters[place];
            let is_it = !is_other_set && is_same(counter, described);
            is_it.then(|| Source::new(described, cells[place], description, &places, &cells))
        };
        let by_position: Vec<_> = info.counters.iter().map(source).collect();
        let is_otherwise = by_position.contains(&None) || description.counters.len() != info.counters.len();
        Self { by_position, is_otherwise }
    }

    #[inline]
    pub(super) fn get(&self, position: usize) -> Option<&Source> {
        self.by_position.get(position)?.as_ref()
    }

    /// Whether differences of a base or a time of its own are taken of one of them.
    pub(super) fn has_cells_beside(&self) -> bool {
        self.by_position.iter().flatten().any(Source::has_cell_beside)
    }

    /// Whether the file has nothing of the registration.
    pub(super) fn is_empty(&self) -> bool {
        self.by_position.iter().all(Option::is_none)
    }
}

/// Whether a file's counter is what the registration says.
fn is_same(info: &CounterInfo, described: &CounterInfo) -> bool {
    info.counter_type == described.counter_type && info.companion_ids() == described.companion_ids()
}

/// The places of a description's counters, by id. Of several with one id, the first.
struct Places(HashMap<u32, usize>);

impl Places {
    fn of(description: &CounterSetInfo) -> Self {
        let places = description.counters.iter().enumerate().rev();
        Self(places.map(|(place, counter)| (counter.id, place)).collect())
    }

    fn get(&self, id: u32) -> Option<usize> {
        self.0.get(&id).copied()
    }
}

impl Source {
    fn new(
        counter: &CounterInfo,
        cell: CellPlace,
        description: &CounterSetInfo,
        places: &Places,
        cells: &[CellPlace],
    ) -> Self {
        let counter_type = counter.counter_type;
        let with_cell = |id: Option<u32>| {
            let place = places.get(id?)?;
            (description.counters[place].cell != CellKind::None).then_some(cells[place])
        };
        let mask_of = |id: Option<u32>| {
            let base = id.and_then(|id| places.get(id));
            base.map_or(u64::MAX, |place| mask(description.counters[place].counter_type))
        };
        let time = with_cell(counter.time_id);
        let second = match (counter_type.formula(), counter_type.subtype()) {
            (None | Some(Formula::Value | Formula::Double), _) => Second::Nothing,
            (_, Subtype::Fraction | Subtype::Precision | Subtype::Base) => {
                match (counter.cell.has_base(), with_cell(counter.base_id)) {
                    (true, _) => Second::Base,
                    (false, Some(cell)) => Second::Cell { cell, mask: mask_of(counter.base_id) },
                    (false, None) => Second::Nothing,
                }
            }
            (formula, _) => match (counter_type.time_base(), time) {
                (TimeBase::Object, Some(cell)) => Second::Cell { cell, mask: u64::MAX },
                (TimeBase::Tick, _) if formula != Some(Formula::Elapsed) => Second::Ticks,
                _ => Second::SystemTime,
            },
        };
        // Only an elapsed time is divided by the frequency of the object's clock; others are a share of its time.
        let has_frequency = counter_type.formula() == Some(Formula::Elapsed) && time.is_some();
        let multiplier = with_cell(counter.multiplier_id);
        let frequency = with_cell(counter.frequency_id).filter(|_| has_frequency);
        Self {
            cell,
            // What is kept with its base has all its bits: it does not wrap where the type word says 32.
            mask: if counter.cell.has_base() { u64::MAX } else { mask(counter_type) },
            second,
            multiplier,
            frequency,
            is_by_reference: counter.attributes.has(Attributes::BY_REFERENCE),
            is_difference: counter_type.needs_two_samples(),
            keeps_sums: counter.cell != CellKind::Plain || counter.stripes > 0,
        }
    }

    /// Where its value is.
    pub(super) fn cell(&self) -> CellPlace {
        self.cell
    }

    /// The bits of its value.
    pub(super) fn mask(&self) -> u64 {
        self.mask
    }

    /// Which of the [`Stamps`] the second number is, where it is the moment of the collection and not the instance's.
    pub(super) fn stamp(&self) -> Option<u8> {
        match self.second {
            Second::Nothing => Some(NO_STAMP),
            Second::Ticks => Some(TICKS),
            Second::SystemTime => Some(SYSTEM_TIME),
            Second::Base | Second::Cell { .. } => None,
        }
    }

    /// Whether the second number is the base that is kept with the value.
    pub(super) fn is_with_base(&self) -> bool {
        self.second == Second::Base
    }

    /// Whether it has a multiplier, or a time of another frequency.
    pub(super) fn has_companions(&self) -> bool {
        self.multiplier.is_some() || self.frequency.is_some()
    }

    /// Whether its values have more bits than the type word says.
    pub(super) fn is_wide(&self) -> bool {
        self.mask == u64::MAX
    }

    /// Whether what instances that ended have left of it is a sum.
    pub(super) fn keeps_sums(&self) -> bool {
        self.keeps_sums
    }

    /// Whether differences of a base or time of its own are taken: one that an instance has before it counts anything.
    fn has_cell_beside(&self) -> bool {
        self.is_difference && matches!(self.second, Second::Cell { .. })
    }

    /// The raw value of the counter now.
    pub(super) fn read(&self, instance: &Instance<'_>, stamps: &Stamps) -> RawValue {
        let Some(reading) = instance.value_at(&self.cell) else { return self.missing() };
        let second = match (self.stamp(), self.second) {
            (Some(stamp), _) => stamps.get(stamp),
            (None, Second::Cell { cell, mask }) => match instance.value_at(&cell) {
                Some(base) => (base.value & mask) as i64,
                None => return self.missing(),
            },
            _ => reading.base.unwrap_or_default() as i64,
        };
        let raw = RawValue::new((reading.value & self.mask) as i64, second);
        if self.has_companions() { self.with_companions(instance, raw) } else { raw }
    }

    #[cold]
    fn missing(&self) -> RawValue {
        RawValue::error(if self.is_by_reference { Status::NO_DATA } else { Status::CSTATUS_INVALID_DATA })
    }

    fn with_companions(&self, instance: &Instance<'_>, mut raw: RawValue) -> RawValue {
        let value = |cell: CellPlace| instance.value_at(&cell).map(|reading| reading.value);
        if let Some(cell) = self.multiplier {
            let Some(multiplier) = value(cell) else { return self.missing() };
            raw.multi_count = multiplier as u32;
        }
        if let Some(cell) = self.frequency {
            // The set's clock has another frequency: its times are told in units of ours.
            let Some(frequency) = value(cell).filter(|&frequency| frequency > 0) else {
                return self.missing();
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

/// The bits of a value of this type in a plain cell: types of 32 bits wrap at 2^32, as their providers reckon.
fn mask(counter_type: CounterType) -> u64 {
    match counter_type.size() {
        Size::Dword => u32::MAX.into(),
        _ => u64::MAX,
    }
}

/// What is said of a counter that a file has not, or has otherwise.
pub(super) fn otherwise(process: u64) -> Arc<str> {
    format!("process {process} publishes this counter with another type, or not at all").into()
}
