//! Structures between a provider and the library.

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
    /// GUID of the provider; it need not be the one that declares the set.
    pub provider: [u8; 16],
    /// How many counters follow.
    pub counter_count: U32,
    /// Number of an [`InstanceType`](crate::registration::InstanceType).
    pub instance_type: U32,
}

/// A counter as a provider declares it, 32 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_INFO")]
pub struct CounterTemplate {
    /// Number of the counter.
    pub id: U32,
    /// The counter type.
    pub counter_type: U32,
    /// Attributes.
    pub attributes: U64,
    /// Bytes of the value, 4 or 8; ignored on input, where some write the size of this structure.
    pub data_bytes: U32,
    /// 100 or 200.
    pub detail_level: U32,
    /// Exponent of ten for charts, -10 to 10.
    pub scale: I32,
    /// Offset of the value from the start of the instance; ignored on input.
    pub offset: U32,
}

/// Head of an instance as a provider holds it, 32 bytes; 8 bytes per counter and the name follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTERSET_INSTANCE")]
pub struct CounterSetInstance {
    /// GUID of the set.
    pub set: [u8; 16],
    /// Bytes of the whole instance, a multiple of 8.
    pub bytes: U32,
    /// Number of the instance.
    pub id: U32,
    /// Offset of the name from the start.
    pub name_offset: U32,
    /// Bytes of the name, NUL included.
    pub name_bytes: U32,
}

/// What a provider's callback is told of a query that was added or removed, 40 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_IDENTITY")]
pub struct CounterIdentity {
    /// GUID of the set.
    pub set: [u8; 16],
    /// Bytes of the whole buffer, names included.
    pub buffer_bytes: U32,
    /// Number of the counter, 0xFFFFFFFF for all.
    pub counter_id: U32,
    /// Number of the instance, 0xFFFFFFFF for all.
    pub instance_id: U32,
    /// Offset of the machine's name from the start.
    pub machine_offset: U32,
    /// Offset of the instance's name from the start.
    pub name_offset: U32,
    /// 0.
    pub reserved: U32,
}

const _: () = assert!(
    size_of::<CounterSetTemplate>() == 40
        && size_of::<CounterTemplate>() == 32
        && size_of::<CounterSetInstance>() == 32
        && size_of::<CounterIdentity>() == 40
);
