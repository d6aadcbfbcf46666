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

/// Like [`JsonSink`](super::JsonSink), but for a live source and without a scan: each line has the instances of its
/// sample. Every line is flushed. Schema: docs/json.md.
pub struct LiveJsonSink<W> {
    out: W,
    values: LiveValues,
    keys: Vec<Keys>,
    line: Line,
}

/// The keys of a group's values, in parts: `"\\\\M\\Set(`, an instance, `)\\Counter":`.
struct Keys {
    set: Arc<CounterSet>,
    start: String,
    /// For each row, its instance as JSON text.
    instances: Vec<String>,
    /// For each counter, the part of the key after the instance.
    ends: Vec<String>,
    /// For each counter, the indexes of earlier groups that can have the same keys. Each key is written only once.
    rivals: Vec<Vec<usize>>,
    /// For each row and counter, whether an earlier group has the same key. Empty if there are no rivals.
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
        let is_known = self.keys.len() == groups.len()
            && self.keys.iter().zip(groups).all(|(keys, group)| Arc::ptr_eq(&keys.set, group.set()));
        if !is_known {
            self.keys = (0..groups.len()).map(|index| Keys::new(groups, index)).collect();
        }
        for (keys, group) in
            self.keys.iter_mut().zip(groups).filter(|(_, group)| !is_known || group.has_changed())
        {
            keys.update_instances(group);
        }
        for (keys, group) in self.keys.iter_mut().zip(groups) {
            let mut rivals = keys.rivals.iter().flatten();
            if group.has_changed() || rivals.any(|&rival| groups[rival].has_changed()) {
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
        let rivals_of = |counter: &Counter| {
            (0..index).filter(|&rival| can_share_keys(groups[rival].set(), set, counter)).collect()
        };
        Self {
            start: format!("\"{}", escaped(&format!(r"{machine}\{}{open}", set.name))),
            instances: Vec::new(),
            ends: ends.collect(),
            rivals: set.counters.iter().map(rivals_of).collect(),
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
        if self.rivals.iter().all(Vec::is_empty) {
            return;
        }
        self.is_repeated.resize(self.instances.len() * self.ends.len(), false);
        for (column, rivals) in self.rivals.iter().enumerate() {
            let known = rivals.iter().flat_map(|&rival| groups[rival].instances().iter());
            let known: HashSet<&str> = known.map(|instance| instance.label()).collect();
            for (row, instance) in group.instances().iter().enumerate() {
                self.is_repeated[row * self.ends.len() + column] = known.contains(instance.label());
            }
        }
    }
}

/// Whether `rival` can have values of `counter` for the same instances as `set`.
fn can_share_keys(rival: &CounterSet, set: &CounterSet, counter: &Counter) -> bool {
    let is_other_instance = match (&rival.instance, &set.instance) {
        (Some(rival), Some(instance)) => rival.label() != instance.label(),
        _ => false,
    };
    !is_other_instance
        && eq_ignore_case(&rival.machine, &set.machine)
        && eq_ignore_case(&rival.name, &set.name)
        && rival.counters.iter().any(|other| eq_ignore_case(&other.name, &counter.name))
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
