//! The results of a search for words in the counters of this machine.

use std::sync::Arc;

use indexmap::IndexMap;
use tachograph_monitor::{Catalogue as _, Hit, MachineCatalogue, SearchIndex, SetEntry, absent_figures};
use tachograph_perflib::Registry;

use super::Form;
use super::chosen_set::{ChosenSet, columns, describe};
use crate::failure::{Failure, notify};
use crate::table::escape_controls;
use crate::this_machine::{all_counters, better_matches};

/// The maximum number of lines of a table.
const MAX_LINES: usize = 25;

/// The maximum number of words in a search that may ignore some of them.
const MAX_WORDS: usize = 8;

/// The results of a search, best first. Each is a counter or a whole set.
pub(super) struct Found {
    words: String,
    /// The score of the best result; 0 without results.
    score: u32,
    /// The selected part of a set, and whether the result is the whole set.
    parts: Vec<(ChosenSet, bool)>,
}

/// Searches for sets and counters that contain all words.
pub(super) fn search(registry: &Arc<Registry>, words: &str, form: Form) -> Found {
    let catalogue = MachineCatalogue(Arc::clone(registry)).sets();
    let mut hits = SearchIndex::new(&catalogue).search(words);
    if matches!(form, Form::Json { .. }) {
        hits = by_set(hits);
    }
    let part = |hit: &Hit| part_of(registry, catalogue.get(hit.set)?, hit.counter);
    let score = hits.iter().map(|hit| hit.score).max().unwrap_or_default();
    let mut found = Found { words: words.to_owned(), score, parts: hits.iter().filter_map(part).collect() };
    if matches!(form, Form::Json { .. }) {
        found.join_parts();
    }
    if matches!(form, Form::PathsWithInstances | Form::Json { has_instances: true }) {
        found.parts.iter_mut().for_each(|(part, _)| part.read_instances(registry));
    }
    found
}

/// Searches for as many of the words as occur together, and reports the words that were ignored.
///
/// # Errors
///
/// If no counter contains any of the words; or, with `must_be_complete`, if a word must be ignored.
pub(super) fn search_some(
    registry: &Arc<Registry>,
    words: &str,
    form: Form,
    must_be_complete: bool,
) -> Result<Found, Failure> {
    let all: Vec<&str> = words.split_whitespace().take(MAX_WORDS).collect();
    let index = SearchIndex::new(&MachineCatalogue(Arc::clone(registry)).sets());
    let kept = index.words_together(&all);
    if kept.is_empty() {
        let mut messages = absent_messages(words);
        messages.push(format!("no counter of this machine contains one of the words '{words}'"));
        return Err(Failure::usage_messages(messages));
    }
    let left_out = all.iter().filter(|word| !kept.contains(word)).map(|word| format!("'{word}'"));
    let left_out = left_out.collect::<Vec<_>>().join(", ");
    if must_be_complete {
        return Err(Failure::usage(format!(
            "no counter of this machine contains all words; omit {left_out}"
        )));
    }
    notify_absent(words);
    notify(format_args!("no counter of this machine contains all words; left out: {left_out}"));
    Ok(search(registry, &kept.join(" "), form))
}

/// Reports metrics of other tools that match these words but have no counter.
pub(super) fn notify_absent(words: &str) {
    absent_messages(words).iter().for_each(notify);
}

/// A message for each metric of another tool that matches these words but has no counter.
pub(super) fn absent_messages(words: &str) -> Vec<String> {
    absent_figures(words).iter().map(|row| format!("'{}': {}", row.name, row.remark)).collect()
}

fn part_of(registry: &Registry, entry: &SetEntry, counter: Option<usize>) -> Option<(ChosenSet, bool)> {
    let set = ChosenSet::whole(registry, registry.find(&entry.name)?);
    match counter {
        Some(counter) => Some((set.with_counter(&entry.counters.get(counter)?.counter.name), false)),
        None => Some((set, true)),
    }
}

/// Groups the hits by set, in the order of each set's best hit.
fn by_set(hits: Vec<Hit>) -> Vec<Hit> {
    let mut sets: IndexMap<usize, Vec<Hit>> = IndexMap::new();
    for hit in hits {
        sets.entry(hit.set).or_default().push(hit);
    }
    sets.into_values().flatten().collect()
}

impl Found {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Messages for the counters that match the words better than the results, but that this machine lacks.
    pub(super) fn better_matches(&self, registry: &Registry) -> Vec<String> {
        better_matches(registry, &self.words, self.score)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &ChosenSet> {
        self.parts.iter().map(|(part, _)| part)
    }

    /// Joins consecutive parts of the same set.
    fn join_parts(&mut self) {
        self.parts.dedup_by(|(next, _), (part, _)| part.join(next));
    }

    /// A line for each result: path, unit and description.
    pub(super) fn description(&self, is_verbose: bool, width: usize) -> String {
        if is_verbose {
            return self.parts().map(|part| describe(part, true, width)).collect::<Vec<_>>().join("\n");
        }
        let row = |(part, is_set): &(ChosenSet, bool)| {
            if *is_set {
                let path = all_counters(part.info());
                return [
                    escape_controls(&path).into_owned(),
                    String::new(),
                    escape_controls(&part.info().help).into_owned(),
                ];
            }
            let (unit, help) = part.unit_and_help();
            [
                escape_controls(&part.paths(false).concat()).into_owned(),
                unit,
                escape_controls(&help).into_owned(),
            ]
        };
        let others = self.parts.len().saturating_sub(MAX_LINES);
        if others > 0 {
            notify(format_args!("... and {others} more; 'tacho list -q {}' lists all", self.words));
        }
        columns(self.parts.iter().take(MAX_LINES).map(row).collect(), usize::MAX, width)
    }
}
