//! Counters updated by many threads while a reader reads: no update is lost, values never go backwards, pairs are consistent.
//! Tests named `long_...` make 100 million updates of each counter if TACHO_LONG is set.

use crate::seen;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tachograph_publish::{Average, Counter, CounterSet, Fraction, Publisher, StripedCounter, Timer};
use tachograph_shm::{Reading, SetReader};

const THREADS: u64 = 8;

#[derive(CounterSet)]
#[counter_set(name = "Busy")]
struct Busy {
    #[counter(name = "Plain/sec")]
    plain: Counter,
    #[counter(name = "Striped/sec", striped = 4)]
    striped: StripedCounter,
    #[counter(name = "Avg. Amount", base = "Amounts")]
    amount: Average,
    #[counter(name = "Avg. Amount Striped", base = "Striped Amounts", striped = 4)]
    striped_amount: Average,
    #[counter(name = "Avg. sec", base = "Times")]
    time: Timer,
    #[counter(name = "% Hits", base = "Tries", striped)]
    hits: Fraction,
}

/// Number of updates of each counter per thread.
const UPDATES: u64 = 200_000;

/// Number of updates of each counter per thread in long tests: 100 million in total.
const LONG_UPDATES: u64 = 100_000_000 / THREADS;

fn is_long() -> bool {
    std::env::var_os("TACHO_LONG").is_some()
}

/// Runs `work` on threads. While they run, reads repeatedly and calls `check` with the values. Returns the final values
/// and the number of reads.
fn read_while_updating(
    folder: &Path,
    threads: u64,
    work: impl Fn() + Sync,
    mut check: impl FnMut(&[Option<Reading>]),
) -> (Vec<Option<Reading>>, u64) {
    let mut set = seen::set(folder);
    let is_done = AtomicBool::new(false);
    let mut reads = 0;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        let is_done = &is_done;
        scope.spawn(move || {
            workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
            is_done.store(true, Ordering::SeqCst);
        });
        while !is_done.load(Ordering::SeqCst) {
            check(&values(&mut set));
            reads += 1;
        }
    });
    (values(&mut set), reads)
}

fn values(set: &mut SetReader) -> Vec<Option<Reading>> {
    let counters = set.description().counters.len();
    let mut values = Vec::with_capacity(counters);
    set.read(|instance| values.extend((0..counters).map(|counter| instance.value(counter))))
        .expect("a valid file");
    values
}

fn value(values: &[Option<Reading>], counter: usize) -> u64 {
    values[counter].expect("a plain counter always has a value").value
}

#[test]
fn no_update_is_lost() {
    check_lost_updates(UPDATES);
}

#[test]
fn long_no_update_is_lost() {
    if is_long() {
        check_lost_updates(LONG_UPDATES);
    }
}

fn check_lost_updates(updates: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let busy = Publisher::new().folder(folder.path()).start::<Busy>().expect("start provider");
    let work = || {
        for _ in 0..updates {
            busy.plain.add(1);
            busy.striped.add(1);
        }
    };
    let mut last = [0, 0];
    let (after, reads) = read_while_updating(folder.path(), THREADS, work, |values| {
        let now = [value(values, 0), value(values, 1)];
        assert!(now[0] >= last[0] && now[1] >= last[1], "{now:?} after {last:?}");
        last = now;
    });
    assert!(reads > 0);
    let all = THREADS * updates;
    assert_eq!([value(&after, 0), value(&after, 1)], [all, all]);
    assert_eq!([busy.plain.value(), busy.striped.value()], [all, all]);
}

#[test]
fn pairs_are_consistent() {
    check_pairs(UPDATES / 4);
}

#[test]
fn long_pairs_are_consistent() {
    if is_long() {
        check_pairs(LONG_UPDATES / 4);
    }
}

fn check_pairs(updates: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let busy = Publisher::new().folder(folder.path()).start::<Busy>().expect("start provider");
    let work = || {
        for _ in 0..updates {
            busy.amount.add(3);
            busy.striped_amount.add(3);
            busy.time.record(Duration::from_nanos(300));
            busy.hits.add_many(3, 3);
        }
    };
    let mut last = [0; 4];
    let mut consistent_reads = 0_u64;
    let mut check = |values: &[Option<Reading>]| {
        let factors = [(2, 3), (3, 3), (4, 3), (5, 1)];
        for (last, (counter, factor)) in last.iter_mut().zip(factors) {
            // If writers update too often for a consistent read, the value is missing, but never wrong.
            let Some(Reading { value, base }) = values[counter] else { continue };
            let count = base.expect("a pair");
            assert_eq!(value, factor * count, "counter {counter}");
            assert!(count >= *last, "counter {counter}: {count} after {last}");
            *last = count;
            consistent_reads += 1;
        }
    };
    let (after, _) = read_while_updating(folder.path(), THREADS, work, &mut check);
    check(&after);
    assert!(consistent_reads >= 4);
    let all = THREADS * updates;
    assert_eq!(last, [all, all, all, 3 * all]);
}

/// Large counts are added in one or more steps. After each step, sum and count are consistent.
#[test]
fn large_counts_are_consistent() {
    for count in [255, 256, 1_000, 262_144, 1_000_000] {
        check_large_counts(count, UPDATES / 20);
    }
}

fn check_large_counts(count: u64, updates: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let busy = Publisher::new().folder(folder.path()).start::<Busy>().expect("start provider");
    let work = || {
        for _ in 0..updates {
            busy.amount.add_many(7 * count, count);
            busy.striped_amount.add_many(7 * count, count);
            busy.hits.add_many(count, count);
        }
    };
    let mut last = [0; 3];
    let mut consistent_reads = 0_u64;
    let mut check = |values: &[Option<Reading>]| {
        for (last, (counter, factor)) in last.iter_mut().zip([(2, 7), (3, 7), (5, 1)]) {
            let Some(Reading { value, base }) = values[counter] else { continue };
            let seen = base.expect("a pair");
            assert_eq!(value, factor * seen, "counter {counter}, {count} at once");
            // A count above 2^18 is added in several steps.
            assert!(
                count > 1 << 18 || seen.is_multiple_of(count),
                "counter {counter}: {seen} of {count} at once"
            );
            assert!(seen >= *last, "counter {counter}: {seen} after {last}");
            *last = seen;
            consistent_reads += 1;
        }
    };
    let (after, _) = read_while_updating(folder.path(), THREADS, work, &mut check);
    check(&after);
    assert!(consistent_reads >= 3);
    assert_eq!(last, [THREADS * updates * count; 3]);
}

#[test]
fn more_threads_than_stripes_lose_no_update() {
    let folder = tempfile::tempdir().expect("a folder");
    let busy = Publisher::new().folder(folder.path()).start::<Busy>().expect("start provider");
    let work = || {
        for _ in 0..2_000 {
            busy.striped.add(1);
            busy.striped_amount.add(7);
            busy.hits.hit();
        }
    };
    let (after, _) = read_while_updating(folder.path(), 80, work, |_| ());
    let all = 80 * 2_000;
    assert_eq!(value(&after, 1), all);
    assert_eq!(after[3], Some(Reading { value: 7 * all, base: Some(all) }));
    assert_eq!(after[5], Some(Reading { value: all, base: Some(all) }));
}

#[test]
fn handles_can_be_moved_to_other_threads() {
    fn assert_shareable<T: Send + Sync + 'static>() {}
    assert_shareable::<Counter>();
    assert_shareable::<Timer>();
    assert_shareable::<tachograph_publish::Published<Busy>>();
    assert_shareable::<tachograph_publish::PublishedSet<Busy>>();
    assert_shareable::<tachograph_publish::Instance<Busy>>();
    assert_shareable::<tachograph_publish::dynamic::Provider>();
    assert_shareable::<tachograph_publish::dynamic::Instance>();
    assert_shareable::<Publisher>();
}
