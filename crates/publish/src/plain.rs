//! Counters that store one number.

use std::sync::atomic::Ordering::Relaxed;

use tachograph_shm::{Line, Lines, stripe};

use crate::cells::{Cell, Cells};

/// A number that grows: requests, bytes, errors. An update is one atomic addition, from any thread or signal handler.
///
/// By default, consumers display the counter as a rate per second (`perf_counter_bulk_count`). A clone refers to the same
/// value.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The cache line in shared memory whose first word is the value.
    line: Line,
}

/// A number that goes up and down: open orders, bytes in use. An update is one atomic operation.
///
/// Consumers display it unchanged (`perf_counter_large_rawcount`). A clone refers to the same value.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// The cache line in shared memory whose first word is the value.
    line: Line,
}

/// A [`Counter`] for frequent additions by many threads. It has several cache lines, its stripes. Only one thread at a
/// time writes to a stripe, so an update is a load and a store, and processors do not contend.
///
/// `#[counter(striped = n)]` sets the number of stripes, 1 to 64; the default is 16. When all stripes are in use, other
/// threads add atomically to cache lines that they share. Each stripe takes 128 bytes per instance. The value cannot be
/// set, and must not be updated in signal handlers. A clone refers to the same value.
#[derive(Clone, Debug)]
pub struct StripedCounter {
    /// A line per stripe, followed by an equal number of lines that threads without a stripe share.
    lines: Lines,
}

impl Cell for Counter {
    fn bind(cells: &Cells<'_>, index: usize) -> Option<Self> {
        Some(Self { line: cells.line(index)? })
    }
}

impl Cell for Gauge {
    fn bind(cells: &Cells<'_>, index: usize) -> Option<Self> {
        Some(Self { line: cells.line(index)? })
    }
}

impl Cell for StripedCounter {
    fn bind(cells: &Cells<'_>, index: usize) -> Option<Self> {
        Some(Self { lines: cells.lines(index)? })
    }
}

impl Counter {
    /// Adds `amount`. The value wraps.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.line[0].fetch_add(amount, Relaxed);
    }

    /// Adds 1.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Subtracts `amount`. The value wraps. Do not use this for counters that consumers display as a rate.
    #[inline]
    pub fn subtract(&self, amount: u64) {
        self.line[0].fetch_sub(amount, Relaxed);
    }

    /// Sets the value, for a number that is counted elsewhere.
    #[inline]
    pub fn set(&self, value: u64) {
        self.line[0].store(value, Relaxed);
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> u64 {
        self.line[0].load(Relaxed)
    }
}

impl Gauge {
    /// Sets the value.
    #[inline]
    pub fn set(&self, value: u64) {
        self.line[0].store(value, Relaxed);
    }

    /// Adds `amount`. The value wraps.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.line[0].fetch_add(amount, Relaxed);
    }

    /// Subtracts `amount`. The value wraps.
    #[inline]
    pub fn subtract(&self, amount: u64) {
        self.line[0].fetch_sub(amount, Relaxed);
    }

    /// Sets the value to `value` if that is greater.
    #[inline]
    pub fn raise_to(&self, value: u64) {
        self.line[0].fetch_max(value, Relaxed);
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> u64 {
        self.line[0].load(Relaxed)
    }
}

impl StripedCounter {
    /// Adds `amount`. The value wraps.
    #[inline]
    pub fn add(&self, amount: u64) {
        let stripes = self.lines.len() / 2;
        let index = stripe::index() as usize;
        if index < stripes {
            // No other thread writes to this stripe, so no addition is lost.
            let word = &self.lines[index][0];
            word.store(word.load(Relaxed).wrapping_add(amount), Relaxed);
        } else {
            self.add_shared(amount);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_shared(&self, amount: u64) {
        let stripes = self.lines.len() / 2;
        if stripes > 0 {
            let index = stripes + stripe::shared_index() as usize % stripes;
            self.lines[index][0].fetch_add(amount, Relaxed);
        }
    }

    /// Adds 1.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// The value: the sum of all stripes, which are read one after the other.
    pub fn value(&self) -> u64 {
        self.lines.iter().fold(0, |sum: u64, line| sum.wrapping_add(line[0].load(Relaxed)))
    }
}
