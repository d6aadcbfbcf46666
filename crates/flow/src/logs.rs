//! Log files as sources.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::sample::Sample;
use tachograph_logs::{
    CounterFilter, Digits, LogFacts, LogReader, Mark, Problems, ReadOptions, TextEncoding,
};

use crate::{FlowError, Source};

/// Properties of a log and progress of reading it. Shared with the source, which can run on another thread.
#[derive(Clone, Debug)]
pub struct LogReport {
    path: PathBuf,
    facts: Arc<LogFacts>,
    bytes_read: Arc<AtomicU64>,
    buffer_bytes: Arc<AtomicU64>,
    problems: Arc<Mutex<Problems>>,
    has_twenty_digits: Arc<AtomicBool>,
    encoding: Arc<Mutex<Option<TextEncoding>>>,
}

impl LogReport {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The facts in the log's header.
    pub fn facts(&self) -> &LogFacts {
        &self.facts
    }

    /// Number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Size of the reader's buffers; see [`LogReader::buffer_bytes`].
    pub fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes.load(Ordering::Relaxed)
    }

    /// Number of digits with which the log's values should be written as text, according to the part that was read so
    /// far; see [`LogReader::digits`].
    pub fn digits(&self) -> Digits {
        if self.has_twenty_digits.load(Ordering::Relaxed) { Digits::Twenty } else { Digits::Seventeen }
    }

    /// Takes over the number of digits that an earlier pass over the same log has found.
    pub(crate) fn copy_digits(&self, earlier: &Self) {
        if earlier.path == self.path && earlier.digits() == Digits::Twenty {
            self.has_twenty_digits.store(true, Ordering::Relaxed);
        }
    }

    /// The encoding, if it was guessed; see [`LogReader::guessed_encoding`].
    pub fn guessed_encoding(&self) -> Option<TextEncoding> {
        *self.encoding.lock().ignore_poison()
    }

    /// The problems found in the log so far.
    pub fn problems(&self) -> Problems {
        self.problems.lock().ignore_poison().clone()
    }
}

/// A log as a source.
pub struct LogSource {
    reader: Box<dyn LogReader>,
    report: LogReport,
    /// Number of problems that are in the report.
    reported: u64,
    encoding: Option<TextEncoding>,
    /// Whether the report is no longer updated, because samples are read for a second time.
    is_quiet: bool,
}

impl LogSource {
    /// Opens a log of any format.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not a log.
    pub fn open(path: &Path) -> Result<Self, FlowError> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// Like [`open`](Self::open), but with options.
    ///
    /// # Errors
    ///
    /// See [`open`](Self::open). Also when a text log needs more memory than is left of the budget in `options`.
    pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Self, FlowError> {
        Ok(Self::new(path, tachograph_logs::open_with(path, options)?))
    }

    /// A source over a reader. `path` is used in the report and in error messages.
    pub fn new(path: &Path, reader: Box<dyn LogReader>) -> Self {
        let report = LogReport {
            path: path.to_path_buf(),
            facts: Arc::new(reader.facts().clone()),
            bytes_read: Arc::default(),
            buffer_bytes: Arc::default(),
            problems: Arc::default(),
            has_twenty_digits: Arc::new(AtomicBool::new(reader.digits() == Digits::Twenty)),
            encoding: Arc::default(),
        };
        Self { reader, report, reported: 0, encoding: None, is_quiet: false }
    }

    /// The report, which is updated while the source is in use.
    pub fn report(&self) -> &LogReport {
        &self.report
    }

    /// The position of the next sample; see [`LogReader::mark`].
    pub fn mark(&mut self) -> Option<Mark> {
        self.reader.mark()
    }

    /// Seeks to a position; see [`LogReader::seek`]. The report is no longer updated.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn seek_to(&mut self, mark: &Mark) -> Result<bool, FlowError> {
        self.is_quiet = true;
        Ok(self.reader.seek(mark).map_err(|error| error.at_path(&self.report.path))?)
    }

    /// Skips samples before a window; see [`LogReader::skip_before`].
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn skip_before(&mut self, begin: TimeArgument) -> Result<(), FlowError> {
        Ok(self.reader.skip_before(begin).map_err(|error| error.at_path(&self.report.path))?)
    }

    /// Names the counters whose values are needed; see [`LogReader::limit_counters`].
    pub fn limit_counters(&mut self, filter: &CounterFilter) {
        self.reader.limit_counters(filter);
    }

    /// Whether samples can be read that are appended to the file later; see [`LogReader::follows_growth`].
    pub fn follows_growth(&self) -> bool {
        self.reader.follows_growth()
    }

    /// Seeks to the last `bytes` bytes of the file; see [`LogReader::seek_near_end`]. The report is no longer updated.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn seek_near_end(&mut self, bytes: u64) -> Result<bool, FlowError> {
        self.is_quiet = true;
        Ok(self.reader.seek_near_end(bytes).map_err(|error| error.at_path(&self.report.path))?)
    }
}

impl Source for LogSource {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let more = self.reader.next(sample).map_err(|error| error.at_path(&self.report.path));
        if self.is_quiet {
            return Ok(more?);
        }
        self.report.buffer_bytes.store(self.reader.buffer_bytes(), Ordering::Relaxed);
        self.report.bytes_read.store(self.reader.bytes_read(), Ordering::Relaxed);
        if self.reader.digits() == Digits::Twenty {
            self.report.has_twenty_digits.store(true, Ordering::Relaxed);
        }
        let encoding = self.reader.guessed_encoding();
        if encoding != self.encoding {
            self.encoding = encoding;
            *self.report.encoding.lock().ignore_poison() = encoding;
        }
        let problems = self.reader.problems();
        if problems.count() != self.reported {
            self.reported = problems.count();
            *self.report.problems.lock().ignore_poison() = problems.clone();
        }
        Ok(more?)
    }
}

/// Number of bytes at the end of a log in which its last sample is searched first.
const LAST_BYTES: u64 = 256 << 10;

/// The time of a log's last sample, read from the end of the file where the format allows it. `None` if it has no samples.
///
/// # Errors
///
/// When the log cannot be read.
pub fn last_sample_time(path: &Path, options: &ReadOptions) -> Result<Option<FileTime>, FlowError> {
    let mut bytes = LAST_BYTES;
    loop {
        let mut log = LogSource::open_with(path, options)?;
        let is_partial = log.seek_near_end(bytes)?;
        let mut sample = Sample::default();
        let mut last: Option<FileTime> = None;
        while log.next(&mut sample)? {
            if !sample.is_baseline {
                last = last.max(Some(sample.at.utc));
            }
        }
        if last.is_some() || !is_partial {
            return Ok(last);
        }
        bytes = bytes.saturating_mul(8);
    }
}
