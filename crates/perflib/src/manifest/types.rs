//! The counter types in manifests, and their companions: the base, time, frequency and multiplier counters that a
//! counter's formula needs.

use tachograph_counters::wildcard::closest;
use tachograph_schema::CounterType as T;

/// A type in the schema that has no documented value or formula.
const COMPOSITE: &str = "perf_counter_composite";

/// The words by which the schema names the counter types.
///
/// Source: "Performance Counters Schema", counter.
fn words() -> impl Iterator<Item = &'static str> {
    T::all().filter_map(T::manifest_word).chain([COMPOSITE])
}

/// The counter type for a word in the schema. The error describes the expected value.
pub(super) fn type_of(word: &str) -> Result<T, String> {
    if word == COMPOSITE {
        return Err(
            "a type with a documented formula, which the schema's type 'perf_counter_composite' does not have".into()
        );
    }
    T::from_manifest_word(word).ok_or_else(|| match closest(word, words()) {
        Some(near) => format!("one of the schema's types: did you mean '{near}'?"),
        None => "one of the schema's types, such as perf_counter_bulk_count".into(),
    })
}

/// The schema's word for a counter type; if the schema has no word for it, the type's name or number.
pub(super) fn word_of(counter_type: T) -> String {
    counter_type.to_string().to_lowercase()
}

/// One item per companion of a counter, in the order of [`ROLES`].
pub(super) type Companions<X> = [X; 4];

/// The attributes that name companions.
pub(super) const ROLES: Companions<&str> = ["baseID", "perfTimeID", "perfFreqID", "multiCounterID"];

/// Whether a counter type can have a base. The base can be optional: the schema's documentation requires one for
/// `perf_counter_multi_timer_inv`, but \[MS-PCQ\] requires only the multiplier.
pub(super) fn takes_base(counter_type: T) -> bool {
    counter_type.base().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Guid;
    use crate::registration::{CounterInfo, CounterSetInfo, InstanceType};

    #[test]
    fn every_word_but_one_has_a_type() {
        let mut types: Vec<_> = words().filter_map(|word| type_of(word).ok()).collect();
        assert_eq!(types.len(), 37);
        for counter_type in &types {
            assert_eq!(type_of(&word_of(*counter_type)), Ok(*counter_type));
        }
        types.sort_unstable();
        types.dedup();
        assert_eq!(types.len(), 37);
        // Not in the schema.
        let others = T::all().filter(|known| types.binary_search(known).is_err());
        assert_eq!(others.collect::<Vec<_>>(), [T::DOUBLE_RAW, T::NO_DATA, T::HISTOGRAM]);
    }

    #[test]
    fn registration_requires_the_companions_of_the_type() {
        for word in words().filter(|word| *word != COMPOSITE) {
            let counter_type = type_of(word).expect(word);
            let needed = counter_type.companions();
            for omitted in std::iter::once(None).chain((0..4).map(Some)) {
                let mut set = CounterSetInfo::new("Set", Guid::from_u128(1), InstanceType::Single);
                let mut counter = CounterInfo::new(9, "Counter", counter_type);
                let mut named = [None; 4];
                for (role, needed) in needed.iter().enumerate() {
                    if let Some(companion) = needed
                        && Some(role) != omitted
                    {
                        set.counters.push(CounterInfo::new(role as u32, role.to_string(), *companion));
                        named[role] = Some(role as u32);
                    }
                }
                [counter.base_id, counter.time_id, counter.frequency_id, counter.multiplier_id] = named;
                set.counters.push(counter);
                let is_missing = omitted.is_some_and(|role| needed[role].is_some());
                assert_eq!(set.check().is_err(), is_missing, "{word} without {omitted:?}");
            }
        }
    }
}
