//! Ready-made columns, by set.

use super::columns;
use super::columns::Property::{Command, State, User};

/// The sets with ready-made columns, in the order in which a monitor switches through their tables.
pub const READY_MADE_TABLES: [&str; 6] =
    ["Process", "Thread", "Cgroup", "PhysicalDisk", "Network Interface", "Process V2"];

/// A ready-made column: its heading, its source, and the order in which it is omitted on narrow screens (the highest
/// first; 0 never).
pub(super) enum Ready {
    Machine,
    Name(&'static str),
    /// The first of these counters that the set has.
    Counter(&'static str, &'static [&'static str], u8),
    /// Like `Counter`. By default, rows are sorted by the first such column whose counter the set has.
    Ranking(&'static str, &'static [&'static str], u8),
    Property(&'static str, columns::Property, u8),
}

use Ready::{Counter, Machine, Name, Property, Ranking};

const PROCESS: &[Ready] = &[
    Machine,
    Counter("PID", &["ID Process", "Process ID"], 0),
    Property("USER", User, 5),
    Property("S", State, 4),
    Ranking("% OF 1 CPU", &["% Processor Time"], 0),
    Counter("CPU WAIT %", &["% Run Queue Wait Time"], 6),
    Counter("MEMORY", &["Working Set"], 0),
    Counter("READ", &["Storage Read Bytes/sec", "IO Read Bytes/sec"], 3),
    Counter("WRITE", &["Storage Write Bytes/sec", "IO Write Bytes/sec"], 3),
    Counter("DISK WAIT %", &["% Block IO Wait Time"], 7),
    Counter("THREADS", &["Thread Count"], 9),
    Name("NAME"),
    Property("COMMAND", Command, 8),
];

const THREAD: &[Ready] = &[
    Machine,
    Counter("PID", &["ID Process"], 2),
    Counter("TID", &["ID Thread"], 0),
    Ranking("% OF 1 CPU", &["% Processor Time"], 0),
    Counter("CPU WAIT %", &["% Run Queue Wait Time"], 4),
    Counter("USER %", &["% User Time"], 5),
    Counter("SYSTEM %", &["% Privileged Time"], 5),
    Counter("SWITCHES/s", &["Context Switches/sec"], 6),
    Counter("PRIORITY", &["Priority Current"], 7),
    Counter("RUNS FOR", &["Elapsed Time"], 8),
    Name("NAME"),
];

const CGROUP: &[Ready] = &[
    Machine,
    Ranking("% OF 1 CPU", &["% Processor Time"], 0),
    Counter("CPU WAIT %", &["% CPU Some Stall Time"], 5),
    Counter("THROTTLED %", &["% Throttled Time"], 7),
    Ranking("ANON", &["Anonymous Bytes"], 0),
    Counter("CACHE", &["File Bytes"], 4),
    Ranking("ALL MEMORY", &["Memory Current Bytes"], 6),
    Counter("OF LIMIT %", &["% Memory Limit Used"], 6),
    Counter("READ", &["Read Bytes/sec"], 2),
    Counter("WRITE", &["Write Bytes/sec"], 2),
    Counter("DISK WAIT %", &["% IO Some Stall Time"], 5),
    Counter("TASKS", &["Tasks"], 3),
    Name("GROUP"),
];

const DISK: &[Ready] = &[
    Machine,
    Name("DISK"),
    Ranking("BUSY %", &["% Disk Time"], 0),
    Counter("READ", &["Disk Read Bytes/sec"], 0),
    Counter("WRITE", &["Disk Write Bytes/sec"], 0),
    Counter("READS/s", &["Disk Reads/sec"], 3),
    Counter("WRITES/s", &["Disk Writes/sec"], 3),
    Counter("READ TIME", &["Avg. Disk sec/Read"], 1),
    Counter("WRITE TIME", &["Avg. Disk sec/Write"], 1),
    Counter("QUEUE", &["Avg. Disk Queue Length", "Current Disk Queue Length"], 2),
    Counter("READ SIZE", &["Avg. Disk Bytes/Read"], 5),
    Counter("WRITE SIZE", &["Avg. Disk Bytes/Write"], 5),
];

const NETWORK: &[Ready] = &[
    Machine,
    Name("INTERFACE"),
    Ranking("TOTAL", &["Bytes Total/sec"], 4),
    Counter("RECEIVED", &["Bytes Received/sec"], 0),
    Counter("SENT", &["Bytes Sent/sec"], 0),
    Counter("PACKETS IN/s", &["Packets Received/sec"], 3),
    Counter("PACKETS OUT/s", &["Packets Sent/sec"], 3),
    Counter("DROPPED IN/s", &["Packets Received Discarded/sec"], 2),
    Counter("DROPPED OUT/s", &["Packets Outbound Discarded/sec"], 2),
    Counter("ERRORS IN/s", &["Packets Received Errors/sec"], 5),
    Counter("ERRORS OUT/s", &["Packets Outbound Errors/sec"], 5),
    Counter("DROPPED IN", &["Packets Received Discarded"], 7),
    Counter("DROPPED OUT", &["Packets Outbound Discarded"], 7),
    Counter("BANDWIDTH", &["Current Bandwidth"], 6),
];

/// The ready-made columns of a set; empty if it has none.
pub(super) fn ready_made(set: &str) -> &'static [Ready] {
    match set {
        "Process" | "Process V2" => PROCESS,
        "Thread" => THREAD,
        "Cgroup" => CGROUP,
        "PhysicalDisk" => DISK,
        "Network Interface" => NETWORK,
        _ => &[],
    }
}

/// The ready-made columns of a set that show a counter: each column's heading, and its counters, of which it shows the first one
/// that the set has.
pub fn ready_made_columns(set: &str) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    ready_made(set).iter().filter_map(|column| match column {
        Counter(heading, counters, _) | Ranking(heading, counters, _) => Some((*heading, *counters)),
        _ => None,
    })
}
