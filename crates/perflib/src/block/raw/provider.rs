//! Structures that a provider and PerfLib exchange.

use zerocopy::little_endian::{I32, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A counter set as a provider declares it, 40 bytes; its counters follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTERSET_INFO")]
pub struct CounterSetTemplate {
    /// GUID of the set.
    pub set: [u8; 16],
    /// GUID of the provider that the set belongs to; can differ from the provider that passes this structure.
    pub provider: [u8; 16],
    /// Number of counters that follow.
    pub counter_count: U32,
    /// Numeric value of an [`InstanceType`](crate::registration::InstanceType).
    pub instance_type: U32,
}

/// A counter as a provider declares it, 32 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_INFO")]
pub struct CounterTemplate {
    /// Id of the counter.
    pub id: U32,
    /// The counter type.
    pub counter_type: U32,
    /// Attributes.
    pub attributes: U64,
    /// Size of the value in bytes, 4 or 8. PerfLib ignores it, because some providers store the size of this structure
    /// instead.
    pub data_bytes: U32,
    /// The detail level, 100 or 200.
    pub detail_level: U32,
    /// Charts multiply the value by this power of ten; -10 to 10.
    pub scale: I32,
    /// Offset of the value from the start of a [`CounterSetInstance`], in bytes. PerfLib ignores it.
    pub offset: U32,
}

/// Header of an instance in a provider's memory, 32 bytes; 8 bytes per counter and the name follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTERSET_INSTANCE")]
pub struct CounterSetInstance {
    /// GUID of the set.
    pub set: [u8; 16],
    /// Size of the whole instance, a multiple of 8.
    pub bytes: U32,
    /// Id of the instance.
    pub id: U32,
    /// Offset of the name from the start of this structure.
    pub name_offset: U32,
    /// Size of the name, including the terminating NUL.
    pub name_bytes: U32,
}

/// The argument of a provider's callback when a query adds or removes a counter or an instance, 40 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_IDENTITY")]
pub struct CounterIdentity {
    /// GUID of the set.
    pub set: [u8; 16],
    /// Size of this structure and the names that follow, in bytes.
    pub buffer_bytes: U32,
    /// Id of the counter, 0xFFFFFFFF for all.
    pub counter_id: U32,
    /// Id of the instance, 0xFFFFFFFF for all.
    pub instance_id: U32,
    /// Offset of the machine's name from the start of this structure.
    pub machine_offset: U32,
    /// Offset of the instance's name from the start of this structure.
    pub name_offset: U32,
    /// Always 0.
    pub reserved: U32,
}

const _: () = assert!(
    size_of::<CounterSetTemplate>() == 40
        && size_of::<CounterTemplate>() == 32
        && size_of::<CounterSetInstance>() == 32
        && size_of::<CounterIdentity>() == 40
);
