//! Counters that compete with those of the tests for the hardware.

use std::io::Error;
use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE,
};
use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, perf_event_attr};

/// What competing counters count: this thread, or the first processor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Thread,
    Processor,
}

/// Open counters that compete with those of the tests.
pub(crate) struct Others(#[allow(dead_code, reason = "open until dropped")] Vec<OwnedFd>);

impl Others {
    /// Opens this number of instruction counters, which the kernel multiplexes with all others.
    pub(crate) fn multiplexed(count: usize, target: Target) -> Self {
        Self(
            (0..count)
                .map(|_| open(PERF_COUNT_HW_INSTRUCTIONS.into(), target, false).expect("opened"))
                .collect(),
        )
    }

    /// Opens as many pinned counters as the machine has: the cycle counter and six others.
    pub(crate) fn pinned(target: Target) -> Self {
        let cycles = open(PERF_COUNT_HW_CPU_CYCLES.into(), target, true).expect("opened");
        let instructions =
            (0..6).map(|_| open(PERF_COUNT_HW_INSTRUCTIONS.into(), target, true).expect("opened"));
        Self(std::iter::once(cycles).chain(instructions).collect())
    }
}

fn open(event: u64, target: Target, is_pinned: bool) -> Result<OwnedFd, Error> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_HARDWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: event,
        ..perf_event_attr::default()
    };
    attributes.set_exclude_kernel(1);
    attributes.set_pinned(is_pinned.into());
    let (pid, processor) = match target {
        Target::Thread => (0, -1),
        Target::Processor => (-1, 0),
    };
    // SAFETY: the structure is complete, lives during the call, and its size is passed; the kernel only reads it (and
    // writes its size back if it supports another).
    let number = unsafe {
        perf_event_open_sys::perf_event_open(
            &raw mut attributes,
            pid,
            processor,
            -1,
            PERF_FLAG_FD_CLOEXEC.into(),
        )
    };
    if number < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the call succeeded, so this is a new descriptor without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
