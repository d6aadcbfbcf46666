//! The description of a column.

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

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super::super) struct Column {
    pub(in super::super::super) name: &'static str,
    pub(in super::super::super) physical_type: PhysicalType,
    pub(in super::super::super) is_optional: bool,
    /// Whether minima and maxima are stored, so that readers can skip rows.
    pub(in super::super::super) has_statistics: bool,
    /// Whether numbers are stored as byte streams: first the lowest bytes of all numbers, then the next ones.
    pub(in super::super::super) is_split: bool,
}
