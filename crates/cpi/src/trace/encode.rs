//! Encodes the hooks of a `get` as records.

use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::Decimal;
use super::hook::Kinds;
use super::raw::{
    INTEGERS, INTEGERS_AND_STRINGS, MAJOR, MAX_LABEL_BYTES, MAX_RECORD_BYTES, RECORD_HEADER_BYTES,
    RecordHeader, kind,
};
use crate::{Counts, CpiData, Error, ErrorKind, Measured, Mode};

/// Size of an integer in bytes.
const INTEGER_BYTES: usize = 8;

/// Encodes the hooks of one `get`, in order, replacing the content of `records`. After an error the content is
/// undefined.
pub(super) fn hooks(
    records: &mut Vec<u8>,
    data: &CpiData,
    minor: u8,
    flags: Mode,
    label: Option<&str>,
) -> Result<(), Error> {
    records.clear();
    // Space for every kind of hook and the longest label, so that a later `get` with more hooks does not allocate.
    records.reserve(max_bytes(data.processors.len()));
    let minor_code = |kind: u32| (kind << 28) | u32::from(minor);
    if let Some(label) = label {
        write_label(records, data, minor_code(kind::LABEL_START), label)?;
    }
    if flags.has(Mode::TRACE_SUMMARY) {
        write_summary(records, data, minor_code(kind::SUMMARY))?;
    }
    if flags.has(Mode::TRACE_DETAILED) {
        // Data that was not measured gets no hook: zeros would look like a measurement.
        if !data.processors.is_empty() {
            write_system(records, data, minor_code(kind::SYSTEM))?;
            write_processors(records, data, minor_code(kind::PROCESSORS))?;
        }
        if let Some(thread) = &data.thread {
            write_thread(records, data, thread, minor_code(kind::THREAD))?;
        }
    }
    if let Some(label) = label {
        write_label(records, data, minor_code(kind::LABEL_END), label)?;
    }
    Ok(())
}

/// The maximum size in bytes of the hooks of a `get` with this number of processors.
fn max_bytes(processors: usize) -> usize {
    let label = 4 * INTEGER_BYTES + MAX_LABEL_BYTES;
    let words = (12 + 6 * processors) + 15 + (4 + 12 * processors) + 9;
    6 * RECORD_HEADER_BYTES + 2 * label + INTEGER_BYTES * words
}

/// A record under construction, after other records.
struct Record<'a> {
    records: &'a mut Vec<u8>,
    start: usize,
    record_type: u16,
}

impl<'a> Record<'a> {
    fn new(records: &'a mut Vec<u8>, record_type: u16, minor: u32, time_stamp: u64) -> Self {
        let start = records.len();
        let header = RecordHeader {
            type_and_bytes: U16::ZERO,
            major: U16::new(MAJOR),
            minor: U32::new(minor),
            time_stamp: U64::new(time_stamp),
        };
        records.extend_from_slice(header.as_bytes());
        Self { records, start, record_type }
    }

    fn integer(&mut self, integer: u64) {
        self.records.extend_from_slice(&integer.to_le_bytes());
    }

    fn word(&mut self, word: u32) {
        self.integer(u64::from(word));
    }

    /// A 64-bit value: its high word, then its low word.
    fn long(&mut self, value: u64) {
        self.word((value >> 32) as u32);
        self.word(value as u32);
    }

    fn decimal(&mut self, value: Option<f64>) {
        let Decimal { integral, fraction } = Decimal::of(value);
        self.word(integral);
        self.word(fraction);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.integer(bytes.len() as u64);
        self.records.extend_from_slice(bytes);
        let padding = bytes.len().next_multiple_of(INTEGER_BYTES) - bytes.len();
        self.records.extend_from_slice(&[0; INTEGER_BYTES][..padding]);
    }

    /// The counts of a processor, or their sums.
    fn detailed(&mut self, measured: &Measured, is_scaled: bool) {
        self.long(measured.instructions);
        self.long(measured.cycles);
        self.decimal(measured.cpi());
        if is_scaled {
            self.long(measured.cycles_scaled);
            self.decimal(measured.cpi_scaled());
            self.decimal(measured.busy_percent());
        }
    }

    /// Ends the record: checks its length and stores it in the header.
    fn end(self, processors: usize) -> Result<(), Error> {
        let bytes = self.records.len() - self.start;
        if bytes > MAX_RECORD_BYTES {
            return Err(Error::new(
                ErrorKind::HookTooLong,
                format!(
                    "the hook for {processors} processors needs {bytes} bytes, but a hook can have at most \
                     {MAX_RECORD_BYTES}: leave out the details, or the busy shares"
                ),
            ));
        }
        let type_and_bytes = self.record_type | bytes as u16;
        self.records[self.start..][..2].copy_from_slice(&type_and_bytes.to_le_bytes());
        Ok(())
    }
}

fn write_label(records: &mut Vec<u8>, data: &CpiData, minor: u32, label: &str) -> Result<(), Error> {
    let label = &label[..label.floor_char_boundary(MAX_LABEL_BYTES)];
    let mut record = Record::new(records, INTEGERS_AND_STRINGS, minor, data.ended_at);
    record.integer(2);
    record.long(data.elapsed_cycles);
    record.string(label.as_bytes());
    record.end(data.processors.len())
}

fn write_summary(records: &mut Vec<u8>, data: &CpiData, minor: u32) -> Result<(), Error> {
    let mut record = Record::new(records, INTEGERS, minor, data.ended_at);
    let kinds = Kinds { thread: data.thread.is_some(), ..kinds(data) };
    record.word(kinds.bits());
    record.word(count(data));
    record.long(data.elapsed_cycles);
    for processor in &data.processors {
        record.decimal(processor.measured.cpi());
    }
    record.decimal(data.system.cpi());
    if kinds.scaled {
        for measured in data.processors.iter().map(|processor| &processor.measured).chain([&data.system]) {
            record.decimal(measured.cpi_scaled());
            record.decimal(measured.busy_percent());
        }
    }
    if let Some(thread) = &data.thread {
        record.decimal(thread.cpi());
    }
    record.end(data.processors.len())
}

fn write_system(records: &mut Vec<u8>, data: &CpiData, minor: u32) -> Result<(), Error> {
    let mut record = Record::new(records, INTEGERS, minor, data.ended_at);
    record.word(kinds(data).bits());
    record.long(data.elapsed_cycles);
    record.detailed(&data.system, data.is_scaled);
    record.end(data.processors.len())
}

fn write_processors(records: &mut Vec<u8>, data: &CpiData, minor: u32) -> Result<(), Error> {
    let mut record = Record::new(records, INTEGERS, minor, data.ended_at);
    record.word(kinds(data).bits());
    record.word(count(data));
    record.long(data.elapsed_cycles);
    for processor in &data.processors {
        record.detailed(&processor.measured, data.is_scaled);
    }
    record.end(data.processors.len())
}

fn write_thread(records: &mut Vec<u8>, data: &CpiData, thread: &Counts, minor: u32) -> Result<(), Error> {
    let mut record = Record::new(records, INTEGERS, minor, data.ended_at);
    record.word(data.tid);
    record.long(data.elapsed_cycles);
    record.long(thread.instructions);
    record.long(thread.cycles);
    record.decimal(thread.cpi());
    record.end(data.processors.len())
}

fn kinds(data: &CpiData) -> Kinds {
    Kinds { raw: !data.processors.is_empty(), scaled: data.is_scaled, thread: false }
}

/// The number of processors: the highest id plus one. A number above 32 bits would make the hook too long anyway.
fn count(data: &CpiData) -> u32 {
    u32::try_from(data.processors.len()).unwrap_or(u32::MAX)
}
