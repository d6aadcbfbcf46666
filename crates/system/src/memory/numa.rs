//! `NUMA Node Memory`, from `/sys/devices/system/node`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, Timestamps};

use super::keyed::{KeyedFile, KeyedText};
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::parse_number_list;
use crate::table::{CounterInfo, SetTable};

pub(super) const TABLE: SetTable = SetTable {
    name: "NUMA Node Memory",
    guid: 0xc29d68a3_e552_5be6_b609_cc6509c6f9cf,
    instance_type: InstanceType::Multiple,
    help: "Memory by NUMA node, and how many allocations came from the preferred node.",
    instances: "The nodes by the kernel's number, then _Total.",
    total: "The sums. The total restarts when a node is removed or added.",
    repeats: None,
    counters: &[
        megabytes(
            1,
            "Total MBytes",
            "/sys/devices/system/node/nodeN/meminfo: MemTotal",
            "Memory of the node that the kernel uses.",
        ),
        megabytes(
            2,
            "Free & Zero Page List MBytes",
            "/sys/devices/system/node/nodeN/meminfo: MemFree",
            "Unused memory of the node.",
        ),
        megabytes(
            3,
            "Standby List MBytes",
            "/sys/devices/system/node/nodeN/meminfo: Active(file), Inactive(file)",
            "File pages in the node's memory. They can be dropped, dirty ones after they are written.",
        ),
        megabytes(
            4,
            "Modified Page List MBytes",
            "/sys/devices/system/node/nodeN/meminfo: Dirty",
            "Changed file contents that are not written yet.",
        ),
        megabytes(
            5,
            "Available MBytes",
            "/sys/devices/system/node/nodeN/meminfo: MemFree, Active(file), Inactive(file)",
            "Free memory and the standby list. The kernel's own estimate of available memory (Memory, Available \
             MBytes) exists for the whole machine only.",
        ),
        pages(
            6,
            "Hits/sec",
            "/sys/devices/system/node/nodeN/numastat: numa_hit",
            "Pages that were requested from this node and allocated on it.",
        ),
        pages(
            7,
            "Misses/sec",
            "/sys/devices/system/node/nodeN/numastat: numa_miss",
            "Pages that were allocated on this node although another was preferred.",
        ),
        pages(
            8,
            "Foreign/sec",
            "/sys/devices/system/node/nodeN/numastat: numa_foreign",
            "Pages that were requested from this node but allocated on another.",
        ),
        pages(
            9,
            "Interleave Hits/sec",
            "/sys/devices/system/node/nodeN/numastat: interleave_hit",
            "Pages that the interleave policy requested from this node and allocated on it.",
        ),
        pages(
            10,
            "Local Allocations/sec",
            "/sys/devices/system/node/nodeN/numastat: local_node",
            "Pages allocated on this node by programs that ran on it.",
        ),
        pages(
            11,
            "Remote Allocations/sec",
            "/sys/devices/system/node/nodeN/numastat: other_node",
            "Pages allocated on this node by programs that ran on another.",
        ),
    ],
};

const fn megabytes(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, "MB", 0, source, help)
}

const fn pages(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::BULK_COUNT, "1/s", 0, source, help)
}

const MEMINFO: &[&str] = &["MemTotal", "MemFree", "Active(file)", "Inactive(file)", "Dirty"];
const NUMASTAT: &[&str] =
    &["numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node"];

/// The counters from MEMINFO, with the indexes of the keys that each adds up. The ids of the NUMASTAT counters
/// follow, in order.
const SIZES: [(u32, &[usize]); 5] = [(1, &[0]), (2, &[1]), (3, &[2, 3]), (4, &[4]), (5, &[1, 2, 3])];
const FIRST_COUNT: u32 = 6;
const COUNTS: std::ops::Range<u32> = FIRST_COUNT..FIRST_COUNT + NUMASTAT.len() as u32;

struct NodeMemory {
    info: Arc<CounterSetInfo>,
    roots: Roots,
    /// The file that lists the online nodes.
    online: OpenFile,
    /// The list of nodes as last read.
    listed: Vec<u8>,
    nodes: Vec<Node>,
    total: Arc<InstanceKey>,
    /// Incremented when the list of nodes changes. It is the identity of new instances.
    round: u64,
}

struct Node {
    key: Arc<InstanceKey>,
    meminfo: KeyedFile,
    numastat: KeyedFile,
}

impl Node {
    fn new(roots: &Roots, number: u32, round: u64) -> Self {
        let folder = roots.sys.join(format!("devices/system/node/node{number}"));
        let file = |name| KeyedText::shared(folder.join(name));
        Self {
            key: Arc::new(InstanceKey::new(number.to_string(), number, round)),
            meminfo: KeyedFile::new(&file("meminfo"), &format!("Node {number} "), MEMINFO),
            numastat: KeyedFile::for_totals(&file("numastat"), NUMASTAT),
        }
    }
}

/// The provider, if the kernel lists nodes.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let mut set = NodeMemory {
        info: TABLE.info(),
        roots: roots.clone(),
        online: OpenFile::new(roots.sys.join("devices/system/node/online")),
        listed: Vec::new(),
        nodes: Vec::new(),
        total: Arc::default(),
        round: 0,
    };
    set.update_nodes().ok()?;
    for node in &mut set.nodes {
        node.meminfo.read(Timestamps::default());
        node.numastat.read(Timestamps::default());
    }
    let any_node = |has_value: &dyn Fn(&Node) -> bool| set.nodes.iter().any(has_value);
    let info = TABLE.info_of(|id| match SIZES.iter().find(|(size, _)| *size == id) {
        Some((_, keys)) => any_node(&|node| keys.iter().all(|key| node.meminfo.value(*key).is_some())),
        None => any_node(&|node| node.numastat.value((id - FIRST_COUNT) as usize).is_some()),
    });
    let has_any = !info.counters.is_empty();
    set.info = info;
    // Closes the files, because the set may never be queried.
    set.idle();
    has_any.then(|| -> Box<dyn Provider> { Box::new(set) })
}

impl NodeMemory {
    /// Updates the list of nodes.
    fn update_nodes(&mut self) -> Result<(), Failure> {
        let listed = self.online.read_or_fail()?;
        if listed == self.listed {
            return Ok(());
        }
        self.listed.clear();
        self.listed.extend_from_slice(listed);
        self.round += 1;
        let mut before = std::mem::take(&mut self.nodes);
        for number in parse_number_list(&self.listed) {
            let known = before.iter().position(|node| node.key.id() == number);
            self.nodes.push(match known {
                Some(index) => before.swap_remove(index),
                None => Node::new(&self.roots, number, self.round),
            });
        }
        self.total = Arc::new(InstanceKey::new("_Total", u32::MAX >> 1, self.round).reserved());
        Ok(())
    }
}

impl Provider for NodeMemory {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.update_nodes()?;
        let wants_sizes = rows.wants_any(SIZES.iter().map(|(id, _)| *id));
        let wants_counts = rows.wants_any(COUNTS);
        let wants_total = rows.wants_instance("_Total", self.total.id());
        let mut sums = [Some(0_u64); SIZES.len() + NUMASTAT.len()];
        for node in &mut self.nodes {
            let is_wanted = rows.wants_instance(node.key.full_name(), node.key.id());
            if !is_wanted && !wants_total {
                continue;
            }
            if wants_sizes {
                node.meminfo.read(rows.timestamps());
            }
            if wants_counts {
                node.numastat.read(rows.timestamps());
            }
            let mut row = is_wanted.then(|| rows.push(&node.key));
            let sizes = SIZES.iter().map(|(id, keys)| (*id, *keys, true));
            let counts = COUNTS.map(|id| (id, &PLACES[(id - FIRST_COUNT) as usize..][..1], false));
            for ((id, keys, is_size), sum) in sizes.chain(counts).zip(&mut sums) {
                let file = if is_size { &mut node.meminfo } else { &mut node.numastat };
                let missing = keys.iter().find(|key| file.value(**key).is_none());
                // Sizes in the file are in KiB.
                let all = keys.iter().filter_map(|key| file.value(*key)).fold(0, u64::saturating_add);
                let value = if is_size { all / 1024 } else { all };
                *sum = sum.filter(|_| missing.is_none()).map(|sum| sum.saturating_add(value));
                match (&mut row, missing) {
                    (Some(row), None) => row.set(id, value),
                    (Some(row), Some(key)) => row.fail(id, file.reason(*key)),
                    (None, _) => {}
                }
            }
        }
        if wants_total {
            let mut row = rows.push(&self.total);
            let ids = SIZES.iter().map(|(id, _)| *id).chain(COUNTS);
            // A total with a missing part stays invalid; the row of the node has the reason.
            for (id, sum) in ids.zip(sums) {
                if let Some(sum) = sum {
                    row.set(id, sum);
                }
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.online.close();
        for node in &mut self.nodes {
            node.meminfo.close();
            node.numastat.close();
        }
    }
}

/// The index of each key in NUMASTAT.
const PLACES: [usize; 6] = [0, 1, 2, 3, 4, 5];
