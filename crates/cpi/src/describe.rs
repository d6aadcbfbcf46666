//! Turns kernel errors into errors that state the cause and the remedy.

use rustix::io::Errno;

use crate::event::{Event, Target};
use crate::group::{OpenError, ReadFailure};
use crate::kernel::Kernel;
use crate::{Error, ErrorKind};

/// The request that failed, for use in messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requested {
    pub(crate) target: Target,
    pub(crate) user_only: bool,
    /// The number of processors or threads to count.
    pub(crate) targets: usize,
    /// The number of files per target.
    pub(crate) files_each: usize,
}

/// The error for a group that could not be opened.
pub(crate) fn refused(kernel: &dyn Kernel, refusal: OpenError, asked: Requested) -> Error {
    let OpenError { event, errno } = refusal;
    let whom = whom(asked.target);
    let (kind, message) = match errno {
        Errno::NOENT => not_there(kernel, event),
        Errno::ACCESS => (ErrorKind::AccessDenied, access(kernel, asked)),
        Errno::PERM => (
            ErrorKind::Blocked,
            format!(
                "counting {whom} is blocked (EPERM), by the seccomp profile of a container or by the kernel's lockdown; \
                 start a container with CAP_PERFMON and a seccomp profile that lets perf_event_open through"
            ),
        ),
        Errno::NOSYS => (
            ErrorKind::NoSystemCall,
            "this kernel has no system call perf_event_open (ENOSYS): it was built without performance events, or a \
             container's seccomp profile hides it; start the container with a profile that lets it through"
                .to_owned(),
        ),
        Errno::OPNOTSUPP => (
            ErrorKind::NotSupported,
            format!("the performance monitoring unit cannot count {event} of {whom} in this way (EOPNOTSUPP)"),
        ),
        Errno::INVAL => (
            ErrorKind::Refused,
            format!(
                "the kernel refuses to count {event} of {whom} (EINVAL): no such processor, or too few counters for a \
                 group of two"
            ),
        ),
        Errno::NODEV | Errno::NXIO => (
            ErrorKind::ProcessorOffline,
            format!("{whom} is offline (ENODEV); it is not counted until it is online"),
        ),
        Errno::SRCH => (ErrorKind::NoSuchThread, format!("{whom} does not exist any more (ESRCH)")),
        Errno::MFILE | Errno::NFILE => (ErrorKind::TooManyFiles, files(kernel, asked, errno)),
        Errno::BUSY => (
            ErrorKind::Busy,
            "another program holds the hardware counters exclusively (EBUSY); try again when it has ended"
                .to_owned(),
        ),
        Errno::NOMEM => (ErrorKind::OutOfMemory, format!("no memory to count {whom} (ENOMEM)")),
        Errno::NOSPC => (
            ErrorKind::AllCountersInUse,
            "all counters of the hardware are in use (ENOSPC); try again when another program has ended".to_owned(),
        ),
        other => (ErrorKind::System, format!("{event} of {whom} cannot be counted: {other}")),
    };
    Error::new(kind, message)
}

/// The error for a group that could not be read.
pub(crate) fn unreadable(failure: ReadFailure, target: Target) -> Error {
    let whom = whom(target);
    match failure {
        ReadFailure::NotScheduled => Error::new(
            ErrorKind::AllCountersInUse,
            format!("the counters of {whom} could not be scheduled: all counters of the hardware are in use"),
        ),
        ReadFailure::TakenApart => {
            Error::new(ErrorKind::System, format!("the kernel split the counters of {whom}; measure again"))
        }
        ReadFailure::Errno(errno) => {
            Error::new(ErrorKind::System, format!("the counters of {whom} cannot be read: {errno}"))
        }
    }
}

/// The error for counters that did not run in an interval.
pub(crate) fn never_ran(enabled_ns: u64) -> Error {
    let milliseconds = enabled_ns as f64 / 1e6;
    Error::new(
        ErrorKind::NeverRan,
        format!(
            "the counters never ran in this interval of {milliseconds:.3} ms, since others had the hardware in turns: \
             measure longer (10 ms and more), or end other programs that count"
        ),
    )
}

fn whom(target: Target) -> String {
    match target {
        Target::Thread(None) => "this thread".to_owned(),
        Target::Thread(Some(thread)) => format!("thread {thread}"),
        Target::Processor(number) => format!("processor {number}"),
    }
}

fn not_there(kernel: &dyn Kernel, event: &str) -> (ErrorKind, String) {
    let in_virtual_machine = kernel.is_virtual();
    let kind = ErrorKind::EventNotSupported { in_virtual_machine };
    // Cycles are opened first, so an error for another event means that there is a unit.
    if event != Event::CYCLES.name || kernel.has_core_unit() {
        return (
            kind,
            format!(
                "this machine's performance monitoring unit does not count {event}, which CPI needs; only CPU \
                 utilization can be shown"
            ),
        );
    }
    let why = if in_virtual_machine {
        "a virtual machine with no performance monitoring unit"
    } else {
        "no performance monitoring unit; usual in virtual machines"
    };
    (
        kind,
        format!(
            "this machine offers no hardware counter for {event} ({why}); only CPU utilization can be shown"
        ),
    )
}

fn access(kernel: &dyn Kernel, asked: Requested) -> String {
    let whom = whom(asked.target);
    let needed = match asked.target {
        Target::Processor(_) => 0,
        Target::Thread(_) if asked.user_only => 2,
        Target::Thread(_) => 1,
    };
    let Some(value) = kernel.setting("perf_event_paranoid") else {
        return format!("counting {whom} is not permitted (EACCES); run as root, or with CAP_PERFMON");
    };
    if value <= needed {
        // The setting allows it, so something else forbids it.
        let why = match asked.target {
            Target::Thread(Some(_)) => ", since it belongs to another user; run as root, or with CAP_PERFMON",
            _ => " by a security module of the kernel, such as SELinux; allow it there",
        };
        return format!("counting {whom} is not permitted (EACCES){why}");
    }
    let what = match asked.target {
        Target::Processor(_) => "counting whole processors",
        Target::Thread(_) if asked.user_only => "counting at all",
        Target::Thread(_) => "counting the kernel's work",
    };
    format!(
        "kernel.perf_event_paranoid is {value}, which forbids {what} to users without privilege (EACCES); run as root, or \
         'setcap cap_perfmon+ep' on the program, or 'sysctl kernel.perf_event_paranoid={needed}'"
    )
}

fn files(kernel: &dyn Kernel, asked: Requested, errno: Errno) -> String {
    let needed = asked.targets.max(1) * asked.files_each;
    let each = match asked.target {
        Target::Processor(_) => format!("{} per processor", asked.files_each),
        Target::Thread(_) => format!("{} per thread", asked.files_each),
    };
    match kernel.file_limit().filter(|_| errno == Errno::MFILE) {
        Some(limit) => format!(
            "too many open files (EMFILE): counting takes {needed} of them, {each}, beside those open already, and the \
             limit is {limit}; raise it with 'ulimit -n'"
        ),
        None => format!(
            "too many open files in the whole system (ENFILE): counting takes {needed} of them, {each}; raise \
             fs.file-max"
        ),
    }
}

#[cfg(test)]
mod tests;
