//! `Paging Activity`: events of memory management from `/proc/vmstat`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use super::keyed::KeyedFile;
use crate::roots::Roots;
use crate::table::{CounterInfo, SetTable};

/// A counter and the keys that it adds up. Keys that the kernel does not have are left out.
struct Event {
    id: u32,
    keys: &'static [&'static str],
    /// The factor that converts the kernel's unit to the counter's.
    factor: u64,
}

/// Defines the counters: for each, its row in the table and its keys.
macro_rules! events {
    ($($id:literal $name:literal [$($key:literal)+] $(* $factor:literal $unit:literal)?: $help:literal,)+) => {
        pub(super) const TABLE: SetTable = SetTable {
            name: "Paging Activity",
            guid: 0x0ea029cf_81d6_57f0_8496_e3d23e1ef35f,
            instance_type: InstanceType::Single,
            help: "Events of Linux' memory management: reading and writing, reclaim, swap, compaction, huge pages.",
            instances: "",
            total: "",
            counters: &[$(CounterInfo::row(
                $id,
                $name,
                CounterType::BULK_COUNT,
                events!(@unit $($unit)?),
                0,
                concat!("/proc/vmstat:" $(, " ", $key)+),
                $help,
            )),+],
        };
        const EVENTS: &[Event] =
            &[$(Event { id: $id, keys: &[$($key),+], factor: events!(@factor $($factor)?) }),+];
    };
    (@unit) => { "1/s" };
    (@unit $unit:literal) => { $unit };
    (@factor) => { 1 };
    (@factor $factor:literal) => { $factor };
}

events! {
    1 "Page In Bytes/sec" ["pgpgin"] * 1024 "bytes/s":
        "Bytes read from block devices, whether into the page cache, past it, or from swap areas.",
    2 "Page Out Bytes/sec" ["pgpgout"] * 1024 "bytes/s":
        "Bytes written to block devices, whether from the page cache, past it, or to swap areas.",
    3 "Swap In Pages/sec" ["pswpin"]: "Pages read from swap areas.",
    4 "Swap Out Pages/sec" ["pswpout"]: "Pages written to swap areas.",
    5 "Page Faults/sec" ["pgfault"]: "Page faults of all kinds.",
    6 "Major Page Faults/sec" ["pgmajfault"]: "Page faults that waited for a device.",
    7 "Pages Allocated/sec" ["pgalloc_dma" "pgalloc_dma32" "pgalloc_normal" "pgalloc_high" "pgalloc_movable" "pgalloc_device"]:
        "Pages that the kernel handed out, of all zones.",
    8 "Pages Freed/sec" ["pgfree"]: "Pages given back to the kernel.",
    9 "Pages Activated/sec" ["pgactivate"]: "Pages moved to the list of those in active use.",
    10 "Pages Deactivated/sec" ["pgdeactivate"]: "Pages moved to the list of those not in active use.",
    11 "Pages Reused/sec" ["pgreuse"]: "Write faults that took over a page instead of copying it.",
    12 "Allocation Stalls/sec" ["allocstall" "allocstall_dma" "allocstall_dma32" "allocstall_normal" "allocstall_high" "allocstall_movable" "allocstall_device"]:
        "Requests for memory that had to reclaim some themselves first, of all zones.",
    13 "Background Pages Scanned/sec" ["pgscan_kswapd"]: "Pages that the kernel's reclaim thread looked at.",
    14 "Background Pages Reclaimed/sec" ["pgsteal_kswapd"]: "Pages that the kernel's reclaim thread took back.",
    15 "Direct Pages Scanned/sec" ["pgscan_direct"]: "Pages looked at by programs that had to reclaim memory themselves.",
    16 "Direct Pages Reclaimed/sec" ["pgsteal_direct"]: "Pages taken back by programs that had to reclaim memory themselves.",
    17 "Proactive Pages Scanned/sec" ["pgscan_proactive"]: "Pages looked at because memory.reclaim of a cgroup was written to.",
    18 "Proactive Pages Reclaimed/sec" ["pgsteal_proactive"]: "Pages taken back because memory.reclaim of a cgroup was written to.",
    19 "Anonymous Pages Scanned/sec" ["pgscan_anon"]: "Programs' own pages that reclaim looked at, reclaim within cgroups included.",
    20 "Anonymous Pages Reclaimed/sec" ["pgsteal_anon"]: "Programs' own pages that reclaim took back, reclaim within cgroups included.",
    21 "File Pages Scanned/sec" ["pgscan_file"]: "Pages of files that reclaim looked at, reclaim within cgroups included.",
    22 "File Pages Reclaimed/sec" ["pgsteal_file"]: "Pages of files that reclaim took back, reclaim within cgroups included.",
    23 "Background Reclaim Runs/sec" ["pageoutrun"]: "How often the kernel's reclaim thread went to work.",
    24 "Kernel Objects Scanned/sec" ["slabs_scanned"]: "Cached objects of the kernel, such as directory entries, that reclaim looked at.",
    25 "Anonymous Refaults/sec" ["workingset_refault_anon"]: "Programs' own pages read again after they had been taken back.",
    26 "File Refaults/sec" ["workingset_refault_file" "workingset_refault"]:
        "Pages of files read again after they had been taken back. Kernels before 5.9 count all pages together.",
    27 "Pages Dirtied/sec" ["nr_dirtied"]: "Pages of files that were changed.",
    28 "Pages Written Back/sec" ["nr_written"]: "Pages whose changes were written, at a program's request or in the background.",
    29 "Reclaim Page Writes/sec" ["nr_vmscan_write"]: "Pages that reclaim wrote, compressed swap in memory included.",
    30 "Swap Readahead Pages/sec" ["swap_ra"]: "Pages read from swap areas ahead of being asked for.",
    31 "Swap Readahead Hits/sec" ["swap_ra_hit"]: "Pages read ahead from swap areas that were then used.",
    32 "Compressed Swap In Pages/sec" ["zswpin"]: "Pages taken out of compressed swap in memory (zswap).",
    33 "Compressed Swap Out Pages/sec" ["zswpout"]: "Pages put into compressed swap in memory (zswap).",
    34 "Compaction Stalls/sec" ["compact_stall"]: "Requests for a large piece of memory that had to move others' pages first.",
    35 "Compaction Successes/sec" ["compact_success"]: "Compactions after which a large enough piece was free.",
    36 "Compaction Failures/sec" ["compact_fail"]: "Compactions after which no large enough piece was free.",
    37 "Compaction Pages Scanned/sec" ["compact_migrate_scanned" "compact_free_scanned"]: "Pages that compaction looked at.",
    38 "Background Compaction Wakes/sec" ["compact_daemon_wake"]: "How often the kernel's compaction thread was woken.",
    39 "Pages Migrated/sec" ["pgmigrate_success"]: "Pages moved to another place in memory.",
    40 "Page Migration Failures/sec" ["pgmigrate_fail"]: "Pages that could not be moved to another place in memory.",
    41 "NUMA Hint Faults/sec" ["numa_hint_faults"]: "Page faults that the kernel provokes to learn which node uses a page.",
    42 "NUMA Local Hint Faults/sec" ["numa_hint_faults_local"]: "Those of them whose page was on the node that used it.",
    43 "NUMA Pages Migrated/sec" ["numa_pages_migrated"]: "Pages moved to the node that uses them.",
    44 "Huge Page Faults/sec" ["thp_fault_alloc"]: "Page faults answered with a transparent huge page.",
    45 "Huge Page Fault Fallbacks/sec" ["thp_fault_fallback"]: "Page faults for which no huge page could be had.",
    46 "Huge Page Collapses/sec" ["thp_collapse_alloc"]: "Huge pages assembled from the small pages of a range.",
    47 "Huge Page Splits/sec" ["thp_split_page"]: "Huge pages that were split into small ones.",
    48 "Huge Page Swap Outs/sec" ["thp_swpout"]: "Huge pages swapped out in one piece.",
    49 "OOM Kills/sec" ["oom_kill"]: "Processes killed because memory had run out, in cgroups or in the whole machine.",
    50 "Balloon Pages Inflated/sec" ["balloon_inflate"]: "Pages that this virtual machine gave to its host.",
    51 "Balloon Pages Deflated/sec" ["balloon_deflate"]: "Pages that this virtual machine got back from its host.",
}

struct Activity {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    vmstat: KeyedFile,
    /// For each event, the indexes in `vmstat` of the keys that this kernel has.
    indexes: Vec<Vec<usize>>,
}

/// The provider, if `/proc/vmstat` can be read.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let path = roots.proc.join("vmstat");
    let all: Vec<&str> = EVENTS.iter().flat_map(|event| event.keys).copied().collect();
    let mut probe = KeyedFile::new(path.clone(), "", &all);
    probe.read();
    let here: Vec<&str> = all
        .iter()
        .enumerate()
        .filter(|(key, _)| probe.value(*key).is_some())
        .map(|(_, name)| *name)
        .collect();
    let index = |name: &&str| here.iter().position(|key| key == name);
    let indexes: Vec<Vec<usize>> =
        EVENTS.iter().map(|event| event.keys.iter().filter_map(index).collect()).collect();
    let has = |id| EVENTS.iter().zip(&indexes).any(|(event, indexes)| event.id == id && !indexes.is_empty());
    let info = TABLE.info_of(has);
    let vmstat = KeyedFile::of_counts(path, &here);
    let has_any = !here.is_empty();
    has_any.then(|| -> Box<dyn Provider> {
        Box::new(Activity { info, instance: Arc::default(), vmstat, indexes })
    })
}

impl Provider for Activity {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.vmstat.read();
        let mut row = rows.push(&self.instance);
        for (event, indexes) in EVENTS.iter().zip(&self.indexes) {
            if !row.wants(event.id) {
                continue;
            }
            match indexes.iter().find(|index| self.vmstat.value(**index).is_none()) {
                Some(&missing) => row.fail(event.id, self.vmstat.reason(missing)),
                None => {
                    let values = indexes.iter().filter_map(|index| self.vmstat.value(*index));
                    row.set(event.id, values.fold(0, u64::saturating_add).saturating_mul(event.factor));
                }
            }
        }
        Ok(())
    }
}
