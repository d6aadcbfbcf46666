//! Windows' binary performance log (`.blg`).
//!
//! A BLG is an Event Tracing for Windows log file: buffers of one size, each a header and events. Its events are a
//! counter list (what each record of a sample is), samples, and in older logs a name table and a catalogue. Microsoft
//! publishes no description; what is here follows public SDK structures and observed files (docs/blg.md).
//!
//! [`raw`] holds the structures as they lie on disk, [`BlgReader`] decodes, [`BlgWriter`] encodes.

mod clock;
pub mod raw;
mod read;
mod write;

pub(crate) use read::BlgPlace;
pub use read::BlgReader;
pub use write::{BlgWriter, BlgWriterOptions};

use raw::buffer::BUFFER_HEADER_BYTES;

/// Whether a file that begins with `start` (at least 76 bytes of it) is an ETW log file, and so possibly a BLG.
pub fn looks_like_blg(start: &[u8]) -> bool {
    let Some(size) = start.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)) else { return false };
    let (Some(header_type), Some(marker)) =
        (start.get(BUFFER_HEADER_BYTES + 2), start.get(BUFFER_HEADER_BYTES + 3))
    else {
        return false;
    };
    raw::buffer::is_buffer_size(size) && matches!(header_type, 1 | 2) && *marker == raw::event::MARKER_FLAGS
}
