//! Databases that are reached through ODBC.
//!
//! The driver manager (`libodbc`) finds a data source by its name in `odbc.ini`, and loads its driver. Texts are UTF-16, because
//! drivers convert other encodings according to the locale. The statements are ASCII.

mod databases;
mod failure;
mod inserter;
mod rows;

use std::borrow::Cow;

use odbc_api::parameter::{InputParameter, VarWCharBox};
use odbc_api::{ConnectionOptions, ConnectionTransitions as _, Cursor as _, SharedConnection, environment};
use tachograph_counters::IgnorePoison as _;

use super::database::{Database, SqlValue};
use super::dialect::{Dialect, INSERT_ROWS, insert_parts, insert_values};
use crate::LogError;
use failure::failed;
use inserter::Inserter;
use rows::Rows;

/// How long to wait for a connection.
const LOGIN_SECONDS: u32 = 10;

/// Settings of PostgreSQL's driver, which otherwise holds all rows of a result in memory; other drivers ignore them.
const STREAMED: &str = "UseDeclareFetch=1;Fetch=2000";

/// A connection to a data source.
struct Odbc {
    connection: SharedConnection<'static>,
    dialect: &'static Dialect,
    names_are_quoted: bool,
    /// The prepared statements that insert rows, by index of [`INSERT_ROWS`].
    inserters: [Option<Inserter>; INSERT_ROWS.len()],
}

/// Connects to the data source with this name.
///
/// # Errors
///
/// When there is no such data source, its database cannot be reached, or it is of an unknown kind.
pub(super) fn connect(source: &str) -> Result<Box<dyn Database>, LogError> {
    // These characters have a special meaning in connection strings.
    if source.contains(|c: char| c.is_control() || "[]{}(),;?*=!@\\".contains(c)) {
        return Err(LogError::unsupported(format!(
            "'{source}' is neither a file that ends in .db, .sqlite or .sqlite3, nor the name of an ODBC data source"
        )));
    }
    let options = ConnectionOptions { login_timeout_sec: Some(LOGIN_SECONDS), packet_size: None };
    let connection = environment()
        .and_then(|odbc| odbc.connect_with_connection_string(&format!("DSN={source};{STREAMED}"), options))
        .map_err(|error| failed(error, Some(source)))?;
    let system = connection.database_management_system_name().map_err(|error| failed(error, None))?;
    let Some((dialect, session)) = databases::find(&system) else {
        return Err(LogError::unsupported(format!(
            "databases of '{system}' are not supported: use {}",
            databases::names()
        )));
    };
    for statement in session {
        connection.execute(statement, (), None).map_err(|error| failed(error, None))?;
    }
    connection.set_autocommit(false).map_err(|error| failed(error, None))?;
    let connection = SharedConnection::new(connection.into());
    Ok(Box::new(Odbc { connection, dialect, names_are_quoted: false, inserters: [const { None }; 3] }))
}

impl Odbc {
    /// The statement, with its names in quotes if the database needs them.
    fn text<'a>(&self, statement: &'a str) -> Cow<'a, str> {
        match self.names_are_quoted {
            true => Cow::Owned(databases::quote_names(statement)),
            false => Cow::Borrowed(statement),
        }
    }
}

/// Replaces each `?` whose value is null with the word `NULL`, because some databases reject a null parameter of another type.
fn with_nulls(statement: &str, values: &[SqlValue]) -> String {
    let mut values = values.iter();
    let mut text = String::with_capacity(statement.len());
    for c in statement.chars() {
        match c {
            '?' if matches!(values.next(), Some(SqlValue::Null | SqlValue::Blob)) => text.push_str("NULL"),
            c => text.push(c),
        }
    }
    text
}

/// The values that are not null, as parameters.
fn parameters(values: &[SqlValue]) -> Vec<Box<dyn InputParameter>> {
    let parameter = |value: &SqlValue| -> Option<Box<dyn InputParameter>> {
        match value {
            SqlValue::Integer(integer) => Some(Box::new(*integer)),
            SqlValue::Real(real) => Some(Box::new(*real)),
            SqlValue::Text(text) => Some(Box::new(VarWCharBox::from_str_slice(text))),
            SqlValue::Null | SqlValue::Blob => None,
        }
    };
    values.iter().filter_map(parameter).collect()
}

impl Database for Odbc {
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    fn quote_names(&mut self) {
        self.names_are_quoted = true;
    }

    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<(), LogError> {
        let text = with_nulls(&self.text(statement), values);
        let connection = self.connection.lock().ignore_poison();
        let executed = connection.execute(&text, &parameters(values)[..], None);
        executed.map(drop).map_err(|error| failed(error, None))
    }

    fn query(
        &mut self,
        statement: &str,
        values: &[SqlValue],
        each: &mut dyn FnMut(&[SqlValue]) -> bool,
    ) -> Result<(), LogError> {
        let connection = self.connection.lock().ignore_poison();
        let cursor = connection
            .execute(&self.text(statement), &parameters(values)[..], None)
            .map_err(|error| failed(error, None))?;
        let Some(mut cursor) = cursor else { return Ok(()) };
        let (mut rows, buffer) = Rows::of(&mut cursor).map_err(|error| failed(error, None))?;
        let mut cursor = cursor.bind_buffer(buffer).map_err(|error| failed(error, None))?;
        while let Some(fetched) =
            cursor.fetch_with_truncation_check(true).map_err(|error| failed(error, None))?
        {
            if !rows.pass(fetched, each) {
                break;
            }
        }
        Ok(())
    }

    fn insert_values(&mut self, values: &[SqlValue]) -> Result<(), LogError> {
        for (statement, part) in insert_parts(values) {
            let inserter = match self.inserters[statement].take() {
                Some(inserter) => inserter,
                None => {
                    let text = insert_values(INSERT_ROWS[statement]);
                    let prepared = SharedConnection::clone(&self.connection).into_prepared(&self.text(&text));
                    Inserter::new(prepared.map_err(|error| failed(error, None))?, part)?
                }
            };
            self.inserters[statement].insert(inserter).insert(part)?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), LogError> {
        self.connection.lock().ignore_poison().commit().map_err(|error| failed(error, None))
    }

    fn roll_back(&mut self) -> Result<(), LogError> {
        self.connection.lock().ignore_poison().rollback().map_err(|error| failed(error, None))
    }

    fn bytes(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_parameters_become_the_word_null() {
        let values = [SqlValue::Integer(1), SqlValue::Null, SqlValue::from("?"), SqlValue::Null];
        assert_eq!(with_nulls("VALUES (?, ?, ?, ?)", &values), "VALUES (?, NULL, ?, NULL)");
        assert_eq!(parameters(&values).len(), 2);
    }

    #[test]
    fn names_that_are_no_data_sources_are_refused() {
        for source in ["a;PWD=x", "a=b", "{a}", "a\nb", "x.txt;"] {
            let error = connect(source).err().expect("refused").to_string();
            assert!(error.contains("nor the name of an ODBC data source"), "{error}");
        }
    }
}
