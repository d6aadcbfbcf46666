//! A place in a log, to come back to.

use crate::blg::BlgPlace;

/// A place in a log, between two samples: what [`LogReader::mark`](crate::LogReader::mark) gives and
/// [`LogReader::go_to`](crate::LogReader::go_to) takes, of the same file.
///
/// Takes about 150 bytes; what is the same for many places (the counter list in force, the names known) is shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark(pub(crate) Place);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    Blg(BlgPlace),
    Text(csv::Position),
}
