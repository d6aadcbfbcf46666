//! Recording samples into logs that are complete at every moment.

mod archive;
mod database;
mod files;
mod limits;
mod machines;
mod moved;
mod names;
mod segment;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::{Format, LogError, Problems};

pub use archive::{ArchiveNotice, ArchiveRecordOptions, ArchiveRecorder};
pub use database::{DatabaseRecordOptions, DatabaseRecorder};
pub use files::{DiskFiles, FileLocation, LogFile, LogFiles, OpenedFile};
pub use machines::{MachineNotice, MachinesArchive};
pub use moved::{LogChange, MovedLog, NextLog};
pub use names::Suffix;

use crate::sinks::TextForm;
use crate::{FlowError, Sink};
use limits::Limits;
use moved::NotifyMoved;
use names::Names;
use segment::{Segment, SegmentStart, copy_sample};

/// The options of a recording.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The log file, or the name from which the names of segments are derived.
    pub path: PathBuf,
    /// The suffix that is added to the file name, before the extension. Required for segments.
    pub suffix: Suffix,
    /// The format.
    pub format: Format,
    /// The form of a text log. Appending to a log keeps its form.
    pub text: TextForm,
    /// What to do with an existing file. Names with a suffix are always new.
    pub existing: Existing,
    /// The time zone of the log.
    pub zone: TimeZone,
    /// Ticks per second of the performance counter.
    pub performance_frequency: i64,
    /// Time between two samples. A segment starts with the sample nearest to its scheduled time.
    pub interval: Duration,
    /// The duration of a segment.
    pub segment_time: Option<Duration>,
    /// The maximum size of a file in bytes.
    pub max_bytes: Option<u64>,
    /// What to do when a file reaches `max_bytes`.
    pub at_max: AtMax,
    /// Whether each sample is synced to disk. Otherwise it is only passed to the operating system, so it survives if
    /// the process is killed, but not a power failure.
    pub is_synced: bool,
}

impl RecordOptions {
    /// Options for a single BLG in UTC without limits, with a performance counter of 10 MHz.
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

/// What to do with an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keep it, and fail with an error.
    Refuse,
    /// Truncate it when the first sample arrives.
    Overwrite,
    /// Append to it. The file must have the same counters, and earlier times.
    Append,
}

/// What to do when a file reaches its maximum size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtMax {
    /// End the recording; [`Recorder::is_full`] returns true.
    End,
    /// Start the next segment.
    NewSegment,
    /// Overwrite the oldest samples (BLG only).
    Circular,
}

/// The results of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSummary {
    /// Number of samples.
    pub samples: u64,
    /// Number of these samples that are not in the archive, because another program deleted, renamed or damaged a segment. Known
    /// after the recording has ended; 0 for other logs.
    pub lost_samples: u64,
    /// Number of values that exist; in text logs, only of those that have a column.
    pub values: u64,
    /// Number of counters in the sample that has most. A counter of each instance counts.
    pub counters: usize,
    /// Size of all files in bytes, including the part of a file that existed before the recording was appended.
    pub bytes: u64,
    /// Size in bytes of an incomplete last row that was removed before appending to a text log.
    pub cut_bytes: u64,
    /// The damage that was found in an existing BLG before appending to it. Afterwards, a damaged end is no longer visible.
    pub existing_problems: Problems,
    /// The time of the last sample of this BLG.
    pub appended_to: Option<Moment>,
    /// Number of files, including deleted ones.
    pub files: u64,
    /// Number of files that were deleted or truncated while they were being written.
    pub deleted_files: u64,
    /// The first file.
    pub first_file: PathBuf,
    /// The last file.
    pub last_file: PathBuf,
    /// The moment of the first sample.
    pub first: Option<Moment>,
    /// The moment of the last sample.
    pub last: Option<Moment>,
}

/// Writes samples into a log, or into a sequence of logs, that can be read at any moment.
///
/// When [`push`](Sink::push) returns, the sample has been passed to the operating system: a process that is killed
/// loses at most the sample it was writing. Files have their final names from the start. Existing files are overwritten
/// only on request.
///
/// Each segment is a complete log, and no sample is in two segments. Values are paired across the logs of a machine, so
/// statistics over all segments equal those over a single log. Text logs have no raw values to pair, so the first row
/// of a text segment has the values of the interval that began with the last sample of the previous segment.
///
/// Other programs can rename or delete the file, to rotate logs. At the next sample, the recorder completes the log at
/// its new location and starts another one under the old name ([`on_moved`](Self::on_moved)). If a file with content
/// has the old name by then, that file is not overwritten, even with [`Existing::Overwrite`]: the recording ends with an
/// error. A file that another program truncates to zero bytes is treated like a deleted one, and its samples are lost. If
/// it is truncated to another length, the recording ends with an error.
///
/// A text log has columns for the instances in its first sample. Instances that appear later have
/// [no column](Self::without_column) until the next segment.
pub struct Recorder<L: LogFiles = DiskFiles> {
    files: L,
    options: RecordOptions,
    names: Names,
    limits: Limits,
    state: State<L::File>,
    /// The current file, or the last one.
    path: PathBuf,
    /// For text logs, the last sample, with which the first interval of the next file begins.
    previous_sample: Option<Sample>,
    /// Number of samples that this recording has written to the current file.
    file_samples: u64,
    /// The length of the current file after the last sample, if known.
    file_length: Option<u64>,
    notify_moved: Option<NotifyMoved>,
    summary: RecordSummary,
    /// Size of the completed files in bytes.
    finished_bytes: u64,
    is_full: bool,
    without_column: Option<String>,
}

enum State<F: LogFile> {
    /// The file is ready for the first sample.
    Opened(OpenedFile<F>),
    /// An existing BLG was read and is ready to be appended to.
    Resumed(Segment<F>),
    /// Samples are being written.
    Writing(Segment<F>),
    /// The next sample starts a segment.
    Between,
    /// The file was renamed or deleted. The next sample starts another one under its name.
    Moved,
    /// The recording has ended: it was finished, reached its limit or failed.
    Ended,
}

impl<F: LogFile> State<F> {
    /// The state for a file that was created or opened.
    fn from_opened(opened: OpenedFile<F>, options: &RecordOptions) -> Result<Self, LogError> {
        let is_appended = options.existing == Existing::Append && opened.has_content;
        Ok(match options.format {
            Format::Blg if is_appended => {
                Self::Resumed(Segment::append_blg(opened.file, options.performance_frequency)?)
            }
            _ => Self::Opened(opened),
        })
    }

    /// The open file, if any.
    fn file(&self) -> Option<&F> {
        match self {
            Self::Opened(opened) => Some(&opened.file),
            Self::Resumed(segment) | Self::Writing(segment) => Some(segment.file()),
            Self::Between | Self::Moved | Self::Ended => None,
        }
    }
}

impl Recorder<DiskFiles> {
    /// Creates or opens the first file; `now` is used for names with a date.
    ///
    /// # Errors
    ///
    /// See [`with_files`](Self::with_files).
    pub fn create(options: RecordOptions, now: Moment) -> Result<Self, FlowError> {
        Self::with_files(DiskFiles, options, now)
    }
}

impl<L: LogFiles> Recorder<L> {
    /// Like [`create`](Recorder::create), but creates and opens files with `files`.
    ///
    /// # Errors
    ///
    /// When the first file cannot be created or opened ([`std::io::ErrorKind::AlreadyExists`] with
    /// [`Existing::Refuse`]), or when an existing log cannot be read or appended to.
    pub fn with_files(mut files: L, options: RecordOptions, now: Moment) -> Result<Self, FlowError> {
        let mut names = Names::new(&options.path, options.suffix);
        let (path, opened) = names.open(&mut files, options.existing, now)?;
        let state = State::from_opened(opened, &options).map_err(|error| error.at_path(&path))?;
        Ok(Self {
            files,
            names,
            limits: Limits::new(&options),
            state,
            path,
            previous_sample: None,
            file_samples: 0,
            file_length: None,
            notify_moved: None,
            summary: RecordSummary::default(),
            finished_bytes: 0,
            is_full: false,
            without_column: None,
            options,
        })
    }

    /// Whether the recording has ended because its file has reached the maximum size. Pushing further samples is an
    /// error.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The results so far.
    pub fn summary(&self) -> &RecordSummary {
        &self.summary
    }

    /// The first instance that has no column because it appeared after the first sample of its file:
    /// `\\machine\set(instance)`.
    pub fn without_column(&self) -> Option<&str> {
        self.without_column.as_deref()
    }

    /// The current file, or the last one.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a log in an opened file, and writes its first sample.
    fn begin(&mut self, opened: OpenedFile<L::File>, sample: &Sample) -> Result<(), FlowError> {
        let is_new = opened.is_new;
        let start = SegmentStart {
            path: &self.path,
            options: &self.options,
            previous: self.previous_sample.as_ref(),
        };
        let is_synced = self.options.is_synced;
        let written = start.segment(opened, sample).and_then(|mut segment| {
            let mut written = segment.write(sample, is_synced);
            if written.is_ok() && is_synced && is_new {
                written = self.files.sync_name(&self.path).map_err(|error| LogError::io(error).into());
            }
            match written {
                Ok(()) => Ok(segment),
                Err(error) => {
                    // An existing log keeps its earlier samples.
                    let _ = segment.abort();
                    Err(error)
                }
            }
        });
        match written {
            Ok(segment) => {
                self.count_file();
                self.limits.begin(sample);
                self.state = State::Writing(segment);
                Ok(())
            }
            Err(error) => {
                if is_new {
                    // The file has no sample. `error` is more useful than an error of the removal.
                    let _ = self.files.remove(&self.path);
                }
                Err(self.at_path(error))
            }
        }
    }

    fn count_file(&mut self) {
        self.file_samples = 0;
        self.summary.files += 1;
        if self.summary.files == 1 {
            self.summary.first_file.clone_from(&self.path);
        }
        self.summary.last_file.clone_from(&self.path);
    }

    fn close(&mut self, mut segment: Segment<L::File>, next: State<L::File>) -> Result<(), FlowError> {
        if let Err(error) = segment.finish(self.options.is_synced) {
            return Err(self.abandon(segment, error));
        }
        self.finished_bytes += segment.bytes();
        self.summary.bytes = self.finished_bytes;
        self.state = next;
        Ok(())
    }

    /// Truncates the log after its last complete sample. Returns `error` with the path, since it is more useful than an
    /// error of the truncation.
    fn abandon(&mut self, segment: Segment<L::File>, error: FlowError) -> FlowError {
        if let Ok(bytes) = segment.abort() {
            self.summary.bytes = self.finished_bytes + bytes;
        }
        self.at_path(error)
    }

    fn at_path(&self, error: FlowError) -> FlowError {
        match error {
            FlowError::Log(error) => error.at_path(&self.path).into(),
            FlowError::Output(error) => LogError::io(error).at_path(&self.path).into(),
            error => error,
        }
    }

    fn append(&mut self, mut segment: Segment<L::File>, sample: &Sample) -> Result<(), FlowError> {
        if let Err(error) = segment.write(sample, self.options.is_synced) {
            return Err(self.abandon(segment, error));
        }
        self.state = State::Writing(segment);
        Ok(())
    }

    fn next_file(&mut self, sample: &Sample) -> Result<OpenedFile<L::File>, FlowError> {
        let (path, opened) = self.names.open(&mut self.files, self.options.existing, sample.at)?;
        self.path = path;
        Ok(opened)
    }

    /// Updates the summary after a sample was written. Completes the file if it is full.
    fn after_sample(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let State::Writing(segment) = &mut self.state else { return Ok(()) };
        self.file_length = segment.file().length();
        let summary = &mut self.summary;
        summary.samples += 1;
        self.file_samples += 1;
        let (counters, values) = segment.counts_of(sample);
        summary.values += values as u64;
        summary.counters = summary.counters.max(counters);
        summary.first.get_or_insert(sample.at);
        summary.last = Some(sample.at);
        summary.bytes = self.finished_bytes + segment.bytes();
        if summary.samples == 1 {
            summary.cut_bytes = segment.cut_bytes();
            (summary.existing_problems, summary.appended_to) = segment.existing_damage();
        }
        if self.without_column.is_none() {
            self.without_column = segment.without_column();
        }
        let has_room = self.limits.has_room(segment.bytes().saturating_add(segment.max_growth()));
        if self.options.format.is_formatted() {
            copy_sample(self.previous_sample.get_or_insert_default(), sample);
        }
        if has_room || self.options.at_max == AtMax::Circular {
            return Ok(());
        }
        // A full file is completed immediately.
        let is_end = self.options.at_max == AtMax::End;
        if let State::Writing(segment) = std::mem::replace(&mut self.state, State::Ended) {
            self.close(segment, if is_end { State::Ended } else { State::Between })?;
            self.is_full = is_end;
        }
        Ok(())
    }
}

impl<L: LogFiles> Sink for Recorder<L> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.release_moved()?;
        if matches!(self.state, State::Moved) {
            self.reopen(sample)?;
        }
        // If an error is returned below, the recording has ended.
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Opened(opened) => self.begin(opened, sample)?,
            State::Resumed(segment) => {
                if self.options.at_max == AtMax::End && !self.limits.has_room(segment.bytes()) {
                    let why = format!(
                        "cannot append: the log already has {} bytes, more than -max",
                        segment.bytes()
                    );
                    return Err(LogError::unsupported(why).at_path(&self.path).into());
                }
                self.limits.begin(sample);
                self.append(segment, sample)?;
                self.count_file();
            }
            State::Writing(segment) if self.limits.is_over(sample) => {
                self.close(segment, State::Ended)?;
                let opened = self.next_file(sample)?;
                self.begin(opened, sample)?;
            }
            State::Writing(segment) => self.append(segment, sample)?,
            State::Between => {
                let opened = self.next_file(sample)?;
                self.begin(opened, sample)?;
            }
            State::Ended | State::Moved => {
                let what = std::io::Error::other("the recording has ended");
                return Err(LogError::io(what).at_path(&self.path).into());
            }
        }
        self.after_sample(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.release_lost()?;
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Writing(segment) => self.close(segment, State::Ended),
            // If there were no samples, the empty file is removed.
            State::Opened(opened) if opened.is_new => {
                // Another file can have the name by now.
                if self.files.location_of(&opened.file, &self.path) != FileLocation::InPlace {
                    return Ok(());
                }
                drop(opened);
                self.files.remove(&self.path).map_err(|error| LogError::io(error).at_path(&self.path).into())
            }
            _ => Ok(()),
        }
    }
}
