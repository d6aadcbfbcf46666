//! The metrics that the Grafana dashboard and the documentation mention exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use tachograph_metrics::{MetricNames, is_exported_by_default};

use super::all_mappings;

/// The server's own metrics, and those that Prometheus adds.
const OTHERS: [&str; 15] = [
    "tacho_build_info",
    "tacho_paths_without_match",
    "tacho_read_errors",
    "tacho_scrape_duration_seconds",
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_threads",
    "process_virtual_memory_bytes",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "up",
    "job",
];

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The words of a text that could be names of metrics.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The labels of each metric that a scrape exports if no path selects counters.
fn exported_by_default() -> BTreeMap<String, Vec<&'static str>> {
    let is_default = |set: &str| {
        tachograph_system::known_sets().any(|info| *info.name == *set && is_exported_by_default(&info))
    };
    all_mappings(MetricNames::Current)
        .into_iter()
        .filter(|name| !name.is_sum && is_default(&name.set))
        .map(|name| (name.metric, name.labels))
        .collect()
}

#[test]
fn the_dashboard_uses_exported_metrics_and_their_labels() {
    let dashboard: Value = serde_json::from_str(&read("packaging/grafana/tachograph.json")).expect("JSON");
    let exported = exported_by_default();
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().expect("an id")).collect();
    assert_eq!(ids.len(), panels.len());
    let mut places = BTreeSet::new();
    for panel in panels {
        let at = |key: &str| panel["gridPos"][key].as_u64().expect("a place");
        assert!(at("x") + at("w") <= 24, "{}", panel["title"]);
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(places.insert((x, y)), "{} overlaps another panel", panel["title"]);
            }
        }
    }
    let rows: Vec<_> =
        panels.iter().filter(|panel| panel["type"] == "row").map(|row| row["title"].as_str()).collect();
    assert_eq!(rows.len(), 8, "{rows:?}");
    let mut count = 0;
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let title = panel["title"].as_str().expect("a title");
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str();
        assert!(unit.is_some_and(|unit| !unit.is_empty()), "{title}: no unit");
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{title}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        for target in panel["targets"].as_array().expect("targets") {
            count += 1;
            let expression = target["expr"].as_str().expect("an expression");
            assert!(expression.contains(r#"instance="$instance""#), "{title}: {expression}");
            let metrics: Vec<&str> = words(expression)
                .filter(|word| word.starts_with("tacho_") || word.starts_with("process_"))
                .collect();
            let mut labels = BTreeSet::new();
            for metric in metrics.iter().filter(|metric| !OTHERS.contains(metric)) {
                let found =
                    exported.get(*metric).unwrap_or_else(|| panic!("{title}: {metric} is not exported"));
                labels.extend(found.iter().copied());
            }
            labels.insert("job");
            let legend = target["legendFormat"].as_str().unwrap_or_default();
            for label in
                legend.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name)
            {
                assert!(labels.contains(label), "{title}: the legend has no value for {label}");
            }
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn documented_metrics_exist() {
    let metrics =
        |names| -> BTreeSet<String> { all_mappings(names).into_iter().map(|name| name.metric).collect() };
    let (current, old) = (metrics(MetricNames::Current), metrics(MetricNames::Old));
    for file in ["docs/metrics.md", "docs/guide.md", "docs/http.md", "README.md"] {
        let mut heading = String::new();
        let mut is_code = false;
        for line in read(file).lines() {
            is_code ^= line.starts_with("```");
            if line.starts_with('#') && !is_code {
                heading = line.trim_start_matches(['#', ' ']).to_owned();
            }
            let known = if heading == "Old names" { &old } else { &current };
            let is_name =
                |word: &str| word.starts_with("tacho_") && !word.contains(|c: char| c.is_ascii_uppercase());
            let is_metric = |word: &&str| is_name(word) && !OTHERS.contains(word);
            for word in words(line).filter(is_metric) {
                // Headers of OpenMetrics have the name without `_total`.
                let is_known = known.contains(word) || known.contains(&format!("{word}_total"));
                assert!(is_known, "{file}, section {heading}: {word}");
            }
        }
    }
}

#[test]
fn documented_labels_exist() {
    let documented = read("docs/metrics.md");
    let section =
        documented.split("## Labels").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section");
    for name in all_mappings(MetricNames::Current) {
        let row =
            section.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{}`", name.set)));
        let Some(row) = row else {
            assert!(name.labels.is_empty(), "{}: labels are not documented", name.set);
            continue;
        };
        for label in name.labels {
            assert!(row.contains(&format!("`{label}`")), "{}: {label}: {row}", name.set);
        }
    }
}
