//! Many threads update while one reads: no update is lost, and related numbers are consistent.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::*;
use tachograph_shm::cell::Pair;
use tachograph_shm::{InstanceKind, Slot, stripe};

const THREADS: u64 = 8;

/// Number of additions of each thread.
const ADDITIONS: u64 = 250_000;

/// Number of additions of each thread in long tests: 100 million in total.
const LONG_ADDITIONS: u64 = 12_500_000;

fn is_long() -> bool {
    std::env::var_os("TACHO_LONG").is_some()
}

/// Runs the threads, and calls `check` repeatedly until they end.
fn run(additions: u64, update: impl Fn(u64) + Sync, mut check: impl FnMut()) {
    let running = AtomicU64::new(THREADS);
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let (running, update) = (&running, &update);
            threads.spawn(move || {
                (0..additions).for_each(|_| update(thread));
                running.fetch_sub(1, Ordering::Release);
            });
        }
        while running.load(Ordering::Acquire) > 0 {
            check();
        }
    });
    check();
}

#[test]
fn pairs_are_consistent_in_every_read() {
    check_pairs(ADDITIONS);
}

#[test]
fn long_pairs_are_consistent_in_every_read() {
    if is_long() {
        check_pairs(LONG_ADDITIONS);
    }
}

fn check_pairs(additions: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let slot = set.create_instance("a", 0).expect("an instance");
    let line = slot.line(TIMER).expect("a cell");
    let mut reader = open(folder.path()).expect("a reader");
    let (mut last, mut reads) = (0, 0_u64);
    // The sum overflows its packed word: 700 * 2^30 is 2^39.
    let value = 700 << 30;
    run(
        additions,
        |_| Pair::<16, 48>::new(&line[..]).add(value),
        || {
            let Some(reading) = read_instances(&mut reader)[0].values[TIMER] else { return };
            let count = reading.base.expect("a count");
            assert_eq!(reading.value, count.wrapping_mul(value) / 100, "of {count}");
            assert!(count >= last, "{count} after {last}");
            (last, reads) = (count, reads + 1);
        },
    );
    assert_eq!(last, THREADS * additions);
    assert!(reads > 10, "{reads} reads");
}

/// Updates a striped counter.
fn add(slot: &Slot, lines: &tachograph_shm::Lines) {
    let stripes = lines.len() / 2;
    match stripe::index() as usize {
        own if own < stripes => {
            let word = &lines[own][0];
            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        _ => {
            let index = stripes + stripe::shared_index() as usize % stripes;
            lines[index][0].fetch_add(1, Ordering::Relaxed);
        }
    }
    debug_assert!(!slot.has_ended());
}

#[test]
fn no_striped_addition_is_lost() {
    check_striped(ADDITIONS);
}

#[test]
fn long_no_striped_addition_is_lost() {
    if is_long() {
        check_striped(LONG_ADDITIONS);
    }
}

fn check_striped(additions: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let slot = set.create_instance("a", 0).expect("an instance");
    let lines = slot.lines(STRIPED).expect("a cell");
    let mut reader = open(folder.path()).expect("a reader");
    let mut last = 0;
    run(
        additions,
        |_| add(&slot, &lines),
        || {
            let value = read_instances(&mut reader)[0].value(STRIPED);
            assert!(value >= last, "{value} after {last}");
            last = value;
        },
    );
    assert_eq!(last, THREADS * additions);
}

/// Stops the writer when dropped, even if a check fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Slots are reused while they are read, but no result mixes two instances.
#[test]
fn values_belong_to_the_instance_whose_name_was_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let mut reader = open(folder.path()).expect("a reader");
    let stop = AtomicBool::new(false);
    let rows = std::thread::scope(|threads| {
        threads.spawn(|| {
            let (mut id, mut last) = (0_u32, std::collections::VecDeque::new());
            while !stop.load(Ordering::Relaxed) {
                id = id.wrapping_add(1);
                let name = format!("{id} ").repeat(1 + id as usize % 60);
                let slot = set.create_instance(&name, id).expect("an instance");
                slot.line(PLAIN).expect("a cell")[0].store(u64::from(id), Ordering::Relaxed);
                last.push_back(slot);
                if last.len() > 5 {
                    last.pop_front();
                }
            }
        });
        let _stop = Stop(&stop);
        let mut rows = 0;
        while rows < 20_000 {
            for seen in read_instances(&mut reader) {
                assert!(seen.name.starts_with(&format!("{} ", seen.id)), "{seen:?}");
                // The value is 0 until it is set.
                assert!([0, u64::from(seen.id)].contains(&seen.value(PLAIN)), "{seen:?}");
                rows += 1;
            }
        }
        rows
    });
    assert!(rows >= 20_000);
}

/// Each instance adds 1 to the history when it ends. A consistent read counts every instance exactly once, as live or as ended.
#[test]
fn a_history_counts_no_instance_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::SingleAggregateHistory);
    let mut reader = open(folder.path()).expect("a reader");
    let (stop, ended) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let slot = set.create_instance("visit", 0).expect("an instance");
                slot.line(PLAIN).expect("a cell")[0].fetch_add(1, Ordering::Relaxed);
                slot.end();
                ended.fetch_add(1, Ordering::Release);
            }
        });
        let _stop = Stop(&stop);
        let (mut last, mut consistent_reads) = (0, 0);
        for _ in 0..50_000 {
            let min = ended.load(Ordering::Acquire);
            let mut sum = 0;
            let is_consistent = reader.read(|instance| {
                let value = instance.value(PLAIN).map_or(0, |reading| reading.value);
                if instance.is_consistent() {
                    sum += value;
                }
            });
            if is_consistent == Ok(true) {
                assert!(sum >= min && sum >= last, "{sum} after {last}, at least {min}");
                (last, consistent_reads) = (sum, consistent_reads + 1);
            }
        }
        assert!(consistent_reads > 0);
    });
}
