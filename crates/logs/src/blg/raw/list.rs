//! The counter list, which describes each record of a sample.

use zerocopy::little_endian::{I32, I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{push_utf16_nul, round_up_8, utf16_until_nul};
use crate::Problem;

/// First word of the list.
pub const SIGNATURE: u32 = 0x0000_06FF;

/// Entry flag: all instances of one counter, as multi records.
pub const FLAG_MULTI: u32 = 0x01;
/// Entry flag: all counters of all instances, as block records.
pub const FLAG_BLOCK: u32 = 0x10;

/// Maximum number of entries in a list. Windows writes tens of thousands if every instance has its own entry.
pub const MAX_ENTRIES: usize = 1 << 18;

/// Offset of an absent name.
pub const NO_NAME: u32 = 0xFFFF_FFFF;

/// Header of the list, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ListHead {
    /// Always [`SIGNATURE`].
    pub signature: U32,
    /// Type of the log: always 8 (PDH_LOG_TYPE_BINARY).
    pub log_type: U16,
    /// Version of the list: always 2.
    pub version: U16,
}

impl ListHead {
    /// The header of all known logs.
    pub fn usual() -> Self {
        Self { signature: U32::new(SIGNATURE), log_type: U16::new(8), version: U16::new(2) }
    }
}

/// Fixed part of an entry, 0x34 bytes. Name offsets are relative to its end.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct EntryHead {
    /// Length of the entry, including strings and padding; a multiple of 8.
    pub size: U32,
    /// [`FLAG_MULTI`], [`FLAG_BLOCK`], or neither for single records.
    pub flags: U32,
    /// Any number; ignored.
    pub user_data: U32,
    /// The counter type (not in block entries).
    pub counter_type: U32,
    /// Ticks per second of the counter's clock.
    pub time_base: I64,
    /// Power of ten by which charts multiply the value.
    pub default_scale: I32,
    /// Offset of the machine name, which starts with two backslashes.
    pub machine: U32,
    /// Offset of the counter set's name.
    pub object: U32,
    /// Offset of the instance's name.
    pub instance: U32,
    /// Offset of the parent instance's name.
    pub parent: U32,
    /// Index of the instance among those with the same name.
    pub instance_index: U32,
    /// Offset of the counter's name.
    pub counter: U32,
}

const HEAD_BYTES: usize = size_of::<EntryHead>();

/// An entry with its names. Names and offsets are both kept, so that any layout of the strings is preserved.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Entry {
    /// The fixed part.
    pub head: EntryHead,
    /// The machine name, with two backslashes.
    pub machine: Option<String>,
    /// The counter set's name.
    pub object: Option<String>,
    /// The instance's name; `*` in multi and block entries.
    pub instance: Option<String>,
    /// The parent instance's name.
    pub parent: Option<String>,
    /// The counter's name; `*` in block entries.
    pub counter: Option<String>,
}

impl Entry {
    /// Sets the offsets and the size for packed names, as Windows 8 and later do.
    pub fn pack(&mut self) {
        let mut at = 0;
        let mut next_offset = |name: &Option<String>| match name {
            Some(name) => {
                let offset = at;
                at += 2 * (name.encode_utf16().count() as u32 + 1);
                U32::new(offset)
            }
            None => U32::new(NO_NAME),
        };
        self.head.machine = next_offset(&self.machine);
        self.head.object = next_offset(&self.object);
        self.head.parent = next_offset(&self.parent);
        self.head.instance = next_offset(&self.instance);
        self.head.counter = next_offset(&self.counter);
        self.head.size = U32::new(round_up_8(HEAD_BYTES + at as usize) as u32);
    }

    /// Appends the entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(self.head.as_bytes());
        out.resize(begin + (self.head.size.get() as usize).max(HEAD_BYTES), 0);
        let mut text = Vec::new();
        for (offset, name) in [
            (self.head.machine, &self.machine),
            (self.head.object, &self.object),
            (self.head.instance, &self.instance),
            (self.head.parent, &self.parent),
            (self.head.counter, &self.counter),
        ] {
            let Some(name) = name else { continue };
            text.clear();
            push_utf16_nul(&mut text, name);
            let at = begin + HEAD_BYTES + offset.get() as usize;
            if let Some(target) = out.get_mut(at..at + text.len()) {
                target.copy_from_slice(&text);
            }
        }
    }
}

/// The payload of a counter-list event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterList {
    /// The header.
    pub head: ListHead,
    /// One entry per record of a sample, in order.
    pub entries: Vec<Entry>,
}

impl CounterList {
    /// Decodes the payload, which is at file offset `offset`.
    ///
    /// If an entry is damaged, returns the entries before it together with the problem, so that the corresponding
    /// records can be read.
    ///
    /// # Errors
    ///
    /// A [`Problem`] if the header or its signature is wrong.
    pub fn decode(payload: &[u8], offset: u64) -> Result<(Self, Option<Problem>), Problem> {
        let Ok((head, mut bytes)) = ListHead::read_from_prefix(payload) else {
            return Err(
                Problem::new(offset, "the counter list is cut off").found(payload.len(), "at least 8 bytes")
            );
        };
        if head.signature.get() != SIGNATURE {
            return Err(Problem::new(offset, "the counter list's signature is wrong")
                .found(format_args!("{:#x}", head.signature.get()), "0x6ff"));
        }
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let at = offset + (payload.len() - bytes.len()) as u64;
            if entries.len() == MAX_ENTRIES {
                let message = "the counter list has more than 262144 entries; the others are skipped";
                let problem = Problem::new(at, message);
                let problem = problem.found(format_args!("{} bytes more", bytes.len()), "nothing");
                return Ok((Self { head: read_head(payload), entries }, Some(problem)));
            }
            let Ok((head, _)) = EntryHead::read_from_prefix(bytes) else {
                let problem = Problem::new(at, "a counter list entry is cut off");
                return Ok((Self { head, entries }, Some(problem.found(bytes.len(), "at least 52 bytes"))));
            };
            let size = head.size.get() as usize;
            if size < HEAD_BYTES || size > bytes.len() {
                let problem = Problem::new(at, "the size of a counter list entry is wrong");
                let expected = format!("52 to {}", bytes.len());
                return Ok((Self { head: read_head(payload), entries }, Some(problem.found(size, expected))));
            }
            let (entry, after) = bytes.split_at(size);
            let name = |offset: U32| -> Option<String> {
                let at = usize::try_from(offset.get()).ok()?.checked_add(HEAD_BYTES)?;
                (offset.get() != NO_NAME)
                    .then(|| entry.get(at..).map(|bytes| utf16_until_nul(bytes).0))
                    .flatten()
            };
            entries.push(Entry {
                head,
                machine: name(head.machine),
                object: name(head.object),
                instance: name(head.instance),
                parent: name(head.parent),
                counter: name(head.counter),
            });
            bytes = after;
        }
        Ok((Self { head, entries }, None))
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.head.as_bytes());
        for entry in &self.entries {
            entry.encode(out);
        }
    }
}

fn read_head(payload: &[u8]) -> ListHead {
    ListHead::read_from_prefix(payload).map(|(head, _)| head).unwrap_or_default()
}
