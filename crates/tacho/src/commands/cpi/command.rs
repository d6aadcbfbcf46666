//! Running the command that is measured.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitCode, ExitStatus};

use tachograph_cpi::{Events as CountedEvents, ProcessCpi};

use super::events::{Awaited, Events};
use super::measurement::{Measurement, open_system};
use super::output::Output;
use super::report::Report;
use crate::arguments::CpiArguments;
use crate::failure::{Failure, reason, say};
use crate::file_limit;

/// What shells give for a command that could not be executed, and for one that was not found.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// A command to run.
pub(super) struct MeasuredCommand {
    words: Vec<OsString>,
    /// As the user wrote it.
    name: String,
}

/// The command that is to be measured, if one is.
pub(super) fn of_arguments(arguments: &CpiArguments) -> Option<MeasuredCommand> {
    if let Some(text) = &arguments.command_text {
        let words = [OsStr::new("sh"), OsStr::new("-c"), text].map(OsStr::to_os_string).into();
        return Some(MeasuredCommand { words, name: text.to_string_lossy().into_owned() });
    }
    let words = &arguments.command;
    let name = words.join(OsStr::new(" ")).to_string_lossy().into_owned();
    (!words.is_empty()).then(|| MeasuredCommand { words: words.clone(), name })
}

impl MeasuredCommand {
    /// Runs it and measures; passes its exit status on.
    pub(super) fn run(&self, arguments: &CpiArguments) -> Result<ExitCode, Failure> {
        let Some((program, rest)) = self.words.split_first() else { return Ok(ExitCode::SUCCESS) };
        // What cannot be written is told before the command does its work.
        let report = Report::open(arguments, Some(self.name.clone()), Output::standard_error())?;
        let mut events = Events::of_command()?;
        let mut measurement = Measurement::new(arguments, report, open_system(arguments));
        let mut command = Command::new(program);
        command.args(rest);
        let spawn = || file_limit::inherited(|| command.spawn());
        let spawned = ProcessCpi::spawn_with(spawn, arguments.user_only, CountedEvents::Hardware);
        let (mut child, counted) = match spawned {
            Ok(spawned) => spawned,
            Err(error) => return Ok(not_started(program, &error)),
        };
        events.watch_command(child.id())?;
        measurement.add_process(counted);
        let outcome = measurement.run(&events).and_then(|has_begun| {
            if !has_begun {
                say("the command ended before the time of -s was over: nothing was measured");
            }
            measurement.finish()
        });
        // Told now: the command may run on for long.
        let status = outcome.err().map(|failure| failure.report());
        let ended = end_of(&mut child, &events)?;
        Ok(match status {
            Some(status) if ended.success() => status,
            _ => ExitCode::from(status_of(ended)),
        })
    }
}

/// Waits for the end of the command. Until it is asked for, its number stays its own.
fn end_of(child: &mut Child, events: &Events) -> Result<ExitStatus, Failure> {
    while events.wait(None) != Awaited::End {}
    child.wait().map_err(|error| Failure::work(format!("cannot wait for the command: {}", reason(&error))))
}

/// What shells make of the end of a command.
fn status_of(ended: ExitStatus) -> u8 {
    let by_signal = ended.signal().map(|signal| 128 + signal);
    let status = ended.code().or(by_signal).unwrap_or(1);
    u8::try_from(status).unwrap_or(1)
}

fn not_started(program: &OsStr, error: &io::Error) -> ExitCode {
    let name = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => {
            say(format_args!(
                "'{name}' was not found: check its name; 'tacho cpi -c' runs what the shell understands"
            ));
            ExitCode::from(NOT_FOUND)
        }
        _ => {
            say(format_args!("'{name}' cannot be executed: {}", reason(error)));
            ExitCode::from(NOT_EXECUTABLE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_as_shells_have_them() {
        for (raw, status) in [(0, 0), (3 << 8, 3), (255 << 8, 255), (9, 137), (15, 143), (11 | 0x80, 139)] {
            assert_eq!(status_of(ExitStatus::from_raw(raw)), status, "{raw}");
        }
    }
}
