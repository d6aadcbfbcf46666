//! Exceptions for the machine's own counters in [`MetricNames::Current`](super::MetricNames): names that do not follow from the
//! counters' names, base units, and raw numbers that are sums of others.

use super::exceptions::{Row, Rule, named, row, same_as, scaled, split_unit};
use super::metric::{Metric, Part, join_words};
use super::scale::Scale;
use super::set_names;

const DISKS: &[&str] = &["PhysicalDisk", "LogicalDisk", "Block Device", "Block Device Member"];
const PROCESSORS: &[&str] = &["Processor Information", "Processor"];
const PROCESSES: &[&str] = &["Process", "Process V2"];
const TASKS: &[&str] = &["Process", "Process V2", "Thread", "Cgroup", "Container"];
const TEMPERATURES: &[&str] = &["Temperature Sensor", "Thermal Zone"];

/// These rows take precedence over those of [`exceptions`](super::exceptions), which also apply to
/// [`MetricNames::Old`](super::MetricNames::Old).
#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    row(&["System"], "Load Average, 1 min", Part::First, scaled("load1", 2)),
    row(&["System"], "Load Average, 5 min", Part::First, scaled("load5", 2)),
    row(&["System"], "Load Average, 15 min", Part::First, scaled("load15", 2)),
    row(&["System"], "Clock Frequency Adjustment", Part::First, scaled("clock_frequency_adjustment_ratio", 9)),
    // `Temperature` is the same number as `High Precision Temperature`, rounded down.
    row(TEMPERATURES, "High Precision Temperature", Part::First, named("temperature_celsius")),
    row(TEMPERATURES, "Temperature", Part::First, same_as("temperature_celsius")),
    row(&["Energy Meter"], "Power", Part::First, named("joules")),
    row(&["Energy Meter"], "Energy", Part::First, same_as("joules")),
    row(&["GPU Engine"], "Utilization Percentage", Part::First, named("busy_seconds")),
    row(&["GPU Engine"], "Running Time", Part::First, same_as("busy_seconds")),
    row(&["ZFS ARC"], "% Hits", Part::First, same_as("hits")),
    row(&["ZFS ARC"], "% Hits", Part::Second, named("lookups")),
    row(&["Network Interface"], "Packets Received Discarded/sec", Part::First, same_as("received_discarded_packets")),
    row(&["Network Interface"], "Packets Received Errors/sec", Part::First, same_as("received_errors")),
    row(&["Network Interface"], "Packets Outbound Discarded/sec", Part::First, same_as("sent_discarded_packets")),
    row(&["Network Interface"], "Packets Outbound Errors/sec", Part::First, same_as("sent_errors")),
    row(&["Container"], "% Memory Limit Used", Part::First, same_as("memory_current_bytes")),
    row(&["Container"], "% Memory Limit Used", Part::Second, same_as("memory_limit_bytes")),
];

/// The exception for a raw number of a counter, if any.
pub(super) fn rule(set: &str, counter: &str, part: Part) -> Option<Rule> {
    ROWS.iter().find(|row| row.is_for(set, counter, part)).map(|row| row.rule)
}

/// Renamed metrics: the sets, the name that would follow from the counter's name, and the name that is exported, which is usual
/// in Linux. Both names are without the set's prefix.
#[rustfmt::skip]
const RENAMED: &[(&[&str], &str, &str)] = &[
    (PROCESSORS, "dpc_seconds", "softirq_seconds"),
    (PROCESSORS, "dpcs_queued", "softirqs"),
    (PROCESSORS, "io_wait_seconds", "iowait_seconds"),
    (TASKS, "processor_seconds", "cpu_seconds"),
    (&["Process"], "id_process", "id"),
    (&["Process V2"], "process_id", "id"),
    (&["Thread"], "id_process", "process_id"),
    (&["Network Interface"], "current_bandwidth_bytes_per_second", "bandwidth_bytes_per_second"),
    (&["Network Interface"], "packets_received_discarded", "received_discarded_packets"),
    (&["Network Interface"], "packets_received_errors", "received_errors"),
    (&["Network Interface"], "packets_outbound_discarded", "sent_discarded_packets"),
    (&["Network Interface"], "packets_outbound_errors", "sent_errors"),
    (&["Network Interface"], "packets_received_fifo_errors", "received_fifo_errors"),
    (&["Network Interface"], "packets_received_frame_errors", "received_frame_errors"),
    (&["Network Interface"], "packets_outbound_fifo_errors", "sent_fifo_errors"),
    (&["Network Interface"], "packets_outbound_carrier_errors", "sent_carrier_errors"),
    (&["Network Interface"], "packets_outbound_collisions", "collisions"),
    (&["Queueing Discipline"], "packets_sent", "sent_packets"),
    (&["Queueing Discipline"], "packets_dropped", "dropped_packets"),
    (&["RAID Array"], "sync_per_second_bytes", "sync_bytes_per_second"),
    (&["Fan"], "speed_rpm", "rpm"),
    (&["Fan"], "minimum_speed_rpm", "minimum_rpm"),
];

/// The name that replaces `name`, if any. Both names are without the set's prefix, and with the unit.
fn replacement_name(set: &str, name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(sets, from, _)| *from == name && sets.contains(&set)).map(|(.., to)| *to)
}

/// The base unit for a unit that [`MetricNames::Old`](super::MetricNames::Old) does not convert.
pub(super) fn base_unit(unit: &str) -> Option<(&'static str, Scale)> {
    match unit {
        "mA" => Some(("amperes", Scale::new(1, 3))),
        "mW" => Some(("watts", Scale::new(1, 3))),
        "mJ" => Some(("joules", Scale::new(1, 3))),
        // 1 mWh is 3.6 J.
        "mWh" => Some(("joules", Scale::new(36, 1))),
        _ => None,
    }
}

/// Counters that accumulate although their type does not say so, in addition to those of
/// [`exceptions::is_cumulative`](super::exceptions::is_cumulative).
const CUMULATIVE: &[(&str, &str)] = &[
    ("Bonding", "Link Failures"),
    ("Btrfs Device", "Write Errors"),
    ("Btrfs Device", "Read Errors"),
    ("Btrfs Device", "Flush Errors"),
    ("Btrfs Device", "Corruption Errors"),
    ("Btrfs Device", "Generation Errors"),
    ("Energy Meter", "Energy"),
    ("GPU Engine", "Running Time"),
];

pub(super) fn is_cumulative(set: &str, counter: &str) -> bool {
    CUMULATIVE.contains(&(set, counter))
}

/// Raw numbers that are the sum of two others of the same set, such as the sum of read and written bytes in `Disk Bytes/sec`.
#[rustfmt::skip]
const SUMS: &[(&[&str], &str, Part)] = &[
    (DISKS, "Disk Transfers/sec", Part::First),
    (DISKS, "Disk Bytes/sec", Part::First),
    (DISKS, "Avg. Disk sec/Transfer", Part::First),
    (DISKS, "Avg. Disk sec/Transfer", Part::Second),
    (DISKS, "Avg. Disk Bytes/Transfer", Part::First),
    (DISKS, "Avg. Disk Bytes/Transfer", Part::Second),
    (PROCESSES, "IO Data Operations/sec", Part::First),
    (PROCESSES, "IO Data Bytes/sec", Part::First),
    (&["Memory"], "Pages/sec", Part::First),
    (&["Network Interface"], "Bytes Total/sec", Part::First),
    (&["Network Interface"], "Packets/sec", Part::First),
    (&["TCPv4"], "Segments/sec", Part::First),
    (&["UDPv4", "UDPv6", "IPv4", "IPv6"], "Datagrams/sec", Part::First),
    (&["ICMP", "ICMPv6"], "Messages/sec", Part::First),
    (&["ZFS ARC"], "% Hits", Part::Second),
];

/// Whether a raw number of a counter is the sum of other raw numbers that are exported too.
fn is_sum(set: &str, counter: &str, part: Part) -> bool {
    SUMS.iter().any(|(sets, name, sum)| *name == counter && *sum == part && sets.contains(&set))
}

/// Renames a metric of the machine's own sets, and marks sums.
pub(super) fn apply(set: &str, counter: &str, metric: &mut Metric) {
    let Some(set_names) = set_names::of_set(set) else { return };
    if let Some(name) = replacement_name(set, &join_words(&metric.stem, &metric.unit)) {
        let (stem, unit) = split_unit(name);
        (metric.stem, metric.unit) = (stem.into(), unit.into());
    } else {
        let is_kept = |word: &&str| !set_names.omitted.contains(word);
        let kept: Vec<&str> = metric.stem.split('_').filter(is_kept).collect();
        if !(kept.is_empty() && metric.unit.is_empty()) {
            metric.stem = kept.join("_");
        }
    }
    metric.is_sum = is_sum(set, counter, metric.part);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::MetricNames;
    use crate::metric::metrics_of;

    /// The set, counter, part and name of each number of the machine's counters.
    fn numbers(names: MetricNames) -> Vec<(String, String, Part, String)> {
        let sets = tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets());
        let mut numbers = Vec::new();
        for set in sets {
            for counter in set.counters.iter().filter(|counter| counter.is_displayable()) {
                for metric in metrics_of(&set.name, counter, names) {
                    let name = join_words(&metric.stem, &metric.unit);
                    numbers.push((set.name.to_string(), counter.name.to_string(), metric.part, name));
                }
            }
        }
        numbers
    }

    #[test]
    fn every_row_is_for_a_counter_of_the_machine() {
        let numbers = numbers(MetricNames::Current);
        let is_known = |sets: &[&str], counter: &str, part: Part| {
            sets.iter().all(|set| {
                numbers.iter().any(|number| (&*number.0, &*number.1, number.2) == (*set, counter, part))
            })
        };
        for row in ROWS {
            let is_used = numbers.iter().any(|(set, counter, part, _)| row.is_for(set, counter, *part));
            assert!(is_used, "{row:?}");
        }
        for (sets, counter, part) in SUMS {
            assert!(is_known(sets, counter, *part), "{sets:?} {counter} {part:?}");
        }
        for (set, counter) in CUMULATIVE {
            assert!(is_known(&[*set], counter, Part::First), "{set} {counter}");
        }
    }

    #[test]
    fn every_renamed_number_exists() {
        let known: BTreeSet<(String, String)> = numbers(MetricNames::Old)
            .into_iter()
            .chain(numbers(MetricNames::Current))
            .map(|(set, _, _, name)| (set, name))
            .collect();
        for (sets, from, to) in RENAMED {
            for set in *sets {
                assert!(known.contains(&((*set).to_owned(), (*from).to_owned())), "{set}: {from}");
                assert!(known.contains(&((*set).to_owned(), (*to).to_owned())), "{set}: {to}");
            }
        }
    }
}
