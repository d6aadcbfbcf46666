//! Frames: a raw data block with what the block has no field for.
//!
//! A block has the name and the id of an instance, but not whether the name was reserved, or which task it is; and a value
//! that cannot be read has no status. A frame has these after the block, so that the consumer's samples are those of the
//! agent's machine. All parts begin at a multiple of 8, which [`difference`](crate::difference) needs.

mod alignment;
mod attributes;
mod decode;
mod encode;
mod problems;

pub use alignment::Layout;
pub use attributes::Attributes;
pub use decode::{FillBuffers, Frame, FrameError};
pub use encode::{encode, selected_set};

use tachograph_counters::civil::FileTime;

/// Size of a frame's header.
const HEADER_BYTES: usize = 48;

/// The times of a frame other than those of its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTimes {
    /// The machine's clock, in UTC.
    pub wall: FileTime,
    /// When the machine was started, in UTC.
    pub boot_time: FileTime,
}
