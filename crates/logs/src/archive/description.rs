//! The descriptions of a file's counter sets, as JSON.

mod decode;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tachograph_counters::set::{Counter, CounterSet, Extent, TitleIndexes};
use tachograph_counters::time_zone::TimeZone;

pub(super) use decode::{EncodedZone, decode};

/// The descriptions of a file, in order of first appearance.
#[derive(Default)]
pub(super) struct Descriptions {
    sets: Vec<Arc<CounterSet>>,
}

impl Descriptions {
    /// Returns the index of a description, which is added if it is new.
    pub(super) fn index_of(&mut self, set: &Arc<CounterSet>) -> u32 {
        self.find(set).unwrap_or_else(|| {
            self.sets.push(Arc::clone(set));
            self.sets.len() as u32 - 1
        })
    }

    /// The index of a description, if the file has it.
    pub(super) fn find(&self, set: &Arc<CounterSet>) -> Option<u32> {
        let same_pointer = self.sets.iter().position(|known| Arc::ptr_eq(known, set));
        let index = same_pointer.or_else(|| self.sets.iter().position(|known| **known == **set));
        index.map(|index| index as u32)
    }

    /// The descriptions as JSON.
    pub(super) fn encode(&self) -> String {
        Value::Array(self.sets.iter().map(|set| encode_set(set)).collect()).to_string()
    }
}

/// Adds a field unless it has its default value.
fn insert_unless_default<T: Into<Value> + PartialEq>(
    object: &mut Map<String, Value>,
    name: &str,
    value: T,
    default: &T,
) {
    if value != *default {
        object.insert(name.to_owned(), value.into());
    }
}

fn encode_indexes(indexes: Option<TitleIndexes>) -> Value {
    indexes.map_or(Value::Null, |indexes| json!([indexes.name, indexes.help]))
}

fn encode_set(set: &CounterSet) -> Value {
    let mut object = Map::new();
    object.insert("machine".into(), json!(&*set.machine));
    object.insert("set".into(), json!(&*set.name));
    insert_unless_default(&mut object, "english_name", json!(set.english_name.as_deref()), &Value::Null);
    insert_unless_default(&mut object, "has_instances", set.has_instances, &true);
    let extent = match set.extent {
        Extent::Row => "row",
        Extent::Columns => "columns",
        Extent::Table => "table",
    };
    object.insert("extent".into(), json!(extent));
    if let Some(instance) = &set.instance {
        object.insert("instance".into(), json!([instance.parent(), instance.name(), instance.index()]));
    }
    insert_unless_default(&mut object, "indexes", encode_indexes(set.indexes), &Value::Null);
    insert_unless_default(&mut object, "default_counter", set.default_counter, &0);
    object.insert("counters".into(), set.counters.iter().map(encode_counter).collect());
    Value::Object(object)
}

fn encode_counter(counter: &Counter) -> Value {
    let mut object = Map::new();
    object.insert("counter".into(), json!(&*counter.name));
    insert_unless_default(&mut object, "english_name", json!(counter.english_name.as_deref()), &Value::Null);
    object.insert("type".into(), json!(counter.counter_type.0));
    object.insert("time_base".into(), json!(counter.time_base));
    insert_unless_default(&mut object, "default_scale", counter.default_scale, &0);
    insert_unless_default(&mut object, "is_32_bit", counter.data_is_32_bit, &false);
    insert_unless_default(&mut object, "indexes", encode_indexes(counter.indexes), &Value::Null);
    insert_unless_default(&mut object, "detail_level", counter.detail_level, &100);
    insert_unless_default(&mut object, "unit", json!(counter.described_unit.as_deref()), &Value::Null);
    Value::Object(object)
}

/// A time zone as JSON.
pub(super) fn encode_zone(zone: &TimeZone) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(zone.standard_name));
    object.insert("bias_minutes".into(), json!(zone.bias_minutes));
    insert_unless_default(
        &mut object,
        "standard_date",
        json!(zone.standard_date.to_fields()),
        &json!([0u16; 8].to_vec()),
    );
    insert_unless_default(&mut object, "standard_bias_minutes", zone.standard_bias_minutes, &0);
    insert_unless_default(&mut object, "daylight_name", zone.daylight_name.as_str(), &"");
    insert_unless_default(
        &mut object,
        "daylight_date",
        json!(zone.daylight_date.to_fields()),
        &json!([0u16; 8].to_vec()),
    );
    insert_unless_default(&mut object, "daylight_bias_minutes", zone.daylight_bias_minutes, &0);
    Value::Object(object)
}
