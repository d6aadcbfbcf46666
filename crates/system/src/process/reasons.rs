//! Why a value of a process could not be read.

use std::sync::Arc;

use rustix::io::Errno;

/// What is lacking of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// The kernel does not let this user read it.
    Refused,
    /// It holds something else than it should.
    Broken,
    /// It cannot be read for another reason.
    Unreadable,
}

impl Lack {
    pub(super) fn of(error: Errno) -> Self {
        match error {
            Errno::ACCESS | Errno::PERM => Self::Refused,
            _ => Self::Unreadable,
        }
    }
}

/// The reasons in words for one file, made once.
#[derive(Debug)]
pub(super) struct Reasons {
    refused: Arc<str>,
    broken: Arc<str>,
    unreadable: Arc<str>,
}

impl Reasons {
    pub(super) fn new(file: &str) -> Self {
        Self {
            refused: format!(
                "{file}: may not be read (it takes the same user and no fewer rights than the process has)"
            )
            .into(),
            broken: format!("{file}: not in the form that is known").into(),
            unreadable: format!("{file}: cannot be read").into(),
        }
    }

    pub(super) fn of(&self, lack: Lack) -> &Arc<str> {
        match lack {
            Lack::Refused => &self.refused,
            Lack::Broken => &self.broken,
            Lack::Unreadable => &self.unreadable,
        }
    }
}
