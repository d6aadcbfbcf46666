//! Frames: a raw data block, and the data that it has no field for.
//!
//! A block has the name and id of an instance, but neither its identity nor whether the name is reserved, and no status for
//! a value that cannot be read. A frame appends these to the block, so that the consumer's samples equal those taken on the
//! agent's machine. All parts begin at a multiple of 8 bytes, as [`difference`](crate::difference) requires.

mod alignment;
mod attributes;
mod decode;
mod encode;
mod errors;
mod known_keys;

pub use alignment::Layout;
pub use attributes::Attributes;
pub use decode::{FillBuffers, Frame, FrameError};
pub use encode::{encode, selected_set};

use tachograph_counters::civil::FileTime;

/// Size of a frame's header.
const HEADER_BYTES: usize = 48;

/// The times of a frame that its block does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTimes {
    /// The machine's clock, in UTC.
    pub wall: FileTime,
    /// When the machine booted, in UTC.
    pub boot_time: FileTime,
}
