//! The errors of a pipeline.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tachograph_logs::{LogError, io_error_text};

/// Why a pipeline stopped.
#[derive(Debug)]
pub enum FlowError {
    /// A log could not be read or written.
    Log(LogError),
    /// Two logs have samples of the same machine and moment that have a counter in common.
    SameMoment {
        /// The first log.
        first: PathBuf,
        /// The second log.
        second: PathBuf,
        /// The moment, in RFC 3339 format.
        at: String,
    },
    /// The output could not be written.
    Output(io::Error),
    /// There are more counters (counting each instance) than statistics can be kept for.
    TooManyCounters {
        /// The maximum.
        max: usize,
    },
    /// A sample has groups that the first sample did not have. A [`Union`](crate::Union) with a
    /// [`UnionScan`](crate::UnionScan) of all samples avoids this.
    NewGroups,
    /// Cancelled by the consumer.
    Stopped,
}

impl FlowError {
    /// Whether the output is a pipe whose reader has closed it.
    pub fn is_broken_pipe(&self) -> bool {
        let io = match self {
            Self::Log(error) => error.io_error(),
            Self::Output(error) => Some(error),
            _ => None,
        };
        io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<LogError> for FlowError {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl fmt::Display for FlowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => write!(f, "{error}"),
            Self::SameMoment { first, second, at } => write!(
                f,
                "{} and {} both contain a sample of the same machine at {at}: omit one of them, or select separate time \
                 ranges of them with -b and -e",
                first.display(),
                second.display()
            ),
            Self::Output(error) => {
                write!(f, "the output could not be written: {}", io_error_text(error))
            }
            Self::TooManyCounters { max } => {
                write!(f, "more than {max} counters (counting each instance); select fewer with -c")
            }
            Self::NewGroups => f.write_str("a later sample of the log has counters that the first one lacks"),
            Self::Stopped => f.write_str("stopped before the end"),
        }
    }
}

impl std::error::Error for FlowError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Log(error) => Some(error),
            Self::Output(error) => Some(error),
            _ => None,
        }
    }
}
