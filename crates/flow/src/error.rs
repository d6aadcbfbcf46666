//! Why a pipeline stopped.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tachograph_logs::LogError;

/// Why a pipeline stopped.
#[derive(Debug)]
pub enum FlowError {
    /// A log could not be read or written.
    Log(LogError),
    /// Two logs of one machine hold samples of the same moment.
    SameMoment {
        /// The first log.
        first: PathBuf,
        /// The second log.
        second: PathBuf,
        /// The moment, as people read it.
        at: String,
    },
    /// The output could not be written.
    Output(io::Error),
    /// There are more counters of instances than statistics are kept of.
    TooManyCounters {
        /// How many there may be.
        most: usize,
    },
    /// Groups came that the first sample did not have; a [`Union`](crate::Union) over a scan has them.
    NewGroups,
    /// Who asked for the samples has no use for them any more.
    Stopped,
}

impl FlowError {
    /// Whether the reader at the other end of a pipe went away.
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
                "{} and {} both hold a sample of the same machine at {at}: leave one of them out, or cut them apart \
                 with -b and -e",
                first.display(),
                second.display()
            ),
            Self::Output(error) => write!(f, "the output could not be written: {error}"),
            Self::TooManyCounters { most } => {
                write!(f, "more than {most} counters of instances; select some of them with -c")
            }
            Self::NewGroups => f.write_str("the log's counters changed on the way"),
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
