//! Structures of raw data blocks, instance lists and identifiers.

use zerocopy::little_endian::{I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Header of a raw data block, 48 bytes; the results follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_DATA_HEADER")]
pub struct DataHeader {
    /// Size of the whole block, a multiple of 8.
    pub total_bytes: U32,
    /// Number of results that follow.
    pub result_count: U32,
    /// Performance counter, in ticks.
    pub ticks: I64,
    /// System time, UTC, in 100 ns units since 1601.
    pub system_time_100ns: I64,
    /// Frequency of the performance counter, in ticks per second.
    pub frequency: I64,
    /// System time, UTC, as a SYSTEMTIME: year, month, day of the week (Sunday 0), day, hour, minute, second,
    /// millisecond.
    pub system_time: [U16; 8],
}

/// Header of a result, 16 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_HEADER")]
pub struct ResultHeader {
    /// 0, or a Win32 error code.
    pub status: U32,
    /// Numeric value of a [`Kind`](crate::block::Kind).
    pub kind: U32,
    /// Size of the result, including this header; a multiple of 8.
    pub bytes: U32,
    /// Always 0.
    pub reserved: U32,
}

/// Header of the counter ids of a result, 8 bytes; the ids follow, 4 bytes each.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_MULTI_COUNTERS")]
pub struct MultiCounters {
    /// Size of this header and the ids; Tachograph includes the padding to a multiple of 8.
    pub bytes: U32,
    /// Number of ids that follow.
    pub counter_count: U32,
}

/// Header of the instances of a result, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_MULTI_INSTANCES")]
pub struct MultiInstances {
    /// Size of this header and all instances with their values.
    pub total_bytes: U32,
    /// Number of instances that follow.
    pub instance_count: U32,
}

/// Header of an instance, 8 bytes; the instance's NUL-terminated name in UTF-16 follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_INSTANCE_HEADER")]
pub struct InstanceHeader {
    /// Size of this header, the name and its padding; a multiple of 8.
    pub bytes: U32,
    /// Id of the instance.
    pub id: U32,
}

/// Header of a value, 8 bytes; the value follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_DATA")]
pub struct CounterData {
    /// Size of the value: 4 or 8; Tachograph writes 0 for a value that cannot be read now.
    pub data_bytes: U32,
    /// Size of this header, the value and its padding; a multiple of 8.
    pub bytes: U32,
}

/// Header of an identifier, 40 bytes; the instance's NUL-terminated name in UTF-16 can follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct CounterIdentifier {
    /// GUID of the counter set.
    pub set: [u8; 16],
    /// 0, or the Win32 code of the error for which this identifier was rejected.
    pub status: U32,
    /// Size of this header, the name and its padding; a multiple of 8.
    pub bytes: U32,
    /// Id of the counter, 0xFFFFFFFF for all.
    pub counter_id: U32,
    /// Id of the instance, 0xFFFFFFFF for all.
    pub instance_id: U32,
    /// Index of the identifier's result in each block.
    pub index: U32,
    /// Always 0.
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
