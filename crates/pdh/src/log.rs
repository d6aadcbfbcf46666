//! Logs opened for reading, or for writing a query's samples.

use std::path::Path;
use std::time::Duration;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_flow::record::{AtMax, Existing, RecordOptions, Recorder};
use tachograph_flow::{FlowError, Sink};
use tachograph_logs::Format;

use crate::query::fixed_local_zone;
use crate::{DataSource, PdhStatus, Query, Result};

/// Flags for opening a log (`PDH_LOG_*` in pdh.h): one access flag, one mode, and any number of options.
pub mod access {
    /// Opens the log for reading.
    #[doc(alias = "PDH_LOG_READ_ACCESS")]
    pub const READ: u32 = 0x1_0000;
    /// Opens the log for writing.
    #[doc(alias = "PDH_LOG_WRITE_ACCESS")]
    pub const WRITE: u32 = 0x2_0000;
    /// Opens the log for appending.
    #[doc(alias = "PDH_LOG_UPDATE_ACCESS")]
    pub const UPDATE: u32 = 0x4_0000;
    /// The bits of the mode.
    #[doc(alias = "PDH_LOG_CREATE_MASK")]
    pub const MODE: u32 = 0xF;
    /// The file must not exist.
    #[doc(alias = "PDH_LOG_CREATE_NEW")]
    pub const CREATE_NEW: u32 = 1;
    /// Replaces an existing file.
    #[doc(alias = "PDH_LOG_CREATE_ALWAYS")]
    pub const CREATE_ALWAYS: u32 = 2;
    /// Appends to an existing file, or creates a new one.
    #[doc(alias = "PDH_LOG_OPEN_ALWAYS")]
    pub const OPEN_ALWAYS: u32 = 3;
    /// The file must exist.
    #[doc(alias = "PDH_LOG_OPEN_EXISTING")]
    pub const OPEN_EXISTING: u32 = 4;
    /// The caller passes a user string, such as a caption.
    #[doc(alias = "PDH_LOG_OPT_USER_STRING")]
    pub const USER_STRING: u32 = 0x100_0000;
    /// New records replace the oldest ones; BLG only.
    #[doc(alias = "PDH_LOG_OPT_CIRCULAR")]
    pub const CIRCULAR: u32 = 0x200_0000;
    /// The maximum size is in bytes instead of megabytes.
    #[doc(alias = "PDH_LOG_OPT_MAX_IS_BYTES")]
    pub const MAX_IS_BYTES: u32 = 0x400_0000;
    /// Appends to an existing file.
    #[doc(alias = "PDH_LOG_OPT_APPEND")]
    pub const APPEND: u32 = 0x800_0000;
}

/// The type of a log: `PDH_LOG_TYPE_*` in pdh.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LogType {
    /// Unspecified. When a log is read, the type is detected.
    #[doc(alias = "PDH_LOG_TYPE_UNDEFINED")]
    Undefined = 0,
    /// Comma-separated text.
    #[doc(alias = "PDH_LOG_TYPE_CSV")]
    Csv = 1,
    /// Tab-separated text.
    #[doc(alias = "PDH_LOG_TYPE_TSV")]
    Tsv = 2,
    /// The binary format of Windows 2000 and earlier.
    #[doc(alias = "PDH_LOG_TYPE_RETIRED_BIN")]
    RetiredBinary = 3,
    /// A kernel event trace.
    #[doc(alias = "PDH_LOG_TYPE_TRACE_KERNEL")]
    TraceKernel = 4,
    /// An event trace other than the kernel's.
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
    /// Decodes a `PDH_LOG_TYPE_*` code.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<Self> {
        Some(match code {
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

    /// The `PDH_LOG_TYPE_*` code.
    #[must_use]
    pub const fn code(self) -> u32 {
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
            Format::Sql => Self::Sql,
            Format::Json | Format::Archive => Self::Undefined,
        }
    }
}

/// An open log.
#[doc(alias = "PDH_HLOG")]
pub struct LogHandle {
    log_type: LogType,
    state: State,
    /// The time (UTC) of the last sample that was in the log when it was opened for appending.
    last_existing: Option<FileTime>,
}

/// The source or the recorder of an open log.
enum State {
    Reading(DataSource),
    Writing(Box<Recorder>),
}

/// Bytes per megabyte.
const MEGABYTE: u64 = 1 << 20;

impl LogHandle {
    /// Opens a log. For reading, the type is detected. For writing, `query` supplies the samples, and `log_type` is
    /// CSV, TSV or BLG. `max_size` is the maximum size of the file in megabytes, or in bytes with
    /// [`access::MAX_IS_BYTES`]; 0 means unlimited and is an error for a circular log. The file is created immediately;
    /// existing contents are replaced when the first record is written. If no record is written, a new file is removed.
    /// Only samples with the same counters and later times can be appended to a log. A text log has columns only for
    /// the instances in its first record.
    ///
    /// `user_string` is accepted but not stored, as the formats have no field for it.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an invalid combination of `access` flags, for writing without a query, for a
    /// circular text log, and for a circular log without a size. [`PdhStatus::LOG_TYPE_NOT_FOUND`] for a type that
    /// cannot be written. [`PdhStatus::FILE_NOT_FOUND`] if the file must exist and does not, or if its folder does not;
    /// [`PdhStatus::FILE_ALREADY_EXISTS`] if the file must not exist; [`PdhStatus::ACCESS_DENIED`] without permission;
    /// [`PdhStatus::LOG_FILE_CREATE_ERROR`] if the file cannot be created for another reason. For reading, the errors
    /// of [`DataSource::of_logs`].
    #[doc(alias = "PdhOpenLogW")]
    #[doc(alias = "PdhOpenLogA")]
    pub fn open(
        path: &Path,
        access: u32,
        log_type: u32,
        query: Option<&Query>,
        max_size: u32,
        user_string: Option<&str>,
    ) -> Result<Self> {
        let mode = Access::decode(access)?;
        let log_type = LogType::from_code(log_type).ok_or(PdhStatus::LOG_TYPE_NOT_FOUND)?;
        if access & access::USER_STRING != 0 && user_string.is_none() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        if mode == Access::Read {
            let source = DataSource::of_logs(vec![path.to_path_buf()])?;
            let log_type = source.logs()?.facts.format.into();
            return Ok(Self { log_type, state: State::Reading(source), last_existing: None });
        }
        let query = query.ok_or(PdhStatus::INVALID_ARGUMENT)?;
        let format = log_type.format().ok_or(PdhStatus::LOG_TYPE_NOT_FOUND)?;
        let is_circular = access & access::CIRCULAR != 0;
        if is_circular && (format != Format::Blg || max_size == 0) {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        let existing = mode.existing(path)?;
        let last_existing = if existing == Existing::Append { last_sample_time(path)? } else { None };
        let options = RecordOptions {
            format,
            existing,
            max_bytes: max_bytes(access, max_size),
            at_max: if is_circular { AtMax::Circular } else { AtMax::End },
            ..options_of(path, query)?
        };
        let now = Moment { utc: FileTime::from_system_time(std::time::SystemTime::now()), bias_minutes: 0 };
        let recorder = Recorder::create(options, now).map_err(|error| status_of(&error))?;
        Ok(Self { log_type, state: State::Writing(Box::new(recorder)), last_existing })
    }

    /// The type of the log.
    #[must_use]
    pub fn log_type(&self) -> LogType {
        self.log_type
    }

    /// Collects the query and writes the sample as one record. `user_string`, a comment, must not be empty. It is not
    /// stored.
    ///
    /// `query` must be the query that was passed to [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an empty `user_string`; [`PdhStatus::INVALID_HANDLE`] for a log opened for
    /// reading. The errors of [`Query::collect`], in which case nothing is written. [`PdhStatus::LOG_FILE_TOO_SMALL`]
    /// if the log is full, [`PdhStatus::INCORRECT_APPEND_TIME`] and [`PdhStatus::UNMATCHED_APPEND_COUNTER`] if the
    /// record does not fit the existing log, [`PdhStatus::LOG_FILE_CREATE_ERROR`] if it cannot be written.
    #[doc(alias = "PdhUpdateLogW")]
    #[doc(alias = "PdhUpdateLogA")]
    pub fn update(&mut self, query: &mut Query, user_string: Option<&str>) -> Result<()> {
        if user_string.is_some_and(str::is_empty) {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        let State::Writing(recorder) = &mut self.state else { return Err(PdhStatus::INVALID_HANDLE) };
        if recorder.is_full() {
            return Err(PdhStatus::LOG_FILE_TOO_SMALL);
        }
        query.collect()?;
        let sample = query.sample_for_log()?;
        if self.last_existing.is_some_and(|last| sample.at.utc <= last) {
            return Err(PdhStatus::INCORRECT_APPEND_TIME);
        }
        recorder.push(sample).map_err(|error| status_of(&error))
    }

    /// The size of the file in bytes.
    ///
    /// # Errors
    ///
    /// Currently none.
    #[doc(alias = "PdhGetLogFileSize")]
    pub fn size(&self) -> Result<u64> {
        match &self.state {
            State::Reading(source) => source.file_bytes(),
            State::Writing(recorder) => Ok(recorder.summary().bytes),
        }
    }

    /// The data source of a log opened for reading; `None` for a log opened for writing.
    #[must_use]
    pub fn source(&self) -> Option<&DataSource> {
        match &self.state {
            State::Reading(source) => Some(source),
            State::Writing(_) => None,
        }
    }

    /// Completes and closes the log.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::LOG_FILE_CREATE_ERROR`] if the log cannot be written.
    #[doc(alias = "PdhCloseLog")]
    pub fn close(mut self) -> Result<()> {
        match &mut self.state {
            State::Reading(_) => Ok(()),
            State::Writing(recorder) => recorder.finish().map_err(|error| status_of(&error)),
        }
    }
}

/// How the file is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    /// Create a new file; fail if it exists.
    Create,
    /// Create a file, or replace its contents.
    Replace,
    /// Append to the file, or create it.
    AppendOrCreate,
    /// Append to the file; fail if it does not exist.
    Append,
}

impl Access {
    fn decode(bits: u32) -> Result<Self> {
        const OPTIONS: u32 = access::USER_STRING | access::CIRCULAR | access::MAX_IS_BYTES | access::APPEND;
        let mode = bits & access::MODE;
        let appends = bits & access::APPEND != 0;
        Ok(match (bits & !access::MODE & !OPTIONS, mode) {
            (access::READ, access::OPEN_EXISTING | access::OPEN_ALWAYS) => Self::Read,
            (access::WRITE, access::CREATE_NEW) => Self::Create,
            (access::WRITE, access::CREATE_ALWAYS) if !appends => Self::Replace,
            (access::WRITE, access::CREATE_ALWAYS | access::OPEN_ALWAYS) => Self::AppendOrCreate,
            (access::UPDATE, access::OPEN_ALWAYS) => Self::AppendOrCreate,
            (access::WRITE | access::UPDATE, access::OPEN_EXISTING) => Self::Append,
            _ => return Err(PdhStatus::INVALID_ARGUMENT),
        })
    }

    fn existing(self, path: &Path) -> Result<Existing> {
        match self {
            Self::Append if !path.exists() => Err(PdhStatus::FILE_NOT_FOUND),
            Self::Append | Self::AppendOrCreate => Ok(Existing::Append),
            Self::Replace => Ok(Existing::Overwrite),
            Self::Create | Self::Read => Ok(Existing::Refuse),
        }
    }
}

fn max_bytes(access: u32, max_size: u32) -> Option<u64> {
    let unit = if access & access::MAX_IS_BYTES != 0 { 1 } else { MEGABYTE };
    (max_size != 0).then(|| u64::from(max_size) * unit)
}

/// The time of a log's last sample; `None` if the log has no samples.
fn last_sample_time(path: &Path) -> Result<Option<FileTime>> {
    if std::fs::metadata(path).map_or(0, |metadata| metadata.len()) == 0 {
        return Ok(None);
    }
    let source = DataSource::of_logs(vec![path.to_path_buf()])?;
    let scan = source.logs()?.scan()?;
    Ok(scan.union.time_range().map(|(_, last)| last.utc))
}

/// Options for recording a query's samples. The interval has no effect, because the log is not divided into segments.
fn options_of(path: &Path, query: &Query) -> Result<RecordOptions> {
    let mut options = RecordOptions::new(path, Duration::from_secs(1));
    options.zone = fixed_local_zone();
    if !query.is_real_time() {
        let facts = &query.source().logs()?.facts;
        options.zone = facts.zone.clone();
        options.performance_frequency = facts.performance_frequency.unwrap_or(options.performance_frequency);
    }
    Ok(options)
}

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
