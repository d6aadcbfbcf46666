//! Errors of measuring and tracing.

use std::fmt;

/// An error: its kind, and a sentence with the cause and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Box<str>,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The machine has no performance monitoring unit, or its unit lacks an event (ENOENT).
    EventNotSupported {
        /// Whether the machine is virtual.
        in_virtual_machine: bool,
    },
    /// `perf_event_paranoid` or the ownership of the process forbids counting (EACCES).
    AccessDenied,
    /// A seccomp profile or the kernel's lockdown forbids counting (EPERM).
    Blocked,
    /// The system call does not exist, or a seccomp profile hides it (ENOSYS).
    NoSystemCall,
    /// The hardware does not support a requested feature (EOPNOTSUPP).
    NotSupported,
    /// The kernel refuses the event or the group (EINVAL).
    Refused,
    /// The processor is offline (ENODEV).
    ProcessorOffline,
    /// There is no such process or thread (ESRCH).
    NoSuchThread,
    /// Too many open files (EMFILE, ENFILE).
    TooManyFiles,
    /// Another program holds the counters exclusively (EBUSY).
    Busy,
    /// Out of memory (ENOMEM).
    OutOfMemory,
    /// The counters never ran in the interval, so there are no counts.
    NeverRan,
    /// A pinned group could not be scheduled: all counters are in use.
    AllCountersInUse,
    /// An invalid argument.
    InvalidArgument,
    /// Tracing was requested, and no trace is open.
    NoTrace,
    /// The trace buffer is full.
    TraceFull,
    /// A hook (a record of a trace) is longer than its length field can hold.
    HookTooLong,
    /// The trace file could not be opened or written.
    TraceFile,
    /// Any other error of the system.
    System,
}

impl Error {
    /// An error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<Box<str>>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
