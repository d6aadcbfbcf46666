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
use super::log_lock::LogLock;
use crate::LogError;
use crate::output_file::FileLocation;

/// How long to wait for another program that holds the database's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a row or a value. SQLite refuses longer ones.
const MAX_ROW_BYTES: i32 = 1 << 20;

/// Number of instructions of SQLite between two checks of their total.
const CHECKED_INSTRUCTIONS: i32 = 1_000_000;

/// Maximum number of instructions per byte of a file that is read. A row of 100 bytes takes about 50 instructions, but pages of
/// a damaged file can refer to the same pages again and again, so that a small file has endless rows.
const INSTRUCTIONS_PER_BYTE: u64 = 64;

const HAS_OTHER_TABLES: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
                                AND lower(name) NOT IN ('counterdetails', 'displaytoid', 'counterdata'))";

const HAS_TABLES: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_master)";

const HAS_LOGS: &str = "SELECT EXISTS (SELECT 1 FROM DisplayToID)";

/// Whether a file that starts with these bytes is an SQLite database.
pub(crate) fn looks_like_sqlite(start: &[u8]) -> bool {
    start.starts_with(b"SQLite format 3\0")
}

/// Number of prepared statements that are kept.
const STATEMENTS: usize = 16;

/// An SQLite file.
///
/// While it is written, the file is in WAL mode: readers do not block the writer, and a reader needs no permission to repair
/// the file after the writer was killed. The writer sets the usual mode at the end, so that a complete log is a single file;
/// but a file with other tables keeps the mode that it had.
///
/// If the file is renamed or deleted while it is written, all rows are copied from `FILE-wal` into it at the end.
pub(super) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// The file that is written, to notice when it is renamed or deleted. It must be closed after the connection.
    file: Option<std::fs::File>,
    /// The identity of `FILE-wal` after the first commit.
    wal: Option<FileIdentity>,
    /// The lock of the log that is written.
    _lock: Option<LogLock>,
    /// Whether this program has created the file.
    is_new: bool,
    /// Whether the writer leaves WAL mode at the end.
    leaves_wal: bool,
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
        let bytes =
            self.bytes() + std::fs::metadata(self.beside("-wal")).map_or(0, |metadata| metadata.len());
        let mut checks =
            10 + bytes.saturating_mul(INSTRUCTIONS_PER_BYTE) / u64::from(CHECKED_INSTRUCTIONS.unsigned_abs());
        let is_exceeded = move || {
            checks = checks.saturating_sub(1);
            checks == 0
        };
        let bounded = self.connection.progress_handler(CHECKED_INSTRUCTIONS, Some(is_exceeded));
        bounded.map_err(|error| self.failed(error))
    }

    /// Opens a file to write this log. The file is created if it does not exist.
    pub(super) fn create(path: &Path, log: &str) -> Result<Self, LogError> {
        let failed = |error| LogError::io(error).at_path(path);
        let mut options = std::fs::OpenOptions::new();
        options.read(true).append(true);
        let is_new = options.clone().create_new(true).open(path).is_ok();
        options.create(true).open(path).map_err(failed)?;
        // SQLite follows links, too.
        let path = &path.canonicalize().map_err(failed)?;
        let lock = LogLock::new(path, log).map_err(LogError::io)?;
        let file = open_identity(path).map_err(failed)?;
        let mut database = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        database.is_new = is_new;
        database.file = Some(file);
        database._lock = lock;
        // A cache of 16 MiB has room for the changed pages of a transaction.
        database.run("PRAGMA cache_size = -16384")?;
        Ok(database)
    }

    fn set_journal_mode(&self, mode: &str) -> rusqlite::Result<String> {
        self.connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0))
    }

    /// Whether the file is in WAL mode because its owner wants that: a file with only PDH's tables is in this mode after a writer
    /// was killed, or while another one writes.
    fn is_wal_of_owner(&self) -> rusqlite::Result<bool> {
        let mode: String = self.connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        Ok(mode == "wal" && self.connection.query_row(HAS_OTHER_TABLES, [], |row| row.get(0))?)
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
        Ok(Self {
            connection,
            path,
            file: None,
            wal: None,
            _lock: None,
            is_new: false,
            leaves_wal: false,
            inserts: INSERT_ROWS.map(insert_values),
        })
    }

    /// The name of a file that SQLite keeps beside the database.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        PathBuf::from(path)
    }

    /// Copies committed rows from `FILE-wal` into a file that was renamed or deleted, and removes the files beside its former
    /// name. SQLite does neither, and would use them for another file that has the name by now.
    fn complete_moved(&mut self) {
        // Fails if no transaction is open.
        let _ = self.roll_back();
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(()));
        let wal = self.beside("-wal");
        if self.wal.is_some() && FileIdentity::of(&wal) == self.wal {
            let _ = std::fs::remove_file(wal);
            let _ = std::fs::remove_file(self.beside("-shm"));
        }
    }

    /// Removes a file that this program has created if no log was committed into it. Returns false if the file is kept.
    fn remove_unused(&self) -> rusqlite::Result<bool> {
        if !self.is_new {
            return Ok(false);
        }
        self.connection.busy_timeout(Duration::ZERO)?;
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        // Fails while another program writes a log into the file.
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let exists = |query: &str| self.connection.query_row(query, [], |row| row.get::<_, bool>(0));
        if exists(HAS_TABLES)? && (exists(HAS_OTHER_TABLES)? || exists(HAS_LOGS)?) {
            self.connection.execute_batch("ROLLBACK")?;
            return Ok(false);
        }
        for path in [self.path.clone(), self.beside("-wal"), self.beside("-shm")] {
            let _ = std::fs::remove_file(path);
        }
        Ok(true)
    }

    fn failed(&self, error: rusqlite::Error) -> LogError {
        failed(error, &self.path)
    }
}

/// Opens a file only to identify it. Closing such a file keeps SQLite's locks, while closing any other descriptor of the file
/// would drop them.
#[cfg(target_os = "linux")]
fn open_identity(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::PATH.bits().cast_signed();
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a file only to identify it.
#[cfg(not(target_os = "linux"))]
fn open_identity(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// The device and inode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity(u64, u64);

impl FileIdentity {
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(path).ok()?;
        Some(Self(found.dev(), found.ino()))
    }

    #[cfg(not(unix))]
    fn of(_path: &Path) -> Option<Self> {
        None
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
                    io::Error::new(io::ErrorKind::TimedOut, "another program has locked the database"),
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
        if self.location() != FileLocation::InPlace {
            self.complete_moved();
        } else if self.remove_unused().unwrap_or(false) {
            // The connection closes the removed file.
        } else if self.leaves_wal {
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

    fn prepare_writing(&mut self) -> Result<(), LogError> {
        let is_of_owner = self.is_wal_of_owner().map_err(|error| self.failed(error))?;
        // Fails if the file system lacks shared memory or if another program is reading: then the mode is unchanged.
        if self.set_journal_mode("WAL").is_ok_and(|mode| mode == "wal") {
            self.leaves_wal = !is_of_owner;
            // The file stays intact after a power failure, which can lose the last commits.
            self.run("PRAGMA synchronous = NORMAL")?;
        }
        Ok(())
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
        self.execute("COMMIT", &[])?;
        if self.wal.is_none() && self.location() == FileLocation::InPlace {
            self.wal = FileIdentity::of(&self.beside("-wal"));
        }
        Ok(())
    }

    fn roll_back(&mut self) -> Result<(), LogError> {
        self.execute("ROLLBACK", &[])
    }

    fn location(&self) -> FileLocation {
        self.file.as_ref().map_or(FileLocation::InPlace, |file| FileLocation::of(file, &self.path))
    }

    fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}
