//! Counters of one number.

use std::sync::atomic::Ordering::Relaxed;

use tachograph_shm::{Line, Lines, stripe};

use crate::cells::{Cell, Cells};

/// A number that grows: requests, bytes, errors. One atomic addition an update, from any thread; in a signal handler, too.
///
/// Readers see it by the formula of its type: as a rate per second without another word (`perf_counter_bulk_count`).
/// Clones are the same counter.
#[derive(Clone, Debug)]
pub struct Counter {
    line: Line,
}

/// A number that goes up and down: orders that are open, bytes in use. One atomic operation an update.
///
/// Readers see it as it is (`perf_counter_large_rawcount`). Clones are the same gauge.
#[derive(Clone, Debug)]
pub struct Gauge {
    line: Line,
}

/// As [`Counter`], for one that many threads add to all the time: each of the first threads has a part of its own, so that
/// an update is a load and a store, and no processor waits for another.
///
/// `#[counter(striped = n)]` says how many threads can have a part, 1 to 64, 16 without it; those beyond share others by
/// atomic additions. An instance takes 128 bytes for each. It can be added to, but not set; not for signal handlers.
/// Clones are the same counter.
#[derive(Clone, Debug)]
pub struct StripedCounter {
    lines: Lines,
}

impl Cell for Counter {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        Some(Self { line: cells.line(place)? })
    }
}

impl Cell for Gauge {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        Some(Self { line: cells.line(place)? })
    }
}

impl Cell for StripedCounter {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        Some(Self { lines: cells.lines(place)? })
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

    /// Subtracts `amount`. The value wraps. Of a counter that readers see as a rate, it should not be used.
    #[inline]
    pub fn subtract(&self, amount: u64) {
        self.line[0].fetch_sub(amount, Relaxed);
    }

    /// Sets the value, for numbers that are counted elsewhere.
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

    /// Sets the value where `value` is greater.
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
        let number = stripe::number() as usize;
        if number < stripes {
            // Nobody else writes here, so nothing is lost between the two.
            let word = &self.lines[number][0];
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
            let place = stripes + stripe::shared_place() as usize % stripes;
            self.lines[place][0].fetch_add(amount, Relaxed);
        }
    }

    /// Adds 1.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// The value: the sum of all parts, each as it is when its turn comes.
    pub fn value(&self) -> u64 {
        self.lines.iter().fold(0, |sum: u64, line| sum.wrapping_add(line[0].load(Relaxed)))
    }
}
