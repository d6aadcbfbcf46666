//! Output buffers: their contents, which are structures followed by the strings to which they point, and their sizes.

use tachograph_pdh::{PdhStatus, Result};

use super::boundary::{Out, Plain};
use super::character::{Character, terminated};

/// The bytes to be copied to a program's buffer. They contain pointers into that buffer.
#[derive(Debug)]
pub(super) struct BufferContents {
    /// The address of the program's buffer.
    base: usize,
    bytes: Vec<u8>,
}

impl BufferContents {
    /// Creates the contents with zeros for structures of `structure_bytes` bytes in total. `base` is the address of the
    /// buffer, 0 if it is null.
    pub(super) fn new(base: usize, structure_bytes: usize) -> Self {
        Self { base, bytes: vec![0; structure_bytes] }
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        debug_assert!(end <= self.bytes.len(), "members are inside the structure");
        if let Some(member) = self.bytes.get_mut(offset..end) {
            member.copy_from_slice(bytes);
        }
    }

    pub(super) fn write_u32(&mut self, offset: usize, number: u32) {
        self.write(offset, &number.to_ne_bytes());
    }

    pub(super) fn write_u64(&mut self, offset: usize, number: u64) {
        self.write(offset, &number.to_ne_bytes());
    }

    /// Appends a string, and writes its address at an offset.
    pub(super) fn write_text<C: Character>(&mut self, offset: usize, text: &str) {
        let address = self.base.wrapping_add(self.bytes.len());
        for character in terminated::<C>(text) {
            character.append(&mut self.bytes);
        }
        self.write(offset, &address.to_ne_bytes());
    }

    /// Like [`BufferContents::write_text`]; `None` becomes a null pointer.
    pub(super) fn write_optional_text<C: Character>(&mut self, offset: usize, text: Option<&str>) {
        if let Some(text) = text {
            self.write_text::<C>(offset, text);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Writes values to a buffer, and their number to `size`, which contains the buffer's capacity on entry.
///
/// # Errors
///
/// `PDH_MORE_DATA` if the values do not fit; then only the size is written. `PDH_INVALID_ARGUMENT` for a null size, and for a
/// null buffer if the size is not 0.
pub(super) fn write_out<T: Plain>(values: &[T], buffer: Out<T>, size: Out<u32>) -> Result<()> {
    let required = u32::try_from(values.len()).map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
    let capacity = capacity(buffer, size)?;
    size.set(required);
    if capacity < required {
        return Err(PdhStatus::MORE_DATA);
    }
    buffer.set_all(values);
    Ok(())
}

/// The capacity of a buffer; checks pointers like [`write_out`].
pub(super) fn capacity<T>(buffer: Out<T>, size: Out<u32>) -> Result<u32> {
    let capacity = size.get()?;
    if capacity > 0 {
        buffer.check()?;
    }
    Ok(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_follow_the_structures_that_point_to_them() {
        let mut contents = BufferContents::new(0x1000, 24);
        contents.write_u32(0, 7);
        contents.write_text::<u16>(8, "ab");
        contents.write_optional_text::<u8>(16, None);
        assert_eq!(contents.bytes()[..4], 7_u32.to_ne_bytes());
        assert_eq!(contents.bytes()[8..16], 0x1018_usize.to_ne_bytes());
        assert_eq!(contents.bytes()[16..24], [0; 8]);
        assert_eq!(
            contents.bytes()[24..],
            [u16::from(b'a'), u16::from(b'b'), 0].map(u16::to_ne_bytes).concat()
        );
    }
}
