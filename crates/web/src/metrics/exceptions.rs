//! Counters of the machine whose derived names would be bad, and those that show a raw number which another one has too.
//!
//! Nobody else may use the names of these sets, so a row holds for the machine's own counters alone.

use super::families::Part;
use super::number::Scale;

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The number is named so.
    Named {
        /// The name after the set's, with the unit.
        name: &'static str,
        /// Whether this is another counter's number too, which is exported once.
        is_view: bool,
        /// The way to base units, where the type does not say it.
        scale: Option<Scale>,
    },
    /// The number is not exported: it is always the same.
    LeftOut,
}

struct Row {
    sets: &'static [&'static str],
    counter: &'static str,
    part: Part,
    rule: Rule,
}

const fn row(sets: &'static [&'static str], counter: &'static str, part: Part, rule: Rule) -> Row {
    Row { sets, counter, part, rule }
}

/// A name of its own.
const fn own(name: &'static str) -> Rule {
    Rule::Named { name, is_view: false, scale: None }
}

/// The number of another counter.
const fn view(name: &'static str) -> Rule {
    Rule::Named { name, is_view: true, scale: None }
}

/// A name of its own, with the way to base units.
const fn scaled(name: &'static str, decimals: u32) -> Rule {
    Rule::Named { name, is_view: false, scale: Some(Scale::new(1, decimals)) }
}

const DISKS: &[&str] = &["PhysicalDisk", "LogicalDisk"];
const PROCESSORS: &[&str] = &["Processor Information", "Processor"];

#[rustfmt::skip]
static ROWS: &[Row] = &[
    // The raw number of both is idle time.
    row(PROCESSORS, "% Processor Time", Part::First, view("idle_seconds")),
    row(PROCESSORS, "% Priority Time", Part::First, own("idle_or_low_priority_seconds")),
    row(PROCESSORS, "% of Maximum Frequency", Part::First, own("frequency_ratio")),
    // Ticks of 10 ms, weighted with percents.
    row(PROCESSORS, "% Processor Performance", Part::First, scaled("nominal_work_seconds", 4)),
    row(PROCESSORS, "% Processor Performance", Part::Second, scaled("frequency_counted_seconds", 2)),

    row(&["Memory"], "Available KBytes", Part::First, view("available_bytes")),
    row(&["Memory"], "Available MBytes", Part::First, view("available_bytes")),
    row(&["Memory"], "% Committed Bytes In Use", Part::First, view("committed_bytes")),
    row(&["Memory"], "% Committed Bytes In Use", Part::Second, view("commit_limit_bytes")),
    row(&["Paging File"], "% Usage", Part::First, own("used_bytes")),
    row(&["Paging File"], "% Usage", Part::Second, own("size_bytes")),

    // Time since 1601, and that without the busy time: they would fall when the clock is set back.
    row(DISKS, "% Idle Time", Part::First, Rule::LeftOut),
    row(DISKS, "% Disk Time", Part::First, own("busy_seconds")),
    row(DISKS, "% Disk Time", Part::Second, Rule::LeftOut),
    row(DISKS, "% Disk Read Time", Part::First, view("disk_read_seconds")),
    row(DISKS, "% Disk Read Time", Part::Second, Rule::LeftOut),
    row(DISKS, "% Disk Write Time", Part::First, view("disk_write_seconds")),
    row(DISKS, "% Disk Write Time", Part::Second, Rule::LeftOut),
    row(DISKS, "% Idle Time", Part::Second, Rule::LeftOut),
    row(DISKS, "Avg. Disk Queue Length", Part::First, own("queue_seconds")),
    row(DISKS, "Avg. Disk Read Queue Length", Part::First, view("disk_read_seconds")),
    row(DISKS, "Avg. Disk Write Queue Length", Part::First, view("disk_write_seconds")),
    row(DISKS, "Avg. Disk sec/Transfer", Part::Second, view("disk_transfers")),
    row(DISKS, "Avg. Disk sec/Read", Part::Second, view("disk_reads")),
    row(DISKS, "Avg. Disk sec/Write", Part::Second, view("disk_writes")),
    row(DISKS, "Avg. Disk sec/Discard", Part::Second, view("disk_discards")),
    row(DISKS, "Avg. Disk sec/Flush", Part::Second, view("disk_flushes")),
    row(DISKS, "Avg. Disk Bytes/Transfer", Part::First, view("disk_bytes")),
    row(DISKS, "Avg. Disk Bytes/Transfer", Part::Second, view("disk_transfers")),
    row(DISKS, "Avg. Disk Bytes/Read", Part::First, view("disk_read_bytes")),
    row(DISKS, "Avg. Disk Bytes/Read", Part::Second, view("disk_reads")),
    row(DISKS, "Avg. Disk Bytes/Write", Part::First, view("disk_write_bytes")),
    row(DISKS, "Avg. Disk Bytes/Write", Part::Second, view("disk_writes")),
    // The same space, once rounded down to whole megabytes.
    row(&["LogicalDisk"], "% Free Space", Part::First, own("free_bytes")),
    row(&["LogicalDisk"], "% Free Space", Part::Second, own("usable_bytes")),
    row(&["LogicalDisk"], "Free Megabytes", Part::First, view("free_bytes")),
    row(&["File System"], "% Used Space", Part::First, view("used_bytes")),
    row(&["File System"], "% Used Space", Part::Second, own("usable_bytes")),
    row(&["File System"], "% Used Inodes", Part::First, view("used_inodes")),
    row(&["File System"], "% Used Inodes", Part::Second, view("inodes")),

    row(&["System"], "System Up Time", Part::Start, own("start_time_seconds")),
    row(&["Cgroup"], "% Memory Limit Used", Part::First, view("memory_current_bytes")),
    row(&["Cgroup"], "% Memory Limit Used", Part::Second, view("memory_limit_bytes")),

    // Ten-thousandths: the denominator never changes.
    row(&["Pressure Stall"], "% Some Stall, 10 s Average", Part::First, scaled("some_stall_10s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Some Stall, 60 s Average", Part::First, scaled("some_stall_60s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Some Stall, 300 s Average", Part::First, scaled("some_stall_300s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Full Stall, 10 s Average", Part::First, scaled("full_stall_10s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Full Stall, 60 s Average", Part::First, scaled("full_stall_60s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Full Stall, 300 s Average", Part::First, scaled("full_stall_300s_average_ratio", 4)),
    row(&["Pressure Stall"], "% Some Stall, 10 s Average", Part::Second, Rule::LeftOut),
    row(&["Pressure Stall"], "% Some Stall, 60 s Average", Part::Second, Rule::LeftOut),
    row(&["Pressure Stall"], "% Some Stall, 300 s Average", Part::Second, Rule::LeftOut),
    row(&["Pressure Stall"], "% Full Stall, 10 s Average", Part::Second, Rule::LeftOut),
    row(&["Pressure Stall"], "% Full Stall, 60 s Average", Part::Second, Rule::LeftOut),
    row(&["Pressure Stall"], "% Full Stall, 300 s Average", Part::Second, Rule::LeftOut),

    row(&["Processor CPI"], "Cycles Per Instruction", Part::First, own("elapsed_cycles")),
    row(&["Processor CPI"], "Cycles Per Instruction", Part::Second, own("elapsed_instructions")),
    row(&["Processor CPI"], "Cycles Per Instruction While Busy", Part::First, own("busy_cycles")),
    row(&["Processor CPI"], "Cycles Per Instruction While Busy", Part::Second, own("busy_instructions")),
    row(&["Processor CPI"], "Core Cycles Per Instruction", Part::First, view("cycles")),
    row(&["Processor CPI"], "Core Cycles Per Instruction", Part::Second, view("instructions")),
    row(&["Processor CPI"], "% Counter Running Time", Part::First, scaled("running_seconds", 9)),
    row(&["Processor CPI"], "% Counter Running Time", Part::Second, scaled("enabled_seconds", 9)),
];

/// What the table says of a number.
pub(super) fn rule(set: &str, counter: &str, part: Part) -> Option<Rule> {
    let is_it = |row: &&Row| row.counter == counter && row.part == part && row.sets.contains(&set);
    ROWS.iter().find(is_it).map(|row| row.rule)
}

/// Sets in which plain numbers count events since the start of the machine, though their type says nothing of it, each
/// with the beginning of the names of those counters, and the one that is a count of now.
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

/// Whether a counter of a plain number counts events since the start of the machine.
pub(super) fn is_cumulative(set: &str, counter: &str) -> bool {
    let row = CUMULATIVE.iter().find(|(name, ..)| *name == set);
    row.is_some_and(|(_, begins, now)| counter.starts_with(begins) && counter != *now)
}

/// A name without its unit, and the unit.
pub(super) fn split_unit(name: &str) -> (&str, &str) {
    for unit in ["bytes", "seconds", "ratio"] {
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
