//! Truncating files.

use std::fs::File;
use std::io::{self, Cursor};

/// A file that can be truncated.
pub trait SetLength {
    /// Truncates the file to `bytes`.
    ///
    /// # Errors
    ///
    /// The operating system's error.
    fn set_length(&mut self, bytes: u64) -> io::Result<()>;
}

impl SetLength for File {
    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }
}

impl SetLength for Cursor<Vec<u8>> {
    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        self.get_mut().truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }
}

impl<T: SetLength + ?Sized> SetLength for &mut T {
    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        (**self).set_length(bytes)
    }
}
