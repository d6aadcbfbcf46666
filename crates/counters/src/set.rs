//! Descriptions that samples share: counter sets, counters and instances.

mod rows;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tachograph_schema::{CounterType, Formula, Suffix};

use crate::formula::Calculator;
use crate::wildcard::eq_ignore_case;

pub use rows::rows_before;

/// How much of a counter set a [`Group`](crate::sample::Group) of a sample contains, and in which records a log stores
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Counters of one fixed instance: `\Set(instance)\Counter`. Stored as one single record per counter.
    Row,
    /// Counters of all instances: `\Set(*)\Counter`. Stored as one multi record per counter.
    Columns,
    /// All counters of all instances: `\Set(*)\*`. Stored as one block record.
    Table,
}

/// The title indexes of a name and its help text in Windows' older interface (V1). They identify the two texts in any
/// language.
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
    /// The name in the language of the recording machine.
    pub name: Arc<str>,
    /// The English name, if it is known and differs from `name`.
    pub english_name: Option<Arc<str>>,
    /// The type.
    pub counter_type: CounterType,
    /// Units of [`RawValue::second`](crate::RawValue::second) per second.
    pub time_base: i64,
    /// The power of ten by which charts scale values. Not applied to the values themselves.
    pub default_scale: i32,
    /// Whether the source's data has 4 bytes instead of 8.
    pub data_is_32_bit: bool,
    /// V1 title indexes, if the source has them.
    pub indexes: Option<TitleIndexes>,
    /// V1 detail level, from 100 (novice) to 400 (wizard).
    pub detail_level: u32,
    /// The unit in the source's description, if it differs from the [implied](Self::implied_unit) unit. Logs do not
    /// store it.
    pub described_unit: Option<Arc<str>>,
}

/// Counters whose values identify something.
const IDENTIFIERS: [&str; 6] =
    ["ID Process", "ID Thread", "Process ID", "Thread ID", "Creating Process ID", "ID Base Process"];

/// Whether the values of counters with this English name identify something; see [`Counter::is_identifier`].
pub fn is_identifier_name(name: &str) -> bool {
    IDENTIFIERS.iter().any(|known| eq_ignore_case(known, name))
}

impl Counter {
    /// A counter with this name, type and time base, and default attributes.
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
            described_unit: None,
        }
    }

    /// A calculator for this counter's displayed values.
    pub fn calculator(&self) -> Calculator {
        Calculator::new(self.counter_type, self.time_base).with_32_bit_data(self.data_is_32_bit)
    }

    /// The unit of the displayed value, such as `%`, `seconds`, `bytes/s`; empty for plain counts.
    pub fn unit(&self) -> Cow<'_, str> {
        match &self.described_unit {
            Some(unit) => Cow::Borrowed(unit),
            None => self.implied_unit(),
        }
    }

    /// Whether the values identify something, such as a process, so that their sums and averages mean nothing.
    pub fn is_identifier(&self) -> bool {
        is_identifier_name(self.english_name.as_deref().unwrap_or(&self.name))
    }

    /// The unit that follows from type and name: percent, seconds and "per second" from the type; bytes, bits and their
    /// multiples from the English name.
    pub fn implied_unit(&self) -> Cow<'static, str> {
        let name = self.english_name.as_deref().unwrap_or(&self.name);
        let unit = unit_in_name(name);
        // The values were recorded formatted, so the type does not imply a unit.
        if self.counter_type == CounterType::DOUBLE_RAW {
            let is_rate = ends_with_ignore_case(name, "/sec");
            return match unit {
                _ if name.starts_with('%') => "%".into(),
                Some(unit) if is_rate => format!("{unit}/s").into(),
                Some(unit) => unit.into(),
                None if is_rate => "1/s".into(),
                None if name.split_whitespace().any(|word| starts_with_ignore_case(word, "sec/")) => {
                    "seconds".into()
                }
                None => "".into(),
            };
        }
        match (self.counter_type.suffix(), self.counter_type.formula()) {
            // `Load Average` has a fraction type only to store two decimal places; it is not a percentage.
            (Suffix::Percent, Some(Formula::Fraction)) if name.starts_with("Load Average") => "".into(),
            (Suffix::Percent, _) => "%".into(),
            (Suffix::Seconds, _) => "seconds".into(),
            (_, Some(Formula::Rate)) => match unit {
                Some(unit) => format!("{unit}/s").into(),
                None => "1/s".into(),
            },
            (_, Some(_)) if name.starts_with('%') => "%".into(),
            (_, Some(_)) => unit.unwrap_or_default().into(),
            (_, None) => "".into(),
        }
    }
}

fn starts_with_ignore_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

fn ends_with_ignore_case(text: &str, end: &str) -> bool {
    let begin = text.len().checked_sub(end.len());
    begin.and_then(|begin| text.get(begin..)).is_some_and(|rest| rest.eq_ignore_ascii_case(end))
}

/// Counters in bytes whose names do not contain a unit.
const IN_BYTES: [&str; 4] = ["Working Set", "Working Set Peak", "Working Set - Private", "Commit Limit"];

/// The unit that a name contains as a word.
fn unit_in_name(name: &str) -> Option<&'static str> {
    if IN_BYTES.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Some("bytes");
    }
    let words = || name.split(|c: char| !c.is_alphabetic());
    let has_word =
        |wanted: &[&str]| words().any(|word| wanted.iter().any(|unit| word.eq_ignore_ascii_case(unit)));
    if has_word(&["kbytes", "kilobytes", "kb"]) {
        Some("KB")
    } else if has_word(&["mbytes", "megabytes", "mb"]) {
        Some("MB")
    } else if has_word(&["bytes", "byte"]) {
        Some("bytes")
    } else if has_word(&["bits", "bandwidth"]) {
        Some("bits")
    } else {
        None
    }
}

/// Describes a counter set of one machine, or the part of it that is in a group.
///
/// A source returns the same `Arc` for each sample until the description changes, so descriptions can be compared by
/// pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSet {
    /// The machine's name without backslashes; empty if unknown.
    pub machine: Arc<str>,
    /// The set's name in the language of the recording machine.
    pub name: Arc<str>,
    /// The English name, if it is known and differs from `name`.
    pub english_name: Option<Arc<str>>,
    /// Whether the set has instances.
    pub has_instances: bool,
    /// How much of the set is described.
    pub extent: Extent,
    /// The fixed instance, for [`Extent::Row`]. Present even if samples do not have this instance.
    pub instance: Option<Arc<Instance>>,
    /// The counters, without bases. The value of a base is in [`RawValue::second`](crate::RawValue::second) of its
    /// counter.
    pub counters: Vec<Counter>,
    /// V1 title indexes, if the source has them.
    pub indexes: Option<TitleIndexes>,
    /// V1: index of the default counter; 0 if there is no default.
    pub default_counter: u32,
}

impl CounterSet {
    /// A set without counters.
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

    /// Whether this and `other` describe the same set of the same machine, possibly with different counters.
    pub fn is_same_set(&self, other: &Self) -> bool {
        self.machine == other.machine && self.name == other.name
    }

    /// A description with only the counter at `index`.
    pub fn of_counter(self: &Arc<Self>, index: usize) -> Arc<Self> {
        if self.counters.len() == 1 && index == 0 {
            return Arc::clone(self);
        }
        // Not `clone`, which would copy all counters.
        Arc::new(Self {
            machine: Arc::clone(&self.machine),
            name: Arc::clone(&self.name),
            english_name: self.english_name.clone(),
            has_instances: self.has_instances,
            extent: self.extent,
            instance: self.instance.clone(),
            counters: vec![self.counters[index].clone()],
            indexes: self.indexes,
            default_counter: self.default_counter,
        })
    }

    /// The number of records in which a log stores a group with this description.
    pub fn record_count(&self) -> usize {
        if self.extent == Extent::Table { 1 } else { self.counters.len() }
    }

    /// The full path of one of the set's counters for an instance: `\\machine\set(instance)\counter`.
    ///
    /// If the set has no name, no machine and no instances, the counter is a column of a text log whose heading is not
    /// a path. The counter's name is returned unchanged, so that a converted log has the same headings.
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

/// The sets whose instances have parents. The parent ends at the first `/` of the name.
const SETS_WITH_PARENTS: [&str; 5] =
    ["Thread", "Thread Details", "Image", "Full Image", "Job Object Details"];

/// Whether instances of the set with this English name are written as `parent/instance`.
pub fn has_parents(set: &str) -> bool {
    SETS_WITH_PARENTS.iter().any(|name| name.eq_ignore_ascii_case(set))
}

/// One instance of a counter set. It has a name, in some sets a parent, and an index that distinguishes equal names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Unique in the [`InstanceTable`]; 0 for an instance without a table.
    id: u32,
    /// Distinguishes instances with equal names in a sample.
    index: u32,
    /// `parent/name#index`.
    label: Box<str>,
    /// Length of the parent and its `/` in bytes; 0 without a parent.
    parent_length: u32,
    /// Length of the name in bytes, without parent and index.
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

    /// The instance without a name, for the single row of a set without instances.
    pub fn none() -> Self {
        Self::new(None, "", 0)
    }

    /// The id of the instance within its [`InstanceTable`]. Ids start at 0, in the order of appearance, and are never
    /// reused. An id is not the index of a row; use [`rows_before`] to find rows.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The name in a path: `parent/name#index`. An index of 0 is omitted.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The parent's name, if the instance has a parent.
    pub fn parent(&self) -> Option<&str> {
        let length = self.parent_length as usize;
        (length > 0).then(|| &self.label[..length - 1])
    }

    /// The name without parent and index.
    pub fn name(&self) -> &str {
        let start = self.parent_length as usize;
        &self.label[start..start + self.name_length as usize]
    }

    /// 0 for the first instance with this name in a sample, 1 for the next one, and so on.
    pub fn index(&self) -> u32 {
        self.index
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label)
    }
}

/// Appends `parent/name#index` to `label`.
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

/// The instances of a group, in the order of its rows. Shared between samples until an instance appears or disappears.
pub type Instances = Arc<[Arc<Instance>]>;

/// The instances of one counter set of one machine. Each instance has an id and is a single shared object.
///
/// Labels are case-sensitive: on Linux, `x` and `X` are two instances.
#[derive(Debug, Default)]
pub struct InstanceTable {
    /// The instances by their labels, `parent/name#index`.
    by_label: HashMap<Box<str>, Arc<Instance>>,
    /// A reused buffer for labels.
    label: String,
    /// The id of the next new instance.
    next_id: u32,
}

impl InstanceTable {
    /// Returns the shared instance with these parts, which is created on first use.
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

    /// Removes an instance that no longer exists. If it reappears, it becomes a new object with a new id.
    pub fn forget(&mut self, instance: &Instance) {
        self.by_label.remove(instance.label());
    }

    /// The number of instances.
    pub fn len(&self) -> usize {
        self.by_label.len()
    }

    /// Whether there are no instances.
    pub fn is_empty(&self) -> bool {
        self.by_label.is_empty()
    }
}
