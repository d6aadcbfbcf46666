//! Writing JSON as samples come, one line per sample.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Instance};
use tachograph_counters::wildcard::eq_ignore_case;

use super::json::Line;
use super::live_values::{LiveGroupValues, LiveValues};
use crate::{FlowError, Sink};

/// As [`JsonSink`](super::JsonSink), over a live source and without a scan: each line has the instances that there are at
/// its moment. Every line is flushed as it comes. Schema: docs/json.md.
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
    /// For each row, its instance as JSON writes it.
    instances: Vec<String>,
    /// For each counter, what follows the instance.
    ends: Vec<String>,
    /// Earlier groups that can have the same keys; a key stands once.
    rivals: Vec<usize>,
    /// For each row, whether an earlier group has its keys. Empty where that cannot be.
    is_repeated: Vec<bool>,
}

impl<W: Write> LiveJsonSink<W> {
    /// A sink over `out`.
    pub fn new(out: W) -> Self {
        Self { out, values: LiveValues::default(), keys: Vec::new(), line: Line::default() }
    }

    /// Makes the keys of groups that have other instances than before.
    fn take_keys(&mut self) {
        let groups = self.values.groups();
        let is_known = self.keys.len() == groups.len()
            && self.keys.iter().zip(groups).all(|(keys, group)| Arc::ptr_eq(&keys.set, group.set()));
        if !is_known {
            self.keys = (0..groups.len()).map(|number| Keys::new(groups, number)).collect();
        }
        for (keys, group) in
            self.keys.iter_mut().zip(groups).filter(|(_, group)| !is_known || group.has_changed())
        {
            keys.take_instances(group);
        }
        for (keys, group) in self.keys.iter_mut().zip(groups) {
            if keys.rivals.iter().any(|&rival| groups[rival].has_changed()) || group.has_changed() {
                keys.take_rivals(group, groups);
            }
        }
    }
}

impl Keys {
    fn new(groups: &[LiveGroupValues], number: usize) -> Self {
        let set = groups[number].set();
        let machine = if set.machine.is_empty() { String::new() } else { format!(r"\\{}", set.machine) };
        let open = if set.has_instances { "(" } else { "" };
        let close = if set.has_instances { ")" } else { "" };
        let ends = set.counters.iter().map(|counter| escaped(&format!(r"{close}\{}", counter.name)) + "\":");
        let rivals = (0..number).filter(|&rival| can_share_keys(groups[rival].set(), set)).collect();
        Self {
            start: format!("\"{}", escaped(&format!(r"{machine}\{}{open}", set.name))),
            instances: Vec::new(),
            ends: ends.collect(),
            rivals,
            is_repeated: Vec::new(),
            set: Arc::clone(set),
        }
    }

    fn take_instances(&mut self, group: &LiveGroupValues) {
        let has_names = self.set.has_instances;
        let name =
            |instance: &Arc<Instance>| if has_names { escaped(instance.label()) } else { String::new() };
        self.instances.clear();
        self.instances.extend(group.instances().iter().map(name));
    }

    fn take_rivals(&mut self, group: &LiveGroupValues, groups: &[LiveGroupValues]) {
        self.is_repeated.clear();
        if self.rivals.is_empty() {
            return;
        }
        let rivals = self.rivals.iter().flat_map(|&rival| groups[rival].instances().iter());
        let taken: HashSet<&str> = rivals.map(|instance| instance.label()).collect();
        self.is_repeated.extend(group.instances().iter().map(|instance| taken.contains(instance.label())));
    }
}

/// Whether two groups hold the same counters, so that one instance in both would be the same key twice.
fn can_share_keys(a: &CounterSet, b: &CounterSet) -> bool {
    let are_apart = match (&a.instance, &b.instance) {
        (Some(a), Some(b)) => a.label() != b.label(),
        _ => false,
    };
    let has_both = |name: &str| b.counters.iter().any(|counter| eq_ignore_case(&counter.name, name));
    !are_apart
        && eq_ignore_case(&a.machine, &b.machine)
        && eq_ignore_case(&a.name, &b.name)
        && a.counters.iter().any(|counter| has_both(&counter.name))
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

impl<W: Write> Sink for LiveJsonSink<W> {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.values.take(sample);
        self.take_keys();
        if sample.is_baseline {
            return Ok(());
        }
        self.line.begin(sample.at);
        for (keys, group) in self.keys.iter().zip(self.values.groups()) {
            let rows = group.values().chunks_exact(keys.ends.len().max(1));
            for (row, (instance, values)) in keys.instances.iter().zip(rows).enumerate() {
                if keys.is_repeated.get(row) == Some(&true) {
                    continue;
                }
                for (end, &value) in keys.ends.iter().zip(values) {
                    self.line.value([&keys.start, instance, end], value);
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
