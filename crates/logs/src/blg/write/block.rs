//! Encodes block records. Each one contains a counter set with all its instances, as a PERF_DATA_BLOCK.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Group;
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::{CounterType, Formula, Status};
use zerocopy::little_endian::{I32, I64, U32};
use zerocopy::{FromBytes, IntoBytes};

use crate::blg::raw::block::{
    CounterDefinition, DataBlock, InstanceDefinition, ObjectType, SIGNATURE, system_time,
};
use crate::blg::raw::record::{KIND_BLOCK, RecordHead};
use crate::blg::raw::{push_utf16_nul, round_up_8};
use crate::error::LogError;

/// Title index of the parents' object: Windows' `Process`.
const PARENT_OBJECT: u32 = 230;

/// Encodes the blocks of one set from a template, into which it copies times and values.
///
/// A block can express errors only in a counter's definition, which applies to all instances. So if one value of a
/// counter is an error, all values of the counter in that sample are written as errors, because a missing number is
/// better than a wrong one.
#[derive(Default)]
pub(super) struct BlockEncoder {
    set: Option<Arc<CounterSet>>,
    instances: Instances,
    /// For each counter, whether `template` defines its values as errors.
    failed: Vec<bool>,
    /// `failed` for the group being encoded.
    failed_now: Vec<bool>,
    columns: Vec<Column>,
    /// The record, including the header.
    template: Vec<u8>,
    /// Offset of the first object in `template`.
    object_at: usize,
    /// Offset in `template` of the clock of the set's object. An object with the parents can precede the set's object.
    clock_at: usize,
    /// Offset of each row's counter block in `template`.
    rows: Vec<usize>,
}

/// Offsets of the fields of a raw value in the counter block.
struct Column {
    /// `None` for an error without data.
    first: Option<usize>,
    first_is_32_bit: bool,
    base: Option<usize>,
    multi: Option<usize>,
}

impl BlockEncoder {
    pub(super) fn encode(&mut self, group: &Group, local: FileTime, out: &mut Vec<u8>) {
        let same_set = self.set.as_ref().is_some_and(|set| Arc::ptr_eq(set, &group.set));
        self.find_failed(group);
        let begin = out.len();
        if group.status.is_error() || (group.values.is_empty() && !group.set.has_instances) {
            if !same_set {
                self.build_template(group);
            }
            out.extend_from_slice(&self.template[..self.object_at]);
            let record = &mut out[begin..];
            set_times(record, group, local);
            let status = if group.status.is_error() { group.status } else { Status::NO_OBJECT };
            set_no_objects(record, status);
            return;
        }
        if !same_set || !Arc::ptr_eq(&self.instances, &group.instances) || self.failed != self.failed_now {
            self.build_template(group);
        }
        out.extend_from_slice(&self.template);
        let record = &mut out[begin..];
        set_times(record, group, local);
        let clock = [group.clocks.object_time, group.clocks.object_frequency];
        record[self.clock_at..self.clock_at + 16].copy_from_slice(clock.as_bytes());
        for (&at, values) in self.rows.iter().zip(group.rows()) {
            let block = &mut record[at..];
            for (column, raw) in self.columns.iter().zip(values) {
                let Some(first) = column.first else { continue };
                if column.first_is_32_bit {
                    block[first..][..4].copy_from_slice(&(raw.first as u32).to_le_bytes());
                } else {
                    block[first..][..8].copy_from_slice(&raw.first.to_le_bytes());
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

    fn find_failed(&mut self, group: &Group) {
        self.failed_now.clear();
        self.failed_now.resize(group.set.counters.len(), false);
        if group.values.iter().any(|raw| raw.status.is_error()) {
            for values in group.rows() {
                for (failed, raw) in self.failed_now.iter_mut().zip(values) {
                    *failed |= raw.status.is_error();
                }
            }
        }
    }

    fn build_template(&mut self, group: &Group) {
        self.set = Some(Arc::clone(&group.set));
        self.instances = Arc::clone(&group.instances);
        std::mem::swap(&mut self.failed, &mut self.failed_now);
        self.template.clear();
        self.template.resize(size_of::<RecordHead>(), 0);
        push_data_block(&mut self.template, &group.set);
        self.object_at = self.template.len();
        let parents = ParentNames::from_instances(&group.instances);
        if !parents.names.is_empty() {
            self.push_parents(&parents.names);
        }
        self.clock_at = self.template.len() + size_of::<ObjectType>() - 16;
        self.push_object(&group.set, &group.instances, &parents);
        let objects = 1 + u32::from(!parents.names.is_empty());
        set_lengths(&mut self.template, objects);
    }

    /// Adds a minimal object whose instances are the parents, in index order.
    fn push_parents(&mut self, parents: &[&str]) {
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

    fn push_object(&mut self, set: &CounterSet, instances: &Instances, parents: &ParentNames<'_>) {
        let begin = self.template.len();
        self.template.resize(begin + size_of::<ObjectType>(), 0);
        self.columns.clear();
        // A counter block has its length (4 bytes), 4 bytes of padding, and then values of 8 bytes each.
        let mut at = 8;
        let mut count = 0;
        for (index, counter) in set.counters.iter().enumerate() {
            let failed = self.failed.get(index).copied().unwrap_or_default();
            let mut define = |counter_type: CounterType, data_bytes: usize, out: &mut Vec<u8>| {
                let offset = at;
                out.extend_from_slice(definition(counter, counter_type, data_bytes, offset).as_bytes());
                at += 8;
                count += 1;
                offset
            };
            let is_multi = counter.counter_type.formula().is_some_and(Formula::uses_multiplier);
            let base = counter.counter_type.base();
            // An error is expressed by a missing base, if the type needs one, or by data that is not a number.
            let lacks_base = failed && base.is_some() && !is_multi;
            let lacks_data = failed && !lacks_base;
            let bytes = if counter.data_is_32_bit { 4 } else { 8 };
            let first = define(counter.counter_type, bytes - usize::from(lacks_data), &mut self.template);
            let second = base.filter(|_| !lacks_base).map(|base| {
                let bytes = if is_multi { 4 } else { 8 };
                define(base, bytes, &mut self.template)
            });
            self.columns.push(Column {
                first: (!lacks_data).then_some(first),
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
                let parent = instance.parent().and_then(|parent| parents.indexes.get(parent));
                let (object, index) = parent.map_or((0, 0), |&index| (PARENT_OBJECT, index));
                push_instance(&mut self.template, &names.name_of(instance), object, index);
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

/// Checks that a block, which identifies counters by title index alone, can represent the set.
pub(super) fn check(set: &CounterSet) -> Result<(), LogError> {
    let unsupported = |counter: &Counter, why: &str| {
        Err(LogError::unsupported(format!(
            r"a block record cannot hold '\\{}\{}\{}': the counter {why}",
            set.machine, set.name, counter.name
        )))
    };
    for counter in &set.counters {
        if counter.indexes.is_none() {
            return unsupported(counter, "has no title index");
        }
        if counter.counter_type.is_base() {
            return unsupported(counter, "is the base of another counter");
        }
    }
    Ok(())
}

/// Appends a PERF_DATA_BLOCK without times and lengths.
fn push_data_block(out: &mut Vec<u8>, set: &CounterSet) {
    let begin = out.len();
    out.resize(begin + size_of::<DataBlock>(), 0);
    push_utf16_nul(out, &set.machine);
    let name_bytes = out.len() - begin - size_of::<DataBlock>();
    out.resize(begin + round_up_8(out.len() - begin), 0);
    let block = DataBlock {
        signature: SIGNATURE,
        little_endian: U32::new(1),
        version: U32::new(1),
        revision: U32::new(1),
        header_bytes: U32::new((out.len() - begin) as u32),
        default_object: U32::new(set.indexes.unwrap_or_default().name),
        name_bytes: U32::new(name_bytes as u32),
        name_offset: U32::new(size_of::<DataBlock>() as u32),
        ..Default::default()
    };
    out[begin..begin + size_of::<DataBlock>()].copy_from_slice(block.as_bytes());
}

/// Updates the PERF_DATA_BLOCK of a record.
fn update_data_block(record: &mut [u8], update: impl FnOnce(&mut DataBlock)) {
    if let Ok((block, _)) = DataBlock::mut_from_prefix(&mut record[size_of::<RecordHead>()..]) {
        update(block);
    }
}

/// Sets the lengths of a complete record with `objects` objects.
fn set_lengths(record: &mut [u8], objects: u32) {
    let size = record.len();
    record[..size_of::<RecordHead>()].copy_from_slice(RecordHead::new(KIND_BLOCK, size).as_bytes());
    update_data_block(record, |block| {
        block.total_bytes = U32::new((size - size_of::<RecordHead>()) as u32);
        block.object_count = U32::new(objects);
    });
}

/// Turns a record into one without objects. `status` is the reason.
fn set_no_objects(record: &mut [u8], status: Status) {
    set_lengths(record, 0);
    update_data_block(record, |block| block.status = U32::new(status.0));
}

fn set_times(record: &mut [u8], group: &Group, local: FileTime) {
    update_data_block(record, |block| {
        block.system_time = system_time(local);
        block.ticks = I64::new(group.clocks.ticks);
        block.frequency = I64::new(group.clocks.frequency);
        block.system_time_100ns = I64::new(group.clocks.system_time.0);
    });
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
        // A base has the name of its counter.
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

/// The distinct parent names, in the order of their first child.
#[derive(Default)]
struct ParentNames<'a> {
    names: Vec<&'a str>,
    indexes: HashMap<&'a str, u32>,
}

impl<'a> ParentNames<'a> {
    fn from_instances(instances: &'a Instances) -> Self {
        let mut parents = Self::default();
        for parent in instances.iter().filter_map(|instance| instance.parent()) {
            parents.indexes.entry(parent).or_insert_with(|| {
                parents.names.push(parent);
                parents.names.len() as u32 - 1
            });
        }
        parents
    }
}

/// The names of instances in a block.
///
/// Readers number equal names in row order. If rows are missing, so that a reader would assign a different index, the
/// name includes the index.
#[derive(Default)]
struct Names<'a> {
    /// By parent and name: the index that a reader would assign next; `None` after an explicit index.
    next: HashMap<(Option<&'a str>, &'a str), Option<u32>>,
}

impl<'a> Names<'a> {
    fn name_of(&mut self, instance: &'a Instance) -> Cow<'a, str> {
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
