//! Positions in a log to which a reader can seek.

use crate::archive::{ArchivePosition, MachinePosition};
use crate::blg::BlgPosition;

/// A position between two samples of a log, returned by [`LogReader::mark`](crate::LogReader::mark) and used with
/// [`LogReader::seek`](crate::LogReader::seek) on the same file.
///
/// A mark takes about 150 bytes of memory. The marks of a reader share the counter list and the name tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark(pub(crate) Position);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Position {
    Blg(BlgPosition),
    /// The start of a row of a CSV or TSV log, or of a line of a JSON log.
    Text(csv::Position),
    Archive(ArchivePosition),
    Machine(Box<MachinePosition>),
}
