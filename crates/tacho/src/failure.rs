//! Why a command ended without doing its work, and with which exit status.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use tachograph_flow::FlowError;
use tachograph_logs::LogError;

use crate::table::visible;

/// The end of a command: messages of one line each, and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    messages: Vec<String>,
    status: u8,
}

impl Failure {
    /// The work could not be done: exit status 1.
    pub(crate) fn work(message: impl Display) -> Self {
        Self { messages: vec![message.to_string()], status: 1 }
    }

    /// The command was called wrongly: exit status 2.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::usages(vec![message.to_string()])
    }

    /// The command was called wrongly in several ways: exit status 2.
    pub(crate) fn usages(messages: Vec<String>) -> Self {
        Self { messages, status: 2 }
    }

    /// Several failures as one, with the highest of their exit statuses.
    pub(crate) fn together(failures: Vec<Self>) -> Self {
        let status = failures.iter().map(|failure| failure.status).max().unwrap_or_default();
        Self { messages: failures.into_iter().flat_map(|failure| failure.messages).collect(), status }
    }

    /// The log of this error could not be written.
    pub(crate) fn writing(error: FlowError) -> Self {
        match &error {
            FlowError::Log(log) if !error.is_broken_pipe() => match system_error(log) {
                Some((file, io)) => cannot("write", file, io),
                None => error.into(),
            },
            _ => error.into(),
        }
    }

    /// Nobody reads the output any more: a quiet end.
    fn quiet() -> Self {
        Self { messages: Vec::new(), status: 0 }
    }

    /// Whether nobody reads the output any more.
    pub(crate) fn is_quiet(&self) -> bool {
        self.status == 0
    }

    /// Prints the messages to standard error; gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        self.messages.iter().for_each(say);
        ExitCode::from(self.status)
    }
}

/// Prints one line to standard error, whatever is in the names that it holds. That nobody may read it is no reason to
/// end.
pub(crate) fn say(line: impl Display) {
    let line = line.to_string();
    let _ = writeln!(std::io::stderr(), "tacho: {}", visible(&line));
}

/// A failure of input or output: `FILE: cannot read: Permission denied`.
pub(crate) fn cannot(action: &str, file: &Path, error: &io::Error) -> Failure {
    Failure::work(cannot_text(action, file.display(), error))
}

/// The text of [`cannot`]. Errors that are not the operating system's are sentences already.
pub(crate) fn cannot_text(action: &str, file: impl Display, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(_) => format!("{file}: cannot {action}: {}", reason(error)),
        None => format!("{file}: {error}"),
    }
}

/// What the operating system says, without the number of the error.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})"));
    match number.and_then(|number| text.strip_suffix(&number)) {
        Some(reason) => reason.to_owned(),
        None => text,
    }
}

/// The file and the operating system's error of a log that could not be read or written. Other errors of input and output
/// are sentences already.
fn system_error(error: &LogError) -> Option<(&Path, &io::Error)> {
    let io = error.io_error().filter(|error| error.raw_os_error().is_some())?;
    Some((error.path()?, io))
}

/// A file cannot be made because nothing of its name can be there.
pub(crate) fn no_place(file: &Path) -> Failure {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = match folder.is_dir() {
        true => "files cannot be created in this folder; choose another",
        false => "its folder does not exist; make it first",
    };
    Failure::work(format!("{}: {why}", file.display()))
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
            error if error.is_broken_pipe() => Self::quiet(),
            FlowError::Output(io) => Self::work(format_args!("cannot write the output: {}", reason(io))),
            FlowError::Log(log) if log.is_over_budget() => {
                Self::work(format_args!("{error}; --max-memory MB allows more"))
            }
            error => Self::work(error),
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
