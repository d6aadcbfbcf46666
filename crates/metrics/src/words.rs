//! The words of metric names, from the names of counter sets and counters.

/// Words that `promtool check metrics` reports: units that are not base units, and abbreviations. In a metric's name, such a
/// word is joined to the previous one without `_`.
const REPORTED_UNITS: &str = "s ms us ns sec b kb mb gb tb pb m h d minutes hours days weeks kelvins fahrenheit rankine inches \
                              yards miles bits calories pounds ounces";

/// Base units. `promtool` reports them only with a prefix such as `milli`.
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
    // `mibi` is in promtool's list.
    const PREFIXES: [&str; 18] = [
        "pico", "nano", "micro", "milli", "centi", "deci", "deca", "hecto", "kilo", "kibi", "mega", "mibi",
        "mebi", "giga", "gibi", "tera", "tebi", "peta",
    ];
    PREFIXES.iter().any(|prefix| {
        word.strip_prefix(prefix)
            .is_some_and(|unit| BASE_UNITS.contains(&unit) || unit.len() > 3 && is_reported_unit(unit))
    })
}

/// Changes words so that they are valid in a metric's name: no word is a reported unit or a metric type, and the last word is
/// not a suffix that Prometheus reserves.
pub(super) fn valid_words(words: &[String]) -> Vec<String> {
    without_reserved_suffix(valid_inner_words(words))
}

/// Like [`valid_words`], for words that other words follow in the name. The last word may therefore be a reserved suffix.
pub(super) fn valid_inner_words(words: &[String]) -> Vec<String> {
    let mut valid: Vec<String> = Vec::new();
    let mut leading_units = String::new();
    for word in words {
        let is_unit = is_reported_unit(word) || is_prefixed_unit(word);
        match valid.last_mut() {
            Some(last) if is_unit => last.push_str(word),
            None if is_unit => leading_units.push_str(word),
            _ if TYPES.contains(&word.as_str()) => valid.push(format!("{leading_units}{word}s")),
            _ => valid.push(format!("{leading_units}{word}")),
        }
        if !valid.is_empty() {
            leading_units.clear();
        }
    }
    if !leading_units.is_empty() {
        valid.push(format!("{leading_units}number"));
    }
    // Joining words can form a unit (`milli` and `meters`).
    valid.iter_mut().filter(|word| is_prefixed_unit(word)).for_each(|word| word.push_str("number"));
    valid
}

/// Replaces a last word that Prometheus reserves as a suffix.
fn without_reserved_suffix(mut valid: Vec<String>) -> Vec<String> {
    match valid.last().map(String::as_str) {
        Some("count") if valid.len() > 1 => {
            valid.pop();
            if let Some(last) = valid.last_mut() {
                *last = to_plural(last);
            }
        }
        Some("count" | "sum" | "bucket" | "total" | "info" | "created") => valid.rotate_right(1),
        _ => {}
    }
    // The last word is still reserved if there is only one word, or if the new last word is reserved too.
    if let Some(last) = valid.last_mut()
        && matches!(last.as_str(), "count" | "sum" | "bucket" | "total" | "info" | "created")
    {
        last.push_str("number");
    }
    valid
}

pub(super) fn to_plural(word: &str) -> String {
    let ends_with_any = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        _ if word.ends_with('s') && !word.ends_with("ss") => word.into(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) && !stem.is_empty() => format!("{stem}ies"),
        _ if ends_with_any(&["ss", "x", "z", "ch", "sh"]) => format!("{word}es"),
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
    fn words_become_plural() {
        let pairs = [("read", "reads"), ("flush", "flushes"), ("query", "queries"), ("key", "keys")];
        for (one, several) in
            pairs.into_iter().chain([("box", "boxes"), ("pass", "passes"), ("reads", "reads")])
        {
            assert_eq!(to_plural(one), several);
        }
    }
}
