//! Trace hooks: what was measured, written to a trace buffer and a file (`.nrm2`), and read back.
//!
//! The format is that of the facility's last Linux form: docs/cpi-trace.md describes it byte by byte.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{CpiData, Error, ErrorKind, Mode};

mod decimal;
mod decode;
mod encode;
mod hook;
mod problem;
mod raw;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use decimal::Decimal;
pub use hook::{
    DetailedScaled, DetailedValues, Hook, HookKind, Kinds, Label, Other, Processors, Summary, SummaryScaled,
    SummaryValues, System, Thread,
};
pub use problem::TraceProblem;
pub use read::TraceReader;
use write::Sections;

/// A trace: a buffer in memory, or a file. Shared by any number of instances and threads.
///
/// Hooks are in a file when [`write`](Self::write) returns: a process that is killed leaves a file that can
/// be read. After the first write nothing is allocated, but for more processors.
#[derive(Debug)]
pub struct Trace {
    state: Mutex<State>,
    /// The process that opened it: a child that was forked has the same file, and would write over it.
    process: u32,
}

#[derive(Debug)]
struct State {
    sections: Sections,
    output: Output,
    is_closed: bool,
    /// The hooks of one get, before they go out together.
    records: Vec<u8>,
}

#[derive(Debug)]
enum Output {
    Memory {
        bytes: Vec<u8>,
        /// Most bytes of hooks.
        limit: usize,
    },
    File {
        path: PathBuf,
        /// Until the trace is closed.
        file: Option<File>,
    },
}

impl Trace {
    /// A trace in memory of at most this many bytes of hooks, which are set aside now. The headers of its
    /// sections, 512 bytes each (one for 4 GiB), come on top.
    ///
    /// Where there is not so much memory, its first write says that it is full.
    pub fn in_memory(bytes: usize) -> Self {
        Self::in_memory_of_sections(bytes, u32::MAX)
    }

    fn in_memory_of_sections(limit: usize, section_limit: u32) -> Self {
        let mut bytes = Vec::new();
        let header = raw::SECTION_HEADER_BYTES;
        let has_memory = bytes.try_reserve_exact(limit.saturating_add(header)).is_ok();
        let sections = Sections::new(section_limit);
        // In memory nothing fails.
        let _ = sections.begin(&mut bytes);
        let limit = if has_memory { limit } else { 0 };
        Self::new(sections, Output::Memory { bytes, limit })
    }

    /// A trace into a new file; one of this name is overwritten.
    ///
    /// # Errors
    ///
    /// When the file cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::create_of_sections(path, u32::MAX)
    }

    fn create_of_sections(path: &Path, section_limit: u32) -> Result<Self, Error> {
        let sections = Sections::new(section_limit);
        // Absolute, so that a change of the working directory does not make another file of it.
        let file = std::path::absolute(path).and_then(|path| {
            let mut file =
                OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
            sections.begin(&mut file)?;
            Ok((path, file))
        });
        match file {
            Ok((path, file)) => Ok(Self::new(sections, Output::File { path, file: Some(file) })),
            Err(error) => Err(cannot_write(path, &error)),
        }
    }

    fn new(sections: Sections, output: Output) -> Self {
        let records = Vec::new();
        let state = Mutex::new(State { sections, output, is_closed: false, records });
        Self { state, process: std::process::id() }
    }

    /// A panic of another thread leaves the state as it was: it is changed last.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the hooks of one `get`, in the order label start, summary, system-wide, per processor, thread,
    /// label end: those that `flags` ([`Mode::TRACE_SUMMARY`], [`Mode::TRACE_DETAILED`]) and `label` ask for.
    /// All of them or, in an error, none. Scaled and thread values are written where `data` has them; the
    /// system-wide and the per-processor hook where processors were measured.
    ///
    /// A label is cut at 2048 bytes, between characters.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TraceFull`] when the buffer is full, [`ErrorKind::HookTooLong`] when a hook has more than
    /// 65,532 bytes (with details and busy shares of more than 682 processors), [`ErrorKind::TraceFile`] when
    /// the file cannot be written, [`ErrorKind::NoTrace`] when the trace was closed.
    pub fn write(&self, data: &CpiData, minor: u8, flags: Mode, label: Option<&str>) -> Result<(), Error> {
        if self.process != std::process::id() {
            return Err(Error::new(
                ErrorKind::NoTrace,
                "the trace belongs to the process that opened it, and this is a child of it: open a new one",
            ));
        }
        let mut state = self.state();
        let State { sections, output, is_closed, records } = &mut *state;
        if *is_closed {
            return Err(Error::new(ErrorKind::NoTrace, "the trace was closed: open a new one"));
        }
        encode::hooks(records, data, minor, flags, label)?;
        if records.is_empty() {
            return Ok(());
        }
        match output {
            Output::Memory { bytes, limit } => {
                let left = *limit - sections.total_bytes() as usize;
                if records.len() > left {
                    return Err(Error::new(
                        ErrorKind::TraceFull,
                        format!(
                            "the trace is full: {left} of {limit} bytes are left, and the hooks take {}; make a longer \
                             buffer, or trace to a file",
                            records.len()
                        ),
                    ));
                }
                sections
                    .add(bytes, records, data.ended_at)
                    .map_err(|error| Error::new(ErrorKind::TraceFull, error.to_string()))
            }
            Output::File { path, file: Some(file) } => {
                sections.add(file, records, data.ended_at).map_err(|error| cannot_write(path, &error))
            }
            Output::File { file: None, .. } => unreachable!("closed above"),
        }
    }

    /// The file's content so far, or of a trace in memory, what would be in its file. Of a file that cannot
    /// be read: what could be.
    pub fn bytes(&self) -> Vec<u8> {
        let state = self.state();
        match &state.output {
            Output::Memory { bytes, .. } => bytes.clone(),
            Output::File { path, .. } => {
                let mut bytes = Vec::new();
                if let Ok(file) = File::open(path) {
                    let _ = file.take(state.sections.end()).read_to_end(&mut bytes);
                }
                bytes
            }
        }
    }

    /// Ends the trace: what was written is in the file, and no more can be written. Of a closed trace:
    /// nothing.
    ///
    /// # Errors
    ///
    /// When the file cannot be written; the trace is closed all the same.
    pub fn close(&self) -> Result<(), Error> {
        // A child's leaving does not end its parent's trace.
        if self.process != std::process::id() {
            return Ok(());
        }
        let mut state = self.state();
        let State { sections, output, is_closed, records } = &mut *state;
        if std::mem::replace(is_closed, true) {
            return Ok(());
        }
        *records = Vec::new();
        match output {
            Output::Memory { bytes, .. } => {
                // In memory nothing fails.
                let _ = sections.finish(bytes);
                Ok(())
            }
            Output::File { path, file } => match file.take() {
                Some(mut file) => sections.finish(&mut file).map_err(|error| cannot_write(path, &error)),
                None => Ok(()),
            },
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let way_out = match error.kind() {
        io::ErrorKind::NotFound => "make the folder first, or give another",
        io::ErrorKind::PermissionDenied => "give a folder in which you may write",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or give a file elsewhere",
        _ => "give another file",
    };
    Error::new(
        ErrorKind::TraceFile,
        format!("the trace file {} cannot be written: {error}; {way_out}", path.display()),
    )
}
