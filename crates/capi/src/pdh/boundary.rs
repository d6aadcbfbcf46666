//! Pointers that C passes: what a function of pdh.h has as an argument.
//!
//! Each is a pointer and nothing else, so the functions take them as C passes them. A null pointer is
//! `PDH_INVALID_ARGUMENT` where something is read or written through it. Nothing is taken to be aligned.

#![allow(unsafe_code, reason = "pointers of C")]

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

/// The longest text or list that is read, in characters: a text without an end is noticed there, mostly.
const LONGEST: usize = 1 << 20;

/// What may be read as it lies in a program's memory, and be copied into it.
///
/// # Safety
///
/// Any bits are a value.
pub(super) unsafe trait Plain: Copy {}

// SAFETY: here and below: numbers and pointers, of which any bits are a value.
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

/// A text that ends in a zero, or null. The program promises that it ends, and stays as it is during the call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<C>(*const C);

/// The number of characters before the first `zeros` zeros in a row.
///
/// # Safety
///
/// `start` is a text with such an end.
unsafe fn length<C: Character>(start: *const C, zeros: usize) -> Result<usize> {
    let mut found = 0;
    for place in 0..LONGEST {
        // SAFETY: the end was not reached, so by the condition of this function this character is there.
        let is_end = unsafe { start.add(place).read_unaligned() }.is_end();
        found = if is_end { found + 1 } else { 0 };
        if found == zeros {
            return Ok(place + 1 - zeros);
        }
    }
    Err(PdhStatus::INVALID_ARGUMENT)
}

/// `count` values from a pointer on.
///
/// # Safety
///
/// They are there.
unsafe fn copy_in<T: Plain>(start: *const T, count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
    for place in 0..count {
        // SAFETY: by the condition of this function, and any bits are a value.
        values.push(unsafe { start.add(place).read_unaligned() });
    }
    Ok(values)
}

impl<C: Character + Plain> Text<C> {
    /// The characters; `None` for null.
    fn characters(self) -> Result<Option<Vec<C>>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, so it is a text that ends in a zero: the program's promise.
        unsafe { copy_in(self.0, length(self.0, 1)?) }.map(Some)
    }

    /// The text; `None` for null.
    pub(super) fn optional(self) -> Result<Option<String>> {
        Ok(self.characters()?.map(|characters| C::decode(&characters)))
    }

    /// The text.
    pub(super) fn get(self) -> Result<String> {
        self.optional()?.ok_or(PdhStatus::INVALID_ARGUMENT)
    }

    /// The text as the name of a file; `None` for null.
    pub(super) fn optional_path(self) -> Result<Option<PathBuf>> {
        Ok(self.characters()?.map(|characters| C::path(&characters)))
    }
}

/// Texts that each end in a zero, with a zero more at the end; or null. The promise is as for [`Text`].
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct TextList<C>(*const C);

impl<C: Character + Plain> TextList<C> {
    /// The texts as names of files; `None` for null.
    pub(super) fn optional_paths(self) -> Result<Option<Vec<PathBuf>>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, so it is a list with its end: the program's promise. One zero alone is an empty
        // list, and nothing behind it is read.
        let characters = unsafe {
            if self.0.read_unaligned().is_end() { Vec::new() } else { copy_in(self.0, length(self.0, 2)?)? }
        };
        let names = characters.split(|character| character.is_end());
        Ok(Some(names.filter(|name| !name.is_empty()).map(C::path).collect()))
    }
}

/// Something that is read, or null. The program promises that it is there.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct In<T>(*const T);

impl<T: Plain> In<T> {
    /// It.
    pub(super) fn get(self) -> Result<T> {
        self.optional().ok_or(PdhStatus::INVALID_ARGUMENT)
    }

    /// It; `None` for null.
    pub(super) fn optional(self) -> Option<T> {
        // SAFETY: not null, so it is there: the program's promise; and any bits are a value.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// So many from here on.
    pub(super) fn several(self, count: u32) -> Result<Vec<T>> {
        if self.0.is_null() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        // SAFETY: not null, so as many are there as the program says: its promise.
        unsafe { copy_in(self.0, count as usize) }
    }
}

/// A place that is written, and read first where it says so; or null. The program promises that it has room.
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
    /// Refuses null, before anything is done.
    pub(super) fn check(self) -> Result<Self> {
        if self.0.is_null() { Err(PdhStatus::INVALID_ARGUMENT) } else { Ok(self) }
    }

    /// Where it is, as a number to make pointers of for the program.
    pub(super) fn address(self) -> usize {
        self.0.expose_provenance()
    }
}

impl<T: Plain> Out<T> {
    /// What is there.
    pub(super) fn get(self) -> Result<T> {
        In(self.0.cast_const()).get()
    }

    /// Writes it, unless it is null.
    pub(super) fn set(self, value: T) {
        self.set_all(&[value]);
    }

    /// Writes these one after the other, unless it is null. The program promises room for all of them, by the
    /// size that it passed.
    pub(super) fn set_all(self, values: &[T]) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: not null, so there is room for the values: the program's promise. They are the library's own
        // memory, so that the two do not overlap; bytes need no alignment.
        unsafe {
            self.0.cast::<u8>().copy_from_nonoverlapping(values.as_ptr().cast::<u8>(), size_of_val(values));
        }
    }
}

/// A file of this number under another number that is the library's own.
pub(super) fn duplicate(number: i32) -> io::Result<File> {
    // SAFETY: the call takes any number, and tells where it is no file's.
    let own = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if own < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has just given this number to the library.
    Ok(unsafe { OwnedFd::from_raw_fd(own) }.into())
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;

    #[test]
    fn null_is_an_argument_that_is_not_valid() {
        assert_eq!(Text::<u16>(null()).get(), Err(PdhStatus::INVALID_ARGUMENT));
        assert_eq!(Text::<u8>(null()).optional(), Ok(None));
        assert_eq!(TextList::<u8>(null()).optional_paths(), Ok(None));
        assert_eq!(In::<u32>(null()).get(), Err(PdhStatus::INVALID_ARGUMENT));
        assert_eq!(In::<u32>(null()).several(0), Err(PdhStatus::INVALID_ARGUMENT));
        assert!(Out::<u32>(null_mut()).check().is_err() && Out::<u32>(null_mut()).get().is_err());
        Out::<u32>(null_mut()).set(1);
    }

    #[test]
    fn lists_end_at_two_zeros_and_an_empty_one_at_its_first() {
        let paths =
            |bytes: &[u8]| TextList(bytes.as_ptr()).optional_paths().expect("a list").expect("not null");
        assert_eq!(paths(b"a\0bc\0\0d\0\0"), [PathBuf::from("a"), PathBuf::from("bc")]);
        assert!(paths(b"\0").is_empty());
        let wide = [0x61_u16, 0, 0];
        let paths = TextList(wide.as_ptr()).optional_paths().expect("a list");
        assert_eq!(paths, Some(vec![PathBuf::from("a")]));
    }

    #[test]
    fn a_text_that_does_not_end_is_refused() {
        let endless = vec![b'a'; LONGEST];
        assert_eq!(Text(endless.as_ptr()).get(), Err(PdhStatus::INVALID_ARGUMENT));
    }

    #[test]
    fn nothing_needs_to_be_aligned() {
        let mut bytes = [0_u8; 64];
        for start in 0..8 {
            let place: *mut RawCounterBlock = bytes[start..].as_mut_ptr().cast();
            Out(place).set(RawCounterBlock { first: 7, multi_count: 9, ..RawCounterBlock::default() });
            let read = In(place.cast_const()).get().expect("there");
            assert_eq!((read.first, read.multi_count), (7, 9));
        }
    }

    #[test]
    fn a_number_that_is_no_file_is_told() {
        assert!(duplicate(-1).is_err() && duplicate(i32::MAX).is_err());
    }
}
