use tachograph_counters::CounterType;
use tachograph_perflib::registration::CounterInfo;

use super::*;

/// The metrics of a counter of a program's set: stem, unit and kind.
fn metrics(name: &str, unit: &str, counter_type: CounterType) -> Vec<(String, String, Kind)> {
    let mut counter = CounterInfo::new(1, name, counter_type);
    counter.unit = unit.to_owned().into();
    metrics_of("Shop", &counter).into_iter().map(|metric| (metric.stem, metric.unit, metric.kind)).collect()
}

fn expected(metrics: &[(&str, &str, Kind)]) -> Vec<(String, String, Kind)> {
    metrics.iter().map(|&(stem, unit, kind)| (stem.to_owned(), unit.to_owned(), kind)).collect()
}

#[test]
fn every_formula_has_its_numbers() {
    use Kind::{Counter, Gauge};
    type Wanted = (&'static str, &'static str, Kind);
    let cases: [(&str, &str, CounterType, &[Wanted]); 9] = [
        ("Baskets", "", CounterType::LARGE_RAWCOUNT, &[("baskets", "", Gauge)]),
        ("Requests/sec", "1/s", CounterType::BULK_COUNT, &[("requests", "", Counter)]),
        ("Bytes Sent/sec", "bytes/s", CounterType::BULK_COUNT, &[("sent", "bytes", Counter)]),
        (
            "Avg. sec/Request",
            "seconds",
            CounterType::AVERAGE_TIMER,
            &[("request", "seconds", Counter), ("requests", "", Counter)],
        ),
        (
            "Avg. Bytes/Request",
            "bytes",
            CounterType::AVERAGE_BULK,
            &[("request", "bytes", Counter), ("requests", "", Counter)],
        ),
        ("% Busy Time", "%", CounterType::TIMER_100NS, &[("busy", "seconds", Counter)]),
        ("% Busy Time", "%", CounterType::TIMER_INV_100NS, &[("non_busy", "seconds", Counter)]),
        (
            "% Full",
            "%",
            CounterType::RAW_FRACTION,
            &[("full_numerator", "", Gauge), ("full_denominator", "", Gauge)],
        ),
        ("Temperature", "°C", CounterType::DOUBLE_RAW, &[("temperature", "celsius", Gauge)]),
    ];
    for (name, unit, counter_type, wanted) in cases {
        assert_eq!(metrics(name, unit, counter_type), expected(wanted), "{name}");
    }
}

#[test]
fn help_says_what_is_counted_before_what_windows_shows() {
    let about = |name: &str, kind: CounterType| -> Vec<String> {
        let counter = CounterInfo::new(1, name, kind);
        metrics_of("Shop", &counter).into_iter().map(|metric| metric.about).collect()
    };
    assert_eq!(about("Baskets", CounterType::LARGE_RAWCOUNT), [""]);
    assert_eq!(about("Bytes Sent/sec", CounterType::BULK_COUNT), ["Bytes Sent, counted up; the rate is "]);
    assert_eq!(about("Sales per Second", CounterType::BULK_COUNT), ["Sales, counted up; the rate is "]);
    assert_eq!(about("/sec", CounterType::BULK_COUNT), ["/sec, counted up; the rate is "]);
    assert_eq!(about("% Busy Time", CounterType::TIMER_100NS), [TIME]);
    assert_eq!(about("Avg. sec/Request", CounterType::AVERAGE_TIMER), [SUM, NUMBER]);
    // All that only grows says so: none begins with the name that Windows shows.
    for kind in CounterType::all() {
        let counter = CounterInfo::new(1, "Name/sec", kind);
        let metrics = metrics_of("Shop", &counter);
        assert!(
            metrics.iter().all(|metric| metric.kind == Kind::Gauge || !metric.about.is_empty()),
            "{kind}"
        );
    }
}

#[test]
fn what_has_no_number_is_not_exported() {
    assert!(metrics("Text", "", CounterType::TEXT).is_empty());
}
