//! Failures of a command: their messages and the exit status.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use tachograph_flow::FlowError;
use tachograph_logs::LogError;
use tachograph_logs::output_file::{OutputError, is_locked};

use crate::table::escape_controls;

/// Why a command failed: one-line messages, and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    messages: Vec<String>,
    status: u8,
}

impl Failure {
    /// The command failed: exit status 1.
    pub(crate) fn runtime(message: impl Display) -> Self {
        Self { messages: vec![message.to_string()], status: 1 }
    }

    /// The arguments are wrong: exit status 2.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::usage_messages(vec![message.to_string()])
    }

    /// The arguments are wrong in several ways: exit status 2.
    pub(crate) fn usage_messages(messages: Vec<String>) -> Self {
        Self { messages, status: 2 }
    }

    /// Merges failures; the highest exit status wins.
    pub(crate) fn merge(failures: Vec<Self>) -> Self {
        let status = failures.iter().map(|failure| failure.status).max().unwrap_or_default();
        Self { messages: failures.into_iter().flat_map(|failure| failure.messages).collect(), status }
    }

    /// The messages.
    pub(crate) fn messages(&self) -> &[String] {
        &self.messages
    }

    /// An error from writing a log, whose name the error contains.
    pub(crate) fn of_writing(error: FlowError) -> Self {
        match &error {
            FlowError::Log(log) if !error.is_broken_pipe() => match (log.path(), log.io_error()) {
                (Some(file), Some(io)) if is_locked(io) => cannot_open(file, ErrorKind::ResourceBusy),
                (Some(file), Some(io)) => match (io.kind(), io.raw_os_error()) {
                    (ErrorKind::NotFound, Some(_)) => cannot_open(file, ErrorKind::NotFound),
                    (ErrorKind::IsADirectory, None) => {
                        Self::runtime(format!("{}: a folder has this name", file.display()))
                    }
                    (_, Some(_)) => cannot("write", file, io),
                    (_, None) => error.into(),
                },
                _ => error.into(),
            },
            _ => error.into(),
        }
    }

    /// An error of a pipeline that writes to `output`. Errors from reading an input already contain the input's name.
    pub(crate) fn of_output(error: FlowError, output: &Path) -> Self {
        match error {
            FlowError::Log(error) => {
                let is_of_output = error.path().is_none_or(|path| path == output);
                let error = FlowError::Log(error.at_path(output));
                if is_of_output { Self::of_writing(error) } else { error.into() }
            }
            FlowError::Output(error) => Self::of_writing(LogError::io(error).at_path(output).into()),
            error => error.into(),
        }
    }

    /// The reader of the output closed the pipe: the command ends without a message, with exit status 0.
    fn broken_pipe() -> Self {
        Self { messages: Vec::new(), status: 0 }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.status == 0
    }

    /// Prints the messages to standard error; returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        self.messages.iter().for_each(notify);
        ExitCode::from(self.status)
    }
}

/// Prints one line to standard error. Control characters are escaped, error numbers are removed, and write errors are
/// ignored.
pub(crate) fn notify(line: impl Display) {
    let line = with_limit_advice(without_error_numbers(line.to_string()));
    let _ = writeln!(std::io::stderr(), "tacho: {}", escape_controls(&line));
}

/// The failure for an I/O error on a file: `FILE: cannot read: Permission denied`.
pub(crate) fn cannot(action: &str, file: &Path, error: &io::Error) -> Failure {
    if is_locked(error) {
        return cannot_open(file, ErrorKind::ResourceBusy);
    }
    Failure::runtime(io_message(action, file.display(), error))
}

/// The message of [`cannot`]. Errors that do not come from the operating system are already complete messages.
pub(crate) fn io_message(action: &str, file: impl Display, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(_) => format!("{file}: cannot {action}: {error}"),
        None => format!("{file}: {error}"),
    }
}

/// Removes the numbers that std adds to the texts of I/O errors: ` (os error 2)`.
fn without_error_numbers(mut text: String) -> String {
    const PREFIX: &str = " (os error ";
    let mut searched = 0;
    while let Some(start) = text[searched..].find(PREFIX).map(|start| searched + start) {
        let number = &text[start + PREFIX.len()..];
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && number[digits..].starts_with(')') {
            text.replace_range(start..start + PREFIX.len() + digits + 1, "");
            searched = start;
        } else {
            searched = start + PREFIX.len();
        }
    }
    text
}

/// Adds what to do if the process has too many open files (EMFILE, not ENFILE).
fn with_limit_advice(line: String) -> String {
    const MESSAGE: &str = "Too many open files";
    match line.split_once(MESSAGE) {
        Some((before, after)) if !after.starts_with(" in system") => {
            format!("{before}{MESSAGE} (raise the limit with 'ulimit -n'){after}")
        }
        _ => line,
    }
}

/// The file and the operating system's error, if the operating system failed to read or write a log.
fn system_error(error: &LogError) -> Option<(&Path, &io::Error)> {
    let io = error.io_error().filter(|error| error.raw_os_error().is_some())?;
    Some((error.path()?, io))
}

/// The failure for an output file that cannot be opened for this reason.
pub(crate) fn cannot_open(file: &Path, why: ErrorKind) -> Failure {
    OutputError::io(file, why.into()).into()
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        if error.io_error().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            return Self::broken_pipe();
        }
        match error.is_existing() {
            true => Self::usage(format_args!("{error}: use -y to overwrite it, or another name")),
            false if error.is_wrong_name() => Self::usage(error),
            false => Self::runtime(error),
        }
    }
}

impl From<FlowError> for Failure {
    fn from(error: FlowError) -> Self {
        if let FlowError::Log(log) = &error
            && !error.is_broken_pipe()
            && let Some((file, io)) = system_error(log)
        {
            return cannot("read", file, io);
        }
        match &error {
            error if error.is_broken_pipe() => Self::broken_pipe(),
            FlowError::Output(io) => Self::runtime(format_args!("cannot write the output: {io}")),
            FlowError::Log(log) if log.is_over_budget() => {
                Self::runtime(format_args!("{error}; raise the limit with --max-memory MB"))
            }
            error => Self::runtime(error),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        FlowError::from(error).into()
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        FlowError::Output(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_removed() {
        let text = "a: No such file (os error 2); b: (os error x) (os error 13), (os error".to_owned();
        assert_eq!(without_error_numbers(text), "a: No such file; b: (os error x), (os error");
    }
}
