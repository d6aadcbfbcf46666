//! Single and multi records of a sample; block records are in [`super::block`].

use zerocopy::little_endian::{I64, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{push_utf16_nul, utf16_until_nul};

/// The first three bytes of every record: `BL` and 3.
pub const TAG: [u8; 3] = [0x42, 0x4C, 0x03];

/// Record kind: a sample, which contains the other records.
pub const KIND_SAMPLE: u8 = 0;
/// Record kind: one counter of one instance.
pub const KIND_SINGLE: u8 = 1;
/// Record kind: one counter of all instances.
pub const KIND_MULTI: u8 = 2;
/// Record kind: all counters of all instances, as a PERF_DATA_BLOCK; in the log's catalogue, the description of a counter set
/// (an object).
pub const KIND_BLOCK: u8 = 5;

/// Header of every record, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RecordHead {
    /// Always [`TAG`].
    pub tag: [u8; 3],
    /// The kind of record.
    pub kind: u8,
    /// Length of the record, including this header; a multiple of 8.
    pub size: U32,
}

impl RecordHead {
    /// Creates the header of a record of `size` bytes.
    pub fn new(kind: u8, size: usize) -> Self {
        Self { tag: TAG, kind, size: U32::new(size as u32) }
    }
}

/// A single record, 0x30 bytes: the header and a PDH_RAW_COUNTER in its memory layout.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "PDH_RAW_COUNTER")]
pub struct Single {
    /// The record header.
    pub head: RecordHead,
    /// PDH status of the value.
    pub status: U32,
    /// Local time at which the machine was queried.
    pub local_time: I64,
    /// Always 0.
    pub padding: U32,
    /// First number of the raw value.
    pub first: I64,
    /// Second number of the raw value.
    pub second: I64,
    /// Multiplier; 1 if the type has none.
    pub multi_count: U32,
    /// Always 0.
    pub padding_end: U32,
}

/// Length of a single record in bytes.
pub const SINGLE_BYTES: usize = size_of::<Single>();

/// Fixed part of a multi record, 0x20 bytes. Name offsets are relative to byte 8 of the record.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MultiHead {
    /// The record header.
    pub head: RecordHead,
    /// Length of the record without the 8 bytes of its header.
    pub inner_size: U32,
    /// Number of items.
    pub count: U32,
    /// PDH status of the whole record.
    pub status: U32,
    /// Always 0.
    pub reserved: U32,
    /// Local time at which the machine was queried.
    pub local_time: I64,
}

/// Length of a [`MultiHead`] in bytes.
pub const MULTI_HEAD_BYTES: usize = size_of::<MultiHead>();

/// One instance of a multi record, 24 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MultiItem {
    /// Offset of the instance name, relative to byte 8 of the record.
    pub name_offset: U32,
    /// Multiplier; 0 or 1 if the type has none.
    pub multi_count: U32,
    /// First number of the raw value.
    pub first: I64,
    /// Second number of the raw value.
    pub second: I64,
}

/// Length of a [`MultiItem`] in bytes.
pub const MULTI_ITEM_BYTES: usize = size_of::<MultiItem>();

/// A multi record with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multi {
    /// The fixed part.
    pub head: MultiHead,
    /// One item per instance.
    pub items: Vec<MultiItem>,
    /// The instance names, in the order of the items.
    pub names: Vec<String>,
}

impl Multi {
    /// Decodes a complete record; `None` if a count or offset is outside the record.
    pub fn decode(record: &[u8]) -> Option<Self> {
        let (head, after) = MultiHead::read_from_prefix(record).ok()?;
        let (items, _) =
            <[MultiItem]>::ref_from_prefix_with_elems(after, usize::try_from(head.count.get()).ok()?).ok()?;
        let names = items
            .iter()
            .map(|item| Some(utf16_until_nul(record.get(8..)?.get(item.name_offset.get() as usize..)?).0))
            .collect::<Option<_>>()?;
        Some(Self { head, items: items.to_vec(), names })
    }

    /// Appends the record. The names are written at the items' offsets, so that any layout of names is preserved.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(self.head.as_bytes());
        out.extend_from_slice(self.items.as_bytes());
        out.resize((begin + self.head.head.size.get() as usize).max(out.len()), 0);
        let mut text = Vec::new();
        for (item, name) in self.items.iter().zip(&self.names) {
            text.clear();
            push_utf16_nul(&mut text, name);
            let at = begin + 8 + item.name_offset.get() as usize;
            if let Some(target) = out.get_mut(at..at + text.len()) {
                target.copy_from_slice(&text);
            }
        }
    }
}
