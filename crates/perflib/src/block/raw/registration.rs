//! Structures of registration data.

use zerocopy::little_endian::{I32, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Registration of a counter set, 32 bytes; its counters follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTERSET_REG_INFO")]
pub struct CounterSetRegistration {
    /// GUID of the set.
    pub set: [u8; 16],
    /// Always 0.
    pub set_type: U32,
    /// The detail level, 100 or 200.
    pub detail_level: U32,
    /// Number of counters that follow.
    pub counter_count: U32,
    /// Numeric value of an [`InstanceType`](crate::registration::InstanceType).
    pub instance_type: U32,
}

/// Registration of a counter, 48 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_REG_INFO")]
pub struct CounterRegistration {
    /// Id of the counter.
    pub id: U32,
    /// The counter type.
    pub counter_type: U32,
    /// Attributes.
    pub attributes: U64,
    /// The detail level, 100 or 200.
    pub detail_level: U32,
    /// Charts multiply the value by this power of ten; -10 to 10.
    pub default_scale: I32,
    /// Ids of the base, time, time-frequency and multiplier counters; 0xFFFFFFFF for none.
    pub companions: [U32; 4],
    /// Numeric value of an [`Aggregate`](crate::registration::Aggregate).
    pub aggregate: U32,
    /// Always 0.
    pub reserved: U32,
}

/// Header of a string block, which holds the names or help texts of a set's counters, 8 bytes; one [`StringHeader`] per
/// counter and the strings follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_STRING_BUFFER_HEADER")]
pub struct StringBuffer {
    /// Size of the whole block.
    pub bytes: U32,
    /// Number of headers that follow.
    pub counter_count: U32,
}

/// The location of one counter's string, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_STRING_COUNTER_HEADER")]
pub struct StringHeader {
    /// Id of the counter.
    pub counter_id: U32,
    /// Offset of the counter's string from the start of the string block; 0xFFFFFFFF for no string.
    pub offset: U32,
}

const _: () = assert!(
    size_of::<CounterSetRegistration>() == 32
        && size_of::<CounterRegistration>() == 48
        && size_of::<StringBuffer>() == 8
        && size_of::<StringHeader>() == 8
);
