//! Saved views: the counters and settings of a monitor, in a file.

mod file;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use tachograph_counters::civil::TimeArgument;
use tachograph_flow::read_limited;

use crate::legend::Chosen;
use crate::table::TableSettings;

/// Maximum size of a view file, in MiB.
const MAX_MEBIBYTES: u64 = 1;

/// How values are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ViewKind {
    /// Lines over time.
    #[default]
    Line,
    /// A bar per counter.
    Histogram,
    /// The values of each counter and instance.
    Report,
    /// The instances of a set as rows, its counters as columns.
    Table,
}

impl ViewKind {
    /// All kinds, in the order in which a monitor switches through them.
    pub const ALL: [Self; 4] = [Self::Line, Self::Histogram, Self::Report, Self::Table];

    /// The name of the kind in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Histogram => "histogram",
            Self::Report => "report",
            Self::Table => "table",
        }
    }

    /// The next kind; the first one after the last.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

/// A user's choices on a monitor: the counters and how they are shown, the interval, the number of points, the kind of
/// view, and for logs the time range. `docs/views.md` describes the file.
///
/// ```
/// use tachograph_monitor::View;
/// let view = View::parse(r"
/// version = 1
/// interval = 0.5
/// [[counter]]
/// path = '\Processor Information(*)\% Processor Time'
/// ")?;
/// assert_eq!(view.counters.len(), 1);
/// assert_eq!(View::parse(&view.to_text())?, view);
/// # Ok::<(), tachograph_monitor::ViewError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
pub struct View {
    /// The sampling interval.
    pub interval: Option<Duration>,
    /// The number of intervals in a live chart.
    pub points: Option<usize>,
    /// How values are shown.
    pub kind: ViewKind,
    /// The counters, in order.
    pub counters: Vec<Chosen>,
    /// Begin of the time range of logs.
    pub begin: Option<TimeArgument>,
    /// End of the time range of logs (exclusive).
    pub end: Option<TimeArgument>,
    /// The table.
    pub table: Option<TableSettings>,
}

impl View {
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
        file::text_of(self)
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
    /// If the file cannot be written, or exists and `is_overwritten` is false.
    pub fn save(&self, path: &Path, is_overwritten: bool) -> std::io::Result<()> {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).create_new(!is_overwritten);
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
