//! Reads one machine of an archive: its complete files, then the open segments of its recorder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::Problem;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::sample::Sample;

use super::folder::{complete_files, not_an_archive, span_from_footer};
use super::read::{ArchivePosition, ArchiveReader, SkippedDamage};
use super::segments::segments;
use crate::blg::BlgReader;
use crate::mark::Position;
use crate::{CounterFilter, Format, LogError, LogFacts, LogReader, Mark, Problems};

/// The maximum number of times that a reader lists the files again because one was removed while it was read.
const MAX_REFRESHES: u32 = 100;

/// Reads the samples of a machine in order of time, even while a recorder adds, merges and removes files.
///
/// A sample can be both in a complete file and in the open segment from which the file was made. It is returned once:
/// samples of segments that are not later than the last complete file are skipped. If a file disappears because it was
/// merged or has expired, the folder is listed again, and reading continues after the last sample.
///
/// Damaged files are skipped and reported as problems. Damage within a file is an error, unless it is to be skipped too.
pub struct MachineReader {
    folder: PathBuf,
    skipped_damage: SkippedDamage,
    facts: LogFacts,
    files: Option<ArchiveReader>,
    paths: Vec<Arc<Path>>,
    /// The time of the last sample of the complete files.
    files_end: FileTime,
    segments: Vec<OpenSegment>,
    /// The index of the segment that is read; `None` while complete files are read.
    segment: Option<usize>,
    /// The time of the last sample that was returned.
    last_time: Option<FileTime>,
    /// After the folder was listed again: samples up to this time were already returned.
    returned_until: Option<FileTime>,
    /// Added to the log ids of the current segment.
    log_base: u32,
    /// The first unused log id.
    next_log: u32,
    /// Bytes that were read before the folder was listed again.
    bytes_before_refresh: u64,
    problems: Problems,
    /// The number of problems of the complete files that were added to `problems`.
    reported: usize,
    refreshes: u32,
    filter: Option<CounterFilter>,
}

/// The complete files of a machine.
struct CompleteFiles {
    /// `None` without files.
    reader: Option<ArchiveReader>,
    paths: Vec<Arc<Path>>,
    /// The time of the last sample.
    end: FileTime,
}

impl Default for CompleteFiles {
    fn default() -> Self {
        Self { reader: None, paths: Vec::new(), end: FileTime(i64::MIN) }
    }
}

/// An open segment. Its file remains readable after it is unlinked.
struct OpenSegment {
    path: Arc<Path>,
    /// `None` if the segment has no sample yet.
    reader: Option<Box<BlgReader<File>>>,
    /// The position of the first sample.
    start: Option<Mark>,
    /// The number of its problems that were added to the list of the [`MachineReader`].
    reported_problems: usize,
}

/// A position between two samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MachinePosition {
    part: PositionPart,
    /// The time of the preceding sample, by which the position is found if its file was removed.
    last_time: Option<FileTime>,
    log_base: u32,
    next_log: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum PositionPart {
    File(Arc<Path>, ArchivePosition),
    OpenSegment(Arc<Path>, Mark),
    /// After the last sample.
    End,
}

/// Advice for damage that is not skipped.
const MOVE_AWAY: &str = "move the file away to read the others ('tacho check' lists all damage)";

/// The time of the last sample of the last file that is not damaged.
fn end_of_files(paths: &[Arc<Path>]) -> Result<FileTime, LogError> {
    for path in paths.iter().rev() {
        match span_from_footer(path) {
            Err(error) if error.is_corrupt() => {}
            outcome => return Ok(outcome?.last),
        }
    }
    Ok(FileTime(i64::MIN))
}

impl OpenSegment {
    /// Opens the segments of a machine.
    fn open_all(folder: &Path, problems: &mut Problems) -> Result<Vec<Self>, LogError> {
        let mut opened = Vec::new();
        for path in segments(folder)? {
            let file = match File::open(&path) {
                Ok(file) => file,
                // The segment was converted to a complete file meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(LogError::io(error).at_path(&path)),
            };
            let mut reader = match BlgReader::new(file) {
                Ok(reader) => Some(Box::new(reader)),
                Err(error) if error.is_corrupt() => {
                    // Its recorder has not written the first sample, or was stopped before it did.
                    let why = format!("{}: the open segment has no sample: {error}", path.display());
                    problems.push(Problem::new(0, why).into_warning());
                    None
                }
                Err(error) => return Err(error.at_path(&path)),
            };
            let start = reader.as_mut().and_then(|reader| reader.mark());
            opened.push(Self { path: path.into(), reader, start, reported_problems: 0 });
        }
        Ok(opened)
    }

    fn rewind(&mut self) -> Result<(), LogError> {
        if let (Some(reader), Some(start)) = (&mut self.reader, &self.start) {
            reader.seek(start).map_err(|error| error.at_path(&self.path))?;
        }
        Ok(())
    }

    fn next(&mut self, sample: &mut Sample, problems: &mut Problems) -> Result<bool, LogError> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        let is_sample = reader.next(sample).map_err(|error| error.at_path(&self.path))?;
        let listed = reader.problems().list();
        for problem in listed.get(self.reported_problems..).unwrap_or_default() {
            let what = format!("{}: {}", self.path.display(), problem.what);
            problems.push(Problem { what: what.into(), ..problem.clone() });
        }
        self.reported_problems = listed.len();
        Ok(is_sample)
    }
}

impl MachineReader {
    /// Opens the folder of a machine, or of a date.
    ///
    /// # Errors
    ///
    /// When a folder or a file cannot be read, there are no samples, or all files are damaged.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        Self::open_with(folder, SkippedDamage::Files)
    }

    /// Like [`open`](Self::open), and skips this damage.
    ///
    /// # Errors
    ///
    /// See [`open`](Self::open).
    pub fn open_with(folder: &Path, skipped_damage: SkippedDamage) -> Result<Self, LogError> {
        let mut problems = Problems::default();
        // Segments are opened first, because they can be converted to complete files at any moment.
        let segments = OpenSegment::open_all(folder, &mut problems)?;
        for _ in 0..MAX_REFRESHES {
            match Self::open_files(folder, skipped_damage) {
                Err(error) if error.is_not_found() => {}
                Err(error) if error.is_corrupt() => return Err(error.with_advice(MOVE_AWAY)),
                Err(error) => return Err(error),
                Ok(files) => return Self::from_parts(folder, skipped_damage, files, segments, problems),
            }
        }
        Err(LogError::io(std::io::ErrorKind::ResourceBusy.into()).at_path(folder))
    }

    fn open_files(folder: &Path, skipped_damage: SkippedDamage) -> Result<CompleteFiles, LogError> {
        let files = complete_files(folder)?;
        if files.is_empty() {
            return Ok(CompleteFiles::default());
        }
        let paths: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
        let shared: Vec<Arc<Path>> = paths.iter().map(|path| Arc::from(path.as_path())).collect();
        let reader = ArchiveReader::open_with(paths, skipped_damage)?;
        Ok(CompleteFiles { end: end_of_files(&shared)?, reader: Some(reader), paths: shared })
    }

    fn from_parts(
        folder: &Path,
        skipped_damage: SkippedDamage,
        files: CompleteFiles,
        segments: Vec<OpenSegment>,
        problems: Problems,
    ) -> Result<Self, LogError> {
        let CompleteFiles { reader: files, paths, end: files_end } = files;
        let of_segments = || segments.iter().find_map(|segment| segment.reader.as_ref());
        let facts =
            files.as_ref().map(LogReader::facts).or_else(|| of_segments().map(|reader| reader.facts()));
        let facts = facts.ok_or_else(|| not_an_archive(folder))?;
        let readers = segments.iter().filter_map(|segment| segment.reader.as_ref());
        let segment_bytes: u64 = readers.map(|reader| reader.facts().file_bytes).sum();
        let file_bytes = files.as_ref().map_or(0, |files| files.facts().file_bytes) + segment_bytes;
        let facts = LogFacts { format: Format::Archive, file_bytes, ..facts.clone() };
        Ok(Self {
            folder: folder.to_path_buf(),
            skipped_damage,
            facts,
            segment: if files.is_none() { Some(0) } else { None },
            files,
            paths,
            files_end,
            segments,
            last_time: None,
            returned_until: None,
            log_base: 0,
            next_log: 0,
            bytes_before_refresh: 0,
            problems,
            reported: 0,
            refreshes: 0,
            filter: None,
        })
    }

    /// Lists the folder again, and continues after the last sample that was returned.
    fn refresh(&mut self) -> Result<(), LogError> {
        let bytes_read = self.bytes_read();
        let next_log = self.files.as_ref().map_or(0, ArchiveReader::next_log).max(self.next_log);
        let mut reopened = Self::open_with(&self.folder, self.skipped_damage)?;
        self.bytes_before_refresh = bytes_read;
        self.next_log = next_log;
        if let Some(files) = &mut reopened.files {
            self.filter.iter().for_each(|filter| files.limit_counters(filter));
            if let Some(last) = self.last_time {
                files.skip_before(TimeArgument::Utc(last))?;
            }
            // The log of the last sample can continue in the next file.
            files.set_next_log(next_log.saturating_sub(1));
        }
        self.add_problems();
        self.reported = 0;
        self.files = reopened.files;
        self.paths = reopened.paths;
        self.files_end = reopened.files_end;
        self.segments = reopened.segments;
        self.segment = reopened.segment;
        self.log_base = next_log;
        self.returned_until = self.last_time;
        Ok(())
    }

    /// Calls `read`. If a file was removed, lists the folder again and retries.
    fn with_refreshes<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut outcome = read(self);
        while let Err(error) = &outcome {
            if !error.is_not_found() || self.refreshes >= MAX_REFRESHES {
                break;
            }
            self.refreshes += 1;
            // Another file can be removed while the folder is listed.
            outcome = self.refresh().and_then(|()| read(self));
        }
        outcome
    }

    /// Reads the next sample from the complete files, then from the segments.
    fn next_sample(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        if self.segment.is_none()
            && let Some(files) = &mut self.files
        {
            if files.next(sample).map_err(|error| error.with_advice(MOVE_AWAY))? {
                return Ok(true);
            }
            self.next_log = self.next_log.max(files.next_log());
            self.begin_segment(0)?;
        }
        while let Some(index) = self.segment
            && let Some(segment) = self.segments.get_mut(index)
        {
            while segment.next(sample, &mut self.problems)? {
                // Samples up to `files_end` are also in the complete files.
                if sample.at.utc > self.files_end {
                    sample.log = self.log_base.saturating_add(sample.log);
                    self.next_log = self.next_log.max(sample.log.saturating_add(1));
                    return Ok(true);
                }
            }
            self.begin_segment(index + 1)?;
        }
        Ok(false)
    }

    /// Adds the new problems of the complete files. After the folder is listed again, the same files are damaged.
    fn add_problems(&mut self) {
        let found = self.files.as_ref().map_or(&[][..], |files| files.problems().list());
        for problem in found.get(self.reported..).unwrap_or_default() {
            if !self.problems.list().contains(problem) {
                self.problems.push(problem.clone());
            }
        }
        self.reported = found.len();
    }

    fn begin_segment(&mut self, index: usize) -> Result<(), LogError> {
        self.segment = Some(index);
        self.log_base = self.next_log;
        self.segments.get_mut(index).map_or(Ok(()), OpenSegment::rewind)
    }
}

impl LogReader for MachineReader {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        loop {
            let outcome = self.with_refreshes(|reader| reader.next_sample(sample));
            self.add_problems();
            if !outcome? {
                return Ok(false);
            }
            if self.returned_until.is_none_or(|until| sample.at.utc > until) {
                self.returned_until = None;
                self.last_time = Some(sample.at.utc);
                return Ok(true);
            }
        }
    }

    fn skip_before(&mut self, begin: TimeArgument) -> Result<(), LogError> {
        self.with_refreshes(|reader| match &mut reader.files {
            Some(files) => files.skip_before(begin),
            None => Ok(()),
        })
    }

    fn limit_counters(&mut self, filter: &CounterFilter) {
        self.filter = Some(Arc::clone(filter));
        self.files.iter_mut().for_each(|files| files.limit_counters(filter));
    }

    fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        if bytes >= self.facts.file_bytes {
            return Ok(false);
        }
        // Reading continues at the last row group, since this and the open segments are only a small part of an archive.
        self.with_refreshes(|reader| match &mut reader.files {
            Some(files) => files.seek_last_row_group().map(|()| true),
            None => Ok(false),
        })
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn bytes_read(&self) -> u64 {
        let readers = self.segments.iter().filter_map(|segment| segment.reader.as_ref());
        let of_segments: u64 = readers.map(|reader| reader.bytes_read()).sum();
        self.bytes_before_refresh + self.files.as_ref().map_or(0, LogReader::bytes_read) + of_segments
    }

    fn mark(&mut self) -> Option<Mark> {
        let part = match (self.segment, &mut self.files) {
            (None, Some(files)) => match files.mark()?.0 {
                Position::Archive(position) => {
                    PositionPart::File(Arc::clone(self.paths.get(position.file)?), position)
                }
                _ => return None,
            },
            (segment, _) => match self.segments.get_mut(segment.unwrap_or_default()) {
                Some(OpenSegment { path, reader: Some(reader), .. }) => {
                    PositionPart::OpenSegment(Arc::clone(path), reader.mark()?)
                }
                _ => PositionPart::End,
            },
        };
        let Self { last_time, log_base, next_log, .. } = *self;
        Some(Mark(Position::Machine(Box::new(MachinePosition { part, last_time, log_base, next_log }))))
    }

    fn seek(&mut self, mark: &Mark) -> Result<bool, LogError> {
        let Position::Machine(position) = &mark.0 else { return Ok(false) };
        (self.last_time, self.returned_until) = (position.last_time, None);
        (self.log_base, self.next_log) = (position.log_base, position.next_log);
        let mut is_retry = false;
        self.with_refreshes(|reader| {
            // On a retry, `refresh` has already found the position by its time.
            if std::mem::replace(&mut is_retry, true) {
                return Ok(());
            }
            reader.seek_part(&position.part)
        })?;
        Ok(true)
    }
}

impl MachineReader {
    /// Seeks to a position in a file or segment. Returns a not-found error if the file was removed.
    fn seek_part(&mut self, part: &PositionPart) -> Result<(), LogError> {
        match part {
            PositionPart::File(path, position) => {
                let file = self.paths.iter().position(|known| known == path);
                if let (Some(file), Some(files)) = (file, &mut self.files) {
                    self.segment = None;
                    let mut position = position.clone();
                    position.file = file;
                    return files.seek(&Mark(Position::Archive(position))).map(drop);
                }
            }
            PositionPart::OpenSegment(path, mark) => {
                let index = self.segments.iter().position(|segment| segment.path == *path);
                if let Some(index) = index
                    && let Some(reader) = &mut self.segments[index].reader
                {
                    self.segment = Some(index);
                    return reader.seek(mark).map(drop);
                }
            }
            PositionPart::End => {
                self.segment = Some(self.segments.len());
                return Ok(());
            }
        }
        Err(LogError::io(std::io::ErrorKind::NotFound.into()).at_path(&self.folder))
    }
}
