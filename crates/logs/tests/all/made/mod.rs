//! Logs assembled byte by byte, with a name for every field, and what a reader makes of them as text.
//!
//! Nothing here uses the crate's own encoders: what they and the reader have wrong alike would not show.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test binary uses a part of this module")]

pub mod appended;
pub mod block;
mod list;
pub mod python;
pub mod recorder;
pub mod rewritten;
pub mod shown;

pub use list::{Entry, list};

/// 2013-02-19 18:50:00, from which the made logs count their seconds.
pub const BASE: i64 = 130_057_734_000_000_000;
const SECOND: i64 = 10_000_000;

/// Local time of a second of a made log.
pub fn local(second: i64) -> i64 {
    BASE + second * SECOND
}

/// The class of PDH's events.
pub const PDH: [u8; 16] = *b"\xb3\x3b\x3f\x93\x3e\x94\x0d\x49\x9c\xed\x3c\xbb\x14\xc1\x44\x79";

/// The GUID that the made logs are named by.
pub const LOG_GUID: [u8; 16] = [7; 16];

pub const COUNTER_LIST: u8 = 0x20;
pub const SAMPLE: u8 = 0x22;
pub const CATALOGUE: u8 = 0x23;
pub const NAME_TABLE: u8 = 0x24;

/// Numbers and texts one after another, little-endian.
#[derive(Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// UTF-16 with its NUL.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for unit in text.encode_utf16().chain([0]) {
            self.u16(unit);
        }
        self
    }

    pub fn zeros(&mut self, count: usize) -> &mut Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    pub fn pad_to_8(&mut self) -> &mut Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }
}

/// Overwrites bytes at `at`.
pub fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// One event, every field of its header free.
#[derive(Clone)]
pub struct Event {
    /// Added to the true size.
    pub size_off_by: i32,
    pub header_type: u8,
    pub marker: u8,
    pub kind: u8,
    pub local_time: i64,
    pub class: [u8; 16],
    pub log_guid: [u8; 16],
    pub context: u32,
    pub part: u32,
    pub parts: u32,
    pub payload: Vec<u8>,
}

impl Event {
    pub fn new(kind: u8, local_time: i64, payload: Vec<u8>) -> Self {
        Self {
            size_off_by: 0,
            header_type: 0x14,
            marker: 0xC0,
            kind,
            local_time,
            class: PDH,
            log_guid: LOG_GUID,
            context: 0,
            part: 1,
            parts: 1,
            payload,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Bytes::default();
        let size = (0x48 + self.payload.len()) as i32 + self.size_off_by;
        out.u16(size as u16).u8(self.header_type).u8(self.marker);
        out.u8(self.kind).u8(0).u16(0x3C); // type, level, version
        out.u32(11).u32(12); // thread, process
        out.i64(self.local_time).bytes(&self.class);
        out.u32(self.context).u32(0x001A_0200); // context, flags
        out.bytes(&self.log_guid).u32(self.part).u32(self.parts);
        out.bytes(&self.payload);
        // The bytes between events are undefined.
        while !out.0.len().is_multiple_of(8) {
            out.u8(0xA5);
        }
        out.0
    }
}

/// A log in the making.
#[derive(Clone)]
pub struct Made {
    pub buffer_bytes: usize,
    /// 64-bit, else 32-bit.
    pub is_wide: bool,
    pub log_file_mode: u32,
    pub bias: i32,
    /// Month, day of week, occurrence, hour of the change to standard and to daylight time; none without daylight time.
    pub rule: Option<[[u16; 4]; 2]>,
    pub logger_name: String,
    pub file_name: String,
    /// Filled data buffers without their headers.
    pub buffers: Vec<Vec<u8>>,
    /// Sequence numbers other than 1, 2, 3.
    pub sequence: Vec<i64>,
}

impl Made {
    pub fn new(buffer_bytes: usize) -> Self {
        Self {
            buffer_bytes,
            is_wide: true,
            log_file_mode: 0x3002_0801,
            bias: 480,
            rule: Some([[11, 0, 1, 2], [3, 0, 2, 2]]),
            logger_name: uuid::Uuid::from_bytes_le(LOG_GUID).hyphenated().to_string(),
            file_name: "made.blg".into(),
            buffers: vec![Vec::new()],
            sequence: Vec::new(),
        }
    }

    pub fn narrow(mut self) -> Self {
        self.is_wide = false;
        self
    }

    /// Starts another buffer.
    pub fn next_buffer(&mut self) -> &mut Self {
        self.buffers.push(Vec::new());
        self
    }

    /// Adds one event as it is; gives its offset in the file.
    pub fn place(&mut self, event: &Event) -> usize {
        let bytes = event.bytes();
        let room = self.buffer_bytes - 0x48;
        assert!(bytes.len() <= room, "an event of {} bytes", bytes.len());
        if self.buffers.last().expect("a buffer").len() + bytes.len() > room {
            self.next_buffer();
        }
        let number = self.buffers.len();
        let buffer = self.buffers.last_mut().expect("a buffer");
        let at = number * self.buffer_bytes + 0x48 + buffer.len();
        buffer.extend_from_slice(&bytes);
        at
    }

    /// Adds an event, cut into parts of at most `part_bytes`; gives the offset of the first.
    pub fn parts(&mut self, kind: u8, second: i64, payload: &[u8], part_bytes: usize) -> usize {
        let mut first = 0;
        let parts = payload.len().div_ceil(part_bytes) as u32;
        for (number, part) in payload.chunks(part_bytes).enumerate() {
            let mut event = Event::new(kind, local(second), part.to_vec());
            if !self.is_wide {
                event.header_type = 0x0A;
            }
            (event.part, event.parts) = (number as u32 + 1, parts);
            let at = self.place(&event);
            if number == 0 {
                first = at;
            }
        }
        first
    }

    /// Adds an event, in parts where it does not fit a buffer.
    pub fn event(&mut self, kind: u8, second: i64, payload: &[u8]) -> usize {
        let most = 8000.min(self.buffer_bytes - 0x48 - 0x48);
        self.parts(kind, second, payload, most)
    }

    pub fn list(&mut self, entries: &[Entry]) -> usize {
        self.event(COUNTER_LIST, 0, &list(entries))
    }

    pub fn names(&mut self, machine: &str, names: &[(u32, &str)]) -> usize {
        let mut payload = Bytes::default();
        payload.text(machine);
        for (index, name) in names {
            payload.text(&index.to_string()).text(name);
        }
        self.event(NAME_TABLE, 0, &payload.0)
    }

    pub fn sample(&mut self, second: i64, records: &[Vec<u8>]) -> usize {
        self.event(SAMPLE, second, &sample(records))
    }

    /// The file.
    pub fn file(&self) -> Vec<u8> {
        let mut out = self.first_buffer();
        for (number, events) in self.buffers.iter().enumerate() {
            let sequence = self.sequence.get(number).copied().unwrap_or(number as i64 + 1);
            let last = number + 1 == self.buffers.len();
            out.extend(self.buffer(0x48 + events.len(), sequence, if last { 0x21 } else { 0x20 }, 0, events));
        }
        out
    }

    fn buffer(&self, fill: usize, sequence: i64, flags: u16, kind: u16, content: &[u8]) -> Vec<u8> {
        let mut out = Bytes::default();
        out.u32(self.buffer_bytes as u32); // 0x00 BufferSize
        out.u32(fill as u32).u32(0).u32(0); // SavedOffset, CurrentOffset, ReferenceCount
        out.i64(BASE).i64(sequence).i64(0); // 0x10 TimeStamp, SequenceNumber, clock
        out.u8(0).u8(0).u16(0).u32(3); // 0x28 processor, alignment, logger, State
        out.u32(fill as u32).u16(flags).u16(kind); // 0x30 Offset, BufferFlag, BufferType
        out.bytes(&[0x75; 16]); // 0x38 stale pointers
        out.bytes(content);
        out.0.resize(self.buffer_bytes, 0xFF);
        out.0
    }

    fn first_buffer(&self) -> Vec<u8> {
        let mut out = Bytes::default();
        // SYSTEM_TRACE_HEADER, its size filled in below.
        out.u16(0).u8(if self.is_wide { 2 } else { 1 }).u8(0xC0).u16(0).u16(0);
        out.u32(11).u32(12).i64(BASE).u32(1).u32(0);
        // TRACE_LOGFILE_HEADER.
        out.u32(self.buffer_bytes as u32).bytes(&[6, 2, 1, 5]).u32(9200).u32(1);
        out.i64(BASE).u32(156_250).u32(0).u32(self.log_file_mode);
        out.u32(self.buffers.len() as u32 + 1).u32(1);
        out.u32(if self.is_wide { 8 } else { 4 }).u32(0).u32(2791);
        // Two stale pointers.
        out.bytes(&[0x11; 8]);
        if self.is_wide {
            out.bytes(&[0x11; 8]);
        }
        self.zone(&mut out);
        out.u32(0);
        out.i64(BASE - 3600 * SECOND).i64(2_725_536).i64(BASE).u32(2).u32(0);
        out.text(&self.logger_name).text(&self.file_name);
        let size = out.0.len() as u16;
        put(&mut out.0, 4, &size.to_le_bytes());
        out.pad_to_8();
        self.buffer(0x48 + out.0.len(), 0, 1, 4, &out.0)
    }

    fn zone(&self, out: &mut Bytes) {
        let date = |out: &mut Bytes, date: Option<[u16; 4]>| match date {
            Some([month, day_of_week, day, hour]) => {
                for field in [0, month, day_of_week, day, hour, 0, 0, 0] {
                    out.u16(field);
                }
            }
            None => {
                out.zeros(16);
            }
        };
        let name = |out: &mut Bytes, name: &str| {
            let end = out.0.len() + 64;
            out.text(name);
            out.0.resize(end, 0);
        };
        out.u32(self.bias as u32);
        name(out, "@tzres.dll,-212");
        date(out, self.rule.map(|rule| rule[0]));
        out.u32(0);
        name(out, "@tzres.dll,-211");
        date(out, self.rule.map(|rule| rule[1]));
        out.u32(-60i32 as u32);
    }
}

/// Payload of a sample.
pub fn sample(records: &[Vec<u8>]) -> Vec<u8> {
    record(0, &records.concat())
}

/// A record of any kind.
pub fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Bytes::default();
    out.bytes(&[0x42, 0x4C, 0x03, kind]).u32(content.len() as u32 + 8).bytes(content);
    out.0
}

pub fn single(second: i64, first_value: i64, second_value: i64) -> Vec<u8> {
    single_with(0, second, first_value, second_value)
}

pub fn single_with(status: u32, second: i64, first_value: i64, second_value: i64) -> Vec<u8> {
    let mut out = Bytes::default();
    out.u32(status).i64(local(second)).u32(0);
    out.i64(first_value).i64(second_value).u32(1).u32(0);
    record(1, &out.0)
}

/// A multi record of (name, first, second).
pub fn multi(second: i64, items: &[(&str, i64, i64)]) -> Vec<u8> {
    multi_with(0, second, items)
}

pub fn multi_with(status: u32, second: i64, items: &[(&str, i64, i64)]) -> Vec<u8> {
    let mut names = Bytes::default();
    let mut list = Bytes::default();
    for (name, first_value, second_value) in items {
        list.u32((0x18 + 24 * items.len() + names.0.len()) as u32)
            .u32(0)
            .i64(*first_value)
            .i64(*second_value);
        names.text(name);
    }
    names.pad_to_8();
    let mut out = Bytes::default();
    out.u32((0x18 + list.0.len() + names.0.len()) as u32).u32(items.len() as u32);
    out.u32(status).u32(0).i64(local(second)).bytes(&list.0).bytes(&names.0);
    record(2, &out.0)
}
