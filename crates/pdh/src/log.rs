//! Logs that a query is written to, and logs opened to be read.

use std::path::Path;
use std::time::Duration;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_flow::record::{AtMax, Existing, RecordOptions, Recorder};
use tachograph_flow::{FlowError, Sink};
use tachograph_logs::Format;

use crate::query::zone_of_now;
use crate::{DataSource, PdhStatus, Query, Result};

/// How a log is opened: the bits of `PDH_LOG_*` of pdh.h. One way of access, one mode, any options.
pub mod access {
    /// To be read.
    #[doc(alias = "PDH_LOG_READ_ACCESS")]
    pub const READ: u32 = 0x1_0000;
    /// To be written.
    #[doc(alias = "PDH_LOG_WRITE_ACCESS")]
    pub const WRITE: u32 = 0x2_0000;
    /// To be gone on with.
    #[doc(alias = "PDH_LOG_UPDATE_ACCESS")]
    pub const UPDATE: u32 = 0x4_0000;
    /// Which bits are the mode.
    #[doc(alias = "PDH_LOG_CREATE_MASK")]
    pub const MODE: u32 = 0xF;
    /// The file must not be there.
    #[doc(alias = "PDH_LOG_CREATE_NEW")]
    pub const CREATE_NEW: u32 = 1;
    /// A file that is there is replaced.
    #[doc(alias = "PDH_LOG_CREATE_ALWAYS")]
    pub const CREATE_ALWAYS: u32 = 2;
    /// A file that is there is gone on with.
    #[doc(alias = "PDH_LOG_OPEN_ALWAYS")]
    pub const OPEN_ALWAYS: u32 = 3;
    /// The file must be there.
    #[doc(alias = "PDH_LOG_OPEN_EXISTING")]
    pub const OPEN_EXISTING: u32 = 4;
    /// The caption is used.
    #[doc(alias = "PDH_LOG_OPT_USER_STRING")]
    pub const USER_STRING: u32 = 0x100_0000;
    /// New records take the place of the oldest; binary logs only.
    #[doc(alias = "PDH_LOG_OPT_CIRCULAR")]
    pub const CIRCULAR: u32 = 0x200_0000;
    /// The most that the file may have is given in bytes, else in megabytes.
    #[doc(alias = "PDH_LOG_OPT_MAX_IS_BYTES")]
    pub const MAX_IS_BYTES: u32 = 0x400_0000;
    /// A file that is there is gone on with.
    #[doc(alias = "PDH_LOG_OPT_APPEND")]
    pub const APPEND: u32 = 0x800_0000;
}

/// The type of a log, `PDH_LOG_TYPE_*` of pdh.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LogType {
    /// Not said; a log that is read says it itself.
    #[doc(alias = "PDH_LOG_TYPE_UNDEFINED")]
    Undefined = 0,
    /// Text with commas.
    #[doc(alias = "PDH_LOG_TYPE_CSV")]
    Csv = 1,
    /// Text with tabs.
    #[doc(alias = "PDH_LOG_TYPE_TSV")]
    Tsv = 2,
    /// The binary format of Windows 2000 and before.
    #[doc(alias = "PDH_LOG_TYPE_RETIRED_BIN")]
    RetiredBinary = 3,
    /// Events of the kernel.
    #[doc(alias = "PDH_LOG_TYPE_TRACE_KERNEL")]
    TraceKernel = 4,
    /// Other events.
    #[doc(alias = "PDH_LOG_TYPE_TRACE_GENERIC")]
    TraceGeneric = 5,
    /// The format of Windows NT's Performance Monitor.
    #[doc(alias = "PDH_LOG_TYPE_PERFMON")]
    Perfmon = 6,
    /// A database.
    #[doc(alias = "PDH_LOG_TYPE_SQL")]
    Sql = 7,
    /// BLG.
    #[doc(alias = "PDH_LOG_TYPE_BINARY")]
    Binary = 8,
}

impl LogType {
    /// The type of this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Undefined,
            1 => Self::Csv,
            2 => Self::Tsv,
            3 => Self::RetiredBinary,
            4 => Self::TraceKernel,
            5 => Self::TraceGeneric,
            6 => Self::Perfmon,
            7 => Self::Sql,
            8 => Self::Binary,
            _ => return None,
        })
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    fn format(self) -> Option<Format> {
        match self {
            Self::Csv => Some(Format::Csv),
            Self::Tsv => Some(Format::Tsv),
            Self::Binary => Some(Format::Blg),
            _ => None,
        }
    }
}

impl From<Format> for LogType {
    fn from(format: Format) -> Self {
        match format {
            Format::Blg => Self::Binary,
            Format::Csv => Self::Csv,
            Format::Tsv => Self::Tsv,
            Format::Json => Self::Undefined,
        }
    }
}

/// A log that is open.
#[doc(alias = "PDH_HLOG")]
pub struct LogHandle {
    log_type: LogType,
    state: State,
    /// The last sample of a log that is gone on with, UTC.
    last_before: Option<FileTime>,
}

enum State {
    Read(DataSource),
    Written(Box<Recorder>),
}

/// Bytes of a megabyte.
const MEGABYTE: u64 = 1 << 20;

impl LogHandle {
    /// Opens a log.
    ///
    /// To read: the type is told from the file. To write: `query` is what is written, `log_type` CSV, TSV or binary;
    /// `max_size` is the most that the file may have, 0 for no limit, in megabytes unless `access` says bytes. A circular log
    /// needs it. The file is made at once, what was in it goes with the first record; without a record no file stays. A log
    /// that is gone on with must have the same counters, and earlier times. The columns of a text are those of the instances
    /// in its first record.
    ///
    /// A caption is accepted and not kept: the formats that are written have no place for it.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for bits of `access` that do not go together, without a query to write, for a
    /// circular text, for a circular log without a size. [`PdhStatus::LOG_TYPE_NOT_FOUND`] for a type that cannot be
    /// written, and for a binary log of a text, which has no raw values. [`PdhStatus::FILE_NOT_FOUND`], [`PdhStatus::FILE_ALREADY_EXISTS`], [`PdhStatus::ACCESS_DENIED`],
    /// [`PdhStatus::LOG_FILE_CREATE_ERROR`]; to read, as [`DataSource::of_logs`].
    #[doc(alias = "PdhOpenLogW")]
    #[doc(alias = "PdhOpenLogA")]
    pub fn open(
        path: &Path,
        access: u32,
        log_type: u32,
        query: Option<&Query>,
        max_size: u32,
        caption: Option<&str>,
    ) -> Result<Self> {
        let wanted = Access::read(access)?;
        let log_type = LogType::from_number(log_type).ok_or(PdhStatus::LOG_TYPE_NOT_FOUND)?;
        if access & access::USER_STRING != 0 && caption.is_none() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        if wanted == Access::Read {
            let source = DataSource::of_logs(vec![path.to_path_buf()])?;
            let log_type = source.logs()?.facts().format.into();
            return Ok(Self { log_type, state: State::Read(source), last_before: None });
        }
        let query = query.ok_or(PdhStatus::INVALID_ARGUMENT)?;
        let format = log_type.format().ok_or(PdhStatus::LOG_TYPE_NOT_FOUND)?;
        let is_circular = access & access::CIRCULAR != 0;
        if is_circular && (format != Format::Blg || max_size == 0) {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        let existing = wanted.existing(path)?;
        let last_before = if existing == Existing::Append { last_of(path)? } else { None };
        let options = RecordOptions {
            format,
            existing,
            max_bytes: max_bytes(access, max_size),
            at_max: if is_circular { AtMax::Circular } else { AtMax::End },
            ..options_of(path, query)?
        };
        let now = Moment { utc: FileTime::from_system_time(std::time::SystemTime::now()), bias_minutes: 0 };
        let recorder = Recorder::create(options, now).map_err(|error| status_of(&error))?;
        Ok(Self { log_type, state: State::Written(Box::new(recorder)), last_before })
    }

    /// The type of the log.
    #[must_use]
    pub fn log_type(&self) -> LogType {
        self.log_type
    }

    /// Collects the query, and writes what it gave as one record. `user_string` is a comment that must not be empty; it is
    /// not kept.
    ///
    /// The query must be the one that the log was opened with.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an empty comment; [`PdhStatus::INVALID_HANDLE`] for a log that is read. What
    /// collecting fails with; nothing is written then. [`PdhStatus::LOG_FILE_TOO_SMALL`] when the log is full,
    /// [`PdhStatus::INCORRECT_APPEND_TIME`] and [`PdhStatus::UNMATCHED_APPEND_COUNTER`] where the log that was there cannot
    /// go on with the record, [`PdhStatus::LOG_FILE_CREATE_ERROR`] where it cannot be written.
    #[doc(alias = "PdhUpdateLogW")]
    #[doc(alias = "PdhUpdateLogA")]
    pub fn update(&mut self, query: &mut Query, user_string: Option<&str>) -> Result<()> {
        if user_string.is_some_and(str::is_empty) {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        let State::Written(recorder) = &mut self.state else { return Err(PdhStatus::INVALID_HANDLE) };
        if recorder.is_full() {
            return Err(PdhStatus::LOG_FILE_TOO_SMALL);
        }
        query.collect()?;
        let sample = query.sample_for_log()?;
        if self.last_before.is_some_and(|last| sample.at.utc <= last) {
            return Err(PdhStatus::INCORRECT_APPEND_TIME);
        }
        recorder.take(sample).map_err(|error| status_of(&error))
    }

    /// Bytes of the file.
    ///
    /// # Errors
    ///
    /// None now; a log's size may have to be asked for.
    #[doc(alias = "PdhGetLogFileSize")]
    pub fn size(&self) -> Result<u64> {
        match &self.state {
            State::Read(source) => source.file_bytes(),
            State::Written(recorder) => Ok(recorder.summary().bytes),
        }
    }

    /// What a log that is read gives; `None` for one that is written.
    #[must_use]
    pub fn source(&self) -> Option<&DataSource> {
        match &self.state {
            State::Read(source) => Some(source),
            State::Written(_) => None,
        }
    }

    /// Completes and closes the log.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::LOG_FILE_CREATE_ERROR`] where it cannot be written.
    #[doc(alias = "PdhCloseLog")]
    pub fn close(mut self) -> Result<()> {
        match &mut self.state {
            State::Read(_) => Ok(()),
            State::Written(recorder) => recorder.finish().map_err(|error| status_of(&error)),
        }
    }
}

/// What is to become of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    New,
    Replace,
    GoOnOrNew,
    GoOn,
}

impl Access {
    fn read(bits: u32) -> Result<Self> {
        const OPTIONS: u32 = access::USER_STRING | access::CIRCULAR | access::MAX_IS_BYTES | access::APPEND;
        let mode = bits & access::MODE;
        let appends = bits & access::APPEND != 0;
        Ok(match (bits & !access::MODE & !OPTIONS, mode) {
            (access::READ, access::OPEN_EXISTING | access::OPEN_ALWAYS) => Self::Read,
            (access::WRITE, access::CREATE_NEW) => Self::New,
            (access::WRITE, access::CREATE_ALWAYS) if !appends => Self::Replace,
            (access::WRITE, access::CREATE_ALWAYS | access::OPEN_ALWAYS) => Self::GoOnOrNew,
            (access::UPDATE, access::OPEN_ALWAYS) => Self::GoOnOrNew,
            (access::WRITE | access::UPDATE, access::OPEN_EXISTING) => Self::GoOn,
            _ => return Err(PdhStatus::INVALID_ARGUMENT),
        })
    }

    fn existing(self, path: &Path) -> Result<Existing> {
        match self {
            Self::GoOn if !path.exists() => Err(PdhStatus::FILE_NOT_FOUND),
            Self::GoOn | Self::GoOnOrNew => Ok(Existing::Append),
            Self::Replace => Ok(Existing::Overwrite),
            Self::New | Self::Read => Ok(Existing::Refuse),
        }
    }
}

fn max_bytes(access: u32, max_size: u32) -> Option<u64> {
    let unit = if access & access::MAX_IS_BYTES != 0 { 1 } else { MEGABYTE };
    (max_size != 0).then(|| u64::from(max_size) * unit)
}

/// The last sample of a log that is to be gone on with; `None` where there is none.
fn last_of(path: &Path) -> Result<Option<FileTime>> {
    if std::fs::metadata(path).map_or(0, |metadata| metadata.len()) == 0 {
        return Ok(None);
    }
    let source = DataSource::of_logs(vec![path.to_path_buf()])?;
    let scan = source.logs()?.scan()?;
    Ok(scan.union.time_range().map(|(_, last)| last.utc))
}

/// Options of a log of what a query gives.
fn options_of(path: &Path, query: &Query) -> Result<RecordOptions> {
    let mut options = RecordOptions::new(path, Duration::from_secs(1));
    options.zone = zone_of_now();
    if !query.is_real_time() {
        let facts = query.source().logs()?.facts();
        options.zone = facts.zone.clone();
        options.performance_frequency = facts.performance_frequency.unwrap_or(options.performance_frequency);
    }
    Ok(options)
}

/// The status of an error of writing.
fn status_of(error: &FlowError) -> PdhStatus {
    let FlowError::Log(error) = error else { return PdhStatus::LOG_FILE_CREATE_ERROR };
    if error.is_unsupported() {
        return PdhStatus::UNMATCHED_APPEND_COUNTER;
    }
    if error.is_corrupt() {
        return PdhStatus::UNKNOWN_LOG_FORMAT;
    }
    match error.io_error().map(std::io::Error::kind) {
        Some(std::io::ErrorKind::NotFound) => PdhStatus::FILE_NOT_FOUND,
        Some(std::io::ErrorKind::AlreadyExists) => PdhStatus::FILE_ALREADY_EXISTS,
        Some(std::io::ErrorKind::PermissionDenied) => PdhStatus::ACCESS_DENIED,
        _ => PdhStatus::LOG_FILE_CREATE_ERROR,
    }
}
