//! What is handed out in a buffer of the program: structures, with the texts that they point to behind them.

use tachograph_pdh::{PdhStatus, Result};

use super::boundary::{Out, Plain};
use super::character::{Character, ended};

/// Bytes for a buffer, with pointers into that buffer.
#[derive(Debug)]
pub(super) struct Block {
    /// Where the buffer is.
    base: usize,
    bytes: Vec<u8>,
}

impl Block {
    /// Zeros for the structures; texts will follow. `base` is the address of the buffer, 0 while none is there.
    pub(super) fn new(base: usize, structures: usize) -> Self {
        Self { base, bytes: vec![0; structures] }
    }

    /// Puts bytes of a structure at an offset.
    pub(super) fn put(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        debug_assert!(end <= self.bytes.len(), "a member lies in its structure");
        if let Some(place) = self.bytes.get_mut(offset..end) {
            place.copy_from_slice(bytes);
        }
    }

    /// Puts a number of 32 bits.
    pub(super) fn put_u32(&mut self, offset: usize, number: u32) {
        self.put(offset, &number.to_ne_bytes());
    }

    /// Puts a number of 64 bits, or an address.
    pub(super) fn put_u64(&mut self, offset: usize, number: u64) {
        self.put(offset, &number.to_ne_bytes());
    }

    /// Adds a text behind, and puts its address at an offset.
    pub(super) fn text<C: Character>(&mut self, offset: usize, text: &str) {
        let address = self.base.wrapping_add(self.bytes.len());
        for character in ended::<C>(text) {
            character.append(&mut self.bytes);
        }
        self.put(offset, &address.to_ne_bytes());
    }

    /// As [`Block::text`]; null where there is none.
    pub(super) fn optional_text<C: Character>(&mut self, offset: usize, text: Option<&str>) {
        if let Some(text) = text {
            self.text::<C>(offset, text);
        }
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Hands values out by the protocol of sizes: the size says how many fit, and afterwards how many there are.
///
/// # Errors
///
/// `PDH_MORE_DATA` where they do not fit: nothing is written but the size. `PDH_INVALID_ARGUMENT` for a null
/// size, and for a null buffer with a size.
pub(super) fn hand_out<T: Plain>(values: &[T], buffer: Out<T>, size: Out<u32>) -> Result<()> {
    let needed = u32::try_from(values.len()).map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
    let capacity = capacity(buffer, size)?;
    size.set(needed);
    if capacity < needed {
        return Err(PdhStatus::MORE_DATA);
    }
    buffer.set_all(values);
    Ok(())
}

/// How many values fit; refuses null pointers as [`hand_out`] says.
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
    fn texts_lie_behind_the_structures_and_are_pointed_to() {
        let mut block = Block::new(0x1000, 24);
        block.put_u32(0, 7);
        block.text::<u16>(8, "ab");
        block.optional_text::<u8>(16, None);
        assert_eq!(block.bytes()[..4], 7_u32.to_ne_bytes());
        assert_eq!(block.bytes()[8..16], 0x1018_usize.to_ne_bytes());
        assert_eq!(block.bytes()[16..24], [0; 8]);
        assert_eq!(block.bytes()[24..], [u16::from(b'a'), u16::from(b'b'), 0].map(u16::to_ne_bytes).concat());
    }
}
