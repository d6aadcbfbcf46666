//! Reads archives, one sample at a time.

mod decoded;

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::Problem;
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::MAX_BIAS_MINUTES;

use super::file::{ArchiveFacts, ArchiveFile, RowGroupFacts};
use super::folder::{self, end_by_name, misplaced};
use crate::mark::Position;
use crate::{CounterFilter, Format, LogError, LogFacts, LogReader, Mark, Problems};
use decoded::{DecodedBlock, Interner};

/// An upper bound on how far local time jumps within a row group: more than any change for daylight-saving time.
const LOCAL_MARGIN: i64 = 3 * 60 * FileTime::PER_MINUTE;

/// A file or any other stream.
trait Stream: Read + Seek + Send {}

impl<T: Read + Seek + Send> Stream for T {}

/// The damaged parts that a reader skips and reports as problems. Other damage is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkippedDamage {
    /// All damage is an error.
    #[default]
    None,
    /// Files that cannot be opened, because they are cut short, or their footer is damaged.
    Files,
    /// Such files, and damaged row groups of other files.
    FilesAndRowGroups,
}

/// Reads the files of one machine in order of time.
///
/// The checksum of everything that is read is verified. A damaged part is an error, unless it is
/// [skipped](Self::skip_damage). The reader keeps one row group in memory: usually at most a million values, and never more
/// than four million.
pub struct ArchiveReader {
    facts: LogFacts,
    paths: Vec<PathBuf>,
    skipped_damage: SkippedDamage,
    /// The open file; `file_index` is its index in `paths`.
    file: ArchiveFile<Box<dyn Stream>>,
    file_index: usize,
    /// The row group that is read next.
    row_group: usize,
    block: Option<DecodedBlock>,
    interner: Interner,
    filter: Option<CounterFilter>,
    /// Added to the log ids of the current recording.
    log_base: u32,
    /// The first unused log id.
    next_log: u32,
    /// Bytes that were read from earlier files.
    bytes_before: u64,
    problems: Problems,
}

/// A position between two samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArchivePosition {
    pub(super) file: usize,
    row_group: usize,
    sample: usize,
    log_base: u32,
    next_log: u32,
}

impl ArchiveReader {
    /// Opens a single file.
    ///
    /// # Errors
    ///
    /// When reading fails, or the stream is not a file of an archive, or is damaged.
    pub fn new<R: Read + Seek + Send + 'static>(mut stream: R) -> Result<Self, LogError> {
        let bytes = stream.seek(std::io::SeekFrom::End(0)).map_err(LogError::io)?;
        Self::from_first(ArchiveFile::open(Box::new(stream) as Box<dyn Stream>)?, Vec::new(), bytes)
    }

    /// Opens files of one machine, which must be in order of time.
    ///
    /// # Errors
    ///
    /// When the first file cannot be opened; see [`new`](Self::new).
    pub fn open(paths: Vec<PathBuf>) -> Result<Self, LogError> {
        Self::open_with(paths, SkippedDamage::None)
    }

    /// Like [`open`](Self::open), but skips damage.
    ///
    /// # Errors
    ///
    /// When no file can be opened; the error is that of the first file.
    pub(super) fn open_with(paths: Vec<PathBuf>, skipped_damage: SkippedDamage) -> Result<Self, LogError> {
        let length = |path: &PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let bytes = paths.iter().map(length).sum();
        let mut first_error = None;
        let mut problems = Problems::default();
        for (index, path) in paths.iter().enumerate() {
            match open_file(path) {
                Ok(file) => {
                    if let Some(problem) = misplaced(path, file.times(), &file.facts.machine) {
                        problems.push(problem);
                    }
                    let reader = Self::from_first(file, paths, bytes)?;
                    return Ok(Self { file_index: index, skipped_damage, problems, ..reader });
                }
                Err(error) if error.is_corrupt() && skipped_damage >= SkippedDamage::Files => {
                    problems.push(skipped_file(&error));
                    first_error.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(first_error.unwrap_or_else(|| LogError::not_a_log("the archive has no files")))
    }

    /// Skips damage from now on.
    pub fn skip_damage(&mut self, skipped: SkippedDamage) {
        self.skipped_damage = skipped;
    }

    fn from_first(
        file: ArchiveFile<Box<dyn Stream>>,
        paths: Vec<PathBuf>,
        file_bytes: u64,
    ) -> Result<Self, LogError> {
        let ArchiveFacts { zone, boot_time, performance_frequency, windows_build, .. } = file.facts.clone();
        let facts = LogFacts {
            format: Format::Archive,
            zone,
            boot_time,
            performance_frequency,
            windows_build,
            file_bytes,
        };
        Ok(Self {
            facts,
            paths,
            skipped_damage: SkippedDamage::None,
            file,
            file_index: 0,
            row_group: 0,
            block: None,
            interner: Interner::default(),
            filter: None,
            log_base: 0,
            next_log: 0,
            bytes_before: 0,
            problems: Problems::default(),
        })
    }

    /// The facts of the file that is being read.
    pub fn archive_facts(&self) -> &ArchiveFacts {
        &self.file.facts
    }

    /// The time of the last sample of the file that is being read, according to its footer.
    pub fn last_time(&self) -> FileTime {
        self.file.row_groups.iter().map(|group| group.last).max().unwrap_or(FileTime(i64::MIN))
    }

    /// The first log id that this reader has not used.
    pub(super) fn next_log(&self) -> u32 {
        self.next_log
    }

    /// Sets the first log id to use.
    pub(super) fn set_next_log(&mut self, next_log: u32) {
        (self.log_base, self.next_log) = (next_log, next_log);
    }

    /// Skips everything before the last row group.
    pub(super) fn seek_last_row_group(&mut self) -> Result<(), LogError> {
        let files = self.paths.len().max(1);
        self.enter_last_of(files)?;
        self.row_group = self.file.row_groups.len().saturating_sub(1);
        self.block = None;
        Ok(())
    }

    /// Opens the last intact file of the first `count` files. Returns false if all are damaged.
    fn enter_last_of(&mut self, count: usize) -> Result<bool, LogError> {
        for index in (0..count).rev() {
            if self.enter_file(index)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens the file with this index, unless it is open. Returns false if it is damaged and skipped; the open file is then
    /// unchanged.
    fn enter_file(&mut self, index: usize) -> Result<bool, LogError> {
        if self.file_index == index {
            return Ok(true);
        }
        match self.change_file(index) {
            Err(error) if error.is_corrupt() && self.skipped_damage >= SkippedDamage::Files => {
                self.report(skipped_file(&error));
                Ok(false)
            }
            outcome => outcome.map(|()| true),
        }
    }

    /// Adds a problem, unless it is already in the list: a file can be opened several times.
    fn report(&mut self, problem: Problem) {
        if !self.problems.list().contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Adds the path of the file that is being read to an error.
    fn at_file(&self, error: LogError) -> LogError {
        match self.paths.get(self.file_index) {
            Some(path) => error.at_path(path),
            None => error,
        }
    }

    /// Opens the file with this index in `paths`. If it belongs to another recording, its log ids are new.
    fn change_file(&mut self, index: usize) -> Result<(), LogError> {
        let path = &self.paths[index];
        let file = open_file(path)?;
        if let Some(problem) = misplaced(path, file.times(), &file.facts.machine) {
            self.report(problem);
        }
        self.bytes_before += self.file.bytes_read;
        if file.facts.recording != self.file.facts.recording {
            self.log_base = self.next_log;
        }
        self.file = file;
        self.file_index = index;
        self.row_group = 0;
        self.block = None;
        Ok(())
    }

    /// Reads and decodes the next row group. Returns false at the end.
    fn next_block(&mut self) -> Result<bool, LogError> {
        loop {
            while self.row_group >= self.file.row_groups.len() {
                let later = self.file_index + 1..self.paths.len();
                let mut is_entered = false;
                for index in later {
                    is_entered = self.enter_file(index)?;
                    if is_entered {
                        break;
                    }
                }
                if !is_entered {
                    return Ok(false);
                }
            }
            let index = self.row_group;
            // A damaged row group is skipped by the next call.
            self.row_group += 1;
            let filter = self.filter.as_ref();
            let block =
                DecodedBlock::read(&mut self.file, index, &mut self.interner, self.block.take(), filter);
            match block.map_err(|error| self.at_file(error)) {
                Ok(block) => {
                    self.block = Some(block);
                    return Ok(true);
                }
                Err(error)
                    if error.is_corrupt() && self.skipped_damage >= SkippedDamage::FilesAndRowGroups =>
                {
                    self.report(skipped_row_group(&error));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether a moment is before a time. A local time is in the zone of the moment.
fn is_before(moment: Moment, time: TimeArgument) -> bool {
    match time {
        TimeArgument::Local(local) => moment.local() < local,
        TimeArgument::Utc(utc) => moment.utc < utc,
    }
}

/// The earliest UTC time that `time` can denote in any zone.
fn earliest_utc(time: TimeArgument) -> FileTime {
    match time {
        TimeArgument::Local(local) => {
            local.saturating_sub(i64::from(MAX_BIAS_MINUTES) * FileTime::PER_MINUTE)
        }
        TimeArgument::Utc(utc) => utc,
    }
}

/// Whether a row group can have a sample at or after a time. The footer has the UTC offset of the first sample only,
/// and daylight-saving time can begin or end within the row group.
fn can_reach(group: &RowGroupFacts, time: TimeArgument) -> bool {
    let margin = match time {
        TimeArgument::Local(_) => LOCAL_MARGIN,
        TimeArgument::Utc(_) => 0,
    };
    let last = Moment { utc: group.last.saturating_add(margin), bias_minutes: group.first.bias_minutes };
    !is_before(last, time)
}

/// The problem of a file that is not read.
fn skipped_file(error: &LogError) -> Problem {
    let problem = error.problem();
    let file = error.path().unwrap_or(Path::new("")).display();
    let what = format!("{file}: the file is damaged ({}) and is not read; move it away", problem.what);
    Problem { what: what.into(), ..problem }
}

/// The problem of a row group that is not read. The message of the error names it.
fn skipped_row_group(error: &LogError) -> Problem {
    let problem = error.problem();
    let file = error.path().map_or_else(String::new, |path| format!("{}: ", path.display()));
    let what = format!("{file}{}; the row group is not read", problem.what);
    Problem { what: what.into(), ..problem }
}

fn open_file(path: &Path) -> Result<ArchiveFile<Box<dyn Stream>>, LogError> {
    let file = Box::new(folder::open_file(path)?) as Box<dyn Stream>;
    ArchiveFile::open(file).map_err(|error| error.at_path(path))
}

impl LogReader for ArchiveReader {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        loop {
            if let Some(block) = &mut self.block
                && block.next(sample)
            {
                sample.log = self.log_base.saturating_add(sample.log);
                self.next_log = self.next_log.max(sample.log.saturating_add(1));
                return Ok(true);
            }
            if !self.next_block()? {
                return Ok(false);
            }
        }
    }

    fn skip_before(&mut self, begin: TimeArgument) -> Result<(), LogError> {
        // Binary search for the first file with a sample at or after `begin`. The end of a file is read from its name or, if
        // the name has another form, from its footer.
        let earliest = earliest_utc(begin);
        let last = self.paths.len().max(1) - 1;
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = low + (high - low) / 2;
            let end = self.paths.get(middle).and_then(|path| end_by_name(path));
            let can_have = match end {
                Some(end) => end >= earliest,
                // Continues with the earlier files if this one is damaged.
                None => !self.enter_file(middle)? || self.last_time() >= earliest,
            };
            if can_have {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        // `begin` can be in a later file if it is a local time, or if this file is damaged.
        let mut first = None;
        for index in low..=last {
            if self.enter_file(index)? {
                first = self.file.row_groups.iter().position(|group| can_reach(group, begin));
            }
            if first.is_some() {
                break;
            }
        }
        let Some(first) = first else { return self.seek_last_row_group() };
        (self.row_group, self.block) = (first, None);
        if is_before(self.file.row_groups[first].first, begin) {
            return Ok(());
        }
        if first > 0 {
            self.row_group = first - 1;
        } else if self.enter_last_of(self.file_index)? {
            self.row_group = self.file.row_groups.len().saturating_sub(1);
        }
        Ok(())
    }

    fn limit_counters(&mut self, filter: &CounterFilter) {
        self.filter = Some(Arc::clone(filter));
    }

    fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        if bytes >= self.facts.file_bytes {
            return Ok(false);
        }
        self.seek_last_row_group()?;
        Ok(true)
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_before + self.file.bytes_read
    }

    fn mark(&mut self) -> Option<Mark> {
        let (row_group, sample) = match &self.block {
            Some(block) => (self.row_group - 1, block.position()),
            None => (self.row_group, 0),
        };
        Some(Mark(Position::Archive(ArchivePosition {
            file: self.file_index,
            row_group,
            sample,
            log_base: self.log_base,
            next_log: self.next_log,
        })))
    }

    fn seek(&mut self, mark: &Mark) -> Result<bool, LogError> {
        let Position::Archive(position) = &mark.0 else { return Ok(false) };
        if position.file != self.file_index {
            self.change_file(position.file)?;
        }
        let is_loaded = self.block.is_some() && self.row_group == position.row_group + 1;
        if !is_loaded {
            self.row_group = position.row_group;
            self.block = None;
            if position.row_group < self.file.row_groups.len() {
                self.next_block()?;
            }
        }
        self.block.iter_mut().for_each(|block| block.seek(position.sample));
        (self.log_base, self.next_log) = (position.log_base, position.next_log);
        Ok(true)
    }
}
