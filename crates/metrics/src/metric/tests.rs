use tachograph_counters::CounterType;
use tachograph_perflib::registration::CounterInfo;

use super::*;

/// The stems, units and kinds of a counter's metrics.
fn metrics(name: &str, unit: &str, counter_type: CounterType) -> Vec<(String, String, Kind)> {
    let mut counter = CounterInfo::new(1, name, counter_type);
    counter.unit = unit.to_owned().into();
    metrics_of("Shop", &counter, MetricNames::Current)
        .into_iter()
        .map(|metric| (metric.stem, metric.unit, metric.kind))
        .collect()
}

fn expected(metrics: &[(&str, &str, Kind)]) -> Vec<(String, String, Kind)> {
    metrics.iter().map(|&(stem, unit, kind)| (stem.to_owned(), unit.to_owned(), kind)).collect()
}

#[test]
fn metrics_depend_on_the_formula() {
    use Kind::{Counter, Gauge};
    type Expected = (&'static str, &'static str, Kind);
    let cases: [(&str, &str, CounterType, &[Expected]); 9] = [
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
    for (name, unit, counter_type, expected_metrics) in cases {
        assert_eq!(metrics(name, unit, counter_type), expected(expected_metrics), "{name}");
    }
}

#[test]
fn help_begins_with_the_relation_to_the_displayed_value() {
    let prefixes = |name: &str, kind: CounterType| -> Vec<String> {
        let counter = CounterInfo::new(1, name, kind);
        metrics_of("Shop", &counter, MetricNames::Current)
            .into_iter()
            .map(|metric| metric.help_prefix)
            .collect()
    };
    assert_eq!(prefixes("Baskets", CounterType::LARGE_RAWCOUNT), [""]);
    assert_eq!(prefixes("Bytes Sent/sec", CounterType::BULK_COUNT), ["Bytes Sent, cumulative; the rate is "]);
    assert_eq!(prefixes("Sales per Second", CounterType::BULK_COUNT), ["Sales, cumulative; the rate is "]);
    assert_eq!(prefixes("/sec", CounterType::BULK_COUNT), ["/sec, cumulative; the rate is "]);
    assert_eq!(prefixes("% Busy Time", CounterType::TIMER_100NS), [TIME]);
    assert_eq!(prefixes("Avg. sec/Request", CounterType::AVERAGE_TIMER), [SUM, COUNT]);
    // The HELP text of a metric of type `counter` never begins with the displayed name, because the metric has another meaning.
    for kind in CounterType::all() {
        let counter = CounterInfo::new(1, "Name/sec", kind);
        let metrics = metrics_of("Shop", &counter, MetricNames::Current);
        assert!(
            metrics.iter().all(|metric| metric.kind == Kind::Gauge || !metric.help_prefix.is_empty()),
            "{kind}"
        );
    }
}

#[test]
fn text_counters_are_not_exported() {
    assert!(metrics("Text", "", CounterType::TEXT).is_empty());
}
