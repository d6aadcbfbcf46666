//! Why counters are missing, or have no values.

use std::collections::HashMap;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::eq_ignore_case;

use super::{App, Pane, Request};

/// A counter: the name of its set, and its own name.
pub type CounterName = (String, String);

/// The number of samples after which a panel without values is considered empty. Rates have no values in the first samples.
const SETTLED: usize = 3;

/// The known reasons why counters of this machine are missing or have no values.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    /// `None`: requested, or unknown.
    known: HashMap<CounterName, Option<String>>,
}

impl Reasons {
    /// Forgets all reasons, because the counters of the machine have changed.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// The reason for the first of these counters of a set that has one.
    pub(crate) fn of(&self, set: &str, counters: &[&str]) -> Option<&str> {
        let found = |counter: &&str| self.known.get(&(set.to_owned(), (*counter).to_owned()))?.as_deref();
        counters.iter().find_map(found)
    }
}

impl App {
    /// Requests the reasons for the missing columns of tables, and for panels without values.
    pub(super) fn request_reasons(&mut self, requests: &mut Vec<Request>) {
        if !self.facts.is_live {
            return;
        }
        let mut wanted: Vec<CounterName> = Vec::new();
        for table in self
            .panes
            .shown_indexes()
            .into_iter()
            .filter_map(|index| self.panes.iter().nth(index)?.shown_table())
        {
            let model = &table.model;
            let counters = model.missing_columns().into_iter().flat_map(|column| column.counters);
            wanted.extend(counters.map(|counter| (model.layout().set.to_string(), counter.to_owned())));
        }
        for pane in self.panes.iter().filter(|pane| pane.is_vacant) {
            wanted.extend(pane.legend.paths().iter().map(name_of));
        }
        wanted.retain(|name| !self.reasons.known.contains_key(name));
        wanted.sort_unstable();
        wanted.dedup();
        if !wanted.is_empty() {
            self.reasons.known.extend(wanted.iter().map(|name| (name.clone(), None)));
            requests.push(Request::Reasons(wanted));
        }
    }

    /// Adds reasons, also to the list of messages: one message for the counters of a set with the same reason.
    pub(super) fn add_reasons(&mut self, found: Vec<(CounterName, Option<String>)>) {
        let mut by_reason: Vec<(String, String, Vec<String>)> = Vec::new();
        for ((set, counter), reason) in found {
            if let Some(reason) = &reason {
                let same = by_reason.iter_mut().find(|(known, of, _)| *known == set && of == reason);
                match same {
                    Some((.., counters)) => counters.push(counter.clone()),
                    None => by_reason.push((set.clone(), reason.clone(), vec![counter.clone()])),
                }
            }
            self.reasons.known.insert((set, counter), reason);
        }
        for (set, reason, counters) in by_reason {
            let advice = if self.has_states(&set) { STATE_ADVICE } else { "" };
            self.messages.add_to_list(format!("{set}: {}: {reason}{advice}", counters.join(", ")));
        }
    }

    /// Whether a table of this set shows the states of processes.
    fn has_states(&self, set: &str) -> bool {
        let mut tables = self.panes.iter().filter_map(Pane::shown_table);
        tables.any(|table| eq_ignore_case(&table.model.layout().set, set) && table.model.has_states())
    }

    /// Records which panels have no values, although there have been enough samples.
    pub(super) fn find_vacant(&mut self) {
        let is_settled =
            if self.facts.is_live { self.times.iter().len() >= SETTLED } else { self.reading.is_none() };
        for pane in self.panes.iter_mut() {
            pane.is_vacant = is_settled
                && pane.kind().is_chart()
                && !pane.legend.is_empty()
                && pane.legend.items().is_empty();
        }
    }
}

/// Advice for a table that lacks the time in which processes wait for a disk.
const STATE_ADVICE: &str = "; sorted by S, processes that wait for a device (state D) come first";

fn name_of(path: &PathPattern) -> CounterName {
    (path.path().set.to_string(), path.path().counter.to_string())
}
