//! The stripe of striped counters that belongs to a thread.
//!
//! At its first update of a striped counter, a thread gets the lowest index that no other thread of the process has, and
//! releases it when it ends. Since no other thread writes to the stripe with this index, an update is a load and a store. A
//! forked child has the same cells as its parent: its threads get no index, and share cells by atomic additions.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The index of a thread without a stripe.
pub const SHARED: u32 = u32::MAX;

/// The thread has not requested an index yet.
const UNKNOWN: u32 = u32::MAX - 1;

/// The indexes in use, as bits.
static USED: AtomicU64 = AtomicU64::new(0);

/// Set in forked children.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Distributes the threads without an index over the shared cells.
static NEXT_SHARED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static INDEX: Cell<u32> = const { Cell::new(UNKNOWN) };
    static SHARED_INDEX: Cell<u32> = const { Cell::new(0) };
    static GUARD: Guard = const { Guard(Cell::new(SHARED)) };
}

/// Releases the index at the end of the thread.
struct Guard(Cell<u32>);

impl Drop for Guard {
    fn drop(&mut self) {
        // Destructors that run later may still update counters.
        INDEX.set(SHARED);
        if !IS_CHILD.load(Ordering::Relaxed) {
            release(self.0.get());
        }
    }
}

/// The index of this thread, below 64, or [`SHARED`].
#[inline]
pub fn index() -> u32 {
    match INDEX.get() {
        UNKNOWN => first_index(),
        index => index,
    }
}

/// For threads without an index, a number that distributes them evenly over the shared cells.
#[inline]
pub fn shared_index() -> u32 {
    SHARED_INDEX.get()
}

#[cold]
fn first_index() -> u32 {
    SHARED_INDEX.set(NEXT_SHARED.fetch_add(1, Ordering::Relaxed) as u32);
    let index = allocate();
    // In a destructor of a thread that ends, the guard may be gone.
    let index = match GUARD.try_with(|guard| guard.0.set(index)) {
        Ok(()) => index,
        Err(_) => {
            release(index);
            SHARED
        }
    };
    INDEX.set(index);
    index
}

fn allocate() -> u32 {
    if IS_CHILD.load(Ordering::Relaxed) {
        return SHARED;
    }
    let lowest = |used: u64| (used != u64::MAX).then(|| used | (used + 1));
    match USED.fetch_update(Ordering::Acquire, Ordering::Relaxed, lowest) {
        Ok(used) => used.trailing_ones(),
        Err(_) => SHARED,
    }
}

fn release(index: u32) {
    if index != SHARED {
        // Release: the next thread with this index sees the values that this one stored.
        USED.fetch_and(!(1 << index), Ordering::Release);
    }
}

/// Must be called in a forked child, by its only thread.
#[cfg(not(loom))]
pub(crate) fn in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
    INDEX.set(SHARED);
    SHARED_INDEX.set(NEXT_SHARED.fetch_add(1, Ordering::Relaxed) as u32);
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn living_threads_have_different_indexes() {
        let together = Arc::new(Barrier::new(80));
        let threads: Vec<_> = (0..80)
            .map(|_| {
                let together = Arc::clone(&together);
                std::thread::spawn(move || {
                    together.wait();
                    let mine = index();
                    assert_eq!(index(), mine, "the index does not change");
                    together.wait();
                    mine
                })
            })
            .collect();
        let mut indexes: Vec<u32> =
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect();
        indexes.retain(|index| *index != SHARED);
        let count = indexes.len();
        indexes.sort_unstable();
        indexes.dedup();
        assert_eq!(indexes.len(), count, "no index twice");
        assert!((32..=64).contains(&count), "{count}");
        // The threads have released their indexes.
        let again = std::thread::spawn(index).join().expect("a thread");
        assert!(again < 64);
    }
}
