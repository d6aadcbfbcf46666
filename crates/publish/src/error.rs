//! Why counters could not be published.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use tachograph_shm::{Guid, WriteError};

/// Why a call of a provider failed. The text says what, where, and what can be done about it.
///
/// None of them harms the application: see
/// [`Publisher::start_or_unpublished`](crate::Publisher::start_or_unpublished).
#[derive(Debug)]
#[non_exhaustive]
pub enum PublishError {
    /// The file in the runtime folder could not be made, or the description or the instance is refused.
    Write(WriteError),
    /// The socket for requests, beside the file, could not be made.
    Control(PathBuf, io::Error),
    /// `/etc/group` does not name this group, or cannot be read.
    UnknownGroup(String),
    /// Counter paths cannot mean the set or a counter by this name, so nobody would see it: which, and why not.
    Name(String),
    /// The counter set has no counters.
    NoCounters(Guid),
    /// A counter of a set that is described at run time has to have a plain cell without stripes; the counter's id.
    NotPlain(u32),
    /// The provider has registered this set already.
    SetExists(Guid),
    /// The provider has not registered this set.
    UnknownSet(Guid),
    /// The set has no instance of this name and id.
    UnknownInstance(String, u32),
    /// The set has no counter of this id.
    UnknownCounter(u32),
    /// The counter has not the attribute of counters by reference.
    NotByReference(u32),
    /// The fields of this type do not fit its description. What `#[derive(CounterSet)]` makes does.
    Mismatch(&'static str),
    /// The process is a forked child of the one that published the set: it can update instances, but neither add nor end any.
    ForkedChild,
    /// The provider was stopped, or the instance was deleted.
    Stopped,
}

impl PublishError {
    /// The code of winerror.h that the functions of perflib.h answer with.
    ///
    /// | code | name | when |
    /// | --- | --- | --- |
    /// | 3 | `ERROR_PATH_NOT_FOUND` | there is no runtime folder |
    /// | 5 | `ERROR_ACCESS_DENIED` | the folder does not admit the application, or is not fit |
    /// | 6 | `ERROR_INVALID_HANDLE` | the provider was stopped, or belongs to the parent process |
    /// | 8 | `ERROR_NOT_ENOUGH_MEMORY` | the set is full |
    /// | 14 | `ERROR_OUTOFMEMORY` | the folder is full |
    /// | 29 | `ERROR_WRITE_FAULT` | another error of the operating system |
    /// | 87 | `ERROR_INVALID_PARAMETER` | the description, a name or an attribute is wrong |
    /// | 183 | `ERROR_ALREADY_EXISTS` | the set or the instance is there already |
    /// | 1168 | `ERROR_NOT_FOUND` | the set, the instance or the counter is not there |
    /// | 1319 | `ERROR_NO_SUCH_GROUP` | there is no such group |
    /// | 1450 | `ERROR_NO_SYSTEM_RESOURCES` | the process, or the machine, has as many open files as it may |
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

    /// Whether the user that the application runs as may not do it.
    pub fn is_permission_denied(&self) -> bool {
        self.code() == 5
    }

    /// Whether the folder or the set is full.
    pub fn is_full(&self) -> bool {
        matches!(self.code(), 8 | 14)
    }

    /// Whether what was to be created is there already.
    pub fn is_already_there(&self) -> bool {
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

/// Whether the process, or the machine, has as many files open as it may: the standard library has no kind for it.
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

/// What can be done about an error of the operating system.
fn way_out(error: &io::Error) -> Option<&'static str> {
    if is_out_of_files(error) {
        return Some("raise the limit of open files (ulimit -n), or close some");
    }
    Some(match error.kind() {
        ErrorKind::PermissionDenied => {
            "give the application's user write access to the folder (a member of the group tacho may write to \
             /run/tachograph), or name another folder with TACHO_RUNTIME_DIR"
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "name a folder that can be written to with TACHO_RUNTIME_DIR"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room in the folder, or name another one with TACHO_RUNTIME_DIR"
        }
        ErrorKind::FileTooLarge => {
            "raise the limit of the size of files (ulimit -f), or publish fewer instances"
        }
        ErrorKind::InvalidInput => "name a folder with a shorter path with TACHO_RUNTIME_DIR",
        _ => return None,
    })
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => write!(f, "{error}")?,
            Self::Control(path, error) => {
                write!(f, "{}: cannot listen for requests: {error}", path.display())?
            }
            Self::UnknownGroup(name) => write!(
                f,
                "/etc/group does not name the group '{name}': create it, or give the group's number with gid()"
            )?,
            Self::Name(why) => f.write_str(why)?,
            Self::NoCounters(set) => write!(f, "the counter set {set} has no counters")?,
            Self::NotPlain(id) => write!(
                f,
                "counter {id} is described with a pair, a ratio or stripes: a set that is described at run time keeps \
                 every counter in a plain cell, bases too"
            )?,
            Self::SetExists(set) => {
                write!(f, "the counter set {set} is registered with this provider already")?
            }
            Self::UnknownSet(set) => {
                write!(f, "the counter set {set} is not registered with this provider: register it first")?;
            }
            Self::UnknownInstance(name, id) => write!(f, "there is no instance '{name}' with id {id}")?,
            Self::UnknownCounter(id) => write!(f, "the counter set has no counter {id}")?,
            Self::NotByReference(id) => {
                write!(f, "counter {id} is not by reference: its description needs that attribute (1)")?;
            }
            Self::Mismatch(name) => write!(f, "the fields of {name} do not fit its description")?,
            Self::ForkedChild => f.write_str(
                "the set belongs to the process that this one was forked from: start a set here for more instances",
            )?,
            Self::Stopped => f.write_str("the provider was stopped, or the instance was deleted")?,
        }
        match self.io().and_then(way_out) {
            Some(way_out) => write!(f, "; {way_out}"),
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
