//! Appends to an existing log.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Extent, Instance};
use tachograph_counters::wildcard::eq_ignore_case;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use super::BlgWriter;
use super::buffers::BufferWriter;
use super::records::is_compatible;
use crate::Problem;
use crate::blg::BlgReader;
use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader, FLAG_DATA_BUFFER, FLAG_LAST_BUFFER};
use crate::blg::raw::event::{
    EVENT_HEADER_BYTES, EventHeader, FULL_HEADER_32, FULL_HEADER_64, MARKER_FLAGS, PDH_EVENT_CLASS,
};
use crate::blg::raw::header::MODE_CIRCULAR;
use crate::blg::raw::round_up_8;
use crate::blg::read::{AppendState, guid_in_header};
use crate::error::LogError;

impl<W: Read + Write + Seek> BlgWriter<W> {
    /// Appends to the log in `out`, which any program may have written. New samples follow its last buffer and use
    /// its counters, time zone, GUID and buffer size. Reads the whole log to find the time of the last sample.
    ///
    /// Existing buffers are not changed, except that an unfinished sample of a killed recorder is removed. The
    /// first appended sample must have the log's groups and be later than its last sample. It is marked as the
    /// first of a different log, and also as a restart if the machine was restarted since.
    ///
    /// # Errors
    ///
    /// When reading or writing fails, or `out` is not a BLG with a counter list; [`LogError::is_corrupt`] if damage
    /// prevents appending; [`LogError::is_unsupported`] if the log is circular, ends with a catalogue, or was
    /// recorded with a performance counter frequency other than `performance_frequency`.
    pub fn append(mut out: W, performance_frequency: i64) -> Result<Self, LogError> {
        let log = BlgReader::new(&mut out)?.append_state()?;
        check(&log, performance_frequency)?;
        let buffer_bytes = log.buffer_bytes;
        let Some((events, index)) = close_last_buffer(&mut out, log.file_bytes, buffer_bytes)? else {
            let last = log.file_bytes.saturating_sub(1) / buffer_bytes as u64 * buffer_bytes as u64;
            let message = "the last buffer is damaged, so nothing can be appended: relog the log first";
            return Err(LogError::corrupt(Problem::new(last, message)));
        };
        let guid = guid_in_header(&log.header).or(log.guid).unwrap_or_default();
        let header_type = if log.header.system.header_type == 1 { FULL_HEADER_32 } else { FULL_HEADER_64 };
        let last_utc = log.last.map_or(FileTime(0), |last| last.utc).max(events);
        let buffers = BufferWriter::after(out, buffer_bytes, index).continuing(guid, header_type, last_utc);
        let mut writer = Self::from_buffers(buffers);
        writer.has_started = true;
        writer.zone = Some(log.header.zone.to_zone());
        writer.last = log.last;
        writer.appended_to = log.last;
        writer.existing_problems = log.problems;
        writer.existing = Some(ExistingEnd { sets: log.sets, last: log.last });
        Ok(writer)
    }
}

/// Checks that the log can be continued.
fn check(log: &AppendState, performance_frequency: i64) -> Result<(), LogError> {
    let unsupported = |why: String| Err(LogError::unsupported(format!("cannot append: {why}")));
    if log.header.start.log_file_mode.get() & MODE_CIRCULAR != 0 {
        return unsupported("the log is circular; relog it first".to_owned());
    }
    if log.is_partial {
        return unsupported("the log's counter list is damaged; relog it first".to_owned());
    }
    if log.has_catalogue {
        return unsupported("the log ends with a catalogue; use relog -a".to_owned());
    }
    let frequency = log.header.end.performance_frequency.get();
    if frequency != performance_frequency {
        return unsupported(format!(
            "the performance counter of the log has {frequency} ticks per second, but this one has {performance_frequency}"
        ));
    }
    Ok(())
}

/// The end of the log to which samples are appended.
pub(super) struct ExistingEnd {
    /// The descriptions of the counter list's entries, in order.
    sets: Vec<Arc<CounterSet>>,
    last: Option<Moment>,
}

impl ExistingEnd {
    /// Whether a machine with this boot time was restarted after the end of the log.
    pub(super) fn is_before(&self, boot_time: FileTime) -> bool {
        self.last.is_some_and(|last| boot_time > last.utc)
    }

    /// Checks that `sample` can be appended. `at` is its time in the log's time zone.
    pub(super) fn check(&self, sample: &Sample, at: Moment) -> Result<(), LogError> {
        if let Some(difference) = self.difference(sample) {
            return Err(LogError::unsupported(format!("cannot append: {difference}")));
        }
        match self.last {
            Some(last) if at.utc <= last.utc => Err(LogError::not_later(format!(
                "cannot append: the log ends at {last}; the sample at {at} is not later"
            ))),
            _ => Ok(()),
        }
    }

    /// Describes the first entry in which a sample differs from the log; `None` if they agree.
    fn difference(&self, sample: &Sample) -> Option<String> {
        let mut new = sample
            .groups
            .iter()
            .flat_map(|group| (0..group.set.record_count()).map(move |record| entry_of(&group.set, record)));
        for old in &self.sets {
            let Some(new) = new.next() else { return Some(format!("the sample has no '{}'", path(old))) };
            if is_compatible(old, &new) {
                continue;
            }
            let (old_path, new_path) = (path(old), path(&new));
            if !eq_ignore_case(&old_path, &new_path) {
                return Some(format!("the log has '{old_path}' where the sample has '{new_path}'"));
            }
            if old.extent != new.extent {
                return Some(format!("the log has another kind of record for '{old_path}'"));
            }
            let counter = |set: &CounterSet| {
                set.counters
                    .first()
                    .map(|counter| (counter.counter_type.0, counter.time_base))
                    .unwrap_or_default()
            };
            let ((old_type, old_base), (new_type, new_base)) = (counter(old), counter(&new));
            return Some(format!(
                "'{old_path}' has type {old_type:#010x} with {old_base} ticks per second in the log, and {new_type:#010x} with {new_base} in the sample"
            ));
        }
        new.next().map(|new| format!("the log has no '{}'", path(&new)))
    }
}

/// The description of one record of a group.
fn entry_of(set: &CounterSet, record: usize) -> CounterSet {
    let mut entry = set.clone();
    if set.extent != Extent::Table {
        entry.counters = vec![set.counters[record].clone()];
    }
    entry
}

/// The path of an entry, with its wildcards.
fn path(set: &CounterSet) -> String {
    let instance = set.instance.clone().unwrap_or_else(|| Arc::new(Instance::new(None, "*", 0)));
    match set.counters.first() {
        Some(counter) if set.extent != Extent::Table => set.path(&instance, counter),
        _ if set.has_instances => format!(r"\\{}\{}(*)\*", set.machine, set.name),
        _ => format!(r"\\{}\{}\*", set.machine, set.name),
    }
}

/// Completes the last buffer so that others can follow: stores the length of its complete events in its header, and
/// pads the rest. Returns the buffer's flush time and the index of the next buffer; `None` if the buffer is damaged.
///
/// A killed recorder leaves events, complete or not, that the header does not count yet, a missing header, or a
/// file that ends inside the buffer.
fn close_last_buffer<W: Read + Write + Seek>(
    out: &mut W,
    file_bytes: u64,
    buffer_bytes: usize,
) -> Result<Option<(FileTime, u64)>, LogError> {
    let index = file_bytes.saturating_sub(1) / buffer_bytes as u64;
    let start = index * buffer_bytes as u64;
    let mut bytes = Vec::new();
    out.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
    out.take(buffer_bytes as u64).read_to_end(&mut bytes).map_err(LogError::io)?;
    let Ok((mut header, _)) = BufferHeader::read_from_prefix(&bytes) else {
        // The file ends inside the header of the buffer: overwrite the buffer.
        return Ok((index > 0).then_some((FileTime(0), index)));
    };
    if index == 0 {
        return Ok(None);
    }
    let fill = header.offset.get() as usize;
    let is_filler = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0xFF);
    let is_complete = fill >= BUFFER_HEADER_BYTES && bytes.get(fill..).is_some_and(is_filler);
    let mut end = fill;
    if !is_complete {
        let (end_of_events, cut) = end_of_complete_events(&bytes, BUFFER_HEADER_BYTES);
        end = end_of_events;
        // A killed recorder cuts off only the last event. If events follow, the buffer is damaged in another way.
        let after_cut = bytes.get(cut + EVENT_HEADER_BYTES..).unwrap_or_default();
        if after_cut.windows(PDH_EVENT_CLASS.len()).any(|bytes| *bytes == PDH_EVENT_CLASS) {
            return Ok(None);
        }
    }
    // Write the padding first: it replaces only incomplete events.
    if bytes.len() < buffer_bytes || !bytes.get(end..).is_some_and(is_filler) {
        bytes.resize(buffer_bytes.max(end), 0xFF);
        bytes[end..].fill(0xFF);
        out.seek(SeekFrom::Start(start + end as u64)).map_err(LogError::io)?;
        out.write_all(&bytes[end..]).map_err(LogError::io)?;
    }
    if end != fill {
        if !(BUFFER_HEADER_BYTES..=buffer_bytes).contains(&fill) {
            header.buffer_size = U32::new(buffer_bytes as u32);
            header.sequence_number = U64::new(index);
            header.state = U32::new(3);
            header.flags = U16::new(FLAG_DATA_BUFFER | FLAG_LAST_BUFFER);
        }
        (header.offset, header.saved_offset) = (U32::new(end as u32), U32::new(end as u32));
        out.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
        out.write_all(header.as_bytes()).map_err(LogError::io)?;
    }
    Ok(Some((FileTime(header.flushed_at.get()), index + 1)))
}

/// Returns the end of the last event after `from` that has all its parts, and the end of the last complete part.
fn end_of_complete_events(bytes: &[u8], from: usize) -> (usize, usize) {
    let (mut at, mut end) = (from, from);
    while let Some((header, _)) = bytes.get(at..).and_then(|rest| EventHeader::read_from_prefix(rest).ok()) {
        let size = usize::from(header.size.get());
        let is_event = header.marker == MARKER_FLAGS
            && matches!(header.header_type, FULL_HEADER_32 | FULL_HEADER_64)
            && header.class == PDH_EVENT_CLASS;
        if !is_event || size < EVENT_HEADER_BYTES || at + size > bytes.len() {
            break;
        }
        at += round_up_8(size);
        if header.part == header.parts {
            end = at;
        }
    }
    (end, at)
}
