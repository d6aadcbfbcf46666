//! Finds and reads the open files of graphics drivers.

use std::fmt::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawDir, open, openat, readlinkat_raw};
use rustix::io::{Errno, read};

use crate::scan::parse_number;

/// The maximum number of open files of a process that are examined.
const MAX_FILES: usize = 65_536;

/// Reads /proc without allocation in the steady state.
#[derive(Debug)]
pub(super) struct ProcessFiles {
    proc: OwnedFd,
    path: String,
    entries: Vec<MaybeUninit<u8>>,
    buffer: Vec<u8>,
}

impl ProcessFiles {
    pub(super) fn new(proc: &Path) -> Result<Self, Errno> {
        Ok(Self {
            proc: open(proc, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?,
            path: String::with_capacity(64),
            entries: vec![MaybeUninit::uninit(); 32 << 10],
            buffer: vec![0; 16 << 10],
        })
    }

    /// Lists the ids of all processes.
    pub(super) fn processes(&mut self, ids: &mut Vec<u32>) -> Result<(), Errno> {
        ids.clear();
        self.numbers(".", |id| ids.push(id))?;
        ids.sort_unstable();
        Ok(())
    }

    /// Lists the descriptors of a process that refer to files of graphics drivers. Nothing is listed if the process is
    /// gone or access is denied.
    pub(super) fn graphics_files(&mut self, pid: u32, descriptors: &mut Vec<u32>) {
        descriptors.clear();
        self.path.clear();
        let _ = write!(self.path, "{pid}/fd");
        let path = std::mem::take(&mut self.path);
        let listed = self.numbers(&path, |descriptor| descriptors.push(descriptor));
        self.path = path;
        if listed.is_err() {
            return;
        }
        descriptors.truncate(MAX_FILES);
        let folder_length = self.path.len();
        descriptors.retain(|descriptor| {
            self.path.truncate(folder_length);
            let _ = write!(self.path, "/{descriptor}");
            let mut target = [MaybeUninit::uninit(); 32];
            let target = readlinkat_raw(&self.proc, self.path.as_str(), &mut target);
            target.is_ok_and(|(target, _)| target.starts_with(b"/dev/dri/"))
        });
    }

    /// Reads a file of a process: `fdinfo/7`, `stat`.
    pub(super) fn read(&mut self, pid: u32, name: std::fmt::Arguments<'_>) -> Result<&[u8], Errno> {
        self.path.clear();
        let _ = write!(self.path, "{pid}/{name}");
        let file = openat(&self.proc, self.path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut length = 0;
        // A longer file is truncated.
        while length < self.buffer.len() {
            match read(&file, &mut self.buffer[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.buffer[..length])
    }

    /// Calls `each` for every entry of a folder whose name is a number.
    fn numbers(&mut self, folder: &str, mut each: impl FnMut(u32)) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(&self.proc, folder, flags, Mode::empty())?;
        let mut entries = RawDir::new(folder, &mut self.entries);
        while let Some(entry) = entries.next() {
            let id = parse_number(entry?.file_name().to_bytes()).and_then(|id| u32::try_from(id).ok());
            id.into_iter().for_each(&mut each);
        }
        Ok(())
    }
}
