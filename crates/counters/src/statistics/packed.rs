//! A compact form of the statistics of a short time range.

use std::num::NonZeroU32;

use super::sums::PlainSums;
use super::{Intervals, Statistics};
use crate::civil::{FileTime, Moment};

/// The [`Statistics`] of a short time range in 64 bytes instead of 300, for the many time ranges of a long log. A
/// [`Packing`] has the state that these time ranges share.
#[derive(Clone, Copy, Debug)]
pub struct PackedStatistics {
    /// For sums of differences, the numerator and the denominator; for other sums, the bits of the sum and of its
    /// rounding error.
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

/// The state that the time ranges of one counter share, with which their statistics are packed and unpacked.
#[derive(Clone, Debug)]
pub struct Packing {
    /// An empty state.
    empty: Statistics,
    /// The frequency of the counter's clock in units per second.
    time_base: i64,
    /// The multiplier of a multi timer.
    multi_count: u32,
}

impl Packing {
    /// A packing for statistics of the same counter as `state`.
    pub fn for_statistics(state: &Statistics) -> Self {
        let (time_base, multi_count) = state.sums.key();
        Self { empty: state.emptied(), time_base, multi_count }
    }

    /// Packs a state without loss; [`unpack`](Self::unpack) restores it. Returns `None` if the state has quantiles,
    /// sums for the standard deviation, errors, no values, a clock that differs from this packing's, a bias of more
    /// than 16 bits, or sums of more than 64 bits.
    pub fn pack(&self, state: &Statistics) -> Option<PackedStatistics> {
        let sums = state.sums.plain(state.formula)?;
        let (first, last) = (state.first_time?, state.last_time?);
        let matches_packing = (state.formula, state.intervals) == (self.empty.formula, self.empty.intervals)
            && state.quantiles.is_off()
            && (sums.time_base, sums.multi_count) == (self.time_base, self.multi_count)
            && state.last_machine == self.empty.last_machine;
        let is_complete = state.errors == 0
            && state.values == sums.count
            && state.last_value_at == last.utc.0
            && state.intervals == Intervals::All;
        if !matches_packing || !is_complete {
            return None;
        }
        Some(PackedStatistics {
            sums: sums.words,
            minimum: state.minimum,
            maximum: state.maximum,
            last: state.last,
            first_time: first.utc,
            last_time: last.utc,
            values: NonZeroU32::new(u32::try_from(state.values).ok()?)?,
            first_bias: i16::try_from(first.bias_minutes).ok()?,
            last_bias: i16::try_from(last.bias_minutes).ok()?,
        })
    }

    /// The state that was packed.
    pub fn unpack(&self, packed: &PackedStatistics) -> Statistics {
        let mut state = self.empty.clone();
        self.merge(&mut state, packed);
        state
    }

    /// Merges a packed state into a state of the same counter, like [`Statistics::merge`].
    #[inline]
    pub fn merge(&self, state: &mut Statistics, packed: &PackedStatistics) {
        let values = u64::from(packed.values.get());
        let sums = PlainSums {
            time_base: self.time_base,
            multi_count: self.multi_count,
            count: values,
            words: packed.sums,
        };
        state.sums.merge_plain(state.formula, &sums);
        let [first, last] = packed.times();
        state.replace_last(packed.last, last.utc.0, &self.empty.last_machine);
        state.values += values;
        state.minimum = state.minimum.min(packed.minimum);
        state.maximum = state.maximum.max(packed.maximum);
        state.extend_to(first);
        state.extend_to(last);
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
