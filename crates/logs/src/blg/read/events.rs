//! The events of a log, joined from their parts.

use std::io::{Read, Seek};
use std::ops::Range;

use zerocopy::FromBytes;

use super::buffers::{BufferPlace, Buffers};
use crate::blg::raw::buffer::BUFFER_HEADER_BYTES;
use crate::blg::raw::event::{
    EVENT_HEADER_BYTES, EventHeader, FULL_HEADER_32, FULL_HEADER_64, MARKER_FLAGS, MAX_JOINED_BYTES, Marks,
    PDH_EVENT_CLASS, SAMPLE,
};
use crate::blg::raw::round_up_8;
use crate::error::LogError;
use crate::problem::{Problem, Problems};

/// Most parts that one event may have: as many as fit into that at 880 bytes, what the smallest buffer holds.
const MAX_PARTS: usize = MAX_JOINED_BYTES / 880;

/// Walks the events of all buffers, joining parts.
pub(super) struct Events<R> {
    buffers: Buffers<R>,
    /// Where the next event of the buffer starts; past its end before the first buffer.
    at: usize,
    /// Where the payload of the event last given out lies.
    payload: Payload,
    joined: Vec<u8>,
    /// For each part in `joined`: where it begins there, and in the file.
    part_offsets: Vec<(usize, u64)>,
    unfinished: Option<EventHeader>,
    /// Whether there were events of other classes.
    has_others: bool,
    /// Where in the buffer the last two events begin, the later one last. A sample in one part is none of them: it knows
    /// its size itself, and where that is wrong the reader goes back with [`look_within`](Self::look_within).
    starts: [Option<usize>; 2],
    /// Whether what comes next may be parts of an event whose first ones a circular log has overwritten.
    is_behind_gap: bool,
    /// The GUID that the header names the log by.
    log_guid: Option<[u8; 16]>,
}

/// Where the next event begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventPlace {
    buffer: BufferPlace,
    at: usize,
    starts: [Option<usize>; 2],
    is_behind_gap: bool,
}

#[derive(Clone)]
enum Payload {
    InBuffer(Range<usize>),
    Joined,
}

impl<R: Read + Seek> Events<R> {
    /// How much room a buffer and a joined event have.
    pub(super) fn buffer_bytes(&self) -> u64 {
        (self.buffers.capacity() + self.joined.capacity()) as u64
    }

    /// `log_guid` is the one that the header names the log by.
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
            is_behind_gap: false,
            log_guid,
        }
    }

    /// Whether events of other classes than PDH's were passed over.
    pub(super) fn has_others(&self) -> bool {
        self.has_others
    }

    pub(super) fn buffers(&self) -> &Buffers<R> {
        &self.buffers
    }

    /// What contradicts, at the end of the log, what its header says of it.
    pub(super) fn check_end(&mut self) -> Result<Option<Problem>, LogError> {
        self.buffers.check_end()
    }

    /// Where in the file the header of the event begins whose last part was given out.
    pub(super) fn header_offset(&self) -> u64 {
        let payload = match &self.payload {
            Payload::InBuffer(_) => self.file_offset(0),
            Payload::Joined => self.part_offsets.last().map_or(0, |&(_, offset)| offset),
        };
        payload.saturating_sub(EVENT_HEADER_BYTES as u64)
    }

    /// Back to the first event.
    pub(super) fn rewind(&mut self) -> Result<(), LogError> {
        self.at = usize::MAX;
        self.unfinished = None;
        self.is_behind_gap = false;
        self.joined.clear();
        self.buffers.rewind()
    }

    /// Where the next event begins; `None` in the midst of one.
    pub(super) fn place(&self) -> Option<EventPlace> {
        let place = || EventPlace {
            buffer: self.buffers.place(),
            at: self.at,
            starts: self.starts,
            is_behind_gap: self.is_behind_gap,
        };
        self.unfinished.is_none().then(place)
    }

    /// Goes to a place; false where its buffer is not there any more.
    pub(super) fn go_to(&mut self, place: &EventPlace) -> Result<bool, LogError> {
        self.forget();
        if !self.buffers.go_to(&place.buffer)? {
            return Ok(false);
        }
        self.at = place.at;
        self.starts = place.starts;
        self.is_behind_gap = place.is_behind_gap;
        Ok(true)
    }

    /// Forward to the last buffers; false where that is not forward.
    pub(super) fn go_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        if !self.buffers.go_near_end(bytes)? {
            return Ok(false);
        }
        self.forget();
        self.is_behind_gap = true;
        Ok(true)
    }

    /// Forgets what was read of events so far.
    fn forget(&mut self) {
        self.at = usize::MAX;
        self.starts = [None; 2];
        self.unfinished = None;
        self.is_behind_gap = false;
        self.payload = Payload::Joined;
        self.joined.clear();
        self.part_offsets.clear();
    }

    /// The payload of the event last given out.
    pub(super) fn payload(&self) -> &[u8] {
        match &self.payload {
            Payload::InBuffer(range) => &self.buffers.used()[range.clone()],
            Payload::Joined => &self.joined,
        }
    }

    /// Where in the file byte `at` of the payload lies.
    pub(super) fn file_offset(&self, at: usize) -> u64 {
        match &self.payload {
            Payload::InBuffer(range) => self.buffers.offset() + (range.start + at) as u64,
            Payload::Joined => {
                let part = self.part_offsets.partition_point(|&(begin, _)| begin <= at).saturating_sub(1);
                self.part_offsets.get(part).map_or(0, |&(begin, offset)| offset + (at - begin) as u64)
            }
        }
    }

    /// Goes back into the event last given out, whose size proved wrong, where another event begins within it.
    pub(super) fn look_within(&mut self) {
        let Payload::InBuffer(payload) = &self.payload else { return };
        let used = self.buffers.used();
        let end = self.at.saturating_add(EVENT_HEADER_BYTES).min(used.len());
        if let Some(found) = find_event(&used[..end], payload.start) {
            self.at = self.at.min(found);
        }
    }

    /// The header of the next whole event of PDH's class; its payload is then at [`payload`](Self::payload).
    pub(super) fn next(&mut self, problems: &mut Problems) -> Result<Option<EventHeader>, LogError> {
        loop {
            let Some((header, payload)) = self.next_part(problems)? else {
                // The recorder may be writing the rest of its parts.
                if let Some(unfinished) = self.unfinished.take()
                    && !self.buffers.is_unfinished()
                {
                    self.drop_parts(&unfinished, None, problems);
                }
                return Ok(None);
            };
            self.is_behind_gap &= header.part.get() > 1;
            if header.parts.get() == 1 && header.part.get() == 1 {
                if let Some(unfinished) = self.unfinished.take() {
                    self.drop_parts(&unfinished, Some(&header), problems);
                    if self.look_back(self.starts[0], payload.start - EVENT_HEADER_BYTES, problems) {
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

    /// Adds a part; true when it was the last.
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
                if self.look_back(self.starts[0], limit, problems) {
                    return false;
                }
            } else if self.joined.len() + payload.len() > MAX_JOINED_BYTES
                || self.part_offsets.len() >= MAX_PARTS
            {
                let problem = Problem::new(offset - 8, "an event of too many parts or bytes; left out");
                let found = format!("part {part}, {} bytes", self.joined.len() + payload.len());
                problems.push(problem.found(found, format!("{MAX_PARTS} parts, {MAX_JOINED_BYTES} bytes")));
                return false;
            } else {
                self.take_part(payload, offset);
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
            self.take_part(payload, offset);
            self.unfinished = Some(*header);
        } else if !(self.is_behind_gap && (2..=parts).contains(&part)) {
            // Parts whose first ones were overwritten are no damage.
            let problem =
                Problem::new(offset - 8, "a part of an event without the parts before it; left out");
            problems.push(problem.found(format_args!("part {part} of {parts}"), "part 1"));
        }
        false
    }

    /// Goes back to an event that begins before `limit` within the one at `start`, whose size then is wrong and made
    /// what follows it look damaged; false where there is none.
    fn look_back(&mut self, start: Option<usize>, limit: usize, problems: &mut Problems) -> bool {
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

    fn take_part(&mut self, payload: Range<usize>, offset: u64) {
        self.part_offsets.push((self.joined.len(), offset));
        self.joined.extend_from_slice(&self.buffers.used()[payload]);
    }

    /// Leaves out an event that is followed by `next` instead of its last parts. Where a log was appended to, a killed recorder
    /// left it.
    fn drop_parts(&mut self, unfinished: &EventHeader, next: Option<&EventHeader>, problems: &mut Problems) {
        if next.is_some_and(|next| Marks::of(next).is_new_log) {
            return;
        }
        let offset = self.part_offsets.first().map_or(0, |&(_, offset)| offset);
        problems.push(
            Problem::new(offset, "an event whose last parts are missing; left out")
                .found(unfinished.part.get(), format!("{} parts", unfinished.parts.get())),
        );
    }

    /// The next event or part of one: its header, and where its payload lies in the buffer.
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
                self.is_behind_gap |= self.buffers.is_behind_gap();
                continue;
            }
            let used = self.buffers.used();
            let offset = self.buffers.offset() + self.at as u64;
            match look_at(&used[self.at..], offset, self.log_guid) {
                Ok(Looked { header, size }) => {
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
                    self.has_others |= is_of_other_trace(&used[self.at..]);
                    if self.buffers.is_unsettled(self.at) && find_event(used, self.at + 8).is_none() {
                        // The recorder is writing this event, or was killed while it did. A mark taken here stays true.
                        return Ok(None);
                    }
                    let before = self.starts[1].take();
                    if self.look_back(before, self.at, problems) {
                        continue;
                    }
                    // Look for the next event of this buffer by PDH's class GUID.
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

struct Looked {
    /// `None` for an event of another class, which is skipped.
    header: Option<EventHeader>,
    size: usize,
}

/// Whether an event is of a kind that performance logs never have, but traces of the kernel and of programs do.
///
/// Source: `TRACE_HEADER_TYPE_...` (ntwmi.h): system, compact, instance, timed, error, message, performance information,
/// and event headers.
fn is_of_other_trace(bytes: &[u8]) -> bool {
    const MESSAGE_FLAGS: u8 = 0x90;
    let &[_, _, kind, marker, ..] = bytes else { return false };
    matches!(marker, MARKER_FLAGS | MESSAGE_FLAGS) && matches!(kind, 1..=4 | 11..=13 | 15..=19 | 21)
}

/// An event that is one of the log's by the log's GUID alone.
#[cold]
fn wrong_class(header: &EventHeader, offset: u64) -> Problem {
    let guid = |bytes| uuid::Uuid::from_bytes_le(bytes).hyphenated().to_string();
    Problem::new(offset + 0x18, "an event's class GUID is wrong; its log GUID is the log's, so it is read")
        .found(guid(header.class), guid(PDH_EVENT_CLASS))
}

/// Reads the header at the start of `bytes`, which end where the buffer's events end. An event is the log's by its class,
/// or by the GUID of the log.
fn look_at(bytes: &[u8], offset: u64, log_guid: Option<[u8; 16]>) -> Result<Looked, Problem> {
    let Ok((header, _)) = EventHeader::read_from_prefix(bytes) else {
        return Err(Problem::new(offset, "an event is cut off").found(bytes.len(), "at least 72 bytes"));
    };
    if header.marker != MARKER_FLAGS || !matches!(header.header_type, FULL_HEADER_32 | FULL_HEADER_64) {
        return Err(Problem::new(offset + 2, "this is no event header")
            .found(format_args!("{:02x} {:02x}", header.header_type, header.marker), "0a c0 or 14 c0"));
    }
    let size = usize::from(header.size.get());
    let is_ours =
        header.class == PDH_EVENT_CLASS || (size >= EVENT_HEADER_BYTES && log_guid == Some(header.log_guid));
    let smallest = if is_ours { EVENT_HEADER_BYTES } else { 0x30 };
    if size < smallest || size > bytes.len() {
        return Err(Problem::new(offset, "an event's size is wrong; the event is left out")
            .found(size, format!("{smallest} to {}", bytes.len())));
    }
    Ok(Looked { header: is_ours.then_some(header), size })
}

/// Where, from `from` on and aligned to 8, the next event of PDH's class begins.
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
