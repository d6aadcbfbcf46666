//! The model checker tries every order in which the steps of two writers and a reader of a pair can be executed.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p tachograph-shm --test loom --release`
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;
use tachograph_shm::cell::{Pair, Sum};

/// Narrow fields, so that a few additions overflow all of them: counts of 3 bits, sums of 4.
type Narrow<'a> = Pair<'a, 3, 4>;

/// The value that is added before the writers start: close to half the range of the sum.
const BEFORE: u64 = 6;

fn words() -> Arc<[AtomicU64; 8]> {
    Arc::new(std::array::from_fn(|_| AtomicU64::new(0)))
}

/// Whether a read sum and count are consistent. Each addition sets a bit of its own in the sum, so the number of bits
/// is the number of additions.
fn is_consistent(read: Sum) -> bool {
    read.count == 1 + u64::from((read.sum - BEFORE).count_ones())
}

/// Tries the orders of the threads' steps with at most three switches between threads, or every order if `TACHO_LONG` is set.
fn orders_with_few_switches(check: impl Fn() + Send + Sync + 'static) {
    orders(std::env::var_os("TACHO_LONG").is_none().then_some(3), check);
}

/// Tries the orders with at most this number of switches between threads.
fn orders(max_switches: Option<usize>, check: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = max_switches;
    model.check(check);
}

/// Starts a thread that adds these values.
fn writer(words: &Arc<[AtomicU64; 8]>, values: &'static [u64]) -> thread::JoinHandle<()> {
    let words = Arc::clone(words);
    thread::spawn(move || values.iter().for_each(|value| Narrow::new(&words[..]).add(*value)))
}

#[test]
fn a_sum_and_its_count_are_read_together() {
    orders_with_few_switches(|| {
        let words = words();
        Narrow::new(&words[..]).add(BEFORE);
        let writers = [writer(&words, &[1]), writer(&words, &[2])];
        if let Some(read) = Narrow::new(&words[..]).read() {
            assert!(is_consistent(read), "{read:?}");
        }
        for writer in writers {
            writer.join().expect("a writer");
        }
        assert_eq!(Narrow::new(&words[..]).read(), Some(Sum { sum: BEFORE + 3, count: 3 }));
    });
}

#[test]
fn reads_never_go_backwards() {
    loom::model(|| {
        let words = words();
        Narrow::new(&words[..]).add(BEFORE);
        let writer = writer(&words, &[1, 2]);
        let mut last = Sum::default();
        for _ in 0..2 {
            if let Some(read) = Narrow::new(&words[..]).read() {
                assert!(is_consistent(read), "{read:?}");
                assert!(read.count >= last.count && read.sum >= last.sum, "{read:?} after {last:?}");
                last = read;
            }
        }
        writer.join().expect("the writer");
    });
}

/// Starts a thread that adds counts with values.
fn writer_of_many(words: &Arc<[AtomicU64; 8]>, added: &'static [(u64, u64)]) -> thread::JoinHandle<()> {
    let words = Arc::clone(words);
    thread::spawn(move || {
        added.iter().for_each(|(value, count)| Narrow::new(&words[..]).add_many(*value, *count));
    })
}

/// Counts of 2 and more are large. Each addition has its own bit in the count and the same bit in the sum, so a read must
/// see either both bits or neither.
#[test]
fn large_counts_are_read_together_with_their_sum() {
    // All orders would take too long.
    orders(Some(3), || {
        let words = words();
        let writers = [writer_of_many(&words, &[(2, 2)]), writer_of_many(&words, &[(4, 4)])];
        if let Some(read) = Narrow::new(&words[..]).read() {
            assert_eq!(read.sum, read.count, "{read:?}");
        }
        for writer in writers {
            writer.join().expect("a writer");
        }
        assert_eq!(Narrow::new(&words[..]).read(), Some(Sum { sum: 6, count: 6 }));
    });
}

/// The count (4 bits) and the sum (4 bits) overflow while small counts are added concurrently.
#[test]
fn large_and_small_counts_are_read_together() {
    orders_with_few_switches(|| {
        let words = words();
        (0..2).for_each(|_| Narrow::new(&words[..]).add_many(7, 7));
        let writers = [writer_of_many(&words, &[(3, 3)]), writer(&words, &[1])];
        if let Some(read) = Narrow::new(&words[..]).read() {
            assert_eq!(read.sum, read.count, "{read:?}");
        }
        for writer in writers {
            writer.join().expect("a writer");
        }
        assert_eq!(Narrow::new(&words[..]).read(), Some(Sum { sum: 18, count: 18 }));
    });
}

#[test]
fn reads_of_large_counts_never_go_backwards() {
    orders_with_few_switches(|| {
        let words = words();
        (0..2).for_each(|_| Narrow::new(&words[..]).add_many(7, 7));
        let writer = writer_of_many(&words, &[(3, 3), (1, 1)]);
        let mut last = Sum::default();
        for _ in 0..2 {
            if let Some(read) = Narrow::new(&words[..]).read() {
                assert!(read.sum == read.count && read.count >= last.count, "{read:?} after {last:?}");
                last = read;
            }
        }
        writer.join().expect("the writer");
    });
}

/// While the reader is suspended between two steps, the sum overflows more than once.
#[test]
fn a_reader_that_is_suspended_during_overflows_reads_a_consistent_sum() {
    orders_with_few_switches(|| {
        let words = words();
        Narrow::new(&words[..]).add(7);
        let writer = writer(&words, &[7, 7]);
        if let Some(read) = Narrow::new(&words[..]).read() {
            assert_eq!(read.sum, 7 * read.count, "{read:?}");
        }
        writer.join().expect("the writer");
    });
}

#[test]
fn no_addition_is_lost_in_overflows() {
    loom::model(|| {
        let words = words();
        for _ in 0..6 {
            Narrow::new(&words[..]).add(5);
        }
        let writer = writer(&words, &[7, 7]);
        Narrow::new(&words[..]).add(7);
        writer.join().expect("the writer");
        assert_eq!(Narrow::new(&words[..]).read(), Some(Sum { sum: 51, count: 9 }));
    });
}
