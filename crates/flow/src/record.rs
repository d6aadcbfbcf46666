//! Recording: samples as they come into logs that are whole at every moment.

mod files;
mod limits;
mod moved;
mod names;
mod segment;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::{Format, LogError};

pub use files::{DiskFiles, FilePlace, LogFile, LogFiles, OpenedFile};
pub use moved::MovedLog;
pub use names::Suffix;

use crate::sinks::TextForm;
use crate::{FlowError, Sink};
use limits::Limits;
use moved::NotifyMoved;
use names::Names;
use segment::{Begun, Segment, copy_sample};

/// What is recorded where, and how much of it.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The log's file, or the name that those of its segments are made from.
    pub path: PathBuf,
    /// What stands behind the name, before the extension. Segments need one.
    pub suffix: Suffix,
    /// The format.
    pub format: Format,
    /// How a text is written. One that is appended to keeps its own form.
    pub text: TextForm,
    /// What becomes of a file that is there. Names with a suffix are always new ones.
    pub existing: Existing,
    /// The time zone that sample times are local to.
    pub zone: TimeZone,
    /// Ticks per second of the performance counter.
    pub performance_frequency: i64,
    /// From one sample to the next: a segment begins at the sample nearest to its time.
    pub interval: Duration,
    /// The length of a segment in time.
    pub segment_time: Option<Duration>,
    /// The most bytes of a file.
    pub max_bytes: Option<u64>,
    /// What happens when a file has them.
    pub at_max: AtMax,
    /// Whether each sample is on the disk before the next is waited for; else it is with the operating system, where a
    /// killed process loses nothing, but a power failure does.
    pub is_synced: bool,
}

impl RecordOptions {
    /// One BLG in UTC without limits, of a performance counter of 10 MHz.
    pub fn new(path: impl Into<PathBuf>, interval: Duration) -> Self {
        Self {
            path: path.into(),
            suffix: Suffix::None,
            format: Format::Blg,
            text: TextForm::default(),
            existing: Existing::Refuse,
            zone: TimeZone::fixed("UTC", 0),
            performance_frequency: 10_000_000,
            interval,
            segment_time: None,
            max_bytes: None,
            at_max: AtMax::End,
            is_synced: false,
        }
    }
}

/// What becomes of a file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is recorded.
    Refuse,
    /// It is emptied when the first sample has come.
    Overwrite,
    /// The recording goes on behind it. It must have the same counters, and earlier times.
    Append,
}

/// What happens when a file has the most bytes that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtMax {
    /// The recording [is full](Recorder::is_full).
    End,
    /// The next segment begins.
    NewSegment,
    /// New samples take the place of the oldest (BLG only).
    Circular,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSummary {
    /// How many samples.
    pub samples: u64,
    /// How many raw values; of a text, those that have a column.
    pub values: u64,
    /// How many entries the logs have: a counter of all instances is one.
    pub counters: usize,
    /// Bytes of all files, with what was appended to.
    pub bytes: u64,
    /// Bytes of a last row without its end that were taken away from a text that is appended to.
    pub cut_bytes: u64,
    /// How many files, deleted ones included.
    pub files: u64,
    /// How many of them were deleted while they were recorded.
    pub deleted_files: u64,
    /// The first of them.
    pub first_file: PathBuf,
    /// The last of them.
    pub last_file: PathBuf,
    /// The moment of the first sample.
    pub first: Option<Moment>,
    /// The moment of the last sample.
    pub last: Option<Moment>,
}

/// Writes samples into a log, or into one log after another, each readable at every moment.
///
/// A sample is with the operating system when [`take`](Sink::take) returns: a process that is killed loses at most the
/// sample that it was writing. Files are written under their own names from the start, and none that is there is
/// overwritten unless that is asked for.
///
/// A segment is a log of its own. No sample stands in two segments: values are paired across the logs of one machine, so
/// that statistics over all segments are those over one log of the same samples. The first row of a text segment holds the
/// values of the interval since the last sample of the segment before, since a text has no raw values to be paired.
///
/// Another program may rename or delete the file, as those that rotate logs do. At the next sample the recorder completes the
/// log where it is now, and begins another one under the name ([`on_moved`](Self::on_moved)). A file that is there by
/// then and has something in it is not overwritten, also with [`Existing::Overwrite`]: the recording ends with an error.
///
/// The columns of a text are those of the instances in its first sample; what comes later is
/// [without a column](Self::without_column) up to the next segment.
pub struct Recorder<L: LogFiles = DiskFiles> {
    files: L,
    options: RecordOptions,
    names: Names,
    limits: Limits,
    state: State<L::File>,
    /// The file of the state.
    path: PathBuf,
    /// Of text: the last sample, which opens the first interval of the next file.
    previous: Option<Sample>,
    /// How many samples of this recording are in the file.
    file_samples: u64,
    notify_moved: Option<NotifyMoved>,
    summary: RecordSummary,
    /// Bytes of the files that are finished.
    finished_bytes: u64,
    is_full: bool,
    without_column: Option<String>,
}

enum State<F: LogFile> {
    /// The file is there for the first sample.
    Opened(OpenedFile<F>),
    /// A BLG that is appended to was read.
    Begun(Segment<F>),
    /// Samples were written.
    Writing(Segment<F>),
    /// The next sample begins a segment.
    Between,
    /// The file was renamed or deleted: the next sample begins another one under its name.
    Moved,
    /// The recording ended, at its limit or with an error.
    Ended,
}

impl<F: LogFile> State<F> {
    /// The purpose of a file that was created or opened.
    fn of_opened(opened: OpenedFile<F>, options: &RecordOptions) -> Result<Self, LogError> {
        let is_appended = options.existing == Existing::Append && opened.has_content;
        Ok(match options.format {
            Format::Blg if is_appended => {
                Self::Begun(Segment::append_blg(opened.file, options.performance_frequency)?)
            }
            _ => Self::Opened(opened),
        })
    }

    /// The open file, if there is one.
    fn file(&self) -> Option<&F> {
        match self {
            Self::Opened(opened) => Some(&opened.file),
            Self::Begun(segment) | Self::Writing(segment) => Some(segment.file()),
            Self::Between | Self::Moved | Self::Ended => None,
        }
    }
}

impl Recorder<DiskFiles> {
    /// Makes or opens the first file; `now` is for names with a date.
    ///
    /// # Errors
    ///
    /// As [`with_files`](Self::with_files).
    pub fn create(options: RecordOptions, now: Moment) -> Result<Self, FlowError> {
        Self::with_files(DiskFiles, options, now)
    }
}

impl<L: LogFiles> Recorder<L> {
    /// A recorder over files from anywhere.
    ///
    /// # Errors
    ///
    /// When the first file cannot be made or opened: the error names it, and is [`std::io::ErrorKind::AlreadyExists`] where
    /// there is one that is to stay. When a log that is to be appended to cannot be read, or cannot go on.
    pub fn with_files(mut files: L, options: RecordOptions, now: Moment) -> Result<Self, FlowError> {
        let mut names = Names::new(&options.path, options.suffix);
        let (path, opened) = names.open(&mut files, options.existing, now)?;
        let state = State::of_opened(opened, &options).map_err(|error| error.at_path(&path))?;
        Ok(Self {
            files,
            names,
            limits: Limits::new(&options),
            state,
            path,
            previous: None,
            file_samples: 0,
            notify_moved: None,
            summary: RecordSummary::default(),
            finished_bytes: 0,
            is_full: false,
            without_column: None,
            options,
        })
    }

    /// Whether the recording has ended because its file has the most bytes that it may have. It is finished then, and takes
    /// no more samples.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// What was recorded so far.
    pub fn summary(&self) -> &RecordSummary {
        &self.summary
    }

    /// The first instance that is left out of a text because it came after the first sample: `\\machine\set(instance)`.
    pub fn without_column(&self) -> Option<&str> {
        self.without_column.as_deref()
    }

    /// The file that is written to, or was last.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the first sample of a file.
    fn begin(&mut self, opened: OpenedFile<L::File>, sample: &Sample) -> Result<(), FlowError> {
        let is_new = opened.is_new;
        let begun = Begun { path: &self.path, options: &self.options, previous: self.previous.as_ref() };
        let is_synced = self.options.is_synced;
        let written = begun.segment(opened, sample).and_then(|mut segment| {
            let mut written = segment.write(sample, is_synced);
            if written.is_ok() && is_synced && is_new {
                written = self.files.sync_name(&self.path).map_err(|error| LogError::io(error).into());
            }
            match written {
                Ok(()) => Ok(segment),
                Err(error) => {
                    // The log that it was to go on from is to stay.
                    let _ = segment.give_up();
                    Err(error)
                }
            }
        });
        match written {
            Ok(segment) => {
                self.note_file();
                self.limits.begin(sample);
                self.state = State::Writing(segment);
                Ok(())
            }
            Err(error) => {
                if is_new {
                    // No sample is in it. That it cannot be removed is not worth hiding the first error.
                    let _ = self.files.remove(&self.path);
                }
                Err(self.named(error))
            }
        }
    }

    fn note_file(&mut self) {
        self.file_samples = 0;
        self.summary.files += 1;
        if self.summary.files == 1 {
            self.summary.first_file.clone_from(&self.path);
        }
        self.summary.last_file.clone_from(&self.path);
    }

    /// Completes the file.
    fn close(&mut self, mut segment: Segment<L::File>, next: State<L::File>) -> Result<(), FlowError> {
        if let Err(error) = segment.finish(self.options.is_synced) {
            return Err(self.given_up(segment, error));
        }
        self.finished_bytes += segment.bytes();
        self.summary.bytes = self.finished_bytes;
        self.state = next;
        Ok(())
    }

    /// Leaves the log whole up to its last sample. That this fails too is not worth hiding the first error.
    fn given_up(&mut self, segment: Segment<L::File>, error: FlowError) -> FlowError {
        if let Ok(bytes) = segment.give_up() {
            self.summary.bytes = self.finished_bytes + bytes;
        }
        self.named(error)
    }

    /// Names the file in an error of writing it.
    fn named(&self, error: FlowError) -> FlowError {
        match error {
            FlowError::Log(error) => error.at_path(&self.path).into(),
            FlowError::Output(error) => LogError::io(error).at_path(&self.path).into(),
            error => error,
        }
    }

    /// Writes a sample into a file that has some.
    fn go_on(&mut self, mut segment: Segment<L::File>, sample: &Sample) -> Result<(), FlowError> {
        if let Err(error) = segment.write(sample, self.options.is_synced) {
            return Err(self.given_up(segment, error));
        }
        self.state = State::Writing(segment);
        Ok(())
    }

    fn next_file(&mut self, sample: &Sample) -> Result<OpenedFile<L::File>, FlowError> {
        let (path, opened) = self.names.open(&mut self.files, self.options.existing, sample.at)?;
        self.path = path;
        Ok(opened)
    }

    /// What follows a sample that was written.
    fn written(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let State::Writing(segment) = &mut self.state else { return Ok(()) };
        let summary = &mut self.summary;
        summary.samples += 1;
        self.file_samples += 1;
        summary.values += segment.values_of(sample) as u64;
        summary.counters = sample.groups.len();
        summary.first.get_or_insert(sample.at);
        summary.last = Some(sample.at);
        summary.bytes = self.finished_bytes + segment.bytes();
        summary.cut_bytes += if summary.samples == 1 { segment.cut_bytes() } else { 0 };
        if self.without_column.is_none() {
            self.without_column = segment.without_column();
        }
        let has_room = self.limits.has_room(segment.bytes().saturating_add(segment.most_growth()));
        if self.options.format.is_formatted() {
            copy_sample(self.previous.get_or_insert_default(), sample);
        }
        if has_room || self.options.at_max == AtMax::Circular {
            return Ok(());
        }
        // It is whole as soon as nothing can follow.
        let is_end = self.options.at_max == AtMax::End;
        if let State::Writing(segment) = std::mem::replace(&mut self.state, State::Ended) {
            self.close(segment, if is_end { State::Ended } else { State::Between })?;
            self.is_full = is_end;
        }
        Ok(())
    }
}

impl<L: LogFiles> Sink for Recorder<L> {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.release_moved()?;
        if matches!(self.state, State::Moved) {
            self.open_again(sample)?;
        }
        // Whatever fails on the way ends the recording.
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Opened(opened) => self.begin(opened, sample)?,
            State::Begun(segment) => {
                if self.options.at_max == AtMax::End && !self.limits.has_room(segment.bytes()) {
                    let why = format!("cannot append: it has {} bytes already, over -max", segment.bytes());
                    return Err(LogError::unsupported(why).at_path(&self.path).into());
                }
                self.limits.begin(sample);
                self.go_on(segment, sample)?;
                self.note_file();
            }
            State::Writing(segment) if self.limits.is_over(sample) => {
                self.close(segment, State::Ended)?;
                let opened = self.next_file(sample)?;
                self.begin(opened, sample)?;
            }
            State::Writing(segment) => self.go_on(segment, sample)?,
            State::Between => {
                let opened = self.next_file(sample)?;
                self.begin(opened, sample)?;
            }
            State::Ended | State::Moved => {
                let what = std::io::Error::other("the recording has ended");
                return Err(LogError::io(what).at_path(&self.path).into());
            }
        }
        self.written(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Writing(segment) => self.close(segment, State::Ended),
            // No sample came: an empty file is of no use to anybody.
            State::Opened(opened) if opened.is_new => {
                // A file that has its name now is not ours.
                if self.files.place_of(&opened.file, &self.path) != FilePlace::Here {
                    return Ok(());
                }
                drop(opened);
                self.files.remove(&self.path).map_err(|error| LogError::io(error).at_path(&self.path).into())
            }
            _ => Ok(()),
        }
    }
}
