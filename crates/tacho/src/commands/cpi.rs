//! `tacho cpi`: cycles per instruction of a command, a process or the system.

mod command;
mod csv;
mod events;
mod hook_rows;
mod hooks;
mod json;
mod measurement;
mod output;
mod report;
mod result;
mod table;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use tachograph_cpi::{Error, Events as CountedEvents, ProcessCpi};

use crate::arguments::CpiArguments;
use crate::failure::{Failure, say};
use events::Events;
use measurement::{Measurement, open_system};
use output::Output;
use report::Report;

pub(crate) fn run(arguments: &CpiArguments) -> Result<ExitCode, Failure> {
    if let Some(path) = &arguments.read {
        return hooks::show(arguments, path);
    }
    match command::of_arguments(arguments) {
        Some(command) => command.run(arguments),
        None => measure(arguments),
    }
}

/// Measures the system, or a process beside it, until Ctrl-C or the end that was asked for.
fn measure(arguments: &CpiArguments) -> Result<ExitCode, Failure> {
    let events = Events::of_measuring()?;
    let (process, system) = match arguments.pid {
        None => (None, Ok(open_system(arguments).map_err(|error| nothing(arguments, &error))?)),
        Some(pid) => {
            let process = ProcessCpi::attach(pid, arguments.user_only, CountedEvents::Hardware);
            let process = process.map_err(|error| Failure::work(format!("-p {pid}: {error}")))?;
            events.watch_process(pid)?;
            (Some(process), open_system(arguments))
        }
    };
    let name = arguments.pid.map(|pid| format!("process {pid}"));
    let report = Report::open(arguments, name, Output::standard())?;
    let mut measurement = Measurement::new(arguments, report, system);
    if let Some(process) = process {
        measurement.add_process(Ok(process));
    }
    if arguments.run.is_none() && arguments.pid.is_none() && io::stderr().is_terminal() {
        say("measuring until Ctrl-C; 'tacho cpi --help' shows what else there is");
    }
    let has_begun = measurement.run(&events)?;
    measurement.finish()?;
    if !has_begun {
        return Err(Failure::work("it ended before the time of -s was over: nothing was measured"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing of what was asked for can be measured.
fn nothing(arguments: &CpiArguments, error: &Error) -> Failure {
    match arguments.no_utilization {
        true => Failure::work(format!("-noai leaves nothing to measure: {error}")),
        false => Failure::work(error),
    }
}
