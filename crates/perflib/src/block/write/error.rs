//! Why something cannot be written.

use std::fmt;

use crate::ErrorCode;
use crate::block::{MAX_BLOCK_BYTES, MAX_COUNTERS};

/// Why something cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// It would have more than [`MAX_BLOCK_BYTES`], or memory could not be had.
    TooLarge,
    /// There is no counter id, there are more than [`MAX_COUNTERS`], or one is the wildcard.
    Ids,
    /// An instance has not as many values as there are counter ids.
    Values {
        /// How many values were given.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// An error result was to have code 0.
    NoErrorCode,
    /// The performance counter's frequency is not above 0.
    NoFrequency,
}

impl WriteError {
    /// [`ErrorCode::OUT_OF_MEMORY`] for what is too large, else [`ErrorCode::INVALID_DATA`].
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
            Self::TooLarge => write!(f, "more than {MAX_BLOCK_BYTES} bytes, or more than memory can hold"),
            Self::Ids => {
                write!(f, "a result needs 1 to {MAX_COUNTERS} counter ids, none of them the wildcard")
            }
            Self::Values { found, expected } => write!(f, "{found} values where {expected} belong"),
            Self::NoErrorCode => f.write_str("an error result without an error"),
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
