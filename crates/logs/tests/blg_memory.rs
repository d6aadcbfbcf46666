//! Memory and time of reading are bounded for any input. A separate test program, because it counts allocations.

#[path = "all/fixture/mod.rs"]
mod fixture;

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fixture::block::{Block, Counter, Instance, Object};
use fixture::shown::{Shown, show, try_read};
use fixture::{Entry, LogBuilder, SAMPLE, multi, single};
use peak_alloc::PeakAlloc;
use tachograph_counters::IgnorePoison;
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::BlgReader;
use tachograph_logs::{LogReader, LogWriter, Problems};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Held during a measurement, because the tests of this binary share one allocator and one clock.
static MEASURED: Mutex<()> = Mutex::new(());

fn lock() -> MutexGuard<'static, ()> {
    MEASURED.lock().ignore_poison()
}

/// The peak of the bytes that `run` allocates.
fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let result = run();
    (result, ALLOCATED.peak_usage().saturating_sub(before))
}

const MIB: usize = 1 << 20;

/// A small log and its samples.
struct Log {
    file: Vec<u8>,
    /// For each sample, the range of bytes of its event. The parts of a split event are adjacent.
    samples: Vec<std::ops::Range<usize>>,
    whole: Shown,
}

impl Log {
    fn new(builder: &LogBuilder, starts: &[usize]) -> Self {
        let file = builder.file();
        let whole = try_read(&file).expect("a log");
        assert_eq!(whole.samples.len(), starts.len());
        assert!(whole.problems.is_empty());
        let ends = starts.iter().skip(1).copied().chain([file.len()]);
        let samples = starts.iter().zip(ends).map(|(&start, end)| start..end).collect();
        Self { file, samples, whole }
    }

    /// Asserts that a change of the byte at `at` affects no sample other than the one that contains it.
    fn check(&self, at: usize, shown: &Shown) {
        let in_first_header = (4..0x48).contains(&at);
        let in_buffer_header = at >= 1024 && at % 1024 < 0x48;
        let Some(touched) = self.samples.iter().position(|range| range.contains(&at)) else {
            // In these headers, each field that the reader uses can be derived from others, so damage changes nothing.
            if in_first_header || in_buffer_header {
                assert_eq!(shown.samples, self.whole.samples, "byte {at:#x}");
            }
            // Other bytes belong to the counter list, the names, or the time zone, which affect every sample.
            return;
        };
        let untouched = self.whole.samples.iter().enumerate().filter(|(number, _)| *number != touched);
        let mut rest = shown.samples.iter();
        for (number, sample) in untouched {
            assert!(rest.any(|found| found == sample), "byte {at:#x}: sample {number} is lost: {shown:#?}");
        }
        assert!(
            shown.samples.len() <= self.whole.samples.len(),
            "byte {at:#x}: more samples than in the undamaged log"
        );
    }
}

fn multi_log() -> Log {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    let starts: Vec<_> = (0..6)
        .map(|n| {
            let rows = [("a", n, -1), ("b", n, -1), ("a", n, -1)];
            builder.sample(n, &[single(n, n, -1), multi(n, &rows[..2 + (n as usize) / 3])])
        })
        .collect();
    Log::new(&builder, &starts)
}

const COUNT: Counter = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };

fn block_log() -> Log {
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(230, "Process"), (232, "Thread"), (6, "Time")]);
    builder.list(&[Entry::block("Thread"), Entry::block("Process")]);
    let starts: Vec<_> = (0..4)
        .map(|n| {
            let process = Object::new(230, &[COUNT], &[Instance::new("a", &[n]), Instance::new("b", &[n])]);
            let threads =
                [Instance::new("0", &[n]).with_parent(230, 0), Instance::new("0", &[n]).with_parent(230, 1)];
            let thread = Object::new(232, &[COUNT], &threads);
            let records = [Block::new(n, &[thread]).record(), Block::new(n, &[process]).record()];
            // The first two samples are split into parts.
            builder.parts(SAMPLE, n, &fixture::sample(&records), if n < 2 { 300 } else { 800 })
        })
        .collect();
    Log::new(&builder, &starts)
}

#[test]
fn every_flipped_bit_needs_bounded_memory() {
    let _lock = lock();
    for log in [multi_log(), block_log()] {
        let mut file = log.file.clone();
        for at in 0..file.len() {
            for bit in 0..8 {
                file[at] ^= 1 << bit;
                let (shown, peak) = peak(|| try_read(&file));
                assert!(peak < 2 * MIB, "byte {at:#x}, bit {bit}: {peak} bytes");
                match shown {
                    Ok(shown) => log.check(at, &shown),
                    // Only damage to the buffer size and the list can make the log unreadable.
                    Err(error) => {
                        assert!(error.is_corrupt(), "byte {at:#x}: {error}");
                        assert!(
                            at < 4 || (0x400..log.samples[0].start).contains(&at),
                            "byte {at:#x}: {error}"
                        );
                    }
                }
                file[at] ^= 1 << bit;
            }
        }
    }
}

/// The processor time of this thread: unlike the time that passes, it does not depend on the load of the machine.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the thread's processor time");
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number of nanoseconds"))
}

/// Reads a log and asserts bounds of processor time and memory.
#[track_caller]
fn bounded(file: &[u8], max_bytes: usize, expected_problem: Option<&str>) -> Sample {
    let start = cpu_time();
    let ((sample, problems), peak) = peak(|| {
        let mut reader = BlgReader::new(Cursor::new(file)).expect("a log");
        let mut sample = Sample::default();
        while reader.next(&mut sample).expect("readable") {}
        let problems: Vec<_> = reader.problems().list().iter().map(ToString::to_string).collect();
        (sample, problems)
    });
    // Release builds need a tenth of this time; here, the allocator counts every call.
    let used = cpu_time() - start;
    assert!(used < Duration::from_secs(10), "{used:?}");
    assert!(peak < max_bytes, "{peak} bytes at the peak");
    match expected_problem {
        None => assert_eq!(problems, [""; 0]),
        Some(expected) => {
            assert!(problems.iter().all(|problem| problem.contains(expected)), "{problems:?}");
            assert!(!problems.is_empty(), "no problem was reported");
        }
    }
    sample
}

fn log_of(entry: Entry, record: Vec<u8>) -> Vec<u8> {
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[entry]);
    builder.sample(0, &[record]);
    builder.file()
}

#[test]
fn a_hundred_thousand_equal_names_are_numbered_in_bounded_time() {
    let _lock = lock();
    let items: Vec<_> = (0..100_000).map(|n| ("svchost", n, 1)).collect();
    let file = log_of(Entry::multi("Process", "Time"), multi(0, &items));
    let sample = bounded(&file, 100 * MIB, None);
    assert_eq!(sample.groups[0].instances[99_999].label(), "svchost#99999");

    let rows: Vec<_> = (0..100_000).map(|n| Instance::new("svchost", &[n])).collect();
    let file = log_of(Entry::block("Process"), Block::new(0, &[Object::new(230, &[COUNT], &rows)]).record());
    let sample = bounded(&file, 100 * MIB, None);
    assert_eq!(sample.groups[0].instances[99_999].label(), "svchost#99999");
}

#[test]
fn repeated_names_get_the_indexes_after_all_others() {
    let _lock = lock();
    // The names are a, a#1, ... a#49999, and then all of them again. The repeated ones become a#50000, a#50001 and so on.
    let names: Vec<_> = (0..50_000).map(|n| if n == 0 { "a".to_owned() } else { format!("a#{n}") }).collect();
    let items: Vec<_> = names.iter().chain(&names).map(|name| (name.as_str(), 1, 1)).collect();
    let file = log_of(Entry::multi("Process", "Time"), multi(0, &items));
    let sample = bounded(&file, 100 * MIB, None);
    assert_eq!(sample.groups[0].instances.len(), 100_000);
}

#[test]
fn many_children_of_many_parents_are_read_in_bounded_time() {
    let _lock = lock();
    let processes: Vec<_> = (0..20_000).map(|n| Instance::new(&format!("process {n}"), &[n])).collect();
    let threads: Vec<_> =
        (0..100_000).map(|n| Instance::new("0", &[n]).with_parent(230, (n % 20_000) as u32)).collect();
    let objects = [Object::new(230, &[COUNT], &processes), Object::new(232, &[COUNT], &threads)];
    let file = log_of(Entry::block("Thread"), Block::new(0, &objects).record());
    let sample = bounded(&file, 150 * MIB, None);
    assert_eq!(sample.groups[0].instances[99_999].label(), "process 19999/0#4");

    // Writing the log is fast, too, although the rows of a parent are not adjacent.
    let start = cpu_time();
    let options =
        tachograph_logs::blg::BlgWriterOptions::new(tachograph_counters::time_zone::TimeZone::utc());
    let again = fixture::rewritten::write(std::slice::from_ref(&sample), options);
    let used = cpu_time() - start;
    assert!(used < Duration::from_secs(5), "{used:?}");
    let again = fixture::rewritten::samples_of(&again);
    assert_eq!(again[0].groups[0].instances[99_999].label(), "process 19999/0#4");
}

#[test]
fn one_long_name_shared_by_all_is_refused() {
    let _lock = lock();
    // All 20,000 items refer to one name of 200,000 characters, so their labels would need gigabytes.
    let long = "x".repeat(200_000);
    let items: Vec<_> = (0..20_000).map(|n| ("", n, 1)).chain([(long.as_str(), 0, 0)]).collect();
    let mut record = multi(0, &items);
    let name = 0x18 + 24 * items.len() + 2 * 20_000;
    for item in 0..items.len() {
        fixture::put(&mut record, 0x20 + 24 * item, &(name as u32).to_le_bytes());
    }
    let what = "the instance names of a record are together longer than 4 times the record";
    bounded(&log_of(Entry::multi("Process", "Time"), record), 32 * MIB, Some(what));

    // All threads have one parent with a long name.
    let threads: Vec<_> = (0..20_000).map(|n| Instance::new("0", &[n]).with_parent(230, 0)).collect();
    let parent = Object::new(230, &[COUNT], &[Instance::new(&long, &[0])]);
    let objects = [parent, Object::new(232, &[COUNT], &threads)];
    bounded(&log_of(Entry::block("Thread"), Block::new(0, &objects).record()), 32 * MIB, Some(what));
}

#[test]
fn endless_parts_are_skipped() {
    let _lock = lock();
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[Entry::single("System", None, "Calls")]);
    for part in 1..200_000u32 {
        let mut event = fixture::Event::new(SAMPLE, fixture::local(0), Vec::new());
        (event.part, event.parts) = (part, u32::MAX);
        builder.push(&event);
    }
    builder.sample(1, &[single(1, 1, 1)]);
    let sample = bounded(&builder.file(), 4 * MIB, Some("part"));
    assert_eq!(show(&sample), r"1: System\Calls=1/1");
}

#[test]
fn names_of_endless_machines_need_bounded_memory() {
    let _lock = lock();
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[Entry::single("System", None, "Calls")]);
    for machine in 0..9000 {
        builder.names(&format!(r"\\{machine}{}", "x".repeat(3000)), &[]);
    }
    builder.sample(1, &[single(1, 1, 1)]);
    bounded(&builder.file(), 24 * MIB, None);
}

/// A log of any length that is not in memory: the same buffer of samples, repeated.
struct Endless {
    first: Vec<u8>,
    again: Vec<u8>,
    at: u64,
    bytes: u64,
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = out.len().min((self.bytes - self.at.min(self.bytes)) as usize);
        let (from, at) = match self.at.checked_sub(self.first.len() as u64) {
            None => (&self.first, self.at as usize),
            Some(after) => (&self.again, (after % self.again.len() as u64) as usize),
        };
        let count = count.min(from.len() - at);
        out[..count].copy_from_slice(&from[at..at + count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Endless {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(back) => self.bytes.saturating_add_signed(back),
            SeekFrom::Current(further) => self.at.saturating_add_signed(further),
        };
        Ok(self.at)
    }
}

#[test]
fn a_long_log_takes_no_more_memory_than_a_short_one() {
    let _lock = lock();
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    builder.next_buffer();
    let names: Vec<_> = (0..100).map(|n| format!("disk {n}")).collect();
    let items: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 2)).collect();
    while builder.buffers.len() == 2 {
        builder.sample(1, &[single(1, 1, 1), multi(1, &items)]);
    }
    builder.buffers.truncate(2);
    let file = builder.file();
    let per_buffer = file[0x20000..].windows(16).filter(|bytes| **bytes == fixture::PDH).count() as u64;
    let (first, again) = file.split_at(0x20000);
    let log = Endless { first: first.to_vec(), again: again.to_vec(), at: 0, bytes: 64 << 20 };
    let (count, peak) = peak(|| {
        let mut reader = BlgReader::new(log).expect("a log");
        let mut sample = Sample::default();
        let mut count = 0;
        while reader.next(&mut sample).expect("readable") {
            assert_eq!(sample.len(), 101);
            count += 1;
        }
        // Each repeated buffer contradicts the times and sequence numbers before it, which is reported; at most
        // `Problems::MAX_LISTED` of these problems are listed.
        let problems = reader.problems();
        assert!((1..=Problems::MAX_LISTED).contains(&problems.list().len()), "{}", problems.count());
        count
    });
    assert_eq!(count, per_buffer * 1022);
    assert!(peak < MIB, "{peak} bytes at the peak");
}

#[test]
fn writing_allocates_almost_nothing_in_the_steady_state() {
    let _lock = lock();
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[Entry::multi("Disk", "Reads")]);
    builder.sample(0, &[multi(0, &[("a", 1, 2), ("b", 3, 4)])]);
    let samples = fixture::rewritten::samples_of(&builder.file());
    let options =
        tachograph_logs::blg::BlgWriterOptions::new(tachograph_counters::time_zone::TimeZone::utc());
    let mut writer =
        tachograph_logs::blg::BlgWriter::new(Cursor::new(vec![0; 4 * MIB]), options).expect("options");
    writer.write(&samples[0]).expect("written");
    writer.flush().expect("flushed");
    let ((), peak) = peak(|| {
        for _ in 0..10_000 {
            writer.write(&samples[0]).expect("written");
            writer.flush().expect("flushed");
        }
    });
    assert!(peak < MIB / 4, "{peak} bytes at the peak");
}

#[test]
fn writing_blocks_allocates_nothing_in_the_steady_state() {
    let _lock = lock();
    let mut builder = LogBuilder::new(0x10000);
    builder.names(r"\\MADE", &[(230, "Process"), (232, "Thread"), (2, "System"), (6, "Time")]);
    builder.list(&[Entry::block("Thread"), Entry { instance: None, ..Entry::block("System") }]);
    let process = Object::new(230, &[COUNT], &[Instance::new("a", &[1])]);
    let thread = Object::new(232, &[COUNT], &[Instance::new("0", &[1]).with_parent(230, 0)]);
    let system = Object::without_instances(2, &[COUNT], &[5]);
    for n in 0..2 {
        // The set System is missing in one sample.
        let system = Block::new(n, &[system.clone()][n as usize..]).record();
        builder.sample(n, &[Block::new(n, &[process.clone(), thread.clone()]).record(), system]);
    }
    let samples = fixture::rewritten::samples_of(&builder.file());
    let options =
        tachograph_logs::blg::BlgWriterOptions::new(tachograph_counters::time_zone::TimeZone::utc());
    let mut writer =
        tachograph_logs::blg::BlgWriter::new(Cursor::new(vec![0; 4 * MIB]), options).expect("options");
    let mut run = || {
        for sample in &samples {
            writer.write(sample).expect("written");
        }
        writer.flush().expect("flushed");
    };
    run();
    // The test harness can allocate on another thread.
    let least = (0..100).map(|_| peak(&mut run).1).min();
    assert_eq!(least, Some(0));
}
