//! Why something could not be measured or traced.

use std::fmt;

/// An error: what kind it is, and a sentence with the cause and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Box<str>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The machine has no performance monitoring unit, or its unit lacks an event (ENOENT).
    EventNotSupported {
        /// It is a virtual machine.
        in_virtual_machine: bool,
    },
    /// `perf_event_paranoid` or the owner of the process forbids it (EACCES).
    AccessDenied,
    /// A seccomp profile or the lockdown of the kernel forbids it (EPERM).
    Blocked,
    /// There is no such system call, or seccomp says so (ENOSYS).
    NoSystemCall,
    /// The hardware lacks something that was asked for (EOPNOTSUPP).
    NotSupported,
    /// The kernel does not take the event or the group (EINVAL).
    Refused,
    /// The processor is offline (ENODEV).
    ProcessorOffline,
    /// There is no such process or thread (ESRCH).
    NoSuchThread,
    /// Too many open files (EMFILE, ENFILE).
    TooManyFiles,
    /// Someone holds the counters exclusively (EBUSY).
    Busy,
    /// Out of memory (ENOMEM).
    OutOfMemory,
    /// The counters never ran in the interval: no count can be told.
    NeverRan,
    /// A pinned group could not be scheduled: all counters are in use.
    AllCountersInUse,
    /// An argument has no meaning.
    InvalidArgument,
    /// Tracing was asked for, and no trace is open.
    NoTrace,
    /// The trace buffer is full.
    TraceFull,
    /// A hook is longer than its length field can hold.
    HookTooLong,
    /// The trace file could not be opened or written.
    TraceFile,
    /// Anything else of the system.
    System,
}

impl Error {
    /// An error of this kind with its sentence.
    pub fn new(kind: ErrorKind, message: impl Into<Box<str>>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What went wrong.
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
