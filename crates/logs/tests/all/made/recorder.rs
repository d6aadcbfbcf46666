//! A file in memory that remembers how it was written.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard};

/// Where in the file, and which bytes.
pub type Written = (u64, Vec<u8>);

/// Keeps every write, and the file that they make. Shared, so that it can be looked at while a writer has it.
#[derive(Clone, Default)]
pub struct Recorder {
    at: u64,
    writes: Arc<Mutex<Vec<Written>>>,
    file: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    /// A file that is there.
    pub fn over(file: &[u8]) -> Self {
        Self { file: Arc::new(Mutex::new(file.to_vec())), ..Self::default() }
    }

    /// The writes that were made.
    pub fn writes(&self) -> MutexGuard<'_, Vec<Written>> {
        self.writes.lock().expect("no panic within")
    }

    /// The file as it is now.
    pub fn file(&self) -> MutexGuard<'_, Vec<u8>> {
        self.file.lock().expect("no panic within")
    }

    /// The same file, from its start.
    pub fn again(&self) -> Self {
        Self { at: 0, ..self.clone() }
    }
}

impl Read for Recorder {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = {
            let file = self.file();
            let rest = file.get(self.at as usize..).unwrap_or_default();
            let count = rest.len().min(out.len());
            out[..count].copy_from_slice(&rest[..count]);
            count
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writes().push((self.at, bytes.to_vec()));
        place(&mut self.file(), self.at, bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Recorder {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let length = self.file().len() as u64;
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(back) => length.saturating_add_signed(back),
            SeekFrom::Current(further) => self.at.saturating_add_signed(further),
        };
        Ok(self.at)
    }
}

/// Puts bytes into a file.
pub fn place(file: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let end = at as usize + bytes.len();
    if file.len() < end {
        // As a file system does where a writer leaves a gap.
        file.resize(end, 0);
    }
    file[at as usize..end].copy_from_slice(bytes);
}
