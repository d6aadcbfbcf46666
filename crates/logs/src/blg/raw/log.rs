//! Decodes and encodes a whole log in memory, without loss.

use zerocopy::{FromBytes, IntoBytes};

use super::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
use super::event::{self, EVENT_HEADER_BYTES, EventHeader};
use super::header::LogfileHeader;
use super::list::CounterList;
use super::record::{KIND_MULTI, KIND_SAMPLE, KIND_SINGLE, Multi, RecordHead, SINGLE_BYTES, Single, TAG};
use super::round_up_8;
use crate::Problem;

/// A whole log, including the fields that the streaming reader ignores. [`encode`](Self::encode) returns the bytes
/// passed to [`decode`](Self::decode), except that undefined padding between events and after names becomes zeros.
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
    /// The header.
    pub header: BufferHeader,
    /// The events.
    pub events: Vec<Event>,
}

/// An event of a data buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The header.
    pub header: EventHeader,
    /// The payload.
    pub payload: Payload,
}

/// The payload of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A counter list that is not split into parts.
    List(CounterList),
    /// The records of a sample that is not split into parts.
    Sample(Vec<Record>),
    /// The bytes of any other payload, or of one part of a split event.
    Bytes(Vec<u8>),
}

/// A record of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// One counter of one instance.
    Single(Single),
    /// One counter of all instances.
    Multi(Multi),
    /// The bytes of a record of another kind, including the header.
    Bytes(Vec<u8>),
}

impl Log {
    /// Decodes an undamaged log. Use the streaming reader for damaged logs.
    ///
    /// # Errors
    ///
    /// The first [`Problem`] of the log.
    pub fn decode(bytes: &[u8]) -> Result<Self, Problem> {
        let Ok((first, _)) = BufferHeader::read_from_prefix(bytes) else {
            return Err(Problem::new(0, "the first buffer is cut off"));
        };
        let size = first.buffer_size.get() as usize;
        if size < BUFFER_HEADER_BYTES || !bytes.len().is_multiple_of(size) {
            return Err(Problem::new(0, "the file size is not a multiple of the buffer size")
                .found(bytes.len(), size.to_string()));
        }
        let mut buffers = bytes.chunks_exact(size).enumerate();
        let head = buffers.next().map_or(&[][..], |(_, buffer)| &buffer[BUFFER_HEADER_BYTES..]);
        let header = LogfileHeader::decode(head, BUFFER_HEADER_BYTES as u64)?;
        let buffers = buffers
            .map(|(index, buffer)| Buffer::decode(buffer, (index * size) as u64))
            .collect::<Result<_, _>>()?;
        Ok(Self { first, header, buffers })
    }

    /// Encodes the file.
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
            return Err(Problem::new(offset + 0x30, "the length of a buffer's events is wrong")
                .found(header.offset.get(), "at most the buffer size"));
        };
        let mut events = Vec::new();
        let mut at = BUFFER_HEADER_BYTES;
        while at < used.len() {
            let wrong = || Problem::new(offset + at as u64, "an event is longer than the rest of its buffer");
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
        // If names share bytes, or a name has a lone surrogate, encoding would not reproduce the payload, so its bytes
        // are kept.
        decoded
            .filter(|decoded| decoded.round_trips_to(payload))
            .unwrap_or_else(|| Self::Bytes(payload.to_vec()))
    }

    /// Whether encoding `self` yields as many bytes as `payload` has, and decoding those bytes yields `self` again.
    fn round_trips_to(&self, payload: &[u8]) -> bool {
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

/// The records of a sample; `None` if the sizes are wrong.
fn decode_records(payload: &[u8]) -> Option<Vec<Record>> {
    let (header, mut bytes) = RecordHead::read_from_prefix(payload).ok()?;
    if (header.tag, header.kind) != (TAG, KIND_SAMPLE) || header.size.get() as usize != payload.len() {
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
