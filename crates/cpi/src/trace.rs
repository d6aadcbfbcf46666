//! Traces: results are written as records, called hooks, to a trace in memory or a file (`.nrm2`), and read back.
//!
//! The format is the last one that IBM's Performance Inspector used on Linux; docs/cpi-trace.md describes it byte by
//! byte.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tachograph_counters::IgnorePoison;

use crate::{CpiData, Error, ErrorKind, Mode};

mod decimal;
mod decode;
mod encode;
mod hook;
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
pub use read::TraceReader;
pub use tachograph_counters::Problem;
use write::Sections;

/// A trace: a buffer in memory, or a file. Shared by any number of instances and threads.
///
/// Hooks are in the file when [`write`](Self::write) returns, so a trace remains readable if the process is killed.
/// After the first write, memory is allocated only if the number of processors grows.
#[derive(Debug)]
pub struct Trace {
    state: Mutex<State>,
    /// The process that opened the trace. A forked child shares the file, and must not overwrite it.
    process: u32,
}

#[derive(Debug)]
struct State {
    sections: Sections,
    output: Output,
    is_closed: bool,
    /// The hooks of one `get`, which are written together.
    records: Vec<u8>,
}

#[derive(Debug)]
enum Output {
    Memory {
        bytes: Vec<u8>,
        /// Maximum total size of the hooks in bytes.
        limit: usize,
    },
    File {
        path: PathBuf,
        /// `None` after the trace is closed.
        file: Option<File>,
    },
}

impl Trace {
    /// Creates a trace in memory, and allocates space for this number of bytes of hooks. Section headers take extra
    /// space: 512 bytes for each 4 GiB.
    ///
    /// If there is not enough memory, the first write returns [`ErrorKind::TraceFull`].
    pub fn in_memory(bytes: usize) -> Self {
        Self::in_memory_with_section_limit(bytes, u32::MAX)
    }

    fn in_memory_with_section_limit(limit: usize, section_limit: u32) -> Self {
        let mut bytes = Vec::new();
        let header = raw::SECTION_HEADER_BYTES;
        let has_memory = bytes.try_reserve_exact(limit.saturating_add(header)).is_ok();
        let sections = Sections::new(section_limit);
        // Writing to memory does not fail.
        let _ = sections.begin(&mut bytes);
        let limit = if has_memory { limit } else { 0 };
        Self::new(sections, Output::Memory { bytes, limit })
    }

    /// Creates a trace file; an existing file is overwritten.
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::create_with_section_limit(path, u32::MAX)
    }

    fn create_with_section_limit(path: &Path, section_limit: u32) -> Result<Self, Error> {
        let sections = Sections::new(section_limit);
        // Absolute, so that a change of the working directory does not change the file.
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

    /// Ignores poisoning: an operation changes the state last, so a panic leaves it consistent.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Writes the hooks of one `get` that `flags` ([`Mode::TRACE_SUMMARY`], [`Mode::TRACE_DETAILED`]) and `label`
    /// request, in the order label start, summary, system-wide, per processor, thread, label end. On an error, no hook
    /// is written. Scaled values and the thread's values are written if `data` has them; the system-wide and
    /// per-processor hooks are written if processors were measured.
    ///
    /// A label is truncated to 2048 bytes, between characters.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TraceFull`] if the buffer is full, [`ErrorKind::HookTooLong`] if a hook is longer than 65,532 bytes (with
    /// details and busy shares of more than 682 processors), [`ErrorKind::TraceFile`] if the file cannot be written,
    /// [`ErrorKind::NoTrace`] if the trace was closed.
    pub fn write(&self, data: &CpiData, minor: u8, flags: Mode, label: Option<&str>) -> Result<(), Error> {
        if self.process != std::process::id() {
            return Err(Error::new(
                ErrorKind::NoTrace,
                "the trace belongs to the process that opened it, and this is a forked child: open a new one",
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
                            "the trace is full: {left} of {limit} bytes are left, and the hooks take {}; use a larger \
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

    /// The trace so far. For a file, as much of it as can be read; for a trace in memory, what its file would contain.
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

    /// Closes the trace: completes its last section, and rejects further writes. Closing a closed trace has no effect.
    ///
    /// # Errors
    ///
    /// If the file cannot be written; the trace is closed even then.
    pub fn close(&self) -> Result<(), Error> {
        // A forked child must not close its parent's trace.
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
                // Writing to memory does not fail.
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
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "create the folder first, or use another",
        io::ErrorKind::PermissionDenied => "use a folder in which you may write",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or choose another disk"
        }
        _ => "choose another file",
    };
    Error::new(
        ErrorKind::TraceFile,
        format!("the trace file {} cannot be written: {error}; {remedy}", path.display()),
    )
}
