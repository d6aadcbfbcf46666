//! Whether the program that writes a file still runs.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

/// A process that is looked at again and again: another one that gets its id later is not taken for it.
#[derive(Debug)]
pub(super) enum Process {
    /// A descriptor of the process itself.
    Held(OwnedFd),
    /// Only its id, where the kernel gives no descriptor (before Linux 5.3, or none are left).
    Id(Pid),
    Gone,
}

impl Process {
    pub(super) fn new(id: i32) -> Self {
        // Not asked for a negative one, which rustix takes for a fault of the program.
        let Some(id) = Some(id).filter(|id| *id > 0).and_then(Pid::from_raw) else { return Self::Gone };
        match pidfd_open(id, PidfdFlags::empty()) {
            Ok(descriptor) => Self::Held(descriptor),
            Err(Errno::SRCH) => Self::Gone,
            Err(_) => Self::Id(id),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        match self {
            // It can be read from once the process has ended.
            Self::Held(descriptor) => {
                let mut descriptors = [PollFd::new(descriptor, PollFlags::IN)];
                let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                poll(&mut descriptors, Some(&now)) == Ok(0)
            }
            // Who may not send it a signal has seen that it is there.
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
        assert!(matches!(process, Process::Held(_) | Process::Id(_)));
        assert!(process.is_running());
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!process.is_running());
        assert!(!Process::new(id).is_running());
    }

    #[test]
    fn ids_that_nobody_has() {
        for id in [0, -1, i32::MIN, i32::MAX] {
            assert!(!Process::new(id).is_running(), "{id}");
        }
    }

    #[test]
    fn by_its_id_alone() {
        let own = i32::try_from(std::process::id()).ok().and_then(Pid::from_raw).expect("an id");
        assert!(Process::Id(own).is_running());
    }
}
