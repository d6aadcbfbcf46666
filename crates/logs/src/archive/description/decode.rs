//! Decodes descriptions. Each set and each counter is converted to its final form as soon as it is read, and unknown
//! fields are skipped, so a hostile text takes only a few times its size in memory.

use std::sync::Arc;

use serde::Deserialize;
use tachograph_counters::CounterType;
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, TitleIndexes};
use tachograph_counters::time_zone::{TimeZone, TransitionDate};

use super::super::Damage;

/// Decodes the descriptions of a file.
pub(in super::super) fn decode(text: &str) -> Result<Vec<CounterSet>, Damage> {
    let sets: Vec<DecodedSet> = serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Damage("a description of a counter set is invalid"),
        _ => Damage("the descriptions are not JSON"),
    })?;
    Ok(sets.into_iter().map(|set| set.0).collect())
}

#[derive(Deserialize)]
#[serde(from = "EncodedSet")]
struct DecodedSet(CounterSet);

#[derive(Deserialize)]
struct EncodedSet {
    machine: String,
    set: String,
    english_name: Option<String>,
    #[serde(default = "default_true")]
    has_instances: bool,
    extent: EncodedExtent,
    instance: Option<(Option<String>, String, u32)>,
    indexes: Option<(u32, u32)>,
    #[serde(default)]
    default_counter: u32,
    counters: Vec<DecodedCounter>,
}

fn default_true() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum EncodedExtent {
    Row,
    Columns,
    Table,
}

#[derive(Deserialize)]
#[serde(from = "EncodedCounter")]
struct DecodedCounter(Counter);

#[derive(Deserialize)]
struct EncodedCounter {
    counter: String,
    english_name: Option<String>,
    #[serde(rename = "type")]
    counter_type: u32,
    time_base: i64,
    #[serde(default)]
    default_scale: i32,
    #[serde(default)]
    is_32_bit: bool,
    indexes: Option<(u32, u32)>,
    #[serde(default = "default_detail_level")]
    detail_level: u32,
    unit: Option<String>,
}

fn default_detail_level() -> u32 {
    100
}

fn title_indexes((name, help): (u32, u32)) -> TitleIndexes {
    TitleIndexes { name, help }
}

impl From<EncodedSet> for DecodedSet {
    fn from(set: EncodedSet) -> Self {
        let instance = set
            .instance
            .map(|(parent, name, index)| Arc::new(Instance::new(parent.as_deref(), &name, index)));
        Self(CounterSet {
            machine: set.machine.into(),
            name: set.set.into(),
            english_name: set.english_name.map(Into::into),
            has_instances: set.has_instances,
            extent: match set.extent {
                EncodedExtent::Row => Extent::Row,
                EncodedExtent::Columns => Extent::Columns,
                EncodedExtent::Table => Extent::Table,
            },
            instance,
            counters: set.counters.into_iter().map(|counter| counter.0).collect(),
            indexes: set.indexes.map(title_indexes),
            default_counter: set.default_counter,
        })
    }
}

impl From<EncodedCounter> for DecodedCounter {
    fn from(counter: EncodedCounter) -> Self {
        Self(Counter {
            english_name: counter.english_name.map(Into::into),
            default_scale: counter.default_scale,
            data_is_32_bit: counter.is_32_bit,
            indexes: counter.indexes.map(title_indexes),
            detail_level: counter.detail_level,
            described_unit: counter.unit.map(Into::into),
            ..Counter::new(counter.counter, CounterType(counter.counter_type), counter.time_base)
        })
    }
}

/// A time zone.
#[derive(Deserialize)]
pub(in super::super) struct EncodedZone {
    name: String,
    bias_minutes: i32,
    #[serde(default)]
    standard_date: [u16; 8],
    #[serde(default)]
    standard_bias_minutes: i32,
    #[serde(default)]
    daylight_name: String,
    #[serde(default)]
    daylight_date: [u16; 8],
    #[serde(default)]
    daylight_bias_minutes: i32,
}

impl From<EncodedZone> for TimeZone {
    fn from(zone: EncodedZone) -> Self {
        Self {
            bias_minutes: zone.bias_minutes,
            standard_name: zone.name,
            standard_date: TransitionDate::from(zone.standard_date),
            standard_bias_minutes: zone.standard_bias_minutes,
            daylight_name: zone.daylight_name,
            daylight_date: TransitionDate::from(zone.daylight_date),
            daylight_bias_minutes: zone.daylight_bias_minutes,
        }
    }
}
