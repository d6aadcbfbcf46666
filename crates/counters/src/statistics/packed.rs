//! Statistics of a short stretch in little room.

use std::num::NonZeroU32;

use super::sums::PlainSums;
use super::{Intervals, Statistics};
use crate::civil::{FileTime, Moment};

/// The [`Statistics`] of a short stretch without anything out of the ordinary, in 64 bytes instead of 300: for the many
/// stretches that a long log is cut into. What all of them share is kept once, in the [`Packing`] that made it.
#[derive(Clone, Copy, Debug)]
pub struct PackedStatistics {
    /// Of sums of differences the numerator and the denominator; of other sums the bits of the sum and of its rest.
    sums: [u64; 2],
    minimum: f64,
    maximum: f64,
    last: f64,
    first_time: FileTime,
    last_time: FileTime,
    /// How many values there were.
    values: NonZeroU32,
    first_bias: i16,
    last_bias: i16,
}

/// What the states of one counter's stretches have in common.
#[derive(Clone, Debug)]
pub struct Packing {
    /// A state to which nothing was added.
    empty: Statistics,
    time_base: i64,
    multi_count: u32,
}

impl Packing {
    /// A packing for states like this one: of the same counter.
    pub fn of(state: &Statistics) -> Self {
        let (time_base, multi_count) = state.sums.key();
        Self { empty: state.emptied(), time_base, multi_count }
    }

    /// The state in little room, from which it can be had [back](Self::unpack) as it is. `None` where it holds what has
    /// no place there: quantiles, errors, no value at all, another clock, sums beyond 64 bits.
    pub fn pack(&self, state: &Statistics) -> Option<PackedStatistics> {
        let sums = state.sums.plain(state.formula)?;
        let (first, last) = (state.first_time?, state.last_time?);
        let is_like_others = (state.formula, state.intervals) == (self.empty.formula, self.empty.intervals)
            && state.quantiles.is_off()
            && (sums.time_base, sums.multi_count) == (self.time_base, self.multi_count)
            && state.last_machine == self.empty.last_machine;
        let is_ordinary = state.errors == 0
            && state.values == sums.count
            && state.last_value_at == last.utc.0
            && state.intervals == Intervals::All;
        if !is_like_others || !is_ordinary {
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

    /// Adds what was packed to a state of the same counter: [`Statistics::merge`] of the same, without the way back.
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
        state.take_last(packed.last, last.utc.0, &self.empty.last_machine);
        state.values += values;
        state.minimum = state.minimum.min(packed.minimum);
        state.maximum = state.maximum.max(packed.maximum);
        state.reach(first);
        state.reach(last);
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
