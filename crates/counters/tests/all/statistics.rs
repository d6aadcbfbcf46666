//! Statistics of interrupted series: absences, restarts, errors.

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::{
    AverageKind, Calculator, CounterType, Formula, Intervals, Origin, PackedStatistics, Packing, Quantiles,
    RawValue, Series, Statistics, Status, Summary,
};

const BAD: RawValue = RawValue::error(Status::NO_MACHINE);

/// A time in 2026, plus `second`.
fn at(second: i64) -> Moment {
    Moment { utc: FileTime(134_000_000_000_000_000 + second * 10_000_000), bias_minutes: -60 }
}

/// A series of a rate per second, with a clock of 1000 ticks per second and one sample per second.
struct Rates {
    calculator: Calculator,
    series: Series,
    second: i64,
}

impl Rates {
    fn new() -> Self {
        Self::with_type(CounterType::BULK_COUNT)
    }

    fn with_type(kind: CounterType) -> Self {
        let calculator = Calculator::new(kind, 1000);
        let statistics = Statistics::new(calculator.formula(), Intervals::All, None);
        let mut series = Series::new(statistics);
        series.follow(Origin { boot_time: FileTime(1), ..Origin::default() });
        Self { calculator, series, second: 0 }
    }

    fn raw(&mut self, raw: RawValue) -> &mut Self {
        self.series.add(&self.calculator, &raw, at(self.second));
        self.second += 1;
        self
    }

    /// A valid sample.
    fn count(&mut self, first: i64) -> &mut Self {
        self.raw(RawValue::new(first, self.second * 1000))
    }

    /// A valid sample after a restart of the machine.
    fn after_restart(&mut self, first: i64) -> &mut Self {
        self.series.follow(Origin { boot_time: FileTime(2 + self.second), ..Origin::default() });
        self.count(first)
    }

    fn error(&mut self) -> &mut Self {
        self.raw(BAD)
    }

    fn absent(&mut self) -> &mut Self {
        self.series.interrupt();
        self.second += 1;
        self
    }

    fn summary(&self) -> Summary {
        self.series.statistics().summary()
    }
}

/// The numbers of values and errors.
fn counts(summary: &Summary) -> (u64, u64) {
    (summary.values, summary.errors)
}

#[test]
fn without_samples_there_are_no_results() {
    assert_eq!(Rates::new().summary(), Summary::default());
    let doubles = Rates::with_type(CounterType::DOUBLE_RAW).summary();
    assert_eq!(doubles, Summary { average_kind: AverageKind::Arithmetic, ..Summary::default() });
}

#[test]
fn one_sample_is_a_value_of_a_count_but_not_of_a_rate() {
    let rate = Rates::new().count(5).summary();
    assert_eq!(rate, Summary { first_time: Some(at(0)), last_time: Some(at(0)), ..Summary::default() });
    let count = Rates::with_type(CounterType::RAWCOUNT).count(5).summary();
    assert_eq!(counts(&count), (1, 0));
    assert_eq!((count.last, count.average, count.quantiles), (Some(5.0), Some(5.0), Some([5.0; 4])));
}

#[test]
fn a_baseline_begins_the_first_interval_and_is_not_a_value() {
    for (kind, values, first_time) in [(CounterType::BULK_COUNT, 1, at(0)), (CounterType::RAWCOUNT, 1, at(1))]
    {
        let mut rates = Rates::with_type(kind);
        rates.series.add_baseline(&rates.calculator, &RawValue::new(10, 0), at(0));
        rates.second = 1;
        let summary = rates.count(14).summary();
        assert_eq!(counts(&summary), (values, 0), "{kind}");
        assert_eq!((summary.first_time, summary.last_time), (Some(first_time), Some(at(1))), "{kind}");
    }
}

#[test]
fn the_interval_after_an_invalid_baseline_is_an_error() {
    let mut rates = Rates::new();
    rates.series.add_baseline(&rates.calculator, &BAD, at(0));
    rates.second = 1;
    let summary = rates.count(14).count(15).summary();
    assert_eq!(counts(&summary), (1, 1));
    assert_eq!((summary.first_time, summary.last_time), (Some(at(1)), Some(at(2))));
}

#[test]
fn an_invalid_sample_makes_two_intervals_errors() {
    let summary = Rates::new().count(0).error().count(100).summary();
    assert_eq!(counts(&summary), (0, 2));
    assert_eq!((summary.last, summary.average, summary.minimum), (None, None, None));
    assert_eq!((summary.first_time, summary.last_time), (Some(at(0)), Some(at(2))));
}

#[test]
fn intervals_with_errors_are_not_in_the_average() {
    let summary = Rates::new().count(0).count(10).error().count(1000).count(1030).summary();
    assert_eq!(counts(&summary), (2, 2));
    assert_eq!((summary.minimum, summary.average, summary.maximum), (Some(10.0), Some(20.0), Some(30.0)));
    assert_eq!(summary.last, Some(30.0));
}

#[test]
fn an_error_of_a_one_sample_type_is_one_error() {
    let summary = Rates::with_type(CounterType::RAWCOUNT).count(4).error().count(8).summary();
    assert_eq!(counts(&summary), (2, 1));
    assert_eq!((summary.last, summary.average), (Some(8.0), Some(6.0)));
}

#[test]
fn errors_at_the_start_and_the_end_are_counted() {
    let summary = Rates::new().error().count(0).count(3).error().summary();
    assert_eq!(counts(&summary), (1, 2));
    assert_eq!((summary.first_time, summary.last_time), (Some(at(1)), Some(at(2))));
}

#[test]
fn a_counter_that_decreased_is_one_error() {
    let summary = Rates::new().count(50).count(60).count(5).count(25).summary();
    assert_eq!(counts(&summary), (2, 1));
    assert_eq!((summary.minimum, summary.average, summary.maximum), (Some(10.0), Some(15.0), Some(20.0)));
}

#[test]
fn an_error_does_not_replace_the_last_value() {
    let summary = Rates::new().count(0).count(7).count(3).summary();
    assert_eq!((summary.last, summary.errors), (Some(7.0), 1));
    assert_eq!(summary.last_time, Some(at(2)), "the time of a valid raw value whose interval is an error");
}

#[test]
fn an_absent_instance_is_neither_a_value_nor_an_error() {
    let summary = Rates::new().count(0).count(10).absent().count(500).count(520).summary();
    assert_eq!(counts(&summary), (2, 0));
    assert_eq!((summary.average, summary.maximum), (Some(15.0), Some(20.0)));
    assert_eq!((summary.first_time, summary.last_time), (Some(at(0)), Some(at(4))));
    let twice = Rates::new().absent().absent().count(1).absent().count(2).summary();
    assert_eq!(counts(&twice), (0, 0));
    assert_eq!((twice.first_time, twice.last_time), (Some(at(2)), Some(at(4))));
}

#[test]
fn the_status_no_instance_is_an_absence() {
    let absent = RawValue::error(Status::NO_INSTANCE);
    let mut rates = Rates::new();
    rates.series.add_baseline(&rates.calculator, &absent, at(0));
    rates.second = 1;
    let summary = rates.count(0).count(10).raw(absent).count(500).count(520).summary();
    assert_eq!(counts(&summary), (2, 0));
    assert_eq!(
        (summary.average, summary.first_time, summary.last_time),
        (Some(15.0), Some(at(1)), Some(at(5)))
    );
    let count = Rates::with_type(CounterType::RAWCOUNT).count(4).raw(absent).count(8).summary();
    assert_eq!((counts(&count), count.average), ((2, 0), Some(6.0)));
}

#[test]
fn an_error_before_an_absence_is_counted_once() {
    let summary = Rates::new().count(0).error().absent().count(9).summary();
    assert_eq!(counts(&summary), (0, 1));
}

#[test]
fn values_before_and_after_a_restart_are_not_paired() {
    let forward = Rates::new().count(0).count(10).after_restart(500).count(520).summary();
    assert_eq!(counts(&forward), (2, 0));
    assert_eq!((forward.average, forward.maximum), (Some(15.0), Some(20.0)));
    let back = Rates::new().count(90).after_restart(5).summary();
    assert_eq!(counts(&back), (0, 0));
    let count = Rates::with_type(CounterType::RAWCOUNT).count(9).after_restart(3).summary();
    assert_eq!(counts(&count), (2, 0));
}

#[test]
fn types_without_a_formula_have_only_errors() {
    let summary = Rates::with_type(CounterType::TEXT).count(1).count(2).summary();
    assert_eq!(counts(&summary), (0, 2));
    assert_eq!((summary.last, summary.average, summary.quantiles), (None, None, None));
}

/// If the numerator increases without an operation, the value of the interval is 0, but means nothing. Such an
/// interval counts as a value and in the average, but not in the extremes and quantiles.
#[test]
fn an_interval_without_an_operation_has_no_extremes() {
    let calculator = Calculator::new(CounterType::AVERAGE_BULK, 1);
    let mut series = Series::new(Statistics::new(calculator.formula(), Intervals::All, None));
    for (second, (bytes, operations)) in [(0, 0), (400, 4), (500, 4), (1000, 6)].into_iter().enumerate() {
        series.add(&calculator, &RawValue::new(bytes, operations), at(second as i64));
    }
    let summary = series.statistics().summary();
    assert_eq!(counts(&summary), (3, 0));
    assert_eq!((summary.minimum, summary.maximum), (Some(100.0), Some(250.0)));
    assert_eq!(summary.average, Some(1000.0 / 6.0), "from the first and last raw values");
    assert_eq!(summary.quantiles, Some([100.0, 250.0, 250.0, 250.0]));
}

#[test]
fn statistics_of_machines_with_different_clocks_are_merged() {
    let rate = |machine: &str, time_base: i64, per_second: i64, seconds: i64| {
        let calculator = Calculator::new(CounterType::BULK_COUNT, time_base);
        let statistics = Statistics::new(calculator.formula(), Intervals::All, Some(machine.into()));
        let mut series = Series::new(statistics);
        for second in 0..=seconds {
            let raw = RawValue::new(second * per_second, second * time_base);
            series.add(&calculator, &raw, at(second));
        }
        series.statistics().clone()
    };
    let mut merged = rate("B", 1000, 10, 30);
    merged.merge(&rate("C", 10_000_000, 40, 10)).expect("one formula");
    merged.merge(&rate("A", 2_630_633, 70, 30)).expect("one formula");
    let summary = merged.summary();
    assert_eq!(counts(&summary), (70, 0));
    assert_eq!(summary.average, Some((300.0 + 400.0 + 2100.0) / 70.0));
    assert_eq!(summary.last, Some(10.0), "B and A end last, and B is the later name; C ended earlier");
    assert_eq!((summary.minimum, summary.maximum), (Some(10.0), Some(70.0)));
}

/// Statistics of all time ranges of an ordinary log can be packed.
#[test]
fn ordinary_time_ranges_are_packed() {
    assert_eq!(size_of::<PackedStatistics>(), 64);
    for kind in [
        CounterType::BULK_COUNT,
        CounterType::TIMER_100NS,
        CounterType::AVERAGE_BULK,
        CounterType::LARGE_RAWCOUNT,
        CounterType::RAW_FRACTION,
        CounterType::MULTI_TIMER_100NS,
        CounterType::DOUBLE_RAW,
    ] {
        let calculator = Calculator::new(kind, 10_000_000);
        let machine = Some("HERE".into());
        let state = Statistics::new(calculator.formula(), Intervals::All, machine).without_quantiles();
        let mut series = Series::new(state);
        let mut parts = Vec::new();
        for second in 0..64 {
            let raw =
                RawValue { multi_count: 3, ..RawValue::new(second * second, (second + 1) * 10_000_000) };
            series.add(&calculator, &raw, at(second));
            if second % 16 == 15 {
                parts.push(series.cut());
            }
        }
        let packing = Packing::for_statistics(&parts[0]);
        let mut merged = parts[0].clone();
        for part in &parts[1..] {
            let packed = packing.pack(part).unwrap_or_else(|| panic!("{kind}: {part:?}"));
            assert_eq!(packing.unpack(&packed).summary(), part.summary(), "{kind}");
            packing.merge(&mut merged, &packed);
        }
        assert!(packing.pack(&merged).is_some(), "{kind}");
        let needs_two_samples = calculator.formula().is_some_and(Formula::needs_two_samples);
        assert_eq!(merged.summary().values, 64 - u64::from(needs_two_samples), "{kind}");
    }
}

#[test]
fn states_that_cannot_be_packed_are_refused() {
    let calculator = Calculator::new(CounterType::BULK_COUNT, 1000);
    let rate = |from: i64, to: i64, time_base: i64| {
        let state = Statistics::new(calculator.formula(), Intervals::All, None).without_quantiles();
        let mut series = Series::new(state);
        let calculator = Calculator::new(CounterType::BULK_COUNT, time_base);
        for second in from..to {
            let raw = RawValue::new(second * 5, second * time_base);
            series.add(&calculator, &raw, at(second));
        }
        series.cut()
    };
    let ordinary = rate(0, 4, 1000);
    let packing = Packing::for_statistics(&ordinary);
    assert!(packing.pack(&ordinary).is_some());
    let mut with_error = ordinary.clone();
    with_error.add(&calculator, None, &RawValue::error(Status::CSTATUS_INVALID_DATA), at(5));
    let quantiles = Statistics::new(calculator.formula(), Intervals::All, None);
    let mut two_clocks = ordinary.clone();
    two_clocks.merge(&rate(5, 9, 3000)).expect("one formula");
    for (what, state) in [
        ("an error", with_error),
        ("quantiles", quantiles),
        ("a time of the maximum", ordinary.clone().with_maximum_time()),
        ("no value", rate(0, 1, 1000)),
        ("another clock", rate(0, 4, 3000)),
        ("two clocks", two_clocks),
    ] {
        assert!(packing.pack(&state).is_none(), "{what}");
    }
}

#[test]
fn multi_timers_with_several_multipliers_are_averaged() {
    for (kind, average) in [
        // 3000 of 4 * 1000 + 1 * 1000 units of time are busy: 60 %. For the inverse type, the remaining 2000 units, divided by
        // the time of both parts (1000 each), are 100 %.
        (CounterType::MULTI_TIMER_100NS, 60.0),
        (CounterType::MULTI_TIMER_INV_100NS, 100.0),
    ] {
        let part = |multi_count, busy| {
            let calculator = Calculator::new(kind, 1000);
            let mut statistics = Statistics::new(calculator.formula(), Intervals::All, None);
            let newer = RawValue { multi_count, ..RawValue::new(busy, 1000) };
            statistics.add(&calculator, Some(&RawValue::new(0, 0)), &newer, at(1));
            statistics
        };
        let mut merged = part(4, 2000);
        merged.merge(&part(1, 1000)).expect("one formula");
        assert_eq!(merged.summary().average, Some(average), "{kind}");
    }
}

#[test]
fn first_and_last_time_include_all_machines() {
    let range = |from: i64, to: i64, bias_minutes: i32| {
        let calculator = Calculator::new(CounterType::RAWCOUNT, 1);
        let mut statistics = Statistics::new(calculator.formula(), Intervals::All, None);
        for second in from..=to {
            let moment = Moment { bias_minutes, ..at(second) };
            statistics.add(&calculator, None, &RawValue::new(second, 0), moment);
        }
        statistics
    };
    let parts = [range(5, 9, 480), range(2, 6, -60), range(2, 9, 0)];
    for [one, two, three] in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut merged = parts[one].clone();
        merged.merge(&parts[two]).expect("one formula");
        merged.merge(&parts[three]).expect("one formula");
        let summary = merged.summary();
        assert_eq!(summary.first_time, Some(Moment { bias_minutes: -60, ..at(2) }));
        assert_eq!(summary.last_time, Some(Moment { bias_minutes: 480, ..at(9) }));
    }
}

#[test]
fn huge_doubles_have_an_average() {
    let doubles = |values: &[f64]| {
        let calculator = Calculator::new(CounterType::DOUBLE_RAW, 1);
        let mut statistics = Statistics::new(calculator.formula(), Intervals::All, None);
        for &value in values {
            statistics.add(&calculator, None, &RawValue::from_double(value), at(0));
        }
        statistics
    };
    let mut merged = doubles(&[f64::MAX, f64::MAX, 6.0]);
    assert_eq!(merged.summary().average, Some(f64::MAX / 1.5));
    merged.merge(&doubles(&[f64::MIN, f64::MIN])).expect("one formula");
    assert_eq!(merged.summary().average, Some(6.0 / 5.0));
}

/// The value of the nearest rank: the `ceil(q * n)`-th smallest.
fn nearest_rank(values: &[f64], quantile: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((quantile * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

#[test]
fn quantiles_lie_within_one_percent_of_the_nearest_rank() {
    const REQUESTED: [f64; 7] = [0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 1.0];
    // Neighbouring values are far apart, so a result that is wrong by one rank is wrong by more than one percent.
    let steps = |count: usize| (0..count).map(move |at| 1.1f64.powi(at as i32 % 97) * 3.0);
    let signed = |count: usize| steps(count).enumerate().map(|(at, step)| [step, 0.0, -step, step][at % 4]);
    for count in (1..140).chain([199, 200, 201, 999, 1000, 1001]) {
        for values in
            [steps(count).collect::<Vec<_>>(), signed(count).collect(), vec![0.0; count], vec![-7.5; count]]
        {
            let mut quantiles = Quantiles::default();
            values.iter().for_each(|&value| quantiles.add(value));
            assert_eq!(quantiles.count(), count as u64);
            for (requested, got) in REQUESTED.into_iter().zip(quantiles.at(REQUESTED).expect("values")) {
                let expected = nearest_rank(&values, requested);
                let exact = values.iter().filter(|value| **value != 0.0).count() <= 32;
                let allowed = if exact { 0.0 } else { expected.abs() * 0.01 };
                assert!(
                    (got - expected).abs() <= allowed,
                    "{requested} of {count}: {got}, expected {expected}"
                );
            }
        }
    }
}

#[test]
fn quantiles_of_a_series_are_within_one_percent() {
    let calculator = Calculator::new(CounterType::RAWCOUNT, 1);
    let mut statistics = Statistics::new(calculator.formula(), Intervals::All, None);
    for value in 1..=1000 {
        statistics.add(&calculator, None, &RawValue::new(value * 7 % 1001, 0), at(value));
    }
    let got = statistics.summary().quantiles.expect("values");
    for (got, expected) in got.into_iter().zip([500.0f64, 900.0, 950.0, 990.0]) {
        assert!((got - expected).abs() <= expected * 0.01, "{got} for {expected}");
    }
}

#[test]
fn an_average_without_operations_is_idle() {
    let operations = [(CounterType::AVERAGE_TIMER, 10), (CounterType::AVERAGE_BULK, 1)];
    for (counter_type, time_base) in operations {
        let calculator = Calculator::new(counter_type, time_base);
        let summary = |raw: &[(i64, i64)]| {
            let mut statistics = Statistics::new(counter_type.formula(), Intervals::All, None);
            let raw: Vec<_> = raw.iter().map(|&(first, second)| RawValue::new(first, second)).collect();
            for (index, pair) in raw.windows(2).enumerate() {
                assert_eq!(statistics.add(&calculator, Some(&pair[0]), &pair[1], at(index as i64 + 1)), None);
            }
            statistics.summary()
        };
        let idle = summary(&[(50, 5), (50, 5), (50, 5)]);
        assert_eq!((idle.is_idle, idle.average, idle.last), (true, Some(0.0), Some(0.0)));
        // An operation that took no measurable time.
        let fast = summary(&[(50, 5), (50, 6)]);
        assert_eq!((fast.is_idle, fast.average), (false, Some(0.0)));
        assert!(!summary(&[(50, 5), (50, 5), (70, 7)]).is_idle);
        assert!(!summary(&[(50, 5)]).is_idle);
    }
}
