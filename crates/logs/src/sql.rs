//! Logs in databases, in the three tables that PDH defines: `CounterData`, `CounterDetails` and `DisplayToID`.
//!
//! A log is named `SQL:DSN!NAME`. A DSN that ends in `.db`, `.sqlite` or `.sqlite3` is the path of an SQLite file. Others are data
//! sources of ODBC, which needs the feature `odbc`.
//!
//! `CounterData` has a row for each value: the raw value in four 32-bit halves, and the displayed value. `CounterDetails`
//! describes the counters, and `DisplayToID` the logs. Times are UTC, `yyyy-mm-dd hh:mm:ss:nnn`, so they are truncated to
//! milliseconds. The tables have no place for boot times, statuses and 32-bit flags, so a value with an error status has no row.
//!
//! Source: "SQL Log File Schema" (Windows SDK); the names of its columns and their types are kept.

mod database;
mod dialect;
mod halves;
mod log_lock;
mod name;
#[cfg_attr(not(feature = "odbc"), path = "sql/no_odbc.rs")]
mod odbc;
mod read;
mod sqlite;
mod text;
mod write;

pub use name::SqlLogName;
pub use read::SqlLogReader;
pub(crate) use sqlite::looks_like_sqlite;
pub use write::{SqlLogWriter, SqlStart};

/// Maximum number of counters of a log in a database.
const MAX_COUNTERS: usize = 1 << 20;

/// Maximum length of a name, in bytes. The columns have 1024 characters.
const MAX_NAME_BYTES: usize = 4096;

/// Maximum length of all different names of a log, in bytes.
const MAX_TOTAL_NAME_BYTES: usize = 64 << 20;
