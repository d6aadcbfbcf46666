//! Memory and time of reading: bounded whatever the bytes say. In a binary of its own, which counts what is allocated.

#[path = "all/made/mod.rs"]
mod made;

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use made::block::{Block, Counter, Instance, Object};
use made::shown::{Shown, show, try_read};
use made::{Entry, Made, SAMPLE, multi, single};
use peak_alloc::PeakAlloc;
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::BlgReader;
use tachograph_logs::{LogReader, LogWriter, Problems};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Held while something is measured: the tests of this binary share one allocator and one clock.
static MEASURED: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    MEASURED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Most bytes that were allocated at a time during `run`, beyond those before it.
fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let result = run();
    (result, ALLOCATED.peak_usage().saturating_sub(before))
}

const MIB: usize = 1 << 20;

/// A small log, and what is known of its samples.
struct Log {
    file: Vec<u8>,
    /// Where the event of each sample lies; its parts are side by side.
    samples: Vec<std::ops::Range<usize>>,
    whole: Shown,
}

impl Log {
    fn new(made: &Made, starts: &[usize]) -> Self {
        let file = made.file();
        let whole = try_read(&file).expect("a log");
        assert_eq!(whole.samples.len(), starts.len());
        assert!(whole.problems.is_empty());
        let ends = starts.iter().skip(1).copied().chain([file.len()]);
        let samples = starts.iter().zip(ends).map(|(&start, end)| start..end).collect();
        Self { file, samples, whole }
    }

    /// Asserts what must hold of a reading with the byte at `at` changed.
    fn check(&self, at: usize, shown: &Shown) {
        let in_first_header = (4..0x48).contains(&at);
        let in_buffer_header = at >= 1024 && at % 1024 < 0x48;
        let Some(touched) = self.samples.iter().position(|range| range.contains(&at)) else {
            // Every field of these that readers use is known otherwise too.
            if in_first_header || in_buffer_header {
                assert_eq!(shown.samples, self.whole.samples, "byte {at:#x}");
            }
            // Other places hold the list, the names, or the zone: they change every sample.
            return;
        };
        let untouched = self.whole.samples.iter().enumerate().filter(|(number, _)| *number != touched);
        let mut rest = shown.samples.iter();
        for (number, sample) in untouched {
            assert!(rest.any(|found| found == sample), "byte {at:#x}: sample {number} is lost: {shown:#?}");
        }
        assert!(shown.samples.len() <= self.whole.samples.len(), "byte {at:#x}: a sample too many");
    }
}

fn multi_log() -> Log {
    let mut made = Made::new(1024);
    made.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    let starts: Vec<_> = (0..6)
        .map(|n| {
            let rows = [("a", n, -1), ("b", n, -1), ("a", n, -1)];
            made.sample(n, &[single(n, n, -1), multi(n, &rows[..2 + (n as usize) / 3])])
        })
        .collect();
    Log::new(&made, &starts)
}

const COUNT: Counter = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };

fn block_log() -> Log {
    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(230, "Process"), (232, "Thread"), (6, "Time")]);
    made.list(&[Entry::block("Thread"), Entry::block("Process")]);
    let starts: Vec<_> = (0..4)
        .map(|n| {
            let process = Object::new(230, &[COUNT], &[Instance::new("a", &[n]), Instance::new("b", &[n])]);
            let threads = [Instance::new("0", &[n]).of(230, 0), Instance::new("0", &[n]).of(230, 1)];
            let thread = Object::new(232, &[COUNT], &threads);
            let records = [Block::new(n, &[thread]).record(), Block::new(n, &[process]).record()];
            // The first two in parts.
            made.parts(SAMPLE, n, &made::sample(&records), if n < 2 { 300 } else { 800 })
        })
        .collect();
    Log::new(&made, &starts)
}

#[test]
fn every_bit_flipped() {
    let _alone = alone();
    for log in [multi_log(), block_log()] {
        let mut file = log.file.clone();
        for at in 0..file.len() {
            for bit in 0..8 {
                file[at] ^= 1 << bit;
                let (shown, peak) = peak(|| try_read(&file));
                assert!(peak < 2 * MIB, "byte {at:#x}, bit {bit}: {peak} bytes");
                match shown {
                    Ok(shown) => log.check(at, &shown),
                    // Only what says how everything else is read may cost the log: a buffer's size, and the list.
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

/// Reads a log and asserts that it takes neither long nor much.
#[track_caller]
fn bounded(file: &[u8], most_bytes: usize, expected_problem: Option<&str>) -> Sample {
    let start = Instant::now();
    let ((sample, problems), peak) = peak(|| {
        let mut reader = BlgReader::new(Cursor::new(file)).expect("a log");
        let mut sample = Sample::default();
        while reader.next(&mut sample).expect("readable") {}
        let problems: Vec<_> = reader.problems().list().iter().map(ToString::to_string).collect();
        (sample, problems)
    });
    // In release it is a tenth of this; the allocator here counts every call.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(peak < most_bytes, "{peak} bytes at a time");
    match expected_problem {
        None => assert_eq!(problems, [""; 0]),
        Some(expected) => {
            assert!(problems.iter().all(|problem| problem.contains(expected)), "{problems:?}");
            assert!(!problems.is_empty(), "there is a problem");
        }
    }
    sample
}

fn log_of(entry: Entry, record: Vec<u8>) -> Vec<u8> {
    let mut made = Made::new(0x10000);
    made.list(&[entry]);
    made.sample(0, &[record]);
    made.file()
}

#[test]
fn a_hundred_thousand_equal_names() {
    let _alone = alone();
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
fn names_that_collide_with_each_others_numbers() {
    let _alone = alone();
    // a, a#1, a#2 ... and all of them once more: each repetition has to find a free number behind all of them.
    let names: Vec<_> = (0..50_000).map(|n| if n == 0 { "a".to_owned() } else { format!("a#{n}") }).collect();
    let items: Vec<_> = names.iter().chain(&names).map(|name| (name.as_str(), 1, 1)).collect();
    let file = log_of(Entry::multi("Process", "Time"), multi(0, &items));
    let sample = bounded(&file, 100 * MIB, None);
    assert_eq!(sample.groups[0].instances.len(), 100_000);
}

#[test]
fn many_children_of_many_parents() {
    let _alone = alone();
    let processes: Vec<_> = (0..20_000).map(|n| Instance::new(&format!("process {n}"), &[n])).collect();
    let threads: Vec<_> =
        (0..100_000).map(|n| Instance::new("0", &[n]).of(230, (n % 20_000) as u32)).collect();
    let objects = [Object::new(230, &[COUNT], &processes), Object::new(232, &[COUNT], &threads)];
    let file = log_of(Entry::block("Thread"), Block::new(0, &objects).record());
    let sample = bounded(&file, 150 * MIB, None);
    assert_eq!(sample.groups[0].instances[99_999].label(), "process 19999/0#4");

    // And written again: the rows of one parent are not side by side.
    let start = Instant::now();
    let options =
        tachograph_logs::blg::BlgWriterOptions::new(tachograph_counters::time_zone::TimeZone::utc());
    let again = made::rewritten::write(std::slice::from_ref(&sample), options);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let again = made::rewritten::samples_of(&again);
    assert_eq!(again[0].groups[0].instances[99_999].label(), "process 19999/0#4");
}

#[test]
fn one_long_name_shared_by_all() {
    let _alone = alone();
    // Every item's name is the same 200,000 characters: 20,000 items would become gigabytes of labels.
    let long = "x".repeat(200_000);
    let items: Vec<_> = (0..20_000).map(|n| ("", n, 1)).chain([(long.as_str(), 0, 0)]).collect();
    let mut record = multi(0, &items);
    let name = 0x18 + 24 * items.len() + 2 * 20_000;
    for item in 0..items.len() {
        made::put(&mut record, 0x20 + 24 * item, &(name as u32).to_le_bytes());
    }
    let what = "the names of a record's instances are longer than the record";
    bounded(&log_of(Entry::multi("Process", "Time"), record), 32 * MIB, Some(what));

    // The same with a parent's name.
    let threads: Vec<_> = (0..20_000).map(|n| Instance::new("0", &[n]).of(230, 0)).collect();
    let parent = Object::new(230, &[COUNT], &[Instance::new(&long, &[0])]);
    let objects = [parent, Object::new(232, &[COUNT], &threads)];
    bounded(&log_of(Entry::block("Thread"), Block::new(0, &objects).record()), 32 * MIB, Some(what));
}

#[test]
fn parts_without_end() {
    let _alone = alone();
    let mut made = Made::new(0x10000);
    made.list(&[Entry::single("System", None, "Calls")]);
    for part in 1..200_000u32 {
        let mut event = made::Event::new(SAMPLE, made::local(0), Vec::new());
        (event.part, event.parts) = (part, u32::MAX);
        made.place(&event);
    }
    made.sample(1, &[single(1, 1, 1)]);
    let sample = bounded(&made.file(), 4 * MIB, Some("part"));
    assert_eq!(show(&sample), r"1: System\Calls=1/1");
}

#[test]
fn machines_without_end() {
    let _alone = alone();
    let mut made = Made::new(0x10000);
    made.list(&[Entry::single("System", None, "Calls")]);
    for machine in 0..9000 {
        made.names(&format!(r"\\{machine}{}", "x".repeat(3000)), &[]);
    }
    made.sample(1, &[single(1, 1, 1)]);
    bounded(&made.file(), 24 * MIB, None);
}

/// A log of any length that is never in memory: the same buffer of samples again and again.
struct Endless {
    first: Vec<u8>,
    again: Vec<u8>,
    at: u64,
    bytes: u64,
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let most = out.len().min((self.bytes - self.at.min(self.bytes)) as usize);
        let (from, at) = match self.at.checked_sub(self.first.len() as u64) {
            None => (&self.first, self.at as usize),
            Some(after) => (&self.again, (after % self.again.len() as u64) as usize),
        };
        let most = most.min(from.len() - at);
        out[..most].copy_from_slice(&from[at..at + most]);
        self.at += most as u64;
        Ok(most)
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
fn a_long_log_takes_no_more_than_a_short_one() {
    let _alone = alone();
    let mut made = Made::new(0x10000);
    made.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    made.next_buffer();
    let names: Vec<_> = (0..100).map(|n| format!("disk {n}")).collect();
    let items: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 2)).collect();
    while made.buffers.len() == 2 {
        made.sample(1, &[single(1, 1, 1), multi(1, &items)]);
    }
    made.buffers.truncate(2);
    let file = made.file();
    let per_buffer = file[0x20000..].windows(16).filter(|bytes| **bytes == made::PDH).count() as u64;
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
        // Each repeated buffer contradicts the times and numbers of the one before: reported, and within the bound as well.
        let problems = reader.problems();
        assert!((1..=Problems::KEPT).contains(&problems.list().len()), "{}", problems.count());
        count
    });
    assert_eq!(count, per_buffer * 1022);
    assert!(peak < MIB, "{peak} bytes at a time");
}

#[test]
fn the_steady_state_of_writing_allocates_next_to_nothing() {
    let _alone = alone();
    let mut made = Made::new(0x10000);
    made.list(&[Entry::multi("Disk", "Reads")]);
    made.sample(0, &[multi(0, &[("a", 1, 2), ("b", 3, 4)])]);
    let samples = made::rewritten::samples_of(&made.file());
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
    assert!(peak < MIB / 4, "{peak} bytes at a time");
}

#[test]
fn the_steady_state_of_writing_blocks_allocates_nothing() {
    let _alone = alone();
    let mut made = Made::new(0x10000);
    made.names(r"\\MADE", &[(230, "Process"), (232, "Thread"), (2, "System"), (6, "Time")]);
    made.list(&[Entry::block("Thread"), Entry { instance: None, ..Entry::block("System") }]);
    let process = Object::new(230, &[COUNT], &[Instance::new("a", &[1])]);
    let thread = Object::new(232, &[COUNT], &[Instance::new("0", &[1]).of(230, 0)]);
    let system = Object::alone(2, &[COUNT], &[5]);
    for n in 0..2 {
        // Once there is no System.
        let system = Block::new(n, &[system.clone()][n as usize..]).record();
        made.sample(n, &[Block::new(n, &[process.clone(), thread.clone()]).record(), system]);
    }
    let samples = made::rewritten::samples_of(&made.file());
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
    // Elsewhere in this process the test harness may allocate.
    let least = (0..100).map(|_| peak(&mut run).1).min();
    assert_eq!(least, Some(0));
}
