//! Blocks. A block has the samples of one row group, and collects them until the row group is written.

mod history;
mod rows;
mod series;
mod slot;

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;

use super::description::Descriptions;
use super::table::{InstanceRuns, SampleHead, SampleTable, Section};
use history::{InstanceHistory, Presence};
pub(super) use rows::Rows;
use series::{BlockTime, Series};
use slot::SlotBuilder;

/// Sets with at least this many instances are stored instance by instance instead of counter by counter. Most of the
/// instances of such a set, for example of processes, are idle, so consecutive rows are similar and compress well.
const MANY_INSTANCES: usize = 32;

/// Collects the samples of a block.
#[derive(Default)]
pub(super) struct BlockBuilder {
    samples: Vec<SampleHead>,
    /// The distinct lists of slots. Each sample refers to the list with the slots of its groups.
    slot_lists: Vec<Vec<u32>>,
    /// One slot per description, or several if a sample has several groups with the same description.
    slots: Vec<SlotBuilder>,
    /// The instances of the slots.
    histories: Vec<SharedHistory>,
    /// The index of each slot's group in the current sample.
    group_by_slot: Vec<Option<usize>>,
    /// The descriptions of the last sample's groups, in the order of the groups.
    last_sets: Vec<Arc<CounterSet>>,
    /// The slot of each of `last_sets`.
    last_slots: Vec<u32>,
    value_count: usize,
    /// The number of groups in all samples.
    group_count: usize,
}

/// A history that slots share. The other fields are used while the histories of a sample's slots are chosen.
struct SharedHistory {
    history: InstanceHistory,
    /// The first slot of the history in the current sample.
    first_slot: Option<usize>,
    /// The last copy of the history. Slots that differ from `first_slot` in the current sample use it.
    latest_copy: Option<usize>,
}

impl SharedHistory {
    fn new(history: InstanceHistory) -> Self {
        Self { history, first_slot: None, latest_copy: None }
    }
}

impl BlockBuilder {
    /// The number of values.
    pub(super) fn value_count(&self) -> usize {
        self.value_count
    }

    /// The number of groups in all samples.
    pub(super) fn group_count(&self) -> usize {
        self.group_count
    }

    /// The samples.
    pub(super) fn samples(&self) -> &[SampleHead] {
        &self.samples
    }

    /// Whether a sample is later than the last one of the block by at least a microsecond, so that times in the column
    /// `time` are unique and ascending.
    pub(super) fn is_later_than_last(&self, sample: &Sample) -> bool {
        self.samples.last().is_none_or(|last| microseconds(last.at.utc.0) < microseconds(sample.at.utc.0))
    }

    /// Adds a sample with the groups that have these indexes.
    pub(super) fn push(&mut self, sample: &Sample, groups: &[usize], descriptions: &mut Descriptions) {
        let sets = || groups.iter().map(|&group| &sample.groups[group].set);
        let is_same = self.last_sets.len() == groups.len()
            && self.last_sets.iter().zip(sets()).all(|(one, other)| Arc::ptr_eq(one, other));
        if !is_same {
            self.last_sets = sets().cloned().collect();
            self.last_slots = self.assign_slots(descriptions);
        }
        let list = self.slot_lists.iter().position(|list| *list == self.last_slots).unwrap_or_else(|| {
            self.slot_lists.push(self.last_slots.clone());
            self.slot_lists.len() - 1
        });
        self.group_count += groups.len();
        let index = self.samples.len() as u32;
        self.samples.push(SampleHead {
            at: sample.at,
            is_baseline: sample.is_baseline,
            log: sample.log,
            boot_time: sample.boot_time,
            list: list as u32,
        });
        self.group_by_slot.clear();
        self.group_by_slot.resize(self.slots.len(), None);
        for (slot, &group) in self.last_slots.iter().zip(groups) {
            self.group_by_slot[*slot as usize] = Some(group);
        }
        self.choose_histories(sample);
        for shared in &mut self.histories {
            let Some(slot) = shared.first_slot.take() else { continue };
            let group = self.group_by_slot[slot].map(|group| &sample.groups[group]);
            let presence = Presence::new(group, self.slots[slot].width(), sample);
            shared.history.push(presence, index, sample.log);
            shared.latest_copy = None;
        }
        for (slot, group) in self.slots.iter_mut().zip(&self.group_by_slot) {
            let Some(group) = group.map(|group| &sample.groups[group]) else { continue };
            slot.push(group, Presence::new(Some(group), slot.width(), sample).values(slot.width()));
            self.value_count += if group.is_present() { group.values.len() } else { 0 };
        }
    }

    /// Chooses the history of each slot: a slot that differs from the other slots of its history in this sample gets a history
    /// of its own.
    fn choose_histories(&mut self, sample: &Sample) {
        let Self { slots, histories, group_by_slot, .. } = self;
        let presence = |slots: &[SlotBuilder], slot: usize| {
            let group = group_by_slot[slot].map(|group| &sample.groups[group]);
            Presence::new(group, slots[slot].width(), sample)
        };
        let mut last_history = None;
        for slot in 0..slots.len() {
            let has_instances = slots[slot].set.has_instances;
            // A new slot shares the history of the new slot before it, if both have the same instances.
            let new = last_history.filter(|&last: &usize| histories[last].history.is_new());
            let mut chosen = slots[slot].history.or(new).unwrap_or_else(|| {
                histories.push(SharedHistory::new(InstanceHistory::new()));
                histories.len() - 1
            });
            let is_same = |first: usize| {
                slots[first].set.has_instances == has_instances
                    && presence(slots, first).is_same(&presence(slots, slot))
            };
            let latest_copy = histories[chosen].latest_copy;
            if histories[chosen].first_slot.is_some_and(|first| !is_same(first)) {
                chosen = latest_copy
                    .filter(|&copy| histories[copy].first_slot.is_some_and(is_same))
                    .unwrap_or_else(|| {
                        histories.push(SharedHistory::new(histories[chosen].history.clone()));
                        histories[chosen].latest_copy = Some(histories.len() - 1);
                        histories.len() - 1
                    });
            }
            histories[chosen].first_slot.get_or_insert(slot);
            slots[slot].history = Some(chosen);
            last_history = Some(chosen);
        }
    }

    /// The slot of each of `last_sets`.
    fn assign_slots(&mut self, descriptions: &mut Descriptions) -> Vec<u32> {
        let set_indexes: Vec<u32> = self.last_sets.iter().map(|set| descriptions.index_of(set)).collect();
        let mut list: Vec<u32> = Vec::new();
        let mut by_set: HashMap<u32, Vec<u32>> = HashMap::new();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            slot.set_index = slot.set_index.or_else(|| descriptions.find(&slot.set));
            if let Some(set_index) = slot.set_index {
                by_set.entry(set_index).or_default().push(index as u32);
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

    /// Removes the samples, replaces `rows` with their rows, and returns their table. The next block continues their series.
    pub(super) fn take(&mut self, rows: &mut Rows) -> SampleTable {
        self.histories.iter_mut().for_each(|shared| shared.history.collect_instances());
        for slot in &mut self.slots {
            slot.set_instances(slot.history.map_or(0, |history| self.histories[history].history.len()));
        }
        let (instances, sections) = self.build_sections();
        let time = |head: &SampleHead| BlockTime {
            time: microseconds(head.at.utc.0),
            is_baseline: head.is_baseline,
        };
        let times: Vec<_> = self.samples.iter().map(time).collect();
        rows.reset(self.value_count);
        let mut series = Series::default();
        // The history and the instance of `series`.
        let mut current = None;
        for section in &sections {
            for_each_series(
                section,
                instances[section.instances as usize].len(),
                |slot, column, instance| {
                    let slot = &mut self.slots[slot];
                    let Some(index) = slot.history else { return };
                    let history = &mut self.histories[index].history;
                    if current.replace((index, instance)) != Some((index, instance)) {
                        history.find_rows(instance, &times, &mut series);
                    }
                    slot.push_rows(column, history, &series, rows);
                },
            );
        }
        let is_kept: Vec<bool> =
            self.slots.iter().map(|slot| slot.has_groups() || self.has_series(slot)).collect();
        let table = self.take_table(instances, sections);
        self.remove_ended_slots(&is_kept);
        self.value_count = 0;
        self.group_count = 0;
        table
    }

    /// Removes the samples and returns their table, which contains only the slots with a group.
    fn take_table(&mut self, instances: Vec<Vec<InstanceRuns>>, mut sections: Vec<Section>) -> SampleTable {
        let index_of = indexes_after_removal(self.slots.iter().map(SlotBuilder::has_groups));
        let renumber = |slot: &mut u32| *slot = index_of[*slot as usize];
        let mut lists = std::mem::take(&mut self.slot_lists);
        lists.iter_mut().flatten().for_each(renumber);
        sections.iter_mut().flat_map(|section| &mut section.columns).for_each(|(slot, _)| renumber(slot));
        let kept_instances: Vec<_> = self.histories.iter_mut().map(|shared| shared.history.take()).collect();
        let take = |slot: &mut SlotBuilder| {
            slot.take(slot.history.map_or(&[][..], |history| &kept_instances[history]))
        };
        SampleTable {
            chunks: Vec::new(),
            samples: std::mem::take(&mut self.samples),
            lists,
            slots: self.slots.iter_mut().filter_map(take).collect(),
            instances,
            sections,
        }
    }

    /// Prepares for a new file, whose list of descriptions is empty.
    pub(super) fn begin_file(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.set_index = None);
        self.last_sets.clear();
        self.last_slots.clear();
    }

    /// Whether the next group of a slot can continue the series of a block that was taken.
    fn has_series(&self, slot: &SlotBuilder) -> bool {
        slot.history.is_some_and(|history| self.histories[history].history.has_series())
    }

    /// Removes the slots whose series no later block can continue.
    fn remove_ended_slots(&mut self, is_kept: &[bool]) {
        let index_of = indexes_after_removal(is_kept.iter().copied());
        let mut is_slot_kept = is_kept.iter();
        self.slots.retain(|_| is_slot_kept.next().copied().unwrap_or_default());
        let mut is_used = vec![false; self.histories.len()];
        self.slots.iter().filter_map(|slot| slot.history).for_each(|history| is_used[history] = true);
        let history_of = indexes_after_removal(is_used.iter().copied());
        let mut is_history_used = is_used.iter();
        self.histories.retain(|_| is_history_used.next().copied().unwrap_or_default());
        for slot in &mut self.slots {
            slot.history = slot.history.map(|history| history_of[history] as usize);
        }
        self.last_slots.iter_mut().for_each(|slot| *slot = index_of[*slot as usize]);
    }

    /// The distinct lists of instances, and a section for each set and list of instances, sorted by the set's name.
    fn build_sections(&self) -> (Vec<Vec<InstanceRuns>>, Vec<Section>) {
        let mut instances: Vec<Vec<InstanceRuns>> = Vec::new();
        let mut index_of_instances: HashMap<Vec<InstanceRuns>, u32> = HashMap::new();
        // One section per set and list of instances, in the order of the groups.
        let mut sections: Vec<(&str, Section)> = Vec::new();
        let mut by_key: HashMap<(&str, u32), usize> = HashMap::new();
        // The index of the list of instances of each history.
        let mut tables: Vec<Option<u32>> = vec![None; self.histories.len()];
        for (index, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.has_groups()) {
            let Some(history) = slot.history else { continue };
            let table = *tables[history].get_or_insert_with(|| {
                let next = instances.len() as u32;
                let runs = self.histories[history].history.instance_runs();
                *index_of_instances.entry(runs).or_insert_with_key(|runs| {
                    instances.push(runs.clone());
                    next
                })
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

/// The index of each element after the elements that are not kept were removed. A removed element has the index of the next
/// one that is kept.
fn indexes_after_removal(is_kept: impl Iterator<Item = bool>) -> Vec<u32> {
    let mut kept_elements = 0;
    is_kept.map(|is_kept| (kept_elements, kept_elements += u32::from(is_kept)).0).collect()
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
