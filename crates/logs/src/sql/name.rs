//! Names of logs in databases.

use std::fmt;
use std::path::{Path, PathBuf};

use super::database::Database;
use super::odbc;
use super::read::names_in;
use super::sqlite::Sqlite;
use crate::LogError;

/// The name of a log in a database: `SQL:DSN!NAME`, where DSN is an ODBC data source or the path of an SQLite file.
///
/// ```
/// use std::path::Path;
/// use tachograph_logs::sql::SqlLogName;
///
/// let name = SqlLogName::parse(Path::new("SQL:/var/log/web.db!march")).expect("starts with SQL:")?;
/// assert_eq!((name.source(), name.log()), ("/var/log/web.db", "march"));
/// assert!(SqlLogName::parse(Path::new("web.blg")).is_none());
/// assert!(SqlLogName::parse(Path::new("SQL:web.db")).expect("starts with SQL:").is_err());
/// # Ok::<(), tachograph_logs::LogError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlLogName {
    source: String,
    log: String,
}

/// Maximum length of a log's name in characters.
const MAX_LOG_NAME: usize = 1023;

/// The extensions of SQLite files.
const SQLITE_EXTENSIONS: [&str; 3] = ["db", "sqlite", "sqlite3"];

impl SqlLogName {
    /// Parses a name. `None` if it does not start with `SQL:` (case-insensitive).
    pub fn parse(name: &Path) -> Option<Result<Self, LogError>> {
        let text = name.to_str()?;
        let rest = text.get(..4).filter(|start| start.eq_ignore_ascii_case("sql:")).map(|_| &text[4..])?;
        Some(match rest.rsplit_once('!') {
            Some((source, log))
                if !source.is_empty() && !log.trim().is_empty() && log.chars().count() <= MAX_LOG_NAME =>
            {
                Ok(Self { source: source.to_owned(), log: log.to_owned() })
            }
            _ => Err(LogError::unsupported(format!(
                "{text}: a log in a database is named SQL:DSN!NAME, such as SQL:counters.db!march (NAME has at most \
                 {MAX_LOG_NAME} characters)"
            ))),
        })
    }

    /// The error for an SQLite file that was given as a log. It says how the logs in the file are named, and which there are.
    pub(crate) fn missing_in(path: &Path) -> LogError {
        let name = Self { source: path.to_string_lossy().into_owned(), log: "NAME".to_owned() };
        if name.sqlite_path().is_none() {
            return LogError::not_a_log(
                "an SQLite database: a log in it is named SQL:FILE!NAME, where FILE must end in .db, .sqlite or .sqlite3",
            );
        }
        match names_in(&name) {
            Ok(names) => {
                LogError::not_a_log(format!("an SQLite database: a log in it is named {name}; {names}"))
            }
            Err(error) => error,
        }
    }

    /// The data source: the path of an SQLite file, or the DSN of an ODBC data source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The name of the log in the database.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// The path of the SQLite file, if the data source is one.
    pub fn sqlite_path(&self) -> Option<PathBuf> {
        let path = Path::new(&self.source);
        let extension = path.extension()?.to_str()?;
        let is_sqlite = SQLITE_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known));
        is_sqlite.then(|| path.to_path_buf())
    }

    /// Connects to the database to read a log.
    pub(super) fn open(&self) -> Result<Box<dyn Database>, LogError> {
        match self.sqlite_path() {
            Some(path) => Ok(Box::new(Sqlite::open(&path)?)),
            None => odbc::connect(&self.source),
        }
    }

    /// Connects to the database to write the log. An SQLite file is created if it does not exist, and its log is locked.
    pub(super) fn create(&self) -> Result<Box<dyn Database>, LogError> {
        match self.sqlite_path() {
            Some(path) => Ok(Box::new(Sqlite::create(&path, &self.log)?)),
            None => odbc::connect(&self.source),
        }
    }
}

impl fmt::Display for SqlLogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SQL:{}!{}", self.source, self.log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_exclamation_mark_separates_source_and_log() {
        let name = SqlLogName::parse(Path::new("sql:a!b.db!x")).expect("an SQL name").expect("valid");
        assert_eq!((name.source(), name.log()), ("a!b.db", "x"));
        assert_eq!(name.sqlite_path(), Some(PathBuf::from("a!b.db")));
        assert_eq!(name.to_string(), "SQL:a!b.db!x");
        let other = SqlLogName::parse(Path::new("SQL:servers!x")).expect("an SQL name").expect("valid");
        assert_eq!(other.sqlite_path(), None);
    }

    #[test]
    fn wrong_names_are_errors() {
        for wrong in ["SQL:", "SQL:!", "SQL:a.db", "SQL:!x", "SQL:a.db!", "SQL:a.db! "] {
            let error = SqlLogName::parse(Path::new(wrong)).expect("an SQL name").expect_err(wrong);
            assert!(error.to_string().contains("SQL:DSN!NAME"), "{error}");
        }
        assert!(SqlLogName::parse(Path::new("sq")).is_none());
        assert!(SqlLogName::parse(Path::new("éé!")).is_none());
    }
}
