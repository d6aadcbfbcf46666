//! Failures of the command, with messages for users.

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use datafusion::arrow::error::ArrowError;
use datafusion::common::utils::datafusion_strsim::levenshtein;
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
        Self::of_batch(error, tables, None)
    }

    /// An error of running a query that writes its temporary files into a folder; `None` if other processes write them.
    pub(crate) fn of_batch(error: &DataFusionError, tables: &[&str], temp_folder: Option<&Path>) -> Self {
        let root = error.find_root();
        if let Some(error) = temp_file_error(root) {
            let folder = temp_folder.map(|folder| format!("{}: ", folder.display())).unwrap_or_default();
            return Self::runtime(format!(
                "{folder}a temporary file could not be written: {}; choose another folder with --temp-folder",
                tachograph_logs::io_error_text(error)
            ));
        }
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
                ArrowError::ExternalError(error) => Self::of_external(error.as_ref()),
                ArrowError::ParseError(text) | ArrowError::CastError(text) => {
                    Self::runtime(conversion_error(text).unwrap_or_else(|| text.clone()))
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
            DataFusionError::Internal(text) => {
                let text = text.lines().next().unwrap_or_default();
                Self::runtime(format!("the SQL engine failed, which is a bug: {text}"))
            }
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

/// The error of a temporary file: the only files that DataFusion opens.
fn temp_file_error(error: &DataFusionError) -> Option<&std::io::Error> {
    let error = match error {
        DataFusionError::IoError(error) => error,
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::IoError(_, error) => error,
            _ => return None,
        },
        _ => return None,
    };
    // The writer of temporary files is DataFusion's, so the error of the system can be in one of DataFusion.
    match error.get_ref().and_then(|inner| inner.downcast_ref::<DataFusionError>()) {
        Some(inner) => temp_file_error(inner.find_root()).or(Some(error)),
        None => Some(error),
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
    function_error(text).or_else(|| group_error(text)).unwrap_or_else(|| text.to_owned())
}

/// The text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found)
}

/// The message for a text that is not of the type to which the query converts it, such as a time.
fn conversion_error(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("Error parsing timestamp from '") {
        let (value, cause) = rest.rsplit_once("': ")?;
        return Some(match cause {
            "error computing timezone offset" => {
                format!(
                    "'{value}' exists twice or not at all in its time zone: add the offset, such as +01:00"
                )
            }
            _ => format!(
                "'{value}' is not a time: write '2026-11-27 00:43:00', '2026-11-27T00:43:00+01:00' or '2026-11-27'"
            ),
        });
    }
    let (value, data_type) = text.strip_prefix("Cannot cast string '")?.rsplit_once("' to value of ")?;
    Some(match data_type.strip_suffix(" type")? {
        "Date32" | "Date64" => format!("'{value}' is not a date: write '2026-11-27'"),
        "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" | "UInt64" => {
            format!("'{value}' is not an integer")
        }
        "Float16" | "Float32" | "Float64" => format!("'{value}' is not a number"),
        data_type => format!("'{value}' cannot be converted to {data_type}"),
    })
}

/// The message for a function that does not exist, or has other arguments.
fn function_error(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("Invalid function '") {
        let (name, rest) = rest.split_once('\'')?;
        let lower = name.to_ascii_lowercase();
        let is_percentile = lower.contains("percentile")
            || lower.contains("quantile")
            || lower.strip_prefix('p').is_some_and(|rest| rest.parse::<u32>().is_ok());
        let hint = match between(rest, "Did you mean '", "'?") {
            _ if is_percentile => {
                ": a 95th percentile is percentile_cont(0.95) WITHIN GROUP (ORDER BY COLUMN)".to_owned()
            }
            Some(similar) if levenshtein(&lower, similar) <= lower.len() / 3 => {
                format!("; did you mean '{similar}'?")
            }
            _ => ": SHOW FUNCTIONS lists all".to_owned(),
        };
        return Some(format!("there is no function '{name}'{hint}"));
    }
    // The function has a message of its own.
    if let Some((_, rest)) = text.split_once("coercion failed with: Error during planning: ") {
        return rest.split_once(". No function matches").map(|(message, _)| message.to_owned());
    }
    let call = between(text, "No function matches the given name and argument types '", "'. You might")?;
    let (_, candidates) = text.split_once("Candidate functions:\n")?;
    let candidates: Vec<&str> = candidates.lines().map(str::trim).collect();
    let name = call.split('(').next().unwrap_or(call);
    Some(format!("function '{name}' has other arguments: {}, not {call}", candidates.join(" or ")))
}

/// The message for a column that is neither grouped nor aggregated.
fn group_error(text: &str) -> Option<String> {
    let clause = between(text, "Column in ", " must be in GROUP BY")?;
    let column = between(text, "While expanding wildcard, column \"", "\" must appear in the GROUP BY")?;
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let name = match column.split_once('.') {
        Some((table, name)) if is_name(table) && is_name(name) => name,
        _ => column,
    };
    Some(format!(
        "{clause}: '{name}' is neither in GROUP BY nor in an aggregate function: add it to GROUP BY, or write max({name})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_temporary_files_name_the_folder() {
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let spilled =
            |error| DataFusionError::ArrowError(Box::new(ArrowError::IoError(String::new(), error)), None);
        let nested = std::io::Error::other(DataFusionError::IoError(full()));
        let errors = [DataFusionError::IoError(full()), spilled(full()), spilled(nested)];
        for error in errors {
            let message = |folder| Failure::of_batch(&error, &[], folder).message().to_owned();
            let cause = tachograph_logs::io_error_text(&full());
            assert_eq!(
                message(Some(Path::new("/scratch"))),
                format!(
                    "/scratch: a temporary file could not be written: {cause}; choose another folder with --temp-folder"
                )
            );
            assert!(Failure::of_query(&error, &[]).message().starts_with("a temporary file could not be"));
        }
    }

    #[test]
    fn conversions_that_fail_name_a_format() {
        let message = |text: &str| conversion_error(text).expect("a message");
        let dst = "Error parsing timestamp from '2026-03-29 02:30:00': error computing timezone offset";
        assert!(message(dst).starts_with("'2026-03-29 02:30:00' exists twice or not at all"));
        assert_eq!(
            message("Cannot cast string '2010' to value of Date32 type"),
            "'2010' is not a date: write '2026-11-27'"
        );
        assert_eq!(message("Cannot cast string 'it's' to value of Int64 type"), "'it's' is not an integer");
        assert_eq!(message("Cannot cast string 'x' to value of Float64 type"), "'x' is not a number");
        assert_eq!(conversion_error("Something else"), None);
    }
}
