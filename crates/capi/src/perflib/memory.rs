//! The caller's memory: texts, GUIDs and buffers at its addresses.

#![allow(unsafe_code, reason = "pointers of C")]

use tachograph_perflib::{ErrorCode, Guid};

use super::Refusal;
use super::text::{MAX_UNITS, decode, too_long};

/// The text at an address, `None` at null.
///
/// # Safety
///
/// `text` is null or a text of 16-bit characters that ends with a zero or has [`MAX_UNITS`] characters.
pub(super) unsafe fn text_at(text: *const u16, argument: &str) -> Result<Option<String>, Refusal> {
    if text.is_null() {
        return Ok(None);
    }
    let mut units = Vec::new();
    for place in 0..MAX_UNITS {
        // SAFETY: no zero came before this place, so it belongs to the text, by the condition of this function. A text
        // inside of a block of C may stand at any address.
        match unsafe { text.add(place).read_unaligned() } {
            0 => return Ok(Some(decode(&units))),
            unit => units.push(unit),
        }
    }
    Err(too_long(argument))
}

/// The GUID at an address.
///
/// # Safety
///
/// `guid` is null or the address of a GUID.
pub(super) unsafe fn guid_at(guid: *const [u8; 16], argument: &str) -> Result<Guid, Refusal> {
    if guid.is_null() {
        return Err(Refusal::null(argument));
    }
    // SAFETY: not null, so a GUID is there, by the condition of this function; bytes have no alignment.
    Ok(Guid::from_bytes(unsafe { guid.read() }))
}

/// What the caller has at an address, copied: others may change it meanwhile.
///
/// # Safety
///
/// `bytes` is null or the address of `length` bytes.
pub(super) unsafe fn bytes_at(bytes: *const u8, length: usize, argument: &str) -> Result<Vec<u8>, Refusal> {
    if bytes.is_null() {
        return Err(Refusal::null(argument));
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(length).map_err(|_| ErrorCode::OUT_OF_MEMORY)?;
    // SAFETY: not null, so there are `length` bytes, by the condition of this function; the copy has room for as many, and
    // they are what it is made of then.
    unsafe {
        bytes.copy_to_nonoverlapping(copy.as_mut_ptr(), length);
        copy.set_len(length);
    }
    Ok(copy)
}

/// Writes a value to an address.
///
/// # Safety
///
/// `to` is null or has room for the value.
pub(super) unsafe fn put<T>(to: *mut T, value: T, argument: &str) -> Result<(), Refusal> {
    if to.is_null() {
        return Err(Refusal::null(argument));
    }
    // SAFETY: not null, so there is room, by the condition of this function.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes bytes to an address.
///
/// # Safety
///
/// `to` is null or has room for as many bytes.
pub(super) unsafe fn put_bytes(to: *mut u8, bytes: &[u8], argument: &str) -> Result<(), Refusal> {
    if to.is_null() {
        return Err(Refusal::null(argument));
    }
    // SAFETY: not null, so there is room, by the condition of this function. The bytes are the library's, so they do not
    // overlap the caller's room.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// A buffer of the caller: its room in items, and where the number of items that there are goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) to: *mut u8,
    pub(super) capacity: u32,
    pub(super) actual: *mut u32,
    /// The argument that `to` is, for errors.
    pub(super) argument: &'static str,
}

impl Room {
    /// Whether the pointers may be null as they are.
    ///
    /// # Errors
    ///
    /// Null for what is written in any case, or for a buffer that should have room.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.actual.is_null() {
            return Err(Refusal::null("for the size that there is"));
        }
        if self.to.is_null() && self.capacity != 0 {
            return Err(Refusal::null(self.argument));
        }
        Ok(())
    }

    /// Hands over what fits, as items of `item` bytes; [`ErrorCode::NOT_ENOUGH_MEMORY`] with the number that there are
    /// where they do not fit.
    ///
    /// # Safety
    ///
    /// `to` has room for `capacity` items where it is not null, `actual` for a number.
    pub(super) unsafe fn fill(&self, bytes: &[u8], item: usize) -> Result<(), Refusal> {
        self.check()?;
        let count = u32::try_from(bytes.len() / item).map_err(|_| ErrorCode::OUT_OF_MEMORY)?;
        // SAFETY: it was checked for null, and has room by the condition of this function.
        unsafe { put(self.actual, count, "for the size that there is")? };
        if count > self.capacity {
            return Err(ErrorCode::NOT_ENOUGH_MEMORY.into());
        }
        if count == 0 {
            return Ok(());
        }
        // SAFETY: there is room for `capacity` items by the condition of this function, and there are not more.
        unsafe { put_bytes(self.to, bytes, self.argument) }
    }
}
