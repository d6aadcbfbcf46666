//! `/metrics`: names never change, and promtool accepts the output.

mod mentions;
mod shop;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use shop::registry;
use tachograph_counters::path::PathPattern;
use tachograph_metrics::{Exporter, Exposition, MetricMapping, MetricNames, MetricsOptions, metric_mappings};
use tachograph_perflib::{Clock, Registry};
use tachograph_system::Roots;

fn exporter(registry: &Arc<Registry>) -> Exporter {
    Exporter::new(registry, MetricsOptions::default()).expect("this machine")
}

/// All sets of the machine that the tests run on.
fn this_machine() -> Arc<Registry> {
    let mut registry = Registry::new("here", Clock::of_this_machine());
    for provider in tachograph_system::providers(&Roots::of_this_machine()) {
        registry.register(provider).expect("no set is registered twice");
    }
    Arc::new(registry)
}

/// The values of the samples, by name with labels. Checks that no sample and no `# TYPE` line occurs twice.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut heads = BTreeSet::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# TYPE ") {
            assert!(heads.insert(head.to_owned()), "twice: {head}");
        }
        if line.starts_with('#') {
            continue;
        }
        let (key, value) = line.rsplit_once(' ').expect("a key and a value");
        let value = value.parse().expect("a number");
        assert!(samples.insert(key.to_owned(), value).is_none(), "twice: {key}");
    }
    samples
}

/// The output of `promtool check metrics`; `None` if promtool is not installed.
fn promtool(text: &str) -> Option<String> {
    let child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: promtool is not installed");
        return None;
    };
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("promtool reads its input");
    let output = child.wait_with_output().expect("promtool ends");
    let findings =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Some(if output.status.success() { findings } else { format!("{findings} ({})", output.status) })
}

/// All sets and counters that a machine can have.
fn all_mappings(names: MetricNames) -> Vec<MetricMapping> {
    let sets: Vec<_> =
        tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets()).collect();
    metric_mappings(&sets, names)
}

/// Checks that no line of a file of names has changed. If `TACHO_UPDATE` is set, replaces the file, so that it also has the new
/// names.
fn check_frozen(file: &str, lines: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    let mut frozen = std::fs::read_to_string(&file).expect("the frozen names");
    let now: BTreeSet<&str> = lines.lines().collect();
    for line in frozen.lines() {
        assert!(now.contains(line), "a published metric has changed or disappeared: {line}");
    }
    if std::env::var_os("TACHO_UPDATE").is_some() {
        std::fs::write(&file, lines).expect("written");
        frozen = lines.to_owned();
    }
    assert_eq!(
        lines, frozen,
        "new metrics: TACHO_UPDATE=1 cargo test -p tachograph-metrics --test metrics names"
    );
}

#[test]
fn names_never_change() {
    let mut lines = String::from("set\tcounter\tnumber\tmetric\tkind\tunit\tlabels\texported\n");
    for name in all_mappings(MetricNames::Current) {
        let MetricMapping { set, counter, number, metric, kind, unit, labels, is_sum } = name;
        let labels = labels.join(",");
        let exported = if is_sum { "if named" } else { "" };
        let _ = writeln!(lines, "{set}\t{counter}\t{number}\t{metric}\t{kind}\t{unit}\t{labels}\t{exported}");
    }
    check_frozen("frozen.tsv", &lines);
}

#[test]
fn old_names_never_change() {
    let mut lines = String::from("set\tcounter\tnumber\tmetric\tkind\tunit\n");
    for name in all_mappings(MetricNames::Old) {
        let MetricMapping { set, counter, number, metric, kind, unit, .. } = name;
        let _ = writeln!(lines, "{set}\t{counter}\t{number}\t{metric}\t{kind}\t{unit}");
    }
    check_frozen("frozen_old.tsv", &lines);
}

#[test]
fn equal_names_have_equal_kind_and_unit() {
    for names in [MetricNames::Current, MetricNames::Old] {
        let mut kinds: BTreeMap<String, (&str, String)> = BTreeMap::new();
        for name in all_mappings(names) {
            let known = kinds.entry(name.metric.clone()).or_insert((name.kind, name.unit.clone()));
            assert_eq!(*known, (name.kind, name.unit.clone()), "{}", name.metric);
            assert_eq!(name.kind == "counter", name.metric.ends_with("_total"), "{}", name.metric);
        }
    }
}

/// Each word occurs only once in a name, whether singular or plural.
#[test]
fn names_do_not_repeat_words() {
    let singular = |word: &str| match word.ends_with("ss") {
        true => word.to_owned(),
        false => word.trim_end_matches('s').to_owned(),
    };
    let repeated: BTreeSet<String> = all_mappings(MetricNames::Current)
        .into_iter()
        .map(|name| name.metric)
        .filter(|metric| {
            let mut seen = BTreeSet::new();
            !metric.split('_').all(|word| seen.insert(singular(word)))
        })
        .collect();
    // Exceptions: the pages of one size of huge pages, and the process that created a process.
    let expected = [
        "tacho_huge_page_free_pages",
        "tacho_huge_page_reserved_pages",
        "tacho_huge_page_surplus_pages",
        "tacho_process_creating_process_id",
        "tacho_process_v2_creating_process_id",
    ];
    assert_eq!(repeated.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn sums_are_exported_only_if_a_path_names_them() {
    let registry = this_machine();
    let sums: BTreeSet<String> = all_mappings(MetricNames::Current)
        .into_iter()
        .filter(|name| name.is_sum)
        .map(|name| name.metric)
        .collect();
    assert!(sums.contains("tacho_network_bytes_total") && sums.contains("tacho_disk_transfer_seconds_total"));
    let mut exporter = exporter(&registry);
    let mut names = |paths: &[&str]| -> BTreeSet<String> {
        let paths: Vec<_> = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
        let text = exporter.scrape(&registry, Exposition::PrometheusText, &paths);
        samples(text).into_keys().map(|key| key.split('{').next().unwrap_or_default().to_owned()).collect()
    };
    for paths in [&[][..], &[r"\Network Interface(*)\*", r"\Memory\Pages*"][..]] {
        let found = names(paths);
        assert!(found.contains("tacho_network_received_bytes_total"), "{paths:?}");
        assert!(found.contains("tacho_memory_pages_input_total"), "{paths:?}");
        assert_eq!(found.intersection(&sums).collect::<Vec<_>>(), Vec::<&String>::new(), "{paths:?}");
    }
    let found = names(&[r"\Network Interface(*)\*", r"\Memory\Pages/sec"]);
    assert!(found.contains("tacho_memory_pages_total") && !found.contains("tacho_network_bytes_total"));
    let found = names(&[r"\network interface(*)\bytes total/sec"]);
    assert!(
        found.contains("tacho_network_bytes_total") && !found.contains("tacho_network_received_bytes_total")
    );
}

/// Each sum that is omitted by default equals the sum of exported metrics.
#[test]
fn sums_equal_their_parts() {
    const SUMS: [(&str, &str, [&str; 2]); 16] = [
        (r"\PhysicalDisk(*)\Disk Transfers/sec", "disk_transfers", ["disk_reads", "disk_writes"]),
        (r"\PhysicalDisk(*)\Disk Bytes/sec", "disk_bytes", ["disk_read_bytes", "disk_write_bytes"]),
        (
            r"\PhysicalDisk(*)\Avg. Disk sec/Transfer",
            "disk_transfer_seconds",
            ["disk_read_seconds", "disk_write_seconds"],
        ),
        (
            r"\LogicalDisk(*)\Disk Bytes/sec",
            "logical_disk_bytes",
            ["logical_disk_read_bytes", "logical_disk_write_bytes"],
        ),
        (r"\Memory\Pages/sec", "memory_pages", ["memory_pages_input", "memory_pages_output"]),
        (
            r"\Network Interface(*)\Bytes Total/sec",
            "network_bytes",
            ["network_received_bytes", "network_sent_bytes"],
        ),
        (
            r"\Network Interface(*)\Packets/sec",
            "network_packets",
            ["network_received_packets", "network_sent_packets"],
        ),
        (r"\TCPv4\Segments/sec", "tcpv4_segments", ["tcpv4_segments_received", "tcpv4_segments_sent"]),
        (r"\UDPv4\Datagrams/sec", "udpv4_datagrams", ["udpv4_datagrams_received", "udpv4_datagrams_sent"]),
        (r"\UDPv6\Datagrams/sec", "udpv6_datagrams", ["udpv6_datagrams_received", "udpv6_datagrams_sent"]),
        (r"\IPv4\Datagrams/sec", "ipv4_datagrams", ["ipv4_datagrams_received", "ipv4_datagrams_sent"]),
        (r"\IPv6\Datagrams/sec", "ipv6_datagrams", ["ipv6_datagrams_received", "ipv6_datagrams_sent"]),
        (r"\ICMP\Messages/sec", "icmp_messages", ["icmp_messages_received", "icmp_messages_sent"]),
        (r"\ICMPv6\Messages/sec", "icmpv6_messages", ["icmpv6_messages_received", "icmpv6_messages_sent"]),
        (
            r"\Process V2(*)\IO Data Bytes/sec",
            "process_v2_io_data_bytes",
            ["process_v2_io_read_bytes", "process_v2_io_write_bytes"],
        ),
        (
            r"\Process V2(*)\IO Data Operations/sec",
            "process_v2_io_data_operations",
            ["process_v2_io_read_operations", "process_v2_io_write_operations"],
        ),
    ];
    let registry = this_machine();
    let path = |text: &str| PathPattern::parse(text).expect("a path");
    let mut paths: Vec<_> = SUMS.iter().map(|(sum, ..)| path(sum)).collect();
    for set in ["PhysicalDisk(*)", "LogicalDisk(*)", "Memory", "Network Interface(*)", "Process V2(*)"] {
        paths.push(path(&format!(r"\{set}\*")));
    }
    paths.extend(
        ["TCPv4", "UDPv4", "UDPv6", "IPv4", "IPv6", "ICMP", "ICMPv6"].map(|set| path(&format!(r"\{set}\*"))),
    );
    let found = samples(exporter(&registry).scrape(&registry, Exposition::PrometheusText, &paths));
    let mut checked = BTreeSet::new();
    for (_, sum, parts) in SUMS {
        let sum = format!("tacho_{sum}_total");
        for (key, value) in found.iter().filter(|(key, _)| key.split('{').next() == Some(sum.as_str())) {
            let labels = &key[sum.len()..];
            let of_part = |part: &str| found[&format!("tacho_{part}_total{labels}")];
            let total: f64 = parts.map(of_part).iter().sum();
            assert!((value - total).abs() <= value.abs() * 1e-12, "{key}: {value} is not {total}");
            checked.insert(sum.clone());
        }
    }
    // Every machine has these sets.
    for sum in
        ["memory_pages", "network_bytes", "network_packets", "tcpv4_segments", "process_v2_io_data_bytes"]
    {
        assert!(checked.contains(&format!("tacho_{sum}_total")), "{sum}: {checked:?}");
    }
}

#[test]
fn old_names_have_the_old_labels_and_sums() {
    let registry = this_machine();
    let options = MetricsOptions { names: MetricNames::Old, ..MetricsOptions::default() };
    let mut old = Exporter::new(&registry, options).expect("this machine");
    let old = samples(old.scrape(&registry, Exposition::PrometheusText, &[]));
    assert!(old.contains_key("tacho_network_interface_bytes_total{name=\"lo\"}"));
    assert!(old.contains_key("tacho_processor_information_idle_seconds_total{name=\"0,0\"}"));
    let current = samples(exporter(&registry).scrape(&registry, Exposition::PrometheusText, &[]));
    assert!(current.contains_key("tacho_network_received_bytes_total{device=\"lo\"}"));
    assert!(current.contains_key("tacho_cpu_idle_seconds_total{cpu=\"0\"}"));
    assert!(
        !current.keys().any(|key| key.contains("{name=")),
        "a set with its own label names has no label `name`"
    );
}

#[test]
fn promtool_accepts_this_machine() {
    let registry = this_machine();
    let mut exporter = exporter(&registry);
    let text = exporter.scrape(&registry, Exposition::PrometheusText, &[]).to_owned();
    let found = samples(&text);
    assert!(found.len() > 100, "{}", found.len());
    assert!(!text.contains("name=\"_Total\""));
    if let Some(findings) = promtool(&text) {
        assert_eq!(findings, "");
    }
    // All sets, including processes and threads.
    let everything: Vec<_> =
        registry
            .counter_sets()
            .map(|set| {
                if set.has_instances() { format!(r"\{}(*)\*", set.name) } else { format!(r"\{}\*", set.name) }
            })
            .map(|path| PathPattern::parse(&path).expect("a path"))
            .collect();
    let text = exporter.scrape(&registry, Exposition::PrometheusText, &everything).to_owned();
    assert!(samples(&text).len() > found.len());
    if let Some(findings) = promtool(&text) {
        assert_eq!(findings, "");
    }
}

#[test]
fn openmetrics_has_units_and_an_end() {
    let (registry, _shop) = registry();
    let mut exporter = exporter(&registry);
    let text = exporter.scrape(&registry, Exposition::OpenMetrics, &[]).to_owned();
    samples(&text);
    assert!(text.ends_with("\n# EOF\n"));
    assert!(text.contains("# TYPE tacho_shop_requests counter\n"), "{text}");
    assert!(text.contains("# UNIT tacho_shop_request_seconds seconds\n"));
    assert!(text.contains("tacho_shop_requests_total{name=\"web\"} 7\n"));
    let units = text.lines().filter_map(|line| line.strip_prefix("# UNIT "));
    for (family, unit) in units.filter_map(|line| line.split_once(' ')) {
        assert!(family.ends_with(unit), "{family}");
    }
}

#[test]
fn raw_numbers_are_exact_and_totals_omitted() {
    let (registry, shop) = registry();
    let mut exporter = exporter(&registry);
    let first = samples(exporter.scrape(&registry, Exposition::PrometheusText, &[]));
    assert_eq!(first["tacho_shop_requests_total{name=\"web\"}"], 7.0);
    // 100 ns units and ticks become seconds.
    assert_eq!(first["tacho_shop_request_seconds_total{name=\"web\"}"], 2.5);
    assert_eq!(first["tacho_shop_request_requests_total{name=\"web\"}"], 5.0);
    assert_eq!(first["tacho_shop_baskets{name=\"web\"}"], -3.0);
    assert!(!first.keys().any(|key| key.contains("_Total")));
    let path = PathPattern::parse(r"\Shop(_Total)\Requests/sec").expect("a path");
    let total = samples(exporter.scrape(&registry, Exposition::PrometheusText, &[path]));
    assert_eq!(total["tacho_shop_requests_total{name=\"_Total\"}"], 7.0);
    assert_eq!(total.keys().filter(|key| key.starts_with("tacho_shop")).count(), 1);
    // A counter that wraps at 2^32 is extended.
    shop.requests(u64::from(u32::MAX));
    let high = samples(exporter.scrape(&registry, Exposition::PrometheusText, &[]));
    shop.requests(4);
    let wrapped = samples(exporter.scrape(&registry, Exposition::PrometheusText, &[]));
    let key = "tacho_shop_requests_total{name=\"web\"}";
    assert_eq!(wrapped[key] - high[key], 5.0);
}

#[test]
fn unreadable_values_are_absent_and_counted() {
    let (registry, shop) = registry();
    let mut exporter = exporter(&registry);
    shop.fail(true);
    let text = exporter.scrape(&registry, Exposition::PrometheusText, &[]).to_owned();
    let found = samples(&text);
    assert_eq!(found["tacho_read_errors{set=\"Shop\"}"], 1.0);
    assert!(!text.contains("tacho_shop"), "{text}");
    shop.fail(false);
    let found = samples(exporter.scrape(&registry, Exposition::PrometheusText, &[]));
    assert_eq!(found["tacho_read_errors{set=\"Shop\"}"], 0.0);
}

#[test]
fn paths_without_a_match_are_counted() {
    let (registry, shop) = registry();
    let mut exporter = exporter(&registry);
    let mut count = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
        let text = exporter.scrape(&registry, Exposition::PrometheusText, &paths).to_owned();
        if let Some(findings) = promtool(&text) {
            assert_eq!(findings, "");
        }
        samples(&text)["tacho_paths_without_match"]
    };
    // A scrape without requested paths.
    assert_eq!(count(&[]), 0.0);
    let paths = [
        r"\Shop(web)\*",
        r"\Shop(we*)\Baskets",
        r"\Shop(other)\Baskets",
        r"\Shop(*)\Nothing",
        r"\Office(*)\*",
    ];
    assert_eq!(count(&paths), 3.0);
    // An instance appears, another disappears.
    shop.name("other");
    assert_eq!(count(&paths), 4.0);
    // Unreadable sets count as matches.
    shop.fail(true);
    assert_eq!(count(&paths), 2.0);
}

#[test]
fn hostile_names_are_escaped() {
    let (registry, shop) = registry();
    let mut exporter = exporter(&registry);
    shop.name("a\"} 1\ntacho_evil 1\n# \\");
    let text = exporter.scrape(&registry, Exposition::PrometheusText, &[]).to_owned();
    let found = samples(&text);
    assert!(found.keys().all(|key| key.starts_with("tacho_") || key.starts_with("process_")));
    assert!(!text.lines().any(|line| line.starts_with("tacho_evil")));
    assert!(found.contains_key(r#"tacho_shop_baskets{name="a\"} 1\ntacho_evil 1\n# \\"}"#), "{text}");
    if let Some(findings) = promtool(&text) {
        assert_eq!(findings, "");
    }
}
