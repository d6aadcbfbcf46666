//! `tacho cpi`: cycles per instruction of a command, a process or the system.

mod csv;
mod events;
mod hook_record;
mod json;
mod measured_command;
mod measurement;
mod read_trace;
mod report;
mod sample;
mod table;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use tachograph_cpi::{Error, ErrorKind, Events as CountedEvents, ProcessCpi};

use crate::arguments::CpiArguments;
use crate::commands::row_output::RowOutput;
use crate::failure::{Failure, notify};
use events::Events;
use measured_command::MeasuredCommand;
use measurement::{Measurement, open_system};
use report::Report;

pub(crate) fn run(arguments: &CpiArguments) -> Result<ExitCode, Failure> {
    if let Some(path) = &arguments.read {
        return read_trace::show(arguments, path);
    }
    match MeasuredCommand::from_arguments(arguments) {
        Some(command) => command.run(arguments),
        None => measure(arguments),
    }
}

/// Measures the system, and with `-p` also a process, until Ctrl-C, the end of the process, or the end of the time of
/// `-r`.
fn measure(arguments: &CpiArguments) -> Result<ExitCode, Failure> {
    let events = Events::for_measurement()?;
    let (process, system) = match arguments.pid {
        None => (None, Ok(open_system(arguments).map_err(|error| system_failure(arguments, &error))?)),
        Some(pid) => {
            let process = ProcessCpi::attach(pid, arguments.user_only, CountedEvents::Hardware);
            let process = process.map_err(|error| attach_failure(pid, &error))?;
            events.watch_process(pid)?;
            (Some(process), open_system(arguments))
        }
    };
    let name = arguments.pid.map(|pid| format!("process {pid}"));
    let report = Report::open(arguments, name, RowOutput::standard())?;
    let mut measurement = Measurement::new(arguments, report, system);
    if let Some(process) = process {
        measurement.add_process(Ok(process));
    }
    if arguments.run.is_none() && arguments.pid.is_none() && io::stderr().is_terminal() {
        notify("measuring until Ctrl-C; 'tacho cpi --help' lists the options");
    }
    let has_begun = measurement.run(&events)?;
    measurement.finish()?;
    if !has_begun {
        return Err(Failure::runtime("ended before the delay of -s was over: nothing was measured"));
    }
    Ok(ExitCode::SUCCESS)
}

fn attach_failure(pid: u32, error: &Error) -> Failure {
    // This error ends with `only CPU utilization can be shown`, which is a value of the system.
    let advice = match error.kind() {
        ErrorKind::EventNotSupported { .. } => ", without -p",
        _ => "",
    };
    Failure::runtime(format!("-p {pid}: {error}{advice}"))
}

fn system_failure(arguments: &CpiArguments, error: &Error) -> Failure {
    match arguments.no_utilization {
        true => Failure::runtime(format!("-noai: nothing to measure: {error}")),
        false => Failure::runtime(error),
    }
}
