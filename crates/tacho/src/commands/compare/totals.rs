//! The rows that answer "how busy was the machine in each log?", whether or not they changed.

use tachograph_counters::path::PathPattern;
use tachograph_flow::sinks::ComparisonRow;

/// Each line is a figure. The first of its counters that a log has is shown.
const TOTALS: [&[&str]; 8] = [
    &[r"\Processor Information(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"],
    &[r"\Memory\Available Bytes", r"\Memory\Available KBytes", r"\Memory\Available MBytes"],
    &[r"\PhysicalDisk(_Total)\Disk Bytes/sec", r"\LogicalDisk(_Total)\Disk Bytes/sec"],
    &[r"\PhysicalDisk(_Total)\Avg. Disk sec/Transfer", r"\LogicalDisk(_Total)\Avg. Disk sec/Transfer"],
    &[r"\Network Interface(*)\Bytes Total/sec"],
    &[r"\Pressure Stall(cpu)\% Some Stall Time"],
    &[r"\Pressure Stall(memory)\% Some Stall Time"],
    &[r"\Pressure Stall(io)\% Some Stall Time"],
];

/// The interfaces on which a machine talks to itself: Linux, and Windows.
const LOOPBACK: [&str; 2] = ["lo", "MS TCP Loopback interface"];

/// Copies of the rows of the main totals. Of several instances, such as network interfaces, the one with the largest average;
/// the loopback interface only if there is no other.
pub(super) fn rows(rows: &[ComparisonRow]) -> Vec<ComparisonRow> {
    TOTALS.iter().filter_map(|paths| paths.iter().find_map(|path| largest(rows, path))).cloned().collect()
}

fn largest<'a>(rows: &'a [ComparisonRow], path: &str) -> Option<&'a ComparisonRow> {
    let pattern = PathPattern::parse(path).ok()?;
    let is_selected = |row: &&ComparisonRow| {
        let machine = row.machine.as_deref().unwrap_or_default();
        let instance = row.instance.as_ref().map(|instance| instance.label());
        pattern.matches(machine, &row.set.name, instance, &row.counter.name)
    };
    let average = |row: &ComparisonRow| {
        [row.average_before(), row.average_after()].into_iter().flatten().fold(f64::NEG_INFINITY, f64::max)
    };
    let is_loopback = |row: &ComparisonRow| {
        row.instance.as_ref().is_some_and(|instance| LOOPBACK.contains(&instance.label()))
    };
    let rank = |row: &ComparisonRow| (!is_loopback(row), average(row));
    rows.iter().filter(is_selected).max_by(|one, other| {
        let ((is_real, average), (is_other_real, other)) = (rank(one), rank(other));
        is_real.cmp(&is_other_real).then(average.total_cmp(&other))
    })
}
