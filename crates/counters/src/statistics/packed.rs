//! A compact form of the statistics of a short time range.

use std::num::NonZeroU32;

use super::sums::PlainSums;
use super::{Intervals, Statistics};
use crate::civil::{FileTime, Moment};

/// The [`Statistics`] of a short time range in 64 bytes instead of 300, for the many time ranges of a long log. The
/// properties that all these time ranges share are in a [`Packing`].
#[derive(Clone, Copy, Debug)]
pub struct PackedStatistics {
    /// For formulas that sum differences of raw values: the numerator and denominator of the average; for sums of
    /// displayed values: the bits of the sum and of its rounding error.
    sums: [u64; 2],
    minimum: f64,
    maximum: f64,
    /// The last value.
    last: f64,
    first_time: FileTime,
    last_time: FileTime,
    /// The number of values.
    values: NonZeroU32,
    /// The bias of the local time at `first_time`, in minutes.
    first_bias: i16,
    /// The bias of the local time at `last_time`, in minutes.
    last_bias: i16,
}

/// The properties that all time ranges of a counter share, for packing and unpacking their statistics.
#[derive(Clone, Debug)]
pub struct Packing {
    /// Statistics without values.
    empty: Statistics,
    /// The frequency of the counter's clock in units per second.
    time_base: i64,
    /// The multiplier of a multi timer.
    multi_count: u32,
}

impl Packing {
    /// A packing for the statistics of the same counter as `statistics`.
    pub fn for_statistics(statistics: &Statistics) -> Self {
        let (time_base, multi_count) = statistics.sums.key();
        Self { empty: statistics.emptied(), time_base, multi_count }
    }

    /// Packs statistics without loss; [`unpack`](Self::unpack) restores them. Returns `None` if they have quantiles,
    /// sums for the standard deviation, a time of the maximum, errors, no values, a clock that differs from this packing's, a bias of more
    /// than 16 bits, or sums of more than 64 bits.
    pub fn pack(&self, statistics: &Statistics) -> Option<PackedStatistics> {
        let sums = statistics.sums.to_plain(statistics.formula)?;
        let (first, last) = (statistics.first_time?, statistics.last_time?);
        let matches_packing = (statistics.formula, statistics.intervals)
            == (self.empty.formula, self.empty.intervals)
            && statistics.quantiles.is_off()
            && statistics.maximum_time.is_off()
            && (sums.time_base, sums.multi_count) == (self.time_base, self.multi_count)
            && statistics.last_machine == self.empty.last_machine;
        let is_complete = statistics.errors == 0
            && statistics.values == sums.count
            && statistics.last_value_at == last.utc.0
            && statistics.intervals == Intervals::All;
        if !matches_packing || !is_complete {
            return None;
        }
        Some(PackedStatistics {
            sums: sums.words,
            minimum: statistics.minimum,
            maximum: statistics.maximum,
            last: statistics.last,
            first_time: first.utc,
            last_time: last.utc,
            values: NonZeroU32::new(u32::try_from(statistics.values).ok()?)?,
            first_bias: i16::try_from(first.bias_minutes).ok()?,
            last_bias: i16::try_from(last.bias_minutes).ok()?,
        })
    }

    /// The statistics that were packed.
    pub fn unpack(&self, packed: &PackedStatistics) -> Statistics {
        let mut statistics = self.empty.clone();
        self.merge(&mut statistics, packed);
        statistics
    }

    /// Merges packed statistics into statistics of the same counter, like [`Statistics::merge`].
    #[inline]
    pub fn merge(&self, statistics: &mut Statistics, packed: &PackedStatistics) {
        let values = u64::from(packed.values.get());
        let sums = PlainSums {
            time_base: self.time_base,
            multi_count: self.multi_count,
            count: values,
            words: packed.sums,
        };
        statistics.sums.merge_plain(statistics.formula, &sums);
        let [first, last] = packed.times();
        statistics.replace_last(packed.last, last.utc.0, &self.empty.last_machine);
        statistics.values += values;
        statistics.minimum = statistics.minimum.min(packed.minimum);
        statistics.maximum = statistics.maximum.max(packed.maximum);
        statistics.extend_to(first);
        statistics.extend_to(last);
    }
}

impl PackedStatistics {
    fn times(&self) -> [Moment; 2] {
        [
            Moment { utc: self.first_time, bias_minutes: self.first_bias.into() },
            Moment { utc: self.last_time, bias_minutes: self.last_bias.into() },
        ]
    }
}
