//! The descriptions of a file's counter sets, as JSON.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tachograph_counters::CounterType;
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, TitleIndexes};
use tachograph_counters::time_zone::{TimeZone, TransitionDate};

use super::Damage;

/// The descriptions of a file, in order of first appearance.
#[derive(Default)]
pub(super) struct Descriptions {
    sets: Vec<Arc<CounterSet>>,
}

impl Descriptions {
    /// The index of a description, which is added if it is new.
    pub(super) fn index_of(&mut self, set: &Arc<CounterSet>) -> u32 {
        let same = self.sets.iter().position(|known| Arc::ptr_eq(known, set));
        let index = same.or_else(|| self.sets.iter().position(|known| **known == **set));
        index.unwrap_or_else(|| {
            self.sets.push(Arc::clone(set));
            self.sets.len() - 1
        }) as u32
    }

    /// The descriptions as JSON.
    pub(super) fn encode(&self) -> String {
        Value::Array(self.sets.iter().map(|set| encode_set(set)).collect()).to_string()
    }
}

/// Decodes the descriptions of a file.
pub(super) fn decode(text: &str) -> Result<Vec<CounterSet>, Damage> {
    let sets = serde_json::from_str(text).map_err(|_| Damage("the descriptions are not JSON"))?;
    let Value::Array(sets) = sets else { return Err(Damage("the descriptions are not a list")) };
    sets.iter().map(|set| decode_set(set).ok_or(Damage("a description of a counter set is wrong"))).collect()
}

/// Adds a field unless it has its default value.
fn set_field<T: Into<Value> + PartialEq>(object: &mut Map<String, Value>, name: &str, value: T, default: &T) {
    if value != *default {
        object.insert(name.to_owned(), value.into());
    }
}

fn indexes(indexes: Option<TitleIndexes>) -> Value {
    indexes.map_or(Value::Null, |indexes| json!([indexes.name, indexes.help]))
}

fn encode_set(set: &CounterSet) -> Value {
    let mut object = Map::new();
    object.insert("machine".into(), json!(&*set.machine));
    object.insert("set".into(), json!(&*set.name));
    set_field(&mut object, "english_name", json!(set.english_name.as_deref()), &Value::Null);
    set_field(&mut object, "has_instances", set.has_instances, &true);
    let extent = match set.extent {
        Extent::Row => "row",
        Extent::Columns => "columns",
        Extent::Table => "table",
    };
    object.insert("extent".into(), json!(extent));
    if let Some(instance) = &set.instance {
        object.insert("instance".into(), json!([instance.parent(), instance.name(), instance.index()]));
    }
    set_field(&mut object, "indexes", indexes(set.indexes), &Value::Null);
    set_field(&mut object, "default_counter", set.default_counter, &0);
    object.insert("counters".into(), set.counters.iter().map(encode_counter).collect());
    Value::Object(object)
}

fn encode_counter(counter: &Counter) -> Value {
    let mut object = Map::new();
    object.insert("counter".into(), json!(&*counter.name));
    set_field(&mut object, "english_name", json!(counter.english_name.as_deref()), &Value::Null);
    object.insert("type".into(), json!(counter.counter_type.0));
    object.insert("time_base".into(), json!(counter.time_base));
    set_field(&mut object, "default_scale", counter.default_scale, &0);
    set_field(&mut object, "is_32_bit", counter.data_is_32_bit, &false);
    set_field(&mut object, "indexes", indexes(counter.indexes), &Value::Null);
    set_field(&mut object, "detail_level", counter.detail_level, &100);
    set_field(&mut object, "unit", json!(counter.described_unit.as_deref()), &Value::Null);
    Value::Object(object)
}

fn number<T: TryFrom<i64>>(object: &Value, name: &str, default: T) -> Option<T> {
    match object.get(name) {
        None => Some(default),
        Some(number) => T::try_from(number.as_i64()?).ok(),
    }
}

fn text(object: &Value, name: &str) -> Option<Option<Arc<str>>> {
    match object.get(name) {
        None => Some(None),
        Some(text) => Some(Some(text.as_str()?.into())),
    }
}

fn truth(object: &Value, name: &str, default: bool) -> Option<bool> {
    object.get(name).map_or(Some(default), Value::as_bool)
}

fn decode_indexes(object: &Value) -> Option<Option<TitleIndexes>> {
    let Some(indexes) = object.get("indexes") else { return Some(None) };
    let index = |at: usize| u32::try_from(indexes.get(at)?.as_u64()?).ok();
    Some(Some(TitleIndexes { name: index(0)?, help: index(1)? }))
}

fn decode_set(object: &Value) -> Option<CounterSet> {
    let extent = match object.get("extent")?.as_str()? {
        "row" => Extent::Row,
        "columns" => Extent::Columns,
        "table" => Extent::Table,
        _ => return None,
    };
    let instance = match object.get("instance") {
        None => None,
        Some(instance) => {
            let index = u32::try_from(instance.get(2)?.as_u64()?).ok()?;
            Some(Arc::new(Instance::new(instance.get(0)?.as_str(), instance.get(1)?.as_str()?, index)))
        }
    };
    Some(CounterSet {
        machine: object.get("machine")?.as_str()?.into(),
        name: object.get("set")?.as_str()?.into(),
        english_name: text(object, "english_name")?,
        has_instances: truth(object, "has_instances", true)?,
        extent,
        instance,
        counters: object.get("counters")?.as_array()?.iter().map(decode_counter).collect::<Option<_>>()?,
        indexes: decode_indexes(object)?,
        default_counter: number(object, "default_counter", 0)?,
    })
}

fn decode_counter(object: &Value) -> Option<Counter> {
    let counter_type = CounterType(u32::try_from(object.get("type")?.as_u64()?).ok()?);
    let time_base = object.get("time_base")?.as_i64()?;
    Some(Counter {
        english_name: text(object, "english_name")?,
        default_scale: number(object, "default_scale", 0)?,
        data_is_32_bit: truth(object, "is_32_bit", false)?,
        indexes: decode_indexes(object)?,
        detail_level: number(object, "detail_level", 100)?,
        described_unit: text(object, "unit")?,
        ..Counter::new(object.get("counter")?.as_str()?, counter_type, time_base)
    })
}

/// A time zone as JSON.
pub(super) fn encode_zone(zone: &TimeZone) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(zone.standard_name));
    object.insert("bias_minutes".into(), json!(zone.bias_minutes));
    set_field(
        &mut object,
        "standard_date",
        json!(zone.standard_date.to_fields()),
        &json!([0u16; 8].to_vec()),
    );
    set_field(&mut object, "standard_bias_minutes", zone.standard_bias_minutes, &0);
    set_field(&mut object, "daylight_name", zone.daylight_name.as_str(), &"");
    set_field(
        &mut object,
        "daylight_date",
        json!(zone.daylight_date.to_fields()),
        &json!([0u16; 8].to_vec()),
    );
    set_field(&mut object, "daylight_bias_minutes", zone.daylight_bias_minutes, &0);
    Value::Object(object)
}

/// Reads a time zone.
pub(super) fn decode_zone(object: &Value) -> Result<TimeZone, Damage> {
    zone(object).ok_or(Damage("the time zone is wrong"))
}

fn zone(object: &Value) -> Option<TimeZone> {
    let date = |name: &str| {
        let mut fields = [0u16; 8];
        if let Some(date) = object.get(name) {
            let date = date.as_array().filter(|date| date.len() == fields.len())?;
            for (field, number) in fields.iter_mut().zip(date) {
                *field = u16::try_from(number.as_u64()?).ok()?;
            }
        }
        Some(TransitionDate::from(fields))
    };
    Some(TimeZone {
        bias_minutes: number(object, "bias_minutes", 0)?,
        standard_name: object.get("name")?.as_str()?.to_owned(),
        standard_date: date("standard_date")?,
        standard_bias_minutes: number(object, "standard_bias_minutes", 0)?,
        daylight_name: text(object, "daylight_name")?.as_deref().unwrap_or_default().to_owned(),
        daylight_date: date("daylight_date")?,
        daylight_bias_minutes: number(object, "daylight_bias_minutes", 0)?,
    })
}
