//! Which stripe of a striped counter a thread has for itself.
//!
//! A thread gets the lowest number that no other thread of the process has, at its first update of a striped counter, and
//! gives it back when it ends. As nobody else writes to a stripe of that number, an update is a load and a store. A child
//! that was forked has the same cells as its parent: its threads get no number, and share cells by atomic additions.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of a thread that has none.
pub const SHARED: u32 = u32::MAX;

/// Not asked for yet.
const UNKNOWN: u32 = u32::MAX - 1;

/// The numbers that are taken, a bit each.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Set in forked children.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Spreads the threads without a number over the shared cells.
static NEXT_SHARED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(UNKNOWN) };
    static SHARED_PLACE: Cell<u32> = const { Cell::new(0) };
    static GUARD: Guard = const { Guard(Cell::new(SHARED)) };
}

/// Gives the number back at the end of the thread.
struct Guard(Cell<u32>);

impl Drop for Guard {
    fn drop(&mut self) {
        let number = self.0.get();
        // Destructors that run later may still update counters.
        NUMBER.set(SHARED);
        if number != SHARED && !IS_CHILD.load(Ordering::Relaxed) {
            // Release: the next thread of this number sees what this one stored.
            TAKEN.fetch_and(!(1 << number), Ordering::Release);
        }
    }
}

/// The number of this thread, below 64, or [`SHARED`].
#[inline]
pub fn number() -> u32 {
    match NUMBER.get() {
        UNKNOWN => first_number(),
        number => number,
    }
}

/// A number for threads without one of their own, which spreads them evenly.
#[inline]
pub fn shared_place() -> u32 {
    SHARED_PLACE.get()
}

#[cold]
fn first_number() -> u32 {
    SHARED_PLACE.set(NEXT_SHARED.fetch_add(1, Ordering::Relaxed) as u32);
    let number = take();
    // In a destructor of a thread that ends there is no guard any more.
    let number = match GUARD.try_with(|guard| guard.0.set(number)) {
        Ok(()) => number,
        Err(_) => {
            give_back(number);
            SHARED
        }
    };
    NUMBER.set(number);
    number
}

fn take() -> u32 {
    if IS_CHILD.load(Ordering::Relaxed) {
        return SHARED;
    }
    let lowest = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
    match TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, lowest) {
        Ok(taken) => taken.trailing_ones(),
        Err(_) => SHARED,
    }
}

fn give_back(number: u32) {
    if number != SHARED {
        TAKEN.fetch_and(!(1 << number), Ordering::Release);
    }
}

/// To be called in a forked child, by its only thread.
#[cfg(not(loom))]
pub(crate) fn in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
    NUMBER.set(SHARED);
    SHARED_PLACE.set(NEXT_SHARED.fetch_add(1, Ordering::Relaxed) as u32);
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn living_threads_have_different_numbers() {
        let together = Arc::new(Barrier::new(80));
        let threads: Vec<_> = (0..80)
            .map(|_| {
                let together = Arc::clone(&together);
                std::thread::spawn(move || {
                    together.wait();
                    let mine = number();
                    assert_eq!(number(), mine, "it stays");
                    together.wait();
                    mine
                })
            })
            .collect();
        let mut numbers: Vec<u32> =
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect();
        numbers.retain(|number| *number != SHARED);
        let most = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), most, "no number twice");
        assert!((32..=64).contains(&most), "{most}");
        // They gave theirs back.
        let again = std::thread::spawn(number).join().expect("a thread");
        assert!(again < 64);
    }
}
