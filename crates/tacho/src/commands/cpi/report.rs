//! Writing samples in the format that was asked for, and their trace hooks.

use std::path::PathBuf;

use tachograph_cpi::trace::Trace;
use tachograph_cpi::{CpiData, Mode};

use super::output::{Output, file_of};
use super::result::Sample;
use super::table::Table;
use super::{csv, json};
use crate::arguments::{CpiArguments, CpiFormat};
use crate::commands::row_output::{is_same_file, refuse_existing, refuse_unwritable};
use crate::failure::Failure;

/// Where samples end.
pub(super) struct Report {
    output: Output,
    format: CpiFormat,
    table: Table,
    hooks: Option<Hooks>,
    is_first: bool,
    text: String,
}

/// A trace, and what its hooks are called.
struct Hooks {
    path: PathBuf,
    overwrite: bool,
    /// From the first hooks on: where there are none, a file that exists keeps what it has.
    trace: Option<Trace>,
    flags: Mode,
    minor: u8,
    label: Option<String>,
}

impl Hooks {
    /// The hooks that are asked for. That their file cannot be written is told now.
    fn of_arguments(arguments: &CpiArguments) -> Result<Option<Self>, Failure> {
        let Some(path) = arguments.trace.clone() else { return Ok(None) };
        if file_of(arguments).is_some_and(|output| is_same_file(output, &path)) {
            return Err(Failure::usage(format!("-o and --trace both name {}", path.display())));
        }
        let overwrite = arguments.yes;
        let trace = match std::fs::metadata(&path) {
            // A device or a pipe holds nothing that could be lost.
            Ok(found) if !found.is_file() && !found.is_dir() => {
                Some(Trace::create(&path).map_err(Failure::work)?)
            }
            _ => {
                refuse_unwritable(&path, overwrite)?;
                None
            }
        };
        let flags = match (arguments.summary, arguments.detailed) {
            (true, false) => Mode::TRACE_SUMMARY,
            (false, true) => Mode::TRACE_DETAILED,
            _ => Mode::TRACE_EVERYTHING,
        };
        let label = arguments.label.clone();
        Ok(Some(Self { path, overwrite, trace, flags, minor: arguments.minor, label }))
    }

    fn write(&mut self, data: &CpiData) -> Result<(), Failure> {
        let trace = match self.trace.take() {
            Some(trace) => trace,
            None => {
                // Somebody may have made it since.
                refuse_existing(&self.path, self.overwrite)?;
                Trace::create(&self.path).map_err(Failure::work)?
            }
        };
        let outcome = trace.write(data, self.minor, self.flags, self.label.as_deref());
        self.trace = Some(trace);
        outcome.map_err(Failure::work)
    }
}

impl Report {
    /// Begins the output, which is this one unless another is named, and the trace. `process` is what the process that is
    /// measured is called.
    pub(super) fn open(
        arguments: &CpiArguments,
        process: Option<String>,
        usual: Output,
    ) -> Result<Self, Failure> {
        // Both may be refused, before either is begun.
        if let Some(output) = file_of(arguments) {
            refuse_existing(output, arguments.yes)?;
        }
        let hooks = Hooks::of_arguments(arguments)?;
        Ok(Self {
            output: Output::open(arguments, usual)?,
            format: arguments.format,
            table: Table {
                process: process.unwrap_or_default(),
                has_time: arguments.timestamp,
                is_one_line: arguments.system_only,
                is_without_utilization: arguments.no_utilization,
            },
            hooks,
            is_first: true,
            text: String::new(),
        })
    }

    /// Writes a sample, and the hooks of what was measured of the system.
    pub(super) fn write(&mut self, sample: &Sample, data: Option<&CpiData>) -> Result<(), Failure> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        self.text.clear();
        match self.format {
            CpiFormat::Table => self.table.push(&mut self.text, sample, is_first),
            CpiFormat::Csv => {
                if is_first {
                    self.text.push_str(csv::HEADER);
                }
                csv::push(&mut self.text, sample);
            }
            CpiFormat::Json => json::push(&mut self.text, sample),
        }
        self.output.write(&self.text)?;
        match (&mut self.hooks, data) {
            (Some(hooks), Some(data)) => hooks.write(data),
            _ => Ok(()),
        }
    }

    /// Ends the trace.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        let trace = self.hooks.as_ref().and_then(|hooks| hooks.trace.as_ref());
        trace.map_or(Ok(()), |trace| trace.close().map_err(Failure::work))
    }
}
