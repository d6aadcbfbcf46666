//! Counter type, unit and displayed value for each type, semantics and unit of a metric.

use tachograph_counters::{CounterType, Status};
use tachograph_mmv::image_providers;

use crate::sampling::{at, collect, formatted, raw};
use crate::writer::{
    BYTES, COUNT, COUNTER, DISCRETE, DOUBLE, ELAPSED, FLAG_SENTINEL, FLOAT, File, I32, I64, INSTANT,
    MICROSECONDS, MILLISECONDS, Metric, NANOSECONDS, SECONDS, STRING, U32, U64, units,
};

const MINUTES: u32 = 0x0100_4000;

/// Each case has a type, semantics and units; the counter type and unit; two raw values that are ten seconds apart; and the
/// displayed value.
#[test]
fn metrics_become_counters_of_the_right_type() {
    use CounterType as T;
    let float = |value: f32| u64::from(value.to_bits());
    let signed = |value: i64| value.cast_unsigned();
    let cases = [
        (I32, INSTANT, COUNT, T::LARGE_RAWCOUNT, "", 5, u64::from((-3_i32).cast_unsigned()), -3.0),
        (U32, INSTANT, BYTES, T::LARGE_RAWCOUNT, "bytes", 5, 4_294_967_295, 4_294_967_295.0),
        (I64, DISCRETE, 0, T::LARGE_RAWCOUNT, "", 5, signed(-7), -7.0),
        (U64, INSTANT, MILLISECONDS, T::LARGE_RAWCOUNT, "ms", 5, 250, 250.0),
        (FLOAT, INSTANT, 0, T::DOUBLE_RAW, "", float(0.0), float(0.5), 0.5),
        (DOUBLE, DISCRETE, SECONDS, T::DOUBLE_RAW, "seconds", 0, 0.25_f64.to_bits(), 0.25),
        (DOUBLE, COUNTER, COUNT, T::DOUBLE_RAW, "", 0, 1e6_f64.to_bits(), 1e6),
        (I32, COUNTER, COUNT, T::COUNTER_COUNTER, "1/s", 100, 250, 15.0),
        (U32, COUNTER, BYTES, T::COUNTER_COUNTER, "bytes/s", 100, 250, 15.0),
        (U64, COUNTER, COUNT, T::BULK_COUNT, "1/s", 100, 250, 15.0),
        (I64, COUNTER, units([1, 0, 0], [1, 0, 0]), T::BULK_COUNT, "KiB/s", 100, 250, 15.0),
        (U64, COUNTER, units([0, 0, 1], [0, 0, 3]), T::BULK_COUNT, "10^3/s", 0, 20, 2.0),
        (U64, COUNTER, NANOSECONDS, T::PRECISION_SYSTEM_TIMER, "%", 1, 2_500_000_001, 25.0),
        (U64, COUNTER, MICROSECONDS, T::TIMER_100NS, "%", 1, 2_500_001, 25.0),
        (U32, COUNTER, MILLISECONDS, T::TIMER_100NS, "%", 1, 2_501, 25.0),
        (I64, COUNTER, SECONDS, T::TIMER_100NS, "%", 1, 6, 50.0),
        (U64, COUNTER, MINUTES, T::TIMER_100NS, "%", 0, 1, 600.0),
        (ELAPSED, COUNTER, MICROSECONDS, T::TIMER_100NS, "%", 0, 1_000_000, 10.0),
        (ELAPSED, COUNTER, COUNT, T::TIMER_100NS, "%", 0, 1_000_000, 10.0),
        (ELAPSED, INSTANT, MICROSECONDS, T::LARGE_RAWCOUNT, "us", 0, 1_000_000, 1e6),
    ];
    for version in [1, 2, 3] {
        for (kind, semantics, units, counter_type, unit, before, after, expected) in cases {
            let rows_of = |bits: u64, seconds| {
                let mut file = File::new(version);
                file.metrics.push(Metric::new("m", 1, kind, semantics, units).value(bits));
                let mut sets = image_providers("x", &file.image().bytes).expect("read");
                sets[0].info().check().expect("a registration");
                collect(&mut *sets[0], at(seconds))
            };
            let (older, newer) = (rows_of(before, 100), rows_of(after, 110));
            let case = format!("version {version}: {kind} {semantics} {units:#x}");
            let info = &newer.info().counters[0];
            assert_eq!((info.counter_type, &*info.unit), (counter_type, unit), "{case}");
            assert_eq!(formatted(&older, &newer, "", "m"), Ok(expected), "{case}");
        }
    }
}

#[test]
fn an_interval_in_progress_counts_up_to_now() {
    // The machine of the tests was booted 1,767,225,600 s after 1970-01-01.
    let start_us = |second: i64| -(1_767_225_600 + second) * 1_000_000;
    let cases = [
        (COUNTER, MICROSECONDS, 5, 30_000_050),
        (COUNTER, NANOSECONDS, 5_000, 3_000_005_000),
        (COUNTER, MILLISECONDS, 5, 30_050_000),
        (INSTANT, MICROSECONDS, 5, 3_000_005),
        (INSTANT, MILLISECONDS, 5, 3_005),
        (INSTANT, SECONDS, 5, 8),
    ];
    for (semantics, units, value, expected) in cases {
        let mut file = File::new(1);
        let mut metric = Metric::new("m", 1, ELAPSED, semantics, units);
        metric.values = vec![(value, start_us(97))];
        file.metrics.push(metric.clone());
        let rows_of = |file: &File, seconds| {
            let mut sets = image_providers("x", &file.image().bytes).expect("read");
            raw(&collect(&mut *sets[0], at(seconds)), "", "m")
        };
        assert_eq!(rows_of(&file, 100).first, expected, "{semantics} {units:#x}");

        // The wall clock was set back after the start: no time has passed.
        let without_interval = rows_of(&file, 50).first;
        file.metrics[0].values = vec![(value, 0)];
        assert_eq!(rows_of(&file, 50).first, without_interval, "{semantics} {units:#x}");

        for bad in [1, i64::MAX] {
            file.metrics[0].values = vec![(value, bad)];
            assert!(rows_of(&file, 100).status.is_error(), "{semantics} {units:#x}");
        }
        file.metrics[0].values = vec![(value, i64::MIN)];
        assert_eq!(rows_of(&file, 100).first, without_interval, "a start in the far future is ignored");
    }
}

#[test]
fn invalid_values_are_errors_with_a_reason() {
    let cases = [
        (U64, INSTANT, COUNT, u64::MAX, "the value does not fit in a signed 64-bit integer"),
        (U64, COUNTER, SECONDS, 1 << 50, "the value does not fit in a signed 64-bit integer"),
        (DOUBLE, INSTANT, COUNT, f64::NAN.to_bits(), "the value is not a finite number"),
        (DOUBLE, INSTANT, COUNT, f64::INFINITY.to_bits(), "the value is not a finite number"),
        (FLOAT, COUNTER, COUNT, f32::NEG_INFINITY.to_bits().into(), "the value is not a finite number"),
    ];
    for (kind, semantics, units, bits, reason) in cases {
        let mut file = File::new(1);
        file.metrics.push(Metric::new("m", 1, kind, semantics, units).value(bits));
        let mut sets = image_providers("x", &file.image().bytes).expect("read");
        let rows = collect(&mut *sets[0], at(1));
        assert!(raw(&rows, "", "m").status.is_error());
        assert_eq!(&*rows.errors()[0].reason, reason);
    }
}

/// With the flag `SENTINEL`, 64 set bits or NaN mean a missing value, as in PCP's agent.
#[test]
fn sentinels_are_missing_values() {
    let cases = [
        (I32, u64::MAX, true),
        (I32, u64::from(u32::MAX), false),
        (U32, u64::MAX, true),
        (I64, u64::MAX, true),
        (ELAPSED, u64::MAX, true),
        (U64, u64::MAX, true),
        (U64, u64::MAX - 1, false),
        (DOUBLE, f64::NAN.to_bits(), true),
        (DOUBLE, (-1.0_f64).to_bits(), false),
        (FLOAT, f32::NAN.to_bits().into(), true),
    ];
    for (kind, bits, is_absent) in cases {
        let mut file = File::new(1);
        file.metrics.push(Metric::new("m", 1, kind, INSTANT, COUNT).value(bits));
        let status = |file: &File| {
            let mut sets = image_providers("x", &file.image().bytes).expect("read");
            raw(&collect(&mut *sets[0], at(1)), "", "m").status
        };
        assert_ne!(status(&file), Status::NO_INSTANCE, "{kind} {bits:#x}");
        file.flags = FLAG_SENTINEL;
        assert_eq!(status(&file) == Status::NO_INSTANCE, is_absent, "{kind} {bits:#x}");
    }
}

#[test]
fn metrics_that_are_not_numeric_are_skipped() {
    for (kind, semantics) in
        [(STRING, DISCRETE), (7, INSTANT), (8, INSTANT), (-1, INSTANT), (U64, 2), (U64, 0)]
    {
        let mut file = File::new(1);
        file.metrics.push(Metric::new("m", 1, kind, semantics, COUNT));
        assert!(image_providers("x", &file.image().bytes).expect("read").is_empty(), "{kind} {semantics}");
        file.metrics.push(Metric::new("n", 2, U64, COUNTER, COUNT));
        let sets = image_providers("x", &file.image().bytes).expect("read");
        assert_eq!(sets[0].info().counters.len(), 1);
    }
}
