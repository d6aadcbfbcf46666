//! Formatting without a query: the test vectors of `counters`, the order of checks, cap, scale, conversion, statistics.

use tachograph_counters::{CounterType, Status};
use tachograph_pdh::{
    CounterKind, Format, FormattedValue, NoValue, PdhStatus, RawCounter, Value, calculate_from_raw,
    compute_statistics, flags, format_from_raw,
};

use crate::fake_machine::{bad, raw};

const FORMULAS: &str = include_str!("../../../counters/tests/vectors/formulas.tsv");

fn double(formatted: Result<FormattedValue, NoValue>) -> Result<f64, PdhStatus> {
    match formatted {
        Ok(FormattedValue { status: PdhStatus::VALID_DATA, value: Value::Double(double) }) => Ok(double),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.status),
    }
}

#[test]
fn formatted_values_match_the_test_vectors() {
    let mut count = 0;
    for line in FORMULAS.lines().filter(|line| !line.starts_with('#') && !line.starts_with("id\t")) {
        let fields: Vec<_> = line.split('\t').collect();
        let number = |place: usize| fields[place].parse::<i64>().ok();
        let kind = u32::from_str_radix(fields[2].trim_start_matches("0x"), 16).expect("a type");
        let older = number(4).zip(number(5)).map(|(first, second)| raw(first, second));
        let mut newer = raw(number(6).expect("a number"), number(7).expect("a number"));
        newer.multi_count = fields[8].parse().unwrap_or(1);
        let got = double(format_from_raw(kind, Format::DOUBLE, number(3), &newer, older.as_ref()));
        match (got, fields[9].parse::<f64>()) {
            (Ok(got), Ok(expected)) => {
                let tolerance = if fields[0].starts_with('O') { 0.0 } else { expected.abs() * 1e-12 };
                assert!((got - expected).abs() <= tolerance, "{line}: {got}");
            }
            (Err(status), Err(_)) => assert_eq!(status.name(), Some(fields[9]), "{line}"),
            (got, _) => panic!("{line}: {got:?}"),
        }
        count += 1;
    }
    assert_eq!(count, 113);
}

/// The numbers are those of the list of checks in the documentation of `calculate_from_raw`. An input that fails a check also fails
/// the later checks that apply to it.
#[test]
fn the_first_failing_check_determines_the_status() {
    let rate = CounterType::BULK_COUNT.0;
    let format = |kind, base, newer: &RawCounter, older: Option<&RawCounter>| {
        format_from_raw(kind, Format::DOUBLE, Some(base), newer, older).map(|value| value.value)
    };
    let no_value = |status, value_status| Err(NoValue { status, value_status });
    let invalid = PdhStatus::CSTATUS_INVALID_DATA;
    let absent = bad(PdhStatus::NO_INSTANCE);
    // 1. A sample with an error status, which is the status of the value.
    assert_eq!(format(rate, 0, &absent, None), no_value(PdhStatus::INVALID_DATA, PdhStatus::NO_INSTANCE));
    assert_eq!(
        format(rate, 0, &raw(0, 0), Some(&absent)),
        no_value(PdhStatus::INVALID_DATA, PdhStatus::NO_INSTANCE)
    );
    assert_eq!(
        format(CounterType::AVERAGE_BASE.0, 0, &absent, None),
        no_value(PdhStatus::INVALID_DATA, PdhStatus::NO_INSTANCE)
    );
    // A one-sample type ignores the older sample.
    assert_eq!(format(CounterType::RAWCOUNT.0, 0, &raw(3, 0), Some(&absent)), Ok(Value::Double(3.0)));
    // 2. No formula.
    for kind in [CounterType::AVERAGE_BASE, CounterType::TEXT, CounterType::NO_DATA] {
        assert_eq!(format(kind.0, 0, &raw(0, 0), None), no_value(PdhStatus::INVALID_ARGUMENT, invalid));
    }
    assert_eq!(format(0x1234_5678, 0, &raw(0, 0), None), no_value(PdhStatus::FUNCTION_NOT_FOUND, invalid));
    // 3. A two-sample type with only one sample.
    assert_eq!(format(rate, 0, &raw(0, 0), None), no_value(PdhStatus::INVALID_DATA, invalid));
    // 4. to 6. The denominator, the time base, the counter.
    let older = raw(10, 10);
    assert_eq!(format(rate, 0, &raw(5, 5), Some(&older)), no_value(PdhStatus::NEGATIVE_DENOMINATOR, invalid));
    assert_eq!(format(rate, 0, &raw(5, 15), Some(&older)), no_value(PdhStatus::NEGATIVE_TIMEBASE, invalid));
    assert_eq!(format(rate, 1, &raw(5, 15), Some(&older)), no_value(PdhStatus::NEGATIVE_VALUE, invalid));
    // No error: a denominator of 0, an elapsed time without a start, an inverted value below 0.
    assert_eq!(format(rate, 1, &raw(15, 10), Some(&older)), Ok(Value::Double(0.0)));
    assert_eq!(format(CounterType::ELAPSED_TIME.0, 1, &raw(0, 5), None), Ok(Value::Double(0.0)));
    assert_eq!(format(CounterType::TIMER_INV_100NS.0, 1, &raw(25, 20), Some(&older)), Ok(Value::Double(0.0)));
    // A required time base that is missing.
    let result = format_from_raw(rate, Format::DOUBLE, None, &raw(15, 15), Some(&older));
    assert_eq!(result.map(|value| value.value), no_value(PdhStatus::INVALID_ARGUMENT, invalid));
    assert!(format_from_raw(CounterType::RAWCOUNT.0, Format::DOUBLE, None, &raw(1, 0), None).is_ok());
}

/// Every code has Windows' value and name, and the same value in both crates.
#[test]
fn statuses_have_the_codes_and_names_of_windows() {
    let codes = [
        (0x0000_0000, "PDH_CSTATUS_VALID_DATA"),
        (0x0000_0001, "PDH_CSTATUS_NEW_DATA"),
        (0x8000_07D0, "PDH_CSTATUS_NO_MACHINE"),
        (0x8000_07D1, "PDH_CSTATUS_NO_INSTANCE"),
        (0x8000_07D2, "PDH_MORE_DATA"),
        (0x8000_07D3, "PDH_CSTATUS_ITEM_NOT_VALIDATED"),
        (0x8000_07D4, "PDH_RETRY"),
        (0x8000_07D5, "PDH_NO_DATA"),
        (0x8000_07D6, "PDH_CALC_NEGATIVE_DENOMINATOR"),
        (0x8000_07D7, "PDH_CALC_NEGATIVE_TIMEBASE"),
        (0x8000_07D8, "PDH_CALC_NEGATIVE_VALUE"),
        (0x8000_07DA, "PDH_END_OF_LOG_FILE"),
        (0xC000_0BB8, "PDH_CSTATUS_NO_OBJECT"),
        (0xC000_0BB9, "PDH_CSTATUS_NO_COUNTER"),
        (0xC000_0BBA, "PDH_CSTATUS_INVALID_DATA"),
        (0xC000_0BBB, "PDH_MEMORY_ALLOCATION_FAILURE"),
        (0xC000_0BBC, "PDH_INVALID_HANDLE"),
        (0xC000_0BBD, "PDH_INVALID_ARGUMENT"),
        (0xC000_0BBE, "PDH_FUNCTION_NOT_FOUND"),
        (0xC000_0BBF, "PDH_CSTATUS_NO_COUNTERNAME"),
        (0xC000_0BC0, "PDH_CSTATUS_BAD_COUNTERNAME"),
        (0xC000_0BC4, "PDH_INVALID_PATH"),
        (0xC000_0BC5, "PDH_INVALID_INSTANCE"),
        (0xC000_0BC6, "PDH_INVALID_DATA"),
        (0xC000_0BCC, "PDH_NO_MORE_DATA"),
    ];
    for (code, name) in codes {
        assert_eq!(PdhStatus(code).name(), Some(name));
        assert_eq!(Status(code).name(), Some(name));
    }
    for (code, name) in [
        (0xC000_0BD6, "PDH_UNKNOWN_LOG_FORMAT"),
        (0xC000_0BDC, "PDH_LOG_FILE_TOO_SMALL"),
        (0xC000_0BF5, "PDH_INVALID_SQL_LOG_FORMAT"),
        (0xC000_0BF7, "PDH_BINARY_LOG_CORRUPT"),
        (0xC000_0BF8, "PDH_LOG_SAMPLE_TOO_SMALL"),
        (0xC000_0BFB, "PDH_INCORRECT_APPEND_TIME"),
        (0xC000_0BFC, "PDH_UNMATCHED_APPEND_COUNTER"),
    ] {
        assert_eq!(PdhStatus(code).name(), Some(name));
    }
}

#[test]
fn a_format_has_exactly_one_number_type() {
    let format = Format::from_flags;
    for number in [flags::LONG, flags::DOUBLE, flags::LARGE] {
        for more in [0, flags::NOSCALE, flags::TIMES_1000, flags::NOCAP100, flags::NOSCALE | flags::NOCAP100]
        {
            assert_eq!(format(number | more).map(Format::flags), Ok(number | more));
        }
        for wrong in [flags::RAW, flags::ANSI, flags::UNICODE, flags::NODATA, 1, 0x8000_0000] {
            assert_eq!(format(number | wrong), Err(PdhStatus::INVALID_ARGUMENT), "{wrong:#x}");
        }
    }
    for wrong in [0, flags::NOSCALE, flags::LONG | flags::DOUBLE, flags::LARGE | flags::DOUBLE, 0x700] {
        assert_eq!(format(wrong), Err(PdhStatus::INVALID_ARGUMENT), "{wrong:#x}");
    }
}

#[test]
fn values_are_capped_then_scaled_then_converted() {
    let kind = |counter_type, scale| CounterKind { counter_type, time_base: 1, scale };
    let value = |kind: CounterKind, bits, first, second| {
        let format = Format::from_flags(bits).expect("a format");
        calculate_from_raw(&kind, format, &raw(first, second), None).expect("a value").value
    };
    let fraction = kind(CounterType::RAW_FRACTION, 0);
    assert_eq!(value(fraction, flags::DOUBLE, 3, 2), Value::Double(100.0));
    assert_eq!(value(fraction, flags::DOUBLE | flags::NOCAP100, 3, 2), Value::Double(150.0));
    // Only percentages are capped.
    let count = kind(CounterType::LARGE_RAWCOUNT, 0);
    assert_eq!(value(count, flags::DOUBLE, 150, 0), Value::Double(150.0));
    // The scale factor applies unless the format excludes it; the cap is applied first.
    let scaled = kind(CounterType::LARGE_RAWCOUNT, 2);
    assert_eq!(value(scaled, flags::LARGE, 10, 0), Value::Large(1000));
    assert_eq!(value(scaled, flags::LARGE | flags::NOSCALE, 10, 0), Value::Large(10));
    assert_eq!(value(kind(CounterType::RAW_FRACTION, 1), flags::DOUBLE, 3, 2), Value::Double(1000.0));
    assert_eq!(value(count, flags::LARGE | flags::TIMES_1000, 10, 0), Value::Large(10_000));
    assert_eq!(value(scaled, flags::LARGE | flags::TIMES_1000, 10, 0), Value::Large(1_000_000));
    // Truncated toward zero, saturated at the ends of the range.
    let tenth = kind(CounterType::LARGE_RAWCOUNT, -1);
    assert_eq!(value(tenth, flags::LONG, 29, 0), Value::Long(2));
    assert_eq!(value(tenth, flags::LONG, -29, 0), Value::Long(-2));
    assert_eq!(value(tenth, flags::LARGE, -29, 0), Value::Large(-2));
    assert_eq!(value(count, flags::LONG, i64::MAX, 0), Value::Long(i32::MAX));
    assert_eq!(value(count, flags::LONG, i64::MIN, 0), Value::Long(i32::MIN));
    assert_eq!(value(scaled, flags::LARGE, i64::MAX, 0), Value::Large(i64::MAX));
}

/// The counter of the article and its raw values.
fn article() -> (CounterKind, Vec<RawCounter>) {
    let kind = CounterKind { counter_type: CounterType::AVERAGE_TIMER, time_base: 14_318_180, scale: 0 };
    let mut entries = vec![raw(0, 0)];
    entries.extend([raw(2_147_727, 1); 10]);
    (kind, entries)
}

/// The example of Microsoft's article about averages of counters.
#[test]
fn statistics_equal_those_of_the_article() {
    let (kind, entries) = article();
    let valid = |double| FormattedValue { status: PdhStatus::VALID_DATA, value: Value::Double(double) };
    for first in 0..entries.len() {
        // The oldest entry of the ring can be at any index.
        let mut ring = entries.clone();
        ring.rotate_right(first);
        let statistics = compute_statistics(&kind, Format::DOUBLE, first, &ring).expect("numbers");
        assert_eq!(statistics.count, 11);
        assert_eq!(statistics.mean, valid(0.15));
        assert_eq!((statistics.minimum, statistics.maximum), (valid(0.0), valid(0.15)));
    }
    // In milliseconds, as integers.
    let format = Format::from_flags(flags::LONG | flags::TIMES_1000).expect("a format");
    let mean = compute_statistics(&kind, format, 0, &entries).expect("numbers").mean.value;
    assert_eq!(mean, Value::Long(150));
}

#[test]
fn statistics_are_computed_from_the_valid_values() {
    let double = |value: FormattedValue| match value {
        FormattedValue { status: PdhStatus::VALID_DATA, value: Value::Double(double) } => Some(double),
        FormattedValue { status: PdhStatus::CSTATUS_INVALID_DATA, value: Value::Double(0.0) } => None,
        other => panic!("{other:?}"),
    };
    let figures = |counter_type, bits, entries: &[RawCounter]| {
        let kind = CounterKind { counter_type, time_base: 1, scale: 0 };
        let format = Format::from_flags(flags::DOUBLE | bits).expect("a format");
        let all = compute_statistics(&kind, format, 0, entries).expect("numbers");
        [all.minimum, all.mean, all.maximum].map(double)
    };
    // The mean of counts is arithmetic; that of rates is the difference divided by the whole time.
    let counts = [raw(4, 0), raw(8, 0), raw(3, 0)];
    assert_eq!(figures(CounterType::RAWCOUNT, 0, &counts), [Some(3.0), Some(5.0), Some(8.0)]);
    let rates = [raw(0, 0), raw(10, 1), raw(40, 10)];
    assert_eq!(figures(CounterType::BULK_COUNT, 0, &rates), [Some(30.0 / 9.0), Some(4.0), Some(10.0)]);
    // Entries with an error are skipped, and values before and after them are not paired.
    let with_gap = [raw(0, 0), raw(10, 1), bad(PdhStatus::NO_INSTANCE), raw(500, 2), raw(530, 4)];
    let [least, mean, most] = figures(CounterType::BULK_COUNT, 0, &with_gap);
    assert_eq!((least, most), (Some(10.0), Some(15.0)));
    assert!((mean.expect("a mean") - 40.0 / 3.0).abs() < 1e-12);
    // Only percentages are capped.
    let busy = [raw(0, 0), raw(3, 1), raw(4, 2)];
    assert_eq!(figures(CounterType::TIMER_100NS, 0, &busy), [Some(100.0); 3]);
    let uncapped = figures(CounterType::TIMER_100NS, flags::NOCAP100, &busy);
    assert_eq!(uncapped, [Some(100.0), Some(200.0), Some(300.0)]);
    // A two-sample type with only one sample; no valid value at all.
    assert_eq!(figures(CounterType::BULK_COUNT, 0, &rates[..1]), [None; 3]);
    assert_eq!(figures(CounterType::RAWCOUNT, 0, &[bad(PdhStatus::NO_MACHINE)]), [None; 3]);
}

#[test]
fn statistics_reject_invalid_arguments() {
    let (kind, entries) = article();
    let status = |kind: &CounterKind, first, entries: &[RawCounter]| {
        compute_statistics(kind, Format::DOUBLE, first, entries).expect_err("an invalid argument")
    };
    assert_eq!(status(&kind, 0, &[]), PdhStatus::INVALID_ARGUMENT);
    assert_eq!(status(&kind, entries.len(), &entries), PdhStatus::INVALID_ARGUMENT);
    assert_eq!(status(&kind, usize::MAX, &entries), PdhStatus::INVALID_ARGUMENT);
    let base = CounterKind { counter_type: CounterType::AVERAGE_BASE, ..kind };
    assert_eq!(status(&base, 0, &entries), PdhStatus::INVALID_ARGUMENT);
    let unknown = CounterKind { counter_type: CounterType(0x1234_5678), ..kind };
    assert_eq!(status(&unknown, 0, &entries), PdhStatus::FUNCTION_NOT_FOUND);
}
