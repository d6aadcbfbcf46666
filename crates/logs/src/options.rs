//! How a log is read.

use crate::Budget;
use crate::text::TextEncoding;

/// How logs are read, for [`open_with`](crate::open_with). The default finds out everything by itself.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The memory that text logs share. Binary logs have a bound of their own.
    pub budget: Budget,
    /// How the characters of text logs are encoded; found out where it is `None`. A mark at the start of the file holds
    /// before it.
    pub encoding: Option<TextEncoding>,
    /// How the columns of text logs are grouped.
    pub grouping: Grouping,
}

/// How the columns of a text log become the groups of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Every column is a group of its own, known by its path alone. So logs with different columns fit together.
    #[default]
    Columns,
    /// Neighbouring columns that differ only in their instance form one group, with a row for each. This halves the memory
    /// for a single log.
    Neighbours,
}
