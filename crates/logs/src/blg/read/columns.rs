//! The columns of block records, which define where each field of a raw value is read from.

use std::sync::Arc;

use tachograph_counters::sample::Clocks;
use tachograph_counters::set::{Counter, CounterSet, Extent, TitleIndexes};
use tachograph_counters::{Class, CounterType, Formula, RawValue, Status, Subtype, TimeBase};
use zerocopy::IntoBytes;

use super::names::{Names, english_name};
use crate::blg::raw::block::{CounterDefinition, ObjectType};

/// The location of a number in a counter block.
#[derive(Clone, Copy, Debug)]
struct NumberLocation {
    offset: u32,
    is_32_bit: bool,
}

/// The source of the second number of a raw value.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The type has no second number.
    None,
    /// The performance counter of the block.
    Ticks,
    /// The system time of the block.
    SystemTime,
    /// The object's own clock.
    ObjectTime,
    /// The value of the base.
    Base(NumberLocation),
    /// The type needs a base (or a multiplier), but the block has none.
    Missing,
}

/// A column that is read without a check of sizes: the first number and the base, if any, are each read as 8 bytes and
/// shifted. Without a base, the second number is 0 or that of a clock. Most columns are of this kind.
#[derive(Clone, Copy, Debug, Default)]
struct PlainColumn {
    first: ShiftedNumber,
    /// Index of the clock: 0 for none, then ticks, system time and object time.
    clock: usize,
    base: Option<ShiftedNumber>,
}

/// The location of 8 bytes that contain a number, and the number of lower bits that do not belong to it.
#[derive(Clone, Copy, Debug, Default)]
struct ShiftedNumber {
    offset: u32,
    shift: u32,
}

/// A counter of a block. Bases have no column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// `None` if the counter is not a number: its data has neither 4 nor 8 bytes.
    first: Option<NumberLocation>,
    second: Source,
    multiplier: Option<NumberLocation>,
}

/// The columns of one object's blocks, rebuilt when the definitions change.
pub(super) struct Columns {
    /// The definitions from which the columns were built, and the frequencies of the clocks.
    definitions: Vec<u8>,
    frequencies: (i64, i64),
    set: Arc<CounterSet>,
    list: Vec<Column>,
    /// One per column; unused for columns that are not plain.
    plain: Vec<PlainColumn>,
    /// The second numbers of the plain columns without a base, in the current record. One per column.
    seconds: Vec<i64>,
    /// The indexes and the bases of the plain columns with a base.
    based: Vec<(usize, ShiftedNumber)>,
    /// The indexes of the columns that are not plain.
    others: Vec<usize>,
    /// The minimum length of a counter block that contains every plain column.
    plain_bytes: usize,
    min_block_bytes: usize,
}

impl Column {
    /// The plain form of this column; `None` if it has none.
    fn plain(&self) -> Option<PlainColumn> {
        let (base, clock) = match self.second {
            Source::None => (None, 0),
            Source::Ticks => (None, 1),
            Source::SystemTime => (None, 2),
            Source::ObjectTime => (None, 3),
            Source::Base(base) => (Some(base), 0),
            Source::Missing => return None,
        };
        let first = self.first.filter(|_| self.multiplier.is_none())?.shifted()?;
        let base = match base {
            Some(base) => Some(base.shifted()?),
            None => None,
        };
        Some(PlainColumn { first, clock, base })
    }

    /// Reads the raw value from a counter block; its status is an error if a part of it is outside the block.
    fn value(&self, block: &[u8], clocks: &Clocks) -> RawValue {
        let first = self.first.and_then(|data| data.read(block));
        let second = match self.second {
            Source::None => Some(0),
            Source::Ticks => Some(clocks.ticks),
            Source::SystemTime => Some(clocks.system_time.0),
            Source::ObjectTime => Some(clocks.object_time),
            Source::Base(data) => data.read(block),
            Source::Missing => None,
        };
        let multi_count = self.multiplier.map_or(Some(1), |data| data.read(block));
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
            plain: Vec::new(),
            seconds: Vec::new(),
            based: Vec::new(),
            others: Vec::new(),
            plain_bytes: 0,
            min_block_bytes: 0,
        }
    }

    pub(super) fn set(&self) -> &Arc<CounterSet> {
        &self.set
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Sets the clocks of the counter blocks that are read next.
    pub(super) fn set_clocks(&mut self, clocks: &Clocks) {
        let times = [0, clocks.ticks, clocks.system_time.0, clocks.object_time];
        self.seconds.clear();
        self.seconds.extend(self.plain.iter().map(|column| times[column.clock % times.len()]));
    }

    /// Appends the raw values of a counter block. `clocks` are those of [`set_clocks`](Self::set_clocks).
    pub(super) fn read(&self, block: &[u8], clocks: &Clocks, values: &mut Vec<RawValue>) {
        if block.len() < self.plain_bytes {
            values.extend(self.list.iter().map(|column| column.value(block, clocks)));
            return;
        }
        let begin = values.len();
        let plain = self.plain.iter().zip(&self.seconds);
        values.extend(plain.map(|(column, &second)| RawValue::new(column.first.read(block), second)));
        for &(index, base) in &self.based {
            values[begin + index].second = base.read(block);
        }
        for &index in &self.others {
            values[begin + index] = self.list[index].value(block, clocks);
        }
    }

    /// Finds the plain columns.
    fn find_plain(&mut self) {
        let plain: Vec<_> = self.list.iter().map(Column::plain).collect();
        let numbers = plain.iter().flatten().flat_map(|column| [Some(column.first), column.base]);
        self.plain_bytes = numbers.flatten().map(ShiftedNumber::end).max().unwrap_or_default();
        self.others = (0..plain.len()).filter(|&index| plain[index].is_none()).collect();
        self.plain = plain.into_iter().map(Option::unwrap_or_default).collect();
        let columns = self.plain.iter().enumerate();
        self.based = columns.filter_map(|(index, column)| Some((index, column.base?))).collect();
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
                .map(NumberLocation::from_definition);
            let first = NumberLocation::from_definition(definition);
            let (mut second, time_base) = second_source(counter_type, base.flatten(), clocks);
            let mut multiplier = None;
            if counter_type.formula().is_some_and(Formula::uses_multiplier) {
                // If the multiplier has no definition, it directly follows the value.
                multiplier = base.unwrap_or(first.and_then(NumberLocation::after));
                if multiplier.is_none() {
                    second = Source::Missing;
                }
            }
            if counter_type.formula().is_some() {
                let based = if let Source::Base(data) = second { Some(data) } else { None };
                let ends = [first, based, multiplier].into_iter().flatten().map(NumberLocation::end);
                self.min_block_bytes = ends.fold(self.min_block_bytes, usize::max);
            }
            self.list.push(Column { first, second, multiplier });
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
        self.find_plain();
        // Keep the description if the new one is equal; with another object, samples would not be paired.
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

impl NumberLocation {
    /// The location of a counter's number. The definition, not the counter type, determines the number's size.
    fn from_definition(definition: &CounterDefinition) -> Option<Self> {
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

    /// The 8 bytes that end with the number; `None` if they would begin before the counter block.
    fn shifted(self) -> Option<ShiftedNumber> {
        Some(match self.is_32_bit {
            true => ShiftedNumber { offset: self.offset.checked_sub(4)?, shift: 32 },
            false => ShiftedNumber { offset: self.offset, shift: 0 },
        })
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

impl ShiftedNumber {
    fn end(self) -> usize {
        (self.offset as usize).saturating_add(8)
    }

    /// Reads the number; 0 if the counter block is too short.
    #[inline(always)]
    fn read(self, block: &[u8]) -> i64 {
        let bytes = block.get(self.offset as usize..self.end()).and_then(<[u8]>::first_chunk::<8>);
        (u64::from_le_bytes(bytes.copied().unwrap_or_default()) >> self.shift) as i64
    }
}

/// The English name, unless it equals `name`.
fn other_than(name: &str, english: Option<&str>) -> Option<Arc<str>> {
    english.filter(|english| *english != name).map(Arc::from)
}

/// The source of the second number of a raw value, and the units per second of the number.
fn second_source(counter_type: CounterType, base: Option<NumberLocation>, clocks: &Clocks) -> (Source, i64) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn location() -> impl Strategy<Value = NumberLocation> {
        (prop_oneof![9 => 0..40u32, 1 => any::<u32>()], any::<bool>())
            .prop_map(|(offset, is_32_bit)| NumberLocation { offset, is_32_bit })
    }

    fn column() -> impl Strategy<Value = Column> {
        let second = prop_oneof![
            Just(Source::None),
            Just(Source::Ticks),
            Just(Source::SystemTime),
            Just(Source::ObjectTime),
            location().prop_map(Source::Base),
            Just(Source::Missing),
        ];
        let first = prop::option::weighted(0.9, location());
        (first, second, prop::option::weighted(0.2, location()))
            .prop_map(|(first, second, multiplier)| Column { first, second, multiplier })
    }

    proptest! {
        #[test]
        fn plain_columns_read_the_same_values(
            list in prop::collection::vec(column(), 1..6),
            block in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let clocks = Clocks {
                ticks: -1,
                system_time: tachograph_counters::civil::FileTime(2),
                object_time: 3,
                ..Clocks::default()
            };
            let expected: Vec<_> = list.iter().map(|column| column.value(&block, &clocks)).collect();
            let mut columns = Columns { list, ..Columns::new("", "") };
            columns.find_plain();
            columns.set_clocks(&clocks);
            let mut found = vec![RawValue::new(7, 7)];
            columns.read(&block, &clocks, &mut found);
            prop_assert_eq!(&found[1..], expected);
        }
    }
}
