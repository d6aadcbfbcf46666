//! Calls functions that fill a buffer or return the size that they need.

use crate::ErrorCode;

/// Maximum size of a block: 1 GiB.
///
/// Source: the limit for counter data in \[MS-PCQ\].
pub const MAX_BLOCK_BYTES: usize = 1 << 30;

/// Maximum number of calls for one block. The data can grow between calls.
pub const MAX_CALLS: usize = 16;

/// Why a call did not fill the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The buffer is too small ([`ErrorCode::NOT_ENOUGH_MEMORY`]); the necessary size in bytes.
    TooSmall(usize),
    /// Any other error.
    Failed(ErrorCode),
}

/// Calls a function, growing the buffer until the function's data fits, and returns the data.
///
/// The buffer is first extended to its capacity. `call` gets the whole buffer and returns the number of bytes written.
/// The buffer keeps its size, so the first call for the next block usually succeeds.
///
/// # Errors
///
/// The function's own error code; [`ErrorCode::INVALID_DATA`] if the function needs more than [`MAX_BLOCK_BYTES`],
/// returns a number larger than the buffer, or does not succeed within [`MAX_CALLS`] calls;
/// [`ErrorCode::OUT_OF_MEMORY`].
///
/// ```
/// use tachograph_perflib::block::{CallError, grow_and_retry};
///
/// let source = [1, 2, 3];
/// let mut buffer = Vec::new();
/// let written = grow_and_retry(&mut buffer, |room| {
///     room.get_mut(..3).ok_or(CallError::TooSmall(3))?.copy_from_slice(&source);
///     Ok(3)
/// })?;
/// assert_eq!(written, source);
/// # Ok::<(), tachograph_perflib::ErrorCode>(())
/// ```
pub fn grow_and_retry(
    buffer: &mut Vec<u8>,
    mut call: impl FnMut(&mut [u8]) -> Result<usize, CallError>,
) -> Result<&[u8], ErrorCode> {
    buffer.resize(buffer.capacity().min(MAX_BLOCK_BYTES), 0);
    for _ in 0..MAX_CALLS {
        match call(buffer) {
            Ok(written) => return buffer.get(..written).ok_or(ErrorCode::INVALID_DATA),
            Err(CallError::Failed(code)) => return Err(code),
            Err(CallError::TooSmall(bytes)) if bytes <= MAX_BLOCK_BYTES => {
                // If the buffer already has this size, the data has shrunk in the meantime: call again.
                let more = bytes.saturating_sub(buffer.len());
                buffer.try_reserve(more).map_err(|_| ErrorCode::OUT_OF_MEMORY)?;
                buffer.resize(buffer.len() + more, 0);
            }
            Err(CallError::TooSmall(_)) => return Err(ErrorCode::INVALID_DATA),
        }
    }
    Err(ErrorCode::INVALID_DATA)
}
