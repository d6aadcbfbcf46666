//! Why values could not be read, in words that are made once.

use std::io;
use std::sync::Arc;

/// The reasons that were met at one source, by the kernel's error number. An error that repeats allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Reasons(Vec<(i32, Arc<str>)>);

impl Reasons {
    /// The reason for an error of reading `what`, a path or a file's name.
    pub(crate) fn of(&mut self, error: &io::Error, what: impl std::fmt::Display) -> Arc<str> {
        let number = error.raw_os_error().unwrap_or_default();
        if let Some((_, reason)) = self.0.iter().find(|(known, _)| *known == number) {
            return Arc::clone(reason);
        }
        let reason: Arc<str> = format!("{what}: {error}").into();
        self.0.push((number, Arc::clone(&reason)));
        reason
    }
}
