//! The search for counters by words: names, synonyms and descriptions of sets and counters.

mod foreign_names;

use std::cmp::Reverse;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::{closest, fold_case};

pub use foreign_names::{EVERYDAY, ForeignName, foreign_names};

use crate::SetEntry;

/// The score of a searched word, by what it matches. The score of a hit is the sum over all words.
mod score {
    /// A synonym of exactly this counter.
    pub(super) const SYNONYM: u32 = 110;
    /// Subtracted from the score of a synonym that is a metric of another tool, not an everyday word.
    pub(super) const TOOL_PENALTY: u32 = 3;
    /// The whole name of the set or counter.
    pub(super) const WHOLE: u32 = 100;
    /// A synonym of a whole set.
    pub(super) const SET_SYNONYM: u32 = 92;
    /// A synonym of several counters of a set.
    pub(super) const GROUP_SYNONYM: u32 = 90;
    /// A synonym of counters of any set.
    pub(super) const WIDE_SYNONYM: u32 = 85;
    /// A word of the name.
    pub(super) const WORD: u32 = 80;
    /// The start of a word of the name.
    pub(super) const START: u32 = 60;
    /// The start of a synonym, or one of its words.
    pub(super) const PART_OF_SYNONYM: u32 = 40;
    /// A part of the name.
    pub(super) const PART: u32 = 30;
    /// The start of a word of the description. No other match has so low a score.
    pub(super) const HELP: u32 = 10;
}

/// Minimum length of a searched word that can match in the middle of a name.
const MIN_PART: usize = 3;

/// A set or counter that matches all words of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The index of the set.
    pub set: usize,
    /// The index of the counter; `None` for the set as a whole.
    pub counter: Option<usize>,
    /// How well it matches: higher is better.
    pub score: u32,
    /// Whether a word matches only the description.
    is_help_match: bool,
}

/// Sets and counters, prepared for searches.
#[derive(Debug, Default)]
pub struct SearchIndex {
    sets: Vec<(Text, Vec<Text>)>,
}

/// The searchable text of a set or counter, case-folded.
#[derive(Debug, Default)]
struct Text {
    name: String,
    help: String,
    synonyms: Vec<(String, u32)>,
}

impl SearchIndex {
    /// Prepares these sets. [`Hit`]s refer to them by index.
    pub fn new(sets: &[SetEntry]) -> Self {
        let rows: Vec<_> = foreign_names()
            .filter_map(|row| {
                let path = PathPattern::parse(row.path?).ok()?;
                let penalty = if row.tool == EVERYDAY { 0 } else { score::TOOL_PENALTY };
                Some((fold_case(row.name), specificity(&path) - penalty, path))
            })
            .collect();
        let index = |set: &SetEntry| {
            let set_rows: Vec<_> =
                rows.iter().filter(|(.., path)| path.matches_set_name(&set.name)).collect();
            let all = set_rows.iter().filter(|(.., path)| is_whole_set(path));
            let text = Text {
                name: fold_case(&set.name),
                help: fold_case(&set.help),
                synonyms: all.map(|(name, score, _)| (name.clone(), *score)).collect(),
            };
            let counter = |name: &str, help: &str| {
                let synonyms =
                    set_rows.iter().filter(|(.., path)| !is_whole_set(path) && path.matches_counter(name));
                Text {
                    name: fold_case(name),
                    help: fold_case(help),
                    synonyms: synonyms.map(|(name, score, _)| (name.clone(), *score)).collect(),
                }
            };
            let counters = set.counters.iter().map(|entry| counter(&entry.counter.name, &entry.help));
            (text, counters.collect())
        };
        Self { sets: sets.iter().map(index).collect() }
    }

    /// The sets and counters that match all words of `text` in any order, best match first. If a set matches, those of its
    /// counters that do not match better are omitted. Descriptions are searched only if no names or synonyms match all
    /// words.
    pub fn search(&self, text: &str) -> Vec<Hit> {
        let words = words(text);
        let mut hits = Vec::new();
        if words.is_empty() {
            return hits;
        }
        for (set, (set_text, counters)) in self.sets.iter().enumerate() {
            let set_scores: Vec<_> = words.iter().map(|word| set_text.score(word, &words)).collect();
            let is_set_hit = set_scores.iter().all(|&score| score > 0);
            if is_set_hit {
                hits.push(Hit::new(set, None, &set_scores));
            }
            for (counter, counter_text) in counters.iter().enumerate() {
                let own: Vec<_> = words.iter().map(|word| counter_text.score(word, &words)).collect();
                let best: Vec<_> =
                    own.iter().zip(&set_scores).map(|(own, of_set)| *own.max(of_set)).collect();
                let is_better = own.iter().zip(&set_scores).any(|(own, of_set)| own > of_set);
                if best.iter().all(|&score| score > 0) && is_better {
                    hits.push(Hit::new(set, Some(counter), &best));
                }
            }
        }
        if hits.iter().any(|hit| !hit.is_help_match) {
            hits.retain(|hit| !hit.is_help_match);
        }
        // Of equally good matches, a counter whose name has no other words comes first.
        let has_more =
            |hit: &Hit| hit.counter.is_some_and(|counter| self.sets[hit.set].1[counter].has_more(&words));
        hits.sort_by_cached_key(|hit| (Reverse(hit.score), has_more(hit)));
        hits
    }

    /// The largest subset of these words that occurs together in a set or counter: of several subsets of the same size, the one
    /// with the best match; of equally good ones, the one with the earlier words. Empty if none of the words occurs.
    ///
    /// The time grows with two to the power of the number of words.
    pub fn words_together<'a>(&self, words: &[&'a str]) -> Vec<&'a str> {
        let known: Vec<_> = words.iter().copied().filter(|word| !self.search(word).is_empty()).collect();
        let parts = 1_u32..1 << known.len().min(MAX_WORDS);
        let words_of = |part: u32| -> Vec<&str> {
            let is_in = |(index, _): &(usize, &&str)| part & 1 << index != 0;
            known.iter().enumerate().filter(is_in).map(|(_, word)| *word).collect()
        };
        let found = parts.filter_map(|part| {
            let score = self.search(&words_of(part).join(" ")).first()?.score;
            Some((part.count_ones(), score, Reverse(part)))
        });
        found.max().map_or_else(Vec::new, |(_, _, Reverse(part))| words_of(part))
    }
}

/// The maximum number of words of which all subsets are tried.
const MAX_WORDS: usize = 8;

impl Hit {
    fn new(set: usize, counter: Option<usize>, scores: &[u32]) -> Self {
        let is_help_match = scores.iter().any(|&score| score <= score::HELP);
        Self { set, counter, score: scores.iter().sum(), is_help_match }
    }
}

impl Text {
    /// Whether the name has words that are not searched.
    fn has_more(&self, words: &[String]) -> bool {
        parts(&self.name).any(|part| words.iter().all(|word| word != part))
    }

    /// The score of one of the words; 0 if it does not occur.
    fn score(&self, word: &str, all: &[String]) -> u32 {
        let is_long = word.chars().count() >= MIN_PART;
        let of_name = if self.name == word {
            score::WHOLE
        } else {
            let of_word = |name: &str| match name.strip_prefix(word) {
                Some("") => score::WORD,
                Some(_) => score::START,
                None if word.strip_suffix('s') == Some(name) => score::START,
                None if is_long && name.contains(word) => score::PART,
                None => 0,
            };
            parts(&self.name).chain(self.name.split(' ')).map(of_word).max().unwrap_or(0)
        };
        let of_synonym = |(name, score): &(String, u32)| {
            if is_same(name, word) || is_phrase_in(name, word, all) {
                return *score;
            }
            // "/proc/meminfo: MemAvailable" is not a match for "proc".
            let key = name.rsplit(": ").next().unwrap_or(name);
            let is_part = is_long && (name.starts_with(word) || parts(key).any(|part| part == word));
            if is_part { score::PART_OF_SYNONYM } else { 0 }
        };
        let of_synonyms = self.synonyms.iter().map(of_synonym).max().unwrap_or(0);
        let of_help = match is_long && parts(&self.help).any(|part| part.starts_with(word)) {
            true => score::HELP,
            false => 0,
        };
        of_name.max(of_synonyms).max(of_help)
    }
}

/// The metrics of other tools that these words name and that have no counter, with the reason; each reason once.
pub fn absent_figures(text: &str) -> Vec<ForeignName> {
    let words = words(text);
    let whole = words.join(" ");
    let is_meant = |row: &ForeignName| {
        let name = fold_case(row.name);
        row.path.is_none()
            && (is_same(&name, &whole)
                || words.iter().any(|word| is_same(&name, word) || is_phrase_in(&name, word, &words)))
    };
    let mut found: Vec<ForeignName> = Vec::new();
    for row in foreign_names().filter(is_meant) {
        if found.iter().all(|known| known.remark != row.remark) {
            found.push(row);
        }
    }
    found
}

/// The counter paths of metrics and everyday words with exactly this name, in the singular or plural, whether or not a
/// machine has the counters.
pub fn known_paths(name: &str) -> Vec<&'static str> {
    let name = fold_case(name);
    let is_meant = |known: &str| is_same(known, &name) || singular(known) == singular(&name);
    let rows = foreign_names().filter(|row| is_meant(&fold_case(row.name)));
    rows.filter_map(|row| row.path).collect()
}

/// The everyday word that is most similar to a misspelt one.
pub fn similar_word(word: &str) -> Option<&'static str> {
    closest(word, foreign_names().filter(|row| row.tool == EVERYDAY).map(|row| row.name))
}

/// The words of a search, case-folded. The separators of counter paths separate words too.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '\\' | '(' | ')' | '*'))
        .filter(|word| !word.is_empty())
        .map(fold_case)
        .collect()
}

/// The runs of letters and digits in a name.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

/// Whether a word is this synonym; the word can omit `%` at the synonym's ends.
fn is_same(synonym: &str, word: &str) -> bool {
    synonym == word || synonym.trim_matches('%') == word
}

/// A word without the `s` of a plural. In shorter words, an `s` often has another meaning, such as "per second".
fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() >= MIN_STEM && !stem.ends_with('s')).unwrap_or(word)
}

/// Minimum length of a word without the `s` of its plural.
const MIN_STEM: usize = 4;

/// Whether a synonym of several words contains this word, and all words of the synonym are searched.
fn is_phrase_in(synonym: &str, word: &str, all: &[String]) -> bool {
    synonym.contains(' ')
        && synonym.split(' ').any(|part| part == word)
        && synonym.split(' ').all(|part| all.iter().any(|word| word == part))
}

/// Whether a path selects all counters of sets.
fn is_whole_set(path: &PathPattern) -> bool {
    path.path().counter == "*"
}

/// The score of a synonym. The fewer counters its path can select, the higher it is.
fn specificity(path: &PathPattern) -> u32 {
    let has_wildcard = |name: &str| name.contains(['*', '?']);
    match path.path() {
        path if has_wildcard(&path.set) => score::WIDE_SYNONYM,
        path if path.counter == "*" => score::SET_SYNONYM,
        path if has_wildcard(&path.counter) => score::GROUP_SYNONYM,
        _ => score::SYNONYM,
    }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::CounterType;
    use tachograph_counters::set::Counter;

    use super::*;
    use crate::CounterEntry;

    fn set_entry(name: &str, help: &str, has_instances: bool, counters: &[(&str, &str)]) -> SetEntry {
        let entry = |&(name, help): &(&str, &str)| CounterEntry {
            counter: Counter::new(name, CounterType::RAWCOUNT, 1),
            help: help.into(),
        };
        let counters = counters.iter().map(entry).collect();
        SetEntry { machine: None, name: name.into(), help: help.into(), has_instances, counters }
    }

    /// The paths that a search finds, in order.
    fn found_paths(text: &str) -> Vec<String> {
        let time = ("% Processor Time", "Share of the time in which the processor was not idle.");
        let sets = [
            set_entry("Cgroup", "", true, &[time, ("OOM Kills/sec", "")]),
            set_entry("Memory", "", false, &[("Available Bytes", "Memory for programs, without swapping.")]),
            set_entry("PhysicalDisk", "", true, &[("Avg. Disk sec/Read", ""), ("Disk Reads/sec", "")]),
            set_entry(
                "Process",
                "",
                true,
                &[time, ("Page Faults/sec", ""), ("Working Set Peak", ""), ("Working Set", "")],
            ),
            set_entry("Processor Information", "", true, &[time, ("% Idle Time", ""), ("% User Time", "")]),
            set_entry("Network Interface", "", true, &[("Bytes Received/sec", ""), ("Bytes Sent/sec", "")]),
        ];
        let path = |hit: &Hit| {
            let set = &sets[hit.set];
            format!("{}/{}", set.name, hit.counter.map_or("*", |counter| &set.counters[counter].counter.name))
        };
        SearchIndex::new(&sets).search(text).iter().map(path).collect()
    }

    #[test]
    fn a_counter_with_exactly_these_words_is_before_those_with_more() {
        assert_eq!(
            found_paths("process working set")[..2],
            ["Process/Working Set", "Process/Working Set Peak"]
        );
        assert_eq!(found_paths("peak working set process"), ["Process/Working Set Peak"]);
    }

    #[test]
    fn synonyms_find_counters() {
        assert_eq!(found_paths("cpu")[0], "Processor Information/% Processor Time");
        assert_eq!(found_paths("ram")[0], "Memory/Available Bytes");
        assert_eq!(found_paths("r_await")[0], "PhysicalDisk/Avg. Disk sec/Read");
        assert_eq!(found_paths("latency"), ["PhysicalDisk/Avg. Disk sec/Read"]);
        assert_eq!(found_paths("rx")[0], "Network Interface/Bytes Received/sec");
        assert_eq!(found_paths("OOM")[0], "Cgroup/OOM Kills/sec");
        assert_eq!(found_paths("out of memory")[0], "Cgroup/OOM Kills/sec");
        for text in ["%user", "user", "%usr", "usr"] {
            assert_eq!(found_paths(text)[0], "Processor Information/% User Time", "{text}");
        }
    }

    #[test]
    fn words_are_in_any_order_and_the_best_match_is_first() {
        for text in ["process cpu", "CPU process", r"\Process(*)\cpu"] {
            let found = found_paths(text);
            assert_eq!(found[0], "Process/% Processor Time", "{text}: {found:?}");
            assert!(!found.contains(&"Process/Page Faults/sec".to_owned()), "{text}: {found:?}");
        }
        assert!(found_paths("process quantum").is_empty() && found_paths(" ").is_empty());
    }

    #[test]
    fn as_many_words_as_occur_together_are_kept() {
        let sets = [
            set_entry("Processor", "", true, &[("% Steal Time", ""), ("% User Time", "")]),
            set_entry("Disk", "", true, &[("Reads/sec", "")]),
        ];
        let index = SearchIndex::new(&sets);
        assert_eq!(index.words_together(&["processor", "xylophone", "steal"]), ["processor", "steal"]);
        assert_eq!(index.words_together(&["disk", "steal"]).len(), 1);
        assert!(index.words_together(&["xylophone", "quantum"]).is_empty());
        assert!(index.words_together(&[]).is_empty());
    }

    #[test]
    fn a_matching_set_replaces_its_counters() {
        assert_eq!(found_paths("network"), ["Network Interface/*"]);
        assert_eq!(found_paths("physicaldisk"), ["PhysicalDisk/*"]);
    }

    #[test]
    fn descriptions_count_only_if_nothing_else_matches() {
        assert_eq!(found_paths("programs"), ["Memory/Available Bytes"]);
        assert_eq!(found_paths("share").len(), 3);
        assert_eq!(found_paths("idle"), ["Processor Information/% Idle Time"]);
    }

    #[test]
    fn metrics_without_a_counter_have_a_reason() {
        let reason = |text: &str| absent_figures(text).first().map(|row| (row.name, row.remark));
        assert_eq!(reason("svctm").map(|(name, _)| name), Some("svctm"));
        assert!(reason("Syscalls").is_some_and(|(_, why)| why.contains("system calls")));
        assert_eq!(reason("cpu"), None);
        assert_eq!(reason("the"), None);
        for path in [r"\Thermal Zone(*)\Temperature", r"\Temperature Sensor(*)\Temperature"] {
            assert!(known_paths("temps").contains(&path), "{path}");
        }
        for (word, other) in [("sensor", "sensors"), ("Temperatures", "temperature")] {
            assert!(!known_paths(word).is_empty());
            assert_eq!(known_paths(word), known_paths(other), "{word}");
        }
        assert!(known_paths("sensorss").is_empty());
        assert_eq!((similar_word("latncy"), similar_word("Quantum")), (Some("latency"), None));
    }
}
