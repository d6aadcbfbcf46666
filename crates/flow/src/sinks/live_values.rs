//! Formatted values of instances that appear and disappear.

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instances, rows_before};
use tachograph_counters::{Calculator, FormatOptions, Origin, Pairer};

/// Formats the samples of a live source one by one, and holds the values of the instances in the last sample. The state
/// of other instances is dropped.
///
/// An instance is paired with itself in the previous sample, by its name and identity. A new instance, or one that was
/// absent from the previous sample, has no value yet if the counter type needs two samples.
#[derive(Default)]
pub struct LiveValues {
    groups: Vec<LiveGroupValues>,
    /// Whether the last sample lacks a group that the previous one had.
    lacks_group: bool,
}

/// The formatted values of one group.
pub struct LiveGroupValues {
    set: Arc<CounterSet>,
    calculators: Vec<Calculator>,
    instances: Instances,
    /// Row after row, one per counter.
    pairers: Vec<Pairer>,
    values: Vec<Option<f64>>,
    has_changed: bool,
}

impl LiveValues {
    /// Processes the next sample.
    pub fn push(&mut self, sample: &Sample) {
        self.lacks_group = false;
        if sample.has_sets(self.groups.iter().map(|group| &group.set)) {
            self.groups.iter_mut().for_each(|group| group.has_changed = false);
        } else {
            self.replace_groups(sample);
        }
        for (known, group) in self.groups.iter_mut().zip(&sample.groups) {
            known.push(group);
        }
    }

    /// Replaces the groups after the source's paths have changed.
    fn replace_groups(&mut self, sample: &Sample) {
        let mut before = std::mem::take(&mut self.groups);
        let mut kept: Vec<Option<LiveGroupValues>> = Vec::with_capacity(sample.groups.len());
        for group in &sample.groups {
            let known = before.iter().position(|known| Arc::ptr_eq(&known.set, &group.set));
            kept.push(known.map(|known| LiveGroupValues { has_changed: true, ..before.remove(known) }));
        }
        self.lacks_group = !before.is_empty();
        for (group, kept) in sample.groups.iter().zip(kept) {
            self.groups.push(kept.unwrap_or_else(|| LiveGroupValues::new(group, &before)));
        }
    }

    /// The groups, in the same order as in the sample.
    pub fn groups(&self) -> &[LiveGroupValues] {
        &self.groups
    }

    /// Whether the last sample has different groups or instances than the previous one.
    pub fn has_changed(&self) -> bool {
        self.lacks_group || self.groups.iter().any(|group| group.has_changed)
    }
}

impl LiveGroupValues {
    /// The state of a new group. A counter that was in another group before is still paired with its previous value.
    fn new(group: &Group, before: &[Self]) -> Self {
        let mut new = Self {
            set: Arc::clone(&group.set),
            calculators: group.set.counters.iter().map(Counter::calculator).collect(),
            instances: Arc::clone(&group.instances),
            pairers: vec![Pairer::default(); group.instances.len() * group.set.counters.len()],
            values: Vec::new(),
            has_changed: true,
        };
        let width = new.calculators.len();
        for known in before.iter().filter(|known| known.set.is_same_set(&group.set)) {
            let rows = rows_before(&known.instances, &new.instances);
            for (column, counter) in group.set.counters.iter().enumerate() {
                let mut known_counters = known.set.counters.iter();
                let Some(known_column) = known_counters.position(|known| known.name == counter.name) else {
                    continue;
                };
                for (row, known_row) in rows.iter().enumerate() {
                    if let Some(known_row) = known_row {
                        let pairer = &known.pairers[known_row * known.calculators.len() + known_column];
                        new.pairers[row * width + column] = pairer.clone();
                    }
                }
            }
        }
        new
    }

    /// The description of the group.
    pub fn set(&self) -> &Arc<CounterSet> {
        &self.set
    }

    /// The instances in the last sample.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// The values, row after row, one per counter; `None` for a missing value.
    pub fn values(&self) -> &[Option<f64>] {
        &self.values
    }

    /// The row and column of each value, counter after counter. This is the order in which values are displayed.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let rows = self.instances.len();
        (0..self.calculators.len()).flat_map(move |column| (0..rows).map(move |row| (row, column)))
    }

    /// The value of a cell.
    pub fn value(&self, (row, column): (usize, usize)) -> Option<f64> {
        self.values[row * self.calculators.len() + column]
    }

    /// Whether the group is new, or has different instances in the last sample than in the previous one.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }

    fn push(&mut self, group: &Group) {
        if !Arc::ptr_eq(&self.instances, &group.instances) {
            // The lists can be equal, since a source with several buffers has a list for each buffer.
            let mut pairs = self.instances.iter().zip(group.instances.iter());
            let is_equal = self.instances.len() == group.instances.len()
                && pairs.all(|(known, instance)| Arc::ptr_eq(known, instance));
            match is_equal {
                true => self.instances = Arc::clone(&group.instances),
                false => self.update_instances(group),
            }
        }
        let width = self.calculators.len();
        let options = FormatOptions::default();
        self.values.clear();
        for (row, values) in group.rows().take(self.instances.len()).enumerate() {
            let pairers = &mut self.pairers[row * width..(row + 1) * width];
            let identity = group.identities.get(row).copied().unwrap_or_default();
            for ((raw, calculator), pairer) in values.iter().zip(&self.calculators).zip(pairers) {
                // A live source never spans two boots, so the boot time is not needed.
                pairer.follow(Origin::new(calculator, identity, FileTime(0)));
                self.values.push(calculator.format(pairer.pair(raw).as_ref(), raw, &options).ok());
            }
        }
        // Rows for which the source has no values have missing values.
        self.values.resize(self.instances.len() * width, None);
    }

    /// Reorders the state of the instances to match the group's rows.
    fn update_instances(&mut self, group: &Group) {
        let width = self.calculators.len();
        let before = std::mem::replace(&mut self.instances, Arc::clone(&group.instances));
        let pairers_before = std::mem::take(&mut self.pairers);
        self.pairers.reserve_exact(self.instances.len() * width);
        for row in rows_before(&before, &self.instances) {
            match row {
                Some(row) => self.pairers.extend_from_slice(&pairers_before[row * width..(row + 1) * width]),
                None => self.pairers.resize(self.pairers.len() + width, Pairer::default()),
            }
        }
        self.has_changed = true;
    }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::set::{Extent, Instance, InstanceTable};
    use tachograph_counters::{CounterType, RawValue};

    use super::*;

    /// A machine whose processes have a single counter, a rate per second.
    struct Processes {
        set: Arc<CounterSet>,
        table: InstanceTable,
        values: LiveValues,
        second: i64,
    }

    impl Processes {
        fn new() -> Self {
            let mut set = CounterSet::new("M", "Process", Extent::Columns);
            set.counters = vec![Counter::new("Things/sec", CounterType::BULK_COUNT, 1)];
            Self {
                set: Arc::new(set),
                table: InstanceTable::default(),
                values: LiveValues::default(),
                second: 0,
            }
        }

        /// Pushes the sample of the next second. Each process has a name, an identity and a raw value. Returns the
        /// formatted values.
        fn push(&mut self, processes: &[(&str, u64, i64)]) -> Vec<Option<f64>> {
            let group = self.group(processes);
            self.values.push(&Sample { groups: vec![group], ..Sample::default() });
            self.values.groups()[0].values().to_vec()
        }

        fn group(&mut self, processes: &[(&str, u64, i64)]) -> Group {
            self.second += 1;
            let mut group = Group::new(Arc::clone(&self.set));
            let names = processes.iter().map(|(name, ..)| self.table.intern(None, name, 0));
            group.instances = names.collect::<Vec<Arc<Instance>>>().into();
            group.identities = processes.iter().map(|&(_, identity, _)| identity).collect();
            group.values = processes.iter().map(|&(_, _, value)| RawValue::new(value, self.second)).collect();
            group
        }
    }

    #[test]
    fn instances_are_paired_with_themselves_when_they_move() {
        let mut processes = Processes::new();
        assert_eq!(processes.push(&[("a", 1, 10), ("b", 2, 100)]), [None, None]);
        assert_eq!(processes.push(&[("a", 1, 11), ("b", 2, 120)]), [Some(1.0), Some(20.0)]);
        assert_eq!(
            processes.push(&[("c", 3, 7), ("b", 2, 150), ("a", 1, 13)]),
            [None, Some(30.0), Some(2.0)]
        );
        assert!(processes.values.has_changed());
        // An instance that was absent from a sample is not paired across it.
        assert_eq!(processes.push(&[("a", 1, 13)]), [Some(0.0)]);
        assert_eq!(processes.push(&[("a", 1, 16), ("c", 3, 9)]), [Some(3.0), None]);
    }

    #[test]
    fn groups_that_move_keep_their_values() {
        let (mut first, mut second) = (Processes::new(), Processes::new());
        let mut values = LiveValues::default();
        let mut push = |groups: Vec<Group>| {
            values.push(&Sample { groups, ..Sample::default() });
            values.groups().iter().map(|group| group.values().to_vec()).collect::<Vec<_>>()
        };
        push(vec![first.group(&[("a", 1, 10)]), second.group(&[("b", 2, 100)])]);
        let values_now = push(vec![second.group(&[("b", 2, 107)])]);
        assert_eq!(values_now, [[Some(7.0)]]);
        let values_now = push(vec![first.group(&[("a", 1, 20)]), second.group(&[("b", 2, 110)])]);
        // A group that was missing starts again.
        assert_eq!(values_now, [[None], [Some(3.0)]]);
    }

    #[test]
    fn a_missing_last_group_is_a_change() {
        let (mut first, mut second) = (Processes::new(), Processes::new());
        let mut values = LiveValues::default();
        let mut has_changed = |groups: Vec<Group>| {
            values.push(&Sample { groups, ..Sample::default() });
            values.has_changed()
        };
        let group = |processes: &mut Processes| processes.group(&[]);
        let (one, other) = (group(&mut first), group(&mut second));
        assert!(has_changed(vec![one.clone(), other.clone()]));
        has_changed(vec![one.clone(), other]);
        assert!(has_changed(vec![one.clone()]));
        assert!(!has_changed(vec![one]));
    }

    #[test]
    fn two_processes_with_the_same_name_are_not_paired() {
        let mut processes = Processes::new();
        processes.push(&[("a", 1, 10)]);
        assert_eq!(processes.push(&[("a", 2, 1000)]), [None]);
        assert_eq!(processes.push(&[("a", 2, 1001)]), [Some(1.0)]);
        // An unknown identity does not prevent pairing.
        assert_eq!(processes.push(&[("a", 0, 1003)]), [Some(2.0)]);
    }

    #[test]
    fn a_counter_that_moves_to_another_group_keeps_its_pair() {
        let mut processes = Processes::new();
        processes.push(&[("a", 1, 10), ("b", 2, 20)]);
        let mut set = CounterSet::clone(&processes.set);
        set.counters.insert(0, Counter::new("Others/sec", CounterType::BULK_COUNT, 1));
        let narrow = processes.group(&[("b", 2, 25), ("a", 1, 13)]);
        let mut wide = Group { set: Arc::new(set), ..narrow.clone() };
        wide.values = narrow.values.iter().flat_map(|raw| [*raw, *raw]).collect();
        processes.values.push(&Sample { groups: vec![wide], ..Sample::default() });
        assert_eq!(processes.values.groups()[0].values(), [None, Some(5.0), None, Some(3.0)]);
    }
}
