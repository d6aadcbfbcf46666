//! Errors of writers.

use std::fmt;

use crate::ErrorCode;
use crate::block::{MAX_BLOCK_BYTES, MAX_COUNTERS};

/// The reason that data cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The data exceeds [`MAX_BLOCK_BYTES`], or memory is exhausted.
    TooLarge,
    /// No counter id, more than [`MAX_COUNTERS`], or the wildcard.
    Ids,
    /// The number of an instance's values differs from the number of counter ids.
    Values {
        /// The number of values.
        found: usize,
        /// The number of counter ids.
        expected: usize,
    },
    /// An error result with code 0.
    NoErrorCode,
    /// The frequency of the performance counter is not above 0.
    NoFrequency,
}

impl WriteError {
    /// [`ErrorCode::OUT_OF_MEMORY`] for [`TooLarge`](Self::TooLarge), otherwise [`ErrorCode::INVALID_DATA`].
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::TooLarge => ErrorCode::OUT_OF_MEMORY,
            _ => ErrorCode::INVALID_DATA,
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(f, "the data exceeds {MAX_BLOCK_BYTES} bytes, or memory is exhausted"),
            Self::Ids => {
                write!(f, "a result needs 1 to {MAX_COUNTERS} counter ids, none of them the wildcard")
            }
            Self::Values { found, expected } => {
                write!(f, "an instance has {found} values, expected {expected}")
            }
            Self::NoErrorCode => f.write_str("an error result needs a code other than 0"),
            Self::NoFrequency => f.write_str("the frequency of the performance counter is not positive"),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<WriteError> for ErrorCode {
    fn from(error: WriteError) -> Self {
        error.code()
    }
}
