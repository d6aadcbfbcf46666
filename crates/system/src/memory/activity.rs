//! `Paging Activity`: events of memory management from `/proc/vmstat`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, Timestamps};

use super::keyed::{KeyedFile, SharedText};
use crate::table::{CounterInfo, SetTable};

/// A counter and the keys whose values it adds up, as far as the kernel has them.
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
            help: "Linux memory management events: reads and writes, reclaim, swap, compaction, huge pages.",
            instances: "",
            total: "",
            repeats: None,
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
        "Bytes read from block devices: into the page cache, with direct I/O, and from swap areas.",
    2 "Page Out Bytes/sec" ["pgpgout"] * 1024 "bytes/s":
        "Bytes written to block devices: from the page cache, with direct I/O, and to swap areas.",
    3 "Swap In Pages/sec" ["pswpin"]: "Pages read from swap areas.",
    4 "Swap Out Pages/sec" ["pswpout"]: "Pages written to swap areas.",
    5 "Page Faults/sec" ["pgfault"]: "Page faults of all kinds.",
    6 "Major Page Faults/sec" ["pgmajfault"]: "Page faults that waited for a device.",
    7 "Pages Allocated/sec" ["pgalloc_dma" "pgalloc_dma32" "pgalloc_normal" "pgalloc_high" "pgalloc_movable" "pgalloc_device"]:
        "Pages allocated, in all zones.",
    8 "Pages Freed/sec" ["pgfree"]: "Pages freed.",
    9 "Pages Activated/sec" ["pgactivate"]: "Pages moved to an active list.",
    10 "Pages Deactivated/sec" ["pgdeactivate"]: "Pages moved to an inactive list.",
    11 "Pages Reused/sec" ["pgreuse"]: "Write faults that reused a page instead of copying it.",
    12 "Allocation Stalls/sec" ["allocstall" "allocstall_dma" "allocstall_dma32" "allocstall_normal" "allocstall_high" "allocstall_movable" "allocstall_device"]:
        "Allocations that had to reclaim memory first (direct reclaim), in all zones.",
    13 "Background Pages Scanned/sec" ["pgscan_kswapd"]: "Pages scanned by the kernel's reclaim thread (kswapd).",
    14 "Background Pages Reclaimed/sec" ["pgsteal_kswapd"]: "Pages reclaimed by the kernel's reclaim thread (kswapd).",
    15 "Direct Pages Scanned/sec" ["pgscan_direct"]: "Pages scanned by programs that had to reclaim memory themselves (direct reclaim).",
    16 "Direct Pages Reclaimed/sec" ["pgsteal_direct"]: "Pages reclaimed by programs that had to reclaim memory themselves (direct reclaim).",
    17 "Proactive Pages Scanned/sec" ["pgscan_proactive"]: "Pages scanned because a program wrote to memory.reclaim of a cgroup.",
    18 "Proactive Pages Reclaimed/sec" ["pgsteal_proactive"]: "Pages reclaimed because a program wrote to memory.reclaim of a cgroup.",
    19 "Anonymous Pages Scanned/sec" ["pgscan_anon"]: "Anonymous pages (heaps, stacks) scanned, including reclaim within cgroups.",
    20 "Anonymous Pages Reclaimed/sec" ["pgsteal_anon"]: "Anonymous pages (heaps, stacks) reclaimed, including reclaim within cgroups.",
    21 "File Pages Scanned/sec" ["pgscan_file"]: "File pages scanned, including reclaim within cgroups.",
    22 "File Pages Reclaimed/sec" ["pgsteal_file"]: "File pages reclaimed, including reclaim within cgroups.",
    23 "Background Reclaim Runs/sec" ["pageoutrun"]: "Runs of the kernel's reclaim thread (kswapd).",
    24 "Kernel Objects Scanned/sec" ["slabs_scanned"]: "Cached kernel objects, such as directory entries, scanned by reclaim.",
    25 "Anonymous Refaults/sec" ["workingset_refault_anon"]: "Anonymous pages (heaps, stacks) read again after they had been reclaimed.",
    26 "File Refaults/sec" ["workingset_refault_file" "workingset_refault"]:
        "File pages read again after they had been reclaimed. Kernels before 5.9 count all pages together.",
    27 "Pages Dirtied/sec" ["nr_dirtied"]: "File pages that became dirty.",
    28 "Pages Written Back/sec" ["nr_written"]: "Pages whose changes were written, at a program's request or in the background.",
    29 "Reclaim Page Writes/sec" ["nr_vmscan_write"]: "Pages written by reclaim, including those compressed into memory (zswap).",
    30 "Swap Readahead Pages/sec" ["swap_ra"]: "Pages read ahead from swap areas.",
    31 "Swap Readahead Hits/sec" ["swap_ra_hit"]: "Pages read ahead from swap areas that were then used.",
    32 "Compressed Swap In Pages/sec" ["zswpin"]: "Pages read from compressed swap in memory (zswap).",
    33 "Compressed Swap Out Pages/sec" ["zswpout"]: "Pages stored in compressed swap in memory (zswap).",
    34 "Compaction Stalls/sec" ["compact_stall"]: "Allocations of a large block that had to wait for compaction.",
    35 "Compaction Successes/sec" ["compact_success"]: "Compactions after which a large enough block was free.",
    36 "Compaction Failures/sec" ["compact_fail"]: "Compactions after which no large enough block was free.",
    37 "Compaction Pages Scanned/sec" ["compact_migrate_scanned" "compact_free_scanned"]: "Pages scanned by compaction.",
    38 "Background Compaction Wakes/sec" ["compact_daemon_wake"]: "Wakeups of the kernel's compaction thread (kcompactd).",
    39 "Pages Migrated/sec" ["pgmigrate_success"]: "Pages moved to another place in memory.",
    40 "Page Migration Failures/sec" ["pgmigrate_fail"]: "Pages that could not be moved to another place in memory.",
    41 "NUMA Hint Faults/sec" ["numa_hint_faults"]: "Page faults that the kernel provokes to learn which node uses a page.",
    42 "NUMA Local Hint Faults/sec" ["numa_hint_faults_local"]: "NUMA hint faults whose page was on the node that used it.",
    43 "NUMA Pages Migrated/sec" ["numa_pages_migrated"]: "Pages moved to the node that uses them.",
    44 "Huge Page Faults/sec" ["thp_fault_alloc"]: "Page faults answered with a transparent huge page.",
    45 "Huge Page Fault Fallbacks/sec" ["thp_fault_fallback"]: "Page faults for which no huge page was available.",
    46 "Huge Page Collapses/sec" ["thp_collapse_alloc"]: "Huge pages assembled from the small pages of a range.",
    47 "Huge Page Splits/sec" ["thp_split_page"]: "Huge pages that were split into small ones.",
    48 "Huge Page Swap Outs/sec" ["thp_swpout"]: "Huge pages swapped out without being split.",
    49 "OOM Kills/sec" ["oom_kill"]: "Processes killed because a cgroup or the whole machine ran out of memory.",
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
pub(super) fn provider(vmstat: &SharedText) -> Option<Box<dyn Provider>> {
    let all: Vec<&str> = EVENTS.iter().flat_map(|event| event.keys).copied().collect();
    let mut probe = KeyedFile::new(vmstat, "", &all);
    probe.read(Timestamps::default());
    let present: Vec<&str> = all
        .iter()
        .enumerate()
        .filter(|(key, _)| probe.value(*key).is_some())
        .map(|(_, name)| *name)
        .collect();
    let index = |name: &&str| present.iter().position(|key| key == name);
    let indexes: Vec<Vec<usize>> =
        EVENTS.iter().map(|event| event.keys.iter().filter_map(index).collect()).collect();
    let has_counter =
        |id| EVENTS.iter().zip(&indexes).any(|(event, indexes)| event.id == id && !indexes.is_empty());
    let info = TABLE.info_of(has_counter);
    let vmstat = KeyedFile::for_totals(vmstat, &present);
    let has_any = !present.is_empty();
    has_any.then(|| -> Box<dyn Provider> {
        Box::new(Activity { info, instance: Arc::default(), vmstat, indexes })
    })
}

impl Provider for Activity {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.vmstat.read(rows.timestamps());
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

    fn idle(&mut self) {
        self.vmstat.close();
    }
}
