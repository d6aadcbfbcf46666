//! The axis of a chart: values and their heights.

use crate::figures::Unit;
use crate::view::{Axis, AxisScale};

/// The range of an axis, chosen for the visible values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisRange {
    is_logarithmic: bool,
    bottom: f64,
    top: f64,
}

/// A logarithmic axis without an own lower end has at most this number of powers of ten.
const MAX_DECADES: f64 = 9.0;

impl AxisRange {
    /// The range of an axis for visible values from `smallest` to `largest`. `smallest_positive` is the smallest value
    /// above 0. Ends that the axis does not fix are round numbers; a linear axis begins at 0 if no value is negative.
    pub fn new(axis: &Axis, values: ValueRange, unit: &Unit) -> Self {
        let is_logarithmic = axis.scale == AxisScale::Logarithmic;
        if is_logarithmic {
            // Ends that are not positive are those of a linear axis.
            let is_positive = |end: &f64| *end > 0.0;
            let top = axis
                .max
                .filter(is_positive)
                .unwrap_or_else(|| power_of_ten(values.largest.max(values.smallest_positive)).max(1e-300));
            let lowest = top / 10f64.powf(MAX_DECADES);
            let bottom = axis.min.filter(is_positive).unwrap_or_else(|| {
                let power = 10f64.powf(values.smallest_positive.log10().floor());
                if power.is_finite() { power.clamp(lowest, top / 10.0) } else { top / 1000.0 }
            });
            return Self { is_logarithmic, bottom, top: top.max(bottom * 10.0) };
        }
        let bottom = axis.min.unwrap_or_else(|| -round_up(-values.smallest, unit));
        let top = axis.max.unwrap_or_else(|| round_up(values.largest, unit));
        let top = if top > bottom { top } else { bottom + 1.0 / unit.factor() };
        Self { is_logarithmic, bottom, top }
    }

    /// The value at the lower end.
    pub fn bottom(&self) -> f64 {
        self.bottom
    }

    /// The value at the upper end.
    pub fn top(&self) -> f64 {
        self.top
    }

    /// The height of a value, from 0 (bottom) to 1 (top).
    pub fn share_of(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            // A value of 0 is at the bottom.
            (value.max(self.bottom) / self.bottom).log10() / (self.top / self.bottom).log10()
        } else {
            (value - self.bottom) / (self.top - self.bottom)
        };
        share.clamp(0.0, 1.0)
    }

    /// Values to label, with their heights, from the bottom: the ends, and up to `between` round numbers between them.
    pub fn ticks(&self, between: usize, unit: &Unit) -> Vec<(f64, f64)> {
        let value_at = |share: f64| {
            if self.is_logarithmic {
                self.bottom * (self.top / self.bottom).powf(share)
            } else {
                self.bottom + (self.top - self.bottom) * share
            }
        };
        if self.is_logarithmic {
            // Powers of ten only.
            let decades = (self.top / self.bottom).log10().round().max(1.0) as usize;
            let step = decades.div_ceil(between + 1);
            let powers = (0..=decades).rev().step_by(step);
            let mut ticks: Vec<_> = powers
                .map(|power| power as f64 / decades as f64)
                .map(|share| (value_at(share), share))
                .collect();
            ticks.reverse();
            return ticks;
        }
        let parts = (1..=between + 1).rev().find(|&parts| self.has_round_steps(parts, unit)).unwrap_or(1);
        (0..=parts).map(|part| part as f64 / parts as f64).map(|share| (value_at(share), share)).collect()
    }

    /// Whether this number of equal parts divides a linear axis at round numbers.
    fn has_round_steps(&self, parts: usize, unit: &Unit) -> bool {
        let step = (self.top - self.bottom) / parts as f64 * unit.factor();
        let first = self.bottom * unit.factor() / step;
        let is_near = |value: f64, expected: f64| (value - expected).abs() < 1e-6;
        let is_round = if unit.is_binary() {
            is_near(step.log2(), step.log2().round())
        } else {
            let leading = step / 10f64.powf(step.log10().floor());
            STEPS.iter().any(|round| is_near(leading, *round))
        };
        is_round && is_near(first, first.round())
    }
}

/// The leading digits of the steps between the labels of an axis.
const STEPS: [f64; 8] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0];

/// The leading digits of the ends of an axis. Each can be divided into two to five of [`STEPS`].
const ENDS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// The range of visible values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// The smallest value, at most 0.
    pub smallest: f64,
    /// The smallest value above 0; infinite if absent.
    pub smallest_positive: f64,
    /// The largest value, at least 0.
    pub largest: f64,
}

impl Default for ValueRange {
    fn default() -> Self {
        Self { smallest: 0.0, smallest_positive: f64::INFINITY, largest: 0.0 }
    }
}

impl ValueRange {
    /// Extends the range by a value; ignores values that are not finite.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.smallest = self.smallest.min(value);
        self.largest = self.largest.max(value);
        if value > 0.0 {
            self.smallest_positive = self.smallest_positive.min(value);
        }
    }
}

/// The smallest power of ten that is not below `value`.
fn power_of_ten(value: f64) -> f64 {
    if !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().ceil());
    if power.is_finite() && power > 0.0 { power } else { 1.0 }
}

/// The smallest round number that is not below `value`: 1, 2, 4 or 8 of a unit of 1024, or one of [`ENDS`] times a power of
/// ten; 0 for values up to 0.
fn round_up(value: f64, unit: &Unit) -> f64 {
    let value = value * unit.factor();
    if value <= 0.0 {
        return 0.0;
    }
    let rounded = if unit.is_binary() {
        2f64.powf(value.log2().ceil())
    } else {
        let power = 10f64.powf(value.log10().floor());
        let ends = ENDS.map(|end| end * power);
        // Tolerates the inexactness of powers of ten.
        ends.into_iter().find(|end| value <= end * (1.0 + 1e-9)).unwrap_or(10.0 * power)
    };
    rounded / unit.factor()
}

#[cfg(test)]
mod tests {
    use tachograph_counters::CounterType;
    use tachograph_counters::set::Counter;

    use super::*;

    fn unit(name: &str) -> Unit {
        Unit::of(&Counter::new(name, CounterType::LARGE_RAWCOUNT, 1))
    }

    fn range(values: &[f64]) -> ValueRange {
        let mut range = ValueRange::default();
        values.iter().for_each(|value| range.add(*value));
        range
    }

    const LINEAR: Axis = Axis { scale: AxisScale::Linear, min: None, max: None };

    #[test]
    fn a_logarithmic_axis_ignores_ends_that_are_not_positive() {
        let values = range(&[0.5, 50.0]);
        let axis = |min, max| Axis { scale: AxisScale::Logarithmic, min, max };
        let free = AxisRange::new(&axis(None, None), values, &unit("Bytes"));
        for (min, max) in [(-50.0, -10.0), (-1.0, 0.0), (0.0, 0.0)] {
            assert_eq!(AxisRange::new(&axis(Some(min), Some(max)), values, &unit("Bytes")), free);
        }
    }

    #[test]
    fn ends_are_round_numbers() {
        for (name, largest, top) in [
            ("Things", 1.0, 1.0),
            ("Things", 0.0, 1.0),
            ("Things", 1.01, 2.0),
            ("Things", 2.2, 3.0),
            ("Things", 37.0, 40.0),
            ("Things", 0.07, 0.08),
            ("Things", 0.083, 0.1),
            ("Things", 1e-7, 1e-7),
            ("Available Bytes", 1025.0, 2048.0),
            ("Available Bytes", 24e9, 34_359_738_368.0),
            // 2049 MiB: 4 GiB.
            ("Available MBytes", 2049.0, 4096.0),
            ("% Idle Time", 99.0, 100.0),
        ] {
            let axis = AxisRange::new(&LINEAR, range(&[0.0, largest]), &unit(name));
            assert_eq!((axis.bottom(), axis.top()), (0.0, top), "{name} {largest}");
        }
        let axis = AxisRange::new(&LINEAR, range(&[-30.0, 10.0, f64::NAN]), &unit("Things"));
        assert_eq!((axis.bottom(), axis.top()), (-30.0, 10.0));
        let fixed = Axis { min: Some(0.0), max: Some(100.0), ..LINEAR };
        let axis = AxisRange::new(&fixed, range(&[250.0]), &unit("Things"));
        assert_eq!((axis.bottom(), axis.top(), axis.share_of(250.0)), (0.0, 100.0, 1.0));
    }

    #[test]
    fn logarithmic_axes_have_powers_of_ten() {
        let logarithmic = Axis { scale: AxisScale::Logarithmic, ..LINEAR };
        let axis = AxisRange::new(&logarithmic, range(&[0.0, 0.004, 30.0]), &unit("Things"));
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-9;
        assert!(near(axis.bottom(), 0.001) && near(axis.top(), 100.0), "{axis:?}");
        assert_eq!(axis.share_of(0.0), 0.0);
        assert!(near(axis.share_of(0.1), 0.4));
        let ticks = axis.ticks(4, &unit("Things"));
        assert_eq!(ticks.len(), 6);
        assert!(
            ticks.iter().zip([0.001, 0.01, 0.1, 1.0, 10.0, 100.0]).all(|(tick, value)| near(tick.0, value))
        );
        // Without values.
        let axis = AxisRange::new(&logarithmic, ValueRange::default(), &unit("Things"));
        assert!(axis.top() > axis.bottom() && axis.bottom() > 0.0, "{axis:?}");
    }

    #[test]
    fn ticks_divide_the_axis() {
        let axis = AxisRange::new(&LINEAR, range(&[100.0]), &unit("Things"));
        assert_eq!(axis.ticks(1, &unit("Things")), [(0.0, 0.0), (50.0, 0.5), (100.0, 1.0)]);
        assert_eq!(axis.ticks(0, &unit("Things")), [(0.0, 0.0), (100.0, 1.0)]);
    }

    #[test]
    fn labels_are_round_numbers() {
        let labels = |name: &str, values: &[f64], between: usize| -> Vec<String> {
            let unit = Unit::named(name);
            let axis = AxisRange::new(&LINEAR, range(values), &unit);
            axis.ticks(between, &unit).into_iter().map(|(value, _)| unit.tick(value)).collect()
        };
        for (name, values, between, expected) in [
            ("bytes/s", &[45e6][..], 3, "0 B/s|25 MB/s|50 MB/s"),
            ("bytes/s", &[45e6], 1, "0 B/s|25 MB/s|50 MB/s"),
            ("bytes/s", &[37e6], 3, "0 B/s|10 MB/s|20 MB/s|30 MB/s|40 MB/s"),
            ("bytes/s", &[29e6], 3, "0 B/s|10 MB/s|20 MB/s|30 MB/s"),
            ("bytes/s", &[29e6], 1, "0 B/s|15 MB/s|30 MB/s"),
            ("bytes/s", &[29e6], 0, "0 B/s|30 MB/s"),
            ("bytes", &[24e9], 3, "0 B|8 GiB|16 GiB|24 GiB|32 GiB"),
            ("KB", &[700.0], 1, "0 B|512 KiB|1 MiB"),
            ("%", &[1.9], 3, "0 %|0.5 %|1 %|1.5 %|2 %"),
            ("", &[-30.0, 10.0], 3, "-30|-20|-10|0|10"),
            ("", &[-30.0, 50.0], 3, "-30|50"),
            ("", &[7.5], 3, "0|2|4|6|8"),
        ] {
            assert_eq!(labels(name, values, between).join("|"), expected, "{name} {values:?}");
        }
        // All ends that the axis chooses can be divided.
        for end in ENDS {
            assert!(labels("", &[end], 1).len() == 3 && labels("", &[end], 3).len() >= 3, "{end}");
        }
    }
}
