//! The NUMA node of each processor.

use std::collections::BTreeMap;
use std::path::Path;

use crate::roots::Roots;
use crate::scan;

/// The node of each processor that was ever seen, including offline ones, so that the index of a processor within its
/// node does not change when another one goes offline.
#[derive(Debug, Default)]
pub(super) struct Topology {
    /// The node of each processor id.
    nodes: BTreeMap<u32, u32>,
}

impl Topology {
    /// Re-reads the nodes. Processors without a node are in node 0.
    pub(super) fn update(&mut self, roots: &Roots, online: impl Iterator<Item = u32>) {
        let system = roots.sys.join("devices/system");
        for (node, folder) in numbered_entries(&system.join("node"), "node") {
            // `cpulist` has only online processors; the links also include offline ones.
            let listed = std::fs::read(folder.join("cpulist")).unwrap_or_default();
            let linked = numbered_entries(&folder, "cpu").into_iter().map(|(processor, _)| processor);
            for processor in linked.chain(scan::parse_number_list(&listed)) {
                self.nodes.insert(processor, node);
            }
        }
        let present = std::fs::read(system.join("cpu/present")).unwrap_or_default();
        for processor in scan::parse_number_list(&present).into_iter().chain(online) {
            self.nodes.entry(processor).or_insert(0);
        }
    }

    /// The node of a processor, and its index within the node.
    pub(super) fn position(&self, processor: u32) -> (u32, u32) {
        let node = self.nodes.get(&processor).copied().unwrap_or(0);
        let before = self.nodes.range(..processor).filter(|(_, other)| **other == node).count();
        (node, before as u32)
    }
}

/// The entries of a folder whose names consist of `word` and a number, sorted by number.
pub(super) fn numbered_entries(folder: &Path, word: &str) -> Vec<(u32, std::path::PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = scan::parse_number(name.to_str()?.strip_prefix(word)?.as_bytes())?;
            Some((u32::try_from(number).ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found
}
