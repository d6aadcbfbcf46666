//! The database operations that a log needs.

use std::sync::Arc;

use super::dialect::{Dialect, TABLES};
use crate::LogError;
use crate::output_file::FileLocation;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SqlValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<str>),
    /// Bytes, which are not read. PDH's tables have no such column.
    Blob,
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl SqlValue {
    /// The value as an integer, even if the database returned it as text or as floating point.
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
///
/// A transaction that is not committed is rolled back when the connection is dropped.
pub(super) trait Database: Send {
    /// The differences from other databases.
    fn dialect(&self) -> &'static Dialect;

    /// Puts the names in all further statements into quotes.
    fn quote_names(&mut self);

    /// Prepares for many transactions that write. The tables were checked.
    fn prepare_writing(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    /// Executes a statement; each `?` stands for the next value.
    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<(), LogError>;

    /// Runs a query and passes each row to `each`, until `each` returns false. A row has as many values as the query has columns.
    fn query(
        &mut self,
        statement: &str,
        values: &[SqlValue],
        each: &mut dyn FnMut(&[SqlValue]) -> bool,
    ) -> Result<(), LogError>;

    /// Inserts rows into `CounterData`: the values of all columns, row after row. Statements are prepared once.
    fn insert_values(&mut self, values: &[SqlValue]) -> Result<(), LogError>;

    /// Commits the transaction.
    fn commit(&mut self) -> Result<(), LogError>;

    /// Discards the transaction.
    fn roll_back(&mut self) -> Result<(), LogError>;

    /// The size of the database in bytes; 0 if unknown.
    fn bytes(&self) -> u64;

    /// Where the file of the database is now.
    fn location(&self) -> FileLocation {
        FileLocation::InPlace
    }
}

/// Executes statements without parameters in the database's dialect.
pub(super) fn run(
    database: &mut dyn Database,
    statements: fn(&Dialect) -> &'static [&'static str],
) -> Result<(), LogError> {
    statements(database.dialect()).iter().try_for_each(|statement| database.execute(statement, &[]))
}

/// Creates PDH's tables if they do not exist.
pub(super) fn create_tables(database: &mut dyn Database) -> Result<(), LogError> {
    run(database, |dialect| dialect.begin_writing)?;
    let found = find_tables(database)?;
    if TABLES.iter().any(|table| !found.iter().any(|(name, _)| name.eq_ignore_ascii_case(table))) {
        run(database, |dialect| dialect.begin_creating)?;
        let statements = database.dialect().create_tables();
        statements.iter().try_for_each(|statement| database.execute(statement, &[]))?;
    }
    check_tables(database)?;
    database.commit()
}

/// Returns an error if one of PDH's tables is missing or is not an ordinary table.
pub(super) fn check_tables(database: &mut dyn Database) -> Result<(), LogError> {
    let found = find_tables(database)?;
    for table in TABLES {
        let named = || found.iter().filter(|(name, _)| name.eq_ignore_ascii_case(table));
        let what = match named().next() {
            Some(_) if named().any(|(_, is_table)| *is_table) => continue,
            // The query of a view can be endless.
            Some(_) => "is not an ordinary table",
            None => "is missing",
        };
        let why = format!("not a database of performance logs: the table {table} {what}");
        return Err(LogError::not_a_log(why));
    }
    let exists = |table: &str| found.iter().any(|(name, _)| name == table);
    if database.dialect().folds_names && TABLES.iter().any(|table| !exists(&table.to_ascii_lowercase())) {
        database.quote_names();
    }
    Ok(())
}

/// Maximum number of tables that are found by PDH's names. There can be more than three, because names can differ in case and
/// a search path can have several schemas.
const MAX_FOUND: usize = 100;

/// The names of existing tables and views with names of PDH's tables, and whether each is a table.
fn find_tables(database: &mut dyn Database) -> Result<Vec<(String, bool)>, LogError> {
    let mut found = Vec::new();
    database.query(database.dialect().find_tables, &[], &mut |row| {
        if let [name, kind] = row
            && let (Some(name), Some(kind)) = (name.text(), kind.text())
        {
            let kind = kind.trim_end();
            let is_table = kind.eq_ignore_ascii_case("table") || kind.eq_ignore_ascii_case("base table");
            found.push((name.trim_end().to_owned(), is_table));
        }
        found.len() < MAX_FOUND
    })?;
    Ok(found)
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

/// The first value of a query's first row, if it is an integer.
pub(super) fn first_integer(
    database: &mut dyn Database,
    statement: &str,
    values: &[SqlValue],
) -> Result<Option<i64>, LogError> {
    let row = first_row(database, statement, values)?;
    Ok(row.and_then(|row| row.first()?.integer()))
}
