//! Errors of publishing.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use tachograph_shm::{Guid, WriteError, io_error_text};

/// Why publishing failed. The message says what failed, where, and what to do.
///
/// An error need not stop the application: see
/// [`Publisher::start_or_unpublished`](crate::Publisher::start_or_unpublished).
#[derive(Debug)]
#[non_exhaustive]
pub enum PublishError {
    /// The file in the runtime folder could not be created, or the description or the instance is invalid.
    Write(WriteError),
    /// The socket of the file could not be created.
    Control(PathBuf, io::Error),
    /// The group is not in `/etc/group`, or the file cannot be read.
    UnknownGroup(String),
    /// Counter paths cannot refer to the name of the set or of a counter; the text says which, and why.
    Name(String),
    /// The counter set has no counters.
    NoCounters(Guid),
    /// The counter with this id has a cell that is not plain or has stripes. Sets that are described at run time cannot
    /// have such cells.
    NotPlain(u32),
    /// The provider has already registered this set.
    SetExists(Guid),
    /// The provider has not registered this set.
    UnknownSet(Guid),
    /// The set has no instance with this name and id.
    UnknownInstance(String, u32),
    /// The set has no counter with this id.
    UnknownCounter(u32),
    /// The counter lacks the attribute of counters by reference.
    NotByReference(u32),
    /// The fields of this type do not match its description. `#[derive(CounterSet)]` ensures that they do.
    Mismatch(&'static str),
    /// The process is a forked child of the publishing process: it can update instances, but not add or end any.
    ForkedChild,
    /// The provider has been stopped, or the instance deleted.
    Stopped,
}

impl PublishError {
    /// The code of winerror.h that the functions of perflib.h return.
    ///
    /// | code | name | when |
    /// | --- | --- | --- |
    /// | 3 | `ERROR_PATH_NOT_FOUND` | no runtime folder exists |
    /// | 5 | `ERROR_ACCESS_DENIED` | the application has no access to the folder, or the folder is unsuitable |
    /// | 6 | `ERROR_INVALID_HANDLE` | the provider has been stopped, or belongs to the parent process |
    /// | 8 | `ERROR_NOT_ENOUGH_MEMORY` | the set is full |
    /// | 14 | `ERROR_OUTOFMEMORY` | the folder is full |
    /// | 29 | `ERROR_WRITE_FAULT` | another error of the operating system |
    /// | 87 | `ERROR_INVALID_PARAMETER` | the description, a name or an attribute is invalid |
    /// | 183 | `ERROR_ALREADY_EXISTS` | the set or the instance exists already |
    /// | 1168 | `ERROR_NOT_FOUND` | the set, the instance or the counter does not exist |
    /// | 1319 | `ERROR_NO_SUCH_GROUP` | the group does not exist |
    /// | 1450 | `ERROR_NO_SYSTEM_RESOURCES` | the process, or the machine, has reached its limit of open files |
    pub fn code(&self) -> u32 {
        match self {
            Self::Write(error) => write_code(error),
            Self::Control(_, error) => io_code(error),
            Self::UnknownGroup(_) => 1319,
            Self::Name(_)
            | Self::NoCounters(_)
            | Self::NotPlain(_)
            | Self::NotByReference(_)
            | Self::Mismatch(_) => 87,
            Self::SetExists(_) => 183,
            Self::UnknownSet(_) | Self::UnknownInstance(..) | Self::UnknownCounter(_) => 1168,
            Self::ForkedChild | Self::Stopped => 6,
        }
    }

    /// Whether the application's user lacks a permission.
    pub fn is_permission_denied(&self) -> bool {
        self.code() == 5
    }

    /// Whether the folder or the set is full.
    pub fn is_full(&self) -> bool {
        matches!(self.code(), 8 | 14)
    }

    /// Whether the set or the instance exists already.
    pub fn already_exists(&self) -> bool {
        self.code() == 183
    }

    fn io(&self) -> Option<&io::Error> {
        match self {
            Self::Write(WriteError::Io(_, _, error)) | Self::Control(_, error) => Some(error),
            _ => None,
        }
    }
}

fn write_code(error: &WriteError) -> u32 {
    match error {
        WriteError::NoFolder => 3,
        WriteError::Folder(..) => 5,
        WriteError::Io(_, _, error) => io_code(error),
        WriteError::InstanceExists(..) | WriteError::SecondInstance => 183,
        WriteError::Full(_) => 8,
        WriteError::ForkedChild | WriteError::Stopped => 6,
        _ => 87,
    }
}

/// Whether a limit of open files was reached, for which `ErrorKind` has no variant.
fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

fn io_code(error: &io::Error) -> u32 {
    if is_out_of_files(error) {
        return 1450;
    }
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => 5,
        ErrorKind::NotFound | ErrorKind::NotADirectory => 3,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory => 14,
        ErrorKind::FileTooLarge => 14,
        _ => 29,
    }
}

/// A remedy for an error of the operating system.
fn remedy(error: &io::Error) -> Option<&'static str> {
    if is_out_of_files(error) {
        return Some("raise the limit of open files (ulimit -n), or close some");
    }
    Some(match error.kind() {
        ErrorKind::PermissionDenied => {
            "give the application's user write access to the folder (a member of the group tacho may write to \
             /run/tachograph), or set TACHO_RUNTIME_DIR to another folder"
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "set TACHO_RUNTIME_DIR to a writable folder"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space in the folder, or set TACHO_RUNTIME_DIR to another one"
        }
        ErrorKind::FileTooLarge => "raise the file size limit (ulimit -f), or publish fewer instances",
        ErrorKind::InvalidInput => "set TACHO_RUNTIME_DIR to a folder with a shorter path",
        _ => return None,
    })
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => write!(f, "{error}")?,
            Self::Control(path, error) => {
                write!(f, "{}: cannot listen for requests: {}", path.display(), io_error_text(error))?
            }
            Self::UnknownGroup(name) => {
                write!(f, "the group '{name}' is not in /etc/group: create it, or pass its id to gid()")?
            }
            Self::Name(message) => f.write_str(message)?,
            Self::NoCounters(set) => write!(f, "the counter set {set} has no counters")?,
            Self::NotPlain(id) => write!(
                f,
                "counter {id} has a pair, a ratio or stripes: a set that is described at run time stores every counter in a \
                 plain cell, including bases"
            )?,
            Self::SetExists(set) => {
                write!(f, "the counter set {set} is already registered with this provider")?
            }
            Self::UnknownSet(set) => {
                write!(f, "the counter set {set} is not registered with this provider: register it first")?;
            }
            Self::UnknownInstance(name, id) => {
                write!(f, "the counter set has no instance '{name}' with id {id}")?
            }
            Self::UnknownCounter(id) => write!(f, "the counter set has no counter {id}")?,
            Self::NotByReference(id) => {
                write!(
                    f,
                    "counter {id} is not a counter by reference: set the attribute PERF_ATTRIB_BY_REFERENCE (1)"
                )?;
            }
            Self::Mismatch(name) => write!(f, "the fields of {name} do not match its description")?,
            Self::ForkedChild => f.write_str(
                "the set belongs to the parent process: start a set in this process to add instances",
            )?,
            Self::Stopped => f.write_str("the provider has been stopped, or the instance deleted")?,
        }
        match self.io().and_then(remedy) {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PublishError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write(error) => Some(error),
            Self::Control(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<WriteError> for PublishError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}
