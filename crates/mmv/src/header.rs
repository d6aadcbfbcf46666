//! The header of an MMV file.

use super::error::LayoutError;
use super::raw::{Bytes, HEADER_BYTES};

/// The header's bytes, which change whenever the program changes the file's metrics or instances.
pub(super) type HeaderBytes = [u8; HEADER_BYTES as usize];

/// Flag: the values are valid only while the process that wrote the file is running.
const FLAG_PROCESS: u32 = 2;
/// Flag: a value with all bits set, or a NaN, is a missing value.
const FLAG_SENTINEL: u32 = 4;

/// The decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: Version,
    /// A number that the program changes whenever it rewrites the file. The file stores it twice; while the file is
    /// being written, the two copies differ.
    pub(super) generation: u64,
    /// Number of entries of the table of contents.
    pub(super) sections: u32,
    /// Whether a value with all bits set, or a NaN, is a missing value.
    pub(super) has_sentinels: bool,
    /// The process that must be running for the values to be valid, if any.
    pub(super) process: Option<i32>,
    /// The id of the process that wrote the file, as stored in the file.
    pub(super) writer: i32,
}

/// The layout of the entries of sections. Version 3 adds labels to version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Names are in the entries.
    One,
    /// Names are in the strings section.
    TwoOrThree,
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    /// The two copies of the generation differ: the file is being written.
    Torn(u64, u64),
    Damaged(LayoutError),
}

impl From<LayoutError> for ReadError {
    fn from(error: LayoutError) -> Self {
        Self::Damaged(error)
    }
}

impl From<ReadError> for LayoutError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Damaged(error) => error,
            ReadError::Torn(first, second) => {
                Self::number(16, "generation 2", second, format!("{first}, like generation 1"))
            }
        }
    }
}

impl Header {
    pub(super) fn parse(bytes: Bytes<'_>) -> Result<Self, ReadError> {
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
            return Err(ReadError::Torn(first, second));
        }
        let sections = bytes.i32(24, "number of sections")?;
        // At most one section of each of the six kinds.
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
            has_sentinels: flags & FLAG_SENTINEL != 0,
            process: needs_process.then_some(writer),
            writer,
        })
    }
}
