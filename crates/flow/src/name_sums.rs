//! Sums over instances with the same name (`svchost`, `svchost#1`, ... become `svchost`), or over all instances.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};

mod stages;
mod summed_set;

pub use stages::{NameSumsSink, NameSumsSource};
use summed_set::{Member, SummedSet, sum_of};

/// Replaces the instances of one name (`svchost`, `svchost#1`; in `Process V2` `svchost:1234`) with a single instance, whose
/// raw values are the sums over the replaced instances.
///
/// For counter types that need two samples, a sum is a running total: in each sample, it grows by the increases of the
/// instances since the previous sample. So an instance that appears or disappears does not change the sum. Sums of averages
/// per operation and of fractions are averages and fractions too: their numerators and bases are summed. If the value
/// of one instance cannot be read, the sum has the status of that value.
///
/// Some counters cannot be summed: inverse timers, elapsed times, formatted values, hexadecimal numbers, ids,
/// priorities and states. Such a counter has a value only while a single instance has the name. Sets without instances
/// are unchanged.
#[derive(Default)]
pub struct NameSums {
    /// For sums over all instances: which instances stand for others, such as `_Total`.
    is_total: Option<IsTotal>,
    sample: Sample,
    sets: Vec<SummedSet>,
    by_key: HashMap<SetKey, usize>,
    /// The groups of the last sample.
    inputs: Vec<Input>,
}

/// Returns whether an instance of the set with this name stands for several others, such as `_Total`.
pub type IsTotal = fn(&str, &Instance) -> bool;

/// The machine, the set, and its counters with their types and time bases. Groups with the same key are summed together: a log can have a
/// group for each instance.
type SetKey = (Arc<str>, Arc<str>, Vec<(Arc<str>, CounterType, i64)>);

/// A group of the last sample.
struct Input {
    set: Arc<CounterSet>,
    instances: Instances,
    is_present: bool,
    /// The index of the group in the result.
    output: usize,
    /// The index in [`NameSums::sets`], and the index in [`SummedSet::members`] of the group's first row; `None` for a
    /// set without instances.
    target: Option<(usize, usize)>,
}

impl NameSums {
    /// The instance that is the sum of all instances with the name of this one: its parent and name, without `#n`.
    pub fn name_of(set: &CounterSet, instance: &Instance) -> Instance {
        sum_of(set, instance)
    }

    /// The name of the instance that is the sum of all instances of a set.
    pub const ALL: &str = "*";

    /// Sums all instances of a set on a machine, whatever their names: the sum is the instance [`ALL`](Self::ALL). Instances for which
    /// `is_total` is true are excluded if the set has others in the sample.
    pub fn of_all_instances(is_total: IsTotal) -> Self {
        Self { is_total: Some(is_total), ..Self::default() }
    }

    /// Whether the values of several instances of this counter have a sum.
    pub fn can_sum(counter: &Counter) -> bool {
        summed_set::can_sum(counter)
    }

    /// Sums a sample. The result is valid until the next call.
    pub fn push(&mut self, sample: &Sample) -> &Sample {
        self.sample.copy_head(sample);
        if !self.has_layout_of(sample) {
            self.rebuild(sample);
        }
        for set in &mut self.sets {
            set.begin();
        }
        for (input, group) in self.inputs.iter().zip(&sample.groups) {
            match input.target {
                Some((set, member)) if input.is_present => {
                    self.sets[set].add(group, member, sample.boot_time_of(group));
                }
                Some(_) => {}
                None => copy_values(group, &mut self.sample.groups[input.output]),
            }
        }
        for set in &mut self.sets {
            // A set that is not in the sample has no group.
            if let Some(group) = self.sample.groups.get_mut(set.output) {
                set.write(group);
            }
        }
        for (input, group) in self.inputs.iter().zip(&sample.groups).filter(|(input, _)| input.is_present) {
            let sums = &mut self.sample.groups[input.output];
            (sums.read_at, sums.clocks, sums.boot_time) = (group.read_at, group.clocks, group.boot_time);
        }
        &self.sample
    }

    /// Whether a sample has the same groups and instances as the last one.
    fn has_layout_of(&self, sample: &Sample) -> bool {
        self.inputs.len() == sample.groups.len()
            && self.inputs.iter().zip(&sample.groups).all(|(input, group)| {
                Arc::ptr_eq(&input.set, &group.set)
                    && Arc::ptr_eq(&input.instances, &group.instances)
                    && input.is_present == group.is_present()
            })
    }

    /// Determines to which sum each row of the sample is added. Sets that are not in the sample keep their instances,
    /// since the sample may be from another log.
    fn rebuild(&mut self, sample: &Sample) {
        self.inputs.clear();
        self.sample.groups.clear();
        self.sets.iter_mut().for_each(|set| set.output = usize::MAX);
        let mut rebuilt: HashMap<usize, HashMap<Box<str>, Member>> = HashMap::new();
        for group in &sample.groups {
            let mut target = None;
            let mut output = self.sample.groups.len();
            if group.set.has_instances {
                let index = self.set_of(group);
                let set = &mut self.sets[index];
                if set.output == usize::MAX {
                    (set.output, set.is_present) = (output, false);
                    self.sample.groups.push(Group::new(Arc::clone(&set.set)));
                } else {
                    output = set.output;
                }
                target = Some((index, 0));
                if group.is_present() {
                    set.is_present = true;
                    let before = rebuilt.entry(index).or_insert_with(|| set.take_members());
                    target = Some((index, set.members.len()));
                    set.add_members(&group.instances, before);
                }
            } else {
                self.sample.groups.push(group.clone());
            }
            self.inputs.push(Input {
                set: Arc::clone(&group.set),
                instances: Arc::clone(&group.instances),
                is_present: group.is_present(),
                output,
                target,
            });
        }
        for index in rebuilt.into_keys() {
            self.sets[index].update_names();
        }
    }

    /// The index in `sets` of the set to which a group belongs. Adds the set if it is new.
    fn set_of(&mut self, group: &Group) -> usize {
        let lower_case = |name: &str| Arc::from(name.to_lowercase());
        let counters = group.set.counters.iter();
        let key = (
            lower_case(&group.set.machine),
            lower_case(&group.set.name),
            counters.map(|it| (lower_case(&it.name), it.counter_type, it.time_base)).collect(),
        );
        let next = self.sets.len();
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            self.sets.push(SummedSet::new(&group.set, self.is_total));
        }
        index
    }
}

/// Copies the values of a group that has the same description and instances.
fn copy_values(from: &Group, to: &mut Group) {
    to.values.clone_from(&from.values);
    to.identities.clone_from(&from.identities);
    to.status = from.status;
}
