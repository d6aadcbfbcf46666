//! The structures of a BLG as they lie on disk, all little-endian.
//!
//! Every structure keeps each field that it has on disk, also those whose meaning is unknown or that readers ignore, so
//! that what was decoded encodes to the same bytes. [`Log`] decodes and encodes a whole file in memory that way;
//! the streaming reader and the writer use the same structures.

pub mod block;
pub mod buffer;
pub mod event;
pub mod header;
pub mod list;
mod log;
pub mod record;
pub mod zone;

pub use log::{Buffer, Event, Log, Payload, Record};

/// Bytes from `at` on, `None` past the end.
pub(crate) fn rest(bytes: &[u8], at: usize) -> Option<&[u8]> {
    bytes.get(at..)
}

/// The next multiple of 8.
pub const fn round_up_8(bytes: usize) -> usize {
    (bytes + 7) & !7
}

/// Decodes a NUL-terminated UTF-16LE string at the start of `bytes`; without a NUL it ends at the last whole unit.
/// Returns the text (lone surrogates replaced) and the bytes taken, the NUL included.
pub fn utf16_until_nul(bytes: &[u8]) -> (String, usize) {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let length = units.clone().position(|unit| unit == 0);
    let taken = length.unwrap_or(bytes.len() / 2);
    let text =
        char::decode_utf16(units.take(taken)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    (text, (taken + usize::from(length.is_some())) * 2)
}

/// Appends `text` as UTF-16LE with its NUL.
pub fn push_utf16_nul(out: &mut Vec<u8>, text: &str) {
    // A NUL within a name would end it early, and shift every name after it.
    for unit in text.encode_utf16().filter(|&unit| unit != 0).chain([0]) {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}
