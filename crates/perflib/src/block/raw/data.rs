//! Structures of raw data blocks, instance lists and identifiers.

use zerocopy::little_endian::{I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Head of a raw data block, 48 bytes; the results follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_DATA_HEADER")]
pub struct DataHeader {
    /// Bytes of the whole block, a multiple of 8.
    pub total_bytes: U32,
    /// How many results follow.
    pub result_count: U32,
    /// Performance counter, in ticks.
    pub ticks: I64,
    /// UTC, 100 ns units since 1601.
    pub system_time_100ns: I64,
    /// Performance counter, ticks per second.
    pub frequency: I64,
    /// SYSTEMTIME, UTC: year, month, day of the week (Sunday 0), day, hour, minute, second, millisecond.
    pub system_time: [U16; 8],
}

/// Head of one query's result, 16 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_HEADER")]
pub struct ResultHeader {
    /// 0, or the Win32 code why there is no data.
    pub status: U32,
    /// What follows: the number of a [`Kind`](crate::block::Kind).
    pub kind: U32,
    /// Bytes of the result, this head included; a multiple of 8.
    pub bytes: U32,
    /// 0.
    pub reserved: U32,
}

/// Head of the counter ids of a result, 8 bytes; the ids follow, 4 bytes each.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_MULTI_COUNTERS")]
pub struct MultiCounters {
    /// Bytes of this head and the ids; Tachograph includes what fills them up to a multiple of 8.
    pub bytes: U32,
    /// How many ids follow.
    pub counter_count: U32,
}

/// Head of the instances of a result, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_MULTI_INSTANCES")]
pub struct MultiInstances {
    /// Bytes of this head and of all instances with their values.
    pub total_bytes: U32,
    /// How many instances follow.
    pub instance_count: U32,
}

/// Head of an instance, 8 bytes; its name in UTF-16 with NUL follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_INSTANCE_HEADER")]
pub struct InstanceHeader {
    /// Bytes of this head, the name and its padding; a multiple of 8.
    pub bytes: U32,
    /// Number of the instance.
    pub id: U32,
}

/// Head of a value, 8 bytes; the value follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_DATA")]
pub struct CounterData {
    /// Bytes of the value: 4 or 8; 0 from Tachograph where it cannot be read now.
    pub data_bytes: U32,
    /// Bytes of this head, the value and its padding; a multiple of 8.
    pub bytes: U32,
}

/// Head of an identifier (a query of a handle), 40 bytes; the instance's name in UTF-16 with NUL may follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct CounterIdentifier {
    /// GUID of the counter set.
    pub set: [u8; 16],
    /// 0, or the Win32 code why this identifier was refused.
    pub status: U32,
    /// Bytes of this head, the name and its padding; a multiple of 8.
    pub bytes: U32,
    /// Number of the counter, 0xFFFFFFFF for all.
    pub counter_id: U32,
    /// Number of the instance, 0xFFFFFFFF for all.
    pub instance_id: U32,
    /// Place of the query's result in the handle's blocks.
    pub index: U32,
    /// 0.
    pub reserved: U32,
}

const _: () = assert!(
    size_of::<DataHeader>() == 48
        && size_of::<ResultHeader>() == 16
        && size_of::<MultiCounters>() == 8
        && size_of::<MultiInstances>() == 8
        && size_of::<InstanceHeader>() == 8
        && size_of::<CounterData>() == 8
        && size_of::<CounterIdentifier>() == 40
);
