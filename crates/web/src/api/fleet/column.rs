//! A column of the table of machines: the value of one counter on each machine.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tachograph_counters::Statistics;
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Counter;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, NameSums, Sink as _, Source as _};

use super::super::charts::machine_sums;
use crate::hub::RingSource;
use crate::response::ApiError;
use crate::workers::{Cancel, Cancellable};

/// Maximum number of values from which a table is computed.
const MAX_VALUES: usize = 5_000_000;
/// Maximum number of instances of a column, over all machines.
const MAX_INSTANCES: usize = 200_000;

/// Counts the values from which a table is computed.
#[derive(Default)]
pub(super) struct Values(usize);

impl Values {
    /// Adds the values of a sample of one column.
    fn add(&mut self, sample: &Sample) -> Result<(), ApiError> {
        if sample.len() > MAX_INSTANCES {
            return Err(ApiError::too_large(format!(
                "a column has more than {MAX_INSTANCES} instances: select fewer"
            )));
        }
        self.0 += sample.len();
        match self.0 > MAX_VALUES {
            true => Err(ApiError::too_large("too many values: select fewer counters, or a shorter window")),
            false => Ok(()),
        }
    }
}

/// The statistics of a counter on each machine. If the instance of the path has wildcards, the counter is summed over the
/// instances of a machine in each sample ([`NameSums::of_all_instances`]).
pub(super) struct MachineColumn {
    by_machine: HashMap<Arc<str>, Statistics>,
    /// The counter, and its statistics over all machines.
    all: Option<(Counter, Statistics)>,
    /// If the path selects several counters: the path of the one that the column shows, and the number of the others.
    others: Option<(PathPattern, usize)>,
    /// The machines whose counter of this name has another formula. Their cells have no value.
    differing: BTreeSet<Arc<str>>,
    /// Whether instances are summed, although the counter's values cannot be summed.
    lacks_sum: bool,
}

impl MachineColumn {
    /// Computes the statistics of a column over the intervals between the samples.
    pub(super) fn read(
        samples: &[Arc<Sample>],
        path: &PathPattern,
        values: &mut Values,
        cancel: &Cancel,
    ) -> Result<Self, ApiError> {
        let mut column = Self {
            by_machine: HashMap::new(),
            all: None,
            others: None,
            differing: BTreeSet::new(),
            lacks_sum: false,
        };
        let [first, _, ..] = samples else { return Ok(column) };
        column.others = first_of_several(samples, path);
        let path = &column.shown(path).clone();
        let failed = |error: FlowError| match cancel.is_cancelled() {
            true => Cancel::error(),
            false => ApiError::conflict(error.to_string()),
        };
        let begin = first.at.utc.saturating_add(1);
        let source = RingSource::window(samples, std::slice::from_ref(path), (Some(begin), None));
        let mut source = Cancellable::new(source, cancel);
        let mut sums = machine_sums(path);
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        let mut sink = StatisticsSink::new(options);
        let mut sample = Sample::default();
        while source.next(&mut sample).map_err(failed)? {
            values.add(&sample)?;
            let sample = sums.as_mut().map_or(&sample, |sums| sums.push(&sample));
            sink.push(sample).map_err(failed)?;
        }
        let rows: Vec<_> = (0..sink.len()).map_while(|index| sink.row(index)).collect();
        column.lacks_sum = sums.is_some() && rows.iter().any(|row| !NameSums::can_sum(&row.counter));
        sink.cut(|index, state| {
            if let Some((row, machine)) = rows.get(index).and_then(|row| Some((row, row.machine.as_ref()?))) {
                column.add(machine, &row.counter, state);
            }
        });
        Ok(column)
    }

    fn add(&mut self, machine: &Arc<str>, counter: &Counter, state: Statistics) {
        match &mut self.all {
            Some((_, all)) => {
                if all.merge(&state).is_err() {
                    self.differing.insert(Arc::clone(machine));
                    return;
                }
            }
            all => *all = Some((counter.clone(), state.clone())),
        }
        match self.by_machine.get_mut(machine) {
            // It has the formula of the column, so this cannot fail.
            Some(known) => drop(known.merge(&state)),
            None => drop(self.by_machine.insert(Arc::clone(machine), state)),
        }
    }

    /// The path of the counter that the column of this path shows.
    pub(super) fn shown<'a>(&'a self, path: &'a PathPattern) -> &'a PathPattern {
        self.others.as_ref().map_or(path, |(shown, _)| shown)
    }

    /// The counter, and its statistics over all machines; `None` if no machine has a value.
    pub(super) fn all(&self) -> Option<(&Counter, &Statistics)> {
        self.all.as_ref().map(|(counter, state)| (counter, state))
    }

    /// The statistics of a machine.
    pub(super) fn of_machine(&self, machine: &str) -> Option<&Statistics> {
        self.by_machine.get(machine)
    }

    /// Why the column lacks values that its path selects.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let others = self.others.as_ref().map(|(shown, others)| {
            format!("a column shows one counter: it shows '{shown}', and omits {others} others of this path")
        });
        let sum = self
            .lacks_sum
            .then(|| "this counter has no sum over instances: name one, such as '_Total'".to_owned());
        let differing = self.differing.iter();
        let differing = differing.map(|machine| format!("the counter of '{machine}' has another type"));
        others.into_iter().chain(sum).chain(differing)
    }
}

/// If a path selects several counters: the path of the first one by name, and the number of the others. The order of the groups
/// is not used, since it depends on other requests.
fn first_of_several(samples: &[Arc<Sample>], path: &PathPattern) -> Option<(PathPattern, usize)> {
    if path.set().is_literal() && path.counter().is_literal() {
        return None;
    }
    let mut names = BTreeSet::new();
    for set in samples.last()?.groups.iter().map(|group| &group.set) {
        if path.matches_machine(&set.machine) && path.matches_set(&set.name, set.has_instances) {
            let counters = set.counters.iter().filter(|counter| path.matches_counter(&counter.name));
            names.extend(counters.map(|counter| (&*set.name, &*counter.name)));
        }
    }
    let (set, counter) = *names.first()?;
    let first = CounterPath { set: set.to_owned(), counter: counter.to_owned(), ..path.path().clone() };
    (names.len() > 1).then(|| (first.into(), names.len() - 1))
}

#[cfg(test)]
mod tests {
    use tachograph_counters::civil::{FileTime, Moment};
    use tachograph_counters::sample::Group;
    use tachograph_counters::set::{CounterSet, Extent, Instance, Instances};
    use tachograph_counters::{CounterType, RawValue};

    use super::*;

    /// Ticks per second of the counters.
    const CLOCK: i64 = 1000;

    /// A group of a machine: instances, and a raw value of each counter of each instance.
    fn group(set: &Arc<CounterSet>, instances: &[&str], values: Vec<RawValue>) -> Group {
        let mut group = Group::new(Arc::clone(set));
        let instance = |name: &&str| Arc::new(Instance::new(None, name, 0));
        group.instances = instances.iter().map(instance).collect::<Instances>();
        group.identities = (0..instances.len() as u64).collect();
        group.values = values;
        group
    }

    fn set(
        machine: &str,
        name: &str,
        has_instances: bool,
        counters: &[(&str, CounterType)],
    ) -> Arc<CounterSet> {
        let mut set = CounterSet::new(machine, name, Extent::Table);
        set.has_instances = has_instances;
        set.counters = counters.iter().map(|(name, kind)| Counter::new(*name, *kind, CLOCK)).collect();
        Arc::new(set)
    }

    fn sample(second: i64, groups: Vec<Group>) -> Arc<Sample> {
        let at = Moment { utc: FileTime(second * FileTime::PER_SECOND), bias_minutes: 0 };
        Arc::new(Sample { at, groups, ..Sample::default() })
    }

    fn read(samples: &[Arc<Sample>], path: &str) -> Result<MachineColumn, ApiError> {
        let path = PathPattern::parse(path).expect("a path");
        MachineColumn::read(samples, &path, &mut Values::default(), &Cancel::new(Arc::default()))
    }

    fn average(column: &MachineColumn, machine: &str) -> Option<f64> {
        column.of_machine(machine)?.summary().average
    }

    /// Two machines with interfaces and a total. All values of instance i of the machine with the factor f are derived from
    /// `f * rates[i]`: the bytes per second, the queue length, and the number of packets of i + 1 bytes per second.
    fn interfaces() -> Vec<Arc<Sample>> {
        let counters = [
            ("Bytes/sec", CounterType::BULK_COUNT),
            ("Queue", CounterType::RAWCOUNT),
            ("Bytes/Packet", CounterType::AVERAGE_BULK),
            ("% Idle", CounterType::TIMER_INV_100NS),
        ];
        let sets: Vec<_> = ["web1", "web2"].map(|name| set(name, "Interface", true, &counters)).into();
        let rates = [100, 30, 0, 130];
        let of_machine = |second: i64, index: usize| {
            let factor = 1 + index as i64;
            let values = rates.iter().enumerate().flat_map(|(instance, rate)| {
                let (bytes, time) = (factor * rate * second, second * CLOCK);
                let size = 1 + instance as i64;
                [
                    RawValue::new(bytes, time),
                    RawValue::new(factor * rate, 0),
                    RawValue::new(bytes * size, bytes),
                    RawValue::new(bytes, time),
                ]
            });
            group(&sets[index], &["eth0", "eth1", "lo", "_Total"], values.collect())
        };
        (0..4).map(|second| sample(second, vec![of_machine(second, 0), of_machine(second, 1)])).collect()
    }

    #[test]
    fn a_cell_is_the_sum_of_the_instances_without_totals() {
        let samples = interfaces();
        let rate = read(&samples, r"\Interface(*)\Bytes/sec").expect("a column");
        assert_eq!((average(&rate, "web1"), average(&rate, "web2")), (Some(130.0), Some(260.0)));
        // The mean of the machines.
        assert_eq!(rate.all().and_then(|(_, all)| all.summary().average), Some(195.0));
        let gauge = read(&samples, r"\Interface(*)\Queue").expect("a column");
        assert_eq!(average(&gauge, "web1"), Some(130.0));
        let some = read(&samples, r"\Interface(e*)\Bytes/sec").expect("a column");
        assert_eq!(average(&some, "web1"), Some(130.0));
        let total = read(&samples, r"\Interface(_Tot*)\Bytes/sec").expect("a column");
        assert_eq!(average(&total, "web1"), Some(130.0));
        assert_eq!(rate.notes().count() + total.notes().count(), 0);
    }

    #[test]
    fn averages_per_operation_are_those_of_all_operations() {
        let column = read(&interfaces(), r"\Interface(*)\Bytes/Packet").expect("a column");
        // 100 packets of 1 byte, 30 of 2 bytes, each second.
        assert_eq!(average(&column, "web1"), Some(160.0 / 130.0));
        assert_eq!(column.all().and_then(|(_, all)| all.summary().average), Some(160.0 / 130.0));
    }

    #[test]
    fn a_counter_without_a_sum_has_no_value_but_a_reason() {
        let column = read(&interfaces(), r"\Interface(*)\% Idle").expect("a column");
        assert_eq!(average(&column, "web1"), None);
        let notes: Vec<_> = column.notes().collect();
        assert_eq!(notes, ["this counter has no sum over instances: name one, such as '_Total'"]);
        let one = read(&interfaces(), r"\Interface(eth1)\% Idle").expect("a column");
        assert!(average(&one, "web1").is_some());
        assert_eq!(one.notes().count(), 0);
    }

    #[test]
    fn a_path_that_selects_several_counters_shows_the_first() {
        let counters =
            [("Available Bytes", CounterType::RAWCOUNT), ("Committed Bytes", CounterType::RAWCOUNT)];
        let sets: Vec<_> = ["web1", "web2"].map(|name| set(name, "Memory", false, &counters)).into();
        let of_machine = |set| group(set, &[""], vec![RawValue::new(10, 0), RawValue::new(1000, 0)]);
        let samples: Vec<_> =
            (0..3).map(|second| sample(second, sets.iter().map(of_machine).collect())).collect();
        for path in [r"\Memory\*", r"\Mem*\*e*"] {
            let column = read(&samples, path).expect("a column");
            assert_eq!(average(&column, "web2"), Some(10.0), "{path}");
            let (counter, all) = column.all().expect("values");
            assert_eq!((&*counter.name, all.summary().average), ("Available Bytes", Some(10.0)));
            let notes: Vec<_> = column.notes().collect();
            let expected = r"a column shows one counter: it shows '\Memory\Available Bytes', and omits 1 others of this path";
            assert_eq!(notes[0].replace("Mem*", "Memory"), expected);
        }
        let one = read(&samples, r"\Memory\Comm*").expect("a column");
        assert_eq!((average(&one, "web1"), one.notes().count()), (Some(1000.0), 0));
    }

    #[test]
    fn counters_of_another_type_are_reported() {
        let of = |name, kind| set(name, "Memory", false, &[("Bytes", kind)]);
        let sets = [of("web1", CounterType::RAWCOUNT), of("web2", CounterType::BULK_COUNT)];
        let of_machine = |second: i64| {
            sets.iter().map(|set| group(set, &[""], vec![RawValue::new(second, second * CLOCK)])).collect()
        };
        let samples: Vec<_> = (0..3).map(|second| sample(second, of_machine(second))).collect();
        let column = read(&samples, r"\Memory\Bytes").expect("a column");
        assert_eq!((average(&column, "web1"), average(&column, "web2")), (Some(1.5), None));
        assert_eq!(column.notes().collect::<Vec<_>>(), ["the counter of 'web2' has another type"]);
    }

    #[test]
    fn the_instances_of_a_column_are_limited() {
        let set = set("web1", "Process", true, &[("Handles", CounterType::RAWCOUNT)]);
        let samples = |count: usize| -> Vec<_> {
            let mut group = group(&set, &[], vec![RawValue::new(1, 0); count]);
            let name = |id| Arc::new(Instance::new(None, &format!("p{id}"), 0));
            group.instances = (0..count).map(name).collect();
            group.identities = vec![0; count];
            (0..2).map(|second| sample(second, vec![group.clone()])).collect()
        };
        let error = read(&samples(MAX_INSTANCES + 1), r"\Process(*)\Handles").err().expect("too many");
        assert_eq!(error.message, "a column has more than 200000 instances: select fewer");
        let column = read(&samples(MAX_INSTANCES), r"\Process(*)\Handles").expect("a column");
        assert_eq!(average(&column, "web1"), Some(MAX_INSTANCES as f64));
    }
}
