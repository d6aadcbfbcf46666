//! The description of a column.

use super::super::page::{BYTE_STREAM_SPLIT, PLAIN, RLE_DICTIONARY};

/// The types of values that archives use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super::super) enum PhysicalType {
    Int32,
    Int64,
    Double,
    /// UTF-8.
    Text,
    /// Microseconds since 1970, UTC, as `Int64`.
    Timestamp,
}

impl PhysicalType {
    /// The size of a number in bytes; 0 for texts.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Int32 => 4,
            Self::Int64 | Self::Double | Self::Timestamp => 8,
            Self::Text => 0,
        }
    }
}

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super::super) enum NumberEncoding {
    /// One number after another.
    Plain,
    /// As byte streams: first the lowest bytes of all numbers, then the next ones.
    Split,
    /// As indexes into the distinct numbers if these are few, otherwise plain.
    Dictionary,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super::super) struct Column {
    pub(in super::super::super) name: &'static str,
    pub(in super::super::super) physical_type: PhysicalType,
    pub(in super::super::super) is_optional: bool,
    /// Whether minima and maxima are stored, so that readers can skip rows.
    pub(in super::super::super) has_statistics: bool,
    /// How numbers are written. Texts always have a dictionary.
    pub(in super::super::super) numbers: NumberEncoding,
}

impl Column {
    /// The encoding with which numbers are written, with or without a dictionary.
    pub(super) fn encoding_of_numbers(self, has_dictionary: bool) -> i32 {
        match self.numbers {
            NumberEncoding::Split => BYTE_STREAM_SPLIT,
            NumberEncoding::Dictionary if has_dictionary => RLE_DICTIONARY,
            NumberEncoding::Plain | NumberEncoding::Dictionary => PLAIN,
        }
    }
}
