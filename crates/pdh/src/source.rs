//! Where counters come from: this machine, or logs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_counters::civil::FileTime;
use tachograph_flow::logs::LogSource;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{FlowError, UnionScan};
use tachograph_logs::{Format as LogFormat, LogError, LogFacts, blg};
use tachograph_perflib::Registry;

use crate::catalogue::KnownSet;
use crate::{PdhStatus, Result};

/// Where the counters of a query come from: a machine in real time, or one or more logs that are read as one.
///
/// Clones share what was found out about the logs.
#[derive(Clone)]
#[doc(alias = "PdhBindInputDataSourceW")]
#[doc(alias = "PdhBindInputDataSourceA")]
pub struct DataSource {
    origin: Origin,
}

#[derive(Clone)]
pub(crate) enum Origin {
    /// This machine: its registry as it is now.
    Machine(Arc<dyn Fn() -> Arc<Registry> + Send + Sync>),
    /// Logs.
    Logs(Arc<Logs>),
}

/// Logs that are one source.
pub(crate) struct Logs {
    paths: Vec<PathBuf>,
    facts: LogFacts,
    file_bytes: u64,
    /// What there is in them, once that was asked.
    scan: Mutex<Option<Arc<Scan>>>,
}

/// What there is in logs.
pub(crate) struct Scan {
    /// The groups of all samples.
    pub(crate) union: UnionScan,
    /// The counter sets made of them.
    pub(crate) sets: Arc<[KnownSet]>,
    /// Whether the logs are of one machine, so that their samples come one after another as they are.
    pub(crate) is_one_stretch: bool,
}

/// From when to when the samples of a log reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "PDH_TIME_INFO")]
pub struct TimeRange {
    /// The first sample, local time.
    pub start: FileTime,
    /// The last sample, local time.
    pub end: FileTime,
    /// How many samples there are.
    pub samples: u32,
}

impl DataSource {
    /// A machine in real time, whose counter sets do not change.
    #[must_use]
    pub fn of_machine(registry: Arc<Registry>) -> Self {
        Self::of_changing_machine(move || Arc::clone(&registry))
    }

    /// A machine in real time, whose registry is asked for whenever sets are looked up: at an enumeration, an expansion, when
    /// a counter is added. So what programs publish later on is found.
    #[must_use]
    pub fn of_changing_machine(registry: impl Fn() -> Arc<Registry> + Send + Sync + 'static) -> Self {
        Self { origin: Origin::Machine(Arc::new(registry)) }
    }

    /// Logs of any format and machine, read as one: samples of one machine in the order of time, machines side by side.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] without a path; [`PdhStatus::FILE_NOT_FOUND`], [`PdhStatus::ACCESS_DENIED`],
    /// [`PdhStatus::UNKNOWN_LOG_FORMAT`] for what is no log, [`PdhStatus::BINARY_LOG_CORRUPT`] for a BLG that is damaged
    /// beyond use, [`PdhStatus::LOG_FILE_OPEN_ERROR`] for other failures.
    pub fn of_logs(paths: Vec<PathBuf>) -> Result<Self> {
        let mut first = None;
        let mut file_bytes = 0_u64;
        for path in &paths {
            let log = LogSource::open(path).map_err(|error| status_of(&error, path))?;
            let facts = log.report().facts().clone();
            // PDH has no number for it.
            if facts.format == LogFormat::Json {
                return Err(PdhStatus::UNKNOWN_LOG_FORMAT);
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

    /// The logs; none for a machine.
    #[must_use]
    pub fn log_paths(&self) -> &[PathBuf] {
        match &self.origin {
            Origin::Machine(_) => &[],
            Origin::Logs(logs) => &logs.paths,
        }
    }

    /// From when to when the samples of the logs reach, and how many there are: of logs of several machines, those of the
    /// first, at whose moments collections are. Reads the logs once.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::DATA_SOURCE_IS_REAL_TIME`] for a machine, [`PdhStatus::NO_DATA`] for logs without a sample; what
    /// reading fails with.
    #[doc(alias = "PdhGetDataSourceTimeRangeW")]
    #[doc(alias = "PdhGetDataSourceTimeRangeA")]
    #[doc(alias = "PdhGetDataSourceTimeRangeH")]
    pub fn time_range(&self) -> Result<TimeRange> {
        let scan = self.logs()?.scan()?;
        let (first, last) = scan.union.time_range().ok_or(PdhStatus::NO_DATA)?;
        let samples = u32::try_from(scan.union.samples()).unwrap_or(u32::MAX);
        Ok(TimeRange { start: first.local(), end: last.local(), samples })
    }

    /// Bytes of all logs together.
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
    /// A query of all samples.
    pub(crate) fn query(&self) -> LogQuery {
        LogQuery::new(self.paths.clone())
    }

    /// What the first log says of itself.
    pub(crate) fn facts(&self) -> &LogFacts {
        &self.facts
    }

    /// What there is in the logs, which are read once for it.
    pub(crate) fn scan(&self) -> Result<Arc<Scan>> {
        let mut known = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scan) = &*known {
            return Ok(Arc::clone(scan));
        }
        let query = self.query();
        let is_one_stretch = query.stretches().map_err(|error| self.status_of(&error))?.len() == 1;
        let (union, _) = query.table(|_| Ok(())).map_err(|error| self.status_of(&error))?;
        let sets = crate::catalogue::of_scan(&union).into();
        let scan = Arc::new(Scan { union, sets, is_one_stretch });
        *known = Some(Arc::clone(&scan));
        Ok(scan)
    }

    /// The status of an error of reading.
    pub(crate) fn status_of(&self, error: &FlowError) -> PdhStatus {
        // Which of the files it was decides no more than the kind of a damaged one.
        status_of(error, self.paths.first().map_or(Path::new(""), PathBuf::as_path))
    }
}

/// The status of an error of reading a log.
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

/// Whether a file begins as a BLG does.
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
