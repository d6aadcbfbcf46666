//! SQLite databases.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};

use super::database::{Database, SqlValue};
use super::dialect::{Dialect, INSERT_ROWS, SQLITE, insert_parts, insert_values};
use crate::LogError;

/// How long to wait for another program that holds the database's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a row or a value. SQLite refuses longer ones.
const MAX_ROW_BYTES: i32 = 1 << 20;

/// Number of instructions of SQLite between two checks of their total.
const CHECKED_INSTRUCTIONS: i32 = 1_000_000;

/// Maximum number of instructions per byte of a file that is read. A row of 100 bytes takes about 50 instructions, but pages of
/// a damaged file can refer to the same pages again and again, so that a small file has endless rows.
const INSTRUCTIONS_PER_BYTE: u64 = 64;

/// Number of prepared statements that are kept.
const STATEMENTS: usize = 16;

/// An SQLite file.
///
/// While it is written, the file is in WAL mode: readers do not block the writer, and a reader needs no permission to repair
/// the file after the writer was killed. The writer sets the usual mode at the end, so that a complete log is a single file.
pub(super) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    is_writer: bool,
    /// The statements that insert rows.
    inserts: [String; 3],
}

impl Sqlite {
    /// Opens an existing file to read.
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        // SQLite's own message does not say why a file cannot be opened.
        std::fs::File::open(path).map_err(|error| LogError::io(error).at_path(path))?;
        let mut database = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        database.bound_instructions()?;
        Ok(database)
    }

    /// Aborts queries that execute far more instructions than the rows in the file can need.
    fn bound_instructions(&mut self) -> Result<(), LogError> {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let bytes = self.bytes() + std::fs::metadata(log).map_or(0, |metadata| metadata.len());
        let mut checks =
            10 + bytes.saturating_mul(INSTRUCTIONS_PER_BYTE) / u64::from(CHECKED_INSTRUCTIONS.unsigned_abs());
        let is_exceeded = move || {
            checks = checks.saturating_sub(1);
            checks == 0
        };
        let bounded = self.connection.progress_handler(CHECKED_INSTRUCTIONS, Some(is_exceeded));
        bounded.map_err(|error| self.failed(error))
    }

    /// Opens a file to write, which is created if it does not exist.
    pub(super) fn create(path: &Path) -> Result<Self, LogError> {
        let mut options = std::fs::OpenOptions::new();
        options
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| LogError::io(error).at_path(path))?;
        let database = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // A cache of 16 MiB has room for the changed pages of a transaction.
        database.run("PRAGMA cache_size = -16384")?;
        // Fails if the file system lacks shared memory or if another program is reading; the mode is then unchanged.
        if database.set_journal_mode("WAL").is_ok_and(|mode| mode == "wal") {
            // The file stays intact after a power failure, which can lose the last commits.
            database.run("PRAGMA synchronous = NORMAL")?;
        }
        Ok(database)
    }

    fn set_journal_mode(&self, mode: &str) -> rusqlite::Result<String> {
        self.connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0))
    }

    fn run(&self, statements: &str) -> Result<(), LogError> {
        self.connection.execute_batch(statements).map_err(|error| self.failed(error))
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, LogError> {
        let path = path.to_path_buf();
        let connection = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| failed(error, &path))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| failed(error, &path))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
            .map_err(|error| failed(error, &path))?;
        // The file can come from anywhere, so its triggers and views never run.
        for (config, is_on) in [
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        ] {
            connection.set_db_config(config, is_on).map_err(|error| failed(error, &path))?;
        }
        connection
            .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")
            .map_err(|error| failed(error, &path))?;
        let is_writer = flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE);
        Ok(Self { connection, path, is_writer, inserts: INSERT_ROWS.map(insert_values) })
    }

    fn failed(&self, error: rusqlite::Error) -> LogError {
        failed(error, &self.path)
    }
}

/// Converts an error of SQLite.
fn failed(error: rusqlite::Error, path: &Path) -> LogError {
    let converted = match &error {
        rusqlite::Error::SqliteFailure(cause, message) => {
            let text = message.clone().unwrap_or_else(|| cause.to_string());
            match cause.code {
                rusqlite::ErrorCode::NotADatabase => LogError::not_a_log("not an SQLite database"),
                rusqlite::ErrorCode::DatabaseCorrupt => LogError::not_a_log(format!("damaged: {text}")),
                rusqlite::ErrorCode::OperationInterrupted => {
                    LogError::not_a_log("damaged: its tables have more rows than the file has room for")
                }
                rusqlite::ErrorCode::TooBig => LogError::not_a_log("a row is longer than 1 MiB"),
                rusqlite::ErrorCode::DiskFull => {
                    LogError::io(io::Error::new(io::ErrorKind::StorageFull, "No space left on device"))
                }
                rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked => LogError::io(
                    io::Error::new(io::ErrorKind::ResourceBusy, "another program has locked the database"),
                ),
                _ => LogError::io(io::Error::other(text)),
            }
        }
        other => LogError::io(io::Error::other(other.to_string())),
    };
    converted.at_path(path)
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null | Self::Blob => ToSqlOutput::Owned(Value::Null),
            Self::Integer(integer) => ToSqlOutput::Owned(Value::Integer(*integer)),
            Self::Real(real) => ToSqlOutput::Owned(Value::Real(*real)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        if self.is_writer {
            // Fails if a transaction or another connection is open. The file stays in WAL mode then, which loses nothing.
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.set_journal_mode("DELETE");
        }
    }
}

impl Database for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    // Not needed: SQLite's names are case-insensitive.
    fn quote_names(&mut self) {}

    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<(), LogError> {
        let mut prepared = self.connection.prepare_cached(statement).map_err(|error| self.failed(error))?;
        prepared.execute(params_from_iter(values)).map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn query(
        &mut self,
        statement: &str,
        values: &[SqlValue],
        each: &mut dyn FnMut(&[SqlValue]) -> bool,
    ) -> Result<(), LogError> {
        let mut prepared = self.connection.prepare_cached(statement).map_err(|error| self.failed(error))?;
        let columns = prepared.column_count();
        let mut rows = prepared.query(params_from_iter(values)).map_err(|error| self.failed(error))?;
        let mut row_values = Vec::with_capacity(columns);
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            row_values.clear();
            for column in 0..columns {
                let value = row.get_ref(column).map_err(|error| self.failed(error))?;
                row_values.push(match value {
                    ValueRef::Integer(integer) => SqlValue::Integer(integer),
                    ValueRef::Real(real) => SqlValue::Real(real),
                    ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into()),
                    ValueRef::Null => SqlValue::Null,
                    ValueRef::Blob(_) => SqlValue::Blob,
                });
            }
            if !each(&row_values) {
                break;
            }
        }
        Ok(())
    }

    fn insert_values(&mut self, values: &[SqlValue]) -> Result<(), LogError> {
        for (statement, part) in insert_parts(values) {
            let prepared = self.connection.prepare_cached(&self.inserts[statement]);
            prepared
                .and_then(|mut prepared| prepared.execute(params_from_iter(part)))
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), LogError> {
        self.execute("COMMIT", &[])
    }

    fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}
