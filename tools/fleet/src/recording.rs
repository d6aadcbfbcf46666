//! The samples of a log, by counter set.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tachograph_counters::RawValue;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_perflib::InstanceKey;
use tachograph_perflib::registration::CounterSetInfo;

/// A recording: the counter sets that this program knows, and the recorded rows of some of them.
pub(crate) struct Recording {
    sets: Vec<Arc<CounterSetInfo>>,
    /// Parallel to `sets`.
    recorded: Vec<RecordedSet>,
    samples: usize,
}

/// The rows of a set.
#[derive(Default)]
pub(crate) struct RecordedSet {
    /// The instances, which are those of the first sample.
    pub(crate) instances: Vec<Arc<InstanceKey>>,
    /// The recorded counters.
    pub(crate) counters: Vec<RecordedCounter>,
    /// For each sample, the values of all counters of the first instance, then of the others.
    pub(crate) values: Vec<RawValue>,
}

/// A recorded counter.
pub(crate) struct RecordedCounter {
    pub(crate) id: u32,
    /// Whether the first number of its raw values only grows.
    pub(crate) is_total: bool,
    /// Whether the second number of its raw values is the value of its base.
    pub(crate) has_base: bool,
}

impl Recording {
    pub(crate) fn read(log: &Path) -> Result<Arc<Self>, Box<dyn Error>> {
        let sets: Vec<_> = tachograph_system::known_sets().collect();
        let mut recording =
            Self { recorded: sets.iter().map(|_| RecordedSet::default()).collect(), sets, samples: 0 };
        let mut reader = tachograph_logs::open(log)?;
        let mut sample = Sample::default();
        while reader.next(&mut sample)? {
            recording.push(&sample);
        }
        match recording.samples {
            0 | 1 => Err(format!("{}: at least two samples are needed", log.display()).into()),
            _ => Ok(Arc::new(recording)),
        }
    }

    /// Adds a sample. A log has a group for each counter; the instances of a set are those of its first group.
    fn push(&mut self, sample: &Sample) {
        for (info, recorded) in self.sets.iter().zip(&mut self.recorded) {
            let groups: Vec<&Group> =
                sample.groups.iter().filter(|group| eq_ignore_case(&group.set.name, &info.name)).collect();
            let Some(first) = groups.first() else { continue };
            if self.samples == 0 {
                recorded.begin(info, &groups, first);
            }
            recorded.push(info, &groups);
        }
        self.samples += 1;
    }

    pub(crate) fn sets(&self) -> &[Arc<CounterSetInfo>] {
        &self.sets
    }

    pub(crate) fn recorded(&self, set: usize) -> &RecordedSet {
        &self.recorded[set]
    }

    pub(crate) fn samples(&self) -> usize {
        self.samples
    }
}

impl RecordedSet {
    fn begin(&mut self, info: &CounterSetInfo, groups: &[&Group], first: &Group) {
        let keys = (0..).zip(first.instances.iter());
        self.instances =
            keys.map(|(id, instance)| Arc::new(InstanceKey::new(instance.label(), id, 0))).collect();
        let names = groups.iter().flat_map(|group| &group.set.counters).map(|counter| &counter.name);
        for name in names {
            if let Some(counter) = info.counters.iter().find(|known| *known.name == **name) {
                let (id, kind) = (counter.id, counter.counter_type);
                self.counters.push(RecordedCounter {
                    id,
                    is_total: kind.is_delta(),
                    has_base: kind.base().is_some(),
                });
            }
        }
    }

    /// Adds the values of a sample. Where the sample has no value, the value of the previous sample is repeated.
    fn push(&mut self, info: &CounterSetInfo, groups: &[&Group]) {
        let width = self.instances.len() * self.counters.len();
        let before = self.values.len().checked_sub(width).map(|start| self.values[start..].to_vec());
        for (row, key) in self.instances.iter().enumerate() {
            for (column, counter) in self.counters.iter().enumerate() {
                let name = info.position(counter.id).map(|position| &info.counters[position].name);
                let value = name.and_then(|name| value_of(groups, name, key.full_name()));
                let last = before.as_ref().map(|before| before[row * self.counters.len() + column]);
                self.values.push(value.or(last).unwrap_or_default());
            }
        }
    }

    /// The value of a counter of an instance in a sample.
    pub(crate) fn value(&self, sample: usize, row: usize, column: usize) -> RawValue {
        let width = self.counters.len();
        self.values[(sample * self.instances.len() + row) * width + column]
    }
}

fn value_of(groups: &[&Group], counter: &str, instance: &str) -> Option<RawValue> {
    groups.iter().find_map(|group| {
        let column = group.set.counters.iter().position(|known| *known.name == *counter)?;
        let row = group.instances.iter().position(|known| known.label() == instance)?;
        group.values.get(row * group.set.counters.len() + column).copied()
    })
}
