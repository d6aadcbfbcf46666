//! The structures of a block record: PERF_DATA_BLOCK and its parts.
//!
//! Source: winperf.h. Sizes are the same in 32- and 64-bit Windows.

use tachograph_counters::civil::FileTime;
use zerocopy::little_endian::{I32, I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// `PERF` in UTF-16.
pub const SIGNATURE: [u8; 8] = *b"P\0E\0R\0F\0";

/// Converts a local time to SYSTEMTIME; all zeros if the time has no date in the years 0 to 9999.
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

/// Header of the block, 0x58 bytes; the machine name follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_DATA_BLOCK")]
pub struct DataBlock {
    /// Always [`SIGNATURE`].
    pub signature: [u8; 8],
    /// Always 1.
    pub little_endian: U32,
    /// Always 1.
    pub version: U32,
    /// Always 1.
    pub revision: U32,
    /// Length of the block in bytes.
    pub total_bytes: U32,
    /// Offset of the first object.
    pub header_bytes: U32,
    /// Number of objects.
    pub object_count: U32,
    /// Title index (index in the name table) of the object.
    pub default_object: U32,
    /// Time of the sample, local, as SYSTEMTIME.
    pub system_time: [U16; 8],
    /// Padding, 0. In a block without objects, Tachograph stores the group's status here, which is the reason why there are
    /// no objects.
    pub status: U32,
    /// Performance counter at the time of the sample, in ticks.
    pub ticks: I64,
    /// Performance counter, ticks per second.
    pub frequency: I64,
    /// Time of the sample, UTC, 100 ns units.
    pub system_time_100ns: I64,
    /// Length of the machine name in bytes, including its NUL.
    pub name_bytes: U32,
    /// Offset of the machine name.
    pub name_offset: U32,
}

/// Header of an object, 0x40 bytes; counter definitions follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PERF_OBJECT_TYPE")]
pub struct ObjectType {
    /// Length of the object, which is the offset of the next one.
    pub total_bytes: U32,
    /// Offset of the first instance or counter block.
    pub definition_bytes: U32,
    /// Offset of the first counter definition.
    pub header_bytes: U32,
    /// Title index of the name.
    pub name_index: U32,
    /// A pointer that is valid only in the process that wrote the log; Tachograph writes 0.
    pub name_pointer: U32,
    /// Title index of the help text.
    pub help_index: U32,
    /// A pointer that is valid only in the process that wrote the log; Tachograph writes 0.
    pub help_pointer: U32,
    /// 100 (novice) to 400 (wizard).
    pub detail_level: U32,
    /// Number of counter definitions, including bases.
    pub counter_count: U32,
    /// Index of the default counter.
    pub default_counter: U32,
    /// Number of instances; -1 for an object without instances.
    pub instance_count: I32,
    /// Code page of the names; 0 for UTF-16.
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
    /// Length of this definition.
    pub bytes: U32,
    /// Title index of the name.
    pub name_index: U32,
    /// A pointer that is valid only in the process that wrote the log; Tachograph writes 0.
    pub name_pointer: U32,
    /// Title index of the help text.
    pub help_index: U32,
    /// A pointer that is valid only in the process that wrote the log; Tachograph writes 0.
    pub help_pointer: U32,
    /// Power of ten by which charts multiply the value.
    pub default_scale: I32,
    /// 100 (novice) to 400 (wizard).
    pub detail_level: U32,
    /// The counter type.
    pub counter_type: U32,
    /// Length of the data: 4 or 8 for a number.
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
    /// Length of this definition and the name, a multiple of 8; the counter block follows.
    pub bytes: U32,
    /// Title index of the parent's object; 0 for none.
    pub parent_object: U32,
    /// Index of the parent among the instances of its object.
    pub parent_instance: U32,
    /// Id of the instance; -1 if the name identifies it.
    pub unique_id: I32,
    /// Offset of the name.
    pub name_offset: U32,
    /// Length of the name in bytes, including its NUL.
    pub name_bytes: U32,
}

const _: () = assert!(
    size_of::<DataBlock>() == 0x58
        && size_of::<ObjectType>() == 0x40
        && size_of::<CounterDefinition>() == 0x28
        && size_of::<InstanceDefinition>() == 0x18
);
