//! SQLite databases.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};

use super::database::{Database, SqlValue, first_row};
use crate::LogError;

/// PDH's tables with Windows' names and types. The key of `CounterData` has its columns in the order in which rows are written
/// and read, so that rows are appended.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS CounterDetails (
    CounterID integer PRIMARY KEY,
    MachineName varchar(1024) NOT NULL,
    ObjectName varchar(1024) NOT NULL,
    CounterName varchar(1024) NOT NULL,
    CounterType int NOT NULL,
    DefaultScale int NOT NULL,
    InstanceName varchar(1024),
    InstanceIndex int,
    ParentName varchar(1024),
    ParentObjectID int,
    TimeBaseA int,
    TimeBaseB int
);
CREATE TABLE IF NOT EXISTS DisplayToID (
    GUID char(36) NOT NULL PRIMARY KEY,
    RunID int,
    DisplayString varchar(1024) NOT NULL UNIQUE,
    LogStartTime char(24),
    LogStopTime char(24),
    NumberOfRecords int,
    MinutesToUTC int,
    TimeZoneName char(32)
);
CREATE TABLE IF NOT EXISTS CounterData (
    GUID char(36) NOT NULL,
    CounterID int NOT NULL,
    RecordIndex int NOT NULL,
    CounterDateTime char(24) NOT NULL,
    CounterValue float NOT NULL,
    FirstValueA int,
    FirstValueB int,
    SecondValueA int,
    SecondValueB int,
    MultiCount int,
    PRIMARY KEY (GUID, RecordIndex, CounterID)
) WITHOUT ROWID;
";

/// How long to wait for another program that holds the database's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a row or a value. SQLite refuses longer ones.
const MAX_ROW_BYTES: i32 = 1 << 20;

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
}

impl Sqlite {
    /// Opens an existing file to read.
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        // SQLite's own message does not say why a file cannot be opened.
        std::fs::File::open(path).map_err(|error| LogError::io(error).at_path(path))?;
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
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
        // Room for the changed pages of a transaction, in KiB.
        database.run("PRAGMA cache_size = -16384")?;
        // Fails if the file system lacks shared memory or if another program is reading: then the mode is unchanged.
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
        // A file from elsewhere is data: its triggers and views never run.
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
        Ok(Self { connection, path, is_writer: flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) })
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
    fn create_tables(&mut self) -> Result<(), LogError> {
        self.run(TABLES)
    }

    fn check_tables(&mut self) -> Result<(), LogError> {
        for table in ["DisplayToID", "CounterDetails", "CounterData"] {
            let found = first_row(
                self,
                "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE",
                &[SqlValue::Text(table.to_owned())],
            )?;
            let what = match found.as_deref() {
                Some([SqlValue::Text(kind)]) if kind == "table" => continue,
                // The query of a view can be endless.
                Some(_) => "is not a table",
                None => "is missing",
            };
            let why = format!("not a database of performance logs: the table {table} {what}");
            return Err(LogError::not_a_log(why).at_path(&self.path));
        }
        Ok(())
    }

    fn begin_reading(&mut self) -> Result<(), LogError> {
        self.execute("BEGIN", &[])
    }

    fn begin(&mut self) -> Result<(), LogError> {
        self.execute("BEGIN IMMEDIATE", &[])
    }

    fn commit(&mut self) -> Result<(), LogError> {
        self.execute("COMMIT", &[])
    }

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
                    ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
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

    fn sync_commits(&mut self) -> Result<(), LogError> {
        self.run("PRAGMA synchronous = FULL")
    }

    fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}
