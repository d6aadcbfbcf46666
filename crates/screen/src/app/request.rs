//! Actions that the screen requests.

use std::path::PathBuf;
use std::time::Duration;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_monitor::{RowId, View};

use super::{CounterName, TableId};

/// An action that the screen requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// End the program.
    Quit,
    /// Suspend the process, like Ctrl-Z in a shell.
    Suspend,
    /// Clear the terminal and redraw.
    Redraw,
    /// Replace the sampled paths with these.
    Paths(Vec<PathPattern>),
    /// From now on, also sample these paths, which the screen has shown and may show again.
    Background(Vec<PathPattern>),
    /// Reduce the samples to the [required](super::App::required_figures) time range and columns.
    Figures,
    /// Reduce the samples to the figures that a table [requires](super::App::required_table).
    Table(TableId),
    /// Read the properties of these processes, which are rows of a table.
    Properties(TableId, Vec<(RowId, u32)>),
    /// Find the names of the containers to which these control groups belong.
    Containers(Vec<Box<str>>),
    /// Find out why these counters are missing or have no values.
    Reasons(Vec<CounterName>),
    /// List the available counter sets.
    Sets,
    /// List the instances of a set.
    Instances(String),
    /// Count the lines that these paths would add to the legend.
    Count(Vec<PathPattern>),
    /// Change the sample interval.
    Interval(Duration),
    /// Change the number of intervals whose samples are kept.
    Points(usize),
    /// Take a sample now.
    Collect,
    /// Keep the samples up to this time, and ignore later samples in figures. `None` undoes this.
    Hold(Option<FileTime>),
    /// Start to record.
    Record {
        /// The log.
        path: PathBuf,
        /// Whether to replace an existing file.
        may_overwrite: bool,
    },
    /// Finish the recording.
    StopRecording,
    /// Save the view.
    Save {
        /// The file.
        path: PathBuf,
        /// Whether to replace an existing file.
        may_overwrite: bool,
        /// The view.
        view: Box<View>,
    },
    /// Cancel reading the logs.
    CancelReading,
}
