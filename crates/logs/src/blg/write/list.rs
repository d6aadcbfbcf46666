//! The counter list and the name tables of a new log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent};
use zerocopy::little_endian::{I32, I64, U32};

use crate::blg::raw::list::{CounterList, Entry, EntryHead, FLAG_BLOCK, FLAG_MULTI, ListHead};
use crate::blg::raw::push_utf16_nul;

/// What a block entry has in place of a counter type.
const BLOCK_COUNTER_TYPE: u32 = 0x10;

/// Appends the payload of the counter list: one entry per group.
pub(super) fn encode(sample: &Sample, out: &mut Vec<u8>) {
    let entries = sample.groups.iter().map(entry).collect();
    CounterList { head: ListHead::usual(), entries }.encode(out);
}

fn entry(group: &Group) -> Entry {
    let set = &*group.set;
    let counter = set.counters.first();
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
        Extent::Value => {
            if let Some(instance) = set.instance.as_ref().filter(|_| set.has_instances) {
                entry.instance = Some(instance.name().to_owned());
                entry.parent = instance.parent().map(str::to_owned);
                head.instance_index = U32::new(instance.index());
            }
        }
        Extent::Column => {
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
    entry.lay_out();
    entry
}

/// Names of title indexes that block records refer to, per machine.
#[derive(Default)]
pub(super) struct NameTables {
    known: HashMap<Arc<str>, BTreeMap<u32, Arc<str>>>,
    /// Not written yet.
    new: BTreeMap<Arc<str>, BTreeMap<u32, Arc<str>>>,
    /// The descriptions that were looked at last, to look again only when they change.
    seen: Vec<Arc<CounterSet>>,
}

impl NameTables {
    /// Takes in the names of the sample's blocks; true when there are new ones.
    pub(super) fn add(&mut self, sample: &Sample) -> bool {
        let same = self.seen.len() == sample.groups.len()
            && self.seen.iter().zip(&sample.groups).all(|(seen, group)| Arc::ptr_eq(seen, &group.set));
        if same {
            return !self.new.is_empty();
        }
        self.seen.clear();
        for group in &sample.groups {
            self.seen.push(Arc::clone(&group.set));
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

    /// The payloads of the name-table events to write, each at most `limit` bytes and beginning with the machine's name.
    pub(super) fn take_events(&mut self, limit: usize) -> Vec<Vec<u8>> {
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
