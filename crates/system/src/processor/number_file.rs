//! The many small files of a processor in /sys: a number each.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::scan;

/// Most files that stay open: a machine of 256 processors has thousands, and a process may have 1,024 open files by
/// default. Beyond that number each is opened when it is read.
pub(super) const MOST_OPEN: usize = 256;

/// A small file of /sys, read into the caller's buffer. It has none of its own: there are thousands on large machines.
#[derive(Debug)]
pub(super) struct SmallFile {
    path: PathBuf,
    file: Option<File>,
    stays_open: bool,
}

impl SmallFile {
    pub(super) fn new(path: PathBuf, stays_open: bool) -> Self {
        Self { path, file: None, stays_open }
    }

    /// The content, as far as the buffer reaches.
    pub(super) fn read<'a>(&mut self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path)?,
        };
        let mut length = 0;
        while length < buffer.len() {
            match file.read_at(&mut buffer[length..], length as u64) {
                Ok(0) => break,
                Ok(read) => {
                    length += read;
                    // A file of /sys comes in one piece: its line end spares asking for more.
                    if length < buffer.len() && buffer[length - 1] == b'\n' {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.stays_open {
            self.file = Some(file);
        }
        Ok(&buffer[..length])
    }

    /// The number that the file holds.
    pub(super) fn number(&mut self) -> Result<u64, String> {
        let mut buffer = [0; 64];
        let text = self.read(&mut buffer).map_err(|error| format!("{}: {error}", self.path.display()))?;
        match scan::only_number(text) {
            Some(number) => Ok(number),
            None => Err(format!("{}: no number: {:?}", self.path.display(), String::from_utf8_lossy(text))),
        }
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.path
    }
}
