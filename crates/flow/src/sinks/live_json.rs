//! Writing the samples of a live source as JSON, one line per sample.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{Counter, CounterSet, Instance};
use tachograph_counters::wildcard::eq_ignore_case;

use super::json::Line;
use super::live_values::{LiveGroupValues, LiveValues};
use crate::{FlowError, Sink};

/// Like [`JsonSink`](super::JsonSink), but for a live source. Instances can appear and disappear, so each line has keys
/// for just the instances in its sample. Every line is flushed. Schema: docs/json.md.
pub struct LiveJsonSink<W> {
    out: W,
    values: LiveValues,
    keys: Vec<Keys>,
    line: Line,
}

/// The JSON keys of a group's values. A key consists of `start`, an element of `instances` and an element of `ends`:
/// `"\\\\M\\Set(`, `svchost` and `)\\Counter":`.
struct Keys {
    set: Arc<CounterSet>,
    start: String,
    /// For each row, its instance as JSON text.
    instances: Vec<String>,
    /// For each counter, the part of the key after the instance.
    ends: Vec<String>,
    /// For each counter, the indexes of earlier groups that can contain the same counter of the same instances, and so
    /// have the same keys. Each key is written only once.
    overlapping: Vec<Vec<usize>>,
    /// For each row and counter, whether an earlier group has the same key. Empty if no groups overlap.
    is_repeated: Vec<bool>,
}

impl<W: Write> LiveJsonSink<W> {
    /// A sink over `out`.
    pub fn new(out: W) -> Self {
        Self { out, values: LiveValues::default(), keys: Vec::new(), line: Line::default() }
    }

    /// Updates the keys of groups whose instances have changed.
    fn update_keys(&mut self) {
        let groups = self.values.groups();
        let has_same_groups = self.keys.len() == groups.len()
            && self.keys.iter().zip(groups).all(|(keys, group)| Arc::ptr_eq(&keys.set, group.set()));
        if !has_same_groups {
            self.keys = (0..groups.len()).map(|index| Keys::new(groups, index)).collect();
        }
        for (keys, group) in
            self.keys.iter_mut().zip(groups).filter(|(_, group)| !has_same_groups || group.has_changed())
        {
            keys.update_instances(group);
        }
        for (keys, group) in self.keys.iter_mut().zip(groups) {
            let mut overlapping = keys.overlapping.iter().flatten();
            if group.has_changed() || overlapping.any(|&earlier| groups[earlier].has_changed()) {
                keys.update_repeated(group, groups);
            }
        }
    }
}

impl Keys {
    fn new(groups: &[LiveGroupValues], index: usize) -> Self {
        let set = groups[index].set();
        let machine = if set.machine.is_empty() { String::new() } else { format!(r"\\{}", set.machine) };
        let open = if set.has_instances { "(" } else { "" };
        let close = if set.has_instances { ")" } else { "" };
        let ends = set.counters.iter().map(|counter| escaped(&format!(r"{close}\{}", counter.name)) + "\":");
        let overlapping_for = |counter: &Counter| {
            (0..index).filter(|&earlier| can_share_keys(groups[earlier].set(), set, counter)).collect()
        };
        Self {
            start: format!("\"{}", escaped(&format!(r"{machine}\{}{open}", set.name))),
            instances: Vec::new(),
            ends: ends.collect(),
            overlapping: set.counters.iter().map(overlapping_for).collect(),
            is_repeated: Vec::new(),
            set: Arc::clone(set),
        }
    }

    fn update_instances(&mut self, group: &LiveGroupValues) {
        let has_names = self.set.has_instances;
        let name =
            |instance: &Arc<Instance>| if has_names { escaped(instance.label()) } else { String::new() };
        self.instances.clear();
        self.instances.extend(group.instances().iter().map(name));
    }

    fn update_repeated(&mut self, group: &LiveGroupValues, groups: &[LiveGroupValues]) {
        self.is_repeated.clear();
        if self.overlapping.iter().all(Vec::is_empty) {
            return;
        }
        self.is_repeated.resize(self.instances.len() * self.ends.len(), false);
        for (column, overlapping) in self.overlapping.iter().enumerate() {
            let known = overlapping.iter().flat_map(|&earlier| groups[earlier].instances().iter());
            let known: HashSet<&str> = known.map(|instance| instance.label()).collect();
            for (row, instance) in group.instances().iter().enumerate() {
                self.is_repeated[row * self.ends.len() + column] = known.contains(instance.label());
            }
        }
    }
}

/// Whether the groups of two sets can both have values of `counter` for the same instance, and so equal keys.
fn can_share_keys(earlier: &CounterSet, set: &CounterSet, counter: &Counter) -> bool {
    let are_different_instances = match (&earlier.instance, &set.instance) {
        (Some(one), Some(other)) => one.label() != other.label(),
        _ => false,
    };
    !are_different_instances
        && eq_ignore_case(&earlier.machine, &set.machine)
        && eq_ignore_case(&earlier.name, &set.name)
        && earlier.counters.iter().any(|other| eq_ignore_case(&other.name, &counter.name))
}

/// Escapes text for use between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

impl<W: Write> Sink for LiveJsonSink<W> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.values.push(sample);
        self.update_keys();
        if sample.is_baseline {
            return Ok(());
        }
        self.line.begin(sample.at);
        for (keys, group) in self.keys.iter().zip(self.values.groups()) {
            for (row, column) in group.cells() {
                if keys.is_repeated.get(row * keys.ends.len() + column) != Some(&true) {
                    let key = [&*keys.start, &keys.instances[row], &keys.ends[column]];
                    self.line.value(key, group.value((row, column)));
                }
            }
        }
        self.line.end(&mut self.out).map_err(FlowError::Output)?;
        self.out.flush().map_err(FlowError::Output)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.out.flush().map_err(FlowError::Output)
    }
}
