//! Going on with a log that is there.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent, Instance};
use tachograph_counters::wildcard::eq_ignore_case;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use super::BlgWriter;
use super::buffers::{BufferWriter, FLAG_DATA_BUFFER, FLAG_LAST_BUFFER};
use super::records::{GroupEncoder, is_continued};
use crate::blg::BlgReader;
use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
use crate::blg::raw::event::{
    EVENT_HEADER_BYTES, EventHeader, FULL_HEADER_32, FULL_HEADER_64, MARKER_FLAGS, PDH_EVENT_CLASS,
};
use crate::blg::raw::header::MODE_CIRCULAR;
use crate::blg::raw::round_up_8;
use crate::blg::read::{Survey, guid_named};
use crate::error::LogError;
use crate::problem::Problem;

impl<W: Read + Write + Seek> BlgWriter<W> {
    /// Goes on with the log in `out`, whoever wrote it, behind its last buffer: with its counters, zone, GUID and size of
    /// buffers. Reads all of it, for the time of its last sample.
    ///
    /// Buffers that are there are left as they are; only a sample that the recorder had not finished when it was killed is
    /// taken out behind the last whole one. The first sample must have the log's groups and be later than its last one. It
    /// is marked as the first one of another log, and where the machine was started since, as that.
    ///
    /// # Errors
    ///
    /// When reading or writing fails, or `out` is no BLG with a counter list; "corrupt" when it is damaged so that nothing
    /// can be put behind it; "unsupported" when it is circular, ends with a catalogue of its block records, or was recorded
    /// with another frequency of the performance counter than `performance_frequency`.
    pub fn append(mut out: W, performance_frequency: i64) -> Result<Self, LogError> {
        let survey = BlgReader::new(&mut out)?.survey()?;
        check(&survey, performance_frequency)?;
        let buffer_bytes = survey.buffer_bytes;
        let Some((events, number)) = close_last_buffer(&mut out, survey.file_bytes, buffer_bytes)? else {
            let last = survey.file_bytes.saturating_sub(1) / buffer_bytes as u64 * buffer_bytes as u64;
            let what = "the last buffer is damaged, nothing can be appended to it: relog the log first";
            return Err(LogError::corrupt(Problem::new(last, what)));
        };
        let guid = guid_named(&survey.header).or(survey.guid).unwrap_or_default();
        let header_type = if survey.header.system.header_type == 1 { FULL_HEADER_32 } else { FULL_HEADER_64 };
        let last_utc = survey.last.map_or(FileTime(0), |last| last.utc).max(events);
        let buffers = BufferWriter::behind(out, buffer_bytes, number).like(guid, header_type, last_utc);
        let mut writer = Self::over(buffers);
        let groups = survey.sets.into_iter().map(Group::new);
        writer.encoders = groups.map(|group| GroupEncoder::new(&group)).collect::<Result<_, _>>()?;
        writer.is_begun = true;
        writer.zone = Some(survey.header.zone.to_zone());
        writer.last = survey.last;
        writer.resumed = Some(Resumed { last: survey.last });
        Ok(writer)
    }
}

/// Refuses a log that cannot go on.
fn check(survey: &Survey, performance_frequency: i64) -> Result<(), LogError> {
    let refused = |why: String| Err(LogError::unsupported(format!("cannot append: {why}")));
    if survey.header.start.log_file_mode.get() & MODE_CIRCULAR != 0 {
        return refused("the log is circular, its end is in its midst; relog it first".to_owned());
    }
    if survey.is_partial {
        return refused("the log's counter list is damaged; relog it first".to_owned());
    }
    if survey.has_catalogue {
        return refused("the log ends with a catalogue of its samples; relog -a can".to_owned());
    }
    let frequency = survey.header.end.performance_frequency.get();
    if frequency != performance_frequency {
        return refused(format!(
            "the log was recorded with a performance counter of {frequency} ticks a second, and this one has {performance_frequency}"
        ));
    }
    Ok(())
}

/// What a log ended with that samples are to follow.
pub(super) struct Resumed {
    last: Option<Moment>,
}

impl Resumed {
    /// Whether a machine that was started then was started since.
    pub(super) fn is_before(&self, boot_time: FileTime) -> bool {
        self.last.is_some_and(|last| boot_time > last.utc)
    }

    /// Whether a sample, at this moment of the log's zone, may follow.
    pub(super) fn check(
        &self,
        encoders: &[GroupEncoder],
        sample: &Sample,
        at: Moment,
    ) -> Result<(), LogError> {
        if let Some(difference) = difference(encoders, &sample.groups) {
            return Err(LogError::unsupported(format!("cannot append: {difference}")));
        }
        match self.last {
            Some(last) if at.utc <= last.utc => Err(LogError::unsupported(format!(
                "cannot append: the log ends at {last}, and the sample is of {at}"
            ))),
            _ => Ok(()),
        }
    }
}

/// The first entry in which a sample differs from the log.
fn difference(encoders: &[GroupEncoder], groups: &[Group]) -> Option<String> {
    for (encoder, group) in encoders.iter().zip(groups) {
        let (old, new) = (encoder.set(), &*group.set);
        if is_continued(old, new) {
            continue;
        }
        let (old_path, new_path) = (path(old), path(new));
        if !eq_ignore_case(&old_path, &new_path) {
            return Some(format!("where the log has '{old_path}', the sample has '{new_path}'"));
        }
        if old.extent != new.extent {
            return Some(format!("the log has '{old_path}' in records of another kind"));
        }
        let counter = |set: &CounterSet| {
            set.counters
                .first()
                .map(|counter| (counter.counter_type.0, counter.time_base))
                .unwrap_or_default()
        };
        let ((old_type, old_base), (new_type, new_base)) = (counter(old), counter(new));
        return Some(format!(
            "in the log '{old_path}' has the type {old_type:#010x} and {old_base} ticks a second, in the sample {new_type:#010x} and {new_base}"
        ));
    }
    match (encoders.get(groups.len()), groups.get(encoders.len())) {
        (Some(encoder), _) => Some(format!("the sample has no '{}'", path(encoder.set()))),
        (_, Some(group)) => Some(format!("the log has no '{}'", path(&group.set))),
        _ => None,
    }
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

/// Makes the last buffer one that others may follow: its fill counts its whole events, and nothing but filler is behind
/// them. Gives the time of its flush, and the number of the buffer after it; `None` where it is damaged.
///
/// What a killed recorder leaves: events that the header does not count yet, whole or not; a header that was not written
/// yet; a file that ends within the buffer.
fn close_last_buffer<W: Read + Write + Seek>(
    out: &mut W,
    file_bytes: u64,
    buffer_bytes: usize,
) -> Result<Option<(FileTime, u64)>, LogError> {
    let number = file_bytes.saturating_sub(1) / buffer_bytes as u64;
    let start = number * buffer_bytes as u64;
    let mut bytes = Vec::new();
    out.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
    out.take(buffer_bytes as u64).read_to_end(&mut bytes).map_err(LogError::io)?;
    let Ok((mut header, _)) = BufferHeader::read_from_prefix(&bytes) else {
        // Not even the header was written: the next one takes its place.
        return Ok((number > 0).then_some((FileTime(0), number)));
    };
    if number == 0 {
        return Ok(None);
    }
    let fill = header.offset.get() as usize;
    let is_filler = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0xFF);
    let is_whole = fill >= BUFFER_HEADER_BYTES && bytes.get(fill..).is_some_and(is_filler);
    let mut end = fill;
    if !is_whole {
        let (end_of_events, cut) = end_of_whole(&bytes, BUFFER_HEADER_BYTES);
        end = end_of_events;
        // An event that is cut off is the last thing there is. Where more follow, it is another kind of damage.
        let behind_cut = bytes.get(cut + EVENT_HEADER_BYTES..).unwrap_or_default();
        if behind_cut.windows(PDH_EVENT_CLASS.len()).any(|bytes| *bytes == PDH_EVENT_CLASS) {
            return Ok(None);
        }
    }
    // First the filler: what it takes the place of is not whole, or not there.
    if bytes.len() < buffer_bytes || !bytes.get(end..).is_some_and(is_filler) {
        bytes.resize(buffer_bytes.max(end), 0xFF);
        bytes[end..].fill(0xFF);
        out.seek(SeekFrom::Start(start + end as u64)).map_err(LogError::io)?;
        out.write_all(&bytes[end..]).map_err(LogError::io)?;
    }
    if end != fill {
        if !(BUFFER_HEADER_BYTES..=buffer_bytes).contains(&fill) {
            header.buffer_size = U32::new(buffer_bytes as u32);
            header.sequence_number = U64::new(number);
            header.state = U32::new(3);
            header.flags = U16::new(FLAG_DATA_BUFFER | FLAG_LAST_BUFFER);
        }
        (header.offset, header.saved_offset) = (U32::new(end as u32), U32::new(end as u32));
        out.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
        out.write_all(header.as_bytes()).map_err(LogError::io)?;
    }
    Ok(Some((FileTime(header.flushed_at.get()), number + 1)))
}

/// Where, from `from` on, the last event ends whose parts are all there, and where the last whole part ends.
fn end_of_whole(bytes: &[u8], from: usize) -> (usize, usize) {
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
