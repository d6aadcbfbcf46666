//! The structures of a block record (PERF_DATA_BLOCK and what it holds).
//!
//! Source: winperf.h. Sizes are the same in 32- and 64-bit Windows.

use tachograph_counters::civil::FileTime;
use zerocopy::little_endian::{I32, I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// `PERF` in UTF-16.
pub const SIGNATURE: [u8; 8] = *b"P\0E\0R\0F\0";

/// A local time as SYSTEMTIME; zeros outside the calendar.
pub fn system_time(local: FileTime) -> [U16; 8] {
    let Some(civil) = local.to_civil() else { return [U16::ZERO; 8] };
    [
        civil.year() as u16,
        civil.month() as u16,
        civil.weekday().to_sunday_zero_offset() as u16,
        civil.day() as u16,
        civil.hour() as u16,
        civil.minute() as u16,
        civil.second() as u16,
        civil.millisecond() as u16,
    ]
    .map(U16::new)
}

/// Head of the block, 0x58 bytes; the machine's name follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_DATA_BLOCK")]
pub struct DataBlock {
    /// [`SIGNATURE`].
    pub signature: [u8; 8],
    /// 1.
    pub little_endian: U32,
    /// 1.
    pub version: U32,
    /// 1.
    pub revision: U32,
    /// Bytes of the whole block.
    pub total_bytes: U32,
    /// Bytes to the first object.
    pub header_bytes: U32,
    /// How many objects follow.
    pub object_count: U32,
    /// Title index of the object.
    pub default_object: U32,
    /// SYSTEMTIME, in logs local time.
    pub system_time: [U16; 8],
    /// Padding, 0. In a block without objects Tachograph's writer says here why: the group's status.
    pub status: U32,
    /// Performance counter.
    pub ticks: I64,
    /// Performance counter, ticks per second.
    pub frequency: I64,
    /// UTC, 100 ns units.
    pub system_time_100ns: I64,
    /// Bytes of the machine's name, NUL included.
    pub name_bytes: U32,
    /// Offset of the machine's name.
    pub name_offset: U32,
}

/// Head of an object, 0x40 bytes; counter definitions follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_OBJECT_TYPE")]
pub struct ObjectType {
    /// Bytes to the next object.
    pub total_bytes: U32,
    /// Bytes to the first instance or counter block.
    pub definition_bytes: U32,
    /// Bytes to the first counter definition.
    pub header_bytes: U32,
    /// Title index of the name.
    pub name_index: U32,
    /// A pointer; 0.
    pub name_pointer: U32,
    /// Title index of the help text.
    pub help_index: U32,
    /// A pointer; 0.
    pub help_pointer: U32,
    /// 100 novice to 400 wizard.
    pub detail_level: U32,
    /// How many counter definitions follow, bases included.
    pub counter_count: U32,
    /// Number of the default counter.
    pub default_counter: U32,
    /// How many instances follow; -1 for an object without instances.
    pub instance_count: I32,
    /// 0: names in Unicode.
    pub code_page: U32,
    /// The object's own clock.
    pub time: I64,
    /// Units of `time` per second.
    pub frequency: I64,
}

/// Definition of a counter, 0x28 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_COUNTER_DEFINITION")]
pub struct CounterDefinition {
    /// Bytes of this definition.
    pub bytes: U32,
    /// Title index of the name.
    pub name_index: U32,
    /// A pointer; 0.
    pub name_pointer: U32,
    /// Title index of the help text.
    pub help_index: U32,
    /// A pointer; 0.
    pub help_pointer: U32,
    /// Exponent of ten for charts.
    pub default_scale: I32,
    /// 100 novice to 400 wizard.
    pub detail_level: U32,
    /// The counter type.
    pub counter_type: U32,
    /// Bytes of the data: 4 or 8 for a number.
    pub data_bytes: U32,
    /// Offset of the data from the start of the counter block.
    pub data_offset: U32,
}

/// Definition of an instance, 0x18 bytes; its name follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_INSTANCE_DEFINITION")]
pub struct InstanceDefinition {
    /// Bytes to the counter block, a multiple of 8.
    pub bytes: U32,
    /// Title index of the parent's object; 0 for none.
    pub parent_object: U32,
    /// Number of the parent among the instances of its object.
    pub parent_instance: U32,
    /// Number of the instance, -1 where the name is its identity.
    pub unique_id: I32,
    /// Offset of the name.
    pub name_offset: U32,
    /// Bytes of the name, NUL included.
    pub name_bytes: U32,
}

const _: () = assert!(
    size_of::<DataBlock>() == 0x58
        && size_of::<ObjectType>() == 0x40
        && size_of::<CounterDefinition>() == 0x28
        && size_of::<InstanceDefinition>() == 0x18
);
