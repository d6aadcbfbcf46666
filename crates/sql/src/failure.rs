//! Failures of the command, with messages for users.

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

use datafusion::common::{DataFusionError, SchemaError};
use tachograph_flow::FlowError;
use tachograph_logs::LogError;
use tachograph_logs::output_file::OutputError;
use tachograph_monitor::figures::escape_controls;

use crate::cluster;

/// Why the command failed: a message, and the exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    message: String,
    status: u8,
}

impl Failure {
    /// The command failed: exit status 1.
    pub(crate) fn runtime(message: impl Display) -> Self {
        Self { message: message.to_string(), status: 1 }
    }

    /// The arguments or the query are wrong: exit status 2.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), status: 2 }
    }

    /// The reader of the output closed the pipe: no message, exit status 0.
    pub(crate) fn closed_pipe() -> Self {
        Self { message: String::new(), status: 0 }
    }

    /// Ctrl-C, SIGTERM or SIGHUP: no message, exit status 128 plus the signal number, as in shells.
    pub(crate) fn interrupted(signal: i32) -> Self {
        Self { message: String::new(), status: u8::try_from(128 + signal).unwrap_or(1) }
    }

    /// An error of writing the result.
    pub(crate) fn of_output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::closed_pipe(),
            _ => Self::runtime(format!("cannot write the output: {}", tachograph_logs::io_error_text(error))),
        }
    }

    /// The message; empty if none should be printed.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// Prints the message to standard error; returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.message.is_empty() {
            notify(&self.message);
        }
        ExitCode::from(self.status)
    }

    /// An error of planning or running a query. `tables` has the names of the tables.
    pub(crate) fn of_query(error: &DataFusionError, tables: &[&str]) -> Self {
        let root = error.find_root();
        match root {
            DataFusionError::SQL(error, _) => {
                Self::usage(format!("the query is not valid SQL: {}", sql_error(error)))
            }
            DataFusionError::SchemaError(error, _) => Self::usage(schema_error(error)),
            DataFusionError::ResourcesExhausted(text) => Self::runtime(format!(
                "the query needs more memory than --memory allows: {}",
                text.lines().next().unwrap_or_default()
            )),
            DataFusionError::External(error) => Self::of_external(error.as_ref()),
            DataFusionError::ArrowError(error, _) => match error.as_ref() {
                datafusion::arrow::error::ArrowError::ExternalError(error) => {
                    Self::of_external(error.as_ref())
                }
                error => Self::runtime(error),
            },
            DataFusionError::Plan(text) => Self::usage(plan_error(text, tables)),
            DataFusionError::NotImplemented(text) if text.contains("a single SQL statement") => {
                Self::usage("a query is a single statement: remove everything after the first ';'")
            }
            DataFusionError::NotImplemented(text) => Self::usage(format!("not supported: {text}")),
            DataFusionError::Execution(text) | DataFusionError::Configuration(text) => {
                Self::runtime(cluster::message_in(text).unwrap_or_else(|| text.clone()))
            }
            DataFusionError::IoError(error) => Self::runtime(format!(
                "a temporary file could not be written: {}; choose another folder with --temp-folder",
                tachograph_logs::io_error_text(error)
            )),
            other => Self::runtime(other.strip_backtrace()),
        }
    }

    fn of_external(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Self {
        if let Some(error) = error.downcast_ref::<DataFusionError>() {
            return Self::of_query(error, &[]);
        }
        match error.downcast_ref::<FlowError>() {
            Some(error) => Self::of_flow(error),
            None => Self::runtime(error),
        }
    }

    /// An error of reading logs.
    fn of_flow(error: &FlowError) -> Self {
        match error {
            // `tacho sql` has no -b and -e.
            FlowError::SameMoment { first, second, at } => Self::runtime(format!(
                "{} and {} both contain a sample of the same machine at {at}: omit one of them, or copy separate time ranges \
                 of them with 'tacho relog -b ... -e ...'",
                first.display(),
                second.display()
            )),
            error => Self::runtime(error),
        }
    }
}

/// Prints a message to standard error.
pub(crate) fn notify(message: &str) {
    let message = message.replace('\t', "  ");
    let lines: Vec<_> = message.lines().map(escape_controls).collect();
    // Nothing can be done if standard error is closed.
    let _ = writeln!(std::io::stderr(), "tacho sql: {}", lines.join("\n"));
}

impl From<FlowError> for Failure {
    fn from(error: FlowError) -> Self {
        Self::of_flow(&error)
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error.is_existing() {
            true => Self::usage(format_args!("{error}: use -y to overwrite it, or another name")),
            false if error.is_wrong_name() => Self::usage(error),
            false => Self::runtime(error),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self::runtime(error)
    }
}

/// The text of a parser's error, without its kind.
fn sql_error(error: &datafusion::sql::sqlparser::parser::ParserError) -> String {
    use datafusion::sql::sqlparser::parser::ParserError;
    match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            text.replace(" at Line: 1, Column: ", " at column ")
        }
        ParserError::RecursionLimitExceeded => "it is nested too deeply".to_owned(),
    }
}

/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 40;

fn schema_error(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let mut names: Vec<&str> = Vec::new();
            for valid in valid_fields {
                if !names.contains(&valid.name()) {
                    names.push(valid.name());
                }
            }
            names.truncate(MAX_NAMES);
            let columns = match names.is_empty() {
                true => format!("there is no column '{}' here", field.name()),
                false => {
                    format!("there is no column '{}': the columns are {}", field.name(), names.join(", "))
                }
            };
            // The names of counters have blanks or capitals, those of columns do not.
            let is_column = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            match field.name().bytes().all(is_column) {
                true => columns,
                false => format!("{columns}; a text is written in single quotes: '{}'", field.name()),
            }
        }
        SchemaError::AmbiguousReference { field } => {
            format!("column '{}' is in several tables: write TABLE.{}", field.name(), field.name())
        }
        other => other.to_string(),
    }
}

fn plan_error(text: &str, tables: &[&str]) -> String {
    // DataFusion's refusals of statements that `SQLOptions` does not allow.
    if ["DDL", "DML", "Statement"].iter().any(|kind| text.starts_with(&format!("{kind} not supported"))) {
        return "only statements that read are supported: SELECT, DESCRIBE, SHOW and EXPLAIN".to_owned();
    }
    if text.starts_with("No SQL statements were provided") {
        return "the query is empty".to_owned();
    }
    if let Some(name) = text.strip_prefix("table '").and_then(|text| text.strip_suffix("' not found")) {
        let name = name.rsplit('.').next().unwrap_or(name);
        return format!("there is no table '{name}': the tables are {}", tables.join(", "));
    }
    text.to_owned()
}
