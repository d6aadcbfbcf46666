//! Writing samples in the format that was asked for, and their trace hooks.

use tachograph_cpi::trace::Trace;
use tachograph_cpi::{CpiData, Mode};

use super::output::Output;
use super::result::Sample;
use super::table::Table;
use super::{csv, json};
use crate::arguments::{CpiArguments, CpiFormat};
use crate::commands::row_output::{no_folder, refuse_existing};
use crate::failure::Failure;

/// Where samples end.
pub(super) struct Report {
    output: Output,
    format: CpiFormat,
    table: Table,
    trace: Option<Hooks>,
    is_first: bool,
    text: String,
}

/// A trace, and what its hooks are called.
struct Hooks {
    trace: Trace,
    flags: Mode,
    minor: u8,
    label: Option<String>,
}

impl Hooks {
    fn create(arguments: &CpiArguments) -> Result<Option<Self>, Failure> {
        let Some(path) = &arguments.trace else { return Ok(None) };
        if arguments.output.as_ref() == Some(path) {
            return Err(Failure::usage(format!("-o and --trace both name {}", path.display())));
        }
        refuse_existing(path, arguments.yes)?;
        if path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
            return Err(no_folder(path));
        }
        let trace = Trace::create(path).map_err(Failure::work)?;
        let flags = match (arguments.summary, arguments.detailed) {
            (true, false) => Mode::TRACE_SUMMARY,
            (false, true) => Mode::TRACE_DETAILED,
            _ => Mode::TRACE_EVERYTHING,
        };
        Ok(Some(Self { trace, flags, minor: arguments.minor, label: arguments.label.clone() }))
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
        if let Some(output) = &arguments.output {
            refuse_existing(output, arguments.yes)?;
        }
        let trace = Hooks::create(arguments)?;
        Ok(Self {
            output: Output::open(arguments.output.as_deref(), arguments.yes, usual)?,
            format: arguments.format,
            table: Table {
                process: process.unwrap_or_default(),
                has_time: arguments.timestamp,
                is_one_line: arguments.system_only,
                is_without_utilization: arguments.no_utilization,
            },
            trace,
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
        if let (Some(hooks), Some(data)) = (&self.trace, data) {
            let label = hooks.label.as_deref();
            hooks.trace.write(data, hooks.minor, hooks.flags, label).map_err(Failure::work)?;
        }
        Ok(())
    }

    /// Ends the trace.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        self.trace.as_ref().map_or(Ok(()), |hooks| hooks.trace.close().map_err(Failure::work))
    }
}
