//! The words of metric names, from the names of counter sets and counters.

/// Words that `promtool check metrics` reports: units that are not base units, and abbreviations. Names have them appended to
/// the previous word, without `_`.
const REPORTED_UNITS: &str = "s ms us ns sec b kb mb gb tb pb m h d minutes hours days weeks kelvins fahrenheit rankine inches \
                              yards miles bits calories pounds ounces";

/// Base units, which `promtool` reports only with a prefix such as `milli`.
const BASE_UNITS: [&str; 11] = [
    "amperes", "bytes", "celsius", "grams", "joules", "kelvin", "meters", "metres", "moles", "seconds",
    "volts",
];

/// Metric types, which must not appear in names.
const TYPES: [&str; 5] = ["counter", "gauge", "histogram", "summary", "untyped"];

/// The words of a name: ASCII letters and digits, in lower case.
pub(super) fn words_of(name: &str) -> Vec<String> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

fn is_reported_unit(word: &str) -> bool {
    REPORTED_UNITS.split(' ').any(|unit| unit == word)
}

/// Whether a word is a unit with a metric prefix such as `milli`.
fn is_prefixed_unit(word: &str) -> bool {
    const PREFIXES: [&str; 18] = [
        "pico", "nano", "micro", "milli", "centi", "deci", "deca", "hecto", "kilo", "kibi", "mega", "mibi",
        "mebi", "giga", "gibi", "tera", "tebi", "peta",
    ];
    PREFIXES.iter().any(|prefix| {
        word.strip_prefix(prefix)
            .is_some_and(|unit| BASE_UNITS.contains(&unit) || unit.len() > 3 && is_reported_unit(unit))
    })
}

/// Changes words so that they are valid in a metric's name: no word is a unit or a metric type, and the last one is not a
/// suffix that Prometheus reserves.
pub(super) fn valid_words(words: &[String]) -> Vec<String> {
    without_reserved_suffix(valid_inner_words(words))
}

/// Like [`valid_words`], for words that are followed by others in the name: the last one may be a reserved suffix.
pub(super) fn valid_inner_words(words: &[String]) -> Vec<String> {
    let mut fit: Vec<String> = Vec::new();
    let mut before = String::new();
    for word in words {
        let is_unit = is_reported_unit(word) || is_prefixed_unit(word);
        match fit.last_mut() {
            Some(last) if is_unit => last.push_str(word),
            None if is_unit => before.push_str(word),
            _ if TYPES.contains(&word.as_str()) => fit.push(format!("{before}{word}s")),
            _ => fit.push(format!("{before}{word}")),
        }
        if !fit.is_empty() {
            before.clear();
        }
    }
    if !before.is_empty() {
        fit.push(format!("{before}number"));
    }
    // Joining words can form a unit (`milli` and `meters`).
    fit.iter_mut().filter(|word| is_prefixed_unit(word)).for_each(|word| word.push_str("number"));
    fit
}

/// Replaces a last word that Prometheus reserves as a suffix.
fn without_reserved_suffix(mut fit: Vec<String>) -> Vec<String> {
    match fit.last().map(String::as_str) {
        Some("count") if fit.len() > 1 => {
            fit.pop();
            if let Some(last) = fit.last_mut() {
                *last = plural(last);
            }
        }
        Some("count" | "sum" | "bucket" | "total" | "info" | "created") => fit.rotate_right(1),
        _ => {}
    }
    // The reserved word was the only word, or another reserved word is last now.
    if let Some(last) = fit.last_mut()
        && matches!(last.as_str(), "count" | "sum" | "bucket" | "total" | "info" | "created")
    {
        last.push_str("number");
    }
    fit
}

pub(super) fn plural(word: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        _ if word.ends_with('s') && !word.ends_with("ss") => word.into(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) && !stem.is_empty() => format!("{stem}ies"),
        _ if ends(&["ss", "x", "z", "ch", "sh"]) => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        let name = |text: &str| valid_words(&words_of(text)).join("_");
        assert_eq!(name("Free & Zero Page List"), "free_zero_page_list");
        assert_eq!(name("Thread Count"), "threads");
        assert_eq!(name("Retry Count"), "retries");
        assert_eq!(name("Grand Total"), "total_grand");
        assert_eq!(name("Total"), "totalnumber");
        assert_eq!(name("Counter"), "counters");
        assert_eq!(name("The last 10 s"), "the_last_10s");
        assert_eq!(name("Minutes"), "minutesnumber");
        assert_eq!(name("Milliseconds of work"), "millisecondsof_work");
        assert_eq!(name("thermometers"), "thermometers");
        assert_eq!(name("Größe\u{0}\n"), "gr_e");
        assert_eq!(name("%"), "");
    }

    #[test]
    fn plurals() {
        let pairs = [("read", "reads"), ("flush", "flushes"), ("query", "queries"), ("key", "keys")];
        for (one, several) in
            pairs.into_iter().chain([("box", "boxes"), ("pass", "passes"), ("reads", "reads")])
        {
            assert_eq!(plural(one), several);
        }
    }
}
