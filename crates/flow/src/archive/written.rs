//! Detects samples of a segment that are already in complete files.

use std::path::PathBuf;

use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::sample::Sample;
use tachograph_logs::archive::{ArchiveReader, FileSpan};
use tachograph_logs::{LogError, LogReader as _};

/// Compares the samples of a segment, in order, with those of the complete files.
pub(super) struct WrittenSamples {
    /// The files, until they are opened.
    files: Vec<FileSpan>,
    /// The time of the last sample of the files.
    end: FileTime,
    reader: Option<ArchiveReader>,
    /// The last sample that was read from the files.
    sample: Sample,
    /// The number of samples of the segment that are in no file, although they are not later than `end`.
    missing_count: u64,
    /// The time of the last missing sample.
    last_missing: Option<Moment>,
    error: Option<LogError>,
}

impl WrittenSamples {
    /// `end` is the time of the last sample of `files`.
    pub(super) fn new(files: Vec<FileSpan>, end: FileTime) -> Self {
        Self {
            files,
            end,
            reader: None,
            sample: Sample::default(),
            missing_count: 0,
            last_missing: None,
            error: None,
        }
    }

    /// Whether a sample of the segment is later than all samples of the complete files. A sample that is not later and is
    /// in no complete file is counted as missing.
    pub(super) fn is_later(&mut self, sample: &Sample) -> bool {
        if sample.at.utc > self.end {
            return true;
        }
        match self.contains(sample.at.utc) {
            Ok(true) => {}
            Ok(false) => {
                self.missing_count += 1;
                self.last_missing = Some(sample.at);
            }
            Err(error) => drop(self.error.get_or_insert(error)),
        }
        false
    }

    fn contains(&mut self, utc: FileTime) -> Result<bool, LogError> {
        if !self.files.is_empty() {
            let files = std::mem::take(&mut self.files).into_iter().filter(|file| file.last >= utc);
            let paths: Vec<PathBuf> = files.map(|file| file.path).collect();
            self.reader = self.skip_damaged(ArchiveReader::open(paths))?;
            if let Some(reader) = &mut self.reader {
                reader.skip_before(TimeArgument::Utc(utc))?;
                self.sample.at.utc = FileTime(i64::MIN);
            }
        }
        while self.sample.at.utc < utc
            && let Some(reader) = &mut self.reader
        {
            let found = reader.next(&mut self.sample);
            if self.skip_damaged(found)? != Some(true) {
                self.reader = None;
            }
        }
        Ok(self.reader.is_some() && self.sample.at.utc == utc)
    }

    /// Returns `None` for a damaged file. Its samples are unknown, so the samples of the segment count as missing.
    fn skip_damaged<T>(&self, outcome: Result<T, LogError>) -> Result<Option<T>, LogError> {
        match outcome {
            Err(error) if error.is_corrupt() => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// The number of missing samples, and the time of the last one.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub(super) fn missing_samples(self) -> Result<Option<(u64, Moment)>, LogError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.last_missing.map(|last| (self.missing_count, last))),
        }
    }
}
