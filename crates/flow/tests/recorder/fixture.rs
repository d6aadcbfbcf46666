//! A machine whose clocks the tests set, and a disk that records every write.

use std::collections::BTreeMap;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tachograph_counters::CounterType;
use tachograph_counters::Summary;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{LiveOptions, LiveSource};
use tachograph_flow::logs::LogSource;
use tachograph_flow::record::{
    Existing, FileLocation, LogFile, LogFiles, OpenedFile, RecordOptions, Recorder,
};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Merge};
use tachograph_logs::SetLength;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, FREQUENCY, Failure, Guid, InstanceKey, Provider, Registry, Rows};

pub(crate) const MILLISECOND: i64 = FREQUENCY / 1000;
/// 2024-03-05 09:00:00 UTC.
pub(crate) const START: FileTime = FileTime(133_541_028_000_000_000);

/// The machine's clocks and counters.
#[derive(Default)]
struct Now {
    /// The performance clock: time since [`START`], in 100 ns.
    ticks: i64,
    /// The sum of the steps of the wall clock.
    step: i64,
    workers: Vec<Arc<InstanceKey>>,
    requests: u64,
}

/// The machine FAKE with the sets `Shop` (`Requests/sec`, `Open Orders`) and `Worker` (`% Busy Time`, per worker).
#[derive(Clone, Default)]
pub(crate) struct Machine(Arc<Mutex<Now>>);

impl Machine {
    pub(crate) fn new(workers: &[&str]) -> Self {
        let machine = Self::default();
        machine.set_workers(workers);
        machine
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.lock().expect("no panic")
    }

    /// Advances the time, and counts some requests.
    pub(crate) fn advance(&self, ticks: i64) {
        let mut now = self.now();
        now.ticks += ticks;
        now.requests += 3 + (now.ticks / MILLISECOND) as u64 % 7;
    }

    /// Sets the wall clock forward or back.
    pub(crate) fn step(&self, ticks: i64) {
        self.now().step += ticks;
    }

    /// Sets the names of the workers. A number after a colon is both the id and the identity of the worker's
    /// [`InstanceKey`].
    pub(crate) fn set_workers(&self, workers: &[&str]) {
        let key = |worker: &&str| {
            let (name, id) = worker.split_once(':').unwrap_or((worker, "0"));
            let id: u32 = id.parse().expect("a number");
            Arc::new(InstanceKey::new(name, id, id.into()))
        };
        self.now().workers = workers.iter().map(key).collect();
    }

    pub(crate) fn source(&self, paths: &[&str]) -> LiveSource {
        let machine = self.clone();
        let clock = Clock::new(move || {
            let now = machine.now();
            (now.ticks, FileTime(START.0 + now.ticks + now.step))
        });
        let mut registry = Registry::new("FAKE", clock);
        let mut shop = CounterSetInfo::new("Shop", Guid::from_u128(1), InstanceType::Single);
        shop.counters = vec![
            CounterInfo::new(0, "Requests/sec", CounterType::BULK_COUNT),
            CounterInfo::new(1, "Open Orders", CounterType::RAWCOUNT),
        ];
        let mut worker = CounterSetInfo::new("Worker", Guid::from_u128(2), InstanceType::Multiple);
        worker.counters = vec![CounterInfo::new(0, "% Busy Time", CounterType::TIMER_100NS)];
        for info in [shop, worker] {
            let provider = FakeSet { info: Arc::new(info), machine: self.clone() };
            registry.register(Box::new(provider)).expect("a set that is not registered yet");
        }
        let paths: Vec<_> = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
        let options = LiveOptions {
            bias_minutes: 480,
            boot_time: START.saturating_sub(3600 * FREQUENCY),
            ..LiveOptions::default()
        };
        LiveSource::open(&Arc::new(registry), &paths, options).expect("this machine").0
    }
}

struct FakeSet {
    info: Arc<CounterSetInfo>,
    machine: Machine,
}

impl Provider for FakeSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let now = self.machine.now();
        if !self.info.has_instances() {
            let mut row = rows.push(&Arc::new(InstanceKey::default()));
            row.set(0, now.requests);
            row.set(1, now.requests % 5);
            return Ok(());
        }
        for worker in &now.workers {
            if rows.wants_instance(worker.full_name(), worker.id()) {
                // Ann is busy for half of the time, Bob for a third.
                let share = worker.name().bytes().next().map_or(0, |letter| letter.saturating_sub(b'a') % 8);
                rows.push(worker).set(0, now.ticks as u64 / (u64::from(share) + 2));
            }
        }
        Ok(())
    }
}

/// A change to a file.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Created(PathBuf),
    Removed(PathBuf),
    Length(PathBuf, u64),
    Written(PathBuf, u64, Vec<u8>),
}

/// A disk in memory.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    files: Files,
    changes: Vec<Change>,
    syncs: u64,
    synced_names: u64,
    /// The capacity in bytes.
    room: Option<u64>,
}

pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Applies a change, or as much of it as there is room for; returns the number of bytes written.
pub(crate) fn apply(files: &mut Files, change: &Change, room: Option<u64>) -> usize {
    match change {
        Change::Created(path) => drop(files.insert(path.clone(), Vec::new())),
        Change::Removed(path) => drop(files.remove(path)),
        Change::Length(path, length) => files.get_mut(path).expect("a file").truncate(*length as usize),
        Change::Written(path, at, bytes) => {
            let others: usize =
                files.iter().filter(|(other, _)| *other != path).map(|(_, file)| file.len()).sum();
            let file = files.get_mut(path).expect("a file");
            let at = *at as usize;
            let max = room.map_or(usize::MAX, |room| (room as usize).saturating_sub(others).max(file.len()));
            let end = (at + bytes.len()).min(max);
            if end > file.len() {
                file.resize(end, 0);
            }
            let written = end.saturating_sub(at);
            file[at.min(end)..end].copy_from_slice(&bytes[..written]);
            return written;
        }
    }
    0
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic")
    }

    pub(crate) fn with_room(room: u64) -> Self {
        let disk = Self::default();
        disk.state().room = Some(room);
        disk
    }

    pub(crate) fn set_room(&self, room: Option<u64>) {
        self.state().room = room;
    }

    pub(crate) fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.state().files.insert(name.into(), bytes.into());
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.state().files.keys().map(|path| path.display().to_string()).collect()
    }

    pub(crate) fn file(&self, name: &str) -> Vec<u8> {
        self.state().files.get(Path::new(name)).unwrap_or_else(|| panic!("no {name}")).clone()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.file(name)).expect("UTF-8")
    }

    pub(crate) fn changes(&self) -> Vec<Change> {
        self.state().changes.clone()
    }

    /// The number of syncs of files, and of directory entries.
    pub(crate) fn syncs(&self) -> (u64, u64) {
        let state = self.state();
        (state.syncs, state.synced_names)
    }

    fn change(&self, change: Change) -> usize {
        let mut state = self.state();
        let room = state.room;
        let written = apply(&mut state.files, &change, room);
        state.changes.push(change);
        written
    }

    pub(crate) fn recorder(&self, options: RecordOptions) -> Result<Recorder<Self>, FlowError> {
        Recorder::with_files(self.clone(), options, Moment { utc: START, bias_minutes: 480 })
    }
}

/// An open file of the disk.
pub(crate) struct Open {
    disk: Disk,
    path: PathBuf,
    at: u64,
}

impl Read for Open {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state();
        let rest = state.files[&self.path].get(self.at as usize..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Open {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.disk.change(Change::Written(self.path.clone(), self.at, bytes.to_vec()));
        self.at += written as u64;
        if written == 0 && !bytes.is_empty() { Err(ErrorKind::StorageFull.into()) } else { Ok(written) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Open {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let length = self.disk.state().files[&self.path].len() as u64;
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(by) => length.saturating_add_signed(by),
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

impl SetLength for Open {
    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        self.disk.change(Change::Length(self.path.clone(), bytes));
        Ok(())
    }
}

impl LogFile for Open {
    fn sync(&self) -> io::Result<()> {
        self.disk.state().syncs += 1;
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        self.disk.state().files.get(&self.path).map(|file| file.len() as u64)
    }
}

impl LogFiles for Disk {
    type File = Open;

    fn names(&self, _folder: &Path) -> io::Result<Vec<String>> {
        Ok(Disk::names(self))
    }

    fn open(&mut self, path: &Path, existing: Existing) -> io::Result<OpenedFile<Open>> {
        let length = self.state().files.get(path).map(Vec::len);
        if length.is_some() && existing == Existing::Refuse {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if length.is_none() {
            self.change(Change::Created(path.to_path_buf()));
        }
        let file = Open { disk: self.clone(), path: path.to_path_buf(), at: 0 };
        Ok(OpenedFile {
            file,
            is_new: length.is_none(),
            has_content: length.is_some_and(|length| length > 0),
        })
    }

    fn location_of(&self, _file: &Open, _path: &Path) -> FileLocation {
        FileLocation::InPlace
    }

    fn has_content(&self, path: &Path) -> bool {
        self.state().files.get(path).is_some_and(|file| !file.is_empty())
    }

    fn sync_name(&self, _path: &Path) -> io::Result<()> {
        self.state().synced_names += 1;
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.change(Change::Removed(path.to_path_buf()));
        Ok(())
    }
}

/// Options for a log with ten samples per second.
pub(crate) fn options(name: &str) -> RecordOptions {
    let mut options = RecordOptions::new(name, Duration::from_millis(100));
    options.zone = tachograph_counters::time_zone::TimeZone::fixed("Pacific Standard Time", 480);
    options
}

/// The samples of a log, and its number of problems.
pub(crate) fn read(bytes: &[u8]) -> (Vec<Sample>, u64) {
    try_read(bytes).expect("a log")
}

pub(crate) fn try_read(bytes: &[u8]) -> Result<(Vec<Sample>, u64), tachograph_logs::LogError> {
    let mut reader = tachograph_logs::open_stream(Cursor::new(bytes.to_vec()))?;
    let mut samples = Vec::new();
    let mut sample = Sample::default();
    while reader.next(&mut sample)? {
        samples.push(sample.clone());
    }
    let problems = reader.problems().count();
    Ok((samples, problems))
}

/// The statistics over logs: path and summary.
pub(crate) fn statistics(disk: &Disk, names: &[String]) -> Vec<(String, Summary)> {
    let open = |name: &String| {
        let reader = tachograph_logs::open_stream(Cursor::new(disk.file(name))).expect("a log");
        LogSource::new(Path::new(name), reader)
    };
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    let mut source = Merge::new(names.iter().map(open).collect());
    tachograph_flow::run(&mut source, &mut sink, || {}).expect("logs of one machine");
    sink.rows().into_iter().map(|row| (row.path, row.summary)).collect()
}
