//! Writes a BLG in the form of Windows 8 and later: 64-bit, sequential or circular.

mod append;
mod block;
mod buffers;
mod catalogue;
mod header;
mod list;
mod options;
mod records;
mod ring;

use std::collections::HashSet;
use std::io::{Seek, Write};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::Extent;
use tachograph_counters::time_zone::TimeZone;
use zerocopy::IntoBytes;

use super::clock::SystemClocks;
use super::raw::event::{CATALOGUE, COUNTER_LIST, MAX_JOINED_BYTES, Marks, NAME_TABLE, SAMPLE};
use super::raw::list::MAX_ENTRIES;
use super::raw::record::{KIND_SAMPLE, RecordHead};
use crate::error::LogError;
use crate::{LogWriter, Problems, SetLength};
use append::ExistingEnd;
use buffers::BufferWriter;
use catalogue::Catalogue;
use list::NameTables;
pub use options::BlgWriterOptions;
use records::{GroupEncoder, LocalTimes};

/// Writes a BLG.
///
/// The first sample determines the groups of the log: later samples must have the same groups. Groups of
/// [`Extent::Row`] become single records and groups of [`Extent::Columns`] multi records, one per counter; groups of
/// [`Extent::Table`] become block records.
///
/// If the process is killed, the log is readable up to the last [`flush`](LogWriter::flush) or full buffer;
/// [`finish`](LogWriter::finish) completes the header. As long as descriptions and instances stay the same, writing
/// allocates nothing, and a flush takes two writes.
pub struct BlgWriter<W> {
    out: BufferWriter<W>,
    encoders: Vec<GroupEncoder>,
    /// Whether the name tables and the counter list have been written.
    has_started: bool,
    names: NameTables,
    catalogue: Option<Catalogue>,
    /// Buffer for the payload of an event.
    payload: Vec<u8>,
    /// The time of the last sample.
    last: Option<Moment>,
    /// Last known boot time of each group's machine.
    boot_times: Vec<FileTime>,
    /// The [`Sample::log`] of all samples so far.
    logs: HashSet<u32>,
    /// The time zone of an existing log, which applies to appended samples.
    zone: Option<TimeZone>,
    /// The end of an existing log, until the first sample is appended.
    existing: Option<ExistingEnd>,
    appended_to: Option<Moment>,
    existing_problems: Problems,
    /// Detects that the clock was set, so that the sample is marked.
    clocks: SystemClocks,
}

impl<W: Write + Seek> BlgWriter<W> {
    /// Creates a log: writes the header at the start of `out`.
    ///
    /// # Errors
    ///
    /// When writing fails or an option is invalid; [`LogError::is_unsupported`] if a circular log would be smaller
    /// than five buffers.
    pub fn new(out: W, options: BlgWriterOptions) -> Result<Self, LogError> {
        if !u32::try_from(options.buffer_bytes).is_ok_and(super::raw::buffer::is_buffer_size) {
            return Err(LogError::unsupported(
                "the buffer size must be a multiple of 512 from 1024 to 16777216",
            ));
        }
        Ok(Self::from_buffers(BufferWriter::new(out, options)?))
    }

    fn from_buffers(out: BufferWriter<W>) -> Self {
        Self {
            out,
            encoders: Vec::new(),
            has_started: false,
            names: NameTables::default(),
            catalogue: None,
            payload: Vec::new(),
            last: None,
            boot_times: Vec::new(),
            logs: HashSet::new(),
            zone: None,
            existing: None,
            appended_to: None,
            existing_problems: Problems::default(),
            clocks: SystemClocks::default(),
        }
    }

    /// The underlying writer, for example to synchronize a [flushed](LogWriter::flush) file with its disk.
    pub fn get_ref(&self) -> &W {
        self.out.get_ref()
    }

    /// Length of the file in bytes if it were finished now, in whole buffers, including an existing log. Computed
    /// without access to the file.
    pub fn bytes_written(&self) -> u64 {
        self.out.file_bytes()
    }

    /// Time of the last sample, which can be one of the log that was [appended](Self::append) to.
    pub fn last_time(&self) -> Option<Moment> {
        self.last
    }

    /// The time of the last sample of the existing log that is continued.
    pub fn appended_to(&self) -> Option<Moment> {
        self.appended_to
    }

    /// The damage that was found in the existing log.
    pub fn existing_problems(&self) -> &Problems {
        &self.existing_problems
    }

    /// Creates the encoders for the groups of the first sample.
    fn create_encoders(&mut self, sample: &Sample) -> Result<(), LogError> {
        let entries = sample.record_count();
        if entries == 0 {
            return Err(LogError::unsupported("a BLG needs at least one counter"));
        }
        if entries > MAX_ENTRIES {
            return Err(LogError::unsupported(format!(
                "a BLG has at most {MAX_ENTRIES} counters, not {entries}: select fewer"
            )));
        }
        self.encoders = sample.groups.iter().map(GroupEncoder::new).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Writes the name tables and the counter list. `self.payload` must contain the first sample, whose size is
    /// checked.
    fn write_start(&mut self, sample: &Sample) -> Result<(), LogError> {
        self.names.add(sample);
        let names = self.names.drain_events(self.out.part_bytes());
        let mut counters = Vec::new();
        list::encode(sample, &mut counters);
        let sizes = names.iter().chain([&counters]).map(Vec::len);
        self.out.check_start(sizes, self.payload.len())?;
        self.out.start(sample.at)?;
        let (local, utc) = (sample.at.local(), sample.at.utc);
        for payload in names {
            self.out.push_event(NAME_TABLE, 0, local.saturating_sub(20), utc, &payload)?;
        }
        self.out.push_event(COUNTER_LIST, 0, local.saturating_sub(10), utc, &counters)?;
        self.out.start_ring()?;
        // The catalogue of a circular log would list the instances of overwritten samples.
        let is_table = sample.groups.iter().all(|group| group.set.extent == Extent::Table);
        if is_table && !self.out.is_circular() {
            self.catalogue = Some(Catalogue::new(sample));
        }
        self.has_started = true;
        Ok(())
    }

    fn encode(&mut self, sample: &Sample, at: Moment) -> Result<(), LogError> {
        if self.encoders.len() != sample.groups.len() {
            return Err(LogError::unsupported(format!(
                "the counters of a BLG cannot change: it has {} groups, the sample {}",
                self.encoders.len(),
                sample.groups.len()
            )));
        }
        self.payload.clear();
        self.payload.extend_from_slice(RecordHead::new(KIND_SAMPLE, 0).as_bytes());
        let times = LocalTimes::new(sample, at);
        for (encoder, group) in self.encoders.iter_mut().zip(&sample.groups) {
            encoder.encode(group, times, &mut self.payload)?;
        }
        let head = RecordHead::new(KIND_SAMPLE, self.payload.len());
        self.payload[..size_of::<RecordHead>()].copy_from_slice(head.as_bytes());
        if self.payload.len() > MAX_JOINED_BYTES {
            return Err(LogError::unsupported(format!(
                "a sample has {} bytes, and a BLG allows {MAX_JOINED_BYTES}: select fewer counters",
                self.payload.len()
            )));
        }
        self.out.check_sample(self.payload.len())
    }

    /// Determines the marks of the next sample.
    fn marks(&mut self, sample: &Sample, at: Moment) -> Marks {
        let mut is_restart = false;
        self.boot_times.resize(sample.groups.len(), FileTime(0));
        for (known, group) in self.boot_times.iter_mut().zip(&sample.groups) {
            let boot_time = sample.boot_time_of(group);
            if group.is_present() && boot_time.0 != 0 {
                is_restart |= known.0 != 0 && *known != boot_time;
                is_restart |= self.existing.as_ref().is_some_and(|existing| existing.is_before(boot_time));
                *known = boot_time;
            }
        }
        // The samples of merged logs can alternate. Only the first sample of each log is marked.
        let is_new_log = self.logs.insert(sample.log) && (self.last.is_some() || self.existing.is_some());
        // Samples of text logs can go back by an hour at the end of daylight saving time, and rows can have the same time.
        let is_clock_step = self.last.is_some_and(|last| {
            at.utc < last.utc || at.utc == last.utc && !sample.is_baseline && !is_new_log
        });
        let mut marks = Marks { is_baseline: sample.is_baseline, is_restart, is_new_log, is_clock_step };
        if !marks.may_change_clock_difference() {
            let times = LocalTimes::new(sample, at);
            let records = |group: &Group| 0..group.set.record_count();
            let records =
                sample.groups.iter().flat_map(|group| records(group).map(move |record| (group, record)));
            for (entry, (group, record)) in records.enumerate() {
                marks.is_clock_step |=
                    self.clocks.observe(entry, group, record, times.for_group(group)).is_some();
            }
        }
        if marks.may_change_clock_difference() {
            self.clocks.clear();
        }
        marks
    }

    /// Writes the names of new title indexes.
    fn write_names(&mut self, at: Moment) -> Result<(), LogError> {
        if self.out.is_circular() {
            return Err(LogError::unsupported(
                "a circular log cannot store names of new counters in block records: they would be overwritten",
            ));
        }
        let limit = self.out.part_bytes();
        for payload in self.names.drain_events(limit) {
            self.out.push_event(NAME_TABLE, 0, at.local().saturating_sub(20), at.utc, &payload)?;
        }
        Ok(())
    }
}

impl<W: Write + Seek + SetLength> BlgWriter<W> {
    /// After a failed write, restores the file to its state at the last [`flush`](LogWriter::flush) and completes its
    /// header. The log then has all samples up to that flush. Returns the length of the file.
    ///
    /// Only existing bytes are overwritten, which works on a full disk, so the last buffer ends after its events, as
    /// if the recorder had been killed. In a circular log, the samples that the failed write has overwritten are
    /// lost.
    ///
    /// # Errors
    ///
    /// When the file cannot be truncated or written.
    pub fn abort(self) -> Result<u64, LogError> {
        self.out.abort()
    }
}

impl<W: Write + Seek> LogWriter for BlgWriter<W> {
    fn write(&mut self, sample: &Sample) -> Result<(), LogError> {
        let at = self.zone.as_ref().map_or(sample.at, |zone| zone.utc_to_moment(sample.at.utc));
        if let Some(existing) = &self.existing {
            existing.check(sample, at)?;
        }
        if self.encoders.is_empty() {
            self.create_encoders(sample)?;
        }
        self.encode(sample, at)?;
        if !self.has_started {
            self.write_start(sample)?;
        } else if self.names.add(sample) {
            self.write_names(at)?;
        }
        let context = self.marks(sample, at).context();
        self.out.push_event(SAMPLE, context, at.local(), at.utc, &self.payload)?;
        if let Some(catalogue) = &mut self.catalogue {
            catalogue.add(sample);
        }
        self.existing = None;
        self.last = Some(at);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.out.flush()
    }

    fn finish(&mut self) -> Result<(), LogError> {
        if let (Some(catalogue), Some(last)) = (self.catalogue.take(), self.last) {
            self.payload.clear();
            catalogue.encode(last.local(), &mut self.payload);
            self.out.push_event(CATALOGUE, 0, last.local().saturating_add(30), last.utc, &self.payload)?;
        }
        self.out.finish()
    }
}
