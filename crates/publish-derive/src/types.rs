//! The counter types that a field can have.

use tachograph_schema::CounterType;

/// The counter type with this name in manifests. The prefix `perf_` may be omitted.
pub(crate) fn find(word: &str) -> Option<CounterType> {
    CounterType::from_manifest_word(word).or_else(|| CounterType::from_manifest_word(&format!("perf_{word}")))
}

/// The name of a counter type in manifests.
pub(crate) fn name(counter_type: CounterType) -> &'static str {
    counter_type.manifest_word().unwrap_or_default()
}

/// Whether a field can store the values of the type.
pub(crate) fn has_numeric_value(counter_type: CounterType) -> bool {
    counter_type.is_base() || counter_type.formula().is_some()
}

/// The names of the types that are most similar to `word`.
pub(crate) fn similar(word: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = word.split('_').filter(|part| *part != "perf" && *part != "counter").collect();
    let score =
        |known: &str| parts.iter().filter(|part| known.split('_').any(|other| other == **part)).count();
    let words = || {
        CounterType::all().filter(|known| has_numeric_value(*known)).filter_map(CounterType::manifest_word)
    };
    let best = words().map(score).max().unwrap_or(0);
    words().filter(|known| best > 0 && score(known) == best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_with_and_without_prefix() {
        assert_eq!(find("perf_counter_bulk_count").map(|found| found.0), Some(0x1041_0500));
        assert_eq!(find("counter_bulk_count").map(|found| found.0), Some(0x1041_0500));
        assert!(find("bulk_count").is_none() && find("").is_none());
        assert_eq!(similar("bulk_count"), ["perf_counter_bulk_count"]);
        assert!(similar("gauge").is_empty());
    }

    #[test]
    fn required_bases_have_a_base_type_with_a_name() {
        for known in CounterType::all() {
            if let [Some(base), ..] = known.companions() {
                assert!(base.is_base() && base.manifest_word().is_some(), "{known}");
            }
        }
    }
}
