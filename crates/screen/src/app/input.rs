//! Events that change the screen.

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::crossterm::event::Event;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::{ProcessProperties, Reduced, RowId, SetEntry, Span, TableFigures};

use super::{CounterName, TableId};
use crate::tree::Instances;

/// An event that changes the screen.
#[derive(Debug)]
pub enum Input {
    /// A key, a mouse event, or a new size of the terminal.
    Terminal(Event),
    /// A sample was taken at this time.
    Collected(FileTime),
    /// The response to [`Request::Figures`](super::Request::Figures).
    Figures(Reduced),
    /// The response to [`Request::Table`](super::Request::Table).
    Table(TableId, TableFigures),
    /// The response to [`Request::Properties`](super::Request::Properties); `None` for processes that have ended.
    Properties(TableId, Vec<(RowId, Option<ProcessProperties>)>),
    /// The response to [`Request::Containers`](super::Request::Containers): the control groups, and the names of their
    /// containers, `None` if unknown.
    Containers(Vec<(Box<str>, Option<Arc<str>>)>),
    /// The response to [`Request::Reasons`](super::Request::Reasons): the counters, and the reasons, `None` if unknown.
    Reasons(Vec<(CounterName, Option<String>)>),
    /// The available counter sets.
    Sets(Arc<[SetEntry]>),
    /// The response to [`Request::Instances`](super::Request::Instances).
    Instances(String, Instances),
    /// The response to [`Request::Count`](super::Request::Count): the number of new lines that the paths add.
    Counted(Vec<PathPattern>, usize),
    /// The progress of reading logs: bytes read, bytes in total. `None`: finished.
    Reading(Option<(u64, u64)>),
    /// The logs are open: their time range and time zone.
    Opened(Option<Span>, TimeZone),
    /// The logs have grown to this time range.
    Grown(Span),
    /// The state of the recording. `None`: nothing is recorded.
    Recording(Option<Recording>),
    /// The view was saved to this file.
    Saved(PathBuf),
    /// The file exists: asks the user whether to overwrite it.
    Exists(Existing),
    /// A message for the user.
    Notice(String),
    /// Counters became unavailable: how many, such as `2 counters`, or nothing if that is not worth a line; the messages say why.
    Unavailable(String, Vec<String>),
    /// All values could be read again.
    Available,
    /// An error message. Repetitions are only counted.
    Problem(String),
}

/// A file that exists already, and what was to be written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// A recording.
    Recording(PathBuf),
    /// A view.
    View(PathBuf),
}

/// The state of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The name of the log.
    pub file: String,
    /// The number of recorded samples.
    pub samples: u64,
    /// The size of the log in bytes.
    pub bytes: u64,
}
