//! Access to the caller's memory: strings, GUIDs and buffers.

#![allow(unsafe_code, reason = "C pointers")]

use tachograph_perflib::{ErrorCode, Guid};

use super::ApiError;

/// The maximum length of a machine's or an instance's name, in UTF-16 units including the terminating NUL.
///
/// Source: `PERF_MAX_INSTANCE_NAME` of perflib.h.
const MAX_UNITS: usize = 1024;

/// Reads a UTF-16 string; `None` if the pointer is null. Unpaired surrogates are replaced.
///
/// # Safety
///
/// `text` is null, is NUL-terminated, or has [`MAX_UNITS`] units.
pub(super) unsafe fn read_text(text: *const u16, argument: &str) -> Result<Option<String>, ApiError> {
    if text.is_null() {
        return Ok(None);
    }
    let mut units = Vec::new();
    for index in 0..MAX_UNITS {
        // SAFETY: no unit before this index is NUL, so this unit belongs to the string, by this function's safety
        // contract. A string within a C structure may be unaligned.
        match unsafe { text.add(index).read_unaligned() } {
            0 => return Ok(Some(String::from_utf16_lossy(&units))),
            unit => units.push(unit),
        }
    }
    Err(ApiError::argument(format!(
        "The argument {argument} has more than {} UTF-16 units, or is not NUL-terminated.",
        MAX_UNITS - 1
    )))
}

/// Reads a GUID.
///
/// # Safety
///
/// `guid` is null or points to a GUID.
pub(super) unsafe fn read_guid(guid: *const [u8; 16], argument: &str) -> Result<Guid, ApiError> {
    if guid.is_null() {
        return Err(ApiError::null(argument));
    }
    // SAFETY: not null, so it points to a GUID, by this function's safety contract; bytes need no alignment.
    Ok(Guid::from_bytes(unsafe { guid.read() }))
}

/// Copies bytes from the caller's memory, so that later changes by other threads of the program have no effect.
///
/// # Safety
///
/// `bytes` is null or points to `length` bytes.
pub(super) unsafe fn read_bytes(
    bytes: *const u8,
    length: usize,
    argument: &str,
) -> Result<Vec<u8>, ApiError> {
    if bytes.is_null() {
        return Err(ApiError::null(argument));
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(length).map_err(|_| ErrorCode::OUT_OF_MEMORY)?;
    // SAFETY: not null, so there are `length` bytes, by this function's safety contract; `copy` has capacity for them,
    // and they are initialized before `set_len`.
    unsafe {
        bytes.copy_to_nonoverlapping(copy.as_mut_ptr(), length);
        copy.set_len(length);
    }
    Ok(copy)
}

/// Writes a value to the caller's memory.
///
/// # Safety
///
/// `to` is null or has room for the value.
pub(super) unsafe fn write<T>(to: *mut T, value: T, argument: &str) -> Result<(), ApiError> {
    if to.is_null() {
        return Err(ApiError::null(argument));
    }
    // SAFETY: not null, so there is room, by this function's safety contract.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes bytes to the caller's memory.
///
/// # Safety
///
/// `to` is null or has room for the bytes.
pub(super) unsafe fn write_bytes(to: *mut u8, bytes: &[u8], argument: &str) -> Result<(), ApiError> {
    if to.is_null() {
        return Err(ApiError::null(argument));
    }
    // SAFETY: not null, so there is room, by this function's safety contract. The bytes belong to the library, so they
    // do not overlap the caller's buffer.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Describes the argument that contains [`OutputBuffer::actual`], in "The argument ... is a null pointer". Each function has
/// another name for it.
const ACTUAL: &str = "for the actual size";

/// A buffer of the caller: its capacity in items, and the address to which the number of items is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputBuffer {
    pub(super) start: *mut u8,
    pub(super) capacity: u32,
    pub(super) actual: *mut u32,
    /// The name of the argument that contains `start`, for messages.
    pub(super) argument: &'static str,
}

impl OutputBuffer {
    /// Checks the pointers.
    ///
    /// # Errors
    ///
    /// A null pointer for `actual`, or for `start` if the capacity is not 0.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        if self.actual.is_null() {
            return Err(ApiError::null(ACTUAL));
        }
        if self.start.is_null() && self.capacity != 0 {
            return Err(ApiError::null(self.argument));
        }
        Ok(())
    }

    /// Writes the number of items, each of `item_bytes` bytes, and the items if they fit.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::NOT_ENOUGH_MEMORY`] if the items do not fit.
    ///
    /// # Safety
    ///
    /// `start` is null or has room for `capacity` items; `actual` is null or has room for a number.
    pub(super) unsafe fn fill(&self, bytes: &[u8], item_bytes: usize) -> Result<(), ApiError> {
        self.check()?;
        let count = u32::try_from(bytes.len() / item_bytes).map_err(|_| ErrorCode::OUT_OF_MEMORY)?;
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { write(self.actual, count, ACTUAL)? };
        if count > self.capacity {
            return Err(ErrorCode::NOT_ENOUGH_MEMORY.into());
        }
        if count == 0 {
            return Ok(());
        }
        // SAFETY: there is room for `capacity` items by this function's safety contract, and `bytes` contains no more than that.
        unsafe { write_bytes(self.start, bytes, self.argument) }
    }
}
