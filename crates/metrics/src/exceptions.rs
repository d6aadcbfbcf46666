//! Exceptions for the machine's own counters: explicit names, and raw numbers that several counters share.
//!
//! Other providers cannot register sets with these names, so the rows apply only to the machine's own counters.

use super::MetricNames;
use super::conventions;
use super::metric::Part;
use super::scale::Scale;

/// How a raw number is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The raw number is exported under this name.
    Named {
        /// The name without the set's prefix, with the unit.
        name: &'static str,
        /// Whether another counter has the same number, so that it is exported only once.
        is_duplicate: bool,
        /// The scale, if it does not follow from the counter type.
        scale: Option<Scale>,
    },
    /// The raw number is not exported.
    Omitted,
}

/// The rule for a raw number of a counter, in each of these sets.
#[derive(Debug)]
pub(super) struct Row {
    sets: &'static [&'static str],
    counter: &'static str,
    part: Part,
    pub(super) rule: Rule,
}

impl Row {
    pub(super) fn is_for(&self, set: &str, counter: &str, part: Part) -> bool {
        self.counter == counter && self.part == part && self.sets.contains(&set)
    }
}

pub(super) const fn row(sets: &'static [&'static str], counter: &'static str, part: Part, rule: Rule) -> Row {
    Row { sets, counter, part, rule }
}

/// Exports the raw number under this name, without the set's prefix and with the unit.
pub(super) const fn named(name: &'static str) -> Rule {
    Rule::Named { name, is_duplicate: false, scale: None }
}

/// Exports the raw number, which another counter has too, under that counter's name.
pub(super) const fn same_as(name: &'static str) -> Rule {
    Rule::Named { name, is_duplicate: true, scale: None }
}

/// Exports the raw number under this name, divided by 10 to the power of `decimals`.
pub(super) const fn scaled(name: &'static str, decimals: u32) -> Rule {
    Rule::Named { name, is_duplicate: false, scale: Some(Scale::new(1, decimals)) }
}

const DISKS: &[&str] = &["PhysicalDisk", "LogicalDisk", "Block Device", "Block Device Member"];
const PROCESSORS: &[&str] = &["Processor Information", "Processor"];

#[rustfmt::skip]
static ROWS: &[Row] = &[
    // Steal time is neither busy nor idle.
    row(PROCESSORS, "% Processor Time", Part::First, named("idle_or_stolen_seconds")),
    row(PROCESSORS, "% Priority Time", Part::First, named("idle_stolen_or_low_priority_seconds")),
    row(PROCESSORS, "% of Maximum Frequency", Part::First, named("frequency_ratio")),
    // The first number is in ticks of 10 ms multiplied by percent (10^-4 s), the second in ticks.
    row(PROCESSORS, "% Processor Performance", Part::First, scaled("nominal_work_seconds", 4)),
    row(PROCESSORS, "% Processor Performance", Part::Second, scaled("frequency_counted_seconds", 2)),

    row(&["Memory"], "Available KBytes", Part::First, same_as("available_bytes")),
    row(&["Memory"], "Available MBytes", Part::First, same_as("available_bytes")),
    row(&["Memory"], "% Committed Bytes In Use", Part::First, same_as("committed_bytes")),
    row(&["Memory"], "% Committed Bytes In Use", Part::Second, same_as("commit_limit_bytes")),
    row(&["Paging File"], "% Usage", Part::First, named("used_bytes")),
    row(&["Paging File"], "% Usage", Part::Second, named("size_bytes")),

    // These numbers contain the wall-clock time since 1601, so they decrease when the clock is set back.
    row(DISKS, "% Idle Time", Part::First, Rule::Omitted),
    row(DISKS, "% Disk Time", Part::First, named("busy_seconds")),
    row(DISKS, "% Disk Time", Part::Second, Rule::Omitted),
    row(DISKS, "% Disk Read Time", Part::First, same_as("disk_read_seconds")),
    row(DISKS, "% Disk Read Time", Part::Second, Rule::Omitted),
    row(DISKS, "% Disk Write Time", Part::First, same_as("disk_write_seconds")),
    row(DISKS, "% Disk Write Time", Part::Second, Rule::Omitted),
    row(DISKS, "% Idle Time", Part::Second, Rule::Omitted),
    row(DISKS, "Avg. Disk Queue Length", Part::First, named("queue_seconds")),
    row(DISKS, "Avg. Disk Read Queue Length", Part::First, same_as("disk_read_seconds")),
    row(DISKS, "Avg. Disk Write Queue Length", Part::First, same_as("disk_write_seconds")),
    row(DISKS, "Avg. Disk sec/Transfer", Part::Second, same_as("disk_transfers")),
    row(DISKS, "Avg. Disk sec/Read", Part::Second, same_as("disk_reads")),
    row(DISKS, "Avg. Disk sec/Write", Part::Second, same_as("disk_writes")),
    row(DISKS, "Avg. Disk sec/Discard", Part::Second, same_as("disk_discards")),
    row(DISKS, "Avg. Disk sec/Flush", Part::Second, same_as("disk_flushes")),
    row(DISKS, "Avg. Disk Bytes/Transfer", Part::First, same_as("disk_bytes")),
    row(DISKS, "Avg. Disk Bytes/Transfer", Part::Second, same_as("disk_transfers")),
    row(DISKS, "Avg. Disk Bytes/Read", Part::First, same_as("disk_read_bytes")),
    row(DISKS, "Avg. Disk Bytes/Read", Part::Second, same_as("disk_reads")),
    row(DISKS, "Avg. Disk Bytes/Write", Part::First, same_as("disk_write_bytes")),
    row(DISKS, "Avg. Disk Bytes/Write", Part::Second, same_as("disk_writes")),
    // `Free Megabytes` is the first number of `% Free Space`, rounded down to megabytes.
    row(&["LogicalDisk"], "% Free Space", Part::First, named("free_bytes")),
    row(&["LogicalDisk"], "% Free Space", Part::Second, named("usable_bytes")),
    row(&["LogicalDisk"], "Free Megabytes", Part::First, same_as("free_bytes")),
    row(&["File System"], "% Used Space", Part::First, same_as("used_bytes")),
    row(&["File System"], "% Used Space", Part::Second, named("usable_bytes")),
    row(&["File System"], "% Used Inodes", Part::First, same_as("used_inodes")),
    row(&["File System"], "% Used Inodes", Part::Second, same_as("inodes")),

    row(&["System"], "System Up Time", Part::Start, named("start_time_seconds")),
    // The first number is in hundredths, the second is always 10,000.
    row(&["System"], "Load Average, 1 min", Part::First, scaled("load_average_1_min", 2)),
    row(&["System"], "Load Average, 1 min", Part::Second, Rule::Omitted),
    row(&["System"], "Load Average, 5 min", Part::First, scaled("load_average_5_min", 2)),
    row(&["System"], "Load Average, 5 min", Part::Second, Rule::Omitted),
    row(&["System"], "Load Average, 15 min", Part::First, scaled("load_average_15_min", 2)),
    row(&["System"], "Load Average, 15 min", Part::Second, Rule::Omitted),
    row(&["Memory"], "% Zswap Compressed Size", Part::First, same_as("zswap_pool_bytes")),
    row(&["Memory"], "% Zswap Compressed Size", Part::Second, same_as("zswap_stored_bytes")),
    row(&["Connection Tracking"], "% Entries In Use", Part::First, same_as("entries")),
    row(&["Connection Tracking"], "% Entries In Use", Part::Second, same_as("limit")),
    row(&["Zram"], "% Compressed Size", Part::First, same_as("compressed_bytes")),
    row(&["Zram"], "% Compressed Size", Part::Second, same_as("original_bytes")),
    row(&["RAID Array"], "% Sync Completed", Part::First, named("sync_completed_sectors")),
    row(&["RAID Array"], "% Sync Completed", Part::Second, named("sync_sectors")),
    row(&["NFS Mount"], "Avg. sec/Read", Part::First, named("read_seconds")),
    row(&["NFS Mount"], "Avg. sec/Read", Part::Second, same_as("reads")),
    row(&["NFS Mount"], "Avg. Round Trip sec/Read", Part::First, named("read_round_trip_seconds")),
    row(&["NFS Mount"], "Avg. Round Trip sec/Read", Part::Second, same_as("reads")),
    row(&["NFS Mount"], "Avg. Queue sec/Read", Part::First, named("read_queue_seconds")),
    row(&["NFS Mount"], "Avg. Queue sec/Read", Part::Second, same_as("reads")),
    row(&["NFS Mount"], "Avg. sec/Write", Part::First, named("write_seconds")),
    row(&["NFS Mount"], "Avg. sec/Write", Part::Second, same_as("writes")),
    row(&["NFS Mount"], "Avg. Round Trip sec/Write", Part::First, named("write_round_trip_seconds")),
    row(&["NFS Mount"], "Avg. Round Trip sec/Write", Part::Second, same_as("writes")),
    row(&["NFS Mount"], "Avg. Queue sec/Write", Part::First, named("write_queue_seconds")),
    row(&["NFS Mount"], "Avg. Queue sec/Write", Part::Second, same_as("writes")),
    row(&["Cgroup"], "% Memory Limit Used", Part::First, same_as("memory_current_bytes")),
    row(&["Cgroup"], "% Memory Limit Used", Part::Second, same_as("memory_limit_bytes")),

    // The second number is always 10,000.
    row(&["Pressure Stall"], "% Some Stall, 10 s Average", Part::First, scaled("some_stall_10s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Some Stall, 60 s Average", Part::First, scaled("some_stall_60s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Some Stall, 300 s Average", Part::First, scaled("some_stall_300s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Full Stall, 10 s Average", Part::First, scaled("full_stall_10s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Full Stall, 60 s Average", Part::First, scaled("full_stall_60s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Full Stall, 300 s Average", Part::First, scaled("full_stall_300s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Some Stall, 10 s Average", Part::Second, Rule::Omitted),
    row(&["Pressure Stall"], "% Some Stall, 60 s Average", Part::Second, Rule::Omitted),
    row(&["Pressure Stall"], "% Some Stall, 300 s Average", Part::Second, Rule::Omitted),
    row(&["Pressure Stall"], "% Full Stall, 10 s Average", Part::Second, Rule::Omitted),
    row(&["Pressure Stall"], "% Full Stall, 60 s Average", Part::Second, Rule::Omitted),
    row(&["Pressure Stall"], "% Full Stall, 300 s Average", Part::Second, Rule::Omitted),

    row(&["Processor CPI"], "Cycles Per Instruction", Part::First, named("elapsed_cycles")),
    row(&["Processor CPI"], "Cycles Per Instruction", Part::Second, named("elapsed_instructions")),
    row(&["Processor CPI"], "Cycles Per Instruction While Busy", Part::First, named("busy_cycles")),
    row(&["Processor CPI"], "Cycles Per Instruction While Busy", Part::Second, named("busy_instructions")),
    row(&["Processor CPI"], "Core Cycles Per Instruction", Part::First, same_as("cycles")),
    row(&["Processor CPI"], "Core Cycles Per Instruction", Part::Second, same_as("instructions")),
    row(&["Processor CPI"], "% Counter Running Time", Part::First, scaled("running_seconds", 9)),
    row(&["Processor CPI"], "% Counter Running Time", Part::Second, scaled("enabled_seconds", 9)),
];

/// The exception for a raw number of a counter, if any.
pub(super) fn rule(set: &str, counter: &str, part: Part, names: MetricNames) -> Option<Rule> {
    let common_rule = || ROWS.iter().find(|row| row.is_for(set, counter, part)).map(|row| row.rule);
    match names {
        MetricNames::Current => conventions::rule(set, counter, part).or_else(common_rule),
        MetricNames::Old => common_rule(),
    }
}

/// Plain counters that count events since boot although their type does not say so: the set, the beginning of the counters'
/// names, and one counter that begins so but is an exception.
const CUMULATIVE: [(&str, &str, &str); 9] = [
    ("Network Interface", "Packets", ""),
    ("TCPv4", "", "Connections Established"),
    ("TCPv6", "", "Connections Established"),
    ("UDPv4", "", ""),
    ("UDPv6", "", ""),
    ("IPv4", "", ""),
    ("IPv6", "", ""),
    ("ICMP", "", ""),
    ("ICMPv6", "", ""),
];

/// Whether a plain counter counts events since boot.
pub(super) fn is_cumulative(set: &str, counter: &str, names: MetricNames) -> bool {
    if names == MetricNames::Current && conventions::is_cumulative(set, counter) {
        return true;
    }
    let row = CUMULATIVE.iter().find(|(name, ..)| *name == set);
    row.is_some_and(|(_, prefix, exception)| counter.starts_with(prefix) && counter != *exception)
}

/// Splits a name into the part before the unit, and the unit.
pub(super) fn split_unit(name: &str) -> (&str, &str) {
    const UNITS: [&str; 9] =
        ["bytes", "seconds", "ratio", "bytes_per_second", "celsius", "joules", "packets", "rpm", "watts"];
    for unit in UNITS {
        match name.strip_suffix(unit) {
            Some("") => return ("", unit),
            Some(stem) => {
                if let Some(stem) = stem.strip_suffix('_') {
                    return (stem, unit);
                }
            }
            None => {}
        }
    }
    (name, "")
}
