use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterInfo, InstanceType};

use super::*;

fn set(name: &str, number: u128, counters: &[(&str, CounterType)]) -> Arc<CounterSetInfo> {
    let mut info = CounterSetInfo::new(name, Guid::from_u128(number), InstanceType::Single);
    info.counters = (1..).zip(counters).map(|(id, &(name, kind))| CounterInfo::new(id, name, kind)).collect();
    Arc::new(info)
}

#[test]
fn no_name_comes_twice_whatever_the_sets_are_called() {
    let rate = CounterType::BULK_COUNT;
    let sets = [
        set("A", 1 << 100, &[("B C/sec", rate), ("B C per sec", rate), ("B  C/sec", rate)]),
        set("A B", 2 << 100, &[("C/sec", rate), ("C", CounterType::LARGE_RAWCOUNT)]),
        set("a-b", 3 << 100, &[("C/sec", rate)]),
        set("Read", 4 << 100, &[("Errors/sec", rate)]),
        set("Größe", 5 << 100, &[("%", rate), ("!", rate)]),
    ];
    let names = Catalog::new(&sets).names();
    let metrics: HashSet<_> = names.iter().map(|name| name.metric.clone()).collect();
    assert_eq!(metrics.len(), names.len(), "{names:?}");
    assert!(metrics.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')));
    assert!(!metrics.contains("tacho_read_errors_total"), "that is the exporter's own");
}

#[test]
fn help_stays_on_its_line() {
    let mut out = String::new();
    escape_help(&mut out, "a\nb \\ \"c\"\r", Exposition::OpenMetrics);
    assert_eq!(out, "a\\nb \\\\ \\\"c\\\"\u{fffd}");
    out.clear();
    escape_help(&mut out, "\"c\"", Exposition::PrometheusText);
    assert_eq!(out, "\"c\"");
}
