//! The axis of a chart: values and their heights.

use tachograph_counters::set::Counter;

use crate::figures::Unit;
use crate::view::{Axis, AxisScale};

/// The range of an axis, chosen for the visible values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisRange {
    is_logarithmic: bool,
    bottom: f64,
    top: f64,
}

/// The maximum number of powers of ten on a logarithmic axis without a fixed lower end.
const MAX_DECADES: f64 = 9.0;

impl AxisRange {
    /// The range of an axis for the visible values. Ends that `axis` does not fix are round numbers. A linear axis begins at 0
    /// if no value is negative. Values above `bound`, the largest possible value, do not extend it: measured values can be
    /// slightly larger than possible. If no end is fixed, the axis extends at least to the
    /// [smallest top](Unit::smallest_top) of the unit, so that small values do not look like an incident.
    pub fn new(axis: &Axis, values: ValueRange, unit: &Unit, bound: Option<f64>) -> Self {
        let is_logarithmic = axis.scale == AxisScale::Logarithmic;
        if is_logarithmic {
            // Ends that are not positive were chosen for a linear axis, so they are ignored.
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
        let largest = bound.map_or(values.largest, |bound| values.largest.min(bound));
        let top = axis.max.unwrap_or_else(|| {
            let top = round_up(largest, unit);
            // An axis with negative values has its own scale.
            match top {
                _ if bottom < 0.0 => top,
                0.0 => unit.smallest_top().max(1.0 / unit.factor()),
                _ => top.max(unit.smallest_top()),
            }
        });
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

    /// Values to label, with their heights, from the bottom: the ends, and up to `between` round numbers between them. On a
    /// linear axis of this number of rows, each label is in the middle of a row.
    pub fn ticks(&self, between: usize, rows: usize, unit: &Unit) -> Vec<(f64, f64)> {
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
        let parts = self.max_parts(between, rows, unit);
        (0..=parts).map(|part| part as f64 / parts as f64).map(|share| (value_at(share), share)).collect()
    }

    /// The largest number of equal parts, up to `between` + 1, that divides a linear axis at round numbers and its rows evenly.
    fn max_parts(&self, between: usize, rows: usize, unit: &Unit) -> usize {
        let steps = rows.saturating_sub(1);
        let is_even = |parts: usize| steps.is_multiple_of(parts);
        (2..=between + 1)
            .rev()
            .find(|&parts| is_even(parts) && self.has_round_steps(parts, unit))
            .unwrap_or(1)
    }

    /// The number of rows to use of those available: all, or one less if that allows more labels between the ends.
    pub fn usable_rows(&self, between: usize, rows: usize, unit: &Unit) -> usize {
        let has_spare = !self.is_logarithmic && rows > MIN_ROWS;
        let fewer = rows.saturating_sub(1);
        let allows_more = || self.max_parts(between, fewer, unit) > self.max_parts(between, rows, unit);
        if has_spare && allows_more() { fewer } else { rows }
    }

    /// Whether this number of equal parts divides a linear axis at round numbers.
    fn has_round_steps(&self, parts: usize, unit: &Unit) -> bool {
        let step = (self.top - self.bottom) / parts as f64 * unit.factor();
        let first = self.bottom * unit.factor() / step;
        let is_near = |value: f64, expected: f64| (value - expected).abs() < 1e-6;
        let is_round = if unit.is_binary() {
            [step, step / 1.5].iter().any(|step| is_near(step.log2(), step.log2().round()))
        } else {
            let leading = step / 10f64.powf(step.log10().floor());
            STEPS.iter().any(|round| is_near(leading, *round))
        };
        is_round && is_near(first, first.round())
    }
}

/// An axis of at most this number of rows uses all of them.
const MIN_ROWS: usize = 4;

/// The names of counters of a share of the time that cannot exceed 100 %, in lower case.
const SHARES: [&str; 6] =
    ["% idle time", "% steal time", "% io wait time", "% free space", "% usage", "% committed bytes in use"];

/// The sets whose percentages are shares of the time of one processor, or of the mean of several.
const SETS_OF_SHARES: [&str; 2] = ["Processor Information", "Processor"];

/// The largest possible value of a counter, if it is known: 100 for shares of time and space, such as the time in which tasks stall.
/// Values of late samples can be slightly larger.
pub fn largest_possible(set: &str, counter: &Counter) -> Option<f64> {
    let name = counter.english_name.as_deref().unwrap_or(&counter.name).to_lowercase();
    let is_stall = name.starts_with('%') && name.contains(" stall");
    let is_share = is_stall || SHARES.contains(&name.as_str());
    let is_of_processors = name.starts_with('%') && name.ends_with(" time") && SETS_OF_SHARES.contains(&set);
    (is_share || is_of_processors).then_some(100.0)
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

/// The smallest round number that is not below `value`: for bytes a power of two, or 1.5 times a power of two; otherwise one
/// of [`ENDS`] times a power of ten. 0 for values up to 0.
fn round_up(value: f64, unit: &Unit) -> f64 {
    let value = value * unit.factor();
    if value <= 0.0 {
        return 0.0;
    }
    let rounded = if unit.is_binary() {
        let power = 2f64.powf(value.log2().floor());
        [1.0, 1.5, 2.0].map(|end| end * power).into_iter().find(|end| value <= *end).unwrap_or(2.0 * power)
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
        let free = AxisRange::new(&axis(None, None), values, &unit("Bytes"), None);
        for (min, max) in [(-50.0, -10.0), (-1.0, 0.0), (0.0, 0.0)] {
            assert_eq!(AxisRange::new(&axis(Some(min), Some(max)), values, &unit("Bytes"), None), free);
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
            ("Things", 0.17, 0.2),
            ("Things", 0.083, 0.1),
            ("Things", 1e-7, 0.1),
            ("Available Bytes", 1_048_577.0, 1_572_864.0),
            ("Available Bytes", 24e9, 25_769_803_776.0),
            ("Available Bytes", 1_572_865.0, 2_097_152.0),
            ("Available Bytes", 17.0, 1_048_576.0),
            // 17 KiB: 1 MiB.
            ("Available KBytes", 17.0, 1024.0),
            ("% Idle Time", 0.0002, 5.0),
            // 2049 MiB: 3 GiB.
            ("Available MBytes", 2049.0, 3072.0),
            ("% Idle Time", 99.0, 100.0),
        ] {
            let axis = AxisRange::new(&LINEAR, range(&[0.0, largest]), &unit(name), None);
            assert_eq!((axis.bottom(), axis.top()), (0.0, top), "{name} {largest}");
        }
        for (name, largest, top) in
            [("bytes/s", 50.0, 10_000.0), ("seconds", 0.000_000_3, 0.000_1), ("1/s", 0.2, 1.0)]
        {
            let axis = AxisRange::new(&LINEAR, range(&[largest]), &Unit::named(name), None);
            assert_eq!(axis.top(), top, "{name}");
        }
        let axis = AxisRange::new(&LINEAR, range(&[-30.0, 10.0, f64::NAN]), &unit("Things"), None);
        assert_eq!((axis.bottom(), axis.top()), (-30.0, 10.0));
        let fixed = Axis { min: Some(0.0), max: Some(100.0), ..LINEAR };
        let axis = AxisRange::new(&fixed, range(&[250.0]), &unit("Things"), None);
        assert_eq!((axis.bottom(), axis.top(), axis.share_of(250.0)), (0.0, 100.0, 1.0));
    }

    #[test]
    fn logarithmic_axes_have_powers_of_ten() {
        let logarithmic = Axis { scale: AxisScale::Logarithmic, ..LINEAR };
        let axis = AxisRange::new(&logarithmic, range(&[0.0, 0.004, 30.0]), &unit("Things"), None);
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-9;
        assert!(near(axis.bottom(), 0.001) && near(axis.top(), 100.0), "{axis:?}");
        assert_eq!(axis.share_of(0.0), 0.0);
        assert!(near(axis.share_of(0.1), 0.4));
        let ticks = axis.ticks(4, 40, &unit("Things"));
        assert_eq!(ticks.len(), 6);
        assert!(
            ticks.iter().zip([0.001, 0.01, 0.1, 1.0, 10.0, 100.0]).all(|(tick, value)| near(tick.0, value))
        );
        // Without values.
        let axis = AxisRange::new(&logarithmic, ValueRange::default(), &unit("Things"), None);
        assert!(axis.top() > axis.bottom() && axis.bottom() > 0.0, "{axis:?}");
    }

    #[test]
    fn ticks_divide_the_axis() {
        let axis = AxisRange::new(&LINEAR, range(&[100.0]), &unit("Things"), None);
        assert_eq!(axis.ticks(1, 3, &unit("Things")), [(0.0, 0.0), (50.0, 0.5), (100.0, 1.0)]);
        assert_eq!(axis.ticks(0, 3, &unit("Things")), [(0.0, 0.0), (100.0, 1.0)]);
    }

    #[test]
    fn a_share_of_the_time_ends_at_100() {
        let percent = Unit::named("%");
        let top = |counter: &str, set: &str, largest: f64| {
            let counter = Counter::new(counter, CounterType::TIMER_100NS, 1);
            let bound = largest_possible(set, &counter);
            AxisRange::new(&LINEAR, range(&[largest]), &percent, bound).top()
        };
        assert_eq!(top("% Some Stall Time", "Pressure Stall", 103.0), 100.0);
        assert_eq!(top("% Memory Some Stall Time", "Cgroup", 103.0), 100.0);
        assert_eq!(top("% Some Stall Time", "Pressure Stall", 5.9), 6.0);
        assert_eq!(top("% Some Stall Time", "Pressure Stall", 0.0002), 5.0);
        assert_eq!(top("% Processor Time", "Processor Information", 100.5), 100.0);
        // A process can use several processors.
        assert_eq!(top("% Processor Time", "Process", 103.0), 200.0);
    }

    #[test]
    fn labels_are_in_the_middle_of_rows() {
        let unit = Unit::named("%");
        let axis = AxisRange::new(&LINEAR, range(&[100.0]), &unit, None);
        for (rows, usable, labels) in
            [(5, 5, 3), (9, 9, 5), (10, 9, 5), (6, 5, 5), (4, 4, 2), (3, 3, 3), (12, 11, 3)]
        {
            assert_eq!(axis.usable_rows(3, rows, &unit), usable, "{rows}");
            let between = if rows == 5 { 1 } else { 3 };
            let ticks = axis.ticks(between, usable, &unit);
            assert_eq!(ticks.len(), labels, "{rows}");
            let is_whole = |share: f64| (share * (usable - 1) as f64).fract() == 0.0;
            assert!(ticks.iter().all(|(_, share)| is_whole(*share)), "{rows}: {ticks:?}");
        }
    }

    #[test]
    fn labels_are_round_numbers() {
        let labels = |name: &str, values: &[f64], between: usize| -> Vec<String> {
            let unit = Unit::named(name);
            let axis = AxisRange::new(&LINEAR, range(values), &unit, None);
            axis.ticks(between, 61, &unit).into_iter().map(|(value, _)| unit.tick(value)).collect()
        };
        for (name, values, between, expected) in [
            ("bytes/s", &[45e6][..], 3, "0 B/s|25 MB/s|50 MB/s"),
            ("bytes/s", &[45e6], 1, "0 B/s|25 MB/s|50 MB/s"),
            ("bytes/s", &[37e6], 3, "0 B/s|10 MB/s|20 MB/s|30 MB/s|40 MB/s"),
            ("bytes/s", &[29e6], 3, "0 B/s|10 MB/s|20 MB/s|30 MB/s"),
            ("bytes/s", &[29e6], 1, "0 B/s|15 MB/s|30 MB/s"),
            ("bytes/s", &[29e6], 0, "0 B/s|30 MB/s"),
            ("bytes", &[24e9], 3, "0 B|6 GiB|12 GiB|18 GiB|24 GiB"),
            ("KB", &[1400.0], 1, "0 B|768 KiB|1.5 MiB"),
            ("%", &[1.9], 3, "0 %|2.5 %|5 %"),
            ("%", &[19.0], 3, "0 %|5 %|10 %|15 %|20 %"),
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
