//! Checks whether the program that writes a file is still running.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

/// A process that may have ended.
#[derive(Debug)]
pub(super) enum Process {
    /// A pidfd, which never refers to a later process with the same id.
    Descriptor(OwnedFd),
    /// Only the id, if the kernel provides no pidfd (before Linux 5.3, or at the open-file limit). A later process
    /// that reuses the id is mistaken for this one.
    Id(Pid),
    Gone,
}

impl Process {
    pub(super) fn new(id: i32) -> Self {
        // rustix panics on negative ids.
        let Some(id) = Some(id).filter(|id| *id > 0).and_then(Pid::from_raw) else { return Self::Gone };
        match pidfd_open(id, PidfdFlags::empty()) {
            Ok(descriptor) => Self::Descriptor(descriptor),
            Err(Errno::SRCH) => Self::Gone,
            Err(_) => Self::Id(id),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        match self {
            // A pidfd becomes readable when its process ends.
            Self::Descriptor(descriptor) => {
                let mut descriptors = [PollFd::new(descriptor, PollFlags::IN)];
                let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                poll(&mut descriptors, Some(&now)) == Ok(0)
            }
            // EPERM: the process exists.
            Self::Id(id) => matches!(test_kill_process(*id), Ok(()) | Err(Errno::PERM)),
            Self::Gone => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_ended_is_gone() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("started");
        let id = i32::try_from(child.id()).expect("an id");
        let process = Process::new(id);
        assert!(matches!(process, Process::Descriptor(_) | Process::Id(_)));
        assert!(process.is_running());
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!process.is_running());
        assert!(!Process::new(id).is_running());
    }

    #[test]
    fn ids_without_a_process_are_gone() {
        for id in [0, -1, i32::MIN, i32::MAX] {
            assert!(!Process::new(id).is_running(), "{id}");
        }
    }

    #[test]
    fn a_process_is_checked_by_id_without_a_descriptor() {
        let own = i32::try_from(std::process::id()).ok().and_then(Pid::from_raw).expect("an id");
        assert!(Process::Id(own).is_running());
    }
}
