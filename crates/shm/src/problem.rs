//! Errors of published sets.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tachograph_schema::io_error_text;

/// Why a file is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The offset in the file in bytes.
    pub offset: u64,
    /// What was found there.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl Problem {
    pub(crate) fn new(offset: usize, found: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self { offset: offset as u64, found: found.to_string(), expected: expected.to_string() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: found {}, expected {}", self.offset, self.found, self.expected)
    }
}

impl std::error::Error for Problem {}

/// Why a file could not be opened for reading.
#[derive(Debug)]
pub enum OpenError {
    /// An error of the operating system.
    Io(io::Error),
    /// The file is a symbolic link, is not a regular file, or has more than one hard link: no writer creates such a file.
    Unsuitable(&'static str),
    /// The contents of the file are not a valid published set.
    Problem(Problem),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => f.write_str(&io_error_text(error)),
            Self::Unsuitable(found) => f.write_str(found),
            Self::Problem(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Unsuitable(_) => None,
            Self::Problem(problem) => Some(problem),
        }
    }
}

impl From<Problem> for OpenError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Why a set could not be published, or an instance could not be added.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// No folder is configured: neither `TACHO_RUNTIME_DIR` nor `XDG_RUNTIME_DIR` is set, and `/run/tachograph` does not
    /// exist.
    NoFolder,
    /// The folder is unsuitable: it belongs to another user, or all users can write to it and replace its files.
    Folder(PathBuf, &'static str),
    /// An error of the operating system, with the attempted operation and the file.
    Io(&'static str, PathBuf, io::Error),
    /// The description of the set is invalid.
    CounterSetInfo(Problem),
    /// The name of an instance is too long, contains NUL, or is empty where one is required.
    Name(String),
    /// An instance with this name and id exists.
    InstanceExists(String, u32),
    /// A single-instance set already has its instance.
    SecondInstance,
    /// The process was forked from the one that created the set: it can update instances, but not add or end any.
    ForkedChild,
    /// The set has been stopped.
    Stopped,
    /// The set already has the maximum number of instances.
    Full(u32),
}

impl WriteError {
    pub(crate) fn io(operation: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io(operation, path.to_owned(), error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder => f.write_str(
                "no folder for published counter sets: create /run/tachograph, or set TACHO_RUNTIME_DIR or \
                 XDG_RUNTIME_DIR",
            ),
            Self::Folder(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Io(operation, path, error) => {
                write!(f, "{}: cannot {operation}: {}", path.display(), io_error_text(error))
            }
            Self::CounterSetInfo(problem) => {
                write!(f, "invalid counter set: found {}, expected {}", problem.found, problem.expected)
            }
            Self::Name(name) if name.is_empty() => f.write_str("an instance of this set requires a name"),
            Self::Name(name) => {
                let start: String = name.chars().take(20).collect();
                write!(f, "the instance name '{start}...' has more than 1023 UTF-16 units, or contains NUL")
            }
            Self::InstanceExists(name, id) => write!(f, "an instance '{name}' with id {id} exists already"),
            Self::SecondInstance => f.write_str("a single-instance set can have only one instance"),
            Self::ForkedChild => f.write_str(
                "the set belongs to the parent process: start a set in this process to add instances",
            ),
            Self::Stopped => f.write_str("the counter set has been stopped"),
            Self::Full(capacity) => {
                write!(f, "the counter set is full: its capacity is {capacity} instances")
            }
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, _, error) => Some(error),
            Self::CounterSetInfo(problem) => Some(problem),
            _ => None,
        }
    }
}
