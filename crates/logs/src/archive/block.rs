//! A block: the samples of one row group, collected until it is written.

mod rows;
mod slot;

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;

use super::description::Descriptions;
use super::table::{InstanceRuns, SampleHead, SampleTable, Section};
pub(super) use rows::Rows;
use slot::{BlockTime, SlotBuilder};

/// Sets with at least this many instances are stored instance by instance instead of counter by counter. Most of the
/// instances of such a set, for example of processes, are idle, so consecutive rows are similar and compress well.
const MANY_INSTANCES: usize = 32;

/// Collects the samples of a block.
#[derive(Default)]
pub(super) struct BlockBuilder {
    samples: Vec<SampleHead>,
    /// The distinct lists of slots. Each sample refers to the list with the slots of its groups.
    lists: Vec<Vec<u32>>,
    /// One slot per description, or several if a sample has several groups with the same description.
    slots: Vec<SlotBuilder>,
    /// The descriptions of the last sample's groups, in the order of the groups.
    last_sets: Vec<Arc<CounterSet>>,
    /// The slot of each of `last_sets`.
    last_list: Vec<u32>,
    values: usize,
    /// The number of groups in all samples.
    heads: usize,
}

impl BlockBuilder {
    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.values
    }

    /// The number of groups in all samples.
    pub(super) fn heads(&self) -> usize {
        self.heads
    }

    /// The samples.
    pub(super) fn samples(&self) -> &[SampleHead] {
        &self.samples
    }

    /// Whether a sample is later than the last one of the block by at least a microsecond, so that times in the column
    /// `time` are unique and ascending.
    pub(super) fn accepts(&self, sample: &Sample) -> bool {
        self.samples.last().is_none_or(|last| microseconds(last.at.utc.0) < microseconds(sample.at.utc.0))
    }

    /// Adds a sample with the groups that have these indexes.
    pub(super) fn push(&mut self, sample: &Sample, groups: &[usize], descriptions: &mut Descriptions) {
        let sets = || groups.iter().map(|&group| &sample.groups[group].set);
        let is_same = self.last_sets.len() == groups.len()
            && self.last_sets.iter().zip(sets()).all(|(one, other)| Arc::ptr_eq(one, other));
        if !is_same {
            self.last_sets = sets().cloned().collect();
            self.last_list = self.slots_of(descriptions);
        }
        let list = self.lists.iter().position(|list| *list == self.last_list).unwrap_or_else(|| {
            self.lists.push(self.last_list.clone());
            self.lists.len() - 1
        });
        self.heads += groups.len();
        let index = self.samples.len() as u32;
        self.samples.push(SampleHead {
            at: sample.at,
            is_baseline: sample.is_baseline,
            log: sample.log,
            boot_time: sample.boot_time,
            list: list as u32,
        });
        for (slot, &group) in self.last_list.iter().zip(groups) {
            let group = &sample.groups[group];
            self.slots[*slot as usize].push(group, sample, index);
            self.values += if group.is_present() { group.values.len() } else { 0 };
        }
        if self.last_list.len() < self.slots.len() {
            for (index, slot) in self.slots.iter_mut().enumerate() {
                if !self.last_list.contains(&(index as u32)) {
                    slot.miss(sample.log);
                }
            }
        }
    }

    /// The slot of each of `last_sets`.
    fn slots_of(&mut self, descriptions: &mut Descriptions) -> Vec<u32> {
        let set_indexes: Vec<u32> = self.last_sets.iter().map(|set| descriptions.index_of(set)).collect();
        let mut list: Vec<u32> = Vec::new();
        let mut by_set: HashMap<u32, Vec<u32>> = HashMap::new();
        for (slot, known) in self.slots.iter_mut().enumerate() {
            known.set_index = known.set_index.or_else(|| descriptions.find(&known.set));
            if let Some(set_index) = known.set_index {
                by_set.entry(set_index).or_default().push(slot as u32);
            }
        }
        let mut used: HashMap<u32, usize> = HashMap::new();
        for (set, set_index) in self.last_sets.iter().zip(set_indexes) {
            // The n-th group with a description belongs to the n-th slot with this description.
            let occurrence = used.entry(set_index).or_default();
            let slots = by_set.entry(set_index).or_default();
            if *occurrence == slots.len() {
                slots.push(self.slots.len() as u32);
                self.slots.push(SlotBuilder::new(set, set_index));
            }
            list.push(slots[*occurrence]);
            *occurrence += 1;
        }
        list
    }

    /// Removes the samples and returns them as rows and a table. The next block continues their series.
    pub(super) fn take(&mut self) -> (Rows, SampleTable) {
        self.slots.iter_mut().for_each(SlotBuilder::collect_instances);
        let (instances, sections) = self.sections();
        let time = |head: &SampleHead| BlockTime {
            time: microseconds(head.at.utc.0),
            is_baseline: head.is_baseline,
        };
        let times: Vec<_> = self.samples.iter().map(time).collect();
        let mut rows = Rows::new(self.values);
        for section in &sections {
            for_each_series(
                section,
                instances[section.instances as usize].len(),
                |slot, column, instance| {
                    self.slots[slot].push_rows(instance, column, &times, &mut rows);
                },
            );
        }
        let is_kept: Vec<bool> =
            self.slots.iter().map(|slot| slot.has_groups() || slot.has_series()).collect();
        let table = self.take_table(instances, sections);
        self.forget_ended(&is_kept);
        self.values = 0;
        self.heads = 0;
        (rows, table)
    }

    /// Removes the samples and returns their table, which contains only the slots with a group.
    fn take_table(&mut self, instances: Vec<Vec<InstanceRuns>>, mut sections: Vec<Section>) -> SampleTable {
        let index_of = new_indexes(self.slots.iter().map(SlotBuilder::has_groups));
        let renumber = |slot: &mut u32| *slot = index_of[*slot as usize];
        let mut lists = std::mem::take(&mut self.lists);
        lists.iter_mut().flatten().for_each(renumber);
        sections.iter_mut().flat_map(|section| &mut section.columns).for_each(|(slot, _)| renumber(slot));
        SampleTable {
            chunks: Vec::new(),
            samples: std::mem::take(&mut self.samples),
            lists,
            slots: self.slots.iter_mut().filter_map(SlotBuilder::take).collect(),
            instances,
            sections,
        }
    }

    /// Prepares for a new file, whose list of descriptions is empty.
    pub(super) fn begin_file(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.set_index = None);
        self.last_sets.clear();
        self.last_list.clear();
    }

    /// Removes the slots whose series no later block can continue.
    fn forget_ended(&mut self, is_kept: &[bool]) {
        let index_of = new_indexes(is_kept.iter().copied());
        let mut kept = is_kept.iter();
        self.slots.retain(|_| kept.next().copied().unwrap_or_default());
        self.last_list.iter_mut().for_each(|slot| *slot = index_of[*slot as usize]);
    }

    fn sections(&self) -> (Vec<Vec<InstanceRuns>>, Vec<Section>) {
        let mut instances: Vec<Vec<InstanceRuns>> = Vec::new();
        let mut known: HashMap<Vec<InstanceRuns>, u32> = HashMap::new();
        // One section per set and list of instances, in the order of the groups.
        let mut sections: Vec<(&str, Section)> = Vec::new();
        let mut by_key: HashMap<(&str, u32), usize> = HashMap::new();
        for (index, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.has_groups()) {
            let runs = slot.instance_runs();
            let next = instances.len() as u32;
            let table = *known.entry(runs).or_insert_with_key(|runs| {
                instances.push(runs.clone());
                next
            });
            let set: &str = &slot.set.name;
            let section = *by_key.entry((set, table)).or_insert_with(|| {
                let is_by_instance = instances[table as usize].len() >= MANY_INSTANCES;
                sections.push((set, Section { columns: Vec::new(), instances: table, is_by_instance }));
                sections.len() - 1
            });
            let columns = 0..slot.set.counters.len() as u32;
            sections[section].1.columns.extend(columns.map(|column| (index as u32, column)));
        }
        sections.sort_by_key(|(set, _)| *set);
        let name =
            |&(slot, column): &(u32, u32)| &*self.slots[slot as usize].set.counters[column as usize].name;
        for (_, section) in &mut sections {
            section.columns.sort_by(|one, other| name(one).cmp(name(other)));
        }
        (instances, sections.into_iter().map(|(_, section)| section).collect())
    }
}

/// The new index of each slot after only some of the slots were kept. A removed slot has the new index of the next kept
/// one.
fn new_indexes(is_kept: impl Iterator<Item = bool>) -> Vec<u32> {
    let mut kept = 0;
    is_kept.map(|is_kept| (kept, kept += u32::from(is_kept)).0).collect()
}

/// Calls `each` with slot, column and instance of each series of a section, in the order in which rows are stored.
pub(super) fn for_each_series(
    section: &Section,
    instances: usize,
    mut each: impl FnMut(usize, usize, usize),
) {
    if section.is_by_instance {
        for instance in 0..instances {
            for &(slot, column) in &section.columns {
                each(slot as usize, column as usize, instance);
            }
        }
    } else {
        for &(slot, column) in &section.columns {
            for instance in 0..instances {
                each(slot as usize, column as usize, instance);
            }
        }
    }
}

/// A time in the unit of the column `time`: microseconds since 1970.
pub(super) fn microseconds(utc: i64) -> i64 {
    const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
    utc.saturating_sub(UNIX_EPOCH).div_euclid(10)
}
