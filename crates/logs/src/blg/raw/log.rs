//! A whole log in memory, decoded without loss.

use zerocopy::{FromBytes, IntoBytes};

use super::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
use super::event::{self, EVENT_HEADER_BYTES, EventHeader};
use super::header::LogfileHeader;
use super::list::CounterList;
use super::record::{KIND_MULTI, KIND_SAMPLE, KIND_SINGLE, Multi, RecordHead, SINGLE_BYTES, Single, TAG};
use super::round_up_8;
use crate::problem::Problem;

/// A log, field by field. [`encode`](Self::encode) gives the bytes that [`decode`](Self::decode) read, except that
/// padding between events and after names, which is undefined, becomes zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Header of buffer 0.
    pub first: BufferHeader,
    /// The header event.
    pub header: LogfileHeader,
    /// The buffers after the first.
    pub buffers: Vec<Buffer>,
}

/// A data buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its header.
    pub header: BufferHeader,
    /// Its events.
    pub events: Vec<Event>,
}

/// An event of a data buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its header.
    pub header: EventHeader,
    /// What it carries.
    pub payload: Payload,
}

/// The payload of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A counter list in one part.
    List(CounterList),
    /// A sample in one part, its envelope taken off.
    Sample(Vec<Record>),
    /// Anything else, and payloads in several parts: the bytes.
    Bytes(Vec<u8>),
}

/// A record of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// One counter of one instance.
    Single(Single),
    /// One counter of all instances.
    Multi(Multi),
    /// Another kind: the bytes, head included.
    Bytes(Vec<u8>),
}

impl Log {
    /// Decodes a whole, undamaged log; the streaming reader is the one for damaged logs.
    ///
    /// # Errors
    ///
    /// The first [`Problem`] that there is.
    pub fn decode(bytes: &[u8]) -> Result<Self, Problem> {
        let Ok((first, _)) = BufferHeader::read_from_prefix(bytes) else {
            return Err(Problem::new(0, "the first buffer is cut off"));
        };
        let size = first.buffer_size.get() as usize;
        if size < BUFFER_HEADER_BYTES || !bytes.len().is_multiple_of(size) {
            return Err(Problem::new(0, "the file is no whole number of buffers")
                .found(bytes.len(), size.to_string()));
        }
        let mut buffers = bytes.chunks_exact(size).enumerate();
        let head = buffers.next().map_or(&[][..], |(_, buffer)| &buffer[BUFFER_HEADER_BYTES..]);
        let header = LogfileHeader::decode(head, BUFFER_HEADER_BYTES as u64)?;
        let buffers = buffers
            .map(|(number, buffer)| Buffer::decode(buffer, (number * size) as u64))
            .collect::<Result<_, _>>()?;
        Ok(Self { first, header, buffers })
    }

    /// The file's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let size = self.first.buffer_size.get() as usize;
        let mut out = Vec::new();
        out.extend_from_slice(self.first.as_bytes());
        self.header.encode(&mut out);
        out.resize(round_up_8(out.len()), 0);
        out.resize(size.max(out.len()), 0xFF);
        for buffer in &self.buffers {
            let begin = out.len();
            out.extend_from_slice(buffer.header.as_bytes());
            for event in &buffer.events {
                event.encode(&mut out);
            }
            out.resize((begin + size).max(out.len()), 0xFF);
        }
        out
    }
}

impl Buffer {
    fn decode(bytes: &[u8], offset: u64) -> Result<Self, Problem> {
        let Ok((header, _)) = BufferHeader::read_from_prefix(bytes) else {
            return Err(Problem::new(offset, "a buffer is cut off"));
        };
        let Some(used) = bytes.get(..header.offset.get() as usize) else {
            return Err(
                Problem::new(offset + 0x30, "a buffer's fill is wrong").found(header.offset.get(), "less")
            );
        };
        let mut events = Vec::new();
        let mut at = BUFFER_HEADER_BYTES;
        while at < used.len() {
            let wrong = || Problem::new(offset + at as u64, "an event does not fit its buffer");
            let Ok((header, _)) = EventHeader::read_from_prefix(&used[at..]) else { return Err(wrong()) };
            let size = usize::from(header.size.get());
            let payload = used.get(at + EVENT_HEADER_BYTES..at + size).ok_or_else(wrong)?;
            events.push(Event { header, payload: Payload::decode(&header, payload) });
            at += round_up_8(size);
        }
        Ok(Self { header, events })
    }
}

impl Event {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.header.as_bytes());
        self.payload.encode(out);
        out.resize(round_up_8(out.len()), 0);
    }
}

impl Payload {
    fn decode(header: &EventHeader, payload: &[u8]) -> Self {
        let decoded = match header.kind {
            event::COUNTER_LIST if header.parts.get() == 1 => match CounterList::decode(payload, 0) {
                Ok((list, None)) => Some(Self::List(list)),
                _ => None,
            },
            event::SAMPLE if header.parts.get() == 1 => decode_records(payload).map(Self::Sample),
            _ => None,
        };
        // Names that overlap, or hold half a surrogate pair, would come back as something else.
        decoded.filter(|decoded| decoded.is_what(payload)).unwrap_or_else(|| Self::Bytes(payload.to_vec()))
    }

    /// Whether this encodes to bytes of the same length that decode to it again.
    fn is_what(&self, payload: &[u8]) -> bool {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes.len() == payload.len()
            && match self {
                Self::List(list) => {
                    CounterList::decode(&bytes, 0).is_ok_and(|(again, rest)| rest.is_none() && again == *list)
                }
                Self::Sample(records) => decode_records(&bytes).is_some_and(|again| again == *records),
                Self::Bytes(_) => true,
            }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::List(list) => list.encode(out),
            Self::Sample(records) => {
                let begin = out.len();
                out.extend_from_slice(RecordHead::new(KIND_SAMPLE, 0).as_bytes());
                for record in records {
                    match record {
                        Record::Single(single) => out.extend_from_slice(single.as_bytes()),
                        Record::Multi(multi) => multi.encode(out),
                        Record::Bytes(bytes) => out.extend_from_slice(bytes),
                    }
                }
                let head = RecordHead::new(KIND_SAMPLE, out.len() - begin);
                out[begin..begin + size_of::<RecordHead>()].copy_from_slice(head.as_bytes());
            }
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
        }
    }
}

/// The records after a sample's envelope; `None` where the sizes do not add up.
fn decode_records(payload: &[u8]) -> Option<Vec<Record>> {
    let (envelope, mut bytes) = RecordHead::read_from_prefix(payload).ok()?;
    if (envelope.tag, envelope.kind) != (TAG, KIND_SAMPLE) || envelope.size.get() as usize != payload.len() {
        return None;
    }
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (head, _) = RecordHead::read_from_prefix(bytes).ok()?;
        let size = head.size.get() as usize;
        if size < 8 {
            return None;
        }
        let (record, after) = bytes.split_at_checked(size)?;
        records.push(match head.kind {
            KIND_SINGLE if size == SINGLE_BYTES => Record::Single(Single::read_from_bytes(record).ok()?),
            KIND_MULTI => Record::Multi(Multi::decode(record)?),
            _ => Record::Bytes(record.to_vec()),
        });
        bytes = after;
    }
    Some(records)
}
