//! From consecutive samples of one counter to its statistics.

use super::Statistics;
use tachograph_schema::Formula;

use crate::civil::Moment;
use crate::formula::Calculator;
use crate::pairing::{Origin, Pairer};
use crate::raw::RawValue;
use crate::status::Status;

/// One counter of one instance through time: remembers the raw value before, and adds each interval to its statistics.
#[derive(Clone, Debug)]
pub struct Series {
    pub(super) pairer: Pairer,
    pub(super) statistics: Statistics,
}

impl Series {
    /// A series without a sample yet, over an empty state.
    pub fn new(statistics: Statistics) -> Self {
        Self { pairer: Pairer::default(), statistics }
    }

    /// Takes the next raw value. Where the interval that it ends is an error, returns why: the status of the raw value that
    /// cannot be used, else that of the result.
    #[inline]
    pub fn add(&mut self, calculator: &Calculator, raw: &RawValue, at: Moment) -> Option<Status> {
        let older = self.pairer.pair(raw);
        if raw.status == Status::NO_INSTANCE {
            // Absent: neither a value nor an error.
            return None;
        }
        let two = calculator.formula().is_some_and(Formula::needs_two_samples);
        if two && older.is_none() {
            // Nothing to compare with: neither a value nor an error.
            self.open(raw, at);
            return None;
        }
        let error = self.statistics.add(calculator, older.as_ref(), raw, at);
        let unusable = |status: Status| {
            let raws = [Some(raw), older.as_ref().filter(|_| two)];
            let unusable = raws.into_iter().flatten().map(|raw| raw.status).find(|status| status.is_error());
            unusable.unwrap_or(status)
        };
        error.map(unusable)
    }

    /// Takes a raw value that only opens the first interval: counted nowhere.
    pub fn add_baseline(&mut self, calculator: &Calculator, raw: &RawValue, at: Moment) {
        if calculator.formula().is_some_and(Formula::needs_two_samples) {
            self.open(raw, at);
        }
        self.pairer.pair(raw);
    }

    /// Says where the next raw values are from: no interval reaches across [origins](Origin).
    pub fn follow(&mut self, origin: Origin) {
        self.pairer.follow(origin);
    }

    /// Forgets the raw value before: the instance was absent from a sample.
    pub fn interrupt(&mut self) {
        self.pairer.interrupt();
    }

    /// Whether the next interval has a raw value to begin at.
    pub fn has_previous(&self) -> bool {
        self.pairer.has_previous()
    }

    /// The statistics so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Takes the statistics so far out; the next interval still begins at the raw value before.
    #[must_use]
    pub fn cut(&mut self) -> Statistics {
        self.statistics.take()
    }

    fn open(&mut self, raw: &RawValue, at: Moment) {
        if raw.status.is_good() {
            self.statistics.reach(at);
        }
    }
}
