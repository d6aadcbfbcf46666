//! Why an export cannot start.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an export cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The folder of the queue, or a file in it, cannot be created, opened or read.
    Queue(PathBuf, io::Error),
    /// Another process sends from the same queue.
    QueueInUse(PathBuf),
    /// The CA certificates cannot be used.
    Certificates(String),
    /// The counters cannot be queried.
    Counters(tachograph_perflib::ErrorCode),
    /// The sender thread cannot be started.
    Thread(io::Error),
}

impl ExportError {
    pub(crate) fn queue(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Queue(path, error)
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(path, error) => write!(f, "{}: {error}", path.display()),
            Self::QueueInUse(path) => {
                let path = path.display();
                write!(f, "{path}: another process sends from this queue; stop it, or use another folder")
            }
            Self::Certificates(reason) => f.write_str(reason),
            Self::Counters(code) => code.fmt(f),
            Self::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Queue(_, error) | Self::Thread(error) => Some(error),
            Self::Counters(code) => Some(code),
            Self::QueueInUse(_) | Self::Certificates(_) => None,
        }
    }
}
