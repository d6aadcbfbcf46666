//! Any number of instances can be nested, overlap and run in many threads without affecting each other's counts.

use std::sync::Barrier;

use tachograph_cpi::{Cpi, Mode, Options};

use crate::exact::{Pick, measured, of_processor, of_thread, region_overhead};
use crate::guest;
use crate::region::{instructions, region};

/// The tested kinds of instances: name, options, and the function that returns the counts.
fn kinds() -> [(&'static str, Options, Pick); 2] {
    [
        ("the thread", guest::user_code(Mode::ON_THREAD), of_thread),
        ("the processor", guest::user_code(Mode::RAW), of_processor),
    ]
}

fn new(options: Options) -> Cpi {
    let mut cpi = Cpi::new(options).expect("hardware counters");
    // The first call allocates.
    cpi.get().expect("counted");
    cpi
}

fn instructions_of(cpi: &mut Cpi, pick: Pick) -> u64 {
    pick(cpi.get().expect("counted")).0
}

/// Runs three nested instances, as in the figure of the CPI facility's documentation; returns their instructions.
fn nested(options: Options, pick: Pick, regions: [u64; 5]) -> [u64; 3] {
    let (mut first, mut second, mut third) = (new(options), new(options), new(options));
    first.start().expect("started");
    region(regions[0]);
    second.start().expect("started");
    region(regions[1]);
    third.start().expect("started");
    region(regions[2]);
    let third = instructions_of(&mut third, pick);
    region(regions[3]);
    let second = instructions_of(&mut second, pick);
    region(regions[4]);
    [instructions_of(&mut first, pick), second, third]
}

/// Runs two instances, of which the second starts inside the first and ends after it; returns their instructions.
fn overlapping(options: Options, pick: Pick, regions: [u64; 3]) -> [u64; 2] {
    let (mut first, mut second) = (new(options), new(options));
    first.start().expect("started");
    region(regions[0]);
    second.start().expect("started");
    region(regions[1]);
    let first = instructions_of(&mut first, pick);
    region(regions[2]);
    [first, instructions_of(&mut second, pick)]
}

/// The tolerance, in instructions, for calls of other instances inside an interval: they read the time and divide numbers,
/// and the number of instructions for this depends on the values.
const EVALUATION: u64 = 100;

/// Asserts that each count in `long` exceeds the one in `short` by the instructions of `more` iterations: exactly if the
/// interval contains only the region, within [`EVALUATION`] if it also contains calls of other instances (`holds_others`).
fn assert_growth<const COUNT: usize>(
    name: &str,
    short: [u64; COUNT],
    long: [u64; COUNT],
    more: [u64; COUNT],
    holds_others: [bool; COUNT],
) {
    for index in 0..COUNT {
        let (found, expected) = (long[index] - short[index], instructions(more[index]));
        let slack = if holds_others[index] { EVALUATION } else { 0 };
        assert!(
            found.abs_diff(expected) <= slack,
            "{name}, interval {}: longer by {found}, not {expected}",
            index + 1
        );
    }
}

#[test]
fn nested_instances_count_exactly() {
    if guest::cycles_shift().is_none() {
        return;
    }
    let regions = [100, 200, 300, 400, 500];
    let more = [1_000_000, 20_000, 300_000, 4_000, 50_000];
    let longer = std::array::from_fn(|index| regions[index] + more[index]);
    let expected = [more.iter().sum(), more[1..4].iter().sum(), more[2]];
    for (name, options, pick) in kinds() {
        nested(options, pick, regions);
        let (short, long) = (nested(options, pick, regions), nested(options, pick, longer));
        assert_growth(name, short, long, expected, [true, true, false]);
        // The innermost instance counts as much as it does alone.
        let shift = guest::cycles_shift().expect("checked above");
        let (overhead, alone) = (short[2] - instructions(regions[2]), region_overhead(options, pick, shift));
        // The tolerance is for the call of the region.
        assert!(overhead.abs_diff(alone) <= 10, "{name}: overhead {overhead}, and alone {alone}");
    }
    guest::report_pass(
        "3 inside 2 inside 1",
        format_args!("longer by {:?} instructions", expected.map(instructions)),
    );
}

#[test]
fn overlapping_instances_count_exactly() {
    if guest::cycles_shift().is_none() {
        return;
    }
    let regions = [100, 200, 300];
    let more = [1_000_000, 20_000, 300_000];
    let longer = std::array::from_fn(|index| regions[index] + more[index]);
    let expected = [more[0] + more[1], more[1] + more[2]];
    for (name, options, pick) in kinds() {
        overlapping(options, pick, regions);
        let (short, long) = (overlapping(options, pick, regions), overlapping(options, pick, longer));
        // The second instance is started inside the first, and the first one is read and evaluated inside the second.
        assert_growth(name, short, long, expected, [true, true]);
    }
    guest::report_pass(
        "two that overlap",
        format_args!("longer by {:?} instructions", expected.map(instructions)),
    );
}

#[test]
fn a_second_get_covers_the_time_since_start() {
    if guest::cycles_shift().is_none() {
        return;
    }
    for (name, options, pick) in kinds() {
        let mut cpi = new(options);
        let mut rounds = |regions: [u64; 3]| {
            cpi.start().expect("started");
            region(regions[0]);
            let once = instructions_of(&mut cpi, pick);
            region(regions[1]);
            let twice = pick(cpi.get_and_start().expect("counted")).0;
            region(regions[2]);
            [once, twice, instructions_of(&mut cpi, pick)]
        };
        rounds([1, 1, 1]);
        let (short, long) = (rounds([100, 100, 100]), rounds([1_100, 20_100, 300_100]));
        // The evaluation of the first `get` is inside the longer interval, that of the second inside the next.
        assert_growth(name, short, long, [1_000, 21_000, 300_000], [false, true, true]);
    }
    guest::report_pass(
        "get, get_and_start, get",
        "the second get covers both regions, the third only the last",
    );
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("/proc is mounted").count()
}

#[test]
fn ten_thousand_instances_leave_no_file_open() {
    if guest::cycles_shift() != Some(0) {
        return;
    }
    let both = guest::user_code(Mode::SCALED | Mode::ON_THREAD);
    // Open the files that stay open permanently (in /proc) before counting.
    drop(new(both));
    let before = open_files();
    for _ in 0..5_000 {
        drop(Cpi::new(both).expect("hardware counters"));
    }
    assert_eq!(open_files(), before, "each instance was the only one, and closed the counters");
    let outer = new(both);
    let with_one = open_files();
    assert!(with_one > before, "counters take files");
    for _ in 0..5_000 {
        drop(Cpi::new(both).expect("hardware counters"));
    }
    assert_eq!(open_files(), with_one, "one instance remains");
    let many: Vec<Cpi> = (0..1_000).map(|_| Cpi::new(both).expect("hardware counters")).collect();
    assert_eq!(open_files(), with_one, "a thousand at once");
    drop((many, outer));
    assert_eq!(open_files(), before, "the last instance closes the counters");
    guest::report_pass(
        "10,000 instances",
        format_args!("{before} open files before and after, {with_one} with 1 or 1,001 at once"),
    );
}

#[test]
fn a_thousand_instances_at_once_are_as_exact_as_one() {
    let Some(shift) = guest::cycles_shift() else { return };
    for (name, options, pick) in kinds() {
        let alone = region_overhead(options, pick, shift);
        let others: Vec<Cpi> = (0..1_000).map(|_| new(options)).collect();
        assert_eq!(region_overhead(options, pick, shift), alone, "of {name}");
        drop(others);
    }
    guest::report_pass("one of 1,001 instances", "counts as it does alone");
}

#[test]
fn many_threads_at_once_count_exactly() {
    const THREADS: u64 = 8;
    let Some(shift) = guest::cycles_shift() else { return };
    let alone = region_overhead(guest::user_code(Mode::ON_THREAD), of_thread, shift);
    let started = Barrier::new(THREADS as usize);
    let found: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let started = &started;
                scope.spawn(move || {
                    let mut cpi = new(guest::user_code(Mode::ON_THREAD));
                    started.wait();
                    // Long enough for the threads to alternate on the processor.
                    let iterations = 10_000_000 + 1_000 * number;
                    let data = measured(&mut cpi, iterations);
                    assert_eq!(data.tid, rustix::thread::gettid().as_raw_nonzero().get() as u32);
                    of_thread(data).0 - instructions(iterations)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(found, vec![alone; THREADS as usize], "overheads");
    guest::report_pass(
        "8 threads at once",
        format_args!("each counts its own region + {alone}, as one alone"),
    );
}

#[test]
fn the_thread_that_created_the_instance_is_counted() {
    if guest::cycles_shift().is_none() {
        return;
    }
    let mut cpi = new(guest::user_code(Mode::ON_THREAD));
    let mut measure = |own: u64, others: u64| {
        cpi.start().expect("started");
        region(own);
        let (cpi, counted) = std::thread::scope(|scope| {
            let cpi = &mut cpi;
            let other = scope.spawn(move || {
                region(others);
                let counted = instructions_of(cpi, of_thread);
                (cpi, counted)
            });
            other.join().expect("no panic")
        });
        let after = instructions_of(cpi, of_thread);
        assert!(after >= counted, "{after} after {counted}");
        counted
    };
    measure(1_000, 1_000);
    let base = measure(1_000, 1_000);
    // The number of instructions for creating a thread and waiting for it varies a little.
    let others_longer = measure(1_000, 5_000_000).abs_diff(base);
    assert!(others_longer < 5_000, "{others_longer} instructions of the other thread were counted");
    let own_longer = (measure(1_001_000, 1_000) - base).abs_diff(instructions(1_000_000));
    assert!(own_longer < 5_000, "{own_longer} instructions are missing or too many");
    guest::report_pass("get from another thread", "counts the thread that made the instance");
}
