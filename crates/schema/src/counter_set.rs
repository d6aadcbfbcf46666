//! Counter sets and counters: what a provider registers, a manifest declares, an application publishes and a consumer reads.

use std::borrow::Cow;

use crate::words::{Attribute, DETAIL_LEVELS, Notation, attribute};
use crate::{Aggregate, Attributes, CellKind, CounterType, Guid, InstanceType, SCALES};

/// A text of a description: part of the program, or owned.
pub type Text = Cow<'static, str>;

/// The attributes of counter sets that are written as text.
pub static SET_ATTRIBUTES: &[Attribute<CounterSetInfo>] = &[
    attribute!(None, "provider", provider_name),
    attribute!(Some("instances"), "instances", instance_type, InstanceType::WORDS),
    attribute!(Some("description"), "help", help),
    attribute!(None, "instances_help", instances_help),
    attribute!(None, "detail", detail_level, DETAIL_LEVELS),
];

/// The attributes of counters that are written as text.
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

/// A counter of a counter set (`PERF_COUNTER_REG_INFO` with its texts, and how a publisher stores its value).
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTER_REG_INFO")]
pub struct CounterInfo {
    /// Number of the counter, unique in the set.
    pub id: u32,
    /// The name; in published files it is empty where only a registered manifest has it.
    pub name: Text,
    /// What it counts, in a sentence.
    pub help: Text,
    /// The unit of the formatted value, such as `%`, `seconds`, `bytes/s`; empty for plain counts.
    pub unit: Text,
    /// Where the value comes from, for people.
    pub source: Text,
    /// The type.
    pub counter_type: CounterType,
    /// How it is shown.
    pub attributes: Attributes,
    /// 100 (novice) or 200 (advanced).
    pub detail_level: u32,
    /// Exponent of ten for charts, -10 to 10.
    pub default_scale: i32,
    /// The counter that holds the denominator of averages, fractions and precision timers.
    pub base_id: Option<u32>,
    /// The counter that holds the time of object timers and elapsed times.
    pub time_id: Option<u32>,
    /// The counter that holds the frequency of that time.
    pub frequency_id: Option<u32>,
    /// The counter that holds the multiplier of multi timers.
    pub multiplier_id: Option<u32>,
    /// How the set's aggregate is computed.
    pub aggregate: Aggregate,
    /// How an application that publishes the counter stores its value.
    pub cell: CellKind,
    /// 0 where all threads of that application share one cell; else how many threads have one of their own.
    pub stripes: u32,
}

impl CounterInfo {
    /// The largest number of stripes.
    pub const MAX_STRIPES: u32 = 64;

    /// A counter for display without companions, detail level 100, scale 0, with a plain cell.
    pub fn new(id: u32, name: impl Into<String>, counter_type: impl Into<CounterType>) -> Self {
        Self { name: Cow::Owned(name.into()), ..Self::row(id, "", counter_type.into(), "", 0, "", "") }
    }

    /// A counter of a table that is part of the program, without companions.
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

    /// A row for a companion of another counter: it is not shown by itself.
    pub const fn companion(id: u32, name: &'static str, counter_type: CounterType) -> Self {
        let mut row = Self::row(id, name, counter_type, "", 0, "", "Not for display.");
        row.attributes = Attributes::NO_DISPLAYABLE;
        row
    }

    /// Names the counter that holds the denominator.
    #[must_use]
    pub const fn base(mut self, id: u32) -> Self {
        self.base_id = Some(id);
        self
    }

    /// Names the counters that hold the time and the frequency of that time.
    #[must_use]
    pub const fn clock(mut self, time: u32, frequency: u32) -> Self {
        self.time_id = Some(time);
        self.frequency_id = Some(frequency);
        self
    }

    /// Whether the counter is shown by itself: not a base, time, frequency or multiplier.
    pub const fn is_displayable(&self) -> bool {
        !self.attributes.has(Attributes::NO_DISPLAYABLE) && self.counter_type.formula().is_some()
    }

    /// The ids of its companions in the order base, time, frequency, multiplier.
    pub const fn companion_ids(&self) -> [Option<u32>; 4] {
        [self.base_id, self.time_id, self.frequency_id, self.multiplier_id]
    }

    /// Sets the companions, in the order base, time, frequency, multiplier.
    pub const fn set_companion_ids(&mut self, ids: [Option<u32>; 4]) {
        [self.base_id, self.time_id, self.frequency_id, self.multiplier_id] = ids;
    }

    /// The counters that must be read with this one to format it, in the order base, time, frequency, multiplier.
    pub fn companions(&self) -> impl Iterator<Item = u32> + use<> {
        self.companion_ids().into_iter().flatten()
    }

    /// Its texts for people.
    pub const fn texts(&self) -> [&Text; 3] {
        [&self.name, &self.help, &self.unit]
    }

    /// The same, to change.
    pub const fn texts_mut(&mut self) -> [&mut Text; 3] {
        [&mut self.name, &mut self.help, &mut self.unit]
    }

    /// Sets the attribute of a key of `#[counter(...)]`.
    ///
    /// # Errors
    ///
    /// What was expected.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        set(COUNTER_ATTRIBUTES, self, key, text)
    }

    /// How many cache lines its cell takes. A striped plain cell has as many lines again that are shared by the threads
    /// without one of their own.
    pub const fn lines(&self) -> usize {
        match (self.cell, self.stripes as usize) {
            (CellKind::None, _) => 0,
            (_, 0) | (CellKind::Ratio, _) => 1,
            (CellKind::Plain, stripes) => 2 * stripes,
            (_, stripes) => stripes,
        }
    }
}

fn set<T>(attributes: &[Attribute<T>], of: &mut T, key: &str, text: &str) -> Result<(), String> {
    let attribute = attributes.iter().find(|attribute| attribute.name(Notation::Derive) == Some(key));
    attribute.ok_or("another key")?.parse(of, text, Notation::Derive)
}

/// A counter set (`PERF_COUNTERSET_REG_INFO` with its counters and texts).
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTERSET_REG_INFO")]
pub struct CounterSetInfo {
    /// The GUID of the set.
    pub guid: Guid,
    /// The provider's GUID.
    pub provider_guid: Guid,
    /// The provider's name.
    pub provider_name: Text,
    /// The set's name; in published files it is empty where only a registered manifest has it.
    pub name: Text,
    /// What the set is about, in a sentence.
    pub help: Text,
    /// What its instances are and how they are named, for people; empty for sets without instances.
    pub instances_help: Text,
    /// How many instances it has.
    pub instance_type: InstanceType,
    /// 100 (novice) or 200 (advanced).
    pub detail_level: u32,
    /// Whether each process that publishes the set is an instance of it, though its type is
    /// [`Single`](InstanceType::Single): several programs may publish one set at once.
    ///
    /// Counter paths then name the process as an instance ([`has_instances`](Self::has_instances)). In PerfLib's bytes the
    /// set stays one of a single instance: an identifier has an empty name, which means the one process there is; where
    /// there are several, it answers with `ERROR_INVALID_DATA`.
    pub is_per_process: bool,
    /// The name of the one instance that a publishing process has beside those of other processes; the program's name
    /// where it is empty.
    pub label: Text,
    /// The counters; companions included.
    pub counters: Vec<CounterInfo>,
}

impl CounterSetInfo {
    /// The largest number of counters of a set (perflib.h).
    pub const MAX_COUNTERS: usize = 65_536;
    /// The largest number of characters in the name of a set, a counter or an instance (UTF-16 units, without the zero).
    pub const MAX_NAME: usize = 1023;

    /// A set without counters; its own GUID stands for that of its provider.
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

    /// The index of the counter of this id among [`counters`](Self::counters).
    pub fn position(&self, id: u32) -> Option<usize> {
        self.counters.iter().position(|counter| counter.id == id)
    }

    /// Whether a counter path names instances: those of the set, or the processes of one that is
    /// [per process](Self::is_per_process).
    pub fn has_instances(&self) -> bool {
        self.is_per_process || self.instance_type.has_instances()
    }

    /// Its texts for people, without the name.
    pub const fn texts(&self) -> [&Text; 3] {
        [&self.provider_name, &self.help, &self.instances_help]
    }

    /// The same, to change.
    pub const fn texts_mut(&mut self) -> [&mut Text; 3] {
        [&mut self.provider_name, &mut self.help, &mut self.instances_help]
    }

    /// Sets the attribute of a key of `#[counter_set(...)]`.
    ///
    /// # Errors
    ///
    /// What was expected.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        set(SET_ATTRIBUTES, self, key, text)
    }

    /// How many cache lines a slot of its published file takes: one for the instance, the others for its values.
    pub fn slot_lines(&self) -> usize {
        1 + self.counters.iter().map(CounterInfo::lines).sum::<usize>()
    }
}
