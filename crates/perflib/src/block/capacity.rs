//! The size protocol of the functions that fill a caller's buffer.

use crate::ErrorCode;

/// How large a block can be, in bytes: 1 GiB.
///
/// Source: the limit of counter data in \[MS-PCQ\].
pub const MAX_BLOCK_BYTES: usize = 1 << 30;

/// How often a function is called for one block. The data may have grown when the larger buffer comes, but not for ever.
pub const MAX_CALLS: usize = 16;

/// Why a function did not fill the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The buffer is too small ([`ErrorCode::NOT_ENOUGH_MEMORY`]): so many bytes are needed.
    Needs(usize),
    /// Any other reason.
    Failed(ErrorCode),
}

/// Calls a function that fills a buffer, with larger buffers until what it has fits; gives what was written (rule D8).
///
/// `call` gets the whole buffer, at first as large as its capacity is already, and says how many bytes it wrote. The
/// buffer keeps its size for the next time.
///
/// # Errors
///
/// The function's own code; [`ErrorCode::INVALID_DATA`] where it asks for more than [`MAX_BLOCK_BYTES`], says that it
/// wrote more than there is room for, or is not content after [`MAX_CALLS`] calls; [`ErrorCode::OUT_OF_MEMORY`].
///
/// ```
/// use tachograph_perflib::block::{Refused, grow_and_retry};
///
/// let source = [1, 2, 3];
/// let mut buffer = Vec::new();
/// let written = grow_and_retry(&mut buffer, |room| {
///     room.get_mut(..3).ok_or(Refused::Needs(3))?.copy_from_slice(&source);
///     Ok(3)
/// })?;
/// assert_eq!(written, source);
/// # Ok::<(), tachograph_perflib::ErrorCode>(())
/// ```
pub fn grow_and_retry(
    buffer: &mut Vec<u8>,
    mut call: impl FnMut(&mut [u8]) -> Result<usize, Refused>,
) -> Result<&[u8], ErrorCode> {
    buffer.resize(buffer.capacity().min(MAX_BLOCK_BYTES), 0);
    for _ in 0..MAX_CALLS {
        match call(buffer) {
            Ok(written) => return buffer.get(..written).ok_or(ErrorCode::INVALID_DATA),
            Err(Refused::Failed(code)) => return Err(code),
            Err(Refused::Needs(bytes)) if bytes <= MAX_BLOCK_BYTES => {
                // Where no more is needed than there was, the data has shrunk since: it is asked for again.
                let more = bytes.saturating_sub(buffer.len());
                buffer.try_reserve(more).map_err(|_| ErrorCode::OUT_OF_MEMORY)?;
                buffer.resize(buffer.len() + more, 0);
            }
            Err(Refused::Needs(_)) => return Err(ErrorCode::INVALID_DATA),
        }
    }
    Err(ErrorCode::INVALID_DATA)
}
