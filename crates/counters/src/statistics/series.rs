//! The statistics of consecutive raw values of one counter.

use super::Statistics;
use tachograph_schema::Formula;

use crate::civil::Moment;
use crate::formula::Calculator;
use crate::pairing::{Origin, Pairer};
use crate::raw::RawValue;
use crate::status::Status;

/// One counter of one instance over time: pairs each raw value with the previous one and adds the interval to the
/// statistics.
#[derive(Clone, Debug)]
pub struct Series {
    pub(super) pairer: Pairer,
    pub(super) statistics: Statistics,
}

impl Series {
    /// A series without samples. `statistics` must be empty.
    pub fn new(statistics: Statistics) -> Self {
        Self { pairer: Pairer::default(), statistics }
    }

    /// Adds the next raw value. If its interval is an error, returns the status of the invalid raw value or, if both
    /// raw values are valid, the status of the formula.
    #[inline]
    pub fn add(&mut self, calculator: &Calculator, raw: &RawValue, at: Moment) -> Option<Status> {
        let older = self.pairer.pair(raw);
        if raw.status == Status::NO_INSTANCE {
            // An absent instance is neither a value nor an error.
            return None;
        }
        let two = calculator.formula().is_some_and(Formula::needs_two_samples);
        if two && older.is_none() {
            // The first raw value is neither a value nor an error.
            self.start_interval(raw, at);
            return None;
        }
        let error = self.statistics.add(calculator, older.as_ref(), raw, at);
        let reported_status = |status: Status| {
            let raws = [Some(raw), older.as_ref().filter(|_| two)];
            let unusable = raws.into_iter().flatten().map(|raw| raw.status).find(|status| status.is_error());
            unusable.unwrap_or(status)
        };
        error.map(reported_status)
    }

    /// Adds a raw value that only starts the first interval and is not counted.
    pub fn add_baseline(&mut self, calculator: &Calculator, raw: &RawValue, at: Moment) {
        if calculator.formula().is_some_and(Formula::needs_two_samples) {
            self.start_interval(raw, at);
        }
        self.pairer.pair(raw);
    }

    /// Sets the origin of the next raw values. Values of different [origins](Origin) are not paired.
    pub fn follow(&mut self, origin: Origin) {
        self.pairer.follow(origin);
    }

    /// Discards the previous raw value, because the instance was absent from a sample.
    pub fn interrupt(&mut self) {
        self.pairer.interrupt();
    }

    /// Whether there is a raw value at which the next interval starts.
    pub fn has_previous(&self) -> bool {
        self.pairer.has_previous()
    }

    /// Prefetches the memory of the series into the processor's cache, by reading it. Returns an arbitrary number, so that
    /// the compiler keeps the reads. The processor can load the memory of several series at the same time if this is
    /// called before they are used.
    #[inline]
    pub fn load(&self) -> u64 {
        let previous = self.pairer.previous.map_or(0, |previous| previous.first as u64);
        previous | self.statistics.prefetch()
    }

    /// The statistics so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the statistics so far and resets them. The next interval still begins at the previous raw value.
    #[must_use]
    pub fn cut(&mut self) -> Statistics {
        self.statistics.take()
    }

    /// Resets the statistics as if a window began here: its first interval starts at the previous raw value, as if that
    /// value had been added with [`add_baseline`](Self::add_baseline).
    pub fn begin_window(&mut self) {
        let before = self.statistics.take();
        let has_start = self.statistics.formula.is_some_and(Formula::needs_two_samples)
            && self.pairer.previous.is_some_and(|previous| previous.status.is_good());
        // A valid raw value has extended the time range, unless the clock was set back.
        if let Some(previous) = before.last_time.filter(|_| has_start) {
            self.statistics.extend_to(previous);
        }
    }

    /// Extends the time range to a valid raw value at which an interval starts.
    fn start_interval(&mut self, raw: &RawValue, at: Moment) {
        if raw.status.is_good() {
            self.statistics.extend_to(at);
        }
    }
}
