//! The error of readers and writers.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tachograph_counters::io_error_text;

use crate::Problem;
use crate::budget::OverBudget;

/// The reason why a log cannot be read or written. The message names the file and, where known, the offset and the
/// remedy.
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
    NotLater(String),
    OverBudget(OverBudget),
}

impl LogError {
    /// Reading or writing failed.
    pub fn io(error: io::Error) -> Self {
        Self { path: None, kind: Kind::Io(error) }
    }

    /// The file is not a log of a known format.
    pub fn not_a_log(why: impl Into<Cow<'static, str>>) -> Self {
        Self { path: None, kind: Kind::NotALog(why.into()) }
    }

    /// The log has damage that cannot be skipped.
    pub fn corrupt(problem: Problem) -> Self {
        Self { path: None, kind: Kind::Corrupt(problem) }
    }

    /// The format cannot represent the data to be written.
    pub fn unsupported(why: impl Into<Cow<'static, str>>) -> Self {
        Self { path: None, kind: Kind::Unsupported(why.into()) }
    }

    /// The samples to be appended are not later than the end of the log.
    pub fn not_later(why: String) -> Self {
        Self { path: None, kind: Kind::NotLater(why) }
    }

    /// The log needs more memory than its budget has left.
    pub fn over_budget(over: OverBudget) -> Self {
        Self { path: None, kind: Kind::OverBudget(over) }
    }

    /// Sets the path of the file, unless it is already set.
    pub fn at_path(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.to_path_buf());
        self
    }

    /// The path of the file, if known.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether the file does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(&self.kind, Kind::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the file is not a log, or too damaged to be read.
    pub fn is_corrupt(&self) -> bool {
        matches!(self.kind, Kind::NotALog(_) | Kind::Corrupt(_))
    }

    /// The damage as a [problem](Problem); other errors are problems at offset 0.
    pub(crate) fn problem(&self) -> Problem {
        match &self.kind {
            Kind::Corrupt(problem) => problem.clone(),
            Kind::NotALog(why) => Problem::new(0, why.clone()),
            Kind::Io(_) | Kind::Unsupported(_) | Kind::NotLater(_) | Kind::OverBudget(_) => {
                Problem::new(0, self.to_string())
            }
        }
    }

    /// Adds advice to the description of damage. Other errors are unchanged.
    pub fn with_advice(mut self, advice: &str) -> Self {
        if let Kind::Corrupt(problem) = &mut self.kind {
            problem.what = format!("{}; {advice}", problem.what).into();
        }
        self
    }

    /// Whether the format cannot represent the data to be written.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.kind, Kind::Unsupported(_) | Kind::NotLater(_))
    }

    /// Whether the samples to be appended are not later than the end of the log. Such an error is also
    /// [unsupported](Self::is_unsupported).
    pub fn is_not_later(&self) -> bool {
        matches!(self.kind, Kind::NotLater(_))
    }

    /// Whether the log needs more memory than its [budget](crate::Budget) has left; retry with a larger budget.
    pub fn is_over_budget(&self) -> bool {
        matches!(self.kind, Kind::OverBudget(_))
    }

    /// The operating system's error, if reading or writing failed.
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
            Kind::Io(error) => f.write_str(&io_error_text(error)),
            Kind::NotALog(why) => f.write_str(why),
            Kind::Corrupt(problem) => write!(f, "damaged at {problem}"),
            Kind::Unsupported(why) => f.write_str(why),
            Kind::NotLater(why) => f.write_str(why),
            Kind::OverBudget(over) => write!(f, "the log has too many columns for the memory: {over}"),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.io_error().map(|error| error as _)
    }
}
