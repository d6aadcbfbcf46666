//! Where rows go as they come: standard output, standard error beside a command, or a file in its place.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::failure::Failure;

/// Takes rows, and hands each on as a whole when it is flushed: whatever ends the command, a file has whole rows.
pub(crate) struct RowOutput {
    pending: Vec<u8>,
    to: Destination,
}

enum Destination {
    Standard(io::Stdout),
    /// A command has standard output for itself.
    Error(io::Stderr),
    /// With its length, where it is a regular file.
    File(File, Option<u64>),
}

impl RowOutput {
    /// Rows for standard output.
    pub(crate) fn standard() -> Self {
        Self { pending: Vec::new(), to: Destination::Standard(io::stdout()) }
    }

    /// Rows for standard error. That nobody may read them is no error.
    pub(crate) fn standard_error() -> Self {
        Self { pending: Vec::new(), to: Destination::Error(io::stderr()) }
    }

    /// Rows for a file.
    pub(crate) fn file(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        let file = create_in_place(path, overwrite)?;
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Ok(Self { pending: Vec::new(), to: Destination::File(file, is_regular.then_some(0)) })
    }
}

/// Refuses to write into what is there, unless `overwrite`. What is no regular file (a device, a pipe) holds nothing that
/// could be lost.
pub(crate) fn refuse_existing(path: &Path, overwrite: bool) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Failure::usage(format!("{}: this is a folder", path.display()))),
        Ok(found) if found.is_file() && !overwrite => Err(exists(path)),
        _ => Ok(()),
    }
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!("{} exists: give -y to overwrite it, or another name", path.display()))
}

/// Begins a file in its place.
fn create_in_place(path: &Path, overwrite: bool) -> Result<File, Failure> {
    refuse_existing(path, overwrite)?;
    let mut options = OpenOptions::new();
    options.write(true);
    if std::fs::metadata(path).map_or(true, |found| found.is_file()) {
        // Without leave to overwrite, the name must be free at this very moment.
        options.create(overwrite).truncate(overwrite).create_new(!overwrite);
    }
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        io::ErrorKind::NotFound => no_folder(path),
        _ => Failure::work(format!("{}: {error}", path.display())),
    })
}

/// The folder of a new file is missing.
pub(crate) fn no_folder(path: &Path) -> Failure {
    Failure::work(format!("{}: its folder does not exist; make it first", path.display()))
}

impl Write for RowOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = match &mut self.to {
            Destination::Standard(out) => {
                let mut out = out.lock();
                out.write_all(&self.pending).and_then(|()| out.flush())
            }
            Destination::Error(out) => {
                let _ = out.write_all(&self.pending);
                Ok(())
            }
            Destination::File(file, length) => {
                let outcome = file.write_all(&self.pending);
                if let Some(length) = length {
                    match &outcome {
                        Ok(()) => *length += self.pending.len() as u64,
                        // The disk is full: takes the part of a row away again. Where that fails too, the first error
                        // is the one to tell.
                        Err(_) => {
                            drop(file.set_len(*length).and_then(|()| file.seek(SeekFrom::Start(*length))))
                        }
                    }
                }
                outcome
            }
        };
        // Also after an error: what cannot be written is not tried again when this is dropped.
        self.pending.clear();
        outcome
    }
}
