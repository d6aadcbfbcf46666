//! Files that stay open and are re-read at each sample.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tachograph_perflib::Failure;

use crate::descriptors::with_high_descriptor;
use crate::error_texts::unreadable;

/// A file in /proc or /sys that stays open and is re-read with `pread` into the same buffer.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

/// The maximum size of a file. Larger files are truncated; no file read here comes close.
const MAX_BYTES: usize = 64 << 20;

impl OpenFile {
    /// The file is opened at the first read.
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
        let length = self.load().map_err(|error| unreadable(self.path.display(), &error))?;
        Ok(&self.buffer[..length])
    }

    fn load(&mut self) -> io::Result<usize> {
        self.fill().inspect_err(|_| self.file = None)
    }

    fn fill(&mut self) -> io::Result<usize> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(with_high_descriptor(File::open(&self.path)?.into()).into()),
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
