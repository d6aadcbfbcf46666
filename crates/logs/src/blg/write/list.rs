//! The counter list and the name tables of a new log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent};
use zerocopy::little_endian::{I32, I64, U32};

use crate::blg::raw::list::{CounterList, Entry, EntryHead, FLAG_BLOCK, FLAG_MULTI, ListHead};
use crate::blg::raw::push_utf16_nul;

/// The counter type of a block entry.
const BLOCK_COUNTER_TYPE: u32 = 0x10;

/// Appends the payload of the counter list: one entry per record of a sample.
pub(super) fn encode(sample: &Sample, out: &mut Vec<u8>) {
    let records = |group: &Group| 0..group.set.record_count();
    let entries =
        sample.groups.iter().flat_map(|group| records(group).map(move |record| entry(&group.set, record)));
    let entries = entries.collect();
    CounterList { head: ListHead::usual(), entries }.encode(out);
}

fn entry(set: &CounterSet, record: usize) -> Entry {
    let counter = set.counters.get(record);
    let mut head = EntryHead {
        counter_type: U32::new(counter.map_or(0, |counter| counter.counter_type.0)),
        time_base: I64::new(counter.map_or(0, |counter| counter.time_base)),
        default_scale: I32::new(counter.map_or(0, |counter| counter.default_scale)),
        ..Default::default()
    };
    let mut entry = Entry {
        machine: Some(format!(r"\\{}", set.machine)),
        object: Some(set.name.to_string()),
        counter: Some(counter.map(|counter| counter.name.to_string()).unwrap_or_default()),
        ..Default::default()
    };
    match set.extent {
        Extent::Row => {
            if let Some(instance) = set.instance.as_ref().filter(|_| set.has_instances) {
                entry.instance = Some(instance.name().to_owned());
                entry.parent = instance.parent().map(str::to_owned);
                head.instance_index = U32::new(instance.index());
            }
        }
        Extent::Columns => {
            head.flags = U32::new(FLAG_MULTI);
            entry.instance = Some("*".to_owned());
        }
        Extent::Table => {
            head = EntryHead {
                flags: U32::new(FLAG_BLOCK),
                counter_type: U32::new(BLOCK_COUNTER_TYPE),
                ..Default::default()
            };
            entry.instance = set.has_instances.then(|| "*".to_owned());
            entry.counter = Some("*".to_owned());
        }
    }
    entry.head = head;
    entry.pack();
    entry
}

/// Names of title indexes that block records refer to, per machine.
#[derive(Default)]
pub(super) struct NameTables {
    known: HashMap<Arc<str>, BTreeMap<u32, Arc<str>>>,
    /// Names that have not been written yet.
    new: BTreeMap<Arc<str>, BTreeMap<u32, Arc<str>>>,
    /// The descriptions of the previous sample, to detect changes.
    previous: Vec<Arc<CounterSet>>,
}

impl NameTables {
    /// Adds the names of the sample's blocks; returns whether any are new.
    pub(super) fn add(&mut self, sample: &Sample) -> bool {
        if sample.has_sets(self.previous.iter()) {
            return !self.new.is_empty();
        }
        self.previous.clear();
        for group in &sample.groups {
            self.previous.push(Arc::clone(&group.set));
            if group.set.extent == Extent::Table {
                self.add_set(&group.set);
            }
        }
        !self.new.is_empty()
    }

    fn add_set(&mut self, set: &CounterSet) {
        let counters = set.counters.iter().map(|counter| (counter.indexes, &counter.name));
        for (indexes, name) in counters.chain([(set.indexes, &set.name)]) {
            let Some(indexes) = indexes else { continue };
            let known = self.known.entry(Arc::clone(&set.machine)).or_default();
            if known.get(&indexes.name) != Some(name) {
                known.insert(indexes.name, Arc::clone(name));
                self.new.entry(Arc::clone(&set.machine)).or_default().insert(indexes.name, Arc::clone(name));
            }
        }
    }

    /// Removes the new names and returns them as payloads of name table events. Each payload has at most `limit`
    /// bytes and starts with the machine name.
    pub(super) fn drain_events(&mut self, limit: usize) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for (machine, names) in std::mem::take(&mut self.new) {
            let mut head = Vec::new();
            push_utf16_nul(&mut head, &format!(r"\\{machine}"));
            let mut payload = head.clone();
            let mut pair = Vec::new();
            for (index, name) in names {
                pair.clear();
                push_utf16_nul(&mut pair, &index.to_string());
                push_utf16_nul(&mut pair, &name);
                if payload.len() + pair.len() > limit && payload.len() > head.len() {
                    events.push(std::mem::replace(&mut payload, head.clone()));
                }
                payload.extend_from_slice(&pair);
            }
            if payload.len() > head.len() {
                events.push(payload);
            }
        }
        events
    }
}
