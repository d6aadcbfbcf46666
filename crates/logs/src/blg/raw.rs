//! The on-disk structures of a BLG, all little-endian.
//!
//! The structures keep every field, even if it is unknown or ignored, so that decoding and encoding returns the same
//! bytes. [`Log`] decodes and encodes a whole file in memory; the streaming reader and the writer use the same
//! structures.

pub mod block;
pub mod buffer;
pub mod event;
pub mod header;
pub mod list;
mod log;
pub mod record;
pub mod zone;

pub use log::{Buffer, Event, Log, Payload, Record};

/// The next multiple of 8.
pub const fn round_up_8(bytes: usize) -> usize {
    (bytes + 7) & !7
}

/// Decodes a NUL-terminated UTF-16LE string at the start of `bytes`; without a NUL, it ends at the last complete
/// unit. Returns the text, with lone surrogates replaced, and the number of bytes, including the NUL.
pub fn utf16_until_nul(bytes: &[u8]) -> (String, usize) {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let length = units.clone().position(|unit| unit == 0);
    let count = length.unwrap_or(bytes.len() / 2);
    let units = units.take(count);
    // Most names are ASCII, for which no surrogates need to be decoded.
    let text = match units.clone().all(|unit| unit < 0x80) {
        true => String::from_utf8(units.map(|unit| unit as u8).collect()).unwrap_or_default(),
        false => char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect(),
    };
    (text, (count + usize::from(length.is_some())) * 2)
}

/// Appends `text` as NUL-terminated UTF-16LE.
pub fn push_utf16_nul(out: &mut Vec<u8>, text: &str) {
    // A NUL inside `text` would end it early and shift every name after it.
    for unit in text.encode_utf16().filter(|&unit| unit != 0).chain([0]) {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}
