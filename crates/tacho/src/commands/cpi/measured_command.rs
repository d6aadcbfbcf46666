//! Runs and measures a command.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitCode, ExitStatus};

use tachograph_cpi::{Events as CountedEvents, ProcessCpi};

use super::events::{Events, WaitResult};
use super::measurement::{Measurement, open_system};
use super::report::Report;
use crate::arguments::CpiArguments;
use crate::commands::row_output::RowOutput;
use crate::failure::{Failure, notify};
use crate::file_limit;

/// The statuses that shells report for a command that could not be executed or was not found.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

pub(super) struct MeasuredCommand {
    words: Vec<OsString>,
    /// The command as the user wrote it.
    name: String,
}

impl MeasuredCommand {
    /// The command of `-c` or after `--`, if there is one.
    pub(super) fn from_arguments(arguments: &CpiArguments) -> Option<Self> {
        if let Some(text) = &arguments.command_text {
            let words = [OsStr::new("sh"), OsStr::new("-c"), text].map(OsStr::to_os_string).into();
            return Some(Self { words, name: text.to_string_lossy().into_owned() });
        }
        let words = &arguments.command;
        let name = words.join(OsStr::new(" ")).to_string_lossy().into_owned();
        (!words.is_empty()).then(|| Self { words: words.clone(), name })
    }

    /// Runs and measures the command; returns its exit status.
    pub(super) fn run(&self, arguments: &CpiArguments) -> Result<ExitCode, Failure> {
        let Some((program, rest)) = self.words.split_first() else { return Ok(ExitCode::SUCCESS) };
        // If the output cannot be opened, the command does not run.
        let report = Report::open(arguments, Some(self.name.clone()), RowOutput::standard_error())?;
        let mut events = Events::for_command()?;
        let mut measurement = Measurement::new(arguments, report, open_system(arguments));
        let mut command = Command::new(program);
        command.args(rest);
        let spawn = || file_limit::with_inherited(|| command.spawn());
        let spawned = ProcessCpi::spawn_with(spawn, arguments.user_only, CountedEvents::Hardware);
        let (mut child, counted) = match spawned {
            Ok(spawned) => spawned,
            Err(error) => return Ok(not_started(program, &error)),
        };
        events.watch_command(child.id())?;
        measurement.add_process(counted);
        let outcome = measurement.run(&events).and_then(|has_begun| {
            if !has_begun {
                notify("the command ended before the delay of -s was over: nothing was measured");
            }
            measurement.finish()
        });
        // A failure is reported now, because the command may continue to run for a long time.
        let status = outcome.err().map(|failure| failure.report());
        let ended = wait_for_end(&mut child, &events)?;
        Ok(match status {
            Some(status) if ended.success() => status,
            _ => ExitCode::from(status_of(ended)),
        })
    }
}

/// Waits for the command to end. Its process id cannot be reused before `child.wait` returns.
fn wait_for_end(child: &mut Child, events: &Events) -> Result<ExitStatus, Failure> {
    while events.wait(None) != WaitResult::Ended {}
    child.wait().map_err(|error| Failure::runtime(format!("cannot wait for the command: {error}")))
}

/// The exit status that a shell would report for a command that ended like this.
fn status_of(ended: ExitStatus) -> u8 {
    let by_signal = ended.signal().map(|signal| 128 + signal);
    let status = ended.code().or(by_signal).unwrap_or(1);
    u8::try_from(status).unwrap_or(1)
}

fn not_started(program: &OsStr, error: &io::Error) -> ExitCode {
    let name = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => {
            notify(format_args!("'{name}' not found: check its name; use 'tacho cpi -c' for shell commands"));
            ExitCode::from(NOT_FOUND)
        }
        _ => {
            notify(format_args!("cannot execute '{name}': {error}"));
            ExitCode::from(NOT_EXECUTABLE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_statuses_are_those_of_shells() {
        for (raw, status) in [(0, 0), (3 << 8, 3), (255 << 8, 255), (9, 137), (15, 143), (11 | 0x80, 139)] {
            assert_eq!(status_of(ExitStatus::from_raw(raw)), status, "{raw}");
        }
    }
}
