//! Reading a BLG as a stream, in bounded memory, whatever its bytes say.

mod audit;
mod block;
mod buffers;
mod claims;
mod columns;
mod events;
mod header;
mod list;
mod moment;
mod multi;
mod names;
mod numbering;
mod place;
mod rows;
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
use crate::mark::Place;
use crate::problem::{Problem, Problems};
use crate::{Format, LogFacts, LogReader, Mark};
use audit::{Audit, Places};
use buffers::Buffers;
use claims::Claims;
use events::Events;
use names::Names;
pub(crate) use place::BlgPlace;
use place::Contexts;
use schema::Schema;

/// Most different instances of one counter set that a log may hold; more is taken for damage.
const MAX_INSTANCES: usize = 1 << 20;

/// Most raw values that block records of one sample may hold (100 MB of them); a server's threads make a million.
const MAX_VALUES: usize = 1 << 22;

/// A BLG being read, sample after sample.
///
/// Reads 32- and 64-bit logs, single, multi and block records, logs of several machines, circular logs, and damaged
/// ones: what is whole is read, the rest is told in [`problems`](LogReader::problems). Holds one buffer of the file (at
/// most 16 MiB), one sample (at most 64 MiB) and the names of the instances met.
pub struct BlgReader<R> {
    facts: LogFacts,
    header: LogfileHeader,
    events: Events<R>,
    names: Arc<Names>,
    schema: Schema,
    contexts: Contexts,
    problems: Problems,
    previous_utc: Option<FileTime>,
    /// Counts counter lists: each begins a part that is paired as a log of its own.
    part: u32,
    /// When the machine was started, or 0.
    boot_time: FileTime,
    /// The GUID that the events name.
    guid: Option<[u8; 16]>,
    has_catalogue: bool,
    audit: Audit,
    /// Whether the end of the log was reached and compared with its header.
    is_end_checked: bool,
}

/// What a writer must know of a log to go on with it.
pub(super) struct Survey {
    pub(super) header: LogfileHeader,
    /// The descriptions of the groups, in order.
    pub(super) sets: Vec<Arc<CounterSet>>,
    /// Whether the counter list is damaged, so that there are more.
    pub(super) is_partial: bool,
    pub(super) guid: Option<[u8; 16]>,
    pub(super) has_catalogue: bool,
    pub(super) file_bytes: u64,
    pub(super) buffer_bytes: usize,
    /// The latest moment of a sample.
    pub(super) last: Option<Moment>,
}

impl<R: Read + Seek> BlgReader<R> {
    /// Opens a log: reads its header and finds its counter list.
    ///
    /// # Errors
    ///
    /// When reading fails, when the stream is no BLG, or when it has no counter list.
    pub fn new(mut stream: R) -> Result<Self, LogError> {
        let file_bytes = stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
        stream.rewind().map_err(LogError::io)?;
        let mut start = [0; BUFFER_HEADER_BYTES];
        if stream.read_exact(&mut start).is_err() {
            return Err(LogError::not_a_log(format!(
                "the file is too short for a log: {file_bytes} bytes, the header alone takes 72"
            )));
        }
        let buffer_header = BufferHeader::read_from_bytes(&start).unwrap_or_default();
        let buffer_bytes = buffer_header.buffer_size.get();
        if !is_buffer_size(buffer_bytes) {
            let problem = Problem::new(0, "the buffer size is wrong");
            return Err(LogError::corrupt(
                problem.found(buffer_bytes, "a multiple of 512, 1024 to 16777216"),
            ));
        }
        let mut first = Vec::new();
        let rest = u64::from(buffer_bytes) - start.len() as u64;
        (&mut stream).take(rest).read_to_end(&mut first).map_err(LogError::io)?;
        let (header, damage) = header::read(&mut first)?;
        let mut buffers = Buffers::new(stream, file_bytes, buffer_bytes as usize, Claims::of(&header));
        // Of a mode that is neither, the sequence numbers say most; in a sequential log they rise.
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
            events: Events::new(buffers, guid_named(&header)),
            header,
            names: Arc::default(),
            schema: Schema::default(),
            contexts: Contexts::default(),
            problems: Problems::default(),
            previous_utc: None,
            part: 0,
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

    /// The header event: what the recorder said of itself.
    pub fn header(&self) -> &LogfileHeader {
        &self.header
    }

    /// Reads all that is left, and says what there is.
    pub(super) fn survey(mut self) -> Result<Survey, LogError> {
        let mut sample = Sample::default();
        let mut last: Option<Moment> = None;
        while self.advance(&mut sample)? {
            last = last.max(Some(sample.at));
        }
        Ok(Survey {
            sets: self.schema.sets().cloned().collect(),
            is_partial: self.schema.is_partial(),
            guid: self.guid,
            has_catalogue: self.has_catalogue,
            file_bytes: self.facts.file_bytes,
            buffer_bytes: self.events.buffers().buffer_bytes(),
            header: self.header,
            last,
        })
    }

    fn advance(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        while let Some(event) = self.events.next(&mut self.problems)? {
            self.guid = Some(event.log_guid);
            match event.kind {
                SAMPLE => {
                    if self.take_sample(&event, sample) {
                        return Ok(true);
                    }
                }
                COUNTER_LIST => {
                    let changed = self.take_list();
                    self.audit.list(&event, self.events.header_offset(), changed, &mut self.problems);
                    self.check_list();
                }
                NAME_TABLE => {
                    self.take_names();
                    self.audit.list(&event, self.events.header_offset(), false, &mut self.problems);
                }
                CATALOGUE => self.take_catalogue(&event),
                other => {
                    let problem =
                        Problem::new(self.events.file_offset(0), "an event of unknown type; left out");
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

    /// Reads up to the first counter list, wherever it is (in a circular log samples may stand before it), and goes back
    /// to the start. Name tables on the way are kept.
    fn find_counter_list(&mut self) -> Result<(), LogError> {
        // What is damaged on the way is met, and noted, once more when the samples are read.
        let mut ignored = Problems::default();
        let mut is_pdh = false;
        while let Some(event) = self.events.next(&mut ignored)? {
            is_pdh = true;
            match event.kind {
                NAME_TABLE => self.take_names(),
                COUNTER_LIST => {
                    let _ = self.take_list();
                    if !self.schema.is_empty() {
                        self.problems = Problems::default();
                        return self.events.rewind();
                    }
                }
                _ => {}
            }
        }
        if !is_pdh && self.events.has_others() {
            return Err(LogError::not_a_log(
                "an event trace, not a counter log: it has no event of performance counters",
            ));
        }
        let problem = if let Some(first) = self.problems.list().first() {
            first.clone()
        } else if is_pdh && !self.events.buffers().is_unfinished() {
            Problem::new(BUFFER_HEADER_BYTES as u64, "the log's counter list is missing or damaged")
        } else if let Some(first) = ignored.list().first() {
            first.clone()
        } else if let Some(cut_short) = self.events.check_end()? {
            cut_short
        } else {
            return Err(LogError::not_a_log("no counter list yet: the log was only begun"));
        };
        Err(LogError::corrupt(problem))
    }

    fn take_names(&mut self) {
        Arc::make_mut(&mut self.names).add(self.events.payload());
        self.contexts.forget_current();
    }

    /// Takes a counter list; whether it differs from the one before.
    fn take_list(&mut self) -> bool {
        self.contexts.forget_current();
        let (changed, problem) = self.schema.take_list(self.events.payload());
        if changed && self.previous_utc.is_some() {
            self.part += 1;
        }
        if let Some(mut problem) = problem {
            problem.offset = self.events.file_offset(problem.offset as usize);
            self.problems.push(problem);
        }
        changed
    }

    /// Reports what contradicts itself in the counter list of this event.
    fn check_list(&mut self) {
        let Self { events, problems, .. } = self;
        list::check(events.payload(), |problem| {
            let offset = events.file_offset(problem.offset as usize);
            problems.push(Problem { offset, ..problem });
        });
    }

    /// Skips a catalogue, which says nothing that the samples do not say.
    fn take_catalogue(&mut self, event: &EventHeader) {
        self.has_catalogue = true;
        self.audit.catalogue(event, self.events.header_offset(), &mut self.problems);
        let signature = self.events.payload().get(0x1C..0x20);
        if signature != Some(&CATALOGUE_SIGNATURE.to_le_bytes()[..]) {
            let problem = Problem::new(
                self.events.file_offset(0x1C),
                "the catalogue's signature is wrong; it is not needed",
            );
            let found = signature.and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes));
            self.problems
                .push(problem.found(format_args!("{found:#x}"), format!("{CATALOGUE_SIGNATURE:#x}")));
        }
    }

    fn take_sample(&mut self, event: &EventHeader, sample: &mut Sample) -> bool {
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
                let is_wrong_size = schema::check_envelope(payload).is_err();
                problem.offset = self.events.file_offset(problem.offset as usize);
                self.problems.push(problem);
                if is_wrong_size {
                    self.events.look_within();
                }
                return false;
            }
        }
        sample.at = moment::of(sample, local, &self.facts.zone, self.previous_utc);
        self.previous_utc = Some(sample.at.utc);
        let marks = Marks::of(event);
        sample.is_baseline = marks.is_baseline;
        self.part += u32::from(marks.is_new_log);
        if marks.is_restart {
            // The mark does not say when; what matters is that no other part has the same start.
            self.boot_time = sample.at.utc;
        }
        sample.log = self.part;
        sample.boot_time = self.boot_time;
        let places = Places {
            header: self.events.header_offset(),
            records: self.schema.records(),
            file_offset: &|at| self.events.file_offset(at),
        };
        self.audit.sample(event, &places, sample, &mut self.problems);
        true
    }
}

/// The GUID that the header names the log by.
pub(super) fn guid_named(header: &LogfileHeader) -> Option<[u8; 16]> {
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
        self.place().map(|place| Mark(Place::Blg(place)))
    }

    fn go_to(&mut self, mark: &Mark) -> Result<bool, LogError> {
        match &mark.0 {
            Place::Blg(place) => self.go_to_place(place),
            Place::Text(_) => Ok(false),
        }
    }

    fn follows_growth(&self) -> bool {
        self.events.buffers().are_in_order()
    }

    fn go_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        self.events.go_near_end(bytes)
    }
}
