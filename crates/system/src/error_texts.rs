//! Texts of system errors.

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use tachograph_counters::io_error_text;
use tachograph_perflib::{ErrorCode, Failure};

/// The texts of a source's errors, by error number, kept so that a repeated error allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct ErrorTexts(Vec<(i32, Arc<str>)>);

impl ErrorTexts {
    /// The text of an error while reading `what`, a path or file name.
    pub(crate) fn get(&mut self, error: &io::Error, what: impl Display) -> Arc<str> {
        let code = error.raw_os_error().unwrap_or_default();
        if let Some((_, text)) = self.0.iter().find(|(known, _)| *known == code) {
            return Arc::clone(text);
        }
        let text: Arc<str> = error_text(what, error).into();
        self.0.push((code, Arc::clone(&text)));
        text
    }
}

/// The last reason for a missing value, kept so that a repeated reason is not allocated again.
#[derive(Debug, Default)]
pub(crate) struct LastReason(Option<Arc<str>>);

impl LastReason {
    /// Keeps this text as the last reason, and returns it.
    pub(crate) fn intern(&mut self, text: &str) -> &Arc<str> {
        if self.0.as_deref() != Some(text) {
            self.0 = None;
        }
        self.0.get_or_insert_with(|| text.into())
    }

    /// The last reason, if there was one.
    pub(crate) fn last(&self) -> Option<&Arc<str>> {
        self.0.as_ref()
    }
}

/// `what` and the text of an error, without the error number.
pub(crate) fn error_text(what: impl Display, error: &io::Error) -> String {
    format!("{what}: {}", io_error_text(error))
}

/// The failure of a counter set whose source cannot be read.
pub(crate) fn unreadable_failure(what: impl Display, error: &io::Error) -> Failure {
    Failure::new(ErrorCode::NO_DATA, error_text(what, error))
}
