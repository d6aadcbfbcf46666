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

/// The error for counters that could not be opened.
pub(crate) fn open_error(kernel: &dyn Kernel, refusal: OpenError, requested: Requested) -> Error {
    let OpenError { event, errno } = refusal;
    let target_name = target_name(requested.target);
    let (kind, message) = match errno {
        Errno::NOENT => event_not_supported(kernel, event),
        Errno::ACCESS => (ErrorKind::AccessDenied, access_denied(kernel, requested)),
        Errno::PERM => (
            ErrorKind::Blocked,
            format!(
                "counting {target_name} is blocked (EPERM), by the seccomp profile of a container or by the kernel's lockdown; \
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
            format!("the performance monitoring unit cannot count {event} of {target_name} in this way (EOPNOTSUPP)"),
        ),
        Errno::INVAL => (
            ErrorKind::Refused,
            format!(
                "the kernel refuses to count {event} of {target_name} (EINVAL): no such processor, or too few counters for a \
                 group of two"
            ),
        ),
        Errno::NODEV | Errno::NXIO => (
            ErrorKind::ProcessorOffline,
            format!("{target_name} is offline (ENODEV); it is not counted until it is online"),
        ),
        Errno::SRCH => (ErrorKind::NoSuchThread, format!("{target_name} no longer exists (ESRCH)")),
        Errno::MFILE | Errno::NFILE => (ErrorKind::TooManyFiles, too_many_files(kernel, requested, errno)),
        Errno::BUSY => (
            ErrorKind::Busy,
            "another program holds the hardware counters exclusively (EBUSY); try again when it has ended"
                .to_owned(),
        ),
        Errno::NOMEM => (ErrorKind::OutOfMemory, format!("no memory to count {target_name} (ENOMEM)")),
        Errno::NOSPC => (
            ErrorKind::AllCountersInUse,
            "all counters of the hardware are in use (ENOSPC); try again when another program has ended".to_owned(),
        ),
        other => (ErrorKind::System, format!("{event} of {target_name} cannot be counted: {other}")),
    };
    Error::new(kind, message)
}

/// The error for counters that could not be read.
pub(crate) fn read_error(failure: ReadFailure, target: Target) -> Error {
    let target_name = target_name(target);
    match failure {
        ReadFailure::NotScheduled => Error::new(
            ErrorKind::AllCountersInUse,
            format!(
                "the counters of {target_name} could not be scheduled: all counters of the hardware are in use"
            ),
        ),
        ReadFailure::Split => Error::new(
            ErrorKind::System,
            format!("the kernel split the counters of {target_name}; measure again"),
        ),
        ReadFailure::Errno(errno) => {
            Error::new(ErrorKind::System, format!("the counters of {target_name} cannot be read: {errno}"))
        }
    }
}

/// The error for counters that did not run in an interval.
pub(crate) fn never_ran(enabled_ns: u64) -> Error {
    let milliseconds = enabled_ns as f64 / 1e6;
    Error::new(
        ErrorKind::NeverRan,
        format!(
            "the counters never ran in this interval of {milliseconds:.3} ms, because other programs used the hardware counters: \
             measure longer (10 ms and more), or end other programs that count"
        ),
    )
}

fn target_name(target: Target) -> String {
    match target {
        Target::Thread(None) => "this thread".to_owned(),
        Target::Thread(Some(thread)) => format!("thread {thread}"),
        Target::Processor(id) => format!("processor {id}"),
    }
}

fn event_not_supported(kernel: &dyn Kernel, event: &str) -> (ErrorKind, String) {
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

fn access_denied(kernel: &dyn Kernel, requested: Requested) -> String {
    let target_name = target_name(requested.target);
    let needed = match requested.target {
        Target::Processor(_) => 0,
        Target::Thread(_) if requested.user_only => 2,
        Target::Thread(_) => 1,
    };
    let Some(value) = kernel.setting("perf_event_paranoid") else {
        return format!("counting {target_name} is not permitted (EACCES); run as root, or with CAP_PERFMON");
    };
    if value <= needed {
        // The setting permits counting, so something else forbids it.
        let why = match requested.target {
            Target::Thread(Some(_)) => ", since it belongs to another user; run as root, or with CAP_PERFMON",
            _ => " by a security module of the kernel, such as SELinux; allow it there",
        };
        return format!("counting {target_name} is not permitted (EACCES){why}");
    }
    let forbidden = match requested.target {
        Target::Processor(_) => "counting whole processors",
        Target::Thread(_) if requested.user_only => "any counting",
        Target::Thread(_) => "counting the kernel's work",
    };
    format!(
        "kernel.perf_event_paranoid is {value}, which forbids {forbidden} without privilege (EACCES); run as root, or \
         'setcap cap_perfmon+ep' on the program, or 'sysctl kernel.perf_event_paranoid={needed}'"
    )
}

fn too_many_files(kernel: &dyn Kernel, requested: Requested, errno: Errno) -> String {
    let needed = requested.targets.max(1) * requested.files_each;
    let each = match requested.target {
        Target::Processor(_) => format!("{} per processor", requested.files_each),
        Target::Thread(_) => format!("{} per thread", requested.files_each),
    };
    match kernel.file_limit().filter(|_| errno == Errno::MFILE) {
        Some(limit) => format!(
            "too many open files (EMFILE): counting needs {needed} more ({each}), and the \
             limit is {limit}; raise it with 'ulimit -n'"
        ),
        None => format!(
            "too many open files in the whole system (ENFILE): counting needs {needed} more ({each}); raise \
             fs.file-max"
        ),
    }
}

#[cfg(test)]
mod tests;
