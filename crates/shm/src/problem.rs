//! What goes wrong with published sets.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file is not read: where, what was found, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The byte of the file.
    pub offset: u64,
    /// What is there.
    pub found: String,
    /// What should be.
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
    /// The operating system says no.
    Io(io::Error),
    /// It is a link, or no regular file, or has several names: planted, not published.
    NotAFile(&'static str),
    /// Its bytes are no published set.
    Problem(Problem),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotAFile(what) => f.write_str(what),
            Self::Problem(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::NotAFile(_) => None,
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
    /// No folder is set up: neither of the variables is set, and there is none in `/run`.
    NoFolder,
    /// The folder is not fit: a link, somebody else's, or open to all.
    Folder(PathBuf, &'static str),
    /// The operating system says no to this work on this file.
    Io(&'static str, PathBuf, io::Error),
    /// The description breaks a rule.
    CounterSetInfo(Problem),
    /// The name is too long, or is needed and empty.
    Name(String),
    /// An instance of this name and id is there.
    InstanceExists(String, u32),
    /// A single-instance set has its instance.
    SecondInstance,
    /// The process was forked from the one that made the set: it can update instances, but neither add nor end any.
    ForkedChild,
    /// The set was stopped.
    Stopped,
    /// All slots are in use.
    Full(u32),
}

impl WriteError {
    pub(crate) fn io(work: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io(work, path.to_owned(), error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder => f.write_str(
                "there is no folder for published counter sets: create /run/tachograph, or set TACHO_RUNTIME_DIR or \
                 XDG_RUNTIME_DIR",
            ),
            Self::Folder(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Io(work, path, error) => write!(f, "{}: cannot {work}: {error}", path.display()),
            Self::CounterSetInfo(problem) => {
                write!(f, "the counter set: found {}, expected {}", problem.found, problem.expected)
            }
            Self::Name(name) if name.is_empty() => f.write_str("an instance of this set needs a name"),
            Self::Name(name) => {
                let start: String = name.chars().take(20).collect();
                write!(f, "the instance name '{start}...' is longer than 1023 characters, or holds a zero")
            }
            Self::InstanceExists(name, id) => write!(f, "there is an instance '{name}' with id {id}"),
            Self::SecondInstance => f.write_str("a single-instance set has one instance only"),
            Self::ForkedChild => f.write_str(
                "the set belongs to the process that this one was forked from: start a set here for more instances",
            ),
            Self::Stopped => f.write_str("the counter set was stopped"),
            Self::Full(capacity) => {
                write!(f, "the counter set is full: it was made for {capacity} instances")
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
