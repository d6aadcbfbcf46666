//! The number of processes.
//!
//! The link count of `/proc` is 2, plus one for each of the kernel's own folders and for each process of the machine,
//! so one `fstat` is enough. The link count is compared with the entries at the start and every [`CHECKED_EVERY`]
//! reads, because a driver can add a folder. If they do not match, as in a container with its own processes, the
//! entries are counted at each read.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, RawDir, SeekFrom, fstat, open, seek};

/// The number of reads between two comparisons of the link count with the entries.
const CHECKED_EVERY: u32 = 60;

/// Counts the entries of `/proc` that are processes.
#[derive(Debug)]
pub(super) struct ProcessCount {
    path: PathBuf,
    folder: Option<OwnedFd>,
    /// The number of links that are not processes; `None` if the link count cannot be used.
    other_links: Option<u64>,
    /// The number of reads until the next comparison.
    until_check: u32,
    /// The buffer for directory entries.
    buffer: Vec<MaybeUninit<u8>>,
}

/// The numbers of processes and of other folders in `/proc`.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    processes: u64,
    other_folders: u64,
}

impl ProcessCount {
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            path: proc.to_owned(),
            folder: None,
            other_links: None,
            until_check: 0,
            buffer: vec![MaybeUninit::uninit(); 32 << 10],
        }
    }

    /// The current number of processes.
    pub(super) fn count(&mut self) -> io::Result<u64> {
        if self.until_check == 0 {
            self.until_check = CHECKED_EVERY;
            return self.check();
        }
        self.until_check -= 1;
        match self.other_links {
            Some(other) => Ok(self.count_links()?.saturating_sub(other)),
            None => Ok(self.entries()?.processes),
        }
    }

    /// Counts the entries, and determines whether the link count matches them.
    fn check(&mut self) -> io::Result<u64> {
        let mut processes = 0;
        // Tries again if a process starts or ends between the three calls.
        for _ in 0..4 {
            let before = self.count_links()?;
            let entries = self.entries()?;
            let after = self.count_links()?;
            processes = entries.processes;
            let other = 2 + entries.other_folders;
            self.other_links = (before == after && before == other + processes).then_some(other);
            if self.other_links.is_some() {
                break;
            }
        }
        Ok(processes)
    }

    fn folder(&mut self) -> io::Result<&OwnedFd> {
        match &mut self.folder {
            Some(folder) => Ok(folder),
            none => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                Ok(none.insert(open(&self.path, flags, Mode::empty())?))
            }
        }
    }

    fn count_links(&mut self) -> io::Result<u64> {
        // The type of the link count depends on the architecture.
        #[allow(clippy::useless_conversion, reason = "not on every architecture")]
        Ok(u64::from(fstat(self.folder()?)?.st_nlink))
    }

    fn entries(&mut self) -> io::Result<Entries> {
        self.folder()?;
        let Some(folder) = &self.folder else { return Ok(Entries::default()) };
        seek(folder, SeekFrom::Start(0))?;
        let mut entries = Entries::default();
        let mut listing = RawDir::new(folder, &mut self.buffer);
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name.iter().all(u8::is_ascii_digit) {
                entries.processes += 1;
            } else if entry.file_type() == FileType::Directory && name != b"." && name != b".." {
                entries.other_folders += 1;
            }
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn new_and_ended_processes_are_counted() {
        let machine = Machine::new(&[
            ("proc/1/stat", ""),
            ("proc/20/stat", ""),
            ("proc/sys/x", ""),
            ("proc/3x/stat", ""),
            ("proc/loadavg", ""),
        ]);
        let mut count = ProcessCount::new(&machine.roots.proc);
        assert_eq!(count.count().expect("counted"), 2);
        machine.write("proc/300/stat", "");
        assert_eq!(count.count().expect("counted"), 3);
        machine.remove("proc/1");
        machine.remove("proc/20");
        assert_eq!(count.count().expect("counted"), 1);
    }

    #[test]
    fn entries_are_counted_if_the_link_count_is_unusable() {
        let machine = Machine::new(&[("proc/1/stat", ""), ("proc/20/stat", "")]);
        let mut count = ProcessCount::new(&machine.roots.proc);
        count.count().expect("counted");
        // As in a container: more links than visible processes.
        count.other_links = None;
        assert_eq!(count.count().expect("counted"), 2);
    }

    #[test]
    fn a_folder_of_a_driver_is_not_counted() {
        let machine = Machine::new(&[("proc/1/stat", "")]);
        let mut count = ProcessCount::new(&machine.roots.proc);
        count.count().expect("counted");
        machine.write("proc/driver/x", "");
        let last = (0..=CHECKED_EVERY).map(|_| count.count().expect("counted")).last();
        assert_eq!(last, Some(1), "the check found the new folder");
    }

    #[test]
    fn processes_of_this_machine_are_counted() {
        let mut count = ProcessCount::new(Path::new("/proc"));
        let naive = || {
            let entries = std::fs::read_dir("/proc").expect("read").flatten();
            entries.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count() as u64
        };
        for _ in 0..5 {
            // Other tests run at the same time.
            assert!(count.count().expect("counted").abs_diff(naive()) < 50);
        }
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let machine = Machine::new(&[]);
        assert!(ProcessCount::new(&machine.roots.proc).count().is_err());
    }
}
