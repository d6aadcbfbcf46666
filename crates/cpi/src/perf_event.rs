//! The system call `perf_event_open`: one of the two files of this crate with `unsafe`.
#![allow(unsafe_code, reason = "the system call takes a pointer and returns a descriptor")]

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use perf_event_open_sys::bindings::{
    PERF_ATTR_SIZE_VER1, PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_GROUP, PERF_FORMAT_TOTAL_TIME_ENABLED,
    PERF_FORMAT_TOTAL_TIME_RUNNING, perf_event_attr,
};
use rustix::io::Errno;

use crate::event::{Event, Excluded, Target};

/// Opens a counter. With a leader, it becomes a member of the leader's group and counts when the leader does. A leader
/// starts counting at [`enable`], or at an exec.
pub(crate) fn open(event: &Event, target: Target, leader: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
    let mut attributes = perf_event_attr {
        type_: event.kind,
        // The size of 2.6.33 covers all fields in use, so no kernel reports E2BIG.
        size: PERF_ATTR_SIZE_VER1,
        config: event.config,
        read_format: u64::from(
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        ),
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_3.config1 = event.config1;
    attributes.set_inherit(event.inherit.into());
    attributes.set_exclude_kernel((event.excluded != Excluded::Nothing).into());
    attributes.set_exclude_hv((event.excluded == Excluded::KernelAndHypervisor).into());
    // A member that joins a counting group would wait until the group is scheduled next, and the missed time would not
    // show in the group's times. So the leader waits for its members.
    attributes.set_disabled(leader.is_none().into());
    attributes.set_enable_on_exec((event.from_exec && leader.is_none()).into());

    let (pid, processor) = match target {
        Target::Thread(None) => (0, -1),
        Target::Thread(Some(thread)) => (i32::try_from(thread).map_err(|_| Errno::SRCH)?, -1),
        Target::Processor(number) => (-1, i32::try_from(number).map_err(|_| Errno::INVAL)?),
    };
    let group = leader.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: `attributes` is a complete `perf_event_attr` of which the first `size` bytes are initialised fields, and it
    // lives until the call returns; the kernel writes at most its `size` field. It requests counting only: no samples,
    // no signals, and no memory of this process is written later.
    let opened = unsafe {
        perf_event_open_sys::perf_event_open(
            &mut attributes,
            pid,
            processor,
            group,
            PERF_FLAG_FD_CLOEXEC.into(),
        )
    };
    if opened < 0 {
        return Err(last_error());
    }
    // SAFETY: the call has just returned this new descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Starts the counters of a group.
pub(crate) fn enable(leader: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the descriptor is open as long as it is borrowed; the request takes a number, not a pointer, and only
    // sets the state of a counter. On any other descriptor it returns an error.
    let outcome = unsafe { perf_event_open_sys::ioctls::ENABLE(leader.as_raw_fd(), 0) };
    if outcome < 0 {
        return Err(last_error());
    }
    Ok(())
}

fn last_error() -> Errno {
    Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or_default())
}
