//! Counter sets, counters and instances: the descriptions that samples share.

mod rows;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tachograph_schema::{CounterType, Formula, Suffix};

use crate::formula::Calculator;

pub use rows::rows_before;

/// How much of a counter set one [`Group`](crate::sample::Group) of a sample holds; a log keeps it as the kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// One counter of one instance, fixed beforehand: `\Set(instance)\Counter`. A single record.
    Value,
    /// One counter of all instances that there are: `\Set(*)\Counter`. A multi record.
    Column,
    /// All counters of all instances: `\Set(*)\*`. A block record.
    Table,
}

/// Numbers under which Windows' older interface (V1) knows a name, and the language-neutral way to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TitleIndexes {
    /// Index of the name.
    pub name: u32,
    /// Index of the help text.
    pub help: u32,
}

/// One counter of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The name, as the source gives it (in the recording machine's language).
    pub name: Arc<str>,
    /// The English name where the source's differs and is known.
    pub english_name: Option<Arc<str>>,
    /// The type.
    pub counter_type: CounterType,
    /// Units of a raw value's `second` in one second.
    pub time_base: i64,
    /// Exponent of ten for charts; never applied to values.
    pub default_scale: i32,
    /// Whether the source's data is 4 bytes wide (else 8).
    pub data_is_32_bit: bool,
    /// V1 title indexes where the source has them.
    pub indexes: Option<TitleIndexes>,
    /// V1 detail level (100 novice to 400 wizard) where the source has one.
    pub detail_level: u32,
}

impl Counter {
    /// A counter with the given name, type and time base, and nothing else known.
    pub fn new(name: impl Into<Arc<str>>, counter_type: CounterType, time_base: i64) -> Self {
        Self {
            name: name.into(),
            english_name: None,
            counter_type,
            time_base,
            default_scale: 0,
            data_is_32_bit: false,
            indexes: None,
            detail_level: 100,
        }
    }

    /// The way from this counter's raw values to formatted ones.
    pub fn calculator(&self) -> Calculator {
        Calculator::new(self.counter_type, self.time_base).with_32_bit_data(self.data_is_32_bit)
    }

    /// The unit of the formatted value, such as `%`, `seconds`, `bytes/s`; empty for plain counts.
    ///
    /// The type says `%`, seconds or per second; what is counted only the counter's English name tells, so bytes, bits
    /// and their multiples are taken from there.
    pub fn unit(&self) -> Cow<'static, str> {
        let name = self.english_name.as_deref().unwrap_or(&self.name);
        let counted = counted_unit(name);
        match (self.counter_type.suffix(), self.counter_type.formula()) {
            (Suffix::Percent, _) => "%".into(),
            (Suffix::Seconds, _) => "seconds".into(),
            (_, Some(Formula::Rate)) => match counted {
                Some(counted) => format!("{counted}/s").into(),
                None => "1/s".into(),
            },
            (_, Some(_)) if name.starts_with('%') => "%".into(),
            (_, Some(_)) => counted.unwrap_or_default().into(),
            (_, None) => "".into(),
        }
    }
}

/// Counters of memory in bytes whose names do not say so.
const IN_BYTES: [&str; 4] = ["Working Set", "Working Set Peak", "Working Set - Private", "Commit Limit"];

fn counted_unit(name: &str) -> Option<&'static str> {
    if IN_BYTES.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Some("bytes");
    }
    let words = || name.split(|c: char| !c.is_alphabetic());
    let has = |wanted: &[&str]| words().any(|word| wanted.iter().any(|unit| word.eq_ignore_ascii_case(unit)));
    if has(&["kbytes", "kilobytes", "kb"]) {
        Some("KB")
    } else if has(&["mbytes", "megabytes", "mb"]) {
        Some("MB")
    } else if has(&["bytes", "byte"]) {
        Some("bytes")
    } else if has(&["bits", "bandwidth"]) {
        Some("bits")
    } else {
        None
    }
}

/// A counter set of one machine, or the part of it that one record holds.
///
/// Compared by pointer where speed matters: a source gives out the same `Arc` from sample to sample for as long as
/// nothing in the description changed.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSet {
    /// The machine's name without backslashes; empty when the source names none.
    pub machine: Arc<str>,
    /// The set's name, as the source gives it.
    pub name: Arc<str>,
    /// The English name where the source's differs and is known.
    pub english_name: Option<Arc<str>>,
    /// Whether the set has instances.
    pub has_instances: bool,
    /// How much of the set is here.
    pub extent: Extent,
    /// The one instance of [`Extent::Value`], also in samples in which it is absent.
    pub instance: Option<Arc<Instance>>,
    /// The counters here, bases left out (a base's value is the `second` of its counter).
    pub counters: Vec<Counter>,
    /// V1 title indexes where the source has them.
    pub indexes: Option<TitleIndexes>,
    /// V1: number of the default counter, or 0.
    pub default_counter: u32,
}

impl CounterSet {
    /// A set with no counters yet.
    pub fn new(machine: impl Into<Arc<str>>, name: impl Into<Arc<str>>, extent: Extent) -> Self {
        Self {
            machine: machine.into(),
            name: name.into(),
            english_name: None,
            has_instances: true,
            extent,
            instance: None,
            counters: Vec::new(),
            indexes: None,
            default_counter: 0,
        }
    }

    /// The full path of one of the set's counters, for an instance of it: `\\machine\set(instance)\counter`.
    ///
    /// In a set of no name, machine and instances the counter's name is a text of a log that is no path: it is returned
    /// unchanged, so that a log that is written and read again has the same texts.
    pub fn path(&self, instance: &Instance, counter: &Counter) -> String {
        if self.name.is_empty() && self.machine.is_empty() && !self.has_instances {
            return counter.name.to_string();
        }
        let mut path = String::new();
        if !self.machine.is_empty() {
            path.push_str(r"\\");
            path.push_str(&self.machine);
        }
        path.push('\\');
        path.push_str(&self.name);
        if self.has_instances {
            path.push('(');
            path.push_str(instance.label());
            path.push(')');
        }
        path.push('\\');
        path.push_str(&counter.name);
        path
    }
}

/// Names of sets whose instances have a parent, so that a name without further structure is split at its first `/`.
const SETS_WITH_PARENTS: [&str; 5] =
    ["Thread", "Thread Details", "Image", "Full Image", "Job Object Details"];

/// Whether instances of the set of this English name are written `parent/instance`.
pub fn has_parents(set: &str) -> bool {
    SETS_WITH_PARENTS.iter().any(|name| name.eq_ignore_ascii_case(set))
}

/// One instance of a counter set: a name, a parent's name in some sets, and a number where names repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    id: u32,
    index: u32,
    label: Box<str>,
    parent_length: u32,
    name_length: u32,
}

impl Instance {
    /// An instance from its parts.
    pub fn new(parent: Option<&str>, name: &str, index: u32) -> Self {
        let mut label = String::new();
        write_label(&mut label, parent, name, index);
        Self {
            id: 0,
            index,
            label: label.into(),
            parent_length: parent.map_or(0, |parent| parent.len() as u32 + 1),
            name_length: name.len() as u32,
        }
    }

    /// The one row of a set without instances.
    pub fn none() -> Self {
        Self::new(None, "", 0)
    }

    /// Number of the instance within its [`InstanceTable`], counted from 0 in the order of appearance; never reused, so it
    /// grows with every instance that ever appeared. Not an index: [`rows_before`] finds rows.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The name as it stands in a path: `parent/name#index`, the index only from 1 on.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The parent's name, where the set has parents.
    pub fn parent(&self) -> Option<&str> {
        let length = self.parent_length as usize;
        (length > 0).then(|| &self.label[..length - 1])
    }

    /// The name alone.
    pub fn name(&self) -> &str {
        let start = self.parent_length as usize;
        &self.label[start..start + self.name_length as usize]
    }

    /// 0 for the first instance of its name in a sample, 1 for the next, and so on.
    pub fn index(&self) -> u32 {
        self.index
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label)
    }
}

/// Writes `parent/name#index` after what `label` holds.
fn write_label(label: &mut String, parent: Option<&str>, name: &str, index: u32) {
    use fmt::Write as _;
    if let Some(parent) = parent {
        label.push_str(parent);
        label.push('/');
    }
    label.push_str(name);
    if index > 0 {
        // Writing into a String cannot fail.
        let _ = write!(label, "#{index}");
    }
}

/// The instances of a group, in the order of its rows; shared from sample to sample while nothing comes or goes.
pub type Instances = Arc<[Arc<Instance>]>;

/// All instances that a source has met in one counter set of one machine: gives each a number and one shared object.
///
/// Two instances are the same when their labels are equal, case included: on Linux `x` and `X` are two.
#[derive(Debug, Default)]
pub struct InstanceTable {
    by_label: HashMap<Box<str>, Arc<Instance>>,
    label: String,
    next_id: u32,
}

impl InstanceTable {
    /// The shared instance of these parts, made at its first appearance.
    pub fn intern(&mut self, parent: Option<&str>, name: &str, index: u32) -> Arc<Instance> {
        self.label.clear();
        write_label(&mut self.label, parent, name, index);
        if let Some(known) = self.by_label.get(self.label.as_str()) {
            return Arc::clone(known);
        }
        let mut instance = Instance::new(parent, name, index);
        instance.id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let instance = Arc::new(instance);
        self.by_label.insert(self.label.as_str().into(), Arc::clone(&instance));
        instance
    }

    /// Takes an instance out that does not occur any more; when it comes back it is another object with another number.
    pub fn forget(&mut self, instance: &Instance) {
        self.by_label.remove(instance.label());
    }

    /// How many instances there are.
    pub fn len(&self) -> usize {
        self.by_label.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_label.is_empty()
    }
}
