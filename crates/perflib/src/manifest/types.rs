//! The counter types that a manifest can name, and the counters that each needs beside it.

use tachograph_counters::CounterType as T;
use tachograph_counters::wildcard::closest;

/// The words of the schema.
///
/// Source: "Performance Counters Schema", counter.
pub(super) const TYPE_WORDS: [&str; 38] = [
    "perf_counter_counter",
    "perf_counter_timer",
    "perf_counter_queuelen_type",
    "perf_counter_large_queuelen_type",
    "perf_counter_100ns_queuelen_type",
    "perf_counter_obj_time_queuelen_type",
    "perf_counter_bulk_count",
    "perf_counter_text",
    "perf_counter_rawcount",
    "perf_counter_large_rawcount",
    "perf_counter_rawcount_hex",
    "perf_counter_large_rawcount_hex",
    "perf_sample_fraction",
    "perf_sample_counter",
    "perf_counter_timer_inv",
    "perf_sample_base",
    "perf_average_timer",
    "perf_average_base",
    "perf_average_bulk",
    "perf_obj_time_timer",
    "perf_100nsec_timer",
    "perf_100nsec_timer_inv",
    "perf_counter_multi_timer",
    "perf_counter_multi_timer_inv",
    "perf_counter_multi_base",
    "perf_100nsec_multi_timer",
    "perf_100nsec_multi_timer_inv",
    "perf_raw_fraction",
    "perf_large_raw_fraction",
    "perf_raw_base",
    "perf_large_raw_base",
    "perf_elapsed_time",
    "perf_counter_delta",
    "perf_counter_large_delta",
    "perf_precision_system_timer",
    "perf_precision_100ns_timer",
    "perf_precision_object_timer",
    COMPOSITE,
];

/// In the schema, but without a value or a formula anywhere.
const COMPOSITE: &str = "perf_counter_composite";

/// The type of a word of the schema. The error says what was expected.
pub(super) fn type_of(word: &str) -> Result<T, String> {
    if word == COMPOSITE {
        return Err(
            "a type that has a formula: the schema names this one, and nothing says what it means".into()
        );
    }
    match TYPE_WORDS
        .iter()
        .find(|known| **known == word)
        .and_then(|known| T::from_name(&known.to_uppercase()))
    {
        Some(counter_type) => Ok(counter_type),
        None => Err(match closest(word, TYPE_WORDS.into_iter()) {
            Some(near) => format!("one of the schema's types: did you mean '{near}'?"),
            None => "one of the schema's types, such as perf_counter_bulk_count".into(),
        }),
    }
}

/// The word of a type; for a type that the schema does not have, its name or number.
pub(super) fn word_of(counter_type: T) -> String {
    counter_type.to_string().to_lowercase()
}

/// What a counter needs beside it, in the order of [`ROLES`].
pub(super) type Companions<X> = [X; 4];

/// The attributes that name companions.
pub(super) const ROLES: Companions<&str> = ["baseID", "perfTimeID", "perfFreqID", "multiCounterID"];

/// The types of the companions that a type needs.
///
/// Source: "Performance Counters Schema", counter, and \[MS-PCQ\] 2.2.4.2.
pub(super) fn needed(counter_type: T) -> Companions<Option<T>> {
    let base = match counter_type {
        T::AVERAGE_TIMER | T::AVERAGE_BULK => Some(T::AVERAGE_BASE),
        T::RAW_FRACTION => Some(T::RAW_BASE),
        T::SAMPLE_FRACTION => Some(T::SAMPLE_BASE),
        T::LARGE_RAW_FRACTION | T::PRECISION_SYSTEM_TIMER | T::PRECISION_100NS_TIMER => {
            Some(T::LARGE_RAW_BASE)
        }
        _ => None,
    };
    let clock = match counter_type {
        T::OBJ_TIME_TIMER | T::OBJ_TIME_QUEUELEN | T::ELAPSED_TIME | T::PRECISION_OBJECT_TIMER => {
            Some(T::LARGE_RAWCOUNT)
        }
        _ => None,
    };
    let multiplier = match counter_type {
        T::COUNTER_MULTI_TIMER
        | T::COUNTER_MULTI_TIMER_INV
        | T::MULTI_TIMER_100NS
        | T::MULTI_TIMER_INV_100NS => Some(T::RAWCOUNT),
        _ => None,
    };
    [base, clock, clock, multiplier]
}

/// Whether a type can do something with a base that it does not need: the schema's page asks for one of
/// `perf_counter_multi_timer_inv`, \[MS-PCQ\] for the multiplier alone.
pub(super) fn takes_base(counter_type: T) -> bool {
    needed(counter_type)[0].is_some() || counter_type.base().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Guid;
    use crate::registration::{CounterInfo, CounterSetInfo, InstanceType};

    #[test]
    fn every_word_but_one_has_a_type() {
        let mut types: Vec<_> = TYPE_WORDS.iter().filter_map(|word| type_of(word).ok()).collect();
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

    /// Two places know what a type needs; here is why they say the same.
    #[test]
    fn registration_needs_the_same_companions() {
        for word in TYPE_WORDS.into_iter().filter(|word| *word != COMPOSITE) {
            let counter_type = type_of(word).expect(word);
            let needed = needed(counter_type);
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
                assert_eq!(set.check_in_words().is_err(), is_missing, "{word} without {left_out:?}");
            }
        }
    }
}
