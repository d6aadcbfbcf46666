//! Files that stay open and are read again and again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::descriptors::with_high_number;

/// A file of /proc or /sys that stays open and is read anew with `pread` into a kept buffer.
#[derive(Debug)]
pub(crate) struct KeptFile {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

/// More than any file that is read here: what is longer is cut off rather than filling the memory.
const MAX_BYTES: usize = 64 << 20;

impl KeptFile {
    /// The file of this path. It is opened at the first reading.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, buffer: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file can be read now.
    pub(crate) fn is_readable(&mut self) -> bool {
        self.read().is_ok()
    }

    /// The whole content as it is now.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or read; the next reading tries to open it again.
    pub(crate) fn read(&mut self) -> io::Result<&[u8]> {
        match self.fill() {
            Ok(length) => Ok(&self.buffer[..length]),
            Err(error) => {
                self.file = None;
                Err(error)
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(with_high_number(File::open(&self.path)?.into()).into()),
        };
        if self.buffer.is_empty() {
            self.buffer.resize(4096, 0);
        }
        let mut length = 0;
        loop {
            match file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => return Ok(length),
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if length == self.buffer.len() {
                if length >= MAX_BYTES {
                    return Ok(length);
                }
                self.buffer.resize(length * 2, 0);
            }
        }
    }
}
