//! Where results go, a sample at a time.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tachograph_flow::FlowError;

use crate::commands::relog::at_output;
use crate::commands::row_output::RowOutput;
use crate::failure::Failure;

/// The name of standard output as a file.
const STANDARD_OUTPUT: &str = "-";

/// Takes samples, and hands each on as a whole.
pub(super) struct Output {
    rows: RowOutput,
    /// For messages.
    path: PathBuf,
}

impl Output {
    /// Standard output.
    pub(super) fn standard() -> Self {
        Self { rows: RowOutput::standard(), path: "standard output".into() }
    }

    /// Standard error, where a command has standard output for itself.
    pub(super) fn standard_error() -> Self {
        Self { rows: RowOutput::standard_error(), path: "standard error".into() }
    }

    /// What `-o` says; without it, what is usual.
    pub(super) fn open(path: Option<&Path>, overwrite: bool, usual: Self) -> Result<Self, Failure> {
        match path {
            None => Ok(usual),
            Some(path) if path.as_os_str() == STANDARD_OUTPUT => Ok(Self::standard()),
            Some(path) => Ok(Self { rows: RowOutput::file(path, overwrite)?, path: path.to_path_buf() }),
        }
    }

    /// Writes a text, which is there when this returns.
    pub(super) fn write(&mut self, text: &str) -> Result<(), Failure> {
        let outcome = self.rows.write_all(text.as_bytes()).and_then(|()| self.rows.flush());
        outcome.map_err(|error| at_output(FlowError::Output(error), &self.path))
    }
}
