//! The database operations that a log needs.

use crate::LogError;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SqlValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// Bytes, which PDH's tables do not have; not read.
    Blob,
}

impl SqlValue {
    /// An integer; also of databases that return numbers as text or as floating point.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            Self::Real(real) if real.fract() == 0.0 && real.abs() < 9e15 => Some(*real as i64),
            Self::Text(text) => text.trim_end_matches(['\0', ' ']).parse().ok(),
            Self::Null | Self::Real(_) | Self::Blob => None,
        }
    }

    /// A text without the NUL characters that some drivers append. Trailing blanks of a name are part of it.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.trim_end_matches('\0')),
            _ => None,
        }
    }
}

/// A connection to a database.
pub(super) trait Database: Send {
    /// Creates PDH's tables if they do not exist.
    fn create_tables(&mut self) -> Result<(), LogError>;

    /// Returns an error if one of PDH's tables is missing or is not an ordinary table.
    fn check_tables(&mut self) -> Result<(), LogError>;

    /// Begins a transaction that only reads: all queries return the same state of the database.
    fn begin_reading(&mut self) -> Result<(), LogError>;

    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), LogError>;

    /// Commits the transaction.
    fn commit(&mut self) -> Result<(), LogError>;

    /// Executes a statement; each `?` stands for the next value. Statements are prepared once.
    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<(), LogError>;

    /// Runs a query, and passes each row to `each`, until it returns false. A row has as many values as the query has columns.
    fn query(
        &mut self,
        statement: &str,
        values: &[SqlValue],
        each: &mut dyn FnMut(&[SqlValue]) -> bool,
    ) -> Result<(), LogError>;

    /// Makes each commit wait until its data are on disk.
    fn sync_commits(&mut self) -> Result<(), LogError>;

    /// The size of the database in bytes; 0 if unknown.
    fn bytes(&self) -> u64;
}

/// The first row of a query.
pub(super) fn first_row(
    database: &mut dyn Database,
    statement: &str,
    values: &[SqlValue],
) -> Result<Option<Vec<SqlValue>>, LogError> {
    let mut first = None;
    database.query(statement, values, &mut |row| {
        first = Some(row.to_vec());
        false
    })?;
    Ok(first)
}
