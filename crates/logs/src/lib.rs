//! Performance logs: Windows' binary `.blg`, CSV and TSV, read and written.
//!
//! A reader yields [samples](tachograph_counters::sample::Sample) of raw values and, beside them, a list of
//! [problems](Problem) where the log is damaged. Nothing that is read is trusted, and memory stays bounded whatever the
//! file says. This crate never knows where samples come from.

#![forbid(unsafe_code)]

pub mod blg;
mod budget;
mod error;
mod length;
mod mark;
mod options;
mod problem;
pub mod text;

use std::io::{Read, Seek};
use std::path::Path;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

pub use budget::{Budget, OverBudget, Reservation};
pub use error::LogError;
pub use length::SetLength;
pub use mark::Mark;
pub use options::{Grouping, ReadOptions};
pub use problem::{Problem, Problems};
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
    /// One JSON object per sample and line, as `tacho relog -f json` writes them.
    Json,
}

impl Format {
    /// What people call the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blg => "BLG",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Json => "JSON",
        }
    }

    /// Whether values arrive already formatted, so that nothing but arithmetic averages can be made of them.
    pub fn is_formatted(self) -> bool {
        !matches!(self, Self::Blg)
    }
}

/// What a log says of itself, beside its samples.
#[derive(Clone, Debug)]
pub struct LogFacts {
    /// The format.
    pub format: Format,
    /// The time zone that the log was recorded in, with its own daylight rule.
    pub zone: TimeZone,
    /// When the recording machine was started, UTC, where the log says so.
    pub boot_time: Option<FileTime>,
    /// Ticks per second of the recording machine's performance counter, where the log says so.
    pub performance_frequency: Option<i64>,
    /// The build of the Windows that wrote the log; `None` for text logs and for binary logs of this program.
    pub windows_build: Option<u32>,
    /// Length of the file in bytes.
    pub file_bytes: u64,
}

impl LogFacts {
    /// Whether the log names its time zone. Where it does not, its times are as written in the log, and UTC times are the
    /// same numbers.
    pub fn is_zone_known(&self) -> bool {
        self.zone.standard_name != text::UNKNOWN_ZONE
    }
}

/// A log being read, sample after sample.
pub trait LogReader: Send {
    /// What the log says of itself.
    fn facts(&self) -> &LogFacts;

    /// Overwrites `sample` with the next one; false at the end.
    ///
    /// Damage is stepped over and noted in [`problems`](Self::problems) for as long as the format allows it.
    ///
    /// # Errors
    ///
    /// When reading the file fails.
    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError>;

    /// What was found damaged so far.
    fn problems(&self) -> &Problems;

    /// With how many digits Windows wrote the log's values as text, or would write them: by the version of Windows in a binary
    /// log, by the values read so far in a text log.
    fn digits(&self) -> Digits {
        self.facts().windows_build.map(Digits::of_windows_build).unwrap_or_default()
    }

    /// How the characters of a text log are encoded, where nothing in the file says so and it was guessed.
    fn guessed_encoding(&self) -> Option<TextEncoding> {
        None
    }

    /// How many bytes of the file were read so far, for a progress bar.
    fn bytes_read(&self) -> u64;

    /// How many bytes of the file the reader holds at a time at most, as far as it was read; 0 where its
    /// [budget](Budget) has them already.
    fn buffer_bytes(&self) -> u64 {
        0
    }

    /// Where the next sample begins, to [go there](Self::go_to) again; `None` where the reader cannot tell, as in a text
    /// whose characters are not UTF-8, or a log whose counter list changes again and again.
    fn mark(&mut self) -> Option<Mark> {
        None
    }

    /// Goes to a place, so that [`next`](Self::next) gives what it gave there. The mark may be of another reader of the
    /// same file, also when the file has grown since. False, and the reader stands anywhere, where the place cannot be
    /// found again: a circular log has overwritten it.
    ///
    /// # Errors
    ///
    /// When reading the file fails.
    fn go_to(&mut self, mark: &Mark) -> Result<bool, LogError> {
        let _ = mark;
        Ok(false)
    }

    /// Whether samples appended to the file while it is read are found by going back to a [mark](Self::mark) and reading
    /// on; not so in a circular log, which puts them in the midst.
    fn follows_growth(&self) -> bool {
        false
    }

    /// Goes forward to a place from which on about `bytes` of the file are left, to find out how a log ends without
    /// reading all of it. Samples cut by the place are left out; what is read from there on may be numbered, paired and
    /// complained about wrongly, so such a reader is of no other use. False, and the reader stands where it stood, where
    /// it cannot.
    ///
    /// # Errors
    ///
    /// When reading the file fails.
    fn go_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let _ = bytes;
        Ok(false)
    }
}

/// A log being written, sample after sample.
pub trait LogWriter {
    /// Appends one sample.
    ///
    /// # Errors
    ///
    /// When writing fails, or the sample cannot be held by the format.
    fn write(&mut self, sample: &Sample) -> Result<(), LogError>;

    /// Hands everything to the operating system, so that a killed process loses nothing written so far.
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

/// Opens a log of any format. The first bytes of the file determine the format, never its name.
///
/// # Errors
///
/// When the file cannot be opened or read, is empty, or is no log; the text says what it looks like instead.
pub fn open(path: &Path) -> Result<Box<dyn LogReader>, LogError> {
    open_with(path, &ReadOptions::default())
}

/// As [`open`], with options.
///
/// # Errors
///
/// As [`open`]; "over budget" when a text log needs more memory than the options' budget has left.
pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError> {
    // Before it is opened, which already waits for a writer where it is a pipe.
    let metadata = std::fs::metadata(path).map_err(|error| LogError::io(error).at_path(path))?;
    if metadata.is_dir() {
        return Err(LogError::not_a_log("this is a folder, not a log").at_path(path));
    }
    if !metadata.is_file() {
        return Err(LogError::not_a_log(NO_FILE).at_path(path));
    }
    let file = std::fs::File::open(path).map_err(|error| LogError::io(error).at_path(path))?;
    open_stream_with(file, options).map_err(|error| error.at_path(path))
}

/// What is said of pipes and devices.
const NO_FILE: &str =
    "a log cannot be read from a pipe or a device, since it is read more than once: save it to a file";

/// Opens a log of any format from bytes in memory or from any other stream that can seek.
///
/// # Errors
///
/// As [`open`].
pub fn open_stream<R>(stream: R) -> Result<Box<dyn LogReader>, LogError>
where
    R: Read + Seek + Send + 'static,
{
    open_stream_with(stream, &ReadOptions::default())
}

/// As [`open_stream`], with options.
///
/// # Errors
///
/// As [`open_with`].
pub fn open_stream_with<R>(mut stream: R, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError>
where
    R: Read + Seek + Send + 'static,
{
    let mut start = Vec::new();
    (&mut stream).take(128).read_to_end(&mut start).map_err(LogError::io)?;
    stream.rewind().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotSeekable => LogError::not_a_log(NO_FILE),
        _ => LogError::io(error),
    })?;
    if start.is_empty() {
        return Err(LogError::not_a_log("the file is empty"));
    }
    if blg::looks_like_blg(&start) {
        return Ok(Box::new(blg::BlgReader::new(stream)?));
    }
    text::open(stream, options)
}
