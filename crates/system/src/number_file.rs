//! Small files in /sys with one number each, which stay open.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::{Errno, pread};

use crate::descriptors::{Descriptors, RetainedFile};
use crate::error_texts::error_text;
use crate::scan;

/// A small file in /sys. It is read into the caller's buffer, because large machines have thousands of these files.
#[derive(Debug)]
pub(crate) struct SmallFile {
    path: PathBuf,
    file: Option<RetainedFile>,
}

impl SmallFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Whether the file can be read now and `accepts` returns true for its content. The file does not stay open, since its counters may
    /// never be queried.
    pub(crate) fn is_readable(&self, accepts: impl FnOnce(&[u8]) -> bool) -> bool {
        let mut buffer = [0; 512];
        let read = File::open(&self.path).and_then(|file| fill(file.as_fd(), &mut buffer));
        read.is_ok_and(|length| accepts(&buffer[..length]))
    }

    /// Whether the file can be read now and has a number.
    pub(crate) fn has_number(&self) -> bool {
        self.is_readable(|text| scan::parse_single_number(text).is_some())
    }

    /// Closes the file until the next read.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// The content, up to the size of the buffer.
    pub(crate) fn read<'a>(&mut self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let length = match &self.file {
            Some(file) => {
                let length = fill(file.as_fd(), buffer);
                length.inspect_err(|_| self.file = None)?
            }
            None => {
                let file = OwnedFd::from(File::open(&self.path)?);
                let length = fill(file.as_fd(), buffer)?;
                self.file = Descriptors::of_this_process().retain(file).ok();
                length
            }
        };
        Ok(&buffer[..length])
    }

    /// The number in the file.
    pub(crate) fn read_number(&mut self) -> Result<u64, String> {
        let mut buffer = [0; 64];
        let text = self.read(&mut buffer).map_err(|error| error_text(self.path.display(), &error))?;
        match scan::parse_single_number(text) {
            Some(number) => Ok(number),
            None => Err(format!("{}: no number: {:?}", self.path.display(), String::from_utf8_lossy(text))),
        }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }
}

fn fill(file: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match pread(file, &mut buffer[length..], length as u64) {
            Ok(0) => break,
            Ok(read) => {
                length += read;
                // The kernel returns such a file in a single read; after its line end, no further read is needed.
                if length < buffer.len() && buffer[length - 1] == b'\n' {
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(length)
}
