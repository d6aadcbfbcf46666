//! Why a value of a process is missing.

use std::sync::Arc;

use rustix::io::Errno;

/// Why a file has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingReason {
    /// The user has no permission to read the file.
    Denied,
    /// The file has an unknown format.
    Malformed,
    /// Any other error.
    Unreadable,
}

impl MissingReason {
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
    unreadable: Arc<str>,
}

impl Reasons {
    pub(super) fn new(file: &str) -> Self {
        Self {
            denied: format!(
                "{file}: permission denied (requires the user of the process and all its capabilities)"
            )
            .into(),
            malformed: format!("{file}: unknown format").into(),
            unreadable: format!("{file}: cannot be read").into(),
        }
    }

    pub(super) fn text(&self, reason: MissingReason) -> &Arc<str> {
        match reason {
            MissingReason::Denied => &self.denied,
            MissingReason::Malformed => &self.malformed,
            MissingReason::Unreadable => &self.unreadable,
        }
    }
}
