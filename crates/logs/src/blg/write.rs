//! Writing a BLG in the form of Windows 8 and later: 64-bit, sequential or circular.

mod append;
mod block;
mod buffers;
mod catalogue;
mod header;
mod list;
mod records;
mod ring;

use std::collections::HashSet;
use std::io::{Seek, Write};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;
use tachograph_counters::time_zone::TimeZone;
use zerocopy::IntoBytes;

use super::clock::SystemClocks;
use super::raw::event::{CATALOGUE, COUNTER_LIST, MAX_JOINED_BYTES, Marks, NAME_TABLE, SAMPLE};
use super::raw::list::MAX_ENTRIES;
use super::raw::record::{KIND_SAMPLE, RecordHead};
use crate::error::LogError;
use crate::{LogWriter, SetLength};
use append::Resumed;
use buffers::BufferWriter;
use catalogue::Catalogue;
use list::NameTables;
use records::{GroupEncoder, LocalTimes};

/// What a new BLG says of itself.
#[derive(Clone, Debug)]
pub struct BlgWriterOptions {
    /// The time zone that sample times are local to.
    pub zone: TimeZone,
    /// When the recording machine was started, UTC.
    pub boot_time: Option<FileTime>,
    /// Ticks per second of the performance counter.
    pub performance_frequency: i64,
    /// The file's own name, as the header keeps it.
    pub file_name: String,
    /// Size of a buffer: a multiple of 512 from 1 KiB to 16 MiB. Windows writes 64 KiB.
    pub buffer_bytes: usize,
    /// The GUID that names the log; a random one when absent.
    pub guid: Option<[u8; 16]>,
    /// Makes the log circular: its file never becomes longer than this, and new samples take the place of the oldest.
    /// Counted in whole buffers; the names and the counter list stay.
    pub circular_bytes: Option<u64>,
}

impl BlgWriterOptions {
    /// The usual form for a log of this zone.
    pub fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            boot_time: None,
            performance_frequency: FileTime::PER_SECOND,
            file_name: String::new(),
            buffer_bytes: 0x10000,
            guid: None,
            circular_bytes: None,
        }
    }
}

/// A BLG being written.
///
/// The first sample fixes what the log holds: later samples must have the same groups. Groups of
/// [`Extent::Value`] become single records, of [`Extent::Column`] multi records, of [`Extent::Table`] block records.
///
/// A log is readable at any moment up to the last sample before a [`flush`](LogWriter::flush) or a full buffer, also
/// when the process is killed; [`finish`](LogWriter::finish) completes the header. In the steady state (the same
/// descriptions and instances as before) nothing is allocated, and a flush makes two writes.
pub struct BlgWriter<W> {
    out: BufferWriter<W>,
    encoders: Vec<GroupEncoder>,
    /// Whether what stands before the first sample is written.
    is_begun: bool,
    names: NameTables,
    catalogue: Option<Catalogue>,
    payload: Vec<u8>,
    last: Option<Moment>,
    /// By group: when its machine was started, as it was told last.
    boot_times: Vec<FileTime>,
    /// Numbers of the logs that samples came from.
    logs: HashSet<u32>,
    /// The zone of a log that was there before: its local times are the log's, not the samples'.
    zone: Option<TimeZone>,
    /// What such a log ended with, until the first sample behind it.
    resumed: Option<Resumed>,
    /// System time among the values, whose steps are marked.
    clocks: SystemClocks,
}

impl<W: Write + Seek> BlgWriter<W> {
    /// Starts a log: writes its header at the start of `out`.
    ///
    /// # Errors
    ///
    /// When writing fails, or the options cannot be written; "unsupported" when a circular log is to be smaller than five
    /// buffers.
    pub fn new(out: W, options: BlgWriterOptions) -> Result<Self, LogError> {
        if !u32::try_from(options.buffer_bytes).is_ok_and(super::raw::buffer::is_buffer_size) {
            return Err(LogError::unsupported("a buffer's size is a multiple of 512, 1024 to 16777216"));
        }
        Ok(Self::over(BufferWriter::new(out, options)?))
    }

    fn over(out: BufferWriter<W>) -> Self {
        Self {
            out,
            encoders: Vec::new(),
            is_begun: false,
            names: NameTables::default(),
            catalogue: None,
            payload: Vec::new(),
            last: None,
            boot_times: Vec::new(),
            logs: HashSet::new(),
            zone: None,
            resumed: None,
            clocks: SystemClocks::default(),
        }
    }

    /// What is written to, for instance to have a [flushed](LogWriter::flush) file synchronised with its disk.
    pub fn get_ref(&self) -> &W {
        self.out.get_ref()
    }

    /// Length of the file in bytes, when it is finished now: whole buffers, also of a log that was there before. It is
    /// only counted, nothing is asked of the file.
    pub fn bytes_written(&self) -> u64 {
        self.out.file_bytes()
    }

    /// The moment of the last sample, also of one that a log held before it was [appended](Self::append) to.
    pub fn last_time(&self) -> Option<Moment> {
        self.last
    }

    /// Learns from the first sample what the log is to hold.
    fn prepare(&mut self, sample: &Sample) -> Result<(), LogError> {
        if sample.groups.is_empty() {
            return Err(LogError::unsupported("a BLG needs at least one counter"));
        }
        if sample.groups.len() > MAX_ENTRIES {
            return Err(LogError::unsupported(format!(
                "{} counters; a BLG holds up to {MAX_ENTRIES} entries: select fewer",
                sample.groups.len()
            )));
        }
        self.encoders = sample.groups.iter().map(GroupEncoder::new).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Writes what stands before the first sample, whose payload is there: names of title indexes, and the counter list.
    fn begin(&mut self, sample: &Sample) -> Result<(), LogError> {
        self.names.add(sample);
        let names = self.names.take_events(self.out.part_bytes());
        let mut counters = Vec::new();
        list::encode(sample, &mut counters);
        let sizes = names.iter().chain([&counters]).map(Vec::len);
        self.out.check_start(sizes, self.payload.len())?;
        self.out.start(sample.at)?;
        let (local, utc) = (sample.at.local(), sample.at.utc);
        for payload in names {
            self.out.event(NAME_TABLE, 0, local.saturating_sub(20), utc, &payload)?;
        }
        self.out.event(COUNTER_LIST, 0, local.saturating_sub(10), utc, &counters)?;
        self.out.start_ring()?;
        // That of a circular log would tell of what is overwritten.
        let is_table = sample.groups.iter().all(|group| group.set.extent == Extent::Table);
        if is_table && !self.out.is_circular() {
            self.catalogue = Some(Catalogue::new(sample));
        }
        self.is_begun = true;
        Ok(())
    }

    /// Makes the payload of a sample.
    fn encode(&mut self, sample: &Sample, at: Moment) -> Result<(), LogError> {
        if self.encoders.len() != sample.groups.len() {
            return Err(LogError::unsupported(format!(
                "a BLG keeps the counters it began with: {} groups, now {}",
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
                "a sample of {} bytes; a BLG holds samples of up to {MAX_JOINED_BYTES}: select fewer counters",
                self.payload.len()
            )));
        }
        self.out.check_sample(self.payload.len())
    }

    /// What a reader could not tell from the sample: see [`Marks`].
    fn marks(&mut self, sample: &Sample, at: Moment) -> Marks {
        let mut is_restart = false;
        self.boot_times.resize(sample.groups.len(), FileTime(0));
        for (known, group) in self.boot_times.iter_mut().zip(&sample.groups) {
            let boot_time = sample.boot_time_of(group);
            if group.is_present() && boot_time.0 != 0 {
                is_restart |= known.0 != 0 && *known != boot_time;
                is_restart |= self.resumed.as_ref().is_some_and(|resumed| resumed.is_before(boot_time));
                *known = boot_time;
            }
        }
        // Logs that were merged take turns; only the first sample of each begins something.
        let is_new_log = self.logs.insert(sample.log) && (self.last.is_some() || self.resumed.is_some());
        // Rows of a text log repeat an hour at the end of daylight saving time.
        let is_clock_step = self.last.is_some_and(|last| at.utc < last.utc);
        let mut marks = Marks { is_baseline: sample.is_baseline, is_restart, is_new_log, is_clock_step };
        if !marks.breaks_clock() {
            let times = LocalTimes::new(sample, at);
            for (entry, group) in sample.groups.iter().enumerate() {
                marks.is_clock_step |= self.clocks.observe(entry, group, times.of(group)).is_some();
            }
        }
        if marks.breaks_clock() {
            self.clocks.clear();
        }
        marks
    }

    /// Writes names of title indexes that came up.
    fn write_names(&mut self, at: Moment) -> Result<(), LogError> {
        if self.out.is_circular() {
            return Err(LogError::unsupported(
                "a circular log cannot take in new names of counters in block records: they would be overwritten",
            ));
        }
        let limit = self.out.part_bytes();
        for payload in self.names.take_events(limit) {
            self.out.event(NAME_TABLE, 0, at.local().saturating_sub(20), at.utc, &payload)?;
        }
        Ok(())
    }
}

impl<W: Write + Seek + SetLength> BlgWriter<W> {
    /// Takes the file back to what it held at the last [`flush`](LogWriter::flush), after a failure of writing, and completes
    /// its header: the log is whole up to the last sample before that flush. Gives the file's length.
    ///
    /// It writes only where the file has bytes already, so that a full disk does not hinder it; the last buffer is
    /// therefore as short as its events, which every reader of logs of killed recorders knows. Of a circular log, what the
    /// failed sample took the place of is gone.
    ///
    /// # Errors
    ///
    /// When the file cannot be cut or written to.
    pub fn give_up(self) -> Result<u64, LogError> {
        self.out.give_up()
    }
}

impl<W: Write + Seek> LogWriter for BlgWriter<W> {
    fn write(&mut self, sample: &Sample) -> Result<(), LogError> {
        let at = self.zone.as_ref().map_or(sample.at, |zone| zone.utc_to_moment(sample.at.utc));
        if let Some(resumed) = &self.resumed {
            resumed.check(&self.encoders, sample, at)?;
        }
        if self.encoders.is_empty() {
            self.prepare(sample)?;
        }
        self.encode(sample, at)?;
        if !self.is_begun {
            self.begin(sample)?;
        } else if self.names.add(sample) {
            self.write_names(at)?;
        }
        let context = self.marks(sample, at).context();
        self.out.event(SAMPLE, context, at.local(), at.utc, &self.payload)?;
        if let Some(catalogue) = &mut self.catalogue {
            catalogue.add(sample);
        }
        self.resumed = None;
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
            self.out.event(CATALOGUE, 0, last.local().saturating_add(30), last.utc, &self.payload)?;
        }
        self.out.finish()
    }
}
