//! Problems: files that cannot be read, or can be read only in part.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tachograph_counters::io_error_text;
use tachograph_perflib::{ErrorCode, Failure};

use super::error::LayoutError;
use super::header::ReadError;
use super::plan::Skipped;

/// The maximum size of a file, enough for 200,000 values.
pub(super) const MAX_FILE_BYTES: u64 = 8 << 20;

/// A file or folder that cannot be read, or a part of it that is skipped, with the cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    path: PathBuf,
    cause: Cause,
}

/// Why a file, or a part of it, is skipped.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cause {
    /// An error of the operating system.
    System(Errno),
    /// The file is not a regular file, but of this kind (with an article).
    NotRegular(&'static str),
    /// The file, which has this number of bytes, is larger than [`MAX_FILE_BYTES`].
    TooLong(u64),
    /// The file, which has this number of bytes, is smaller than a header.
    TooShort(u64),
    /// The memory budget of all files is exhausted.
    OutOfBudget,
    /// The file became shorter while it was read.
    Shrunk,
    /// The two copies of the generation differ, because the file is being written.
    Torn(u64, u64),
    Layout(LayoutError),
    Skipped(Skipped),
    /// Another counter set has the name or the GUID of this one.
    NameTaken(Arc<str>),
    /// The folder has more than this number of files.
    MoreFiles(usize),
}

impl Problem {
    pub(super) fn new(path: impl Into<PathBuf>, cause: Cause) -> Self {
        Self { path: path.into(), cause }
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The field that breaks the format, if that is the cause.
    pub fn layout(&self) -> Option<&LayoutError> {
        match &self.cause {
            Cause::Layout(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => f.write_str(&io_error_text(&(*error).into())),
            Self::NotRegular(kind) => write!(f, "{kind}, not a regular file"),
            Self::TooLong(bytes) => write!(f, "{bytes} bytes; at most {MAX_FILE_BYTES} are read"),
            Self::TooShort(bytes) => write!(f, "{bytes} bytes, fewer than the header of an MMV file"),
            Self::OutOfBudget => f.write_str("all MMV files together would take too much memory"),
            Self::Shrunk => f.write_str("the file became shorter while it was read"),
            Self::Torn(first, second) => write!(
                f,
                "offset 8: the file is being written, or its program ended while writing it: generation 1 is {first}, \
                 generation 2 is {second}, expected the same"
            ),
            Self::Layout(error) => write!(f, "{error}"),
            Self::Skipped(skipped) => write!(f, "{skipped}"),
            Self::NameTaken(set) => {
                write!(f, "counter set '{set}' is skipped: another set has this name or GUID")
            }
            Self::MoreFiles(max) => write!(f, "more than {max} files; the others are ignored"),
        }
    }
}

impl Cause {
    pub(super) fn failure(&self, path: &Path) -> Failure {
        let code = match self {
            Self::System(Errno::ACCESS | Errno::PERM) => ErrorCode::ACCESS_DENIED,
            Self::System(_) => ErrorCode::NO_DATA,
            Self::OutOfBudget => ErrorCode::NO_SYSTEM_RESOURCES,
            _ => ErrorCode::INVALID_DATA,
        };
        Failure::new(code, format!("{}: {self}", path.display()))
    }
}

impl From<Errno> for Cause {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

impl From<Skipped> for Cause {
    fn from(skipped: Skipped) -> Self {
        Self::Skipped(skipped)
    }
}

impl From<ReadError> for Cause {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Torn(first, second) => Self::Torn(first, second),
            ReadError::Damaged(error) => Self::Layout(error),
        }
    }
}
