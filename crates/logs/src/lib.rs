//! Readers and writers of performance logs: Windows' binary `.blg`, CSV and TSV, archives of Parquet files, and PDH's tables in
//! a database. JSON lines are read only. PDH, the Performance Data Helper, is the part of Windows that reads and writes logs.
//!
//! A reader returns [samples](tachograph_counters::sample::Sample) and keeps a list of the [problems](Problem) of a
//! damaged log. Input is not trusted: memory stays bounded whatever a file contains.

#![forbid(unsafe_code)]

pub mod archive;
pub mod blg;
mod budget;
mod error;
mod length;
mod mark;
mod options;
pub mod output_file;
mod problem;
pub mod sql;
pub mod text;

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::{Counter, CounterSet};
use tachograph_counters::time_zone::TimeZone;

pub use budget::{Budget, OverBudget, Reservation};
pub use error::LogError;
pub use length::SetLength;
pub use mark::Mark;
pub use options::{Grouping, ReadOptions};
pub use problem::Problems;
pub use tachograph_counters::{Problem, io_error_text};
pub use text::TextEncoding;
pub use text::number::Digits;

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Windows' binary log.
    Blg,
    /// PDH's comma-separated text.
    Csv,
    /// PDH's tab-separated text.
    Tsv,
    /// JSON lines, one object per sample, as written by `tacho relog -f json`.
    Json,
    /// A folder of Parquet files, or one such file.
    Archive,
    /// PDH's tables in a database.
    Sql,
}

impl Format {
    /// The format that the extension of a file name indicates, case-insensitively: `blg`, `csv`, `tsv`; `json`, `jsonl` and
    /// `ndjson` for JSON lines; `parquet` for a file of an archive. `None` for others, and without an extension.
    pub fn of_extension(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "blg" => Some(Self::Blg),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            "parquet" => Some(Self::Archive),
            _ => None,
        }
    }

    /// The name of the format in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blg => "BLG",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Json => "JSON",
            Self::Archive => "archive",
            Self::Sql => "SQL",
        }
    }

    /// Whether the log stores formatted values instead of raw values, so that only arithmetic averages can be computed.
    pub fn is_formatted(self) -> bool {
        match self {
            Self::Blg | Self::Archive | Self::Sql => false,
            Self::Csv | Self::Tsv | Self::Json => true,
        }
    }
}

/// The properties of a log.
#[derive(Clone, Debug)]
pub struct LogFacts {
    /// The format.
    pub format: Format,
    /// The time zone of the recording machine, with its daylight saving rule.
    pub zone: TimeZone,
    /// Boot time of the recording machine, UTC, if recorded.
    pub boot_time: Option<FileTime>,
    /// Ticks per second of the recording machine's performance counter, if recorded.
    pub performance_frequency: Option<i64>,
    /// Build number of the Windows that wrote the log; `None` for text logs and for BLGs written by Tachograph.
    pub windows_build: Option<u32>,
    /// Length of the file in bytes; 0 for a database on a server.
    pub file_bytes: u64,
}

impl LogFacts {
    /// Whether the log names its time zone. If not, UTC times equal the local times written in the log.
    pub fn is_zone_known(&self) -> bool {
        self.zone.standard_name != text::UNKNOWN_ZONE
    }
}

/// Whether the values of a counter are needed.
pub type CounterFilter = Arc<dyn Fn(&CounterSet, &Counter) -> bool + Send + Sync>;

/// Reads a log, one sample at a time.
pub trait LogReader: Send {
    /// The facts of the log.
    fn facts(&self) -> &LogFacts;

    /// Reads the next sample into `sample`; false at the end.
    ///
    /// Damaged parts are skipped and reported by [`problems`](Self::problems), as far as the format allows.
    ///
    /// # Errors
    ///
    /// When reading the file fails.
    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError>;

    /// The problems found so far.
    fn problems(&self) -> &Problems;

    /// The number of significant digits with which the log's values are written as text. For a binary log, it
    /// depends on the version of Windows that wrote the log; for a text log, on the values read so far.
    fn digits(&self) -> Digits {
        self.facts().windows_build.map(Digits::of_windows_build).unwrap_or_default()
    }

    /// The encoding of a text log, if it was guessed.
    fn guessed_encoding(&self) -> Option<TextEncoding> {
        None
    }

    /// Bytes of the file read so far, for a progress bar.
    fn bytes_read(&self) -> u64;

    /// Maximum number of bytes of the file that were in memory at once so far; 0 if this memory is reserved from a
    /// [budget](Budget).
    fn buffer_bytes(&self) -> u64 {
        0
    }

    /// Position of the next sample, for [`seek`](Self::seek). `None` if the reader cannot return to it: text that
    /// is not UTF-8, or too many different counter lists.
    fn mark(&mut self) -> Option<Mark> {
        None
    }

    /// Continues at a mark: [`next`](Self::next) returns the same samples again. The mark may come from another
    /// reader of the same file, even if the file has grown since. Returns false, with the position undefined, if a
    /// circular log has overwritten the sample.
    ///
    /// # Errors
    ///
    /// When reading the file fails.
    fn seek(&mut self, mark: &Mark) -> Result<bool, LogError> {
        let _ = mark;
        Ok(false)
    }

    /// Whether seeking to a [mark](Self::mark) makes samples available that were appended to the file in the
    /// meantime. False for circular logs, which overwrite old samples instead.
    fn follows_growth(&self) -> bool {
        false
    }

    /// Skips samples before `begin`, as far as the format allows without reading them. Called before the first sample is read.
    /// The last sample before `begin` is not skipped, so that the first interval can begin at it.
    ///
    /// # Errors
    ///
    /// When reading the file fails.
    fn skip_before(&mut self, begin: TimeArgument) -> Result<(), LogError> {
        let _ = begin;
        Ok(())
    }

    /// Names the counters whose values are needed, those for which `filter` returns true. A reader need not read the values of
    /// others, which then have an error status. Called before the first sample is read.
    fn limit_counters(&mut self, filter: &CounterFilter) {
        let _ = filter;
    }

    /// Skips forward until about `bytes` of the file are left, to read the end of a log without the rest. Later
    /// samples can be numbered and paired differently than in a complete read, or reported as damaged. Do not use
    /// the reader for anything else afterwards. Returns false, without moving, if skipping is not possible.
    ///
    /// # Errors
    ///
    /// When reading the file fails.
    fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let _ = bytes;
        Ok(false)
    }
}

/// Writes a log, one sample at a time.
pub trait LogWriter {
    /// Appends one sample.
    ///
    /// # Errors
    ///
    /// When writing fails, or the format cannot represent the sample.
    fn write(&mut self, sample: &Sample) -> Result<(), LogError>;

    /// Passes all buffered data to the operating system, so that a killed process loses nothing.
    ///
    /// # Errors
    ///
    /// When writing fails.
    fn flush(&mut self) -> Result<(), LogError>;

    /// Completes the file.
    ///
    /// # Errors
    ///
    /// When writing fails.
    fn finish(&mut self) -> Result<(), LogError>;
}

/// Opens a log of any format. The format is detected from the first bytes of the file, never from its name. However, a path
/// such as `SQL:DSN!NAME` names a log in a [database](sql::SqlLogName).
///
/// # Errors
///
/// When the file cannot be opened or read, is empty, or is not a log; the message then says what the file looks like. For an
/// SQLite file, it names the logs in the database.
pub fn open(path: &Path) -> Result<Box<dyn LogReader>, LogError> {
    open_with(path, &ReadOptions::default())
}

/// Like [`open`], with options.
///
/// # Errors
///
/// Like [`open`], and [`LogError::is_over_budget`] when a text log needs more memory than the options' budget has
/// left.
pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError> {
    if let Some(name) = sql::SqlLogName::parse(path) {
        return Ok(Box::new(sql::SqlLogReader::open(&name?).map_err(|error| error.at_path(path))?));
    }
    // Check the type first, because opening a pipe waits for a writer.
    let metadata = std::fs::metadata(path).map_err(|error| LogError::io(error).at_path(path))?;
    if metadata.is_dir() {
        return open_folder(path, options);
    }
    if !metadata.is_file() {
        return Err(LogError::not_a_log(NOT_A_FILE).at_path(path));
    }
    let file = std::fs::File::open(path).map_err(|error| LogError::io(error).at_path(path))?;
    open_file(file, path, options).map_err(|error| error.at_path(path))
}

fn open_file(
    mut file: std::fs::File,
    path: &Path,
    options: &ReadOptions,
) -> Result<Box<dyn LogReader>, LogError> {
    let start = read_start(&mut file)?;
    if sql::looks_like_sqlite(&start) {
        return Err(sql::SqlLogName::missing_in(path));
    }
    open_after_start(file, &start, options)
}

/// Opens the folder of a machine in an archive, or an archive of a single machine.
fn open_folder(path: &Path, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError> {
    let mut machines = archive::archive_inputs(path)?;
    if machines.len() > 1 {
        let why = format!("the archive has {} machines: open the folder of one of them", machines.len());
        return Err(LogError::unsupported(why).at_path(path));
    }
    let folder = machines.pop().map_or_else(|| path.to_path_buf(), |machine| machine.folder);
    let skipped = match options.skips_damaged_row_groups {
        true => archive::SkippedDamage::FilesAndRowGroups,
        false => archive::SkippedDamage::Files,
    };
    Ok(Box::new(archive::MachineReader::open_with(&folder, skipped)?))
}

/// Replaces the folder of each archive with the folders of its machines, each of which can be opened. Other paths, and folders that
/// cannot be read, are unchanged.
pub fn expand_archives(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let expand = |path: PathBuf| match path.is_dir().then(|| archive::archive_inputs(&path)) {
        Some(Ok(machines)) if machines.len() > 1 => {
            machines.into_iter().map(|machine| machine.folder).collect()
        }
        _ => vec![path],
    };
    paths.into_iter().flat_map(expand).collect()
}

/// Message for pipes and devices.
const NOT_A_FILE: &str =
    "a log cannot be read from a pipe or a device, since it is read more than once: save it to a file";

/// Opens a log of any format from any seekable stream, such as bytes in memory.
///
/// # Errors
///
/// Like [`open`].
pub fn open_stream<R>(stream: R) -> Result<Box<dyn LogReader>, LogError>
where
    R: Read + Seek + Send + 'static,
{
    open_stream_with(stream, &ReadOptions::default())
}

/// Like [`open_stream`], with options.
///
/// # Errors
///
/// Like [`open_with`].
pub fn open_stream_with<R>(mut stream: R, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError>
where
    R: Read + Seek + Send + 'static,
{
    let start = read_start(&mut stream)?;
    open_after_start(stream, &start, options)
}

/// Reads the first bytes of a stream, and rewinds it.
fn read_start(stream: &mut (impl Read + Seek)) -> Result<Vec<u8>, LogError> {
    let mut start = Vec::new();
    stream.take(128).read_to_end(&mut start).map_err(LogError::io)?;
    stream.rewind().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotSeekable => LogError::not_a_log(NOT_A_FILE),
        _ => LogError::io(error),
    })?;
    Ok(start)
}

/// Opens the log in a rewound stream that begins with the bytes `start`.
fn open_after_start<R>(stream: R, start: &[u8], options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError>
where
    R: Read + Seek + Send + 'static,
{
    if start.is_empty() {
        return Err(LogError::not_a_log("the file is empty"));
    }
    if blg::looks_like_blg(start) {
        return Ok(Box::new(blg::BlgReader::new(stream)?));
    }
    if start.starts_with(b"PAR1") {
        let mut reader = archive::ArchiveReader::new(stream)?;
        if options.skips_damaged_row_groups {
            reader.skip_damage(archive::SkippedDamage::FilesAndRowGroups);
        }
        return Ok(Box::new(reader));
    }
    text::open(stream, options)
}
