//! Data sources: this machine, or logs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison;
use tachograph_counters::civil::FileTime;
use tachograph_flow::logs::LogSource;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{FlowError, UnionScan};
use tachograph_logs::{Format as LogFormat, LogError, LogFacts, blg};
use tachograph_perflib::Registry;

use crate::known_sets::KnownSet;
use crate::{PdhStatus, Result};

/// The source of a query's counters: a machine in real time, or logs that are read as one.
///
/// Clones share the results of scanning the logs.
#[derive(Clone)]
#[doc(alias = "PdhBindInputDataSourceW")]
#[doc(alias = "PdhBindInputDataSourceA")]
pub struct DataSource {
    origin: Origin,
}

#[derive(Clone)]
pub(crate) enum Origin {
    /// This machine: a function that returns its current registry.
    Machine(Arc<dyn Fn() -> Arc<Registry> + Send + Sync>),
    /// Logs.
    Logs(Arc<Logs>),
}

/// Logs that form one source.
pub(crate) struct Logs {
    paths: Vec<PathBuf>,
    pub(crate) facts: LogFacts,
    file_bytes: u64,
    /// The contents; `None` before the first scan.
    scan: Mutex<Option<Arc<Scan>>>,
}

/// The contents of logs.
pub(crate) struct Scan {
    /// The groups and the times of all logs.
    pub(crate) union: UnionScan,
    /// The counter sets of these groups.
    pub(crate) sets: Arc<[KnownSet]>,
    /// Whether the logs are of one machine, so that their samples are read in sequence.
    pub(crate) is_one_machine: bool,
}

/// The time range of a log's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "PDH_TIME_INFO")]
pub struct TimeRange {
    /// The first sample, local time.
    pub start: FileTime,
    /// The last sample, local time.
    pub end: FileTime,
    /// The number of samples.
    pub samples: u32,
}

impl DataSource {
    /// A machine in real time, with a fixed registry.
    #[must_use]
    pub fn of_machine(registry: Arc<Registry>) -> Self {
        Self::of_changing_machine(move || Arc::clone(&registry))
    }

    /// A machine in real time. `registry` is called whenever sets are looked up: by enumerations, expansions, and when a
    /// counter is added. So sets that programs publish later are found.
    #[must_use]
    pub fn of_changing_machine(registry: impl Fn() -> Arc<Registry> + Send + Sync + 'static) -> Self {
        Self { origin: Origin::Machine(Arc::new(registry)) }
    }

    /// BLG, CSV and TSV logs, read as one log. Samples of one machine are in chronological order; a record of
    /// several machines combines one sample of each.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for no paths; [`PdhStatus::FILE_NOT_FOUND`], [`PdhStatus::ACCESS_DENIED`],
    /// [`PdhStatus::UNKNOWN_LOG_FORMAT`] for files that are not logs, [`PdhStatus::BINARY_LOG_CORRUPT`] for a BLG that is
    /// too damaged to be read, [`PdhStatus::LOG_FILE_OPEN_ERROR`] for other failures.
    pub fn of_logs(paths: Vec<PathBuf>) -> Result<Self> {
        let mut first = None;
        let mut file_bytes = 0_u64;
        for path in &paths {
            let log = LogSource::open(path).map_err(|error| status_of(&error, path))?;
            let facts = log.report().facts().clone();
            match facts.format {
                LogFormat::Blg | LogFormat::Csv | LogFormat::Tsv | LogFormat::Sql => {}
                // PDH has no log type for these formats.
                LogFormat::Json | LogFormat::Archive => return Err(PdhStatus::UNKNOWN_LOG_FORMAT),
            }
            file_bytes = file_bytes.saturating_add(facts.file_bytes);
            first.get_or_insert(facts);
        }
        let facts = first.ok_or(PdhStatus::INVALID_ARGUMENT)?;
        let logs = Logs { paths, facts, file_bytes, scan: Mutex::default() };
        Ok(Self { origin: Origin::Logs(Arc::new(logs)) })
    }

    /// Whether the source is a machine.
    #[must_use]
    #[doc(alias = "PdhIsRealTimeQuery")]
    pub fn is_real_time(&self) -> bool {
        matches!(self.origin, Origin::Machine(_))
    }

    /// The paths of the logs; empty for a machine.
    #[must_use]
    pub fn log_paths(&self) -> &[PathBuf] {
        match &self.origin {
            Origin::Machine(_) => &[],
            Origin::Logs(logs) => &logs.paths,
        }
    }

    /// The time range and the number of samples. For logs of several machines, those of the first machine, since the
    /// samples of all machines are read at its times. Scans the logs once.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::DATA_SOURCE_IS_REAL_TIME`] for a machine, [`PdhStatus::NO_DATA`] for logs without a sample; errors while
    /// reading the logs.
    #[doc(alias = "PdhGetDataSourceTimeRangeW")]
    #[doc(alias = "PdhGetDataSourceTimeRangeA")]
    #[doc(alias = "PdhGetDataSourceTimeRangeH")]
    pub fn time_range(&self) -> Result<TimeRange> {
        let scan = self.logs()?.scan()?;
        let (first, last) = scan.union.time_range().ok_or(PdhStatus::NO_DATA)?;
        let samples = u32::try_from(scan.union.samples()).unwrap_or(u32::MAX);
        Ok(TimeRange { start: first.local(), end: last.local(), samples })
    }

    /// The total size of the logs in bytes.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::DATA_SOURCE_IS_REAL_TIME`] for a machine.
    #[doc(alias = "PdhGetLogFileSize")]
    pub fn file_bytes(&self) -> Result<u64> {
        Ok(self.logs()?.file_bytes)
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn logs(&self) -> Result<&Arc<Logs>> {
        match &self.origin {
            Origin::Machine(_) => Err(PdhStatus::DATA_SOURCE_IS_REAL_TIME),
            Origin::Logs(logs) => Ok(logs),
        }
    }
}

impl Logs {
    pub(crate) fn query(&self) -> LogQuery {
        LogQuery::new(self.paths.clone())
    }

    /// The contents of the logs, which are scanned once.
    pub(crate) fn scan(&self) -> Result<Arc<Scan>> {
        let mut cached = self.scan.lock().ignore_poison();
        if let Some(scan) = &*cached {
            return Ok(Arc::clone(scan));
        }
        let query = self.query();
        let is_one_machine = query.logs_by_machine().map_err(|error| self.status_of(&error))?.len() == 1;
        let (union, _) = query.table(|_| Ok(())).map_err(|error| self.status_of(&error))?;
        let sets = crate::known_sets::sets_from_scan(&union).into();
        let scan = Arc::new(Scan { union, sets, is_one_machine });
        *cached = Some(Arc::clone(&scan));
        Ok(scan)
    }

    pub(crate) fn status_of(&self, error: &FlowError) -> PdhStatus {
        // The path is only used to distinguish a damaged BLG from other files, so the first path is sufficient.
        status_of(error, self.paths.first().map_or(Path::new(""), PathBuf::as_path))
    }
}

fn status_of(error: &FlowError, path: &Path) -> PdhStatus {
    match error {
        FlowError::Log(error) => status_of_log(error, path),
        FlowError::SameMoment { .. } => PdhStatus::INVALID_DATASOURCE,
        FlowError::TooManyCounters { .. } => PdhStatus::MEMORY_ALLOCATION_FAILURE,
        _ => PdhStatus::LOG_FILE_OPEN_ERROR,
    }
}

fn status_of_log(error: &LogError, path: &Path) -> PdhStatus {
    if error.is_not_found() {
        return PdhStatus::FILE_NOT_FOUND;
    }
    if error.is_corrupt() {
        let is_blg = is_blg(path);
        return if is_blg { PdhStatus::BINARY_LOG_CORRUPT } else { PdhStatus::UNKNOWN_LOG_FORMAT };
    }
    match error.io_error().map(std::io::Error::kind) {
        Some(std::io::ErrorKind::PermissionDenied) => PdhStatus::ACCESS_DENIED,
        _ => PdhStatus::LOG_FILE_OPEN_ERROR,
    }
}

fn is_blg(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(128).read_to_end(&mut start));
    read.is_ok() && blg::looks_like_blg(&start)
}

impl std::fmt::Debug for DataSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Origin::Machine(registry) => f.debug_tuple("Machine").field(registry().machine()).finish(),
            Origin::Logs(logs) => f.debug_tuple("Logs").field(&logs.paths).finish(),
        }
    }
}
