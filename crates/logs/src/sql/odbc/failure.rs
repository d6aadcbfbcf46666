//! Errors of ODBC.

use std::io;

use odbc_api::Error;

use super::rows::MAX_TEXT;
use crate::LogError;

/// Maximum length of a driver's message in characters.
const MAX_MESSAGE: usize = 500;

/// Converts an error of ODBC; `source` is the data source that is being connected to.
pub(super) fn failed(error: Error, source: Option<&str>) -> LogError {
    match error {
        Error::Diagnostics { record, .. } => {
            let state = String::from_utf8_lossy(&record.state.0).into_owned();
            let text = message(&String::from_utf8_lossy(&record.message));
            let text = match (&*state, source) {
                ("IM002", Some(source)) => format!(
                    "no ODBC data source '{source}': add it to ~/.odbc.ini or /etc/odbc.ini, or use the path of an SQLite file that \
                     ends in .db, .sqlite or .sqlite3"
                ),
                (_, Some(source)) => {
                    format!("cannot connect to the ODBC data source '{source}': {text} ({state})")
                }
                (_, None) => format!("{text} ({state})"),
            };
            LogError::io(io::Error::other(text))
        }
        Error::TooLargeValueForBuffer { .. } => LogError::not_a_log(format!(
            "a text is longer than its column allows, or than {MAX_TEXT} characters"
        )),
        other => LogError::io(io::Error::other(format!("ODBC: {}", message(&other.to_string())))),
    }
}

/// A driver's message in one line, without the names of its components in brackets.
fn message(text: &str) -> String {
    let mut rest = text.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        rest = after.trim_start();
    }
    let words: Vec<&str> = rest.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.trim_end_matches([';', '.']).chars().take(MAX_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use odbc_api::handles::{Record, State};

    use super::*;

    fn diagnostics(state: &[u8; 5], text: &str) -> Error {
        let record = Record { state: State(*state), native_error: 0, message: text.as_bytes().to_vec() };
        Error::Diagnostics { record, function: "SQLConnect" }
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(
            failed(diagnostics(b"23505", "[x][y]ERROR: duplicate\nDETAIL:\u{1b}  Key;\n"), None).to_string(),
            "ERROR: duplicate DETAIL: Key (23505)"
        );
        assert_eq!(
            failed(diagnostics(b"08001", "could not connect"), Some("web")).to_string(),
            "cannot connect to the ODBC data source 'web': could not connect (08001)"
        );
        assert!(
            failed(diagnostics(b"IM002", "[x]Data"), Some("web"))
                .to_string()
                .starts_with("no ODBC data source 'web'")
        );
        assert_eq!(message(&"x".repeat(5000)).len(), MAX_MESSAGE);
        assert!(
            failed(Error::TooLargeValueForBuffer { indicator: None, buffer_index: 0 }, None).is_corrupt()
        );
    }
}
