//! What of the files could not be made counter sets.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::{ErrorCode, Failure};

use super::error::LayoutError;
use super::header::Unusable;
use super::plan::LeftOut;

/// The most bytes of a file: room for 200,000 values.
pub(super) const MOST_FILE_BYTES: u64 = 8 << 20;

/// Something of a folder or a file that is no counter, with its cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    path: PathBuf,
    cause: Cause,
}

/// Why a file, or a part of it, is not told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cause {
    System(Errno),
    /// A link, a pipe, a device.
    NotRegular(&'static str),
    TooLong(u64),
    TooShort(u64),
    /// The files together take too much memory.
    OutOfBudget,
    Shrunk,
    Torn(u64, u64),
    Layout(LayoutError),
    LeftOut(LeftOut),
    Taken(Arc<str>),
    MoreFiles(usize),
}

impl Problem {
    pub(super) fn new(path: impl Into<PathBuf>, cause: Cause) -> Self {
        Self { path: path.into(), cause }
    }

    /// The file, or the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The field that breaks the format, where that is the cause.
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
            Self::System(error) => write!(f, "{}", std::io::Error::from(*error)),
            Self::NotRegular(what) => write!(f, "it is {what}, not a regular file"),
            Self::TooLong(bytes) => write!(f, "it has {bytes} bytes, at most {MOST_FILE_BYTES}"),
            Self::TooShort(bytes) => write!(f, "it has {bytes} bytes, fewer than the header of an MMV file"),
            Self::OutOfBudget => f.write_str("the MMV files together are too large to be watched"),
            Self::Shrunk => f.write_str("it became shorter while it was read"),
            Self::Torn(first, second) => write!(
                f,
                "offset 8: it is being written, or its program ended while doing so: generation 1 is {first}, \
                 generation 2 {second}, expected to be the same"
            ),
            Self::Layout(error) => write!(f, "{error}"),
            Self::LeftOut(what) => write!(f, "{what}"),
            Self::Taken(set) => {
                write!(f, "its counter set '{set}' is left out: another has this name or GUID")
            }
            Self::MoreFiles(most) => write!(f, "it has more than {most} files; the rest is not looked at"),
        }
    }
}

impl Cause {
    /// The failure of the sets of a file.
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

impl From<Unusable> for Cause {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Torn(first, second) => Self::Torn(first, second),
            Unusable::Damaged(error) => Self::Layout(error),
        }
    }
}
