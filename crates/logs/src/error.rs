//! Why a log cannot be read or written at all.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::budget::OverBudget;
use crate::problem::Problem;

/// Why a log cannot be read or written. One sentence with the file, the offset and, where there is one, the remedy.
#[derive(Debug)]
pub struct LogError {
    path: Option<PathBuf>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Io(io::Error),
    NotALog(Cow<'static, str>),
    Corrupt(Problem),
    Unsupported(Cow<'static, str>),
    OverBudget(OverBudget),
}

impl LogError {
    /// Reading or writing failed.
    pub fn io(error: io::Error) -> Self {
        Self { path: None, kind: Kind::Io(error) }
    }

    /// The file is no log of a known format.
    pub fn not_a_log(why: impl Into<Cow<'static, str>>) -> Self {
        Self { path: None, kind: Kind::NotALog(why.into()) }
    }

    /// The log is damaged where it cannot be stepped over.
    pub fn corrupt(problem: Problem) -> Self {
        Self { path: None, kind: Kind::Corrupt(problem) }
    }

    /// The format cannot hold what was to be written.
    pub fn unsupported(why: impl Into<Cow<'static, str>>) -> Self {
        Self { path: None, kind: Kind::Unsupported(why.into()) }
    }

    /// The log needs more memory than logs may take.
    pub fn over_budget(over: OverBudget) -> Self {
        Self { path: None, kind: Kind::OverBudget(over) }
    }

    /// Names the file, unless it is named already.
    pub fn at_path(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.to_path_buf());
        self
    }

    /// The file, where it is named.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether the file does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(&self.kind, Kind::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the file is no log, or too damaged to be read as one.
    pub fn is_corrupt(&self) -> bool {
        matches!(self.kind, Kind::NotALog(_) | Kind::Corrupt(_))
    }

    /// Whether the format cannot hold what was to be written.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.kind, Kind::Unsupported(_))
    }

    /// Whether the log needs more memory than its [budget](crate::Budget) has left; a larger budget is the remedy.
    pub fn is_over_budget(&self) -> bool {
        matches!(self.kind, Kind::OverBudget(_))
    }

    /// The operating system's error, where reading or writing failed.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.kind {
            Kind::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        match &self.kind {
            Kind::Io(error) => write!(f, "{error}"),
            Kind::NotALog(why) => f.write_str(why),
            Kind::Corrupt(problem) => write!(f, "damaged at {problem}"),
            Kind::Unsupported(why) => f.write_str(why),
            Kind::OverBudget(over) => write!(f, "the log has too many columns for the memory: {over}"),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.io_error().map(|error| error as _)
    }
}
