//! The columns of block records: where each raw value comes from.

use std::sync::Arc;

use tachograph_counters::sample::Clocks;
use tachograph_counters::set::{Counter, CounterSet, Extent, TitleIndexes};
use tachograph_counters::{Class, CounterType, Formula, Subtype, TimeBase};
use zerocopy::IntoBytes;

use super::names::{Names, english_name};
use crate::blg::raw::block::{CounterDefinition, ObjectType};

/// Data within a counter block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    offset: u32,
    is_32_bit: bool,
}

/// Where a second raw value comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    None,
    Ticks,
    SystemTime,
    ObjectTime,
    Base(Data),
    /// The type needs a base, and the block has none.
    Missing,
}

/// One shown counter of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) first: Data,
    pub(super) second: Source,
    pub(super) multi: Option<Data>,
}

/// The columns of one object's blocks, made anew when its definitions change.
pub(super) struct Columns {
    /// The definitions that the columns were made from, and the clocks' frequencies.
    definitions: Vec<u8>,
    frequencies: (i64, i64),
    set: Arc<CounterSet>,
    list: Vec<Column>,
    least_block_bytes: usize,
}

/// The number at `data` in a counter block at least as long as [`Columns::least_block_bytes`].
#[inline]
pub(super) fn data_at(block: &[u8], data: Data) -> i64 {
    let from = block.get(data.offset as usize..).unwrap_or_default();
    if data.is_32_bit {
        from.first_chunk::<4>().map_or(0, |bytes| i64::from(u32::from_le_bytes(*bytes)))
    } else {
        from.first_chunk::<8>().map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }
}

impl Columns {
    pub(super) fn new(machine: &str, object: &str) -> Self {
        Self {
            definitions: Vec::new(),
            frequencies: (0, 0),
            set: Arc::new(CounterSet::new(machine.trim_start_matches('\\'), object, Extent::Table)),
            list: Vec::new(),
            least_block_bytes: 0,
        }
    }

    pub(super) fn set(&self) -> &Arc<CounterSet> {
        &self.set
    }

    pub(super) fn list(&self) -> &[Column] {
        &self.list
    }

    /// How long a counter block must be for every column to lie in it.
    pub(super) fn least_block_bytes(&self) -> usize {
        self.least_block_bytes
    }

    /// Makes the columns for these definitions, unless they are those of the block before.
    pub(super) fn follow(
        &mut self,
        object: &ObjectType,
        definitions: &[CounterDefinition],
        clocks: &Clocks,
        machine: &str,
        names: &Names,
    ) {
        let frequencies = (clocks.frequency, clocks.object_frequency);
        let has_instances = object.instance_count.get() >= 0;
        if self.definitions == definitions.as_bytes()
            && self.frequencies == frequencies
            && self.set.has_instances == has_instances
            && !self.list.is_empty()
        {
            return;
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
        self.least_block_bytes = 4;
        for (number, definition) in definitions.iter().enumerate() {
            let counter_type = CounterType(definition.counter_type.get());
            self.least_block_bytes = self.least_block_bytes.max(end_of(definition));
            if counter_type.is_base() {
                continue;
            }
            let base = definitions
                .get(number + 1)
                .filter(|next| CounterType(next.counter_type.get()).is_base())
                .map(Data::of);
            let (second, time_base) = second_of(counter_type, base, clocks);
            let multi = counter_type
                .is_multi()
                .then(|| base.unwrap_or(Data { offset: end_of(definition) as u32, is_32_bit: true }));
            if let Some(multi) = multi {
                self.least_block_bytes = self.least_block_bytes.max(multi.offset as usize + 4);
            }
            self.list.push(Column { first: Data::of(definition), second, multi });
            let name = names.name(machine, definition.name_index.get());
            let english_name = other_than(&name, english_name(definition.name_index.get()));
            set.counters.push(Counter {
                english_name,
                default_scale: definition.default_scale.get(),
                data_is_32_bit: definition.data_bytes.get() == 4,
                indexes: Some(TitleIndexes {
                    name: definition.name_index.get(),
                    help: definition.help_index.get(),
                }),
                detail_level: definition.detail_level.get(),
                ..Counter::new(name, counter_type, time_base)
            });
        }
        self.set = Arc::new(set);
    }
}

impl Data {
    fn of(definition: &CounterDefinition) -> Self {
        Self { offset: definition.data_offset.get(), is_32_bit: definition.data_bytes.get() == 4 }
    }
}

/// The end of a counter's data. The size in the definition counts, not the one in the type.
fn end_of(definition: &CounterDefinition) -> usize {
    let bytes = if definition.data_bytes.get() == 4 { 4 } else { 8 };
    (definition.data_offset.get() as usize).saturating_add(bytes)
}

fn other_than(name: &str, english: Option<&str>) -> Option<Arc<str>> {
    english.filter(|english| *english != name).map(Arc::from)
}

/// Where the second raw value of a type comes from, and how many of its units make a second.
fn second_of(counter_type: CounterType, base: Option<Data>, clocks: &Clocks) -> (Source, i64) {
    const HUNDRED_NS: i64 = 10_000_000;
    let based = base.map_or(Source::Missing, Source::Base);
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
