//! Samples, and a source and a sink for them.

use std::collections::VecDeque;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable};
use tachograph_counters::{CounterType, RawValue};
use tachograph_flow::{FlowError, Sink, Source};

pub(crate) const SECOND: i64 = FileTime::PER_SECOND;

/// Yields the given samples.
pub(crate) struct Samples(VecDeque<Sample>);

impl Samples {
    pub(crate) fn new(samples: impl IntoIterator<Item = Sample>) -> Self {
        Self(samples.into_iter().collect())
    }
}

impl Source for Samples {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        match self.0.pop_front() {
            Some(next) => {
                *sample = next;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// A sink that keeps its samples.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Vec<Sample>);

impl Sink for Kept {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.0.push(sample.clone());
        Ok(())
    }
}

/// All samples of a source.
pub(crate) fn all(mut source: impl Source) -> Vec<Sample> {
    let mut kept = Kept::default();
    tachograph_flow::run(&mut source, &mut kept, || {}).expect("the source has no error");
    kept.0
}

/// A counter set and its instances.
pub(crate) struct Table {
    set: Arc<CounterSet>,
    instances: InstanceTable,
}

impl Table {
    pub(crate) fn new(machine: &str, name: &str, counters: &[&str]) -> Self {
        Self::typed(machine, name, counters, CounterType::RAWCOUNT, 0)
    }

    pub(crate) fn typed(
        machine: &str,
        name: &str,
        counters: &[&str],
        kind: CounterType,
        time_base: i64,
    ) -> Self {
        let mut set = CounterSet::new(machine, name, Extent::Table);
        set.counters = counters.iter().map(|counter| Counter::new(*counter, kind, time_base)).collect();
        Self { set: Arc::new(set), instances: InstanceTable::default() }
    }

    pub(crate) fn group(&mut self, rows: &[(&str, &[(i64, i64)])]) -> Group {
        let mut group = Group::new(Arc::clone(&self.set));
        group.instances = rows.iter().map(|(label, _)| self.instances.intern(None, label, 0)).collect();
        group.values = rows
            .iter()
            .flat_map(|(_, values)| values.iter().map(|&(first, second)| RawValue::new(first, second)))
            .collect();
        group
    }
}

/// One counter of one fixed instance.
pub(crate) fn single(machine: &str, name: &str, label: &str, counter: Counter, raw: RawValue) -> Group {
    let instance = Arc::new(Instance::new(None, label, 0));
    let mut set = CounterSet::new(machine, name, Extent::Row);
    set.counters.push(counter);
    set.instance = Some(Arc::clone(&instance));
    let mut group = Group::new(Arc::new(set));
    group.instances = Arc::new([instance]);
    group.values.push(raw);
    group
}

pub(crate) fn sample(seconds: i64, groups: Vec<Group>) -> Sample {
    let at = Moment { utc: FileTime(130_000_000_000_000_000 + seconds * SECOND), bias_minutes: 480 };
    Sample { at, groups, ..Sample::default() }
}

/// The values of a sample, as `label.counter=first`.
pub(crate) fn cells(sample: &Sample) -> Vec<String> {
    let mut cells = Vec::new();
    for group in &sample.groups {
        for (instance, values) in group.instances.iter().zip(group.rows()) {
            for (counter, raw) in group.set.counters.iter().zip(values) {
                cells.push(format!("{}.{}={}", instance.label(), counter.name, raw.first));
            }
        }
    }
    cells
}
