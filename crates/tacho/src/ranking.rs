//! Order of rows: `--sort` and `--top`.

use std::cmp::Ordering;

use tachograph_counters::path::PathPattern;

/// Compares values in descending order. Missing values are last.
pub(crate) fn descending(one: Option<f64>, other: Option<f64>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => other.total_cmp(&one),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

/// The name of the counter that `--sort` names: on its own, or as the last part of a path.
pub(crate) fn counter_name(text: &str) -> String {
    match PathPattern::parse(text) {
        Ok(_) => text.rsplit_once('\\').map_or(text, |(_, counter)| counter).to_owned(),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_last() {
        let mut values = [None, Some(1.0), Some(f64::MAX), Some(-1.0), None];
        values.sort_by(|one, other| descending(*one, *other));
        assert_eq!(values, [Some(f64::MAX), Some(1.0), Some(-1.0), None, None]);
    }

    #[test]
    fn a_path_names_its_counter() {
        for text in
            ["% Processor Time", r"\Process(*)\% Processor Time", r"\\M\Process(a\b)\% Processor Time"]
        {
            assert_eq!(counter_name(text), "% Processor Time");
        }
        assert_eq!(counter_name("Bytes/sec"), "Bytes/sec");
    }
}
