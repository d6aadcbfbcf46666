//! Checks the formulas with the vectors of `vectors/formulas.tsv`, which names the source of each.

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::{
    Calculator, CounterType, FormatOptions, Intervals, RawValue, Series, Statistics, Status,
};

const FORMULAS: &str = include_str!("../vectors/formulas.tsv");

const COLUMNS: &str = "id\twhat\ttype\ttime_base\tolder_first\tolder_second\tnewer_first\tnewer_second\t\
                       multiplier\tresult\tremark";

/// The number of vectors of each origin. Their ids are consecutive from 1.
const ORIGINS: [(char, usize); 6] = [('O', 29), ('X', 4), ('S', 3), ('N', 2), ('R', 21), ('H', 54)];

/// One line of the table.
struct Vector {
    id: &'static str,
    what: &'static str,
    calculator: Calculator,
    older: Option<RawValue>,
    newer: RawValue,
    /// The expected result: a number, or the name of a status.
    result: &'static str,
}

impl Vector {
    fn parse(line: &'static str) -> Self {
        let fields: Vec<&'static str> = line.split('\t').collect();
        let &[
            id,
            what,
            kind,
            time_base,
            older_first,
            older_second,
            newer_first,
            newer_second,
            multiplier,
            result,
            _,
        ] = fields.as_slice()
        else {
            panic!("{line:?}: not 11 columns");
        };
        let number =
            |text: &str| text.parse::<i64>().unwrap_or_else(|error| panic!("{id}: {text:?}: {error}"));
        let word = kind.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let multi_count = if multiplier == "-" { 1 } else { multiplier.parse().expect(id) };
        let raw = |first, second| RawValue { multi_count, ..RawValue::new(number(first), number(second)) };
        Self {
            id,
            what,
            calculator: Calculator::new(CounterType(word.expect(id)), number(time_base)),
            older: (older_first != "-").then(|| raw(older_first, older_second)),
            newer: raw(newer_first, newer_second),
            result,
        }
    }

    fn format(&self, options: &FormatOptions) -> Result<f64, Status> {
        self.calculator.format(self.older.as_ref(), &self.newer, options)
    }

    /// A message if the calculator does not return the expected result.
    fn failure(&self) -> Option<String> {
        let got = self.format(&FormatOptions::default());
        let agrees = match (&got, self.result.parse::<f64>()) {
            (Err(status), Err(_)) => status.name() == Some(self.result),
            (Ok(got), Ok(expected)) => match self.id.as_bytes()[0] {
                b'O' => got.to_bits() == expected.to_bits(),
                b'X' => fifteen_digits(*got) == fifteen_digits(expected),
                _ => (got - expected).abs() <= expected.abs() * 1e-12,
            },
            _ => false,
        };
        (!agrees).then(|| format!("{} ({}): {got:?}, expected {}", self.id, self.what, self.result))
    }
}

fn fifteen_digits(value: f64) -> String {
    format!("{value:.14e}")
}

fn vectors() -> Vec<Vector> {
    let mut lines = FORMULAS.lines().skip_while(|line| line.starts_with('#'));
    assert_eq!(lines.next(), Some(COLUMNS));
    lines.map(Vector::parse).collect()
}

fn vector(id: &str) -> Vector {
    vectors().into_iter().find(|vector| vector.id == id).expect(id)
}

#[test]
fn the_table_has_all_vectors() {
    let expected: Vec<String> = ORIGINS
        .iter()
        .flat_map(|&(origin, count)| (1..=count).map(move |number| format!("{origin}{number:02}")))
        .collect();
    let ids: Vec<_> = vectors().iter().map(|vector| vector.id).collect();
    assert_eq!(ids, expected);
    assert_eq!(ids.len(), 113);
}

#[test]
fn every_type_with_a_formula_has_a_vector() {
    let vectors = vectors();
    let missing: Vec<_> = CounterType::all()
        .filter(|kind| kind.formula().is_some() && *kind != CounterType::DOUBLE_RAW)
        .filter(|kind| !vectors.iter().any(|vector| vector.calculator.counter_type() == *kind))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn formulas_return_the_values_of_the_vectors() {
    let failures: Vec<_> = vectors().iter().filter_map(Vector::failure).collect();
    assert!(failures.is_empty(), "{} of 113:\n{}", failures.len(), failures.join("\n"));
}

/// Only one order of operations agrees with Windows to the last bit. The vectors of origin O must detect any other order.
#[test]
fn other_orders_of_operations_are_detected() {
    type Order = fn(f64, f64, f64) -> f64;
    let others: [(CounterType, Order); 6] = [
        (CounterType::BULK_COUNT, |n, d, base| n * base / d),
        (CounterType::BULK_COUNT, |n, d, base| (n / d) * base),
        (CounterType::TIMER_INV_100NS, |n, d, _| 100.0 - 100.0 * n / d),
        (CounterType::TIMER_INV_100NS, |n, d, _| 100.0 * (d - n) / d),
        (CounterType::PRECISION_100NS_TIMER, |n, d, _| 100.0 * n / d),
        (CounterType::RAW_FRACTION, |n, d, _| 100.0 * n / d),
    ];
    let vectors = vectors();
    for (at, (kind, order)) in others.into_iter().enumerate() {
        let differs = vectors
            .iter()
            .filter(|vector| vector.id.starts_with('O') && vector.calculator.counter_type() == kind)
            .any(|vector| {
                let Ok(expected) = vector.result.parse::<f64>() else { return false };
                let older = vector.older.unwrap_or(RawValue::new(0, 0));
                let n = (vector.newer.first - older.first) as f64;
                let d = (vector.newer.second - older.second) as f64;
                order(n, d, vector.calculator.time_base() as f64).to_bits() != expected.to_bits()
            });
        assert!(differs, "order {at} of {kind} agrees with every vector");
    }
}

#[test]
fn h02_is_displayed_in_hexadecimal() {
    let vector = vector("H02");
    assert!(vector.calculator.counter_type().is_hexadecimal());
    let shown = vector.format(&FormatOptions::default()).map(|value| format!("{:#x}", value as u64));
    assert_eq!(shown.as_deref(), Ok("0xbeef"));
}

#[test]
fn h14_is_16_if_32_bits_are_unwrapped() {
    let unwrap = FormatOptions { unwrap_32_bit: true, ..FormatOptions::default() };
    let mut vector = vector("H14");
    assert_eq!(vector.format(&unwrap), Err(Status::NEGATIVE_VALUE), "64-bit data does not wrap");
    vector.calculator = vector.calculator.with_32_bit_data(true);
    assert_eq!(vector.format(&unwrap), Ok(16.0));
    assert_eq!(vector.format(&FormatOptions::default()), Err(Status::NEGATIVE_VALUE), "without the option");
}

#[test]
fn unwrapping_applies_once_to_negative_differences() {
    let unwrap = FormatOptions { unwrap_32_bit: true, ..FormatOptions::default() };
    let delta = Calculator::new(CounterType::DELTA, 1).with_32_bit_data(true);
    let format =
        |older, newer| delta.format(Some(&RawValue::new(older, 0)), &RawValue::new(newer, 0), &unwrap);
    assert_eq!(format(5, 15), Ok(10.0));
    assert_eq!(format(u32::MAX.into(), 0), Ok(1.0));
    assert_eq!(format(1 << 33, 0), Err(Status::NEGATIVE_VALUE), "the counter wrapped more than once");
    assert_eq!(format(i64::MIN + 1, i64::MIN), Err(Status::NEGATIVE_VALUE));
    let count = Calculator::new(CounterType::RAWCOUNT, 1).with_32_bit_data(true);
    assert_eq!(count.format(Some(&RawValue::new(9, 0)), &RawValue::new(4, 0), &unwrap), Ok(4.0));
}

#[test]
fn h19_and_h36_are_100_with_the_cap() {
    let cap = FormatOptions { cap_at_100: true, ..FormatOptions::default() };
    for id in ["H19", "H36"] {
        assert_eq!(vector(id).format(&cap), Ok(100.0), "{id}");
        assert_eq!(vector(id).format(&FormatOptions::default()), Ok(150.0), "{id}");
    }
    // Only percentages are capped.
    assert_eq!(vector("H10").format(&cap), Ok(1e7));
}

#[test]
fn scale_and_times_1000_multiply_the_value() {
    let count = Calculator::new(CounterType::RAWCOUNT, 1);
    let scaled = |scale, times_1000| {
        let options = FormatOptions { scale, times_1000, ..FormatOptions::default() };
        count.format(None, &RawValue::new(10, 0), &options)
    };
    assert_eq!(scaled(2, false), Ok(1000.0), "[MS-PCQ] 2.2.4.2");
    assert_eq!(scaled(-7, false), Ok(1e-6));
    assert_eq!(scaled(7, false), Ok(1e8));
    for scale in [8, -8, i8::MAX, i8::MIN] {
        assert_eq!(scaled(scale, false), Err(Status::INVALID_ARGUMENT), "{scale}");
    }
    assert_eq!(scaled(0, true), Ok(10_000.0));
    assert_eq!(scaled(2, true), Ok(1_000_000.0));
}

#[test]
fn the_cap_is_applied_before_the_scale() {
    let options = FormatOptions { cap_at_100: true, scale: 1, ..FormatOptions::default() };
    assert_eq!(vector("H19").format(&options), Ok(1000.0));
}

#[test]
fn a_double_that_overflows_by_scaling_is_invalid() {
    let double = Calculator::new(CounterType::DOUBLE_RAW, 1);
    let options = FormatOptions { scale: 7, ..FormatOptions::default() };
    assert_eq!(double.format(None, &RawValue::from_double(1e305), &options), Err(Status::INVALID_DATA));
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let got = double.format(None, &RawValue::from_double(odd), &FormatOptions::default());
        assert_eq!(got, Err(Status::INVALID_DATA), "{odd}");
    }
}

#[test]
fn errors_are_checked_in_the_documented_order() {
    let plain = FormatOptions::default();
    let bad = RawValue::error(Status::NO_INSTANCE);
    let good = RawValue::new(1, 1);
    let rate = Calculator::new(CounterType::BULK_COUNT, 0);
    // A sample with an error is reported before a type without a value.
    let base = Calculator::new(CounterType::AVERAGE_BASE, 1);
    assert_eq!(base.format(Some(&good), &bad, &plain), Err(Status::INVALID_DATA));
    // A type without a formula is reported before a missing sample.
    assert_eq!(base.format(None, &good, &plain), Err(Status::INVALID_ARGUMENT));
    let unknown = Calculator::new(CounterType(0x1234_5678), 1);
    assert_eq!(unknown.format(None, &good, &plain), Err(Status::FUNCTION_NOT_FOUND));
    // A missing sample and the clock are reported before the time base, and the time base before the counter.
    assert_eq!(rate.format(None, &good, &plain), Err(Status::INVALID_DATA));
    assert_eq!(rate.format(Some(&bad), &good, &plain), Err(Status::INVALID_DATA));
    assert_eq!(rate.format(Some(&RawValue::new(9, 9)), &good, &plain), Err(Status::NEGATIVE_DENOMINATOR));
    assert_eq!(rate.format(Some(&RawValue::new(9, 0)), &good, &plain), Err(Status::NEGATIVE_TIMEBASE));
    // The counter is reported before the denominator of 0.
    let timer = Calculator::new(CounterType::TIMER_100NS, 10_000_000);
    assert_eq!(timer.format(Some(&RawValue::new(9, 1)), &good, &plain), Err(Status::NEGATIVE_VALUE));
    // A status that is not an error is ignored.
    let new_data = RawValue { status: Status::NEW_DATA, ..RawValue::new(3, 1) };
    assert_eq!(timer.format(Some(&RawValue::new(1, 0)), &new_data, &plain), Ok(200.0));
}

/// The example of the article on averages in perfmon: one read that took 150 ms, then nine intervals without a read.
#[test]
fn statistics_equal_those_of_the_article_on_averages() {
    let calculator = Calculator::new(CounterType::AVERAGE_TIMER, 14_318_180);
    let at = |second: i64| Moment { utc: FileTime(second * 10_000_000), bias_minutes: 480 };
    let article = |intervals| {
        let mut series = Series::new(Statistics::new(calculator.formula(), intervals, None));
        series.add(&calculator, &RawValue::new(0, 0), at(0));
        for second in 1..=10 {
            series.add(&calculator, &RawValue::new(2_147_727, 1), at(second));
        }
        series.statistics().summary()
    };
    let all = article(Intervals::All);
    assert_eq!((all.values, all.errors), (10, 0));
    assert_eq!((all.minimum, all.average, all.maximum), (Some(0.0), Some(0.15), Some(0.15)));
    assert_eq!(all.last, Some(0.0));
    assert_eq!(all.quantiles, Some([0.0, 0.0, 0.15, 0.15]), "nine zeros are 90 % of the ranks");
    assert_eq!((all.first_time, all.last_time), (Some(at(0)), Some(at(10))));

    let active = article(Intervals::Active);
    assert_eq!((active.values, active.errors), (1, 0));
    assert_eq!((active.minimum, active.average, active.maximum), (Some(0.15), Some(0.15), Some(0.15)));
    assert_eq!(active.last, Some(0.0));
}

/// The average of a real log can be computed from only its first and last raw values.
#[test]
fn the_average_equals_that_of_a_real_log() {
    let calculator = Calculator::new(CounterType::AVERAGE_BULK, 2_725_536);
    let first = RawValue::new(0, 0);
    let last = RawValue::new(241_371_648, 45_463);
    assert_eq!(calculator.format(Some(&first), &last, &FormatOptions::default()), Ok(5309.188746893078));
}
