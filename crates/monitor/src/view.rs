//! Saved views: what was chosen on a monitor, in a file.

mod file;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use tachograph_counters::civil::TimeArgument;
use tachograph_flow::read_at_most;

use crate::legend::Chosen;

/// A larger file is no view.
const MOST_MEBIBYTES: u64 = 1;

/// How values are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ViewKind {
    /// Lines over time.
    #[default]
    Line,
    /// A bar per counter.
    Histogram,
    /// Numbers.
    Report,
}

impl ViewKind {
    /// All, in the order in which a monitor goes through them.
    pub const ALL: [Self; 3] = [Self::Line, Self::Histogram, Self::Report];

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Histogram => "histogram",
            Self::Report => "report",
        }
    }

    /// The one after it; the first after the last.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Line => Self::Histogram,
            Self::Histogram => Self::Report,
            Self::Report => Self::Line,
        }
    }
}

/// What was chosen on a monitor: counters and how they are shown, the interval, the number of points, the kind of view, and
/// of logs the stretch of time. docs/views.md describes the file.
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
    /// From one sample to the next.
    pub interval: Option<Duration>,
    /// How many intervals a live chart shows.
    pub points: Option<usize>,
    /// How values are shown.
    pub kind: ViewKind,
    /// The counters, in their order.
    pub counters: Vec<Chosen>,
    /// The first moment of the stretch of logs.
    pub begin: Option<TimeArgument>,
    /// The first moment after it.
    pub end: Option<TimeArgument>,
}

impl View {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// With the number of the line, for what is no TOML, for a key that is unknown or twice there, and for a value out of its
    /// range.
    pub fn parse(text: &str) -> Result<Self, ViewError> {
        file::parse(text)
    }

    /// The text of a file.
    pub fn to_text(&self) -> String {
        file::text_of(self)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and when the file cannot be read or has more than 1 MiB; the error names it.
    pub fn open(path: &Path) -> Result<Self, ViewError> {
        let at_path = |error: ViewError| ViewError { file: Some(path.display().to_string()), ..error };
        let bytes = std::fs::File::open(path).and_then(|file| read_at_most(file, MOST_MEBIBYTES));
        let text = bytes.map_err(|error| at_path(ViewError::new(None, error)))?;
        let text = String::from_utf8(text).map_err(|error| {
            let line =
                error.as_bytes()[..error.utf8_error().valid_up_to()].split(|&byte| byte == b'\n').count();
            at_path(ViewError::new(Some(line), "not UTF-8"))
        })?;
        Self::parse(&text).map_err(at_path)
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// When it cannot be written, and, unless it is to be overwritten, when it is there.
    pub fn save(&self, path: &Path, is_overwritten: bool) -> std::io::Result<()> {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).create_new(!is_overwritten);
        options.open(path)?.write_all(self.to_text().as_bytes())
    }
}

/// Why a file is no view.
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

    /// The number of the line, from 1, where it is about one.
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
