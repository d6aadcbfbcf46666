//! Decodes block records. Each one contains all counters of all instances of an object, as a PERF_DATA_BLOCK.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::Status;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Clocks, Group};
use tachograph_counters::set::{CounterSet, InstanceTable};
use zerocopy::FromBytes;
use zerocopy::little_endian::U16;

use super::cached_rows::{CachedRows, instance_name};
use super::columns::Columns;
use super::names::Names;
use crate::Problem;
use crate::blg::raw::block::{
    CounterDefinition, DataBlock, InstanceDefinition, ObjectType, SIGNATURE, system_time,
};
use crate::blg::raw::record::{KIND_BLOCK, RecordHead};

/// Decodes the block records of one object; caches its definitions and instances.
pub(super) struct BlockDecoder {
    machine: String,
    columns: Columns,
    rows: CachedRows,
}

/// The state shared by the blocks of a sample.
pub(super) struct Context<'a> {
    names: &'a Names,
    parents: Parents<'a>,
    /// The sample's local time, as a file time and as the SYSTEMTIME that blocks contain.
    local: FileTime,
    system_time: [U16; 8],
    /// The local time of the last decoded block, and whether it equals the sample's.
    pub(super) record_time: Option<(FileTime, bool)>,
}

impl<'a> Context<'a> {
    /// Creates the context of a sample with local time `local`.
    pub(super) fn new(names: &'a Names, parents: Parents<'a>, local: FileTime) -> Self {
        Self { names, parents, local, system_time: system_time(local), record_time: None }
    }

    /// Returns the local time of a block, and whether it equals the sample's to the millisecond. An invalid date
    /// becomes 0. `None` if the block has no date.
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

/// An object of a block: its header and all its bytes.
#[derive(Clone, Copy)]
struct Object<'a> {
    head: &'a ObjectType,
    bytes: &'a [u8],
    /// Offset of `bytes` in the record.
    at: usize,
}

impl BlockDecoder {
    /// Creates a decoder. `machine` (with backslashes) and `object` are the names in the counter list entry.
    pub(super) fn new(machine: &str, object: &str) -> Self {
        Self {
            machine: machine.to_owned(),
            columns: Columns::new(machine, object),
            rows: CachedRows::default(),
        }
    }

    pub(super) fn set(&self) -> &Arc<CounterSet> {
        self.columns.set()
    }

    /// Decodes a record into `group`; fails if the record has more than `max_values` values. The caller has checked
    /// the record's size. If only some counters are damaged, the result is `Ok` with the problem.
    pub(super) fn decode(
        &mut self,
        record: &[u8],
        max_values: usize,
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
            // For a missing object, Perflib returns a block without objects. Tachograph's writer also stores the
            // reason in the block's status.
            group.status = Some(Status(block.status.get()))
                .filter(|status| status.is_error())
                .unwrap_or(Status::NO_OBJECT);
            group.clear_rows();
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
        let unknown = self.columns.update(object.head, definitions, &clocks, &self.machine, context.names);
        let unknown = unknown.map(|(index, counter_type)| {
            let at = object.at
                + object.head.header_bytes.get() as usize
                + index * size_of::<CounterDefinition>()
                + 0x1C;
            Problem::new(at as u64, "unknown counter type")
                .found(format_args!("{:#010x}", counter_type.0), "a type defined in winperf.h")
                .into_warning()
        });
        group.describe(self.columns.set());
        group.clocks = clocks;
        self.columns.set_clocks(&clocks);
        self.rows.begin();
        // Definitions can share data, so a few bytes could declare many values.
        let rows = usize::try_from(object.head.instance_count.get()).unwrap_or(1);
        let declared = rows.saturating_mul(self.columns.len());
        if declared > max_values {
            return Err(Problem::new(object.at as u64, "a sample has too many values")
                .found(declared, format!("at most {max_values} more")));
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
        let length_problem = self.check_lengths(object, lengths)?;
        let code_page = object.head.code_page.get();
        group.set_rows(self.rows.finish(code_page, record.len(), table, |object| {
            context.parents.instance_names(record, object)
        })?);
        Ok(length_problem.or(unknown))
    }

    /// Checks that all counter blocks are long enough for all counters. `lengths` has the minimum and the maximum
    /// length of the counter blocks; `None` if there are no counter blocks.
    fn check_lengths(
        &self,
        object: &Object<'_>,
        lengths: Option<(usize, usize)>,
    ) -> Result<Option<Problem>, Problem> {
        let min_bytes = self.columns.min_block_bytes();
        let Some((shortest, longest)) = lengths.filter(|(shortest, _)| *shortest < min_bytes) else {
            return Ok(None);
        };
        let offset = object.at as u64;
        // If only some counter blocks are too short, their lengths are wrong, so everything after them was read at the
        // wrong offset.
        if shortest != longest {
            return Err(Problem::new(offset, "the length of a counter block of an object is wrong")
                .found(shortest, format!("{min_bytes}, or {longest} like the other blocks")));
        }
        Ok(Some(
            Problem::new(offset, "a counter is outside the counter block of its object; it is skipped")
                .found(min_bytes, format!("at most {shortest}")),
        ))
    }

    /// Adds a row from the counter block at `at`; returns the block's length.
    fn values(
        &self,
        object: &Object<'_>,
        at: usize,
        clocks: &Clocks,
        group: &mut Group,
    ) -> Result<usize, Problem> {
        let offset = (object.at + at) as u64;
        let wrong = |found: usize, expected: String| {
            Problem::new(offset, "the length of a counter block is wrong").found(found, expected)
        };
        let after = object.bytes.get(at..).unwrap_or_default();
        let Some(length) = after.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes) as usize) else {
            return Err(wrong(after.len(), "at least 4 bytes".to_owned()));
        };
        if length < 4 || length > after.len() {
            return Err(wrong(length, format!("4 to {}", after.len())));
        }
        let block = &after[..length];
        self.columns.read(block, clocks, &mut group.values);
        Ok(length)
    }
}

fn check_block(record: &[u8]) -> Result<&DataBlock, Problem> {
    let Ok((block, _)) = DataBlock::ref_from_prefix(record.get(8..).unwrap_or_default()) else {
        return Err(Problem::new(8, "a block record is cut off").found(record.len(), "at least 96 bytes"));
    };
    if block.signature != SIGNATURE || block.little_endian.get() != 1 {
        return Err(Problem::new(8, "a block record does not start with 'PERF' and byte order 1"));
    }
    let total = block.total_bytes.get() as usize;
    if total > record.len() - 8 {
        return Err(Problem::new(8 + 0x14, "a block's length is wrong")
            .found(total, format!("at most {}", record.len() - 8)));
    }
    Ok(block)
}

/// The objects of a block.
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
            // In all known blocks, every definition has this size. Any other size would shift everything after it.
            definitions
                .iter()
                .all(|definition| definition.bytes.get() as usize == size_of::<CounterDefinition>())
        })
        .ok_or_else(|| {
            Problem::new(object.at as u64, "the counter definitions of an object do not fit its header")
                .found(format_args!("{count} in bytes {from} to {to}"), "40 bytes each")
        })
}

/// An instance of an object: its definition and its name.
struct InstanceAt<'a> {
    definition: &'a InstanceDefinition,
    /// The bytes of the name, including NUL.
    name: &'a [u8],
}

fn instance_at<'a>(object: &Object<'a>, at: usize) -> Result<InstanceAt<'a>, Problem> {
    let offset = (object.at + at) as u64;
    let bytes = object.bytes.get(at..).unwrap_or_default();
    let Ok((definition, _)) = InstanceDefinition::ref_from_prefix(bytes) else {
        return Err(Problem::new(offset, "an instance is cut off").found(bytes.len(), "at least 24 bytes"));
    };
    let length = definition.bytes.get() as usize;
    if length < size_of::<InstanceDefinition>() || length > bytes.len() {
        return Err(Problem::new(offset, "an instance's length is wrong")
            .found(length, format!("24 to {}", bytes.len())));
    }
    let from = definition.name_offset.get() as usize;
    let to = from.saturating_add(definition.name_bytes.get() as usize);
    let Some(name) = bytes[..length].get(from..to) else {
        return Err(Problem::new(offset + 0x10, "an instance's name is outside its definition")
            .found(format_args!("{from} to {to}"), format!("at most {length}")));
    };
    Ok(InstanceAt { definition, name })
}

/// Finds the names of parent instances, which can be in other records of the sample. Objects in other records are
/// decoded at most once per sample.
pub(super) struct Parents<'a> {
    sample: &'a [u8],
    /// Offset of each object's block record in the sample, by title index; built on first use.
    records: Option<HashMap<u32, usize>>,
    names: HashMap<u32, Arc<[String]>>,
}

impl<'a> Parents<'a> {
    /// `sample` is the payload of the whole sample.
    pub(super) fn new(sample: &'a [u8]) -> Self {
        Self { sample, records: None, names: HashMap::new() }
    }

    /// Returns the instance names of the object `title_index`: from `record` itself, which often includes the
    /// parents' object, or else from another record of the sample; empty if no record includes that object.
    fn instance_names(&mut self, record: &[u8], title_index: u32) -> Arc<[String]> {
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

/// Returns the offset of each object's block record, by title index.
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

/// The instance names of the object `title_index` in one block record; `None` if it has no such object.
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
