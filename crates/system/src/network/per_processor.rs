//! `Connection Tracking` and `Neighbor Cache`: files of `/proc/net/stat`, with a line of hexadecimal numbers per
//! processor.

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows};

use crate::error_texts::{LastReason, error_text};
use crate::number_file::SmallFile;
use crate::open_file::OpenFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, parse_hexadecimal, words};
use crate::table::{CounterInfo, SetTable};
use crate::wrapping_sum::WrappingSum;

const ENTRIES: u32 = 1;
const LIMIT: u32 = 2;
const IN_USE: u32 = 3;

#[rustfmt::skip]
pub(super) static CONNECTION_TRACKING: SetTable = SetTable {
    name: "Connection Tracking",
    guid: 0x8c98d19a_c8c3_55c0_956e_dc0097d05b5f,
    instance_type: InstanceType::Single,
    help: "Connections that the firewall tracks (netfilter's conntrack) in this network namespace.",
    instances: "",
    total: "",
    repeats: None,
    counters: &[
        gauge(ENTRIES, "Entries", "/proc/sys/net/netfilter/nf_conntrack_count", "Connections that are currently tracked."),
        gauge(LIMIT, "Limit", "/proc/sys/net/netfilter/nf_conntrack_max",
            "The maximum number of tracked connections; packets of further connections are dropped."),
        CounterInfo::row(IN_USE, "% Entries In Use", CounterType::RAW_FRACTION, "%", 0,
            "/proc/sys/net/netfilter: nf_conntrack_count / nf_conntrack_max", "Entries in percent of Limit.").base(4),
        CounterInfo::companion(4, "% Entries In Use Base", CounterType::RAW_BASE),
        rate(5, "Invalid Packets/sec", "/proc/net/stat/nf_conntrack: invalid", "Packets that could not be tracked."),
        rate(6, "Insertion Failures/sec", "/proc/net/stat/nf_conntrack: insert_failed",
            "Connections that could not be added, usually because an equal entry already existed."),
        rate(7, "Drops/sec", "/proc/net/stat/nf_conntrack: drop",
            "Packets that were dropped because a connection could not be tracked, usually because the table was full."),
        rate(8, "Early Drops/sec", "/proc/net/stat/nf_conntrack: early_drop",
            "Connections that were removed before they expired because the table was full."),
        rate(9, "Search Restarts/sec", "/proc/net/stat/nf_conntrack: search_restart",
            "Lookups that were restarted because the table was resized."),
    ],
};

#[rustfmt::skip]
pub(super) static NEIGHBOR_CACHE: SetTable = SetTable {
    name: "Neighbor Cache",
    guid: 0x5b6ca61f_95b0_59bf_b18c_0f93b0ddb152,
    instance_type: InstanceType::Multiple,
    help: "Hardware addresses of network neighbors, found by ARP and neighbor discovery, on the whole machine.",
    instances: "IPv4 (ARP) and IPv6 (neighbor discovery).",
    total: "",
    repeats: None,
    counters: &[
        gauge(ENTRIES, "Entries", "/proc/net/stat/arp_cache, ndisc_cache: entries", "Neighbors in the cache."),
        rate(5, "Lookups/sec", "/proc/net/stat/arp_cache, ndisc_cache: lookups", "Cache lookups."),
        rate(6, "Hits/sec", "/proc/net/stat/arp_cache, ndisc_cache: hits", "Lookups that found the neighbor."),
        rate(7, "Resolution Failures/sec", "/proc/net/stat/arp_cache, ndisc_cache: res_failed",
            "Neighbors that did not answer."),
        rate(8, "Unresolved Discards/sec", "/proc/net/stat/arp_cache, ndisc_cache: unresolved_discards",
            "Packets that were dropped because too many packets were waiting for the neighbor's address."),
        rate(9, "Table Overflows/sec", "/proc/net/stat/arp_cache, ndisc_cache: table_fulls",
            "Neighbors that could not be added because the cache was full (gc_thresh3)."),
        rate(10, "Forced Collections/sec", "/proc/net/stat/arp_cache, ndisc_cache: forced_gc_runs",
            "Garbage collections that were forced because the cache was nearly full."),
    ],
};

const fn gauge(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, "", 0, source, help)
}

const fn rate(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::BULK_COUNT, "1/s", 0, source, help)
}

/// The ids of counters, and the names of the columns that are summed over the processors.
type Columns = &'static [(u32, &'static str)];

const CONNECTION_COLUMNS: Columns =
    &[(5, "invalid"), (6, "insert_failed"), (7, "drop"), (8, "early_drop"), (9, "search_restart")];
const NEIGHBOR_COLUMNS: Columns = &[
    (5, "lookups"),
    (6, "hits"),
    (7, "res_failed"),
    (8, "unresolved_discards"),
    (9, "table_fulls"),
    (10, "forced_gc_runs"),
];

/// The maximum number of columns that are summed up.
const MAX_SUMS: usize = 6;

/// A file with a line of names and a line of numbers per processor.
struct StatFile {
    path: PathBuf,
    file: OpenFile,
    columns: Columns,
    /// The sums of the columns.
    sums: [WrappingSum; MAX_SUMS],
    /// The column `entries`, which is the same in all lines.
    entries: u64,
    /// The number of lines of processors at the last read; 0 before the first read.
    processors: usize,
    reason: LastReason,
}

impl StatFile {
    /// Reads the file for the first time; `None` if it cannot be read.
    fn new(path: PathBuf, columns: Columns) -> Option<Self> {
        let file = OpenFile::new(&path);
        let sums = [WrappingSum::default(); MAX_SUMS];
        let mut file =
            Self { path, file, columns, sums, entries: 0, processors: 0, reason: LastReason::default() };
        file.read().is_ok().then_some(file)
    }

    /// Whether the kernel has the column of a counter.
    fn has_counter(&mut self, id: u32) -> bool {
        let name = self.columns.iter().find(|(column, _)| *column == id).map(|(_, name)| name.as_bytes());
        let text = self.file.read().unwrap_or_default();
        let header = lines(text).next().unwrap_or_default();
        name.is_some_and(|name| words(header).any(|word| word == name))
    }

    fn read(&mut self) -> Result<(), String> {
        let text = self.file.read().map_err(|error| error_text(self.path.display(), &error))?;
        let mut lines = lines(split_complete_lines(text).0);
        let header = lines.next().unwrap_or_default();
        let mut now = [0_u64; MAX_SUMS];
        let mut processors = 0;
        for line in lines {
            for (index, (name, word)) in words(header).zip(words(line)).enumerate() {
                let column = self.columns.iter().position(|(_, column)| column.as_bytes() == name);
                if column.is_none() && index > 0 {
                    continue;
                }
                let number =
                    parse_hexadecimal(word).ok_or_else(|| format!("{}: malformed", self.path.display()))?;
                match column {
                    Some(column) => now[column] = now[column].wrapping_add(number),
                    None => self.entries = number,
                }
            }
            processors += 1;
        }
        if processors == 0 {
            return Err(format!("{}: no lines", self.path.display()));
        }
        let has_same_terms = processors == self.processors;
        for (sum, now) in self.sums.iter_mut().zip(now) {
            sum.current = now;
            sum.update(self.processors == 0, has_same_terms);
        }
        self.processors = processors;
        Ok(())
    }

    /// Reads the file and sets the counters of its columns. Returns the column `entries`; `None` if the file cannot be read.
    fn read_into(&mut self, row: &mut Row<'_>) -> Option<u64> {
        if let Err(text) = self.read() {
            row.fail_all(self.columns.iter().map(|(id, _)| *id).chain([ENTRIES]), self.reason.intern(&text));
            return None;
        }
        for ((id, _), sum) in self.columns.iter().zip(&self.sums) {
            row.set(*id, sum.total);
        }
        Some(self.entries)
    }
}

/// The providers for the files that exist.
pub(super) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    if let Some(tracking) = ConnectionTracking::new(roots) {
        providers.push(Box::new(tracking));
    }
    let cache = |(id, name, file): (u32, &str, &str)| {
        let file = StatFile::new(roots.proc.join("net/stat").join(file), NEIGHBOR_COLUMNS)?;
        Some((Arc::new(InstanceKey::new(name, id, 0)), file))
    };
    let mut caches: Vec<_> =
        [(4, "IPv4", "arp_cache"), (6, "IPv6", "ndisc_cache")].into_iter().filter_map(cache).collect();
    if !caches.is_empty() {
        let ids: Vec<u32> = NEIGHBOR_COLUMNS.iter().map(|(id, _)| *id).collect();
        let available_ids: Vec<u32> =
            ids.into_iter().filter(|id| caches.iter_mut().any(|(_, file)| file.has_counter(*id))).collect();
        let info = NEIGHBOR_CACHE.info_of(|id| id == ENTRIES || available_ids.contains(&id));
        providers.push(Box::new(NeighborCache { info, caches }));
    }
    providers
}

struct ConnectionTracking {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    count: SmallFile,
    limit: SmallFile,
    stat: Option<StatFile>,
    reason: LastReason,
}

impl ConnectionTracking {
    /// Creates the provider; `None` without the module nf_conntrack.
    fn new(roots: &Roots) -> Option<Self> {
        let folder = roots.proc.join("sys/net/netfilter");
        let count = SmallFile::new(folder.join("nf_conntrack_count"));
        if !count.has_number() {
            return None;
        }
        let mut stat = StatFile::new(roots.proc.join("net/stat/nf_conntrack"), CONNECTION_COLUMNS);
        let available_ids: Vec<u32> = CONNECTION_COLUMNS
            .iter()
            .map(|(id, _)| *id)
            .filter(|id| stat.as_mut().is_some_and(|stat| stat.has_counter(*id)))
            .collect();
        Some(Self {
            info: CONNECTION_TRACKING.info_of(|id| id <= IN_USE || available_ids.contains(&id)),
            instance: Arc::default(),
            count,
            limit: SmallFile::new(folder.join("nf_conntrack_max")),
            stat,
            reason: LastReason::default(),
        })
    }
}

impl Provider for ConnectionTracking {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let mut row = rows.push(&self.instance);
        if CONNECTION_COLUMNS.iter().any(|(id, _)| row.wants(*id))
            && let Some(stat) = &mut self.stat
        {
            stat.read_into(&mut row);
        }
        if ![ENTRIES, LIMIT, IN_USE].into_iter().any(|id| row.wants(id)) {
            return Ok(());
        }
        match self.count.read_number().and_then(|count| Ok((count, self.limit.read_number()?))) {
            Ok((count, limit)) => {
                row.set(ENTRIES, count);
                row.set(LIMIT, limit);
                row.set_with_base(IN_USE, count, limit);
            }
            Err(text) => row.fail_all([ENTRIES, LIMIT, IN_USE], self.reason.intern(&text)),
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.count.close();
        self.limit.close();
        if let Some(stat) = &mut self.stat {
            stat.file.close();
        }
    }
}

struct NeighborCache {
    info: Arc<CounterSetInfo>,
    caches: Vec<(Arc<InstanceKey>, StatFile)>,
}

impl Provider for NeighborCache {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        for (key, file) in &mut self.caches {
            if rows.wants_instance(key.full_name(), key.id()) {
                let mut row = rows.push(key);
                if let Some(entries) = file.read_into(&mut row) {
                    row.set(ENTRIES, entries);
                }
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.caches.iter_mut().for_each(|(_, file)| file.file.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, collect, first_value, names, value};

    const CONNTRACK: &str = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart
00000007  00000000 00000000 00000000 00000010 00000000 00000000 00000000 00000000 00000001 00000002 00000003 00000000  00000000 00000000 00000000 00000004
00000007  00000000 00000000 00000000 fffffff0 00000000 00000000 00000000 00000000 00000001 00000002 00000003 00000000  00000000 00000000 00000000 00000004
";
    const ARP: &str = "entries  allocs   destroys hash_grows lookups  hits     res_failed rcv_probes_mcast rcv_probes_ucast periodic_gc_runs forced_gc_runs unresolved_discards table_fulls
00000012 00000001 00000000 00000000   00000020 00000010 00000003   00000000         00000000         0000008c         00000004       00000005            00000006
00000012 00000001 00000000 00000000   00000005 00000001 00000001   00000000         00000000         00000000         00000001       00000001            00000001
";

    #[test]
    fn tracked_connections_are_counted() {
        let machine = Machine::new(&[
            ("proc/sys/net/netfilter/nf_conntrack_count", "7\n"),
            ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
            ("proc/net/stat/nf_conntrack", CONNTRACK),
        ]);
        let mut set = providers(&machine.roots).swap_remove(0);
        let rows = collect(&mut *set, at(1));
        let values_of =
            |rows: &Rows, ids: &[u32]| ids.iter().map(|id| first_value(rows, "", *id)).collect::<Vec<_>>();
        assert_eq!(values_of(&rows, &[1, 2, 5, 6, 7, 8, 9]), [7, 262_144, 0x1_0000_0000, 2, 4, 6, 8]);
        let fraction = value(&rows, "", 3);
        assert_eq!((fraction.first, fraction.second), (7, 262_144));
        // The count of one processor wraps.
        machine.write("proc/net/stat/nf_conntrack", CONNTRACK.replace("fffffff0", "00000002"));
        assert_eq!(values_of(&collect(&mut *set, at(2)), &[5]), [0x1_0000_0012]);
        machine.write("proc/net/stat/nf_conntrack", CONNTRACK.replace("fffffff0", "x"));
        let rows = collect(&mut *set, at(3));
        assert_eq!(values_of(&rows, &[1]), [7]);
        assert!(!value(&rows, "", 5).status.is_good());
        assert!(rows.errors()[0].reason.contains("nf_conntrack: malformed"), "{:?}", rows.errors());
    }

    #[test]
    fn neighbors_are_counted() {
        let old = ARP
            .replace(" table_fulls", "")
            .replace("            00000006", "")
            .replace("            00000001\n", "\n");
        let machine = Machine::new(&[("proc/net/stat/arp_cache", ARP), ("proc/net/stat/ndisc_cache", &old)]);
        let rows = collect(&mut *providers(&machine.roots).swap_remove(0), at(1));
        assert_eq!(names(&rows), ["IPv4", "IPv6"]);
        let values_of = |name| [1, 5, 6, 7, 8, 10].map(|id| first_value(&rows, name, id));
        assert_eq!(values_of("IPv4"), [0x12, 0x25, 0x11, 4, 6, 5]);
        assert_eq!(values_of("IPv6"), values_of("IPv4"));
        assert_eq!(first_value(&rows, "IPv4", 9), 7);
    }
}
