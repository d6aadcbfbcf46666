//! Counter sets and counters, which providers register, manifests declare, applications publish and consumers read.

use std::borrow::Cow;

use crate::words::{Attribute, DETAIL_LEVELS, Notation, attribute};
use crate::{Aggregate, Attributes, CellKind, CounterType, Guid, InstanceType, SCALES};

/// A string in a description: a constant or an owned string.
pub type Text = Cow<'static, str>;

/// The attributes of counter sets that manifests and `#[counter_set(...)]` can set.
pub static SET_ATTRIBUTES: &[Attribute<CounterSetInfo>] = &[
    attribute!(None, "provider", provider_name),
    attribute!(Some("instances"), "instances", instance_type, InstanceType::WORDS),
    attribute!(Some("description"), "help", help),
    attribute!(None, "instances_help", instances_help),
    attribute!(None, "detail", detail_level, DETAIL_LEVELS),
];

/// The attributes of counters that manifests and `#[counter(...)]` can set.
pub static COUNTER_ATTRIBUTES: &[Attribute<CounterInfo>] = &[
    attribute!(Some("description"), "help", help),
    attribute!(None, "unit", unit),
    Attribute {
        manifest: Some("defaultScale"),
        derive: "scale",
        is_number: true,
        parse: |info, text, _| {
            let scale = text.parse().ok().filter(|scale| SCALES.contains(scale));
            info.default_scale =
                scale.ok_or_else(|| format!("a number from {} to {}", SCALES.start(), SCALES.end()))?;
            Ok(())
        },
        derive_text: |info| info.default_scale.to_string(),
    },
    attribute!(Some("detailLevel"), "detail", detail_level, DETAIL_LEVELS),
    attribute!(Some("aggregate"), "aggregate", aggregate, Aggregate::WORDS),
];

/// A counter of a counter set: a `PERF_COUNTER_REG_INFO`, its texts, and how a publisher stores the value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTER_REG_INFO")]
pub struct CounterInfo {
    /// The id of the counter, unique within the set.
    pub id: u32,
    /// The name. In a published file (shared memory), it is empty if only a registered manifest contains the name.
    pub name: Text,
    /// The help text, a sentence that describes what is counted.
    pub help: Text,
    /// The unit of the formatted value, such as `%`, `seconds`, `bytes/s`; empty for plain counts.
    pub unit: Text,
    /// The source of the value, for documentation.
    pub source: Text,
    /// The type.
    pub counter_type: CounterType,
    /// The attributes, which affect how the counter is displayed.
    pub attributes: Attributes,
    /// 100 (novice) or 200 (advanced).
    pub detail_level: u32,
    /// The power of ten by which charts scale values, from -10 to 10.
    pub default_scale: i32,
    /// The id of the counter with the denominator, for averages, fractions and precision timers.
    pub base_id: Option<u32>,
    /// The id of the counter with the time, for object timers and elapsed times.
    pub time_id: Option<u32>,
    /// The id of the counter with the frequency of that time.
    pub frequency_id: Option<u32>,
    /// The id of the counter with the multiplier, for multi timers.
    pub multiplier_id: Option<u32>,
    /// How the counter's value in the set's aggregate instance (`_Total`) is computed.
    pub aggregate: Aggregate,
    /// How an application that publishes the counter stores the value.
    pub cell: CellKind,
    /// Number of stripes: parts of the cell that are each updated by one thread of that application; 0 if all threads
    /// update the same cell.
    pub stripes: u32,
}

impl CounterInfo {
    /// Maximum number of [`stripes`](Self::stripes).
    pub const MAX_STRIPES: u32 = 64;

    /// A displayed counter with detail level 100, scale 0, a plain cell and no companions (see
    /// [`companion_ids`](Self::companion_ids)).
    pub fn new(id: u32, name: impl Into<String>, counter_type: impl Into<CounterType>) -> Self {
        Self { name: Cow::Owned(name.into()), ..Self::row(id, "", counter_type.into(), "", 0, "", "") }
    }

    /// A counter in a static table, without companions.
    pub const fn row(
        id: u32,
        name: &'static str,
        counter_type: CounterType,
        unit: &'static str,
        default_scale: i32,
        source: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            id,
            name: Cow::Borrowed(name),
            help: Cow::Borrowed(help),
            unit: Cow::Borrowed(unit),
            source: Cow::Borrowed(source),
            counter_type,
            attributes: Attributes(0),
            detail_level: 100,
            default_scale,
            base_id: None,
            time_id: None,
            frequency_id: None,
            multiplier_id: None,
            aggregate: Aggregate::Undefined,
            cell: CellKind::Plain,
            stripes: 0,
        }
    }

    /// A companion of another counter in a static table. It is not displayed itself.
    pub const fn companion(id: u32, name: &'static str, counter_type: CounterType) -> Self {
        let mut row = Self::row(id, name, counter_type, "", 0, "", "Not for display.");
        row.attributes = Attributes::NO_DISPLAYABLE;
        row
    }

    /// Sets the id of the counter with the denominator.
    #[must_use]
    pub const fn base(mut self, id: u32) -> Self {
        self.base_id = Some(id);
        self
    }

    /// Sets the ids of the counters with the time and its frequency.
    #[must_use]
    pub const fn clock(mut self, time: u32, frequency: u32) -> Self {
        self.time_id = Some(time);
        self.frequency_id = Some(frequency);
        self
    }

    /// Whether the counter is displayed: its type has a formula, and [`Attributes::NO_DISPLAYABLE`] is not set.
    pub const fn is_displayable(&self) -> bool {
        !self.attributes.has(Attributes::NO_DISPLAYABLE) && self.counter_type.formula().is_some()
    }

    /// The ids of the counter's companions, in the order base, time, frequency, multiplier.
    pub const fn companion_ids(&self) -> [Option<u32>; 4] {
        [self.base_id, self.time_id, self.frequency_id, self.multiplier_id]
    }

    /// Sets the ids of the counter's companions, in the order base, time, frequency, multiplier.
    pub const fn set_companion_ids(&mut self, ids: [Option<u32>; 4]) {
        [self.base_id, self.time_id, self.frequency_id, self.multiplier_id] = ids;
    }

    /// The ids of the companions that the counter has.
    pub fn companions(&self) -> impl Iterator<Item = u32> + use<> {
        self.companion_ids().into_iter().flatten()
    }

    /// The name, the help text and the unit.
    pub const fn texts(&self) -> [&Text; 3] {
        [&self.name, &self.help, &self.unit]
    }

    /// Like [`texts`](Self::texts), but mutable.
    pub const fn texts_mut(&mut self) -> [&mut Text; 3] {
        [&mut self.name, &mut self.help, &mut self.unit]
    }

    /// Sets the attribute that has this key in `#[counter(...)]`.
    ///
    /// # Errors
    ///
    /// A description of what was expected, if the key or the value is invalid.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        set_attribute(COUNTER_ATTRIBUTES, self, key, text)
    }

    /// Number of cache lines of the counter's cell, which stores its value in shared memory. A striped plain cell has
    /// twice as many lines as stripes: threads without a stripe of their own share the second half.
    pub const fn lines(&self) -> usize {
        match (self.cell, self.stripes as usize) {
            (CellKind::None, _) => 0,
            (_, 0) | (CellKind::Ratio, _) => 1,
            (CellKind::Plain, stripes) => 2 * stripes,
            (_, stripes) => stripes,
        }
    }
}

fn set_attribute<T>(attributes: &[Attribute<T>], info: &mut T, key: &str, text: &str) -> Result<(), String> {
    let attribute = attributes.iter().find(|attribute| attribute.name(Notation::Derive) == Some(key));
    attribute.ok_or("another key")?.parse(info, text, Notation::Derive)
}

/// A counter set: a `PERF_COUNTERSET_REG_INFO` with its counters and texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTERSET_REG_INFO")]
pub struct CounterSetInfo {
    /// The GUID of the set.
    pub guid: Guid,
    /// The provider's GUID.
    pub provider_guid: Guid,
    /// The provider's name.
    pub provider_name: Text,
    /// The set's name. In a published file, it is empty if only a registered manifest contains the name.
    pub name: Text,
    /// The help text, a sentence that describes what the set measures.
    pub help: Text,
    /// A description of the instances and of how they are named; empty for sets without instances.
    pub instances_help: Text,
    /// How many instances the set has.
    pub instance_type: InstanceType,
    /// 100 (novice) or 200 (advanced).
    pub detail_level: u32,
    /// Whether each process that publishes the set is an instance, although the type is
    /// [`Single`](InstanceType::Single). Several programs can then publish the set at the same time.
    ///
    /// Counter paths name the process as an instance ([`has_instances`](Self::has_instances)). In PerfLib blocks, the
    /// set has a single instance. A query selects this instance by an empty name; if several processes publish the
    /// set, the result is `ERROR_WMI_INVALID_REGINFO`.
    pub is_per_process: bool,
    /// The instance name of a publishing process; if empty, the program's name is used.
    pub label: Text,
    /// The counters, including companions.
    pub counters: Vec<CounterInfo>,
}

impl CounterSetInfo {
    /// Maximum number of counters in a set (perflib.h).
    pub const MAX_COUNTERS: usize = 65_536;
    /// Maximum length of the name of a set, a counter or an instance, in UTF-16 units without the terminating NUL.
    pub const MAX_NAME: usize = 1023;

    /// A set without counters, whose provider has the same name and GUID.
    pub fn new(name: impl Into<String>, guid: Guid, instance_type: InstanceType) -> Self {
        let name = Text::from(name.into());
        Self {
            guid,
            provider_guid: guid,
            provider_name: name.clone(),
            name,
            help: Text::default(),
            instances_help: Text::default(),
            instance_type,
            detail_level: 100,
            is_per_process: false,
            label: Text::default(),
            counters: Vec::new(),
        }
    }

    /// The index of a counter in [`counters`](Self::counters).
    pub fn position(&self, id: u32) -> Option<usize> {
        self.counters.iter().position(|counter| counter.id == id)
    }

    /// Whether counter paths name instances: the instances of the set or, if the set is [per
    /// process](Self::is_per_process), the processes that publish it.
    pub fn has_instances(&self) -> bool {
        self.is_per_process || self.instance_type.has_instances()
    }

    /// The provider name and the help texts.
    pub const fn texts(&self) -> [&Text; 3] {
        [&self.provider_name, &self.help, &self.instances_help]
    }

    /// Like [`texts`](Self::texts), but mutable.
    pub const fn texts_mut(&mut self) -> [&mut Text; 3] {
        [&mut self.provider_name, &mut self.help, &mut self.instances_help]
    }

    /// Sets the attribute that has this key in `#[counter_set(...)]`.
    ///
    /// # Errors
    ///
    /// A description of what was expected, if the key or the value is invalid.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        set_attribute(SET_ATTRIBUTES, self, key, text)
    }

    /// Number of cache lines of a slot, which holds one instance in the set's published file: one line for the name and
    /// state of the instance, followed by the lines of its cells.
    pub fn slot_lines(&self) -> usize {
        1 + self.counters.iter().map(CounterInfo::lines).sum::<usize>()
    }
}
