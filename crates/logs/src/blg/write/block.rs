//! Block records: a counter set with all its instances as a PERF_DATA_BLOCK.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Group;
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I32, I64, U16, U32};

use crate::blg::raw::block::{CounterDefinition, DataBlock, InstanceDefinition, ObjectType, SIGNATURE};
use crate::blg::raw::record::{KIND_BLOCK, RecordHead};
use crate::blg::raw::{push_utf16_nul, round_up_8};
use crate::error::LogError;

/// Title index of the object that holds the parents of instances: Windows' `Process`.
const PARENT_OBJECT: u32 = 230;

/// Encodes one set's blocks: keeps a block with everything but the values, and puts the values in.
#[derive(Default)]
pub(super) struct BlockEncoder {
    set: Option<Arc<CounterSet>>,
    instances: Instances,
    columns: Vec<Column>,
    /// The record, head included.
    template: Vec<u8>,
    /// Where the object begins in `template`.
    object_at: usize,
    /// Where each row's counter block begins in `template`.
    rows: Vec<usize>,
}

/// Where the parts of a raw value go, from the start of the counter block.
struct Column {
    first: usize,
    first_is_32_bit: bool,
    base: Option<usize>,
    multi: Option<usize>,
}

impl BlockEncoder {
    /// Appends the group's record.
    pub(super) fn encode(&mut self, group: &Group, local: FileTime, out: &mut Vec<u8>) {
        if group.status.is_error() || (group.values.is_empty() && !group.set.has_instances) {
            // The set could not be read: a block without objects says so.
            let header = data_block(&group.set, group, local, 0, 0);
            let size = size_of::<RecordHead>() + header.len();
            out.extend_from_slice(RecordHead::new(KIND_BLOCK, size).as_bytes());
            out.extend_from_slice(&header);
            return;
        }
        let same_set = self.set.as_ref().is_some_and(|set| Arc::ptr_eq(set, &group.set));
        if !same_set || !Arc::ptr_eq(&self.instances, &group.instances) {
            self.lay_out(group);
        }
        let begin = out.len();
        out.extend_from_slice(&self.template);
        let record = &mut out[begin..];
        let object_bytes = record.len() - self.object_at;
        let objects = 1 + u32::from(self.has_parent_object());
        let header = data_block(&group.set, group, local, objects, object_bytes);
        record[size_of::<RecordHead>()..size_of::<RecordHead>() + header.len()].copy_from_slice(&header);
        let clocks = [group.clocks.object_time, group.clocks.object_frequency];
        let clocks_at = self.main_object_at() + size_of::<ObjectType>() - 16;
        record[clocks_at..clocks_at + 16].copy_from_slice(clocks.as_bytes());
        for (&at, values) in self.rows.iter().zip(group.rows()) {
            let block = &mut record[at..];
            for (column, raw) in self.columns.iter().zip(values) {
                if column.first_is_32_bit {
                    block[column.first..][..4].copy_from_slice(&(raw.first as u32).to_le_bytes());
                } else {
                    block[column.first..][..8].copy_from_slice(&raw.first.to_le_bytes());
                }
                if let Some(base) = column.base {
                    block[base..][..8].copy_from_slice(&raw.second.to_le_bytes());
                }
                if let Some(multi) = column.multi {
                    block[multi..][..4].copy_from_slice(&raw.multi_count.to_le_bytes());
                }
            }
        }
    }

    fn has_parent_object(&self) -> bool {
        self.instances.iter().any(|instance| instance.parent().is_some())
    }

    /// The object of the set itself is the last one of the template: before it may stand its parents'.
    fn main_object_at(&self) -> usize {
        let bytes = |at: usize| {
            self.template[at..].first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
        };
        if self.has_parent_object() { self.object_at + bytes(self.object_at) } else { self.object_at }
    }

    fn lay_out(&mut self, group: &Group) {
        self.set = Some(Arc::clone(&group.set));
        self.instances = Arc::clone(&group.instances);
        let header = data_block(&group.set, group, FileTime(0), 1, 0);
        self.template.clear();
        self.template.resize(size_of::<RecordHead>(), 0);
        self.template.extend_from_slice(&header);
        self.object_at = self.template.len();
        let parents = ParentNames::of(&group.instances);
        if !parents.names.is_empty() {
            self.lay_out_parents(&parents.names);
        }
        self.lay_out_object(&group.set, &group.instances, &parents);
        let size = self.template.len();
        self.template[..size_of::<RecordHead>()]
            .copy_from_slice(RecordHead::new(KIND_BLOCK, size).as_bytes());
    }

    /// A minimal object whose instances are the parents, in the order of their numbers.
    fn lay_out_parents(&mut self, parents: &[&str]) {
        let begin = self.template.len();
        self.template.resize(begin + size_of::<ObjectType>(), 0);
        for parent in parents {
            push_instance(&mut self.template, parent, 0, 0);
            self.template.extend_from_slice(&8u64.to_le_bytes());
        }
        let head = ObjectType {
            total_bytes: U32::new((self.template.len() - begin) as u32),
            definition_bytes: U32::new(size_of::<ObjectType>() as u32),
            header_bytes: U32::new(size_of::<ObjectType>() as u32),
            name_index: U32::new(PARENT_OBJECT),
            detail_level: U32::new(100),
            instance_count: I32::new(parents.len() as i32),
            ..Default::default()
        };
        self.template[begin..begin + size_of::<ObjectType>()].copy_from_slice(head.as_bytes());
    }

    fn lay_out_object(&mut self, set: &CounterSet, instances: &Instances, parents: &ParentNames<'_>) {
        let begin = self.template.len();
        self.template.resize(begin + size_of::<ObjectType>(), 0);
        self.columns.clear();
        // The block's own length, 4 bytes, then values of 8 bytes each, aligned.
        let mut at = 8;
        let mut count = 0;
        for counter in &set.counters {
            let mut define = |counter_type: CounterType, data_bytes: usize, out: &mut Vec<u8>| {
                let here = at;
                out.extend_from_slice(definition(counter, counter_type, data_bytes, here).as_bytes());
                at += 8;
                count += 1;
                here
            };
            let bytes = if counter.data_is_32_bit { 4 } else { 8 };
            let first = define(counter.counter_type, bytes, &mut self.template);
            let second = counter.counter_type.base().map(|base| {
                let bytes = if counter.counter_type.is_multi() { 4 } else { 8 };
                define(base, bytes, &mut self.template)
            });
            let is_multi = counter.counter_type.is_multi();
            self.columns.push(Column {
                first,
                first_is_32_bit: counter.data_is_32_bit,
                base: second.filter(|_| !is_multi),
                multi: second.filter(|_| is_multi),
            });
        }
        let definition_bytes = self.template.len() - begin;
        self.rows.clear();
        let mut names = Names::default();
        for instance in instances.iter() {
            if set.has_instances {
                let parent = instance.parent().and_then(|parent| parents.numbers.get(parent));
                let (object, number) = parent.map_or((0, 0), |&number| (PARENT_OBJECT, number));
                push_instance(&mut self.template, &names.of(instance), object, number);
            }
            self.rows.push(self.template.len());
            let block = self.template.len();
            self.template.resize(block + at, 0);
            self.template[block..block + 4].copy_from_slice(&(at as u32).to_le_bytes());
        }
        let indexes = set.indexes.unwrap_or_default();
        let head = ObjectType {
            total_bytes: U32::new((self.template.len() - begin) as u32),
            definition_bytes: U32::new(definition_bytes as u32),
            header_bytes: U32::new(size_of::<ObjectType>() as u32),
            name_index: U32::new(indexes.name),
            help_index: U32::new(indexes.help),
            detail_level: U32::new(100),
            counter_count: U32::new(count),
            default_counter: U32::new(set.default_counter),
            instance_count: I32::new(if set.has_instances { self.instances.len() as i32 } else { -1 }),
            ..Default::default()
        };
        self.template[begin..begin + size_of::<ObjectType>()].copy_from_slice(head.as_bytes());
    }
}

/// Refuses a set that cannot stand in a block, which knows its counters by their title indexes alone.
pub(super) fn check(set: &CounterSet) -> Result<(), LogError> {
    match set.counters.iter().find(|counter| counter.indexes.is_none()) {
        None => Ok(()),
        Some(counter) => Err(LogError::unsupported(format!(
            r"a block record cannot hold '\\{}\{}\{}': the counter has no title index",
            set.machine, set.name, counter.name
        ))),
    }
}

/// The PERF_DATA_BLOCK with the machine's name.
fn data_block(
    set: &CounterSet,
    group: &Group,
    local: FileTime,
    objects: u32,
    object_bytes: usize,
) -> Vec<u8> {
    let mut name = Vec::new();
    push_utf16_nul(&mut name, &set.machine);
    let header_bytes = round_up_8(size_of::<DataBlock>() + name.len());
    let block = DataBlock {
        signature: SIGNATURE,
        little_endian: U32::new(1),
        version: U32::new(1),
        revision: U32::new(1),
        total_bytes: U32::new((header_bytes + object_bytes) as u32),
        header_bytes: U32::new(header_bytes as u32),
        object_count: U32::new(objects),
        default_object: U32::new(set.indexes.unwrap_or_default().name),
        system_time: system_time(local),
        padding: U32::ZERO,
        ticks: I64::new(group.clocks.ticks),
        frequency: I64::new(group.clocks.frequency),
        system_time_100ns: I64::new(group.clocks.system_time.0),
        name_bytes: U32::new(name.len() as u32),
        name_offset: U32::new(size_of::<DataBlock>() as u32),
    };
    let mut bytes = block.as_bytes().to_vec();
    bytes.extend_from_slice(&name);
    bytes.resize(header_bytes, 0);
    bytes
}

/// A local time as SYSTEMTIME; zeros outside the calendar.
fn system_time(local: FileTime) -> [U16; 8] {
    let Some(civil) = local.to_civil() else { return [U16::ZERO; 8] };
    [
        civil.year() as u16,
        civil.month() as u16,
        civil.weekday().to_sunday_zero_offset() as u16,
        civil.day() as u16,
        civil.hour() as u16,
        civil.minute() as u16,
        civil.second() as u16,
        civil.millisecond() as u16,
    ]
    .map(U16::new)
}

fn definition(
    counter: &Counter,
    counter_type: CounterType,
    data_bytes: usize,
    at: usize,
) -> CounterDefinition {
    let indexes = counter.indexes.unwrap_or_default();
    CounterDefinition {
        bytes: U32::new(size_of::<CounterDefinition>() as u32),
        // A base carries the name of its counter.
        name_index: U32::new(indexes.name),
        help_index: U32::new(indexes.help),
        default_scale: I32::new(counter.default_scale),
        detail_level: U32::new(counter.detail_level),
        counter_type: U32::new(counter_type.0),
        data_bytes: U32::new(data_bytes as u32),
        data_offset: U32::new(at as u32),
        ..Default::default()
    }
}

/// The different parents' names, numbered in the order of their first child.
#[derive(Default)]
struct ParentNames<'a> {
    names: Vec<&'a str>,
    numbers: HashMap<&'a str, u32>,
}

impl<'a> ParentNames<'a> {
    fn of(instances: &'a Instances) -> Self {
        let mut parents = Self::default();
        for parent in instances.iter().filter_map(|instance| instance.parent()) {
            parents.numbers.entry(parent).or_insert_with(|| {
                parents.names.push(parent);
                parents.names.len() as u32 - 1
            });
        }
        parents
    }
}

/// The names under which instances stand in a block.
///
/// Readers number equal names in the order of the rows. Where the rows were thinned out, so that they would come to
/// another number, the number is written into the name.
#[derive(Default)]
struct Names<'a> {
    /// By parent and name: the number that a reader would give the next one; `None` after a number was written.
    next: HashMap<(Option<&'a str>, &'a str), Option<u32>>,
}

impl<'a> Names<'a> {
    fn of(&mut self, instance: &'a Instance) -> Cow<'a, str> {
        let next = self.next.entry((instance.parent(), instance.name())).or_insert(Some(0));
        if *next == Some(instance.index()) {
            *next = instance.index().checked_add(1);
            return instance.name().into();
        }
        *next = None;
        match instance.index() {
            0 => instance.name().into(),
            index => format!("{}#{index}", instance.name()).into(),
        }
    }
}

fn push_instance(out: &mut Vec<u8>, name: &str, parent_object: u32, parent_instance: u32) {
    let begin = out.len();
    out.resize(begin + size_of::<InstanceDefinition>(), 0);
    push_utf16_nul(out, name);
    let name_bytes = out.len() - begin - size_of::<InstanceDefinition>();
    out.resize(begin + round_up_8(out.len() - begin), 0);
    let definition = InstanceDefinition {
        bytes: U32::new((out.len() - begin) as u32),
        parent_object: U32::new(parent_object),
        parent_instance: U32::new(parent_instance),
        unique_id: I32::new(-1),
        name_offset: U32::new(size_of::<InstanceDefinition>() as u32),
        name_bytes: U32::new(name_bytes as u32),
    };
    out[begin..begin + size_of::<InstanceDefinition>()].copy_from_slice(definition.as_bytes());
}
