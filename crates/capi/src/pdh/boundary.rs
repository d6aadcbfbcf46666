//! The types of pointer arguments of the functions of pdh.h.
//!
//! Each type is a `repr(transparent)` wrapper of a pointer, so C can pass the pointer itself. A null pointer for a required
//! argument is `PDH_INVALID_ARGUMENT`; for an optional output, nothing is written. Pointers may be unaligned.

#![allow(unsafe_code, reason = "C pointers")]

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;

use tachograph_pdh::{PdhStatus, Result};

use super::character::Character;
use super::objects::Handle;
use super::structures::{
    FileTimeHalves, FormattedBlock, PathElementsBlock, RawCounterBlock, StatisticsBlock, TimeInfoBlock,
};

/// The maximum length of a string or list in characters. Usually catches strings that are not terminated.
const MAX_CHARACTERS: usize = 1 << 20;

/// A type that can be copied from and to a program's memory.
///
/// # Safety
///
/// Any bit pattern is a valid value.
pub(super) unsafe trait Plain: Copy {}

// SAFETY: this type and those below consist of numbers and pointers, for which any bits are a valid value.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for i64 {}
// SAFETY: as above.
unsafe impl Plain for Handle {}
// SAFETY: as above.
unsafe impl Plain for FileTimeHalves {}
// SAFETY: as above.
unsafe impl Plain for RawCounterBlock {}
// SAFETY: as above.
unsafe impl Plain for FormattedBlock {}
// SAFETY: as above.
unsafe impl Plain for StatisticsBlock {}
// SAFETY: as above.
unsafe impl Plain for TimeInfoBlock {}
// SAFETY: as above.
unsafe impl<C: Character> Plain for PathElementsBlock<C> {}

/// A NUL-terminated string, or null. The program guarantees that the string is terminated, and does not change during the
/// call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<C>(*const C);

/// The number of characters before the first `nuls` consecutive NUL characters.
///
/// # Safety
///
/// `start` points to characters that contain such a sequence.
unsafe fn length_before_nuls<C: Character>(start: *const C, nuls: usize) -> Result<usize> {
    let mut consecutive_nuls = 0;
    for index in 0..MAX_CHARACTERS {
        // SAFETY: the end was not reached, so by this function's safety contract this character exists.
        let is_nul = unsafe { start.add(index).read_unaligned() }.is_nul();
        consecutive_nuls = if is_nul { consecutive_nuls + 1 } else { 0 };
        if consecutive_nuls == nuls {
            return Ok(index + 1 - nuls);
        }
    }
    Err(PdhStatus::INVALID_ARGUMENT)
}

/// Copies `count` values.
///
/// # Safety
///
/// `start` points to `count` values.
unsafe fn copy_in<T: Plain>(start: *const T, count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
    for index in 0..count {
        // SAFETY: by this function's safety contract; any bits are a valid value.
        values.push(unsafe { start.add(index).read_unaligned() });
    }
    Ok(values)
}

impl<C: Character + Plain> Text<C> {
    /// The characters; `None` for null.
    fn characters(self) -> Result<Option<Vec<C>>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, so it is a NUL-terminated string: the program guarantees it.
        unsafe { copy_in(self.0, length_before_nuls(self.0, 1)?) }.map(Some)
    }

    /// The string; `None` for null.
    pub(super) fn optional(self) -> Result<Option<String>> {
        Ok(self.characters()?.map(|characters| C::decode(&characters)))
    }

    /// The string; an error for null.
    pub(super) fn get(self) -> Result<String> {
        self.optional()?.ok_or(PdhStatus::INVALID_ARGUMENT)
    }

    /// The string as a file name; `None` for null.
    pub(super) fn optional_path(self) -> Result<Option<PathBuf>> {
        Ok(self.characters()?.map(|characters| C::path(&characters)))
    }
}

/// A list of NUL-terminated strings, followed by one more NUL; or null. The program gives the same guarantees as for
/// [`Text`].
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct TextList<C>(*const C);

impl<C: Character + Plain> TextList<C> {
    /// The strings as file names; `None` for null.
    pub(super) fn optional_paths(self) -> Result<Option<Vec<PathBuf>>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, so it is a terminated list: the program guarantees it. A single NUL is an empty list, and
        // nothing after it is read.
        let characters = unsafe {
            if self.0.read_unaligned().is_nul() {
                Vec::new()
            } else {
                copy_in(self.0, length_before_nuls(self.0, 2)?)?
            }
        };
        let names = characters.split(|character| character.is_nul());
        Ok(Some(names.filter(|name| !name.is_empty()).map(C::path).collect()))
    }
}

/// A pointer to a value that is read, or null. The program guarantees that the value exists.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct In<T>(*const T);

impl<T: Plain> In<T> {
    /// The value.
    pub(super) fn get(self) -> Result<T> {
        self.optional().ok_or(PdhStatus::INVALID_ARGUMENT)
    }

    /// The value; `None` for null.
    pub(super) fn optional(self) -> Option<T> {
        // SAFETY: not null, so the value exists: the program guarantees it; any bits are a valid value.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// An array of `count` values.
    pub(super) fn array(self, count: u32) -> Result<Vec<T>> {
        if self.0.is_null() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        // SAFETY: not null, so the array has `count` values: the program guarantees it.
        unsafe { copy_in(self.0, count as usize) }
    }
}

/// A pointer to memory that is written (some functions read it first), or null. The program guarantees its size.
#[repr(transparent)]
#[derive(Debug)]
pub(super) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Returns an error for null.
    pub(super) fn check(self) -> Result<Self> {
        if self.0.is_null() { Err(PdhStatus::INVALID_ARGUMENT) } else { Ok(self) }
    }

    /// The address, for pointers into the program's buffer.
    pub(super) fn address(self) -> usize {
        self.0.expose_provenance()
    }
}

impl<T: Plain> Out<T> {
    /// The current value.
    pub(super) fn get(self) -> Result<T> {
        In(self.0.cast_const()).get()
    }

    /// Writes the value, unless the pointer is null.
    pub(super) fn set(self, value: T) {
        self.set_all(&[value]);
    }

    /// Writes values one after the other, unless the pointer is null. The type of the argument guarantees space for one value.
    /// For several values, the caller must have checked the size that the program passed.
    pub(super) fn set_all(self, values: &[T]) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: not null, so there is space for the values: the program guarantees it. The values are in the library's
        // memory, so they do not overlap the program's; bytes need no alignment.
        unsafe {
            self.0.cast::<u8>().copy_from_nonoverlapping(values.as_ptr().cast::<u8>(), size_of_val(values));
        }
    }
}

/// Duplicates a file descriptor.
pub(super) fn duplicate(descriptor: i32) -> io::Result<File> {
    // SAFETY: the call accepts any number, and fails if it is not a descriptor.
    let duplicate = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
    if duplicate < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has just returned this descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(duplicate) }.into())
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;

    #[test]
    fn a_null_pointer_is_an_invalid_argument() {
        assert_eq!(Text::<u16>(null()).get(), Err(PdhStatus::INVALID_ARGUMENT));
        assert_eq!(Text::<u8>(null()).optional(), Ok(None));
        assert_eq!(TextList::<u8>(null()).optional_paths(), Ok(None));
        assert_eq!(In::<u32>(null()).get(), Err(PdhStatus::INVALID_ARGUMENT));
        assert_eq!(In::<u32>(null()).array(0), Err(PdhStatus::INVALID_ARGUMENT));
        assert!(Out::<u32>(null_mut()).check().is_err() && Out::<u32>(null_mut()).get().is_err());
        Out::<u32>(null_mut()).set(1);
    }

    #[test]
    fn a_list_ends_at_two_nuls_and_an_empty_list_at_the_first() {
        let paths =
            |bytes: &[u8]| TextList(bytes.as_ptr()).optional_paths().expect("a list").expect("not null");
        assert_eq!(paths(b"a\0bc\0\0d\0\0"), [PathBuf::from("a"), PathBuf::from("bc")]);
        assert!(paths(b"\0").is_empty());
        let wide = [0x61_u16, 0, 0];
        let paths = TextList(wide.as_ptr()).optional_paths().expect("a list");
        assert_eq!(paths, Some(vec![PathBuf::from("a")]));
    }

    #[test]
    fn an_unterminated_string_is_an_error() {
        let unterminated = vec![b'a'; MAX_CHARACTERS];
        assert_eq!(Text(unterminated.as_ptr()).get(), Err(PdhStatus::INVALID_ARGUMENT));
    }

    #[test]
    fn pointers_may_be_unaligned() {
        let mut bytes = [0_u8; 64];
        for start in 0..8 {
            let raw: *mut RawCounterBlock = bytes[start..].as_mut_ptr().cast();
            Out(raw).set(RawCounterBlock { first: 7, multi_count: 9, ..RawCounterBlock::default() });
            let read = In(raw.cast_const()).get().expect("not null");
            assert_eq!((read.first, read.multi_count), (7, 9));
        }
    }

    #[test]
    fn duplicating_an_invalid_descriptor_fails() {
        assert!(duplicate(-1).is_err() && duplicate(i32::MAX).is_err());
    }
}
