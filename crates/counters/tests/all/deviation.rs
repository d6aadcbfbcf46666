//! Standard deviation, slope and the time of the maximum: known values, cancellation, missing samples, percentiles.

use proptest::prelude::*;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::{
    Calculator, CounterType, Intervals, RawRun, RawValue, RunBuffers, SampleTimes, Series, Statistics, Status,
};

const SECOND: i64 = FileTime::PER_SECOND;

/// A time in 2026, plus `second`.
fn at(second: i64) -> Moment {
    Moment { utc: FileTime(134_000_000_000_000_000 + second * SECOND), bias_minutes: -60 }
}

/// The statistics of formatted values, each with its second.
fn doubles(values: impl IntoIterator<Item = (i64, f64)>) -> Statistics {
    let calculator = Calculator::new(CounterType::DOUBLE_RAW, 0);
    let mut statistics = Statistics::new(calculator.formula(), Intervals::All, None).with_regression();
    for (second, value) in values {
        statistics.add(&calculator, None, &RawValue::from_double(value), at(second));
    }
    statistics
}

#[track_caller]
fn assert_close(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    assert!((found - expected).abs() <= expected.abs() * 1e-14, "{found} instead of {expected}");
}

#[test]
fn known_values_have_the_expected_deviation_and_slope() {
    // The sum of the squared distances from the mean, 5, is 32.
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    let statistics = doubles((0..).zip(values));
    assert_close(statistics.standard_deviation(), (32.0f64 / 7.0).sqrt());
    // Relative to the means (second 3.5, value 5), the sum of the products is 34, and that of the squared times 42.
    assert_close(statistics.slope_per_hour(), 34.0 / 42.0 * 3600.0);
    // A line: 0.25 more every two minutes.
    let line = doubles((0..100).map(|step| (120 * step, 7.0 + 0.25 * step as f64)));
    assert_close(line.slope_per_hour(), 7.5);
    let falling = doubles((0..100).map(|step| (120 * step, -7.0 - 0.25 * step as f64)));
    assert_close(falling.slope_per_hour(), -7.5);
}

#[test]
fn a_deviation_needs_two_values_and_a_slope_needs_two_times() {
    let figures = |statistics: Statistics| [statistics.standard_deviation(), statistics.slope_per_hour()];
    assert_eq!(figures(doubles([])), [None, None]);
    assert_eq!(figures(doubles([(0, 3.0)])), [None, None]);
    // Values at the same time determine no line.
    assert_eq!(figures(doubles([(0, 3.0), (0, 3.0)])), [Some(0.0), None]);
    assert_eq!(figures(doubles([(0, 0.1), (1, 0.1), (7, 0.1)])), [Some(0.0), Some(0.0)]);
    let calculator = Calculator::new(CounterType::DOUBLE_RAW, 0);
    let mut plain = Statistics::new(calculator.formula(), Intervals::All, None);
    for second in 0..3 {
        plain.add(&calculator, None, &RawValue::from_double(second as f64), at(second));
    }
    assert_eq!(figures(plain.clone()), [None, None]);
    // States with and without the sums for deviation and slope can be merged, as can those with and without quantiles.
    let mut with = doubles([(0, 1.0), (1, 2.0)]);
    with.merge(&plain).expect("one formula");
    assert_close(with.slope_per_hour(), 3600.0);
}

/// Plain sums of doubles would lose all digits here.
#[test]
fn large_values_with_small_differences_lose_no_digits() {
    let base = (1u64 << 52) as f64;
    let statistics = doubles([(0, base), (1, base + 1.0), (2, base + 2.0)]);
    assert_close(statistics.standard_deviation(), 1.0);
    assert_close(statistics.slope_per_hour(), 3600.0);
    let extremes = doubles([(0, f64::MAX), (1, f64::from_bits(1)), (2, -f64::MAX), (3, 1e-300)]);
    assert_close(extremes.standard_deviation(), f64::MAX * (2.0f64 / 3.0).sqrt());
    // The slope exceeds the range of a double.
    assert_eq!(extremes.slope_per_hour(), None);
    let tiny = doubles([(0, 3e-320), (1, 1e-320)]);
    assert!(tiny.standard_deviation().is_some_and(|deviation| (1.4e-320..1.43e-320).contains(&deviation)));
}

#[test]
fn percentiles_are_nearest_ranks() {
    let mut statistics = doubles((1..=100).map(|value| (value, value as f64)));
    let expected = [1.0, 1.0, 5.0, 50.0, 99.0, 100.0, 100.0];
    let percentages = [0.0, 1.0, 5.0, 50.0, 99.0, 99.9, 100.0];
    assert_eq!(statistics.percentiles(&percentages).as_deref(), Some(&expected[..]));
    assert_eq!(statistics.percentiles(&[]), Some(Vec::new()));
    assert_eq!(doubles([]).percentiles(&[50.0]), None);
    // The 999th of 1,000 values, and not the 1,000th: 0.999 times 1,000 is not more than 999.
    statistics = doubles((1..=1000).map(|value| (value, if value == 1000 { 1e6 } else { value as f64 })));
    let [p999, p100] = statistics.percentiles(&[99.9, 100.0]).expect("values")[..] else { panic!("two") };
    assert!((p999 - 999.0).abs() < 10.0 && p100 > 9e5, "{p999} {p100}");
    assert_eq!(statistics.clone().without_quantiles().percentiles(&[50.0]), None);
}

/// A value that could not be read affects neither the deviation nor the slope.
#[test]
fn errors_do_not_count() {
    let calculator = Calculator::new(CounterType::RAWCOUNT, 0);
    let mut statistics = Statistics::new(calculator.formula(), Intervals::All, None).with_regression();
    for second in 0..9 {
        let raw = if second % 3 == 1 { RawValue::error(Status::NO_DATA) } else { RawValue::new(second, 0) };
        statistics.add(&calculator, None, &raw, at(second));
    }
    // 0, 2, 3, 5, 6, 8: squared distances from 4 are 16 + 4 + 1 + 1 + 4 + 16.
    assert_close(statistics.standard_deviation(), (42.0f64 / 5.0).sqrt());
    assert_close(statistics.slope_per_hour(), 3600.0);
}

proptest! {
    /// The expected values are computed with exact integers, relative to the first value and the first time.
    #[test]
    fn results_equal_those_of_exact_integers(
        base in 0i64..1 << 52,
        steps in prop::collection::vec((-1000i64..1000, 1i64..100, any::<bool>()), 2..80),
    ) {
        let (mut second, mut samples) = (0, Vec::new());
        for &(offset, step, is_missing) in &steps {
            second += step;
            if !is_missing {
                samples.push((second, offset));
            }
        }
        let statistics = doubles(samples.iter().map(|&(second, offset)| (second, (base + offset) as f64)));
        let count = samples.len() as i64;
        let sum = |of: fn((i64, i64)) -> i64| samples.iter().map(|&sample| of(sample)).sum::<i64>();
        let (times, values) = (sum(|(time, _)| time), sum(|(_, value)| value));
        let scatter = |squares: i64, sum: i64| (count * squares - sum * sum) as f64;
        let of_values = scatter(sum(|(_, value)| value * value), values);
        let of_times = scatter(sum(|(time, _)| time * time), times);
        let joint = (count * sum(|(time, value)| time * value) - times * values) as f64;
        let close = |found: Option<f64>, expected: f64| {
            found.is_some_and(|found| (found - expected).abs() <= expected.abs() * 1e-12)
        };
        if count < 2 {
            prop_assert_eq!([statistics.standard_deviation(), statistics.slope_per_hour()], [None, None]);
        } else {
            let deviation = (of_values / (count * (count - 1)) as f64).sqrt();
            prop_assert!(close(statistics.standard_deviation(), deviation), "{:?}", statistics.standard_deviation());
            let slope = joint / of_times * 3600.0;
            prop_assert!(close(statistics.slope_per_hour(), slope), "{:?} {}", statistics.slope_per_hour(), slope);
        }
    }
}

#[test]
fn the_earliest_maximum_has_the_time() {
    let calculator = Calculator::new(CounterType::RAWCOUNT, 1000);
    let values = [3, 9, 4, 9, 1];
    let of = |seconds: std::ops::Range<usize>| {
        let state = Statistics::new(calculator.formula(), Intervals::All, None).with_maximum_time();
        let mut series = Series::new(state);
        for second in seconds {
            series.add(&calculator, &RawValue::new(values[second], 0), at(second as i64));
        }
        series.cut()
    };
    assert_eq!(of(0..5).maximum_time(), Some(at(1)));
    for split in 0..=5 {
        let (mut first, mut second) = (of(0..split), of(split..5));
        let (one, other) = (first.clone(), second.clone());
        first.merge(&other).expect("one formula");
        second.merge(&one).expect("one formula");
        assert_eq!([first.maximum_time(), second.maximum_time()], [Some(at(1)); 2], "{split}");
    }
    assert_eq!(of(0..5).take().emptied().maximum_time(), None);
    assert_eq!(Statistics::new(calculator.formula(), Intervals::All, None).maximum_time(), None);
    // As a run.
    let state = Statistics::new(calculator.formula(), Intervals::All, None).with_maximum_time();
    let (mut series, mut times) = (Series::new(state), SampleTimes::default());
    (0..5).for_each(|second| times.push(at(second)));
    let tails = [(0, Status::VALID_DATA)];
    let run = RawRun { firsts: &values, seconds: &[0; 5], tails: &tails };
    series.add_run(&calculator, &run, times.since(0), &mut RunBuffers::default());
    assert_eq!(series.statistics().maximum_time(), Some(at(1)));
}
