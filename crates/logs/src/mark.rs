//! Marks of positions in a log.

use crate::blg::BlgPosition;

/// A position between two samples of a log, returned by [`LogReader::mark`](crate::LogReader::mark) and used with
/// [`LogReader::seek`](crate::LogReader::seek) on the same file.
///
/// A mark has about 150 bytes; the counter list and the name tables are shared between marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark(pub(crate) Position);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Position {
    Blg(BlgPosition),
    Text(csv::Position),
}
