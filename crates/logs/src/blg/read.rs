//! Reads a BLG as a stream. Memory use is bounded, whatever the file contains.

mod audit;
mod block;
mod buffers;
mod cached_rows;
mod columns;
mod declared_end;
mod events;
mod header;
mod list;
mod moment;
mod multi;
mod names;
mod numbering;
mod position;
mod schema;

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;
use zerocopy::FromBytes;

use super::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader, is_buffer_size};
use super::raw::event::{
    CATALOGUE, CATALOGUE_SIGNATURE, COUNTER_LIST, EventHeader, Marks, NAME_TABLE, SAMPLE,
};
use super::raw::header::{LogfileHeader, MODE_CIRCULAR, MODE_SEQUENTIAL};
use crate::error::LogError;
use crate::mark::Position;
use crate::{Format, LogFacts, LogReader, Mark};
use crate::{Problem, Problems};
use audit::{Audit, Offsets};
use buffers::Buffers;
use declared_end::DeclaredEnd;
use events::Events;
use names::Names;
pub(crate) use position::BlgPosition;
use position::Contexts;
use schema::Schema;

/// Reads a BLG, one sample at a time.
///
/// Supports 32- and 64-bit logs, single, multi and block records, logs of several machines, circular logs, and
/// damaged logs: undamaged parts are read, the rest is reported in [`problems`](LogReader::problems). The reader
/// holds one buffer of the file (at most 16 MiB), one sample (at most 64 MiB) and the names of all instances.
pub struct BlgReader<R> {
    facts: LogFacts,
    header: LogfileHeader,
    events: Events<R>,
    /// The names in the name tables read so far.
    names: Arc<Names>,
    /// The decoders for the entries of the current counter list.
    schema: Schema,
    /// The counter lists and name tables to which returned positions refer.
    contexts: Contexts,
    problems: Problems,
    /// The time of the previous sample.
    previous_utc: Option<FileTime>,
    /// Index of the current log within the file, for [`Sample::log`]. An appended or merged log has its own index, as has
    /// the part of a log after a change of its counter list.
    log_index: u32,
    /// Boot time of the machine, or 0.
    boot_time: FileTime,
    /// The log GUID of the latest event.
    guid: Option<[u8; 16]>,
    has_catalogue: bool,
    audit: Audit,
    /// Whether the end of the log was reached and compared with the header.
    is_end_checked: bool,
}

/// The state that a writer needs to append to a log.
pub(super) struct AppendState {
    pub(super) header: LogfileHeader,
    /// The descriptions of the groups, in record order.
    pub(super) sets: Vec<Arc<CounterSet>>,
    /// Whether the counter list is damaged, so that samples have more records than known entries.
    pub(super) is_partial: bool,
    pub(super) guid: Option<[u8; 16]>,
    pub(super) has_catalogue: bool,
    pub(super) file_bytes: u64,
    pub(super) buffer_bytes: usize,
    /// The time of the latest sample.
    pub(super) last: Option<Moment>,
    pub(super) problems: Problems,
}

impl<R: Read + Seek> BlgReader<R> {
    /// Opens a log: reads its header and finds its counter list.
    ///
    /// # Errors
    ///
    /// When reading fails, when the stream is not a BLG, or when it has no counter list.
    pub fn new(mut stream: R) -> Result<Self, LogError> {
        let file_bytes = stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
        stream.rewind().map_err(LogError::io)?;
        let mut start = [0; BUFFER_HEADER_BYTES];
        if stream.read_exact(&mut start).is_err() {
            return Err(LogError::not_a_log(format!(
                "the file is too short for a log: {file_bytes} bytes, but a header has 72"
            )));
        }
        let buffer_header = BufferHeader::read_from_bytes(&start).unwrap_or_default();
        let buffer_bytes = buffer_header.buffer_size.get();
        if !is_buffer_size(buffer_bytes) {
            let problem = Problem::new(0, "the buffer size is wrong");
            return Err(LogError::corrupt(
                problem.found(buffer_bytes, "a multiple of 512 from 1024 to 16777216"),
            ));
        }
        let mut first = Vec::new();
        let rest = u64::from(buffer_bytes) - start.len() as u64;
        (&mut stream).take(rest).read_to_end(&mut first).map_err(LogError::io)?;
        let (header, damage) = header::read(&mut first)?;
        let mut buffers =
            Buffers::new(stream, file_bytes, buffer_bytes as usize, DeclaredEnd::from_header(&header));
        // If neither mode is set, sorting is harmless, because the buffers of a sequential log are already in order.
        if header.start.log_file_mode.get() & (MODE_CIRCULAR | MODE_SEQUENTIAL) != MODE_SEQUENTIAL {
            buffers.sort_by_sequence()?;
        }
        let boot_time = header.end.boot_time.get();
        let facts = LogFacts {
            format: Format::Blg,
            zone: header.zone.to_zone(),
            performance_frequency: Some(header.end.performance_frequency.get()),
            boot_time: (boot_time != 0).then_some(FileTime(boot_time)),
            windows_build: header.windows_build(),
            file_bytes,
        };
        let mut reader = Self {
            facts,
            events: Events::new(buffers, guid_in_header(&header)),
            header,
            names: Arc::default(),
            schema: Schema::default(),
            contexts: Contexts::default(),
            problems: Problems::default(),
            previous_utc: None,
            log_index: 0,
            boot_time: FileTime(boot_time),
            guid: None,
            has_catalogue: false,
            audit: Audit::default(),
            is_end_checked: false,
        };
        reader.find_counter_list()?;
        for problem in damage.into_iter().chain(header::check_zone(&reader.header)) {
            reader.problems.push(problem);
        }
        Ok(reader)
    }

    /// The header event, which describes the recording.
    pub fn header(&self) -> &LogfileHeader {
        &self.header
    }

    /// Reads the log to its end and returns what is needed to append to it.
    pub(super) fn append_state(mut self) -> Result<AppendState, LogError> {
        let mut sample = Sample::default();
        let mut last: Option<Moment> = None;
        while self.advance(&mut sample)? {
            last = last.max(Some(sample.at));
        }
        Ok(AppendState {
            sets: self.schema.sets().cloned().collect(),
            is_partial: self.schema.is_partial(),
            guid: self.guid,
            has_catalogue: self.has_catalogue,
            file_bytes: self.facts.file_bytes,
            buffer_bytes: self.events.buffers().buffer_bytes(),
            header: self.header,
            last,
            problems: self.problems,
        })
    }

    /// Reads the next sample; false at the end.
    fn advance(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        while let Some(event) = self.events.next(&mut self.problems)? {
            self.guid = Some(event.log_guid);
            match event.kind {
                SAMPLE => {
                    if self.decode_sample(&event, sample) {
                        return Ok(true);
                    }
                }
                COUNTER_LIST => {
                    let changed = self.load_list();
                    self.audit.observe_list(&event, self.events.header_offset(), changed, &mut self.problems);
                    self.check_list();
                }
                NAME_TABLE => {
                    self.load_names();
                    self.audit.observe_list(&event, self.events.header_offset(), false, &mut self.problems);
                }
                CATALOGUE => self.check_catalogue(&event),
                other => {
                    let problem =
                        Problem::new(self.events.file_offset(0), "unknown event type; the event is skipped");
                    self.problems.push(problem.found(format_args!("{other:#x}"), "0x20, 0x22, 0x23 or 0x24"));
                }
            }
        }
        self.audit.end(&mut self.problems);
        if !std::mem::replace(&mut self.is_end_checked, true)
            && let Some(problem) = self.events.check_end()?
        {
            self.problems.push(problem);
        }
        Ok(false)
    }

    /// Reads up to the first counter list (a circular log can have samples before it), then rewinds. Name tables read
    /// on the way are kept.
    fn find_counter_list(&mut self) -> Result<(), LogError> {
        // These problems are found again, and reported, when the samples are read.
        let mut ignored = Problems::default();
        let mut has_pdh_events = false;
        while let Some(event) = self.events.next(&mut ignored)? {
            has_pdh_events = true;
            match event.kind {
                NAME_TABLE => self.load_names(),
                COUNTER_LIST => {
                    let _ = self.load_list();
                    if !self.schema.is_empty() {
                        self.problems = Problems::default();
                        return self.events.rewind();
                    }
                }
                _ => {}
            }
        }
        if !has_pdh_events && self.events.has_others() {
            return Err(LogError::not_a_log(
                "this is an event trace without performance counters, not a counter log",
            ));
        }
        let problem = if let Some(first) = self.problems.list().first() {
            first.clone()
        } else if has_pdh_events && !self.events.buffers().is_unfinished() {
            Problem::new(BUFFER_HEADER_BYTES as u64, "the log's counter list is missing or damaged")
        } else if let Some(first) = ignored.list().first() {
            first.clone()
        } else if let Some(cut_short) = self.events.check_end()? {
            cut_short
        } else {
            return Err(LogError::not_a_log("the log has no counter list yet: its recording has just begun"));
        };
        Err(LogError::corrupt(problem))
    }

    fn load_names(&mut self) {
        Arc::make_mut(&mut self.names).add(self.events.payload());
        self.contexts.reset_current();
    }

    /// Loads a counter list; returns whether it differs from the previous one.
    fn load_list(&mut self) -> bool {
        self.contexts.reset_current();
        let (changed, problem) = self.schema.load_list(self.events.payload());
        if changed && self.previous_utc.is_some() {
            self.log_index += 1;
        }
        if let Some(mut problem) = problem {
            problem.offset = self.events.file_offset(problem.offset as usize);
            self.problems.push(problem);
        }
        changed
    }

    fn check_list(&mut self) {
        let Self { events, problems, .. } = self;
        list::check(events.payload(), |problem| {
            let offset = events.file_offset(problem.offset as usize);
            problems.push(Problem { offset, ..problem });
        });
    }

    /// Checks the time and the signature of a catalogue. The rest of its contents is redundant and not read.
    fn check_catalogue(&mut self, event: &EventHeader) {
        self.has_catalogue = true;
        self.audit.check_catalogue(event, self.events.header_offset(), &mut self.problems);
        let signature = self.events.payload().get(0x1C..0x20);
        if signature != Some(&CATALOGUE_SIGNATURE.to_le_bytes()[..]) {
            let problem = Problem::new(
                self.events.file_offset(0x1C),
                "the catalogue's signature is wrong; the catalogue is ignored",
            );
            let found = signature.and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes));
            self.problems
                .push(problem.found(format_args!("{found:#x}"), format!("{CATALOGUE_SIGNATURE:#x}")));
        }
    }

    fn decode_sample(&mut self, event: &EventHeader, sample: &mut Sample) -> bool {
        let payload = self.events.payload();
        let local = FileTime(event.local_time.get());
        match self.schema.decode(payload, local, &self.names, sample) {
            Ok(minor) => {
                for mut problem in minor {
                    problem.offset = self.events.file_offset(problem.offset as usize);
                    self.problems.push(problem);
                }
            }
            Err(mut problem) => {
                let is_wrong_size = schema::check_sample_header(payload).is_err();
                problem.offset = self.events.file_offset(problem.offset as usize);
                self.problems.push(problem);
                if is_wrong_size {
                    self.events.rescan_payload();
                }
                return false;
            }
        }
        sample.at = moment::resolve(sample, local, &self.facts.zone, self.previous_utc);
        self.previous_utc = Some(sample.at.utc);
        let marks = Marks::from_header(event);
        sample.is_baseline = marks.is_baseline;
        self.log_index += u32::from(marks.is_new_log);
        if marks.is_restart {
            // The mark does not contain the boot time. Any time that differs from the boot times used before will do.
            self.boot_time = sample.at.utc;
        }
        sample.log = self.log_index;
        sample.boot_time = self.boot_time;
        let offsets = Offsets {
            header: self.events.header_offset(),
            records: self.schema.records(),
            file_offset: &|at| self.events.file_offset(at),
        };
        self.audit.check_sample(event, &offsets, sample, &mut self.problems);
        true
    }
}

/// The log GUID in the header.
pub(super) fn guid_in_header(header: &LogfileHeader) -> Option<[u8; 16]> {
    header.logger_name.parse::<uuid::Uuid>().ok().map(|uuid| uuid.to_bytes_le())
}

impl<R: Read + Seek + Send> LogReader for BlgReader<R> {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        self.advance(sample)
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn bytes_read(&self) -> u64 {
        self.events.buffers().bytes_read()
    }

    fn buffer_bytes(&self) -> u64 {
        self.events.buffer_bytes()
    }

    fn mark(&mut self) -> Option<Mark> {
        self.position().map(|position| Mark(Position::Blg(position)))
    }

    fn seek(&mut self, mark: &Mark) -> Result<bool, LogError> {
        match &mark.0 {
            Position::Blg(position) => self.seek_to(position),
            Position::Text(_) | Position::Archive(_) | Position::Machine(_) => Ok(false),
        }
    }

    fn follows_growth(&self) -> bool {
        self.events.buffers().are_in_order()
    }

    fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        self.events.seek_near_end(bytes)
    }
}
