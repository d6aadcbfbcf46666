//! Reads the events of a log, and joins events that are split into parts.

use std::io::{Read, Seek};
use std::ops::Range;

use zerocopy::FromBytes;

use super::buffers::{BufferPosition, Buffers};
use crate::blg::raw::buffer::BUFFER_HEADER_BYTES;
use crate::blg::raw::event::{
    EVENT_HEADER_BYTES, EventHeader, FULL_HEADER_32, FULL_HEADER_64, MARKER_FLAGS, MAX_JOINED_BYTES, Marks,
    PDH_EVENT_CLASS, SAMPLE,
};
use crate::blg::raw::round_up_8;
use crate::error::LogError;
use crate::{Problem, Problems};

/// Maximum number of parts of an event: enough for 64 MiB in the smallest buffers, which hold 880 bytes each.
const MAX_PARTS: usize = MAX_JOINED_BYTES / 880;

/// Iterates over the events of all buffers, and joins events that are split into parts.
pub(super) struct Events<R> {
    buffers: Buffers<R>,
    /// Offset of the next event in the buffer; `usize::MAX` before the first buffer.
    at: usize,
    /// The payload of the last returned event.
    payload: Payload,
    /// The payload of a split event, joined from its parts.
    joined: Vec<u8>,
    /// The offset of each part in `joined` and in the file.
    part_offsets: Vec<(usize, u64)>,
    /// While a split event is incomplete: the header of the part that was read last.
    unfinished: Option<EventHeader>,
    /// Whether events of other classes were skipped.
    has_others: bool,
    /// Offsets in the buffer of the last two events, the later one last. `None` for an unsplit sample, because its payload
    /// also states its size; if the two sizes differ, the reader calls [`rescan_payload`](Self::rescan_payload).
    starts: [Option<usize>; 2],
    /// Whether the next events can be the last parts of an event whose first parts were overwritten in a circular log.
    follows_gap: bool,
    /// The log GUID in the header.
    log_guid: Option<[u8; 16]>,
}

/// Position of the next event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventPosition {
    buffer: BufferPosition,
    at: usize,
    starts: [Option<usize>; 2],
    follows_gap: bool,
}

/// The location of the last returned event's payload.
#[derive(Clone)]
enum Payload {
    InBuffer(Range<usize>),
    Joined,
}

impl<R: Read + Seek> Events<R> {
    /// Memory of the buffer and the joined event, in bytes.
    pub(super) fn buffer_bytes(&self) -> u64 {
        (self.buffers.capacity() + self.joined.capacity()) as u64
    }

    pub(super) fn new(buffers: Buffers<R>, log_guid: Option<[u8; 16]>) -> Self {
        Self {
            buffers,
            at: usize::MAX,
            payload: Payload::Joined,
            joined: Vec::new(),
            part_offsets: Vec::new(),
            unfinished: None,
            has_others: false,
            starts: [None; 2],
            follows_gap: false,
            log_guid,
        }
    }

    /// Whether events of classes other than PDH's were skipped.
    pub(super) fn has_others(&self) -> bool {
        self.has_others
    }

    pub(super) fn buffers(&self) -> &Buffers<R> {
        &self.buffers
    }

    /// Compares the end of the log with its header.
    pub(super) fn check_end(&mut self) -> Result<Option<Problem>, LogError> {
        self.buffers.check_end()
    }

    /// Offset in the file of the last returned event's header; for a joined event, of its last part's header.
    pub(super) fn header_offset(&self) -> u64 {
        let payload = match &self.payload {
            Payload::InBuffer(_) => self.file_offset(0),
            Payload::Joined => self.part_offsets.last().map_or(0, |&(_, offset)| offset),
        };
        payload.saturating_sub(EVENT_HEADER_BYTES as u64)
    }

    pub(super) fn rewind(&mut self) -> Result<(), LogError> {
        self.at = usize::MAX;
        self.unfinished = None;
        self.follows_gap = false;
        self.joined.clear();
        self.buffers.rewind()
    }

    /// Position of the next event; `None` between two parts of an event.
    pub(super) fn position(&self) -> Option<EventPosition> {
        let position = || EventPosition {
            buffer: self.buffers.position(),
            at: self.at,
            starts: self.starts,
            follows_gap: self.follows_gap,
        };
        self.unfinished.is_none().then(position)
    }

    /// Seeks to a position; false if its buffer was overwritten.
    pub(super) fn seek(&mut self, to: &EventPosition) -> Result<bool, LogError> {
        self.reset();
        if !self.buffers.seek(&to.buffer)? {
            return Ok(false);
        }
        self.at = to.at;
        self.starts = to.starts;
        self.follows_gap = to.follows_gap;
        Ok(true)
    }

    /// Skips whole buffers until about the last `bytes` bytes are left. Returns false if the current position is already
    /// past that point.
    pub(super) fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        if !self.buffers.seek_near_end(bytes)? {
            return Ok(false);
        }
        self.reset();
        self.follows_gap = true;
        Ok(true)
    }

    fn reset(&mut self) {
        self.at = usize::MAX;
        self.starts = [None; 2];
        self.unfinished = None;
        self.follows_gap = false;
        self.payload = Payload::Joined;
        self.joined.clear();
        self.part_offsets.clear();
    }

    pub(super) fn payload(&self) -> &[u8] {
        match &self.payload {
            Payload::InBuffer(range) => &self.buffers.used()[range.clone()],
            Payload::Joined => &self.joined,
        }
    }

    /// Offset in the file of byte `at` of the payload.
    pub(super) fn file_offset(&self, at: usize) -> u64 {
        match &self.payload {
            Payload::InBuffer(range) => self.buffers.offset() + (range.start + at) as u64,
            Payload::Joined => {
                let part = self.part_offsets.partition_point(|&(begin, _)| begin <= at).saturating_sub(1);
                self.part_offsets.get(part).map_or(0, |&(begin, offset)| offset + (at - begin) as u64)
            }
        }
    }

    /// If another event begins inside the last returned event, whose size is therefore wrong, continues at that event.
    pub(super) fn rescan_payload(&mut self) {
        let Payload::InBuffer(payload) = &self.payload else { return };
        let used = self.buffers.used();
        let end = self.at.saturating_add(EVENT_HEADER_BYTES).min(used.len());
        if let Some(found) = find_event(&used[..end], payload.start) {
            self.at = self.at.min(found);
        }
    }

    /// Reads the next complete event that belongs to the log. Returns its header; [`payload`](Self::payload) then
    /// returns its payload.
    pub(super) fn next(&mut self, problems: &mut Problems) -> Result<Option<EventHeader>, LogError> {
        loop {
            let Some((header, payload)) = self.next_part(problems)? else {
                // The recorder may still be writing the remaining parts.
                if let Some(unfinished) = self.unfinished.take()
                    && !self.buffers.is_unfinished()
                {
                    self.drop_parts(&unfinished, None, problems);
                }
                return Ok(None);
            };
            self.follows_gap &= header.part.get() > 1;
            if header.parts.get() == 1 && header.part.get() == 1 {
                if let Some(unfinished) = self.unfinished.take() {
                    self.drop_parts(&unfinished, Some(&header), problems);
                    if self.rescan_event(self.starts[0], payload.start - EVENT_HEADER_BYTES, problems) {
                        continue;
                    }
                }
                self.payload = Payload::InBuffer(payload);
                return Ok(Some(header));
            }
            if self.join(&header, payload, problems) {
                self.payload = Payload::Joined;
                return Ok(Some(header));
            }
        }
    }

    /// Adds a part to the joined event; returns whether the event is complete.
    fn join(&mut self, header: &EventHeader, payload: Range<usize>, problems: &mut Problems) -> bool {
        let (part, parts) = (header.part.get(), header.parts.get());
        let offset = self.buffers.offset() + payload.start as u64;
        if let Some(unfinished) = self.unfinished.take() {
            let next = unfinished.part.get().wrapping_add(1);
            let same = (unfinished.kind, unfinished.local_time, unfinished.parts)
                == (header.kind, header.local_time, header.parts);
            if !same || part != next {
                self.drop_parts(&unfinished, Some(header), problems);
                let limit = payload.start - EVENT_HEADER_BYTES;
                if self.rescan_event(self.starts[0], limit, problems) {
                    return false;
                }
            } else if self.joined.len() + payload.len() > MAX_JOINED_BYTES
                || self.part_offsets.len() >= MAX_PARTS
            {
                let problem = Problem::new(offset - 8, "an event has too many parts or bytes; it is skipped");
                let found = format!("part {part}, {} bytes", self.joined.len() + payload.len());
                problems.push(
                    problem.found(found, format!("at most {MAX_PARTS} parts and {MAX_JOINED_BYTES} bytes")),
                );
                return false;
            } else {
                self.push_part(payload, offset);
                if part == parts {
                    return true;
                }
                self.unfinished = Some(*header);
                return false;
            }
        }
        if part == 1 && parts > 1 {
            self.joined.clear();
            self.part_offsets.clear();
            self.push_part(payload, offset);
            self.unfinished = Some(*header);
        } else if !(self.follows_gap && (2..=parts).contains(&part)) {
            // If the first parts of an event were overwritten in a circular log, its remaining parts are not damage.
            let problem =
                Problem::new(offset - 8, "a part of an event without its previous parts; it is skipped");
            problems.push(problem.found(format_args!("part {part} of {parts}"), "part 1"));
        }
        false
    }

    /// Searches for an event that begins inside the one at `start`, before `limit`. If there is one, the size of the
    /// event at `start` is wrong: reports this, and continues at the inner event. Otherwise returns false.
    fn rescan_event(&mut self, start: Option<usize>, limit: usize, problems: &mut Problems) -> bool {
        let Some(start) = start else { return false };
        let used = self.buffers.used();
        let end = limit.saturating_add(EVENT_HEADER_BYTES).min(used.len());
        let Some(found) = find_event(&used[..end], start + 8).filter(|&found| found < limit) else {
            return false;
        };
        let size = used[start..].first_chunk::<2>().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        problems.push(
            Problem::new(
                self.buffers.offset() + start as u64,
                "an event's size is wrong: another event begins within it",
            )
            .found(size, format!("at most {}", found - start)),
        );
        self.at = found;
        self.starts = [None; 2];
        true
    }

    fn push_part(&mut self, payload: Range<usize>, offset: u64) {
        self.part_offsets.push((self.joined.len(), offset));
        self.joined.extend_from_slice(&self.buffers.used()[payload]);
    }

    /// Skips an event whose last parts are missing. This is damage, unless the recorder was killed and `next` begins
    /// a log appended later.
    fn drop_parts(&mut self, unfinished: &EventHeader, next: Option<&EventHeader>, problems: &mut Problems) {
        if next.is_some_and(|next| Marks::from_header(next).is_new_log) {
            return;
        }
        let offset = self.part_offsets.first().map_or(0, |&(_, offset)| offset);
        problems.push(
            Problem::new(offset, "the last parts of an event are missing; it is skipped")
                .found(unfinished.part.get(), format!("{} parts", unfinished.parts.get())),
        );
    }

    /// Reads the next event or event part. Returns its header and the range of its payload in the buffer.
    fn next_part(
        &mut self,
        problems: &mut Problems,
    ) -> Result<Option<(EventHeader, Range<usize>)>, LogError> {
        loop {
            if self.at >= self.buffers.used().len() {
                if !self.buffers.next(problems)? {
                    return Ok(None);
                }
                self.at = BUFFER_HEADER_BYTES;
                self.starts = [None; 2];
                self.follows_gap |= self.buffers.follows_gap();
                continue;
            }
            let used = self.buffers.used();
            let offset = self.buffers.offset() + self.at as u64;
            match parse_event(&used[self.at..], offset, self.log_guid) {
                Ok(ParsedEvent { header, size }) => {
                    if let Some(header) = header.filter(|header| header.class != PDH_EVENT_CLASS) {
                        problems.push(wrong_class(&header, offset));
                    }
                    let payload = self.at + EVENT_HEADER_BYTES..self.at + size;
                    let is_sample =
                        header.is_some_and(|header| header.kind == SAMPLE && header.parts.get() == 1);
                    self.starts = [self.starts[1], (!is_sample).then_some(self.at)];
                    self.at += round_up_8(size);
                    if let Some(header) = header {
                        return Ok(Some((header, payload)));
                    }
                    self.has_others = true;
                }
                Err(problem) => {
                    self.has_others |= is_other_trace_event(&used[self.at..]);
                    if self.buffers.may_be_incomplete(self.at) && find_event(used, self.at + 8).is_none() {
                        // The recorder is writing this event, or was killed while writing it. The position does not
                        // change, so that a `Mark` at this event stays valid.
                        return Ok(None);
                    }
                    let before = self.starts[1].take();
                    if self.rescan_event(before, self.at, problems) {
                        continue;
                    }
                    // Search the buffer for the next event of PDH's class.
                    let used = self.buffers.used();
                    let found = find_event(used, self.at + 8);
                    if self.at < used.len() && (found.is_some() || !is_filler(&used[self.at..])) {
                        problems.push(problem);
                    }
                    self.at = found.unwrap_or(usize::MAX);
                }
            }
        }
    }
}

/// The header of an event, and the size of the event.
struct ParsedEvent {
    /// `None` for an event of another class, which is skipped.
    header: Option<EventHeader>,
    size: usize,
}

/// Whether `bytes` start with an event of a kind that occurs in traces of the kernel and of programs, but never in
/// performance logs.
///
/// Source: `TRACE_HEADER_TYPE_...` (ntwmi.h): system, compact, instance, timed, error, message, performance
/// information, and event headers.
fn is_other_trace_event(bytes: &[u8]) -> bool {
    const MESSAGE_FLAGS: u8 = 0x90;
    let &[_, _, kind, marker, ..] = bytes else { return false };
    matches!(marker, MARKER_FLAGS | MESSAGE_FLAGS) && matches!(kind, 1..=4 | 11..=13 | 15..=19 | 21)
}

/// The problem to report for an event that has the log's GUID but not PDH's class.
#[cold]
fn wrong_class(header: &EventHeader, offset: u64) -> Problem {
    let guid = |bytes| uuid::Uuid::from_bytes_le(bytes).hyphenated().to_string();
    Problem::new(offset + 0x18, "an event's class GUID is wrong; it is read because its log GUID is right")
        .found(guid(header.class), guid(PDH_EVENT_CLASS))
}

/// Parses the event header at the start of `bytes`, which extend to the end of the buffer's events. An event belongs
/// to the log if it has PDH's class or the log's GUID.
fn parse_event(bytes: &[u8], offset: u64, log_guid: Option<[u8; 16]>) -> Result<ParsedEvent, Problem> {
    let Ok((header, _)) = EventHeader::read_from_prefix(bytes) else {
        return Err(Problem::new(offset, "an event is cut off").found(bytes.len(), "at least 72 bytes"));
    };
    if header.marker != MARKER_FLAGS || !matches!(header.header_type, FULL_HEADER_32 | FULL_HEADER_64) {
        return Err(Problem::new(offset + 2, "not an event header")
            .found(format_args!("{:02x} {:02x}", header.header_type, header.marker), "0a c0 or 14 c0"));
    }
    let size = usize::from(header.size.get());
    let belongs_to_log =
        header.class == PDH_EVENT_CLASS || (size >= EVENT_HEADER_BYTES && log_guid == Some(header.log_guid));
    let smallest = if belongs_to_log { EVENT_HEADER_BYTES } else { 0x30 };
    if size < smallest || size > bytes.len() {
        return Err(Problem::new(offset, "an event's size is wrong; the event is skipped")
            .found(size, format!("{smallest} to {}", bytes.len())));
    }
    Ok(ParsedEvent { header: belongs_to_log.then_some(header), size })
}

/// Offset of the next event of PDH's class, at or after `from` and aligned to 8.
fn find_event(used: &[u8], from: usize) -> Option<usize> {
    let last = used.len().checked_sub(EVENT_HEADER_BYTES)?;
    (round_up_8(from)..=last).step_by(8).find(|&at| {
        used[at + 0x18..at + 0x28] == PDH_EVENT_CLASS
            && used[at + 3] == MARKER_FLAGS
            && matches!(used[at + 2], FULL_HEADER_32 | FULL_HEADER_64)
    })
}

fn is_filler(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0xFF)
}
