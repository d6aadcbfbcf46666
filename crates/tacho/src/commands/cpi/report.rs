//! Writes samples in the requested format, and their trace hooks.

use std::fs::File;
use std::path::PathBuf;

use tachograph_cpi::trace::Trace;
use tachograph_cpi::{CpiData, Mode};

use super::sample::Sample;
use super::table::Table;
use super::{csv, json};
use crate::arguments::{CpiArguments, ReportFormat};
use crate::commands::output_format::output_file;
use crate::commands::row_output::{RowOutput, is_same_file, open_final, refuse_existing, refuse_unwritable};
use crate::failure::Failure;

pub(super) struct Report {
    output: RowOutput,
    format: ReportFormat,
    table: Table,
    hooks: Option<Hooks>,
    is_first: bool,
    text: String,
}

/// A trace, and the properties of its hooks.
struct Hooks {
    path: PathBuf,
    overwrite: bool,
    /// A regular file is created when the first hooks are written, so an existing file is kept if no hooks are written.
    trace: Option<Trace>,
    /// Holds the lock of the trace file.
    lock: Option<File>,
    flags: Mode,
    minor: u8,
    label: Option<String>,
}

impl Hooks {
    /// The requested hooks; `None` without --trace. Fails if the trace cannot be written.
    fn from_arguments(arguments: &CpiArguments) -> Result<Option<Self>, Failure> {
        let Some(path) = arguments.trace.clone() else { return Ok(None) };
        if output_file(arguments.output.as_deref()).is_some_and(|output| is_same_file(output, &path)) {
            return Err(Failure::usage(format!("-o and --trace both name {}", path.display())));
        }
        let overwrite = arguments.yes;
        let trace = match std::fs::metadata(&path) {
            // Creating the trace does not damage a device or a pipe.
            Ok(found) if !found.is_file() && !found.is_dir() => {
                Some(Trace::create(&path).map_err(Failure::runtime)?)
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
        Ok(Some(Self { path, overwrite, trace, lock: None, flags, minor: arguments.minor, label }))
    }

    fn write(&mut self, data: &CpiData) -> Result<(), Failure> {
        let trace = match self.trace.take() {
            Some(trace) => trace,
            None => {
                // Another process may have created or locked the file in the meantime.
                self.lock = Some(open_final(&self.path, self.overwrite)?);
                Trace::create(&self.path).map_err(Failure::runtime)?
            }
        };
        let outcome = trace.write(data, self.minor, self.flags, self.label.as_deref());
        self.trace = Some(trace);
        outcome.map_err(Failure::runtime)
    }
}

/// Opens the output that `-o` names; returns `default` without `-o`.
pub(super) fn open_output(arguments: &CpiArguments, default: RowOutput) -> Result<RowOutput, Failure> {
    match (output_file(arguments.output.as_deref()), &arguments.output) {
        (Some(path), _) => RowOutput::file(path, arguments.yes),
        (None, Some(_)) => Ok(RowOutput::standard()),
        (None, None) => Ok(default),
    }
}

impl Report {
    /// Opens the output (`default` without `-o`) and prepares the trace. `process` is the name of the measured process.
    pub(super) fn open(
        arguments: &CpiArguments,
        process: Option<String>,
        default: RowOutput,
    ) -> Result<Self, Failure> {
        // Check both files before creating either.
        if let Some(output) = output_file(arguments.output.as_deref()) {
            refuse_existing(output, arguments.yes)?;
        }
        let hooks = Hooks::from_arguments(arguments)?;
        Ok(Self {
            output: open_output(arguments, default)?,
            format: arguments.format,
            table: Table {
                process: process.unwrap_or_default(),
                has_time: arguments.timestamp,
                is_one_line: arguments.system_only,
                omits_utilization: arguments.no_utilization,
            },
            hooks,
            is_first: true,
            text: String::new(),
        })
    }

    /// Writes a sample, and trace hooks for the system's data.
    pub(super) fn write(&mut self, sample: &Sample, data: Option<&CpiData>) -> Result<(), Failure> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        self.text.clear();
        match self.format {
            ReportFormat::Table => self.table.push(&mut self.text, sample, is_first),
            ReportFormat::Csv => {
                if is_first {
                    self.text.push_str(csv::HEADER);
                }
                csv::push(&mut self.text, sample);
            }
            ReportFormat::Json => json::push(&mut self.text, sample),
        }
        self.output.write_text(&self.text)?;
        match (&mut self.hooks, data) {
            (Some(hooks), Some(data)) => hooks.write(data),
            _ => Ok(()),
        }
    }

    pub(super) fn finish(&self) -> Result<(), Failure> {
        let trace = self.hooks.as_ref().and_then(|hooks| hooks.trace.as_ref());
        trace.map_or(Ok(()), |trace| trace.close().map_err(Failure::runtime))
    }
}
