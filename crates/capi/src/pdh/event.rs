//! Events: what `PdhCollectQueryDataEx` sets at each sample. compat/tacho_event.h makes them of Linux' eventfd.

use std::fs::File;
use std::io::Write;

use tachograph_pdh::{PdhStatus, Result};

use super::boundary::duplicate;
use super::objects::Handle;

/// An event of the program, under a number of the library's own: the program may close its handle at any time.
#[derive(Debug)]
pub(super) struct Event(File);

impl Event {
    /// The event of a handle: the number of its file * 4, with bit 0 set. Bit 1 says how waiting resets it,
    /// which is no matter to who sets it.
    ///
    /// # Errors
    ///
    /// `PDH_INVALID_HANDLE` for what is no eventfd: nothing else is ever written to.
    pub(super) fn of_handle(handle: Handle) -> Result<Self> {
        let number = handle.0;
        let file = i32::try_from(number >> 2).ok().filter(|_| number & 1 == 1);
        let file = file.and_then(|file| duplicate(file).ok()).ok_or(PdhStatus::INVALID_HANDLE)?;
        if is_eventfd(&file) { Ok(Self(file)) } else { Err(PdhStatus::INVALID_HANDLE) }
    }

    /// Sets it.
    pub(super) fn set(&self) {
        // It fails only where the event is set 2^64 times over.
        let _ = (&self.0).write(&1_u64.to_ne_bytes());
    }
}

/// Whether the system calls it an eventfd.
fn is_eventfd(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()));
    about.is_ok_and(|text| text.lines().any(|line| line.starts_with("eventfd-count:")))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_is_no_event_is_refused_and_not_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let file = File::create(&path).expect("a file");
        let number = usize::try_from(file.as_raw_fd()).expect("not negative");
        for number in
            [0, 1, 3, number, number << 2, number << 2 | 1, number << 2 | 3, usize::MAX, usize::MAX >> 1]
        {
            // 1 and 3 are handles of file 0, which is no event.
            assert_eq!(Event::of_handle(Handle(number)).err(), Some(PdhStatus::INVALID_HANDLE));
        }
        assert_eq!(std::fs::read(&path).expect("read"), b"");
    }
}
