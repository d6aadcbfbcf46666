//! Files whose length can be set.

use std::fs::File;
use std::io::{self, Cursor};

/// What can be cut to a length: a file.
pub trait SetLength {
    /// Cuts what is beyond so many bytes.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
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
