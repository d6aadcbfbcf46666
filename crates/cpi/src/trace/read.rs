//! Reads sections and records of a trace file one at a time.

use std::io::{ErrorKind, Read};

use zerocopy::{FromZeros, IntoBytes};

use super::Problem;
use super::decode;
use super::hook::{Hook, HookKind, Other};
use super::raw::{
    BYTE_ORDER, GUARD, MAGIC, MAJOR, MAX_RECORD_BYTES, MAYBE_WITHOUT_TIME, RECORD_HEADER_BYTES, RecordHeader,
    SECTION_HEADER_BYTES, SectionHeader, TYPE_BITS,
};

/// Reads a trace file. Buffers one record of up to 65,532 bytes.
///
/// An iterator over hooks and problems in file order. After a problem it continues with the next record, or with the
/// next section if the length of the damaged record is implausible. It ends after a truncated file, a damaged section
/// header or a read error. If the hooks of a `get` were not written completely, their bytes are not included in the size of the
/// section; such bytes, and any others after the last section, are reported as the last problem.
///
/// ```
/// use tachograph_cpi::trace::{HookKind, Trace, TraceReader};
/// use tachograph_cpi::{CpiData, Mode};
///
/// let trace = Trace::in_memory(4096);
/// trace.write(&CpiData::default(), 7, Mode::TRACE_SUMMARY, Some("begin"))?;
/// let mut names = Vec::new();
/// for hook in TraceReader::new(trace.bytes().as_slice()) {
///     match hook?.kind {
///         HookKind::LabelStart(label) => names.push(label.text().into_owned()),
///         HookKind::Summary(_) => names.push("summary".to_owned()),
///         _ => {}
///     }
/// }
/// assert_eq!(names, ["begin", "summary"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TraceReader<R> {
    input: R,
    /// Bytes read so far.
    offset: u64,
    section: Section,
    /// Whether iteration has ended: at the end of the file, or after an error that prevents further reading.
    is_at_end: bool,
    record: Vec<u8>,
}

/// The section that is being read.
#[derive(Debug, Default)]
struct Section {
    processor: u32,
    is_type_1_without_time: bool,
    /// Bytes of records not read yet.
    left: u32,
    /// Whether to skip these bytes, because the length of a record is implausible.
    is_skipped: bool,
}

impl<R: Read> TraceReader<R> {
    /// Reads from the start of a file. The reader only buffers one record, so wrap a file in a
    /// [`BufReader`](std::io::BufReader).
    pub fn new(input: R) -> Self {
        Self { input, offset: 0, section: Section::default(), is_at_end: false, record: Vec::new() }
    }

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Problem> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                // A reader that returns more than requested must not cause a panic.
                Ok(count) => filled += count.min(bytes.len() - filled),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_at_end = true;
                    let offset = self.offset + filled as u64;
                    let message = format!("the file cannot be read further: {error}; the rest is ignored");
                    return Err(Problem::new(offset, message));
                }
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// Fills the buffer with data of the section; an error if the file ends first.
    fn fill_from_section(&mut self, bytes: &mut [u8]) -> Result<(), Problem> {
        let filled = self.fill(bytes)?;
        if filled == bytes.len() {
            self.section.left -= filled as u32;
            return Ok(());
        }
        self.is_at_end = true;
        let missing = u64::from(self.section.left) - filled as u64;
        let message = "the file ends inside a section; the truncated hook and those after it are ignored";
        Err(Problem::new(self.offset, message).found("the end", format!("{missing} bytes more")))
    }

    /// Reads a section's header; `false` at the end of the file.
    fn next_section(&mut self) -> Result<bool, Problem> {
        let start = self.offset;
        let mut header = SectionHeader::new_zeroed();
        let filled = self.fill(header.as_mut_bytes())?;
        if filled == 0 && start > 0 {
            return Ok(false);
        }
        // If the header is invalid, the position of the next one is unknown.
        self.is_at_end = true;
        if filled < MAGIC.len() || header.magic != MAGIC {
            let found = header.as_bytes()[..filled.min(MAGIC.len())].escape_ascii();
            let message = if start == 0 {
                "this is not a trace"
            } else {
                // A program that was killed while it wrote also leaves such bytes.
                "no section follows the last complete hook; the rest is ignored"
            };
            return Err(Problem::new(start, message).found(format!("\"{found}\""), "\"NRM2\""));
        }
        if filled < SECTION_HEADER_BYTES {
            let message = "the file ends inside the header of a section, which is ignored";
            return Err(Problem::new(start, message).found(format!("{filled} bytes"), "512"));
        }
        let byte_order = header.byte_order.get();
        if byte_order != BYTE_ORDER {
            let message = if byte_order == BYTE_ORDER.swap_bytes() {
                "the file is big-endian, which is not supported"
            } else {
                "the section has no valid byte order; it and the rest are ignored"
            };
            return Err(Problem::new(start + 4, message).found(format!("{byte_order:#010x}"), "0x04030201"));
        }
        let header_bytes = header.header_bytes.get();
        if header_bytes as usize != SECTION_HEADER_BYTES {
            let message = "the header of a section has an unknown size; it and the rest are ignored";
            return Err(Problem::new(start + 12, message).found(header_bytes, "512"));
        }
        self.is_at_end = false;
        self.section = Section {
            processor: header.processor.get(),
            is_type_1_without_time: header.type_1_without_time.get() != 0,
            left: header.data_bytes.get(),
            is_skipped: false,
        };
        if header.guard != GUARD {
            let message = "the section was damaged by a transfer in text mode; reading continues";
            return Err(Problem::new(start + 8, message).found(format!("{:#04x}", header.guard), "0x0a"));
        }
        Ok(true)
    }

    /// Skips the rest of the section, which cannot be divided into records.
    fn abandon_section(&mut self, offset: u64, message: &'static str) -> Problem {
        self.section.is_skipped = true;
        Problem::new(offset, message)
    }

    fn skip_section(&mut self, record: &mut [u8]) -> Result<(), Problem> {
        while self.section.left > 0 {
            let count = record.len().min(self.section.left as usize);
            self.fill_from_section(&mut record[..count])?;
        }
        Ok(())
    }

    fn next_record(&mut self, record: &mut [u8]) -> Result<Hook, Problem> {
        let offset = self.offset;
        let left = self.section.left;
        if (left as usize) < RECORD_HEADER_BYTES {
            let message = "the section's data ends inside the header of a record, which is ignored";
            return Err(self.abandon_section(offset, message).found(format!("{left} bytes"), "at least 16"));
        }
        let mut header = RecordHeader::new_zeroed();
        self.fill_from_section(header.as_mut_bytes())?;
        let type_and_bytes = header.type_and_bytes.get();
        let (record_type, bytes) = (type_and_bytes & TYPE_BITS, type_and_bytes & !TYPE_BITS);
        if usize::from(bytes) < RECORD_HEADER_BYTES {
            let message = "a record is shorter than its header; the rest of its section is ignored";
            return Err(self.abandon_section(offset, message).found(bytes, "at least 16"));
        }
        if u32::from(bytes) > left {
            let message = "a record is longer than the rest of its section; the rest is ignored";
            return Err(self.abandon_section(offset, message).found(bytes, format!("at most {left}")));
        }
        let data = &mut record[..usize::from(bytes) - RECORD_HEADER_BYTES];
        self.fill_from_section(data)?;
        let minor = header.minor.get();
        let kind = match u8::try_from(header.major.get()) {
            Ok(major) if u16::from(major) == MAJOR => {
                decode::hook(record_type, minor, data, offset + RECORD_HEADER_BYTES as u64)?
            }
            Ok(major @ 1..) => HookKind::Other(Other { record_type: record_type as u8, major, minor, bytes }),
            _ => {
                let message = "a record has no major code; it is ignored";
                return Err(Problem::new(offset + 2, message).found(header.major, "1 to 255"));
            }
        };
        let has_no_time = record_type == MAYBE_WITHOUT_TIME && self.section.is_type_1_without_time;
        Ok(Hook {
            offset,
            processor: self.section.processor,
            time_stamp: if has_no_time { 0 } else { header.time_stamp.get() },
            minor: minor as u8,
            kind,
        })
    }

    fn next_hook(&mut self, record: &mut [u8]) -> Result<Option<Hook>, Problem> {
        if self.section.is_skipped {
            self.skip_section(record)?;
            self.section.is_skipped = false;
        }
        while self.section.left == 0 {
            if !self.next_section()? {
                return Ok(None);
            }
        }
        self.next_record(record).map(Some)
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Hook, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_at_end {
            return None;
        }
        // Moved out of `self`, so that `self` can be borrowed to fill it.
        let mut record = std::mem::take(&mut self.record);
        record.resize(MAX_RECORD_BYTES, 0);
        let next = self.next_hook(&mut record).transpose();
        self.record = record;
        self.is_at_end |= next.is_none();
        next
    }
}

impl<R: Read> std::iter::FusedIterator for TraceReader<R> {}
