//! Events, which `PdhCollectQueryDataEx` sets after each sample. compat/tacho_event.h implements them with eventfd.

use std::fs::File;
use std::io::Write;

use tachograph_pdh::{PdhStatus, Result};

use super::boundary::duplicate;
use super::objects::Handle;

/// An event. The library has a descriptor of its own, because the program may close its descriptor at any time.
#[derive(Debug)]
pub(super) struct Event(File);

impl Event {
    /// The event of a handle. The handle is the descriptor times 4, with bit 0 set. Bit 1 determines whether waiting resets the
    /// event; it is irrelevant for setting it.
    ///
    /// # Errors
    ///
    /// `PDH_INVALID_HANDLE` if it is not an eventfd: other files are never written to.
    pub(super) fn from_handle(handle: Handle) -> Result<Self> {
        let bits = handle.0;
        let descriptor = i32::try_from(bits >> 2).ok().filter(|_| bits & 1 == 1);
        let file = descriptor.and_then(|file| duplicate(file).ok()).ok_or(PdhStatus::INVALID_HANDLE)?;
        if is_eventfd(&file) { Ok(Self(file)) } else { Err(PdhStatus::INVALID_HANDLE) }
    }

    pub(super) fn set(&self) {
        // This fails only if the event has been set 2^64 times.
        let _ = (&self.0).write(&1_u64.to_ne_bytes());
    }
}

fn is_eventfd(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    let file_info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()));
    file_info.is_ok_and(|text| text.lines().any(|line| line.starts_with("eventfd-count:")))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn only_eventfd_handles_are_accepted_and_other_files_are_not_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let file = File::create(&path).expect("a file");
        let descriptor = usize::try_from(file.as_raw_fd()).expect("not negative");
        for bits in [
            0,
            1,
            3,
            descriptor,
            descriptor << 2,
            descriptor << 2 | 1,
            descriptor << 2 | 3,
            usize::MAX,
            usize::MAX >> 1,
        ] {
            // 1 and 3 are handles of descriptor 0, which is not an event.
            assert_eq!(Event::from_handle(Handle(bits)).err(), Some(PdhStatus::INVALID_HANDLE));
        }
        assert_eq!(std::fs::read(&path).expect("read"), b"");
    }
}
