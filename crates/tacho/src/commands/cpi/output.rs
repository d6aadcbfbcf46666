//! Where results go, a sample at a time.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tachograph_flow::FlowError;

use crate::arguments::CpiArguments;
use crate::commands::relog::at_output;
use crate::commands::row_output::RowOutput;
use crate::failure::Failure;

/// The name of standard output as a file.
const STANDARD_OUTPUT: &str = "-";

/// The file that `-o` names, if it names one.
pub(super) fn file_of(arguments: &CpiArguments) -> Option<&Path> {
    arguments.output.as_deref().filter(|path| path.as_os_str() != STANDARD_OUTPUT)
}

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
    pub(super) fn open(arguments: &CpiArguments, usual: Self) -> Result<Self, Failure> {
        match (file_of(arguments), &arguments.output) {
            (Some(path), _) => {
                Ok(Self { rows: RowOutput::file(path, arguments.yes)?, path: path.to_path_buf() })
            }
            (None, Some(_)) => Ok(Self::standard()),
            (None, None) => Ok(usual),
        }
    }

    /// Writes a text, which is there when this returns.
    pub(super) fn write(&mut self, text: &str) -> Result<(), Failure> {
        let outcome = self.rows.write_all(text.as_bytes()).and_then(|()| self.rows.flush());
        outcome.map_err(|error| at_output(FlowError::Output(error), &self.path))
    }
}
