//! Windows' binary performance log (`.blg`).
//!
//! A BLG is an Event Tracing for Windows log file: buffers of equal size, each with a header and events. The events are
//! a counter list (which describes each record of a sample), samples, a name table (names of counter sets and counters
//! by title index), and in some logs a catalogue, a redundant list of counters and instances at the end. Like Windows,
//! this module also calls a counter set an object. Microsoft publishes no description; this module follows public SDK
//! structures and observed files (docs/blg.md).
//!
//! [`raw`] has the on-disk structures, [`BlgReader`] decodes, [`BlgWriter`] encodes.

mod clock;
pub mod raw;
mod read;
mod write;

pub(crate) use read::BlgPosition;
pub use read::BlgReader;
pub use write::{BlgWriter, BlgWriterOptions};

use raw::buffer::BUFFER_HEADER_BYTES;

/// Whether a file appears to be an ETW log file, and so possibly a BLG. `start` is the start of the file, at least 76
/// bytes.
pub fn looks_like_blg(start: &[u8]) -> bool {
    let Some(size) = start.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)) else { return false };
    let (Some(header_type), Some(marker)) =
        (start.get(BUFFER_HEADER_BYTES + 2), start.get(BUFFER_HEADER_BYTES + 3))
    else {
        return false;
    };
    raw::buffer::is_buffer_size(size) && matches!(header_type, 1 | 2) && *marker == raw::event::MARKER_FLAGS
}
