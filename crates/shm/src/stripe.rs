//! The index of the stripe that a thread updates in striped counters.
//!
//! A striped counter has one cell per stripe. At its first update of a striped counter, a thread gets the lowest index that no
//! other thread of the process has, and releases it when it ends. Since no other thread writes to the cell with this index,
//! an update is a load and a store. If all indexes are in use, the thread gets none: it adds atomically to cells that it
//! shares with other threads. The same holds for all threads of a forked child, because it has the same cells as its parent.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Returned by [`index`] for a thread without an index, which updates shared cells.
pub const SHARED: u32 = u32::MAX;

/// The value of `INDEX` before the first update of a striped counter.
const UNASSIGNED: u32 = u32::MAX - 1;

/// Bit `i` is set while a thread has index `i`.
static USED: AtomicU64 = AtomicU64::new(0);

/// Whether this process was forked from one that may have assigned indexes.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// The next value of `SHARED_INDEX`.
static NEXT_SHARED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static INDEX: Cell<u32> = const { Cell::new(UNASSIGNED) };
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
        UNASSIGNED => assign_index(),
        index => index,
    }
}

/// For threads without an index, a number that distributes them evenly over the shared cells.
#[inline]
pub fn shared_index() -> u32 {
    SHARED_INDEX.get()
}

/// Assigns an index to this thread at its first update of a striped counter.
#[cold]
fn assign_index() -> u32 {
    SHARED_INDEX.set(NEXT_SHARED.fetch_add(1, Ordering::Relaxed) as u32);
    let index = allocate();
    // If a destructor calls this while the thread ends, the guard may already have been dropped.
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

/// Allocates the lowest free index; [`SHARED`] if all are in use or this is a forked child.
fn allocate() -> u32 {
    if IS_CHILD.load(Ordering::Relaxed) {
        return SHARED;
    }
    let with_lowest_free = |used: u64| (used != u64::MAX).then(|| used | (used + 1));
    match USED.fetch_update(Ordering::Acquire, Ordering::Relaxed, with_lowest_free) {
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

/// Resets the indexes in a forked child. Must be called by its only thread.
#[cfg(not(loom))]
pub(crate) fn after_fork_in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
    INDEX.set(SHARED);
    SHARED_INDEX.set(NEXT_SHARED.fetch_add(1, Ordering::Relaxed) as u32);
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn concurrent_threads_have_different_indexes() {
        let barrier = Arc::new(Barrier::new(80));
        let threads: Vec<_> = (0..80)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                std::thread::spawn(move || {
                    barrier.wait();
                    let assigned = index();
                    assert_eq!(index(), assigned, "the index does not change");
                    barrier.wait();
                    assigned
                })
            })
            .collect();
        let mut indexes: Vec<u32> =
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect();
        indexes.retain(|index| *index != SHARED);
        let count = indexes.len();
        indexes.sort_unstable();
        indexes.dedup();
        assert_eq!(indexes.len(), count, "no two threads have the same index");
        assert!((32..=64).contains(&count), "{count}");
        // The threads have released their indexes.
        let reassigned = std::thread::spawn(index).join().expect("a thread");
        assert!(reassigned < 64);
    }
}
