//! Decoding block records: all counters of all instances of an object, as a PERF_DATA_BLOCK.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::Status;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Clocks, Group};
use tachograph_counters::set::{CounterSet, InstanceTable};
use zerocopy::FromBytes;
use zerocopy::little_endian::U16;

use super::columns::Columns;
use super::names::Names;
use super::rows::{RowNames, instance_name};
use crate::blg::raw::block::{
    CounterDefinition, DataBlock, InstanceDefinition, ObjectType, SIGNATURE, system_time,
};
use crate::blg::raw::record::{KIND_BLOCK, RecordHead};
use crate::problem::Problem;

/// Decodes one object's block records, remembering its definitions and instances from the record before.
pub(super) struct BlockDecoder {
    machine: String,
    columns: Columns,
    rows: RowNames,
}

/// What a block is decoded with, beside its own bytes.
pub(super) struct Context<'a> {
    names: &'a Names,
    parents: Parents<'a>,
    /// The sample's local time, and how blocks say it.
    local: FileTime,
    system_time: [U16; 8],
    /// The local time of the block decoded last, and whether it is the sample's.
    pub(super) record_time: Option<(FileTime, bool)>,
}

impl<'a> Context<'a> {
    /// Of a sample of this local time.
    pub(super) fn new(names: &'a Names, parents: Parents<'a>, local: FileTime) -> Self {
        Self { names, parents, local, system_time: system_time(local), record_time: None }
    }

    /// The local time of a block, and whether it is the sample's in whole milliseconds. One outside the calendar is 0; `None`
    /// where there is none.
    fn time_of(&self, block: &DataBlock) -> Option<(FileTime, bool)> {
        if block.system_time == self.system_time {
            return Some((self.local, true));
        }
        if block.system_time == [U16::ZERO; 8] {
            return None;
        }
        let [year, month, _, day, hour, minute, second, millisecond] =
            block.system_time.map(|field| field.get());
        let text =
            format!("{month:02}/{day:02}/{year:04} {hour:02}:{minute:02}:{second:02}.{millisecond:03}");
        Some((FileTime::parse_log_time(text.as_bytes()).unwrap_or_default(), false))
    }
}

/// An object within a block: its head, and its bytes.
#[derive(Clone, Copy)]
struct Object<'a> {
    head: &'a ObjectType,
    bytes: &'a [u8],
    /// Where `bytes` begins in the record.
    at: usize,
}

impl BlockDecoder {
    /// `machine` is the list entry's, with its backslashes; `object` the name that the entry gives.
    pub(super) fn new(machine: &str, object: &str) -> Self {
        Self {
            machine: machine.to_owned(),
            columns: Columns::new(machine, object),
            rows: RowNames::default(),
        }
    }

    pub(super) fn set(&self) -> &Arc<CounterSet> {
        self.columns.set()
    }

    /// Fills `group` with at most `room` values from a record, whose size its caller has checked. Gives the damage that cost
    /// only a counter.
    pub(super) fn decode(
        &mut self,
        record: &[u8],
        room: usize,
        context: &mut Context<'_>,
        table: &mut InstanceTable,
        group: &mut Group,
    ) -> Result<Option<Problem>, Problem> {
        let block = check_block(record)?;
        context.record_time = context.time_of(block);
        let objects = objects(record, block)?;
        let Some(object) =
            objects.iter().find(|object| object.head.name_index == block.default_object).or(objects.first())
        else {
            // Perflib answers a query for an object that is not there with a block without objects. The writer says in one
            // why it has none.
            group.status = Some(Status(block.status.get()))
                .filter(|status| status.is_error())
                .unwrap_or(Status::NO_OBJECT);
            group.take_rows_out();
            return Ok(None);
        };
        let clocks = Clocks {
            ticks: block.ticks.get(),
            frequency: block.frequency.get(),
            system_time: FileTime(block.system_time_100ns.get()),
            object_time: object.head.time.get(),
            object_frequency: object.head.frequency.get(),
        };
        let definitions = definitions(object)?;
        let unknown = self.columns.follow(object.head, definitions, &clocks, &self.machine, context.names);
        let unknown = unknown.map(|(number, counter_type)| {
            let at = object.at
                + object.head.header_bytes.get() as usize
                + number * size_of::<CounterDefinition>()
                + 0x1C;
            Problem::new(at as u64, "the type of a counter is none that Windows knows")
                .found(format_args!("{:#010x}", counter_type.0), "a type of winperf.h")
                .note()
        });
        group.describe(self.columns.set());
        group.clocks = clocks;
        self.rows.begin();
        // Definitions may share their data, so that few bytes could claim many values.
        let rows = usize::try_from(object.head.instance_count.get()).unwrap_or(1);
        let claimed = rows.saturating_mul(self.columns.list().len());
        if claimed > room {
            return Err(Problem::new(object.at as u64, "a sample holds more values than a log may")
                .found(claimed, format!("at most {room} more")));
        }
        let mut at = object.head.definition_bytes.get() as usize;
        let counted = object.head.instance_count.get();
        let mut lengths = None;
        if counted < 0 {
            let length = self.values(object, at, &clocks, group)?;
            lengths = Some((length, length));
            self.rows.single();
        } else {
            for _ in 0..counted {
                let instance = instance_at(object, at)?;
                self.rows.add(instance.definition, instance.name);
                at += instance.definition.bytes.get() as usize;
                let length = self.values(object, at, &clocks, group)?;
                let (shortest, longest) = lengths.unwrap_or((length, length));
                lengths = Some((shortest.min(length), longest.max(length)));
                at += length;
            }
        }
        let minor = self.check_lengths(object, lengths)?;
        let code_page = object.head.code_page.get();
        group.set_rows(
            self.rows.finish(code_page, record.len(), table, |object| context.parents.of(record, object))?,
        );
        Ok(minor.or(unknown))
    }

    /// Whether counter blocks, of lengths between these two, hold all counters.
    fn check_lengths(
        &self,
        object: &Object<'_>,
        lengths: Option<(usize, usize)>,
    ) -> Result<Option<Problem>, Problem> {
        let least = self.columns.least_block_bytes();
        let Some((shortest, longest)) = lengths.filter(|(shortest, _)| *shortest < least) else {
            return Ok(None);
        };
        let place = object.at as u64;
        // Where only some are too short, it is their lengths that are wrong, and with them the place of what follows.
        if shortest != longest {
            return Err(Problem::new(place, "the length of a counter block of an object is wrong")
                .found(shortest, format!("{least}, or {longest} as another's")));
        }
        Ok(Some(
            Problem::new(place, "a counter of an object lies outside its counter block; left out")
                .found(least, format!("at most {shortest}")),
        ))
    }

    /// Adds a row from the counter block at `at`; gives the block's length.
    fn values(
        &self,
        object: &Object<'_>,
        at: usize,
        clocks: &Clocks,
        group: &mut Group,
    ) -> Result<usize, Problem> {
        let place = (object.at + at) as u64;
        let wrong = |found: usize, expected: String| {
            Problem::new(place, "the length of a counter block is wrong").found(found, expected)
        };
        let after = object.bytes.get(at..).unwrap_or_default();
        let Some(length) = after.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes) as usize) else {
            return Err(wrong(after.len(), "at least 4 bytes".to_owned()));
        };
        if length < 4 || length > after.len() {
            return Err(wrong(length, format!("4 to {}", after.len())));
        }
        let block = &after[..length];
        group.values.extend(self.columns.list().iter().map(|column| column.value(block, clocks)));
        Ok(length)
    }
}

fn check_block(record: &[u8]) -> Result<&DataBlock, Problem> {
    let Ok((block, _)) = DataBlock::ref_from_prefix(record.get(8..).unwrap_or_default()) else {
        return Err(Problem::new(8, "a block record is cut off").found(record.len(), "at least 96 bytes"));
    };
    if block.signature != SIGNATURE || block.little_endian.get() != 1 {
        return Err(Problem::new(8, "a block record does not begin with PERF and byte order 1"));
    }
    let total = block.total_bytes.get() as usize;
    if total > record.len() - 8 {
        return Err(Problem::new(8 + 0x14, "a block's length is wrong")
            .found(total, format!("at most {}", record.len() - 8)));
    }
    Ok(block)
}

/// The objects of a block, each with its bytes.
fn objects<'a>(record: &'a [u8], block: &DataBlock) -> Result<Vec<Object<'a>>, Problem> {
    let mut objects = Vec::new();
    let end = 8 + block.total_bytes.get() as usize;
    let mut at = 8 + block.header_bytes.get() as usize;
    for _ in 0..block.object_count.get() {
        let bytes = record.get(at..end).unwrap_or_default();
        let Ok((head, _)) = ObjectType::ref_from_prefix(bytes) else {
            return Err(Problem::new(at as u64, "an object of a block is cut off")
                .found(bytes.len(), "at least 64 bytes"));
        };
        let total = head.total_bytes.get() as usize;
        if total < size_of::<ObjectType>() || total > bytes.len() {
            return Err(Problem::new(at as u64, "an object's length is wrong")
                .found(total, format!("64 to {}", bytes.len())));
        }
        objects.push(Object { head, bytes: &bytes[..total], at });
        at += total;
    }
    Ok(objects)
}

/// The counter definitions of an object.
fn definitions<'a>(object: &Object<'a>) -> Result<&'a [CounterDefinition], Problem> {
    let head = object.head;
    let (from, to) = (head.header_bytes.get() as usize, head.definition_bytes.get() as usize);
    let count = head.counter_count.get() as usize;
    object
        .bytes
        .get(from..to)
        .and_then(|bytes| <[CounterDefinition]>::ref_from_prefix_with_elems(bytes, count).ok())
        .map(|(definitions, _)| definitions)
        .filter(|definitions| {
            // Every known block has definitions of one size; another size would shift all that follow.
            definitions
                .iter()
                .all(|definition| definition.bytes.get() as usize == size_of::<CounterDefinition>())
        })
        .ok_or_else(|| {
            Problem::new(object.at as u64, "the counter definitions of an object do not fit it")
                .found(format_args!("{count} in bytes {from} to {to}"), "40 bytes each")
        })
}

struct InstanceAt<'a> {
    definition: &'a InstanceDefinition,
    /// The name's bytes, NUL included.
    name: &'a [u8],
}

fn instance_at<'a>(object: &Object<'a>, at: usize) -> Result<InstanceAt<'a>, Problem> {
    let place = (object.at + at) as u64;
    let bytes = object.bytes.get(at..).unwrap_or_default();
    let Ok((definition, _)) = InstanceDefinition::ref_from_prefix(bytes) else {
        return Err(Problem::new(place, "an instance is cut off").found(bytes.len(), "at least 24 bytes"));
    };
    let length = definition.bytes.get() as usize;
    if length < size_of::<InstanceDefinition>() || length > bytes.len() {
        return Err(Problem::new(place, "an instance's length is wrong")
            .found(length, format!("24 to {}", bytes.len())));
    }
    let from = definition.name_offset.get() as usize;
    let to = from.saturating_add(definition.name_bytes.get() as usize);
    let Some(name) = bytes[..length].get(from..to) else {
        return Err(Problem::new(place + 0x10, "an instance's name lies outside its definition")
            .found(format_args!("{from} to {to}"), format!("at most {length}")));
    };
    Ok(InstanceAt { definition, name })
}

/// The instances of other objects of a sample, looked up for those that have them as parents. Each object is read at
/// most once a sample, whatever the blocks ask for.
pub(super) struct Parents<'a> {
    sample: &'a [u8],
    /// Where in the sample the block record of each object begins; made when first asked for.
    records: Option<HashMap<u32, usize>>,
    names: HashMap<u32, Arc<[String]>>,
}

impl<'a> Parents<'a> {
    /// Over a sample's payload, whose record sizes its caller checks as it goes.
    pub(super) fn new(sample: &'a [u8]) -> Self {
        Self { sample, records: None, names: HashMap::new() }
    }

    /// The instance names of the object `title_index`: from `record` itself, which often carries the parents' object
    /// too, else from another record of the sample; empty where it is in neither.
    fn of(&mut self, record: &[u8], title_index: u32) -> Arc<[String]> {
        if let Some(names) = instances_in(record, title_index) {
            return names.into();
        }
        if let Some(names) = self.names.get(&title_index) {
            return Arc::clone(names);
        }
        let records = self.records.get_or_insert_with(|| index_records(self.sample));
        let names = records
            .get(&title_index)
            .and_then(|&at| instances_in(&self.sample[at..], title_index))
            .unwrap_or_default();
        let names: Arc<[String]> = names.into();
        self.names.insert(title_index, Arc::clone(&names));
        names
    }
}

/// Where the block record of each object begins.
fn index_records(sample: &[u8]) -> HashMap<u32, usize> {
    let mut records = HashMap::new();
    let mut at = size_of::<RecordHead>();
    while let Some((head, _)) = sample.get(at..).and_then(|bytes| RecordHead::read_from_prefix(bytes).ok()) {
        let size = (head.size.get() as usize).max(size_of::<RecordHead>());
        if head.kind == KIND_BLOCK
            && let Some(record) = sample.get(at..at + size)
            && let Ok(objects) = check_block(record).and_then(|block| objects(record, block))
        {
            for object in objects {
                records.entry(object.head.name_index.get()).or_insert(at);
            }
        }
        at += size;
    }
    records
}

/// The instance names of the object `title_index` within one block record; `None` where it is not there.
fn instances_in(record: &[u8], title_index: u32) -> Option<Vec<String>> {
    let block = check_block(record).ok()?;
    let objects = objects(record, block).ok()?;
    let object = objects.iter().find(|object| object.head.name_index.get() == title_index)?;
    let mut names = Vec::new();
    let mut at = object.head.definition_bytes.get() as usize;
    for _ in 0..object.head.instance_count.get().max(0) {
        let instance = instance_at(object, at).ok()?;
        names.push(
            instance_name(instance.definition, instance.name, object.head.code_page.get()).into_owned(),
        );
        at += instance.definition.bytes.get() as usize;
        let block = object.bytes.get(at..)?.first_chunk::<4>()?;
        at += (u32::from_le_bytes(*block) as usize).max(4);
    }
    Some(names)
}
