//! The columns of tables: ready-made ones for the sets that people look at first, and all counters of other sets.

use std::sync::Arc;

use tachograph_counters::Formula;
use tachograph_counters::path::PathPattern;
use tachograph_counters::set::Counter;
use tachograph_counters::wildcard::eq_ignore_case;

use super::ready_made::{Ready, ready_made};
use crate::catalogue::SetEntry;
use crate::figures::{NumberForm, Unit, shown};

/// A value whose text is about as wide as most values of a column.
const USUAL_VALUE: f64 = 12_345.0;

/// The digits of the largest id of a process.
const ID_WIDTH: usize = 7;

/// The counters of processes that count shared pages for each process.
const SHARED_MEMORY: [&str; 2] = ["Working Set", "Working Set Peak"];

/// The content of a table's column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnContent {
    /// The instance's name.
    Name,
    /// The machine's name. Shown only if there are several machines, but then always: names and ids alone do not distinguish rows.
    Machine,
    /// A counter.
    Counter(Counter),
    /// A property of a process that is not a counter.
    Property(Property),
    /// The share of the time range in which the instance had values. Shown only if not all instances had values throughout.
    Presence,
}

/// A property of a process that is not a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    /// The user that it runs as.
    User,
    /// The kernel's letter for its state.
    State,
    /// The command line.
    Command,
    /// The path of the control group.
    Cgroup,
}

/// Which figure of a time range a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The average by the counter's formula.
    Average,
    /// The last value, for ids and times since a start, whose averages are meaningless.
    Last,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// The heading.
    pub title: Arc<str>,
    /// The content.
    pub content: ColumnContent,
    /// The order in which columns are omitted on narrow screens: the highest first; 0 is never omitted.
    pub omission_rank: u8,
    /// What the values identify; `None` for quantities and text.
    identity: Option<Identity>,
    /// The unit of the values; `None` for text.
    unit: Option<Unit>,
}

impl TableColumn {
    fn new(title: &str, content: ColumnContent, omission_rank: u8) -> Self {
        let (identity, unit) = match &content {
            ColumnContent::Counter(counter) => (Identity::of(counter), Some(Unit::of(counter))),
            ColumnContent::Presence => (None, Some(Unit::named("%"))),
            _ => (None, None),
        };
        Self { title: title.into(), content, omission_rank, identity, unit }
    }

    /// The column of a counter without ready-made heading.
    pub(super) fn of_counter(counter: &Counter) -> Self {
        Self::new(&heading(&counter.name), ColumnContent::Counter(counter.clone()), 1)
    }

    /// The column of the control group of processes, which is not one of the default columns.
    pub(super) fn of_cgroup() -> Self {
        Self::new("CONTROL GROUP", ColumnContent::Property(Property::Cgroup), 8)
    }

    /// The column of the share of the time range in which an instance had values.
    pub(super) fn of_presence() -> Self {
        Self::new("PRESENT %", ColumnContent::Presence, 1)
    }

    /// The counter whose values the column shows; `None` for names and properties.
    pub fn counter(&self) -> Option<&Counter> {
        match &self.content {
            ColumnContent::Counter(counter) => Some(counter),
            _ => None,
        }
    }

    /// Whether the column shows ids of processes or threads.
    pub fn is_id(&self) -> bool {
        self.identity.is_some_and(|identity| identity != Identity::Elapsed)
    }

    /// Whether the column shows memory of processes in which each process counts the pages that it shares with others. Sums
    /// of such values count these pages several times, and can exceed the memory of the machine.
    pub fn counts_shared_memory(&self) -> bool {
        self.counter().is_some_and(|counter| SHARED_MEMORY.contains(&&*counter.name))
    }

    /// Whether the column shows the states of processes.
    pub fn is_state(&self) -> bool {
        self.content == ColumnContent::Property(Property::State)
    }

    /// Whether the column shows text, which is sorted in ascending order by default.
    pub fn is_text(&self) -> bool {
        self.unit.is_none()
    }

    /// Which figure of a time range the column shows.
    pub fn figure(&self) -> Figure {
        if self.identity.is_some() { Figure::Last } else { Figure::Average }
    }

    /// The usual width of the column in characters: that of most of its texts, or of the heading with a sort mark if it is
    /// wider.
    pub fn usual_width(&self, form: NumberForm) -> usize {
        let title = self.title.chars().count();
        match self.content {
            ColumnContent::Name => 15.max(title + 1),
            ColumnContent::Machine => title + 1,
            ColumnContent::Property(Property::User) => 8,
            ColumnContent::Property(Property::State) => 2,
            ColumnContent::Property(Property::Command | Property::Cgroup) => 20,
            ColumnContent::Counter(_) if self.is_id() => ID_WIDTH.max(title + 1),
            ColumnContent::Counter(_) | ColumnContent::Presence => {
                self.text(USUAL_VALUE, form).chars().count().max(title + 1)
            }
        }
    }

    /// Whether the counter is a plain count, whose single values are whole numbers.
    fn is_whole(&self) -> bool {
        self.counter().is_some_and(|counter| counter.counter_type.formula() == Some(Formula::Value))
    }

    /// Formats a value with a fixed number of decimals and its unit. A percent sign is omitted if the heading has one.
    pub fn text(&self, value: f64, form: NumberForm) -> String {
        match (&self.content, &self.unit, form) {
            (_, Some(unit), NumberForm::Units) => {
                let mut text = unit.steady_text(value, self.is_whole());
                if self.title.contains('%') && text.ends_with(" %") {
                    text.truncate(text.len() - 2);
                }
                text
            }
            (ColumnContent::Counter(counter), ..) => shown(counter, Some(value), form),
            _ => String::new(),
        }
    }
}

/// The set of a table, and its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLayout {
    /// The set's name.
    pub set: Arc<str>,
    /// The columns, from left to right.
    pub columns: Vec<TableColumn>,
    /// The column by which rows are sorted by default.
    pub sort_column: usize,
    /// The counters that identify the instances: ids, parents, times since the start.
    identity: Vec<Counter>,
}

/// The English names of counters that identify processes and threads. A table reads those that its set has.
const IDENTITY_COUNTERS: [(&str, Identity); 5] = [
    ("ID Process", Identity::Process),
    ("Process ID", Identity::Process),
    ("ID Thread", Identity::Thread),
    ("Creating Process ID", Identity::Parent),
    ("Elapsed Time", Identity::Elapsed),
];

/// The value of an identity counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// The id of the process.
    Process,
    /// The id of the thread.
    Thread,
    /// The id of the parent.
    Parent,
    /// The seconds since the start.
    Elapsed,
}

impl Identity {
    pub(super) fn of(counter: &Counter) -> Option<Self> {
        let found = IDENTITY_COUNTERS.iter().find(|(name, _)| is_named(counter, name));
        found.map(|(_, identity)| *identity)
    }
}

/// Whether a counter has this English name.
pub(super) fn is_named(counter: &Counter, english: &str) -> bool {
    eq_ignore_case(counter.english_name.as_deref().unwrap_or(&counter.name), english)
}

/// Maximum length of the heading of a counter without ready-made heading, in characters.
const MAX_HEADING: usize = 22;

impl TableLayout {
    /// The table of a set: the ready-made columns whose counters the set has; if it has none of them, the names and all
    /// counters.
    pub fn of_set(set: &SetEntry) -> Self {
        let counters = || set.counters.iter().map(|entry| &entry.counter);
        let mut columns = Vec::new();
        let mut sort_column = None;
        for ready in ready_made(&set.name) {
            let column = match *ready {
                Ready::Machine => TableColumn::new("MACHINE", ColumnContent::Machine, 0),
                Ready::Name(title) => TableColumn::new(title, ColumnContent::Name, 0),
                Ready::Property(title, property, rank) => {
                    TableColumn::new(title, ColumnContent::Property(property), rank)
                }
                Ready::Counter(title, names, rank) | Ready::Ranking(title, names, rank) => {
                    let found = names.iter().find_map(|name| counters().find(|it| is_named(it, name)));
                    let Some(counter) = found else { continue };
                    TableColumn::new(title, ColumnContent::Counter(counter.clone()), rank)
                }
            };
            if matches!(ready, Ready::Ranking(..)) {
                sort_column.get_or_insert(columns.len());
            }
            columns.push(column);
        }
        if columns.iter().all(TableColumn::is_text) {
            columns = vec![
                TableColumn::new("MACHINE", ColumnContent::Machine, 0),
                TableColumn::new("NAME", ColumnContent::Name, 0),
            ];
            sort_column = None;
            columns.extend(counters().enumerate().map(|(index, counter)| {
                let rank = u8::try_from(index).unwrap_or(u8::MAX);
                TableColumn::new(&heading(&counter.name), ColumnContent::Counter(counter.clone()), rank)
            }));
        }
        let is_value = |column: &TableColumn| !column.is_text() && !column.is_id();
        let sort_column = sort_column.or(columns.iter().position(is_value)).unwrap_or_default();
        columns.insert((sort_column + 1).min(columns.len()), TableColumn::of_presence());
        let identity = counters().filter(|counter| Identity::of(counter).is_some());
        Self { set: Arc::clone(&set.name), columns, sort_column, identity: identity.cloned().collect() }
    }

    /// The paths of the counters that the table needs, of all instances.
    ///
    /// For this machine, these are only the counters of the columns, because reading each counter takes time; for logs, all
    /// counters of the set, because one pass reads all.
    pub fn paths(&self, is_live: bool) -> Vec<PathPattern> {
        let path = |counter: &str| PathPattern::parse(&format!(r"\{}(*)\{counter}", self.set)).ok();
        if !is_live {
            return path("*").into_iter().collect();
        }
        let counters = self.columns.iter().filter_map(TableColumn::counter).chain(&self.identity);
        let mut paths: Vec<PathPattern> = Vec::new();
        for path in counters.filter_map(|counter| path(&counter.name)) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }
}

/// The heading of a counter: its name, shortened in the middle of long names.
fn heading(name: &str) -> String {
    let length = name.chars().count();
    if length <= MAX_HEADING {
        return name.to_owned();
    }
    let kept = MAX_HEADING - 2;
    let start: String = name.chars().take(kept / 2).collect();
    let end: String = name.chars().skip(length - (kept - kept / 2)).collect();
    format!("{}..{}", start.trim_end(), end.trim_start())
}
