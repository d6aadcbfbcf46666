//! Writes an archive.

use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use super::MAX_ROWS;
use super::block::{BlockBuilder, Rows};
use super::description::Descriptions;
use super::file::{ArchiveFacts, ArchiveFile, FileWriter};
use super::folder::{TimeSpan, date_folder, file_name, machine_folder, overlapping};
use super::segments::SegmentName;
use super::storage::{DiskStorage, Storage, StorageFile};
use crate::{LogError, LogFacts, LogWriter};

/// Number of values that the writer keeps in memory, for all machines together, 24 bytes each. Shared equally by the
/// row groups of the machines.
const BLOCK_VALUES: usize = 1 << 20;
/// Maximum number of row groups of a file.
const MAX_ROW_GROUPS: usize = 512;
/// Maximum number of counter groups in all samples of a row group together. It limits the sample table, in which most of these
/// groups take up to 64 bytes.
const MAX_GROUPS: usize = 1 << 18;
/// Number of bytes after which a file is complete.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Whether a file has reached its maximum size, so that further samples go to a new file.
///
/// # Errors
///
/// When the file cannot be read, or is damaged.
pub fn is_full_file(path: &Path) -> Result<bool, LogError> {
    let failed = |error: LogError| error.at_path(path);
    let file = std::fs::File::open(path).map_err(LogError::io).map_err(failed)?;
    let bytes = file.metadata().map_err(LogError::io).map_err(failed)?.len();
    let row_groups = ArchiveFile::open(file).map_err(failed)?.row_groups.len();
    Ok(row_groups >= MAX_ROW_GROUPS || bytes >= MAX_FILE_BYTES)
}

/// Options of [`ArchiveWriter`].
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// The time zone of the samples.
    pub zone: TimeZone,
    /// When the machine was booted, in UTC, if known.
    pub boot_time: Option<FileTime>,
    /// Ticks per second of the performance counter, if known.
    pub performance_frequency: Option<i64>,
    /// Build number of the Windows that wrote the original log.
    pub windows_build: Option<u32>,
    /// The level of zstd, from 1 to 22.
    pub level: i32,
    /// The number of values that the writer keeps in memory, for the row groups of all machines together. A row group has at
    /// least one value.
    pub block_values: usize,
    /// The maximum time range of a row group, in units of 100 ns. Row groups end at multiples of this duration, so a query of
    /// a short time range reads few other samples, even if the archive has few counters, so that its row groups fill slowly.
    pub block_time: i64,
    /// The id of the recording whose samples are written; a new one by default.
    pub recording: Option<String>,
}

/// By default, a row group ends with the hour.
const BLOCK_TIME: i64 = 60 * FileTime::PER_MINUTE;

impl ArchiveOptions {
    /// Options for samples of this time zone.
    pub fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            boot_time: None,
            performance_frequency: None,
            windows_build: None,
            level: 9,
            block_values: BLOCK_VALUES,
            block_time: BLOCK_TIME,
            recording: None,
        }
    }

    /// Options for samples of a log.
    pub fn of_log(facts: &LogFacts) -> Self {
        Self {
            boot_time: facts.boot_time,
            performance_frequency: facts.performance_frequency,
            windows_build: facts.windows_build,
            ..Self::new(facts.zone.clone())
        }
    }
}

/// Writes samples into an archive. Each machine has its own files.
///
/// Files have temporary names until all of them are complete and synced ([`finish`](LogWriter::finish)); a writer that
/// is dropped before that removes its files. Samples of a machine should be in order of time: each sample that is not
/// later than the previous one begins a new row group.
pub struct ArchiveWriter {
    folder: PathBuf,
    storage: Arc<dyn Storage>,
    options: ArchiveOptions,
    recording: String,
    machines: Vec<MachineWriter>,
    /// The rows of the row group that is written. Kept between row groups, because new memory has to be cleared first.
    rows: Rows,
    /// Complete files, with the times of their samples.
    complete_files: Vec<CompleteFile>,
    /// The final paths of the files; empty until the writer is finished.
    named_files: Vec<PathBuf>,
    /// Folders that were created.
    created_folders: Vec<PathBuf>,
    /// The number of files that were created.
    created_files: usize,
}

struct MachineWriter {
    machine: String,
    /// The machine's name in lower case.
    lowercase_name: String,
    builder: BlockBuilder,
    descriptions: Descriptions,
    file: Option<OpenFile>,
    /// The indexes of the machine's groups in the current sample.
    groups: Vec<usize>,
}

impl MachineWriter {
    /// Uses a sample only as the start of the next rows' intervals; the sample's own rows are in another file.
    fn begin_intervals(&mut self, sample: &Sample) {
        self.builder.push(sample, &self.groups, &mut Descriptions::default());
        self.builder.take(&mut Rows::default());
    }

    /// Whether a sample must begin a new row group because of its time.
    fn is_in_next_block(&self, at: FileTime, block_time: i64) -> bool {
        let block = |time: FileTime| time.0.div_euclid(block_time.max(1));
        self.builder.samples().last().is_some_and(|last| block(last.at.utc) != block(at))
    }
}

struct OpenFile {
    writer: FileWriter<BufWriter<Box<dyn StorageFile>>>,
    path: PathBuf,
    date: String,
    /// The time of the last sample.
    last: FileTime,
}

impl OpenFile {
    fn is_full(&self) -> bool {
        self.writer.row_groups().len() >= MAX_ROW_GROUPS || self.writer.bytes() >= MAX_FILE_BYTES
    }
}

struct CompleteFile {
    path: PathBuf,
    span: TimeSpan,
}

impl ArchiveWriter {
    /// Creates a writer into a folder, which is created if it is missing. Existing files are not changed.
    pub fn new(folder: &Path, options: ArchiveOptions) -> Self {
        Self::with_storage(folder, options, Arc::new(DiskStorage))
    }

    /// Like [`new`](Self::new), but changes files through `storage`.
    pub fn with_storage(folder: &Path, options: ArchiveOptions, storage: Arc<dyn Storage>) -> Self {
        let recording = options.recording.clone();
        Self {
            folder: folder.to_path_buf(),
            storage,
            options,
            recording: recording.unwrap_or_else(SegmentName::new_recording),
            machines: Vec::new(),
            rows: Rows::default(),
            complete_files: Vec::new(),
            named_files: Vec::new(),
            created_folders: Vec::new(),
            created_files: 0,
        }
    }

    /// Continues an archive whose last sample is `sample`: the intervals of the first rows begin at `sample`, which itself is
    /// not written. Must be called before the first sample is written.
    pub fn continue_after(&mut self, sample: &Sample) {
        self.assign_groups(sample);
        self.machines.iter_mut().for_each(|machine| machine.begin_intervals(sample));
    }

    /// The final paths of the files; empty until the writer is finished.
    pub fn named_files(&self) -> &[PathBuf] {
        &self.named_files
    }

    /// The folders of the machines whose files have temporary names.
    pub fn machine_folders(&self) -> Vec<PathBuf> {
        let open = self.machines.iter().filter_map(|machine| machine.file.as_ref()).map(|file| &file.path);
        let files = self.complete_files.iter().map(|file| &file.path).chain(open);
        let mut folders: Vec<PathBuf> =
            files.filter_map(|path| path.ancestors().nth(2)).map(Path::to_path_buf).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Completes the current files, and sets the options of the next ones. The next samples must be of other machines.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn begin_log(&mut self, options: ArchiveOptions) -> Result<(), LogError> {
        for machine in 0..self.machines.len() {
            self.close_file(machine)?;
        }
        self.machines.clear();
        self.options = options;
        Ok(())
    }

    /// Assigns each group to its machine.
    fn assign_groups(&mut self, sample: &Sample) {
        self.machines.iter_mut().for_each(|machine| machine.groups.clear());
        for (index, group) in sample.groups.iter().enumerate() {
            let name = &*group.set.machine;
            let known_machine = self.machines.iter().position(|machine| machine.machine == name);
            let known_machine = known_machine.or_else(|| {
                let lowercase_name = name.to_lowercase();
                self.machines.iter().position(|machine| machine.lowercase_name == lowercase_name)
            });
            let machine = known_machine.unwrap_or_else(|| {
                self.machines.push(MachineWriter {
                    machine: name.to_owned(),
                    lowercase_name: name.to_lowercase(),
                    builder: BlockBuilder::default(),
                    descriptions: Descriptions::default(),
                    file: None,
                    groups: Vec::new(),
                });
                self.machines.len() - 1
            });
            self.machines[machine].groups.push(index);
        }
    }

    fn push(&mut self, machine: usize, sample: &Sample) -> Result<(), LogError> {
        let date = date_folder(sample.at.utc);
        let writer = &self.machines[machine];
        // Samples with the same time stay in one file, because files must not overlap in time.
        let is_complete =
            |file: &OpenFile| file.date != date || (file.last < sample.at.utc && file.is_full());
        if writer.file.as_ref().is_some_and(is_complete) {
            self.close_file(machine)?;
        } else if !writer.builder.is_later_than_last(sample)
            || writer.is_in_next_block(sample.at.utc, self.options.block_time)
            || writer.builder.value_count() + count_values(sample, &writer.groups) > MAX_ROWS
        {
            self.flush_block(machine)?;
        }
        if self.machines[machine].file.is_none() {
            if sample.is_baseline && self.is_in_archive(machine, sample.at.utc, &date)? {
                // The sample's rows are already in the archive, so it only starts the first intervals.
                self.machines[machine].begin_intervals(sample);
                return Ok(());
            }
            self.open_file(machine, date)?;
        }
        let writer = &mut self.machines[machine];
        writer.builder.push(sample, &writer.groups, &mut writer.descriptions);
        writer.file.iter_mut().for_each(|file| file.last = file.last.max(sample.at.utc));
        let machines = self.machines.len();
        let writer = &self.machines[machine];
        let is_full = writer.builder.value_count() >= (self.options.block_values / machines).max(1);
        let is_full = is_full || writer.builder.group_count() >= MAX_GROUPS;
        if is_full || writer.builder.samples().len() >= super::table::MAX_SAMPLES {
            self.flush_block(machine)?;
        }
        Ok(())
    }

    /// Whether the time range of an existing file includes a moment.
    fn is_in_archive(&self, machine: usize, at: FileTime, date: &str) -> Result<bool, LogError> {
        let folder = self.folder.join(machine_folder(&self.machines[machine].machine)?).join(date);
        Ok(overlapping(&folder, TimeSpan { first: at, last: at })?.is_some())
    }

    fn open_file(&mut self, machine: usize, date: String) -> Result<(), LogError> {
        let machine_writer = &mut self.machines[machine];
        let folder = self.folder.join(machine_folder(&machine_writer.machine)?).join(&date);
        create_folders(&*self.storage, &folder, &mut self.created_folders)?;
        let path = folder.join(format!(".{}-{}.tmp", self.recording, self.created_files));
        self.created_files += 1;
        let failed = |error| LogError::io(error).at_path(&path);
        let file = self.storage.create(&path).map_err(failed)?;
        let writer = FileWriter::new(BufWriter::with_capacity(1 << 16, file), self.options.level);
        let writer = writer.map_err(failed)?;
        machine_writer.file = Some(OpenFile { writer, path, date, last: FileTime(i64::MIN) });
        machine_writer.descriptions = Descriptions::default();
        machine_writer.builder.begin_file();
        Ok(())
    }

    /// Writes the collected samples of a machine as a row group.
    fn flush_block(&mut self, machine: usize) -> Result<(), LogError> {
        let MachineWriter { builder, file, .. } = &mut self.machines[machine];
        let Some(OpenFile { writer, path, .. }) = file else { return Ok(()) };
        if builder.samples().is_empty() {
            return Ok(());
        }
        let table = builder.take(&mut self.rows);
        writer.push(&self.rows, table).map_err(|error| LogError::io(error).at_path(path))
    }

    /// Completes the file of a machine, which keeps its temporary name.
    fn close_file(&mut self, machine: usize) -> Result<(), LogError> {
        self.flush_block(machine)?;
        let MachineWriter { machine: name, file, descriptions, .. } = &mut self.machines[machine];
        let Some(OpenFile { writer, path, .. }) = file.take() else { return Ok(()) };
        let ArchiveOptions { zone, boot_time, performance_frequency, windows_build, .. } =
            self.options.clone();
        let facts = ArchiveFacts {
            machine: name.clone(),
            zone,
            boot_time,
            performance_frequency,
            windows_build,
            recording: self.recording.clone(),
        };
        let groups = writer.row_groups();
        let first = groups.iter().map(|group| group.first.utc).min().unwrap_or(FileTime(0));
        let last = groups.iter().map(|group| group.last).max().unwrap_or(FileTime(0));
        // Added first, so that the file is removed if completing it fails.
        self.complete_files.push(CompleteFile { path: path.clone(), span: TimeSpan { first, last } });
        let written = writer.finish(&facts, descriptions).and_then(|out| Ok(out.into_inner()?));
        let written = written.and_then(|file: Box<dyn StorageFile>| file.sync());
        written.map_err(|error| LogError::io(error).at_path(&path))
    }

    /// Returns an error if a complete file overlaps in time with another one or with an existing file, because readers
    /// would reject the archive.
    fn check_spans(&self) -> Result<(), LogError> {
        // A file never spans two dates, so only files of one folder can overlap.
        let mut new: Vec<_> =
            self.complete_files.iter().map(|file| (file.path.parent(), file.span)).collect();
        new.sort_unstable();
        if let Some(pair) =
            new.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[1].1.first <= pair[0].1.last)
        {
            return Err(LogError::unsupported(format!(
                "nothing was written: at {} the clock was set back past midnight or past the beginning of a complete file; \
                 files must not overlap in time",
                time_text(pair[1].1.first)
            )));
        }
        for (folder, span) in new {
            if let Some(folder) = folder
                && let Some(existing) = overlapping(folder, span)?
            {
                return Err(LogError::unsupported(format!(
                    "nothing was added: the samples from {} to {} overlap in time with those of {}",
                    time_text(span.first),
                    time_text(span.last),
                    existing.display()
                )));
            }
        }
        Ok(())
    }

    /// Renames the complete files to their final names, and syncs the folders.
    fn name_files(&self, named: &mut Vec<PathBuf>) -> Result<(), LogError> {
        for file in &self.complete_files {
            rename(&*self.storage, file, named).map_err(|error| LogError::io(error).at_path(&file.path))?;
        }
        for folder in self.created_folders.iter().filter_map(|folder| folder.parent()) {
            self.storage.sync_folder(folder).map_err(|error| LogError::io(error).at_path(folder))?;
        }
        Ok(())
    }

    /// Removes the files that still have temporary names, and the folders that were created for them.
    fn remove_unfinished(&mut self) {
        let open = self.machines.iter_mut().filter_map(|machine| machine.file.take()).map(|file| file.path);
        let unnamed: Vec<_> = self.complete_files.drain(..).map(|file| file.path).chain(open).collect();
        for path in unnamed {
            let _ = self.storage.remove(&path);
        }
        // Fails for folders that are not empty.
        self.created_folders.drain(..).rev().for_each(|folder| drop(self.storage.remove_folder(&folder)));
    }
}

/// The number of values of groups of a sample.
fn count_values(sample: &Sample, groups: &[usize]) -> usize {
    groups.iter().map(|&group| sample.groups[group].values.len()).sum()
}

/// Creates a folder and its parents, and records which ones are new.
fn create_folders(storage: &dyn Storage, folder: &Path, created: &mut Vec<PathBuf>) -> Result<(), LogError> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_folders(storage, parent, created)?;
    }
    storage.create_folder(folder).map_err(|error| LogError::io(error).at_path(folder))?;
    created.push(folder.to_path_buf());
    Ok(())
}

/// A time for messages, in UTC.
fn time_text(utc: FileTime) -> String {
    Moment { utc, bias_minutes: 0 }.rfc3339()
}

/// Renames a complete file to an unused final name, and adds the name to `named`.
fn rename(storage: &dyn Storage, file: &CompleteFile, named: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let folder = file.path.parent().unwrap_or(Path::new("."));
    for copy in 0.. {
        let name = folder.join(file_name(file.span.first, file.span.last, copy));
        match storage.rename(&file.path, &name) {
            Ok(()) => {
                named.push(name);
                break;
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    storage.sync_folder(folder)
}

impl LogWriter for ArchiveWriter {
    fn write(&mut self, sample: &Sample) -> Result<(), LogError> {
        self.assign_groups(sample);
        for machine in 0..self.machines.len() {
            // A sample without groups belongs to all machines.
            if !self.machines[machine].groups.is_empty() || sample.groups.is_empty() {
                self.push(machine, sample)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), LogError> {
        for machine in 0..self.machines.len() {
            self.close_file(machine)?;
        }
        self.check_spans()?;
        let mut named = Vec::new();
        if let Err(error) = self.name_files(&mut named) {
            // Either all files have their final names, or none remain.
            named.into_iter().for_each(|path| drop(self.storage.remove(&path)));
            self.remove_unfinished();
            return Err(error);
        }
        self.named_files = named;
        self.complete_files.clear();
        self.created_folders.clear();
        Ok(())
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        self.remove_unfinished();
    }
}
