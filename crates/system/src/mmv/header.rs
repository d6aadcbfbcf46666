//! The header of an MMV file.

use super::error::LayoutError;
use super::raw::{Bytes, HEADER_BYTES};

/// The first 40 bytes: what says whether the file is the one that was read before.
pub(super) type HeaderBytes = [u8; HEADER_BYTES as usize];

/// Values are given only while the process lives.
const FLAG_PROCESS: u32 = 2;
/// A value of which all bits are set, or that is not a number, means that there is none.
const FLAG_SENTINEL: u32 = 4;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: Version,
    pub(super) generation: u64,
    pub(super) sections: u32,
    pub(super) is_sentinel: bool,
    /// The process without which the values mean nothing.
    pub(super) process: Option<i32>,
    /// The process that wrote the file, as far as it says so.
    pub(super) writer: i32,
}

/// Which records the file has. Versions 2 and 3 have the same; 3 has labels too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Names stand in the records.
    One,
    /// Names are strings.
    TwoOrThree,
}

/// Why a header cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The two generations differ: the file is being written.
    Torn(u64, u64),
    Damaged(LayoutError),
}

impl From<LayoutError> for Unusable {
    fn from(error: LayoutError) -> Self {
        Self::Damaged(error)
    }
}

impl Header {
    pub(super) fn parse(bytes: Bytes<'_>) -> Result<Self, Unusable> {
        let magic = bytes.magic()?;
        if magic != *b"MMV\0" {
            let found = magic.escape_ascii().to_string();
            return Err(LayoutError::new(0, "magic", found, "MMV\\x00").into());
        }
        let version = match bytes.i32(4, "version")? {
            1 => Version::One,
            2 | 3 => Version::TwoOrThree,
            other => return Err(LayoutError::number(4, "version", other, "1, 2 or 3").into()),
        };
        let (first, second) = (bytes.u64(8, "generation 1")?, bytes.u64(16, "generation 2")?);
        if first != second {
            return Err(Unusable::Torn(first, second));
        }
        let sections = bytes.i32(24, "number of sections")?;
        // One of each kind at most: six kinds.
        if !(2..=6).contains(&sections) {
            return Err(LayoutError::number(24, "number of sections", sections, "2 to 6").into());
        }
        let flags = bytes.u32(28, "flags")?;
        let writer = bytes.i32(32, "process")?;
        let needs_process = flags & FLAG_PROCESS != 0;
        if needs_process && writer <= 0 {
            return Err(LayoutError::number(32, "process", writer, "the id of a process").into());
        }
        Ok(Self {
            version,
            generation: first,
            sections: sections.unsigned_abs(),
            is_sentinel: flags & FLAG_SENTINEL != 0,
            process: needs_process.then_some(writer),
            writer,
        })
    }
}
