//! Properties: for any arguments, results agree with the formulas and with the grammar, and nothing panics.

use proptest::prelude::*;
use tachograph_counters::civil::FileTime;
use tachograph_counters::{Calculator, CounterType, FormatOptions, RawValue, Status, Suffix};
use tachograph_pdh::{
    CounterKind, Format, PathElements, PdhStatus, RawCounter, Value, calculate_from_raw, compute_statistics,
    flags, format_from_raw, make_counter_path, parse_counter_path, parse_instance_name,
};

fn counter_type() -> impl Strategy<Value = CounterType> {
    let known: Vec<_> = CounterType::all().collect();
    prop_oneof![9 => prop::sample::select(known), 1 => any::<u32>().prop_map(CounterType)]
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![0..1000_i64, any::<i64>(), Just(i64::MAX), Just(i64::MIN)]
}

fn raw() -> impl Strategy<Value = RawCounter> {
    let status = prop_oneof![9 => Just(PdhStatus::VALID_DATA), 1 => Just(PdhStatus::NEW_DATA),
        1 => Just(PdhStatus::NO_INSTANCE), 1 => any::<u32>().prop_map(PdhStatus)];
    (status, number(), number(), number(), any::<u32>()).prop_map(
        |(status, time, first, second, multi_count)| RawCounter {
            status,
            time_stamp: FileTime(time),
            first,
            second,
            multi_count,
        },
    )
}

fn format() -> impl Strategy<Value = Format> {
    let number = prop::sample::select(vec![flags::LONG, flags::DOUBLE, flags::LARGE]);
    let modifiers =
        prop::sample::subsequence(vec![flags::NOSCALE, flags::TIMES_1000, flags::NOCAP100], 0..=3);
    (number, modifiers).prop_map(|(number, modifiers)| {
        Format::from_flags(modifiers.iter().fold(number, |all, one| all | one)).expect("a format")
    })
}

fn value_of(raw: &RawCounter) -> RawValue {
    RawValue {
        first: raw.first,
        second: raw.second,
        multi_count: raw.multi_count,
        status: Status(raw.status.0),
    }
}

proptest! {
    #[test]
    fn formatted_values_agree_with_the_formulas(
        counter_type in counter_type(),
        time_base in number(),
        scale in -7_i8..=7,
        format in format(),
        newer in raw(),
        older in prop::option::of(raw()),
    ) {
        let kind = CounterKind { counter_type, time_base, scale };
        let options = FormatOptions {
            cap_at_100: format.flags() & flags::NOCAP100 == 0,
            scale: if format.flags() & flags::NOSCALE == 0 { scale } else { 0 },
            times_1000: format.flags() & flags::TIMES_1000 != 0,
            unwrap_32_bit: false,
        };
        let older_value = older.as_ref().map(value_of);
        let expected =
            Calculator::new(counter_type, time_base).format(older_value.as_ref(), &value_of(&newer), &options);
        let got = calculate_from_raw(&kind, format, &newer, older.as_ref());
        match (got, expected) {
            (Ok(got), Ok(expected)) => {
                prop_assert_eq!(got.status, PdhStatus::VALID_DATA);
                match got.value {
                    Value::Double(double) => prop_assert_eq!(double.to_bits(), expected.to_bits()),
                    Value::Long(long) => prop_assert_eq!(long, expected as i32),
                    Value::Large(large) => prop_assert_eq!(large, expected as i64),
                }
            }
            (Err(error), Err(expected)) => {
                prop_assert_eq!(error.status.0, expected.0);
                prop_assert!(error.value_status.is_error());
            }
            (got, expected) => prop_assert!(false, "{got:?}, {expected:?}"),
        }
        // `format_from_raw` knows no counter and so no scale factor: its result is that of scale 0.
        let unscaled = CounterKind { scale: 0, ..kind };
        prop_assert_eq!(
            format_from_raw(counter_type.0, format, Some(time_base), &newer, older.as_ref()),
            calculate_from_raw(&unscaled, format, &newer, older.as_ref())
        );
    }

    /// If the raw values never decrease, the mean is computed by the formula from the first and the last raw value.
    #[test]
    fn means_are_computed_from_first_and_last(
        counter_type in prop::sample::select(vec![
            CounterType::BULK_COUNT, CounterType::TIMER_100NS, CounterType::AVERAGE_TIMER,
            CounterType::AVERAGE_BULK, CounterType::SAMPLE_FRACTION, CounterType::TIMER_INV_100NS,
        ]),
        time_base in 1..1_000_000_i64,
        steps in prop::collection::vec((0..1000_i64, 1..1000_i64), 1..20),
        rotation in 0..20_usize,
    ) {
        let mut entries = vec![RawCounter::default()];
        for (n, d) in steps {
            let last = entries[entries.len() - 1];
            entries.push(RawCounter { first: last.first + n, second: last.second + d, ..last });
        }
        let kind = CounterKind { counter_type, time_base, scale: 0 };
        let whole =
            calculate_from_raw(&kind, Format::DOUBLE, &entries[entries.len() - 1], entries.first()).expect("a value");
        let first = rotation % entries.len();
        entries.rotate_right(first);
        let statistics = compute_statistics(&kind, Format::DOUBLE, first, &entries).expect("numbers");
        prop_assert_eq!(statistics.mean, whole);
        let [Value::Double(least), Value::Double(mean), Value::Double(most)] =
            [statistics.minimum, statistics.mean, statistics.maximum].map(|figure| figure.value)
        else { panic!("doubles") };
        prop_assert!(least <= mean * (1.0 + 1e-9) && mean <= most * (1.0 + 1e-9), "{least} {mean} {most}");
    }

    #[test]
    fn statistics_accept_any_input(
        counter_type in counter_type(),
        time_base in number(),
        scale in -7_i8..=7,
        format in format(),
        first in 0..12_usize,
        entries in prop::collection::vec(raw(), 0..10),
    ) {
        let kind = CounterKind { counter_type, time_base, scale };
        match compute_statistics(&kind, format, first, &entries) {
            Ok(statistics) => {
                prop_assert!(first < entries.len() && counter_type.formula().is_some());
                prop_assert_eq!(statistics.count as usize, entries.len());
                for figure in [statistics.minimum, statistics.maximum, statistics.mean] {
                    if let Value::Double(double) = figure.value {
                        prop_assert!(double.is_finite());
                        let is_capped =
                            format.flags() & (flags::NOCAP100 | flags::TIMES_1000) == 0
                            && counter_type.suffix() == Suffix::Percent;
                        prop_assert!(!is_capped || scale > 0 || double <= 100.0);
                    }
                }
            }
            Err(_) => prop_assert!(first >= entries.len() || counter_type.formula().is_none()),
        }
    }

    #[test]
    fn parsed_paths_round_trip(
        machine in prop::option::of("[A-Za-z0-9._-]{1,8}"),
        object in "[A-Za-z .:%#]{1,12}",
        instance in prop::option::of(r"[A-Za-z0-9 .:,/#\\_*?\[\]-]{1,16}"),
        counter in "[A-Za-z /%#.]{1,16}",
    ) {
        let machine = machine.map(|machine| format!(r"\\{machine}")).unwrap_or_default();
        let instance = instance.map(|instance| format!("({instance})")).unwrap_or_default();
        let path = format!(r"{machine}\{object}{instance}\{counter}");
        let parts = parse_counter_path(&path, 0).expect("a path");
        prop_assert_eq!(make_counter_path(&parts, 0), Ok(path));
    }

    /// A composed path is parsed into the same parts, unless composing it fails.
    #[test]
    fn composed_paths_round_trip(
        machine in prop::option::of(".{0,6}"),
        object in ".{0,8}",
        parent in prop::option::of("[a-z]{1,4}"),
        instance in prop::option::of(".{0,8}"),
        index in prop_oneof![Just(0), 1..20_u32, any::<u32>()],
        counter in ".{0,8}",
    ) {
        let elements = PathElements { machine, object, instance, parent, index, counter };
        if let Ok(path) = make_counter_path(&elements, 0) {
            let parts = parse_counter_path(&path, 0).expect("a checked path");
            prop_assert_eq!(&parts.object, &elements.object);
            prop_assert_eq!(&parts.counter, &elements.counter);
            prop_assert_eq!(parts.instance.is_some(), elements.instance.is_some());
            prop_assert_eq!(make_counter_path(&parts, 0), Ok(path));
        }
    }

    #[test]
    fn parsing_accepts_any_text(text in r"[\\/()#*a-z0-9 ]{0,30}|.{0,40}") {
        if let Ok(parts) = parse_counter_path(&text, 0) {
            prop_assert!(!parts.object.is_empty() && !parts.counter.is_empty());
        }
        if let Ok(parts) = parse_instance_name(&text) {
            prop_assert!(!parts.name.is_empty());
        }
    }

    #[test]
    fn accepted_formats_have_exactly_one_number_type(bits in prop_oneof![any::<u32>(), (0..16_u32).prop_map(|bit| 1 << bit)]) {
        if let Ok(format) = Format::from_flags(bits) {
            prop_assert_eq!(format.flags(), bits);
            prop_assert_eq!((bits & 0x700).count_ones(), 1);
            prop_assert_eq!(bits & !0xB700, 0);
        }
    }
}
