//! Options of readers.

use crate::Budget;
use crate::text::TextEncoding;

/// Options of [`open_with`](crate::open_with). By default, everything is detected.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The memory budget of text logs. The memory for a binary log has a fixed bound.
    pub budget: Budget,
    /// The encoding of text logs; detected if `None`. A byte order mark at the start of the file takes precedence.
    pub encoding: Option<TextEncoding>,
    /// How the columns of text logs are grouped.
    pub grouping: Grouping,
    /// Whether damaged parts of an archive's file are skipped and reported as problems, instead of being an error.
    pub skips_damaged_row_groups: bool,
}

/// How the columns of a text log become the groups of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Each column is a group, identified by its path alone, so logs with different columns can be combined.
    #[default]
    Columns,
    /// Adjacent columns that differ only in the instance form one group with a row per column. This halves the
    /// memory of a single log.
    Neighbours,
}
