//! Tests that recording allocates nothing in the steady state. A separate test program, since it counts allocations.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use peak_alloc::PeakAlloc;
use tachograph_counters::CounterType;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::Sink;
use tachograph_flow::live::{LiveOptions, LiveSource};
use tachograph_flow::record::{
    AtMax, Existing, FileLocation, LogFile, LogFiles, OpenedFile, RecordOptions, Recorder, Suffix,
};
use tachograph_logs::{Format, SetLength};
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, FREQUENCY, Failure, Guid, InstanceKey, Provider, Registry, Rows};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Peak of the memory that `run` allocates, in bytes: the minimum of several runs, since the test harness can allocate, too.
fn min_allocated(mut run: impl FnMut()) -> usize {
    let measured = |run: &mut dyn FnMut()| {
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        run();
        ALLOCATED.peak_usage().saturating_sub(before)
    };
    (0..3).map(|_| measured(&mut run)).min().unwrap_or_default()
}

const START: FileTime = FileTime(133_541_028_000_000_000);
const INTERVAL: i64 = FREQUENCY / 10;

/// A set of three counters. `Shop` has no instances; `Worker` has 200, some with equal names, one without a value.
struct FakeSet {
    info: Arc<CounterSetInfo>,
    now: Arc<AtomicI64>,
    workers: Vec<Arc<InstanceKey>>,
}

impl Provider for FakeSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let now = self.now.load(Ordering::Relaxed) as u64;
        for (number, worker) in (0..).zip(&self.workers) {
            if rows.wants_instance(worker.full_name(), worker.id()) {
                let mut row = rows.push(worker);
                row.set(0, now / (2 + number));
                row.set(1, number);
                if number != 7 {
                    row.set(2, now * number);
                }
            }
        }
        Ok(())
    }
}

fn registry(now: &Arc<AtomicI64>) -> Arc<Registry> {
    let clock = {
        let now = Arc::clone(now);
        Clock::new(move || {
            let ticks = now.load(Ordering::Relaxed);
            (ticks, FileTime(START.0 + ticks))
        })
    };
    let mut registry = Registry::new("FAKE", clock);
    for (name, number, instances) in
        [("Shop", 1, InstanceType::Single), ("Worker", 2, InstanceType::Multiple)]
    {
        let mut info = CounterSetInfo::new(name, Guid::from_u128(number), instances);
        info.counters = vec![
            CounterInfo::new(0, "% Busy Time", CounterType::TIMER_100NS),
            CounterInfo::new(1, "Open Orders", CounterType::LARGE_RAWCOUNT),
            CounterInfo::new(2, "Requests/sec", CounterType::BULK_COUNT),
        ];
        let worker = |number: u32| {
            Arc::new(InstanceKey::new(format!("worker {}", number % 150), number, number.into()))
        };
        let workers = match instances {
            InstanceType::Single => vec![Arc::new(InstanceKey::default())],
            _ => (0..200).map(worker).collect(),
        };
        let provider = FakeSet { info: Arc::new(info), now: Arc::clone(now), workers };
        registry.register(Box::new(provider)).expect("new");
    }
    Arc::new(registry)
}

/// A file with preallocated memory.
struct MemoryFile(Cursor<Vec<u8>>);

impl Read for MemoryFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for MemoryFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl SetLength for MemoryFile {
    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        self.0.set_length(bytes)
    }
}

impl LogFile for MemoryFile {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        None
    }
}

struct MemoryFiles;

impl LogFiles for MemoryFiles {
    type File = MemoryFile;

    fn names(&self, _folder: &Path) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn open(&mut self, _path: &Path, _existing: Existing) -> io::Result<OpenedFile<MemoryFile>> {
        let file = MemoryFile(Cursor::new(Vec::with_capacity(64 << 20)));
        Ok(OpenedFile { file, is_new: true, has_content: false })
    }

    fn location_of(&self, _file: &MemoryFile, _path: &Path) -> FileLocation {
        FileLocation::InPlace
    }

    fn has_content(&self, _path: &Path) -> bool {
        false
    }

    fn sync_name(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// Checks that a recording allocates nothing after its third sample. Records all counters, with wildcards, patterns, and single
/// instances that are present or absent.
#[track_caller]
fn check_steady_state(options: RecordOptions) {
    let now = Arc::new(AtomicI64::new(0));
    let paths = [
        r"\Shop\*",
        r"\Worker(*)\*",
        r"\Worker(worker 1*)\Requests/sec",
        r"\Worker(worker 3#1)\% Busy Time",
        r"\Worker(nobody)\% Busy Time",
    ];
    let paths: Vec<_> = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
    let live = LiveOptions { boot_time: FileTime(START.0 - 1), ..LiveOptions::default() };
    let (mut source, _) = LiveSource::open(&registry(&now), &paths, live).expect("this machine");
    let at = Moment { utc: START, bias_minutes: 0 };
    let format = options.format;
    let mut recorder = Recorder::with_files(MemoryFiles, options, at).expect("a new file");
    let mut sample = Sample::default();
    let mut next = || {
        now.fetch_add(INTERVAL, Ordering::Relaxed);
        source.collect(&mut sample);
        recorder.push(&sample).expect("disk space");
    };
    for _ in 0..3 {
        next();
    }
    let allocated = min_allocated(|| (0..300).for_each(|_| next()));
    assert_eq!(allocated, 0, "{}: bytes for 300 samples", format.name());
    assert!(sample.len() > 600);
    assert_eq!(recorder.summary().samples, 903);
}

/// A single test, since tests would share the allocator.
#[test]
fn a_recording_allocates_nothing_after_its_third_sample() {
    let options = |format| {
        let mut options = RecordOptions::new("log", Duration::from_nanos(INTERVAL as u64 * 100));
        options.format = format;
        options.zone = TimeZone::utc();
        options
    };
    check_steady_state(options(Format::Blg));
    check_steady_state(RecordOptions {
        max_bytes: Some(1 << 20),
        at_max: AtMax::Circular,
        is_synced: true,
        ..options(Format::Blg)
    });
    check_steady_state(options(Format::Csv));
    // The last sample is kept for the next segment.
    check_steady_state(RecordOptions {
        suffix: Suffix::Number,
        segment_time: Some(Duration::from_secs(3600)),
        ..options(Format::Tsv)
    });
}
