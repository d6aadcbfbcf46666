//! The counter list: what each record of a sample is.

use zerocopy::little_endian::{I32, I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{push_utf16_nul, round_up_8, utf16_until_nul};
use crate::problem::Problem;

/// First word of the list.
pub const SIGNATURE: u32 = 0x0000_06FF;

/// Entry flag: all instances of one counter, as multi records.
pub const FLAG_MULTI: u32 = 0x01;
/// Entry flag: all counters of all instances, as block records.
pub const FLAG_BLOCK: u32 = 0x10;

/// Most entries that are read of a list. Windows' recorders make tens of thousands where every instance is an entry.
pub const MAX_ENTRIES: usize = 1 << 18;

/// Offset of a name that is not there.
pub const NO_NAME: u32 = 0xFFFF_FFFF;

/// Head of the list, 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ListHead {
    /// [`SIGNATURE`].
    pub signature: U32,
    /// 8.
    pub log_type: U16,
    /// 2.
    pub version: U16,
}

impl ListHead {
    /// The head that every known log has.
    pub fn usual() -> Self {
        Self { signature: U32::new(SIGNATURE), log_type: U16::new(8), version: U16::new(2) }
    }
}

/// Fixed part of an entry, 0x34 bytes. Name offsets count from its end.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct EntryHead {
    /// Bytes of the entry, strings and padding included; a multiple of 8.
    pub size: U32,
    /// [`FLAG_MULTI`], [`FLAG_BLOCK`], or neither for single records.
    pub flags: U32,
    /// Anything; ignored.
    pub user_data: U32,
    /// The counter type (not in block entries).
    pub counter_type: U32,
    /// Ticks per second of the counter's clock.
    pub time_base: I64,
    /// Exponent of ten for charts.
    pub default_scale: I32,
    /// Offset of the machine's name, with its two backslashes.
    pub machine: U32,
    /// Offset of the counter set's name.
    pub object: U32,
    /// Offset of the instance's name.
    pub instance: U32,
    /// Offset of the parent instance's name.
    pub parent: U32,
    /// Number of the instance among those of its name.
    pub instance_index: U32,
    /// Offset of the counter's name.
    pub counter: U32,
}

const HEAD_BYTES: usize = size_of::<EntryHead>();

/// An entry with its names. Names and offsets stand side by side, so that any layout of the strings encodes as it was.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Entry {
    /// The fixed part.
    pub head: EntryHead,
    /// The machine's name, with its two backslashes.
    pub machine: Option<String>,
    /// The counter set's name.
    pub object: Option<String>,
    /// The instance's name; `*` in wildcard entries.
    pub instance: Option<String>,
    /// The parent instance's name.
    pub parent: Option<String>,
    /// The counter's name; `*` in block entries.
    pub counter: Option<String>,
}

impl Entry {
    /// Packs the names and sets the offsets and the size as Windows 8 and later do.
    pub fn lay_out(&mut self) {
        let mut at = 0;
        let mut place = |name: &Option<String>| match name {
            Some(name) => {
                let here = at;
                at += 2 * (name.encode_utf16().count() as u32 + 1);
                U32::new(here)
            }
            None => U32::new(NO_NAME),
        };
        self.head.machine = place(&self.machine);
        self.head.object = place(&self.object);
        self.head.parent = place(&self.parent);
        self.head.instance = place(&self.instance);
        self.head.counter = place(&self.counter);
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
            if let Some(room) = out.get_mut(at..at + text.len()) {
                room.copy_from_slice(&text);
            }
        }
    }
}

/// The payload of a counter-list event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterList {
    /// The head.
    pub head: ListHead,
    /// One entry per record of a sample, in order.
    pub entries: Vec<Entry>,
}

impl CounterList {
    /// Reads the payload, whose problems are told relative to file offset `offset`.
    ///
    /// Entries before a damaged one are kept: without the rest, samples are readable up to there.
    ///
    /// # Errors
    ///
    /// A [`Problem`] when there is not even a head with the right signature.
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
                let what = "the counter list has more entries than the 262144 that a log may have; left out";
                let problem = Problem::new(at, what);
                let problem = problem.found(format_args!("{} bytes more", bytes.len()), "nothing");
                return Ok((Self { head: read_head(payload), entries }, Some(problem)));
            }
            let Ok((head, _)) = EntryHead::read_from_prefix(bytes) else {
                let problem = Problem::new(at, "an entry of the counter list is cut off");
                return Ok((Self { head, entries }, Some(problem.found(bytes.len(), "at least 52 bytes"))));
            };
            let size = head.size.get() as usize;
            if size < HEAD_BYTES || size > bytes.len() {
                let problem = Problem::new(at, "the size of an entry of the counter list is wrong");
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
