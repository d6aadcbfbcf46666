//! The counter types that a field can have.

use tachograph_schema::CounterType;

/// The type of a manifest's word, with or without its `perf_`.
pub(crate) fn find(word: &str) -> Option<CounterType> {
    CounterType::from_manifest_word(word).or_else(|| CounterType::from_manifest_word(&format!("perf_{word}")))
}

/// The manifest's word of a type that [`find`] gave.
pub(crate) fn word(counter_type: CounterType) -> &'static str {
    counter_type.manifest_word().unwrap_or_default()
}

/// Whether a field can hold a number of the type: all but texts.
pub(crate) fn has_number(counter_type: CounterType) -> bool {
    counter_type.is_base() || counter_type.formula().is_some()
}

/// The types whose words are the most similar to this one.
pub(crate) fn similar(word: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = word.split('_').filter(|part| *part != "perf" && *part != "counter").collect();
    let score =
        |known: &str| parts.iter().filter(|part| known.split('_').any(|other| other == **part)).count();
    let words =
        || CounterType::all().filter(|known| has_number(*known)).filter_map(CounterType::manifest_word);
    let best = words().map(score).max().unwrap_or(0);
    words().filter(|known| best > 0 && score(known) == best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_and_without_their_start() {
        assert_eq!(find("perf_counter_bulk_count").map(|found| found.0), Some(0x1041_0500));
        assert_eq!(find("counter_bulk_count").map(|found| found.0), Some(0x1041_0500));
        assert!(find("bulk_count").is_none() && find("").is_none());
        assert_eq!(similar("bulk_count"), ["perf_counter_bulk_count"]);
        assert!(similar("gauge").is_empty());
    }

    #[test]
    fn what_a_type_needs_exists() {
        for known in CounterType::all() {
            if let [Some(base), ..] = known.companions() {
                assert!(base.is_base() && base.manifest_word().is_some(), "{known}");
            }
        }
    }
}
