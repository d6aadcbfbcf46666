//! Derives names for generated code.

use std::collections::{HashMap, HashSet};

/// Splits a name into words: `% Disk Reads/sec` becomes percent, Disk, Reads, per, sec; `ShopRequests` becomes Shop,
/// Requests.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let starts_word = c.is_ascii_uppercase()
            && (previous.is_ascii_lowercase()
                || previous.is_ascii_digit()
                || (previous.is_ascii_uppercase() && chars.peek().is_some_and(char::is_ascii_lowercase)));
        match c {
            '%' => words.extend(["percent".to_owned(), String::new()]),
            '/' => words.extend(["per".to_owned(), String::new()]),
            c if c.is_ascii_alphanumeric() => {
                if starts_word {
                    words.push(String::new());
                }
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
            _ => words.push(String::new()),
        }
        previous = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The name in camel case, such as `DiskReadsPerSec`. Empty if the name has no ASCII letter or digit, `%` or `/`.
pub(super) fn camel_case(name: &str) -> String {
    let capital = |word: String| {
        let rest = word.get(1..).unwrap_or_default();
        let rest = if word.bytes().any(|byte| byte.is_ascii_lowercase()) {
            rest.into()
        } else {
            rest.to_lowercase()
        };
        word.get(..1).unwrap_or_default().to_uppercase() + &rest
    };
    prefix_leading_digit(words(name).into_iter().map(capital).collect())
}

/// The name in snake case, such as `disk_reads_per_sec`.
pub(super) fn snake_case(name: &str) -> String {
    prefix_leading_digit(words(name).join("_").to_lowercase())
}

fn prefix_leading_digit(name: String) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("n{name}") } else { name }
}

/// Generates unique names.
#[derive(Default)]
pub(super) struct Names {
    /// The names generated so far.
    used_names: HashSet<String>,
    /// For each name, the next suffix to try.
    next_suffixes: HashMap<String, u64>,
}

impl Names {
    /// Returns the name if it is unused; otherwise the first unused name among `name_2`, `name_3`, and so on.
    pub(super) fn unique_name(&mut self, name: &str) -> String {
        if self.used_names.insert(name.to_owned()) {
            return name.to_owned();
        }
        let next = self.next_suffixes.entry(name.to_owned()).or_insert(2);
        loop {
            let numbered = format!("{name}_{next}");
            *next += 1;
            if self.used_names.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// The keywords of Rust.
const RUST_KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self Self static struct \
    super trait true try type typeof unsafe unsized use virtual where while yield";

/// Converts a name to a Rust identifier; returns `default` if the name is empty.
pub(super) fn rust_identifier(name: String, default: &str) -> String {
    match name {
        name if name.is_empty() => default.to_owned(),
        name if RUST_KEYWORDS.split_ascii_whitespace().any(|word| word == name) => name + "_",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_camel_and_snake_case() {
        for (name, in_camel, in_snake) in [
            ("% Disk Reads/sec", "PercentDiskReadsPerSec", "percent_disk_reads_per_sec"),
            ("ShopRequests", "ShopRequests", "shop_requests"),
            ("SHOP_OPEN_ORDERS", "ShopOpenOrders", "shop_open_orders"),
            ("HTTPRequests2Go", "HttpRequests2Go", "http_requests2_go"),
            ("Avg. Bytes/Cart Base", "AvgBytesPerCartBase", "avg_bytes_per_cart_base"),
            ("99th Percentile", "n99thPercentile", "n99th_percentile"),
            ("Größe", "GrE", "gr_e"),
            ("-", "", ""),
        ] {
            assert_eq!((camel_case(name).as_str(), snake_case(name).as_str()), (in_camel, in_snake));
        }
        assert_eq!(rust_identifier("type".into(), "x"), "type_");
        assert_eq!(rust_identifier(String::new(), "x"), "x");
        let mut names = Names::default();
        assert_eq!(["a", "a", "a_2", "a"].map(|name| names.unique_name(name)), ["a", "a_2", "a_2_2", "a_3"]);
    }
}
