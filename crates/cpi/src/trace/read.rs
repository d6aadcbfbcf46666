//! Sections and records of a trace file, one at a time.

use std::io::{ErrorKind, Read};

use zerocopy::{FromZeros, IntoBytes};

use super::TraceProblem;
use super::decode;
use super::hook::{Hook, HookKind, Other};
use super::raw::{
    BYTE_ORDER, GUARD, MAGIC, MAJOR, MAYBE_WITHOUT_TIME, MOST_RECORD_BYTES, RECORD_HEADER_BYTES,
    RecordHeader, SECTION_HEADER_BYTES, SectionHeader, TYPE_BITS,
};

/// A reader of a trace file, which holds one record of at most 65,532 bytes.
///
/// It is an iterator of hooks and problems, in the order of the file. After a problem it goes on with the
/// next record, or, where the damaged record's length cannot be believed, with the next section; after the
/// end of a file that was cut short, a damaged section's header or a failed read there is nothing more. A get
/// of which not all hooks were written is in no section's count: what was lost that way, and any other bytes
/// after the last section, is told as the last problem.
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
    /// What could not be read, told after what was read.
    is_at_end: bool,
    record: Vec<u8>,
}

/// What is left of a section.
#[derive(Debug, Default)]
struct Section {
    processor: u32,
    is_type_1_without_time: bool,
    /// Bytes of records not read yet.
    left: u32,
    /// They are to be skipped: where a record ends is not known.
    is_lost: bool,
}

impl<R: Read> TraceReader<R> {
    /// Reads from the start of a file. The reader buffers nothing but a record: a file is best given in a
    /// [`BufReader`](std::io::BufReader).
    pub fn new(input: R) -> Self {
        Self { input, offset: 0, section: Section::default(), is_at_end: false, record: Vec::new() }
    }

    /// Reads until the bytes are full or the file ends; how many there were.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, TraceProblem> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                // A reader that says more than it was asked for is no reason to panic.
                Ok(count) => filled += count.min(bytes.len() - filled),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_at_end = true;
                    let offset = self.offset + filled as u64;
                    let what = format!("the file cannot be read on: {error}; what follows is left out");
                    return Err(TraceProblem::new(offset, what));
                }
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// Fills the bytes with the section's next; an error where the file ends before.
    fn fill_of_section(&mut self, bytes: &mut [u8]) -> Result<(), TraceProblem> {
        let filled = self.fill(bytes)?;
        if filled == bytes.len() {
            self.section.left -= filled as u32;
            return Ok(());
        }
        self.is_at_end = true;
        let missing = u64::from(self.section.left) - filled as u64;
        let what = "the file ends inside a section; the hook that it cuts, and those after it, are left out";
        Err(TraceProblem::new(self.offset, what).found("the end", format!("{missing} bytes more")))
    }

    /// Reads a section's header; `false` at the end of the file.
    fn next_section(&mut self) -> Result<bool, TraceProblem> {
        let start = self.offset;
        let mut header = SectionHeader::new_zeroed();
        let filled = self.fill(header.as_mut_bytes())?;
        if filled == 0 && start > 0 {
            return Ok(false);
        }
        // Until the header is found good: nothing tells where the next one is.
        self.is_at_end = true;
        if filled < MAGIC.len() || header.magic != MAGIC {
            let found = header.as_bytes()[..filled.min(MAGIC.len())].escape_ascii();
            let what = if start == 0 {
                "this is no trace"
            } else {
                // What a program leaves that was killed while it wrote, too.
                "what follows the last counted hook is no section; it is left out"
            };
            return Err(TraceProblem::new(start, what).found(format!("\"{found}\""), "\"NRM2\""));
        }
        if filled < SECTION_HEADER_BYTES {
            let what = "the file ends inside the header of a section, which is left out";
            return Err(TraceProblem::new(start, what).found(format!("{filled} bytes"), "512"));
        }
        let byte_order = header.byte_order.get();
        if byte_order != BYTE_ORDER {
            let what = if byte_order == BYTE_ORDER.swap_bytes() {
                "the file is big-endian, which is not read"
            } else {
                "the section has no byte order; it and what follows is left out"
            };
            return Err(TraceProblem::new(start + 4, what).found(format!("{byte_order:#010x}"), "0x04030201"));
        }
        let header_bytes = header.header_bytes.get();
        if header_bytes as usize != SECTION_HEADER_BYTES {
            let what = "the header of a section has another size; it and what follows is left out";
            return Err(TraceProblem::new(start + 12, what).found(header_bytes, "512"));
        }
        self.is_at_end = false;
        self.section = Section {
            processor: header.processor.get(),
            is_type_1_without_time: header.is_type_1_without_time.get() != 0,
            left: header.data_bytes.get(),
            is_lost: false,
        };
        if header.guard != GUARD {
            let what = "the section went through a transfer in text mode, which damages it; it is read on";
            return Err(TraceProblem::new(start + 8, what).found(format!("{:#04x}", header.guard), "0x0a"));
        }
        Ok(true)
    }

    /// The rest of the section cannot be told apart into records.
    fn lose_section(&mut self, offset: u64, what: &'static str) -> TraceProblem {
        self.section.is_lost = true;
        TraceProblem::new(offset, what)
    }

    /// Passes over what is left of a section.
    fn skip_section(&mut self, record: &mut [u8]) -> Result<(), TraceProblem> {
        while self.section.left > 0 {
            let count = record.len().min(self.section.left as usize);
            self.fill_of_section(&mut record[..count])?;
        }
        Ok(())
    }

    /// The section's next record.
    fn next_record(&mut self, record: &mut [u8]) -> Result<Hook, TraceProblem> {
        let offset = self.offset;
        let left = self.section.left;
        if (left as usize) < RECORD_HEADER_BYTES {
            let what = "the section's data ends inside the header of a record, which is left out";
            return Err(self.lose_section(offset, what).found(format!("{left} bytes"), "at least 16"));
        }
        let mut header = RecordHeader::new_zeroed();
        self.fill_of_section(header.as_mut_bytes())?;
        let type_and_bytes = header.type_and_bytes.get();
        let (record_type, bytes) = (type_and_bytes & TYPE_BITS, type_and_bytes & !TYPE_BITS);
        if usize::from(bytes) < RECORD_HEADER_BYTES {
            let what = "a record is shorter than its header; the rest of its section is left out";
            return Err(self.lose_section(offset, what).found(bytes, "at least 16"));
        }
        if u32::from(bytes) > left {
            let what = "a record is longer than what is left of its section, which is left out";
            return Err(self.lose_section(offset, what).found(bytes, format!("at most {left}")));
        }
        let data = &mut record[..usize::from(bytes) - RECORD_HEADER_BYTES];
        self.fill_of_section(data)?;
        let minor = header.minor.get();
        let kind = match u8::try_from(header.major.get()) {
            Ok(major) if u16::from(major) == MAJOR => {
                decode::hook(record_type, minor, data, offset + RECORD_HEADER_BYTES as u64)?
            }
            Ok(major @ 1..) => HookKind::Other(Other { record_type: record_type as u8, major, minor, bytes }),
            _ => {
                let what = "a record has no major code; it is left out";
                return Err(TraceProblem::new(offset + 2, what).found(header.major, "1 to 255"));
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

    fn next_hook(&mut self, record: &mut [u8]) -> Result<Option<Hook>, TraceProblem> {
        if self.section.is_lost {
            self.skip_section(record)?;
            self.section.is_lost = false;
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
    type Item = Result<Hook, TraceProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_at_end {
            return None;
        }
        // Taken out, so that it can be filled while the reader counts.
        let mut record = std::mem::take(&mut self.record);
        record.resize(MOST_RECORD_BYTES, 0);
        let next = self.next_hook(&mut record).transpose();
        self.record = record;
        self.is_at_end |= next.is_none();
        next
    }
}

impl<R: Read> std::iter::FusedIterator for TraceReader<R> {}
