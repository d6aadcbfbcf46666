//! Why a value of a process is missing.

use std::sync::Arc;

use rustix::io::Errno;

/// Why a file has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueError {
    /// The user has no permission to read the file.
    Denied,
    /// The file has an unknown format.
    Malformed,
    /// Any other error.
    Unreadable,
}

impl ValueError {
    pub(super) fn from_errno(error: Errno) -> Self {
        match error {
            Errno::ACCESS | Errno::PERM => Self::Denied,
            _ => Self::Unreadable,
        }
    }
}

/// The texts of the reasons for one file, allocated once.
#[derive(Debug)]
pub(super) struct Reasons {
    denied: Arc<str>,
    malformed: Arc<str>,
    unreadable_failure: Arc<str>,
}

impl Reasons {
    pub(super) fn new(file: &str) -> Self {
        Self {
            denied: format!(
                "{file}: permission denied (requires the user of the process and all its capabilities)"
            )
            .into(),
            malformed: format!("{file}: unknown format").into(),
            unreadable_failure: format!("{file}: cannot be read").into(),
        }
    }

    pub(super) fn text(&self, reason: ValueError) -> &Arc<str> {
        match reason {
            ValueError::Denied => &self.denied,
            ValueError::Malformed => &self.malformed,
            ValueError::Unreadable => &self.unreadable_failure,
        }
    }
}
