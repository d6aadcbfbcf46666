//! The counters that this machine lacks: why, and what was probably meant.

use std::fs::File;
use std::io::ErrorKind;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::Selection;
use tachograph_monitor::{Hit, SearchIndex, SetEntry};
use tachograph_perflib::Registry;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo};
use tachograph_system::Roots;

use crate::failure::notify;

/// Why this machine lacks a whole counter set, if the reason is known.
pub(crate) fn absence_of_set(name: &str) -> Option<String> {
    let absences = tachograph_system::absences(&Roots::of_this_machine());
    let is_named = |absence: &tachograph_system::Absence| {
        absence.counters.is_empty() && eq_ignore_case(absence.set, name)
    };
    Some(absences.into_iter().find(is_named)?.reason)
}

/// Why a counter of this machine is missing or has no values, if the reason is known.
pub(crate) fn absence_of_counter(set: &str, counter: &str) -> Option<String> {
    let absences = tachograph_system::absences_of(&Roots::of_this_machine(), set);
    Some(absences.into_iter().find(|absence| absence.explains(set, counter))?.reason)
}

/// Prints why this machine lacks counter sets and counters, if the reason is known.
pub(crate) fn notify_of_absences(is_wanted: impl Fn(&str) -> bool) {
    let absences = tachograph_system::absences(&Roots::of_this_machine());
    absences.iter().filter(|absence| is_wanted(absence.set)).for_each(notify);
}

/// A message for each path that matches nothing on this machine.
pub(crate) fn unmatched_here(selection: &Selection) -> Vec<String> {
    let message = |(path, advice): (String, Option<String>)| {
        if let Some(why) = missing_reason(&path) {
            return format!("'{path}': {why}");
        }
        // A similar name is a better suggestion than a synonym.
        let question = advice.clone().filter(|advice| advice.ends_with('?')).or_else(|| synonym_of(&path));
        let advice = question.or(advice);
        match advice {
            Some(advice) => format!("'{path}' is not on this machine: {advice}"),
            None => format!("'{path}' is not on this machine; 'tacho list' lists its counters"),
        }
    };
    selection.unmatched().into_iter().map(message).collect()
}

/// For a path with another tool's name for a counter, a question that suggests the counter.
fn synonym_of(path: &str) -> Option<String> {
    let pattern = PathPattern::parse(path).ok()?;
    let sets = known_entries();
    let index = SearchIndex::new(&sets);
    let has_counter = |set: &SetEntry| {
        pattern.matches_set_name(&set.name)
            && set.counters.iter().any(|entry| pattern.matches_counter(&entry.counter.name))
    };
    if sets.iter().any(has_counter) {
        return None;
    }
    let words = pattern.path();
    let hits = index.search(&format!("{} {}", words.set, words.counter));
    let hit = hits.first().copied().or_else(|| index.search(&words.counter).first().copied())?;
    let set = sets.get(hit.set)?;
    let counter = hit.counter.and_then(|counter| set.counters.get(counter));
    Some(format!("did you mean '{}'?", set.path(counter)))
}

/// The reason why this machine lacks a known counter: the error, or the missing source.
pub(super) fn missing_reason(path: &str) -> Option<String> {
    let path = PathPattern::parse(path).ok()?;
    if known_counter(&path, tachograph_cpi::counters::known_sets()).is_some() {
        let cause = tachograph_cpi::counters::provider(&Roots::of_this_machine()).err()?;
        return Some(cause.to_string());
    }
    let (set, counter) = known_counter(&path, tachograph_system::known_sets())?;
    let absences = tachograph_system::absences(&Roots::of_this_machine());
    Some(match absences.iter().find(|absence| absence.explains(&set.name, &counter.name)) {
        Some(absence) => format!("not available on this machine: {}", absence.reason),
        None => match source_error(&counter.source) {
            Some(why) => why,
            None => format!("not available on this machine (source: {})", counter.source),
        },
    })
}

/// Why a counter is missing, if its file cannot be opened. `source` begins with the file: `/proc/meminfo: MemAvailable`, `/proc/PID/stat`.
fn source_error(source: &str) -> Option<String> {
    let file = source.split([':', ',', ' ']).next().filter(|file| file.starts_with('/'))?;
    // A placeholder stands for an id, so the file of this process is opened.
    let has_placeholder = file.contains(|c: char| c.is_ascii_uppercase() || "<{*[".contains(c));
    let opened = if has_placeholder { "/proc/self/stat" } else { file };
    let error = File::open(opened).err()?;
    let what = match error.kind() {
        ErrorKind::NotFound => "not available on this machine",
        _ => "cannot be read",
    };
    Some(format!("{what}: {opened}: {error}"))
}

/// The first counter of `sets` that the path selects, with its set.
fn known_counter(
    path: &PathPattern,
    mut sets: impl Iterator<Item = Arc<CounterSetInfo>>,
) -> Option<(Arc<CounterSetInfo>, CounterInfo)> {
    let set = sets.find(|set| path.matches_set(&set.name, set.has_instances()))?;
    let counter = set.counters.iter().find(|counter| path.matches_counter(&counter.name));
    let counter = counter.filter(|counter| counter.is_displayable()).cloned()?;
    Some((set, counter))
}

/// The sets and counters that Tachograph knows, whether or not this machine has them.
fn known_entries() -> Vec<SetEntry> {
    let known = tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets());
    known.map(|info| SetEntry::new(&Arc::from(""), &info)).collect()
}

/// The maximum number of messages of [`better_matches`].
const MAX_BETTER_MATCHES: usize = 3;

/// Messages for the counters and sets that match searched words better than `score`, but that this machine lacks, with the
/// reasons.
pub(crate) fn better_matches(registry: &Registry, words: &str, score: u32) -> Vec<String> {
    let sets = known_entries();
    let path_if_absent = |hit: Hit| {
        let set = sets.get(hit.set)?;
        let counter = hit.counter.and_then(|index| set.counters.get(index));
        let here = registry.find(&set.name);
        let is_here = match counter {
            Some(entry) => {
                here.is_some_and(|info| info.counters.iter().any(|known| *known.name == *entry.counter.name))
            }
            None => here.is_some(),
        };
        if is_here { None } else { Some(set.path(counter)) }
    };
    let hits = SearchIndex::new(&sets).search(words).into_iter().take_while(|hit| hit.score > score);
    let message = |path: String| Some(format!("'{path}': {}", missing_reason(&path)?));
    hits.filter_map(path_if_absent).take(MAX_BETTER_MATCHES).filter_map(message).collect()
}
