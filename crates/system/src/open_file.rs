//! Files that stay open and are re-read at each sample.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::{Errno, pread};
use tachograph_perflib::Failure;

use crate::descriptors::{Descriptors, RetainedFile};
use crate::error_texts::unreadable_failure;

/// A file in /proc or /sys that is re-read with `pread` into the same buffer. It stays open if the limit of open files
/// allows; otherwise it is opened for each read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    file: Option<RetainedFile>,
    buffer: Vec<u8>,
}

/// The maximum size of a file. Larger files are truncated; no file read here comes close.
const MAX_BYTES: usize = 64 << 20;

impl OpenFile {
    /// A file that is opened at the first read.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, buffer: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file can be read now. It does not stay open, since its counters may never be queried.
    pub(crate) fn is_readable(&mut self) -> bool {
        let is_readable = self.read().is_ok();
        self.close();
        is_readable
    }

    /// Closes the file until the next read.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// The current content.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or read; the next read opens it again.
    pub(crate) fn read(&mut self) -> io::Result<&[u8]> {
        let length = self.load()?;
        Ok(&self.buffer[..length])
    }

    /// Like [`read`](Self::read), but returns the error as the failure of a counter set.
    pub(crate) fn read_or_fail(&mut self) -> Result<&[u8], Failure> {
        let length = self.load().map_err(|error| unreadable_failure(self.path.display(), &error))?;
        Ok(&self.buffer[..length])
    }

    fn load(&mut self) -> io::Result<usize> {
        if let Some(file) = &self.file {
            let length = fill(file.as_fd(), &mut self.buffer);
            return length.inspect_err(|_| self.file = None);
        }
        let file = OwnedFd::from(File::open(&self.path)?);
        let length = fill(file.as_fd(), &mut self.buffer)?;
        self.file = Descriptors::of_this_process().retain(file).ok();
        Ok(length)
    }
}

/// Reads a whole file into a buffer, which grows as needed. Returns the length of the content.
fn fill(file: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<usize> {
    if buffer.is_empty() {
        buffer.resize(4096, 0);
    }
    let mut length = 0;
    loop {
        match pread(file, &mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(read) => length += read,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if length == buffer.len() {
            if length >= MAX_BYTES {
                return Ok(length);
            }
            buffer.resize(length * 2, 0);
        }
    }
}
