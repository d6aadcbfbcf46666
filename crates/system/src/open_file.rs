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
    /// The length of the content in the buffer.
    length: usize,
    end: End,
}

/// How the end of a file is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A read returns nothing.
    EmptyRead,
    /// A read that does not fill the buffer ends with a newline.
    LastNewline,
}

/// The maximum size of a file. Larger files are truncated; no file read here comes close.
const MAX_BYTES: usize = 64 << 20;

impl OpenFile {
    /// A file that is opened at the first read.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, buffer: Vec::new(), length: 0, end: End::EmptyRead }
    }

    /// Like [`new`](Self::new), but for a file that the kernel writes in one piece: a read returns all of it if the buffer
    /// is large enough. So there is no second read to find the end, which costs 1 to 4 us. Not for files that the kernel
    /// writes record by record (`/proc/interrupts`, `/proc/diskstats`): a read of these can end between any two lines.
    pub(crate) fn in_one_piece(path: impl Into<PathBuf>) -> Self {
        Self { end: End::LastNewline, ..Self::new(path) }
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
        self.load()?;
        Ok(self.content())
    }

    /// Like [`read`](Self::read), but returns the error as the failure of a counter set.
    pub(crate) fn read_or_fail(&mut self) -> Result<&[u8], Failure> {
        self.load().map_err(|error| unreadable_failure(self.path.display(), &error))?;
        Ok(self.content())
    }

    /// The content as of the last read; empty if that failed.
    pub(crate) fn content(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    fn load(&mut self) -> io::Result<()> {
        self.length = 0;
        if let Some(file) = &self.file {
            let length = fill(file.as_fd(), &mut self.buffer, self.end);
            self.length = length.inspect_err(|_| self.file = None)?;
            return Ok(());
        }
        let file = OwnedFd::from(File::open(&self.path)?);
        self.length = fill(file.as_fd(), &mut self.buffer, self.end)?;
        self.file = Descriptors::of_this_process().retain(file).ok();
        Ok(())
    }
}

/// Reads a whole file into a buffer, which grows as needed. Returns the length of the content.
fn fill(file: BorrowedFd<'_>, buffer: &mut Vec<u8>, end: End) -> io::Result<usize> {
    if buffer.is_empty() {
        buffer.resize(4096, 0);
    }
    let mut length = 0;
    loop {
        match pread(file, &mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(read) => {
                length += read;
                if end == End::LastNewline && length < buffer.len() && buffer[length - 1] == b'\n' {
                    return Ok(length);
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn files_are_read_whole() {
        let machine = Machine::new(&[("proc/f", "")]);
        let path = machine.path("proc/f");
        let mut files = [OpenFile::new(&path), OpenFile::in_one_piece(&path)];
        // Around the sizes at which the buffer is full.
        for length in [5000, 0, 1, 4094, 4095, 4096, 8190, 8191, 8192, 9000, 2] {
            for end in ["", "\n", "x", "\nx", "\n\n"] {
                let text = "line\n".repeat(length / 5) + &"y".repeat(length % 5) + end;
                machine.write("proc/f", &text);
                for file in &mut files {
                    assert_eq!(file.read().expect("readable"), text.as_bytes(), "{length} and {end:?}");
                    assert_eq!(file.content(), text.as_bytes());
                }
            }
        }
        machine.remove("proc/f");
        for file in &mut files {
            file.close();
            assert!(file.read().is_err());
            assert_eq!(file.content(), b"", "no old content after an error");
        }
    }
}
