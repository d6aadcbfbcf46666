//! The counter types that a manifest can name, and the counters that each needs beside it.

use tachograph_counters::wildcard::closest;
use tachograph_schema::CounterType as T;

/// In the schema, but without a value or a formula anywhere.
const COMPOSITE: &str = "perf_counter_composite";

/// All words of the schema.
///
/// Source: "Performance Counters Schema", counter.
fn words() -> impl Iterator<Item = &'static str> {
    T::all().filter_map(T::manifest_word).chain([COMPOSITE])
}

/// The type of a word of the schema. The error says what was expected.
pub(super) fn type_of(word: &str) -> Result<T, String> {
    if word == COMPOSITE {
        return Err(
            "a type that has a formula: the schema names this one, and nothing says what it means".into()
        );
    }
    T::from_manifest_word(word).ok_or_else(|| match closest(word, words()) {
        Some(near) => format!("one of the schema's types: did you mean '{near}'?"),
        None => "one of the schema's types, such as perf_counter_bulk_count".into(),
    })
}

/// The word of a type; for a type that the schema does not have, its name or number.
pub(super) fn word_of(counter_type: T) -> String {
    counter_type.to_string().to_lowercase()
}

/// What a counter needs beside it, in the order of [`ROLES`].
pub(super) type Companions<X> = [X; 4];

/// The attributes that name companions.
pub(super) const ROLES: Companions<&str> = ["baseID", "perfTimeID", "perfFreqID", "multiCounterID"];

/// Whether a type can do something with a base that it does not need: the schema's page asks for one of
/// `perf_counter_multi_timer_inv`, \[MS-PCQ\] for the multiplier alone.
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
        // What the schema has not.
        let others = T::all().filter(|known| types.binary_search(known).is_err());
        assert_eq!(others.collect::<Vec<_>>(), [T::DOUBLE_RAW, T::NO_DATA, T::HISTOGRAM]);
    }

    #[test]
    fn registration_needs_the_same_companions() {
        for word in words().filter(|word| *word != COMPOSITE) {
            let counter_type = type_of(word).expect(word);
            let needed = counter_type.companions();
            for left_out in std::iter::once(None).chain((0..4).map(Some)) {
                let mut set = CounterSetInfo::new("Set", Guid::from_u128(1), InstanceType::Single);
                let mut counter = CounterInfo::new(9, "Counter", counter_type);
                let mut named = [None; 4];
                for (role, needed) in needed.iter().enumerate() {
                    if let Some(companion) = needed
                        && Some(role) != left_out
                    {
                        set.counters.push(CounterInfo::new(role as u32, role.to_string(), *companion));
                        named[role] = Some(role as u32);
                    }
                }
                [counter.base_id, counter.time_id, counter.frequency_id, counter.multiplier_id] = named;
                set.counters.push(counter);
                let is_missing = left_out.is_some_and(|role| needed[role].is_some());
                assert_eq!(set.check().is_err(), is_missing, "{word} without {left_out:?}");
            }
        }
    }
}
