//! Formatted values of instances that come and go.

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instances, rows_before};
use tachograph_counters::{Calculator, FormatOptions, Origin, Pairer};

/// The formatted values of a live source, sample after sample: of the instances that are there now, whatever was there
/// before. What is gone is forgotten.
///
/// An instance is paired with itself in the sample before: by its name and by what is behind the name. One that is new,
/// or was absent from the sample before, has no value yet where the type needs two samples.
#[derive(Default)]
pub struct LiveValues {
    groups: Vec<LiveGroupValues>,
    /// Whether a group of the sample before was not in the last one.
    is_any_gone: bool,
}

/// The formatted values of one group.
pub struct LiveGroupValues {
    set: Arc<CounterSet>,
    calculators: Vec<Calculator>,
    instances: Instances,
    /// As many for each row as there are counters.
    pairers: Vec<Pairer>,
    values: Vec<Option<f64>>,
    has_changed: bool,
}

impl LiveValues {
    /// Takes a sample.
    pub fn take(&mut self, sample: &Sample) {
        for (number, group) in sample.groups.iter().enumerate() {
            // A source of other paths than before has what stays at other places.
            let mut rest = self.groups.iter().skip(number);
            match rest.position(|known| Arc::ptr_eq(&known.set, &group.set)) {
                Some(0) => self.groups[number].has_changed = false,
                Some(further) => {
                    self.groups.swap(number, number + further);
                    self.groups[number].has_changed = true;
                }
                None => self.groups.insert(number, LiveGroupValues::new(group)),
            }
            self.groups[number].take(group);
        }
        self.is_any_gone = self.groups.len() > sample.groups.len();
        self.groups.truncate(sample.groups.len());
    }

    /// The groups, in the order of the sample's.
    pub fn groups(&self) -> &[LiveGroupValues] {
        &self.groups
    }

    /// Whether the last sample had other instances than the one before.
    pub fn has_changed(&self) -> bool {
        self.is_any_gone || self.groups.iter().any(|group| group.has_changed)
    }
}

impl LiveGroupValues {
    fn new(group: &Group) -> Self {
        Self {
            set: Arc::clone(&group.set),
            calculators: group.set.counters.iter().map(Counter::calculator).collect(),
            instances: Instances::default(),
            pairers: Vec::new(),
            values: Vec::new(),
            has_changed: true,
        }
    }

    /// The description.
    pub fn set(&self) -> &Arc<CounterSet> {
        &self.set
    }

    /// The instances that there are now.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// The values, row after row, as many in each as there are counters; `None` where there is no value.
    pub fn values(&self) -> &[Option<f64>] {
        &self.values
    }

    /// Whether the last sample had other instances than the one before.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }

    fn take(&mut self, group: &Group) {
        if !Arc::ptr_eq(&self.instances, &group.instances) {
            self.take_instances(group);
        }
        let width = self.calculators.len();
        let options = FormatOptions::default();
        self.values.clear();
        for (row, values) in group.rows().take(self.instances.len()).enumerate() {
            let pairers = &mut self.pairers[row * width..(row + 1) * width];
            let identity = group.identities.get(row).copied().unwrap_or_default();
            for ((raw, calculator), pairer) in values.iter().zip(&self.calculators).zip(pairers) {
                // One run of the machine: nothing is restarted.
                pairer.follow(Origin::new(calculator, identity, FileTime(0)));
                self.values.push(calculator.format(pairer.pair(raw).as_ref(), raw, &options).ok());
            }
        }
        // A source that gives fewer values than its instances promise leaves blanks.
        self.values.resize(self.instances.len() * width, None);
    }

    /// Puts what is kept of each instance into the order of the group's rows.
    fn take_instances(&mut self, group: &Group) {
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

    /// A machine with one counter of processes, a rate whose clock counts seconds.
    struct Processes {
        set: Arc<CounterSet>,
        table: InstanceTable,
        values: LiveValues,
        second: i64,
    }

    impl Processes {
        fn new() -> Self {
            let mut set = CounterSet::new("M", "Process", Extent::Column);
            set.counters = vec![Counter::new("Things/sec", CounterType::BULK_COUNT, 1)];
            Self {
                set: Arc::new(set),
                table: InstanceTable::default(),
                values: LiveValues::default(),
                second: 0,
            }
        }

        /// Takes a sample a second after the one before, with name, identity and value of each process; gives what is
        /// shown.
        fn take(&mut self, processes: &[(&str, u64, i64)]) -> Vec<Option<f64>> {
            let group = self.group(processes);
            self.values.take(&Sample { groups: vec![group], ..Sample::default() });
            self.values.groups()[0].values().to_vec()
        }

        /// The group of a second later.
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
    fn instances_are_paired_with_themselves_wherever_they_stand() {
        let mut processes = Processes::new();
        assert_eq!(processes.take(&[("a", 1, 10), ("b", 2, 100)]), [None, None]);
        assert_eq!(processes.take(&[("a", 1, 11), ("b", 2, 120)]), [Some(1.0), Some(20.0)]);
        assert_eq!(
            processes.take(&[("c", 3, 7), ("b", 2, 150), ("a", 1, 13)]),
            [None, Some(30.0), Some(2.0)]
        );
        assert!(processes.values.has_changed());
        // Absent from a sample: no pair across it.
        assert_eq!(processes.take(&[("a", 1, 13)]), [Some(0.0)]);
        assert_eq!(processes.take(&[("a", 1, 16), ("c", 3, 9)]), [Some(3.0), None]);
    }

    #[test]
    fn groups_that_move_keep_their_values() {
        let (mut first, mut second) = (Processes::new(), Processes::new());
        let mut values = LiveValues::default();
        let mut take = |groups: Vec<Group>| {
            values.take(&Sample { groups, ..Sample::default() });
            values.groups().iter().map(|group| group.values().to_vec()).collect::<Vec<_>>()
        };
        take(vec![first.group(&[("a", 1, 10)]), second.group(&[("b", 2, 100)])]);
        let values_now = take(vec![second.group(&[("b", 2, 107)])]);
        assert_eq!(values_now, [[Some(7.0)]]);
        let values_now = take(vec![first.group(&[("a", 1, 20)]), second.group(&[("b", 2, 110)])]);
        // What was left out begins anew.
        assert_eq!(values_now, [[None], [Some(3.0)]]);
    }

    #[test]
    fn a_last_group_that_goes_is_a_change() {
        let (mut first, mut second) = (Processes::new(), Processes::new());
        let mut values = LiveValues::default();
        let mut has_changed = |groups: Vec<Group>| {
            values.take(&Sample { groups, ..Sample::default() });
            values.has_changed()
        };
        // What is empty stays one and the same.
        let group = |of: &mut Processes| of.group(&[]);
        let (one, other) = (group(&mut first), group(&mut second));
        assert!(has_changed(vec![one.clone(), other.clone()]));
        has_changed(vec![one.clone(), other]);
        assert!(has_changed(vec![one.clone()]));
        assert!(!has_changed(vec![one]));
    }

    #[test]
    fn a_name_that_passed_to_another_process_makes_no_value() {
        let mut processes = Processes::new();
        processes.take(&[("a", 1, 10)]);
        assert_eq!(processes.take(&[("a", 2, 1000)]), [None]);
        assert_eq!(processes.take(&[("a", 2, 1001)]), [Some(1.0)]);
        // Unknown is not another one.
        assert_eq!(processes.take(&[("a", 0, 1003)]), [Some(2.0)]);
    }
}
