//! A recording of this machine's counters into a log on the server. Clients start and stop it. There is at most one, which all
//! clients see.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use axum::http::StatusCode;
use serde::Serialize;
use tachograph_counters::IgnorePoison;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{LiveOptions, LiveSource, Schedule, Stop, TimedSource};
use tachograph_flow::record::{AtMax, RecordOptions, Recorder, Suffix};
use tachograph_flow::{FlowError, Sink as _, Source};
use tachograph_logs::archive::{DiskStorage, Storage as _};
use tachograph_logs::io_error_text;
use tachograph_perflib::FREQUENCY;

use crate::hub::{Hub, event};
use crate::options::{RecordingOptions, ServeError};
use crate::response::ApiError;
use crate::series::rfc3339;

/// How long a request to stop waits for the end of the recording.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a machine's name in the name of a log, in characters.
const MAX_NAME: usize = 64;

/// The recording of a server, if it allows recordings.
pub(crate) struct Recordings {
    options: Option<RecordingOptions>,
    /// The folder's name, as clients see it.
    folder_name: String,
    hub: Arc<Hub>,
    state: Mutex<State>,
    /// Notified when a recording ends.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Stops the recording that runs or is being started.
    running: Option<Stop>,
    is_closed: bool,
    status: Status,
}

/// The state of the running recording, or of the last one.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Status {
    /// Incremented with each change, so that clients recognise older states that arrive late.
    version: u64,
    is_allowed: bool,
    is_running: bool,
    /// The name of the log's file.
    file: Option<String>,
    /// The name by which clients can open the log.
    log: Option<String>,
    begin: Option<String>,
    /// The time of the last sample.
    end: Option<String>,
    samples: u64,
    bytes: u64,
    /// Whether all counters are recorded.
    is_all: bool,
    /// The number of recorded paths.
    paths: usize,
    /// Why the recording ended.
    reason: Option<String>,
    /// Whether it ended with an error.
    is_failed: bool,
    max_bytes: Option<u64>,
    /// The maximum duration, in seconds.
    max_duration: Option<f64>,
}

/// What to record.
pub(crate) enum RecordedCounters {
    All,
    Paths(Vec<PathPattern>),
}

/// Why a recording ended.
#[derive(Debug)]
enum End {
    Stopped,
    Full,
    TimeOver,
    /// Less space than required is free.
    DiskFull,
    Failed(FlowError),
}

/// The running recording. When this is dropped, another one can start.
struct Running(Arc<Recordings>);

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running = None;
        if std::mem::take(&mut state.status.is_running) {
            state.status.reason.get_or_insert_with(|| "an internal error".to_owned());
        }
        self.0.publish(&mut state.status);
        self.0.ended.notify_all();
    }
}

impl Recordings {
    /// `folder_name` is the folder's name, as clients see it.
    pub(crate) fn new(options: Option<RecordingOptions>, folder_name: String, hub: Arc<Hub>) -> Arc<Self> {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let status = Status {
            // Higher than the versions of a previous run of the server.
            version: u64::try_from(since_epoch.as_millis()).unwrap_or_default(),
            is_allowed: options.is_some(),
            max_bytes: options.as_ref().map(|options| options.max_bytes),
            max_duration: options.as_ref().map(|options| options.max_duration.as_secs_f64()),
            ..Status::default()
        };
        let state = Mutex::new(State { status, ..State::default() });
        Arc::new(Self { options, folder_name, hub, state, ended: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    pub(crate) fn status(&self) -> Status {
        self.lock().status.clone()
    }

    /// Sends the changed state to all streams along with their next events.
    fn publish(&self, status: &mut Status) {
        status.version += 1;
        if status.is_allowed {
            self.hub.set_recording(event("recording", status));
        }
    }

    /// Starts a recording; also returns the paths that select nothing now, each with the reason. This blocks, so it must not
    /// run on a thread of the runtime.
    pub(crate) fn start(
        self: &Arc<Self>,
        counters: RecordedCounters,
    ) -> Result<(Status, Vec<(String, String)>), ApiError> {
        let Some(options) = &self.options else {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "this server does not allow recordings"));
        };
        let stop = Stop::default();
        {
            let mut state = self.lock();
            if state.is_closed {
                return Err(ApiError::unavailable("the server is shutting down"));
            }
            if state.running.is_some() {
                let file = state.status.file.as_deref().unwrap_or("starting");
                return Err(ApiError::conflict(format!("a recording is already running: {file}")));
            }
            state.running = Some(stop.clone());
        }
        let running = Running(Arc::clone(self));
        let free = free_bytes(&options.folder);
        if free.is_some_and(|free| free < options.min_free_bytes) {
            return Err(ApiError::new(StatusCode::INSUFFICIENT_STORAGE, little_space(options)));
        }
        let is_all = matches!(counters, RecordedCounters::All);
        let (source, missing) = self.open_source(&counters, &stop)?;
        let recorder = self.create_log(options)?;
        let mut state = self.lock();
        let file = file_name(recorder.path());
        state.status = Status {
            is_running: true,
            log: Some(format!("{}/{file}", self.folder_name)),
            file: Some(file),
            is_all,
            paths: match counters {
                RecordedCounters::All => 0,
                RecordedCounters::Paths(paths) => paths.len(),
            },
            is_allowed: true,
            max_bytes: state.status.max_bytes,
            max_duration: state.status.max_duration,
            version: state.status.version,
            ..Status::default()
        };
        self.publish(&mut state.status);
        let status = state.status.clone();
        drop(state);
        let run = move || running.0.run(source, recorder, &stop);
        let thread = std::thread::Builder::new().name("record".to_owned()).spawn(run);
        thread.map_err(|error| {
            ApiError::unavailable(format!("cannot start a thread: {}", io_error_text(&error)))
        })?;
        Ok((status, missing))
    }

    fn open_source(
        &self,
        counters: &RecordedCounters,
        stop: &Stop,
    ) -> Result<(TimedSource, Vec<(String, String)>), ApiError> {
        let live = self.hub.options();
        let paths = match counters {
            RecordedCounters::All => {
                let all = [r"\*\*", r"\*(*)\*"].iter().filter_map(|path| PathPattern::parse(path).ok());
                all.collect()
            }
            RecordedCounters::Paths(paths) => self.hub.resolve_paths(paths),
        };
        let options = LiveOptions {
            bias_minutes: live.zone.bias_minutes,
            boot_time: live.boot_time,
            ..LiveOptions::default()
        };
        let (mut source, selection) = LiveSource::open(&self.hub.registry(), &paths, options)
            .map_err(|code| ApiError::conflict(code.to_string()))?;
        let unmatched: Vec<_> = selection
            .unmatched()
            .into_iter()
            .map(|(path, advice)| (path, advice.unwrap_or_else(|| "not on this machine".to_owned())))
            .collect();
        if unmatched.len() == paths.len() {
            let lines: Vec<_> =
                unmatched.iter().map(|(path, reason)| format!("'{path}': {reason}")).collect();
            return Err(ApiError::not_found(lines.join("; ")));
        }
        let registry = Arc::clone(&live.registry);
        source.follow(Box::new(move || registry()));
        let schedule = Schedule {
            interval: live.interval,
            duration: self.options.as_ref().map(|options| options.max_duration),
            stop: stop.clone(),
            ..Schedule::default()
        };
        Ok((TimedSource::new(source, schedule), unmatched))
    }

    /// Creates the log. The name is chosen here, and an existing file is never opened.
    fn create_log(&self, options: &RecordingOptions) -> Result<Recorder, ApiError> {
        let live = self.hub.options();
        let name = log_name(self.hub.registry().machine());
        let mut record = RecordOptions::new(options.folder.join(name), live.interval);
        record.suffix = Suffix::Date;
        record.zone = live.zone.clone();
        record.performance_frequency = FREQUENCY;
        record.max_bytes = Some(options.max_bytes);
        record.at_max = AtMax::End;
        let utc = FileTime::from_system_time(SystemTime::now());
        let now = Moment { utc, bias_minutes: live.zone.bias_minutes };
        Recorder::create(record, now).map_err(|error| {
            ApiError::new(
                StatusCode::INSUFFICIENT_STORAGE,
                format!("cannot create the log: {}", cause(&error)),
            )
        })
    }

    fn run(&self, mut source: TimedSource, mut recorder: Recorder, stop: &Stop) {
        let Some(options) = &self.options else { return };
        let free = || free_bytes(&options.folder);
        let end = record(&mut source, &mut recorder, stop, options.min_free_bytes, free, |recorder| {
            let mut state = self.lock();
            update(&mut state.status, recorder);
            self.publish(&mut state.status);
        });
        // A failed recorder has completed its log already.
        let end = match (recorder.finish(), end) {
            (Err(error), End::Stopped | End::Full | End::TimeOver | End::DiskFull) => End::Failed(error),
            (_, end) => end,
        };
        let mut state = self.lock();
        let status = &mut state.status;
        update(status, &recorder);
        status.is_running = false;
        status.is_failed = matches!(end, End::Failed(_) | End::DiskFull);
        status.reason = Some(match end {
            End::Stopped => "stopped".to_owned(),
            End::Full => {
                format!("the log has reached the maximum size of {} MB", options.max_bytes >> 20)
            }
            End::TimeOver => "the maximum duration was reached".to_owned(),
            End::DiskFull => little_space(options),
            End::Failed(error) => format!("the log cannot be written: {}", cause(&error)),
        });
        if status.samples == 0 {
            // The recorder has removed the empty file.
            status.log = None;
        }
    }

    /// Stops the recording, if one is running, and waits until its log is complete. This blocks.
    pub(crate) fn stop(&self) -> Status {
        self.stop_within(STOP_TIMEOUT)
    }

    /// Stops the recording, and refuses further ones.
    pub(crate) fn close(&self, limit: Duration) {
        self.lock().is_closed = true;
        self.stop_within(limit);
    }

    fn stop_within(&self, limit: Duration) -> Status {
        let end = Instant::now() + limit;
        let mut state = self.lock();
        if let Some(stop) = &state.running {
            stop.stop();
        }
        // The time is limited, because a provider can block the recording.
        while state.running.is_some() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.ended.wait_timeout(state, left).ignore_poison().0;
        }
        state.status.clone()
    }
}

/// Writes samples until the recording ends. `free` returns the free space of the disk, `None` if it is unknown; `written` is
/// called after each sample.
fn record(
    source: &mut impl Source,
    recorder: &mut Recorder,
    stop: &Stop,
    min_free_bytes: u64,
    free: impl Fn() -> Option<u64>,
    mut written: impl FnMut(&Recorder),
) -> End {
    let mut sample = Sample::default();
    loop {
        match source.next(&mut sample) {
            Ok(true) => {}
            Ok(false) if stop.is_stopped() => return End::Stopped,
            Ok(false) => return End::TimeOver,
            Err(error) => return End::Failed(error),
        }
        if free().is_some_and(|free| free < min_free_bytes) {
            return End::DiskFull;
        }
        if let Err(error) = recorder.push(&sample) {
            return End::Failed(error);
        }
        written(recorder);
        if recorder.is_full() {
            return End::Full;
        }
    }
}

fn update(status: &mut Status, recorder: &Recorder) {
    let summary = recorder.summary();
    status.samples = summary.samples;
    status.bytes = summary.bytes;
    status.begin = summary.first.map(|moment| rfc3339(moment.utc));
    status.end = summary.last.map(|moment| rfc3339(moment.utc));
}

fn free_bytes(folder: &Path) -> Option<u64> {
    DiskStorage.free_bytes(folder).ok()
}

fn little_space(options: &RecordingOptions) -> String {
    format!("less than {} MB are free on the server's disk", options.min_free_bytes >> 20)
}

/// The cause of an error without the path, which clients must not see.
fn cause(error: &FlowError) -> String {
    match error {
        FlowError::Log(log) => match (log.io_error(), log.path()) {
            (Some(error), _) => io_error_text(error),
            (None, Some(path)) => log.to_string().replace(&path.display().to_string(), &file_name(path)),
            (None, None) => log.to_string(),
        },
        error => error.to_string(),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of a machine's log, to which the date is added. It has no path separators, and does not begin with a dot.
fn log_name(machine: &str) -> PathBuf {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let plain = machine.chars().take(MAX_NAME).map(|letter| if is_plain(letter) { letter } else { '_' });
    let name: String = plain.collect();
    let name = name.trim_start_matches('.');
    PathBuf::from(format!("{}.blg", if name.is_empty() { "log" } else { name }))
}

impl RecordingOptions {
    /// Checks that the folder exists; returns the options with its absolute path.
    pub(crate) fn checked(mut self, has_token: bool) -> Result<Self, ServeError> {
        if !has_token {
            return Err(ServeError::usage(
                "recordings require a token, so that only its owners can start them",
            ));
        }
        let folder = std::fs::canonicalize(&self.folder)
            .map_err(|error| ServeError::io(self.folder.display(), &error))?;
        if !folder.is_dir() {
            return Err(ServeError::usage(format!("{}: not a folder", self.folder.display())));
        }
        self.folder = folder;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tachograph_counters::CounterType;
    use tachograph_counters::RawValue;
    use tachograph_counters::sample::Group;
    use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};

    use super::*;

    #[test]
    fn names_of_logs_stay_in_the_folder() {
        for (machine, name) in [
            ("web1", "web1.blg"),
            ("web-1.example", "web-1.example.blg"),
            ("../../etc/passwd", "_.._etc_passwd.blg"),
            ("..", "log.blg"),
            ("", "log.blg"),
            ("a/b\\c\0d", "a_b_c_d.blg"),
            ("日本", "__.blg"),
        ] {
            let found = log_name(machine);
            assert_eq!(found.to_str(), Some(name));
            assert_eq!(found.components().count(), 1, "{machine}");
        }
    }

    /// Samples of one counter, a second apart.
    struct Samples(i64);

    impl Source for Samples {
        fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
            let mut set = CounterSet::new("FAKE", "Set", Extent::Row);
            set.counters.push(Counter::new("Number", CounterType::RAWCOUNT, 10_000_000));
            let mut group = Group::new(Arc::new(set));
            group.instances = [Arc::new(Instance::new(None, "", 0))].into_iter().collect();
            group.values.push(RawValue::default());
            self.0 += 1;
            sample.at =
                Moment { utc: FileTime(133_000_000_000_000_000 + self.0 * 10_000_000), bias_minutes: 0 };
            sample.groups = vec![group];
            Ok(true)
        }
    }

    #[test]
    fn a_recording_ends_when_little_space_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log.blg");
        let options = RecordOptions::new(&path, Duration::from_secs(1));
        let mut recorder = Recorder::create(options, Moment::default()).expect("a log");
        let left = Cell::new(104);
        let free = || {
            left.set(left.get() - 1);
            Some(left.get())
        };
        let mut written = 0;
        let end = record(&mut Samples(0), &mut recorder, &Stop::default(), 100, free, |_| written += 1);
        assert!(matches!(end, End::DiskFull), "{end:?}");
        recorder.finish().expect("complete");
        assert_eq!((written, recorder.summary().samples), (4, 4));
        let mut log = tachograph_logs::open(&path).expect("a log");
        let (mut sample, mut samples) = (Sample::default(), 0);
        while log.next(&mut sample).expect("readable") {
            samples += 1;
        }
        assert_eq!(samples, 4);
    }
}
