//! The columns of block records, which define where each part of a raw value is read from.

use std::sync::Arc;

use tachograph_counters::sample::Clocks;
use tachograph_counters::set::{Counter, CounterSet, Extent, TitleIndexes};
use tachograph_counters::{Class, CounterType, Formula, RawValue, Status, Subtype, TimeBase};
use zerocopy::IntoBytes;

use super::names::{Names, english_name};
use crate::blg::raw::block::{CounterDefinition, ObjectType};

/// The location of a number in a counter block.
#[derive(Clone, Copy, Debug)]
struct Data {
    offset: u32,
    is_32_bit: bool,
}

/// The source of the second number of a raw value.
#[derive(Clone, Copy, Debug)]
enum Source {
    None,
    Ticks,
    SystemTime,
    ObjectTime,
    Base(Data),
    /// The type needs a base (or a multiplier), but the block has none.
    Missing,
}

/// A counter of a block. Bases have no column of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// `None` if the counter is not a number: its data has neither 4 nor 8 bytes.
    first: Option<Data>,
    second: Source,
    multi: Option<Data>,
}

/// The columns of one object's blocks, rebuilt when the definitions change.
pub(super) struct Columns {
    /// The definitions from which the columns were built, and the frequencies of the clocks.
    definitions: Vec<u8>,
    frequencies: (i64, i64),
    set: Arc<CounterSet>,
    list: Vec<Column>,
    min_block_bytes: usize,
}

impl Column {
    /// Reads the raw value from a counter block; its status is an error if a part of it is outside the block.
    #[inline]
    pub(super) fn value(&self, block: &[u8], clocks: &Clocks) -> RawValue {
        let first = self.first.and_then(|data| data.read(block));
        let second = match self.second {
            Source::None => Some(0),
            Source::Ticks => Some(clocks.ticks),
            Source::SystemTime => Some(clocks.system_time.0),
            Source::ObjectTime => Some(clocks.object_time),
            Source::Base(data) => data.read(block),
            Source::Missing => None,
        };
        let multi_count = self.multi.map_or(Some(1), |data| data.read(block));
        match (first, second, multi_count) {
            (Some(first), Some(second), Some(multi_count)) => {
                RawValue { multi_count: multi_count as u32, ..RawValue::new(first, second) }
            }
            _ => {
                RawValue { first: first.unwrap_or_default(), ..RawValue::error(Status::CSTATUS_INVALID_DATA) }
            }
        }
    }
}

impl Columns {
    pub(super) fn new(machine: &str, object: &str) -> Self {
        Self {
            definitions: Vec::new(),
            frequencies: (0, 0),
            set: Arc::new(CounterSet::new(machine.trim_start_matches('\\'), object, Extent::Table)),
            list: Vec::new(),
            min_block_bytes: 0,
        }
    }

    pub(super) fn set(&self) -> &Arc<CounterSet> {
        &self.set
    }

    pub(super) fn list(&self) -> &[Column] {
        &self.list
    }

    /// The minimum length of a counter block that contains every column that has a formula.
    pub(super) fn min_block_bytes(&self) -> usize {
        self.min_block_bytes
    }

    /// Rebuilds the columns if the definitions changed; in that case, returns the index and type of the first
    /// definition of unknown type.
    pub(super) fn update(
        &mut self,
        object: &ObjectType,
        definitions: &[CounterDefinition],
        clocks: &Clocks,
        machine: &str,
        names: &Names,
    ) -> Option<(usize, CounterType)> {
        let frequencies = (clocks.frequency, clocks.object_frequency);
        let has_instances = object.instance_count.get() >= 0;
        if self.definitions == definitions.as_bytes()
            && self.frequencies == frequencies
            && self.set.has_instances == has_instances
            && !self.list.is_empty()
        {
            return None;
        }
        self.definitions.clear();
        self.definitions.extend_from_slice(definitions.as_bytes());
        self.frequencies = frequencies;
        let mut set = CounterSet::clone(&self.set);
        set.has_instances = has_instances;
        set.indexes = Some(TitleIndexes { name: object.name_index.get(), help: object.help_index.get() });
        set.default_counter = object.default_counter.get();
        set.english_name = other_than(&set.name, english_name(object.name_index.get()));
        set.counters.clear();
        self.list.clear();
        self.min_block_bytes = 4;
        for (index, definition) in definitions.iter().enumerate() {
            let counter_type = CounterType(definition.counter_type.get());
            if counter_type.is_base() {
                continue;
            }
            let base = definitions
                .get(index + 1)
                .filter(|next| CounterType(next.counter_type.get()).is_base())
                .map(Data::of);
            let first = Data::of(definition);
            let (mut second, time_base) = second_of(counter_type, base.flatten(), clocks);
            let mut multi = None;
            if counter_type.formula().is_some_and(Formula::uses_multiplier) {
                // If the multiplier has no definition, it directly follows the value.
                multi = base.unwrap_or(first.and_then(Data::after));
                if multi.is_none() {
                    second = Source::Missing;
                }
            }
            if counter_type.formula().is_some() {
                let based = if let Source::Base(data) = second { Some(data) } else { None };
                let ends = [first, based, multi].into_iter().flatten().map(Data::end);
                self.min_block_bytes = ends.fold(self.min_block_bytes, usize::max);
            }
            self.list.push(Column { first, second, multi });
            let name = names.name(machine, definition.name_index.get());
            let english_name = other_than(&name, english_name(definition.name_index.get()));
            set.counters.push(Counter {
                english_name,
                default_scale: definition.default_scale.get(),
                data_is_32_bit: definition.data_bytes.get() <= 4,
                indexes: Some(TitleIndexes {
                    name: definition.name_index.get(),
                    help: definition.help_index.get(),
                }),
                detail_level: definition.detail_level.get(),
                ..Counter::new(name, counter_type, time_base)
            });
        }
        // Keep the description if it is equal: with a new one, samples would not be paired.
        if set != *self.set {
            self.set = Arc::new(set);
        }
        definitions
            .iter()
            .map(|definition| CounterType(definition.counter_type.get()))
            .enumerate()
            .find(|(_, counter_type)| !counter_type.is_known())
    }
}

impl Data {
    /// The location of a counter's number. The definition determines its size, not the counter type.
    fn of(definition: &CounterDefinition) -> Option<Self> {
        let is_32_bit = match definition.data_bytes.get() {
            4 => true,
            8 => false,
            _ => return None,
        };
        Some(Self { offset: definition.data_offset.get(), is_32_bit })
    }

    /// The 32-bit number after this one.
    fn after(self) -> Option<Self> {
        Some(Self { offset: u32::try_from(self.end()).ok()?, is_32_bit: true })
    }

    fn end(self) -> usize {
        (self.offset as usize).saturating_add(if self.is_32_bit { 4 } else { 8 })
    }

    /// Reads the number; `None` if the counter block is too short.
    #[inline]
    fn read(self, block: &[u8]) -> Option<i64> {
        let from = block.get(self.offset as usize..)?;
        if self.is_32_bit {
            from.first_chunk::<4>().map(|bytes| i64::from(u32::from_le_bytes(*bytes)))
        } else {
            from.first_chunk::<8>().map(|bytes| i64::from_le_bytes(*bytes))
        }
    }
}

fn other_than(name: &str, english: Option<&str>) -> Option<Arc<str>> {
    english.filter(|english| *english != name).map(Arc::from)
}

/// The source of the second number of a raw value, and the units per second of the number.
fn second_of(counter_type: CounterType, base: Option<Data>, clocks: &Clocks) -> (Source, i64) {
    const HUNDRED_NS: i64 = 10_000_000;
    // The bits of some counter types indicate a base, although the types have none.
    let based = match (counter_type.base(), base) {
        (None, _) => Source::None,
        (Some(_), None) => Source::Missing,
        (Some(_), Some(base)) => Source::Base(base),
    };
    match (counter_type.class(), counter_type.subtype(), counter_type.time_base()) {
        (Class::Counter, Subtype::Precision, TimeBase::HundredNs) => (based, HUNDRED_NS),
        (Class::Counter, Subtype::Fraction | Subtype::Precision, _) => (based, clocks.frequency),
        (Class::Counter, _, _) if counter_type.formula() == Some(Formula::Delta) => {
            (Source::None, clocks.frequency)
        }
        (Class::Counter, _, TimeBase::Tick) => (Source::Ticks, clocks.frequency),
        (Class::Counter, _, TimeBase::HundredNs) => (Source::SystemTime, HUNDRED_NS),
        (Class::Counter, _, TimeBase::Object) => (Source::ObjectTime, clocks.object_frequency),
        _ => (Source::None, clocks.frequency),
    }
}
