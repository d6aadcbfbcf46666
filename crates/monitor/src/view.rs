//! Saved views: the panels, counters and settings of a monitor, in a file.

mod annotation;
mod file;
mod panel;
mod ready_made;
mod written;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use tachograph_counters::civil::TimeArgument;
use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::read_limited;

use crate::catalogue::SetEntry;
use crate::legend::Chosen;
use crate::table::TableModel;

pub use annotation::Annotation;
pub use panel::{Axis, AxisScale, MAX_SHARE, Panel, ViewKind};

/// The maximum number of rows that a table can be limited to.
pub const MAX_TOP: usize = 100_000;

/// The maximum number of counters of an added panel.
const MAX_ADDED: usize = 8;

/// Maximum size of a view file, in MiB.
const MAX_MEBIBYTES: u64 = 1;

/// A user's choices on a monitor: panels with counters, the interval, the number of points, and for logs the time range.
/// `docs/views.md` describes the file.
///
/// ```
/// use tachograph_monitor::View;
/// let view = View::parse(r"
/// version = 2
/// interval = 0.5
/// [[panel]]
/// [[panel.counter]]
/// path = '\Processor Information(*)\% Processor Time'
/// ")?;
/// assert_eq!(view.counters().count(), 1);
/// assert_eq!(View::parse(&view.to_text())?, view);
/// # Ok::<(), tachograph_monitor::ViewError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
pub struct View {
    /// The title.
    pub title: Option<String>,
    /// The sampling interval.
    pub interval: Option<Duration>,
    /// The number of intervals in a live chart.
    pub points: Option<usize>,
    /// Counters whose values are in the first line, in order.
    pub headline: Vec<Chosen>,
    /// The panels, in reading order.
    pub panels: Vec<Panel>,
    /// Whether counters that the machine or log lacks are left out; otherwise they stay, without values.
    pub is_optional: bool,
    /// The begin of the time range of logs.
    pub begin: Option<TimeArgument>,
    /// The end of the time range of logs (exclusive).
    pub end: Option<TimeArgument>,
    /// Whether charts of the web page show the instances of each name as one, with the sum of their raw values.
    pub sums_names: bool,
    /// Notes about moments and time ranges.
    pub annotations: Vec<Annotation>,
}

impl View {
    /// A view with one panel of these counters.
    pub fn of_counters(counters: Vec<Chosen>) -> Self {
        Self { panels: vec![Panel { counters, ..Panel::default() }], ..Self::default() }
    }

    /// A ready-made view: `overview`, `cpu`, ...
    pub fn ready_made(name: &str) -> Option<Self> {
        ready_made::view(name)
    }

    /// The names of the ready-made views.
    pub fn ready_made_names() -> impl Iterator<Item = &'static str> {
        ready_made::names()
    }

    /// Opens a ready-made view, or else a view file.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open); for a name without a file, the error lists the ready-made views.
    pub fn find(name_or_file: &Path) -> Result<Self, ViewError> {
        if let Some(view) = name_or_file.to_str().and_then(Self::ready_made) {
            return Ok(view);
        }
        let is_name = name_or_file.components().count() == 1 && name_or_file.extension().is_none();
        if is_name && !name_or_file.exists() {
            let names: Vec<_> = Self::ready_made_names().collect();
            let what = format!("is neither a ready-made view ({}) nor a file", names.join(", "));
            return Err(ViewError { file: Some(name_or_file.display().to_string()), line: None, what });
        }
        Self::open(name_or_file)
    }

    /// The counters of all panels.
    pub fn counters(&self) -> impl Iterator<Item = &Chosen> {
        self.panels.iter().flat_map(|panel| &panel.counters)
    }

    /// Whether any panel is a table that names its set. Such a panel needs no counters.
    pub fn has_table(&self) -> bool {
        self.panels.iter().any(|panel| panel.kind == ViewKind::Table && panel.table.set.is_some())
    }

    /// The paths of the first line and of all panels, each once.
    pub fn paths(&self) -> Vec<PathPattern> {
        let mut paths: Vec<PathPattern> = Vec::new();
        for chosen in self.headline.iter().chain(self.counters()) {
            if !paths.contains(&chosen.path) {
                paths.push(chosen.path.clone());
            }
        }
        paths
    }

    /// The paths of the counters that the view's tables show, as far as `sets` has them; without tables that only large terminals
    /// show.
    pub fn table_paths(&self, sets: &[SetEntry]) -> Vec<PathPattern> {
        let is_table = |panel: &&Panel| panel.kind == ViewKind::Table && panel.min_size.is_none();
        let tables = self.panels.iter().filter(is_table);
        let entry = |panel: &Panel| {
            let name = panel.table.set.as_deref()?;
            Some(TableModel::with_settings(
                sets.iter().find(|set| eq_ignore_case(&set.name, name))?,
                &panel.table,
            ))
        };
        tables.filter_map(entry).flat_map(|model| model.paths(true)).collect()
    }

    /// Adds counters to the only panel, or as a new panel if there is not exactly one panel.
    pub fn add_counters(&mut self, counters: impl IntoIterator<Item = Chosen>) {
        let mut counters = counters.into_iter().peekable();
        if counters.peek().is_none() {
            return;
        }
        match &mut self.panels[..] {
            [panel] => panel.counters.extend(counters),
            _ => self.panels.push(Panel { counters: counters.collect(), ..Panel::default() }),
        }
    }

    /// Chooses among alternative paths by what `has` finds. If the view is [optional](Self::is_optional), leaves out
    /// counters that are missing, and panels without counters, and returns the missing paths.
    pub fn resolve(&mut self, has: impl Fn(&PathPattern) -> bool) -> Vec<String> {
        let mut missing = Vec::new();
        // Missing counters of the first line are not reported.
        self.headline.retain_mut(|chosen| chosen.resolve(&has) || !self.is_optional);
        for panel in &mut self.panels {
            panel.counters.retain_mut(|chosen| {
                let is_present = chosen.resolve(&has);
                if !is_present && self.is_optional {
                    missing.push(chosen.path.to_string());
                }
                is_present || !self.is_optional
            });
        }
        if self.is_optional {
            let has_set = |panel: &Panel| {
                let set = panel.table.set.as_ref().filter(|_| panel.kind == ViewKind::Table);
                set.and_then(|set| PathPattern::parse(&format!(r"\{set}(*)\*")).ok())
                    .is_some_and(|path| has(&path))
            };
            self.panels.retain(|panel| !panel.counters.is_empty() || has_set(panel));
        }
        missing
    }

    /// Adds a panel for each set of which no panel shows a counter, until the view has `max_panels` panels.
    pub fn add_other_sets(&mut self, sets: &[SetEntry], max_panels: usize) {
        for set in sets {
            if self.panels.len() >= max_panels {
                return;
            }
            let is_of_set = |chosen: &Chosen| chosen.path.matches_set(&set.name, set.has_instances);
            if self.counters().any(is_of_set) {
                continue;
            }
            let paths = set.counters.iter().take(MAX_ADDED).map(|entry| set.path(Some(entry)));
            let counters: Vec<_> =
                paths.filter_map(|path| PathPattern::parse(&path).ok()).map(Chosen::new).collect();
            if !counters.is_empty() {
                let axis = Axis { scale: AxisScale::Linear, ..Axis::default() };
                self.panels.push(Panel {
                    title: Some(set.name.to_string()),
                    counters,
                    axis,
                    ..Panel::default()
                });
            }
        }
    }

    /// Parses the text of a view file.
    ///
    /// # Errors
    ///
    /// Invalid TOML, unknown or duplicate keys, and values out of range, with the line number.
    pub fn parse(text: &str) -> Result<Self, ViewError> {
        file::parse(text)
    }

    /// Formats the view as the text of a view file.
    pub fn to_text(&self) -> String {
        written::text_of(self)
    }

    /// Reads a view file.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse), and if the file cannot be read or is larger than 1 MiB; the error names the
    /// file.
    pub fn open(path: &Path) -> Result<Self, ViewError> {
        let at_path = |error: ViewError| ViewError { file: Some(path.display().to_string()), ..error };
        let bytes = std::fs::File::open(path).and_then(|file| read_limited(file, MAX_MEBIBYTES));
        let text = bytes.map_err(|error| at_path(ViewError::new(None, error)))?;
        let text = String::from_utf8(text).map_err(|error| {
            let line =
                error.as_bytes()[..error.utf8_error().valid_up_to()].split(|&byte| byte == b'\n').count();
            at_path(ViewError::new(Some(line), "not UTF-8"))
        })?;
        Self::parse(&text).map_err(at_path)
    }

    /// Writes the view to a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or exists and `may_overwrite` is false.
    pub fn save(&self, path: &Path, may_overwrite: bool) -> std::io::Result<()> {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).create_new(!may_overwrite);
        options.open(path)?.write_all(self.to_text().as_bytes())
    }
}

/// Why a view file is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewError {
    file: Option<String>,
    line: Option<usize>,
    what: String,
}

impl ViewError {
    fn new(line: Option<usize>, what: impl fmt::Display) -> Self {
        Self { file: None, line, what: what.to_string() }
    }

    /// The line number, from 1, if the error is about one line.
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}, line {line}: {}", self.what),
            (Some(file), None) => write!(f, "{file}: {}", self.what),
            (None, Some(line)) => write!(f, "line {line}: {}", self.what),
            (None, None) => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ViewError {}

#[cfg(test)]
mod tests;
