//! Raw access to an MMV file: numbers in the machine's byte order, and NUL-terminated strings.
//!
//! Source: mmv(5); the headers mmv_stats.h and mmv_dev.h of PCP.

use super::error::LayoutError;

pub(super) const HEADER_BYTES: u64 = 40;
pub(super) const TOC_BYTES: u64 = 16;
// Sizes of the entries of each section, in bytes. Names with 1 are for version 1, with 2 for versions 2 and 3.
pub(super) const INDOM_BYTES: u64 = 32;
pub(super) const INSTANCE1_BYTES: u64 = 80;
pub(super) const INSTANCE2_BYTES: u64 = 24;
pub(super) const METRIC1_BYTES: u64 = 104;
pub(super) const METRIC2_BYTES: u64 = 48;
pub(super) const VALUE_BYTES: u64 = 32;
pub(super) const STRING_BYTES: u64 = 256;
pub(super) const LABEL_BYTES: u64 = 256;
/// Size of a name that is stored in its entry (version 1).
pub(super) const NAME_BYTES: u64 = 64;

/// The bytes of a file, or of its beginning.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn len(self) -> u64 {
        self.0.len() as u64
    }

    fn slice(self, offset: u64, length: u64, field: &'static str) -> Result<&'a [u8], LayoutError> {
        let start = usize::try_from(offset).ok();
        let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
        let slice = start.zip(end).and_then(|(start, end)| self.0.get(start..end));
        slice.ok_or_else(|| {
            let found = format!("the end of the file ({} bytes)", self.0.len());
            LayoutError::new(offset, field, found, format!("{length} bytes"))
        })
    }

    fn array<const N: usize>(self, offset: u64, field: &'static str) -> Result<[u8; N], LayoutError> {
        let slice = self.slice(offset, N as u64, field)?;
        let mut array = [0; N];
        array.copy_from_slice(slice);
        Ok(array)
    }

    pub(super) fn u32(self, offset: u64, field: &'static str) -> Result<u32, LayoutError> {
        Ok(u32::from_ne_bytes(self.array(offset, field)?))
    }

    pub(super) fn i32(self, offset: u64, field: &'static str) -> Result<i32, LayoutError> {
        Ok(i32::from_ne_bytes(self.array(offset, field)?))
    }

    pub(super) fn u64(self, offset: u64, field: &'static str) -> Result<u64, LayoutError> {
        Ok(u64::from_ne_bytes(self.array(offset, field)?))
    }

    pub(super) fn magic(self) -> Result<[u8; 4], LayoutError> {
        self.array(0, "magic")
    }

    /// The string in a field of this length, without the terminating NUL.
    pub(super) fn string(
        self,
        offset: u64,
        length: u64,
        field: &'static str,
    ) -> Result<&'a [u8], LayoutError> {
        let field_bytes = self.slice(offset, length, field)?;
        let end = field_bytes.iter().position(|&byte| byte == 0).ok_or_else(|| {
            LayoutError::new(offset, field, format!("{length} bytes without NUL"), "a NUL-terminated string")
        })?;
        Ok(&field_bytes[..end])
    }
}

/// The first 16 of the 32 bytes of an entry of the values section.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawEntry([u8; 16]);

impl RawEntry {
    /// The entry with this index in the values section; `None` past the end.
    pub(super) fn at(values: &[u8], index: u32) -> Option<Self> {
        let start = (index as usize).checked_mul(VALUE_BYTES as usize)?;
        let bytes = values.get(start..start.checked_add(16)?)?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// The first or the second 8 bytes.
    fn half(self, second: bool) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.0;
        if second { rest } else { [a, b, c, d, e, f, g, h] }
    }

    /// The first 4 bytes.
    fn word(self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.0;
        [a, b, c, d]
    }

    pub(super) fn i32(self) -> i32 {
        i32::from_ne_bytes(self.word())
    }

    pub(super) fn u32(self) -> u32 {
        u32::from_ne_bytes(self.word())
    }

    pub(super) fn i64(self) -> i64 {
        i64::from_ne_bytes(self.half(false))
    }

    pub(super) fn u64(self) -> u64 {
        u64::from_ne_bytes(self.half(false))
    }

    pub(super) fn f32(self) -> f32 {
        f32::from_ne_bytes(self.word())
    }

    pub(super) fn f64(self) -> f64 {
        f64::from_ne_bytes(self.half(false))
    }

    /// For an interval in progress, its negated start; otherwise 0.
    pub(super) fn negated_start(self) -> i64 {
        i64::from_ne_bytes(self.half(true))
    }
}
