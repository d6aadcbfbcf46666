//! The benchmark's group of events, read with bare system calls. This is the minimum cost of a reading.

#![allow(
    unsafe_code,
    reason = "the system call takes a pointer and returns a descriptor; ioctl takes a descriptor"
)]

use std::fs::File;
use std::io::{Error, Read};
use std::os::fd::{AsRawFd, FromRawFd};

use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_GROUP,
    PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_IOC_FLAG_GROUP, PERF_TYPE_SOFTWARE,
    perf_event_attr,
};
use perf_event_open_sys::{ioctls, perf_event_open};

/// A group of two software events of this thread.
pub(crate) struct Bare {
    leader: File,
    _member: File,
}

impl Bare {
    /// Opens the group without starting it.
    pub(crate) fn open() -> Self {
        let leader = counter(PERF_COUNT_SW_TASK_CLOCK, None);
        let member = counter(PERF_COUNT_SW_PAGE_FAULTS, Some(&leader));
        Self { leader, _member: member }
    }

    pub(crate) fn enable(&mut self) {
        // SAFETY: the descriptor is open as long as the file is; the argument is a number, not a pointer.
        let result = unsafe { ioctls::ENABLE(self.leader.as_raw_fd(), PERF_IOC_FLAG_GROUP) };
        assert_eq!(result, 0);
    }

    pub(crate) fn disable(&mut self) {
        // SAFETY: as in `enable`.
        let result = unsafe { ioctls::DISABLE(self.leader.as_raw_fd(), PERF_IOC_FLAG_GROUP) };
        assert_eq!(result, 0);
    }

    pub(crate) fn reset(&mut self) {
        // SAFETY: as in `enable`.
        let result = unsafe { ioctls::RESET(self.leader.as_raw_fd(), PERF_IOC_FLAG_GROUP) };
        assert_eq!(result, 0);
    }

    /// The two counts.
    pub(crate) fn read(&mut self) -> [u64; 2] {
        // Number of counters, time enabled, time running, counts.
        let mut bytes = [0; 40];
        assert_eq!(self.leader.read(&mut bytes).expect("read"), 40);
        let count =
            |index: usize| u64::from_ne_bytes(bytes[8 * index..][..8].try_into().expect("eight bytes"));
        [count(3), count(4)]
    }
}

fn counter(config: u32, leader: Option<&File>) -> File {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: config.into(),
        read_format: u64::from(
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        ),
        ..perf_event_attr::default()
    };
    attributes.set_disabled(leader.is_none().into());
    let group = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: `attributes` is a complete structure of the size in its `size` field, and lives until the call returns.
    // It requests counting only, so the kernel does not write to this process's memory later.
    let opened = unsafe { perf_event_open(&mut attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC.into()) };
    assert!(opened >= 0, "{}", Error::last_os_error());
    // SAFETY: the call has just created this descriptor, which has no other owner.
    unsafe { File::from_raw_fd(opened) }
}
