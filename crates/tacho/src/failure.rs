//! Why a command ended without doing its work, and with which exit status.

use std::fmt::Display;
use std::io::Write as _;
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

/// A file cannot be made because nothing of its name can be there.
pub(crate) fn no_place(file: &Path) -> Failure {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = match folder.is_dir() {
        true => "no file can be made in this folder; give another one",
        false => "its folder does not exist; make it first",
    };
    Failure::work(format!("{}: {why}", file.display()))
}

impl From<FlowError> for Failure {
    fn from(error: FlowError) -> Self {
        match &error {
            error if error.is_broken_pipe() => Self::quiet(),
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

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        FlowError::Output(error).into()
    }
}
