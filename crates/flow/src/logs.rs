//! Logs as sources.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_counters::sample::Sample;
use tachograph_logs::{Digits, LogFacts, LogReader, Mark, Problems, ReadOptions, TextEncoding};

use crate::{FlowError, Source};

/// What became known of a log while it was read: shared between the source, which may run on another thread, and whoever
/// reports on it.
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
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the log says of itself.
    pub fn facts(&self) -> &LogFacts {
        &self.facts
    }

    /// How many bytes were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// How many bytes of the log its reader holds, as [`LogReader::buffer_bytes`].
    pub fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes.load(Ordering::Relaxed)
    }

    /// With how many digits its values are written as text, as far as it was read; see [`LogReader::digits`].
    pub fn digits(&self) -> Digits {
        if self.has_twenty_digits.load(Ordering::Relaxed) { Digits::Twenty } else { Digits::Seventeen }
    }

    /// Takes over what an earlier reading of the same log found out of its digits.
    pub(crate) fn know_digits(&self, earlier: &Self) {
        if earlier.path == self.path && earlier.digits() == Digits::Twenty {
            self.has_twenty_digits.store(true, Ordering::Relaxed);
        }
    }

    /// How its characters are encoded, where that was guessed; see [`LogReader::guessed_encoding`].
    pub fn guessed_encoding(&self) -> Option<TextEncoding> {
        *self.encoding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found damaged so far.
    pub fn problems(&self) -> Problems {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A log as a source.
pub struct LogSource {
    reader: Box<dyn LogReader>,
    report: LogReport,
    /// How many problems the report holds already.
    reported: u64,
    /// The encoding that the report holds already.
    encoding: Option<TextEncoding>,
    /// What is read was read before, and is not reported again.
    is_quiet: bool,
}

impl LogSource {
    /// Opens a log of any format.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is no log.
    pub fn open(path: &Path) -> Result<Self, FlowError> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and when a text log needs more memory than the options' budget has left.
    pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Self, FlowError> {
        Ok(Self::new(path, tachograph_logs::open_with(path, options)?))
    }

    /// A source over a reader; `path` is for messages.
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

    /// What becomes known of the log, to be kept while the source is consumed.
    pub fn report(&self) -> &LogReport {
        &self.report
    }

    /// Where the next sample begins, as [`LogReader::mark`].
    pub fn mark(&mut self) -> Option<Mark> {
        self.reader.mark()
    }

    /// Goes to a place, as [`LogReader::go_to`]. The report stays as it is from now on: what is read was read before.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn go_to(&mut self, mark: &Mark) -> Result<bool, FlowError> {
        self.is_quiet = true;
        Ok(self.reader.go_to(mark).map_err(|error| error.at_path(&self.report.path))?)
    }

    /// Whether samples that are appended to the file are read on, as [`LogReader::follows_growth`].
    pub fn follows_growth(&self) -> bool {
        self.reader.follows_growth()
    }

    /// Goes to the last bytes of the file, as [`LogReader::go_near_end`].
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn go_near_end(&mut self, bytes: u64) -> Result<bool, FlowError> {
        self.is_quiet = true;
        Ok(self.reader.go_near_end(bytes).map_err(|error| error.at_path(&self.report.path))?)
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
            *self.report.encoding.lock().unwrap_or_else(PoisonError::into_inner) = encoding;
        }
        let problems = self.reader.problems();
        if problems.count() != self.reported {
            self.reported = problems.count();
            *self.report.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems.clone();
        }
        Ok(more?)
    }
}
