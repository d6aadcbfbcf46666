//! `Memory`, from `/proc/meminfo` and `/proc/vmstat`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, Timestamps};

use super::keyed::{KeyedFile, KeyedText, SharedText};
use crate::roots::Roots;
use crate::table::{CounterInfo, SetTable};

const AVAILABLE_BYTES: u32 = 1;
const AVAILABLE_KBYTES: u32 = 2;
const AVAILABLE_MBYTES: u32 = 3;
const COMMITTED: u32 = 4;
const COMMIT_LIMIT: u32 = 5;
const COMMITTED_IN_USE: u32 = 6;
const PAGE_FAULTS: u32 = 8;
const PAGES: u32 = 9;
const PAGES_INPUT: u32 = 10;
const PAGE_READS: u32 = 11;
const PAGES_OUTPUT: u32 = 12;
const REPURPOSED: u32 = 13;
const POOL_PAGED: u32 = 14;
const POOL_PAGED_RESIDENT: u32 = 15;
const POOL_NONPAGED: u32 = 16;
const CACHE: u32 = 17;
const CACHE_RESIDENT: u32 = 18;
const FREE: u32 = 19;
const MODIFIED: u32 = 20;
const TOTAL: u32 = 21;
const USED: u32 = 22;
const SHARED: u32 = 23;
const ANONYMOUS: u32 = 24;
const MAPPED: u32 = 25;
const ACTIVE: u32 = 26;
const INACTIVE: u32 = 27;
const PAGE_TABLES: u32 = 28;
const KERNEL_STACK: u32 = 29;
const LOCKED: u32 = 30;
const VMALLOC: u32 = 31;
const PERCPU: u32 = 32;
const HUGE: u32 = 33;
const SWAP_TOTAL: u32 = 34;
const SWAP_USED: u32 = 35;
const SWAP_CACHED: u32 = 36;
const ZSWAP: u32 = 37;
const ZSWAPPED: u32 = 38;
const ZSWAP_SIZE: u32 = 39;

#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "Memory",
    guid: 0xf4de74fe_0368_5a9d_9e6f_c5f2487deb47,
    instance_type: InstanceType::Single,
    help: "The machine's memory as a whole: free memory, committed memory, and paging.",
    instances: "",
    total: "",
    repeats: None,
    counters: &[
        bytes(
            AVAILABLE_BYTES,
            "Available Bytes",
            -6,
            "/proc/meminfo: MemAvailable",
            "Memory that programs can get without swapping, by the kernel's estimate: free memory and what the page \
             cache and the kernel's caches can give back.",
        ),
        CounterInfo::row(AVAILABLE_KBYTES, "Available KBytes", CounterType::LARGE_RAWCOUNT, "KB", 0,
            "/proc/meminfo: MemAvailable",
            "As Available Bytes, in units of 1,024 bytes."),
        CounterInfo::row(AVAILABLE_MBYTES, "Available MBytes", CounterType::LARGE_RAWCOUNT, "MB", 0,
            "/proc/meminfo: MemAvailable",
            "As Available Bytes, in units of 1,048,576 bytes, rounded down."),
        bytes(
            COMMITTED,
            "Committed Bytes",
            -6,
            "/proc/meminfo: Committed_AS",
            "Memory that the kernel has promised to programs, used or not.",
        ),
        CounterInfo::row(COMMIT_LIMIT, "Commit Limit", CounterType::LARGE_RAWCOUNT, "bytes", -6,
            "/proc/meminfo: CommitLimit",
            "Bytes that could be promised if overcommitting were forbidden: swap, and a part of memory. By default Linux \
             promises more than that."),
        CounterInfo::row(COMMITTED_IN_USE, "% Committed Bytes In Use", CounterType::RAW_FRACTION, "%", 0,
            "/proc/meminfo: Committed_AS, CommitLimit",
            "Committed Bytes in percent of Commit Limit. Usually above 100 if programs reserve much more \
             than they use, because Linux enforces the limit only if overcommitting is forbidden.").base(7),
        CounterInfo::companion(7, "% Committed Bytes In Use Base", CounterType::RAW_BASE),
        rate(PAGE_FAULTS, "Page Faults/sec", -1, "/proc/vmstat: pgfault",
            "Page faults of all programs, whether the page was in memory or had to be read from a device."),
        rate(PAGES, "Pages/sec", 0, "/proc/vmstat: pswpin, pswpout",
            "Pages read from and written to swap areas: the sum of Pages Input/sec and Pages Output/sec."),
        rate(PAGES_INPUT, "Pages Input/sec", 0, "/proc/vmstat: pswpin",
            "Pages read from swap areas. Windows also counts pages read from files, which Linux does not count \
             separately: see Page In Bytes/sec of Paging Activity."),
        rate(PAGE_READS, "Page Reads/sec", 0, "/proc/vmstat: pgmajfault",
            "Page faults that waited for a device: to read from a swap area or from a mapped file. As files are \
             included, it may exceed Pages Input/sec."),
        rate(PAGES_OUTPUT, "Pages Output/sec", 0, "/proc/vmstat: pswpout",
            "Pages written to swap areas to free memory. Dirty file pages are not included: Linux writes \
             them soon after the change, whether memory is short or not."),
        rate(REPURPOSED, "Transition Pages RePurposed/sec", -1, "/proc/vmstat: pgsteal_anon, pgsteal_file",
            "Pages reclaimed for another use: of the page cache, and of programs after they were swapped out."),
        bytes(
            POOL_PAGED,
            "Pool Paged Bytes",
            -5,
            "/proc/meminfo: SReclaimable",
            "Kernel objects that can be freed under memory pressure, such as cached directory entries. Linux \
             does not page out kernel memory; this is the reclaimable part.",
        ),
        bytes(
            POOL_PAGED_RESIDENT,
            "Pool Paged Resident Bytes",
            -5,
            "/proc/meminfo: SReclaimable",
            "The same as Pool Paged Bytes: on Linux all of it is in memory.",
        ),
        bytes(
            POOL_NONPAGED,
            "Pool Nonpaged Bytes",
            -5,
            "/proc/meminfo: SUnreclaim",
            "Kernel objects that cannot be reclaimed.",
        ),
        bytes(
            CACHE,
            "Cache Bytes",
            -5,
            "/proc/meminfo: Buffers, Cached, Shmem",
            "The page cache: contents of files and devices in memory, without shared memory and tmpfs (Buffers + \
             Cached - Shmem).",
        ),
        bytes(
            CACHE_RESIDENT,
            "System Cache Resident Bytes",
            -5,
            "/proc/meminfo: Buffers, Cached, Shmem",
            "The same as Cache Bytes: on Linux all of it is in memory.",
        ),
        bytes(
            FREE,
            "Free & Zero Page List Bytes",
            0,
            "/proc/meminfo: MemFree",
            "Memory that is not used at all. Linux keeps little of it; Available Bytes is what programs can get.",
        ),
        bytes(
            MODIFIED,
            "Modified Page List Bytes",
            0,
            "/proc/meminfo: Dirty",
            "Changed file contents that are not written yet.",
        ),
        bytes(TOTAL, "Total Bytes", -6, "/proc/meminfo: MemTotal",
            "Memory that the kernel can use: installed memory minus what the firmware and the kernel image occupy."),
        bytes(USED, "Used Bytes", -6, "/proc/meminfo: MemTotal, MemAvailable",
            "Memory that is not available: Total Bytes minus Available Bytes, as free(1) of procps 4 computes it."),
        bytes(SHARED, "Shared Bytes", -6, "/proc/meminfo: Shmem",
            "Shared memory and files in memory (tmpfs)."),
        bytes(ANONYMOUS, "Anonymous Bytes", -6, "/proc/meminfo: AnonPages",
            "Memory of programs that no file backs: heaps and stacks. Swapped-out memory is not included."),
        bytes(MAPPED, "Mapped Bytes", -6, "/proc/meminfo: Mapped",
            "File contents and shared memory that programs have mapped."),
        bytes(ACTIVE, "Active Bytes", -6, "/proc/meminfo: Active",
            "Memory that was used recently and is reclaimed last."),
        bytes(INACTIVE, "Inactive Bytes", -6, "/proc/meminfo: Inactive",
            "Memory that was not used recently and is reclaimed first."),
        bytes(PAGE_TABLES, "Page Table Bytes", -5, "/proc/meminfo: PageTables",
            "Tables that map the memory of programs."),
        bytes(KERNEL_STACK, "Kernel Stack Bytes", -5, "/proc/meminfo: KernelStack",
            "Stacks of the kernel, one for each thread."),
        bytes(LOCKED, "Locked Bytes", -5, "/proc/meminfo: Mlocked",
            "Memory that programs have locked (mlock), so that it is never swapped."),
        bytes(VMALLOC, "Vmalloc Used Bytes", -5, "/proc/meminfo: VmallocUsed",
            "Kernel memory that is contiguous only in virtual address space, such as modules."),
        bytes(PERCPU, "Per-Processor Bytes", -5, "/proc/meminfo: Percpu",
            "Kernel memory of which each processor has its own copy."),
        bytes(HUGE, "Anonymous Huge Page Bytes", -6, "/proc/meminfo: AnonHugePages",
            "Anonymous memory in transparent huge pages; part of Anonymous Bytes."),
        bytes(SWAP_TOTAL, "Swap Total Bytes", -6, "/proc/meminfo: SwapTotal",
            "The size of all swap areas."),
        bytes(SWAP_USED, "Swap Used Bytes", -6, "/proc/meminfo: SwapTotal, SwapFree",
            "The part of the swap areas that is in use."),
        bytes(SWAP_CACHED, "Swap Cached Bytes", -6, "/proc/meminfo: SwapCached",
            "Memory that is still in a swap area after it was read back; it need not be written again."),
        bytes(ZSWAP, "Zswap Pool Bytes", -6, "/proc/meminfo: Zswap",
            "Memory that compressed swap in memory (zswap) occupies."),
        bytes(ZSWAPPED, "Zswap Stored Bytes", -6, "/proc/meminfo: Zswapped",
            "The size before compression of what zswap holds."),
        CounterInfo::row(ZSWAP_SIZE, "% Zswap Compressed Size", CounterType::RAW_FRACTION, "%", 0,
            "/proc/meminfo: Zswap, Zswapped",
            "Zswap Pool Bytes in percent of Zswap Stored Bytes: 25 is a compression ratio of 4.").base(40),
        CounterInfo::companion(40, "% Zswap Compressed Size Base", CounterType::RAW_BASE),
    ],
};

const fn bytes(
    id: u32,
    name: &'static str,
    scale: i32,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, "bytes", scale, source, help)
}

const fn rate(
    id: u32,
    name: &'static str,
    scale: i32,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::COUNTER_COUNTER, "1/s", scale, source, help)
}

/// The keys of `/proc/meminfo`. Add new ones at the end: [`SOURCES`] refers to keys by index.
const MEMINFO: &[&str] = &[
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "Dirty",
    "Shmem",
    "SReclaimable",
    "SUnreclaim",
    "CommitLimit",
    "Committed_AS",
    "MemTotal",
    "AnonPages",
    "Mapped",
    "Active",
    "Inactive",
    "PageTables",
    "KernelStack",
    "Mlocked",
    "VmallocUsed",
    "Percpu",
    "AnonHugePages",
    "SwapTotal",
    "SwapFree",
    "SwapCached",
    "Zswap",
    "Zswapped",
];
/// The keys of `/proc/vmstat`.
const VMSTAT: &[&str] = &["pswpin", "pswpout", "pgfault", "pgmajfault", "pgsteal_anon", "pgsteal_file"];

/// The source of a counter.
struct Source {
    /// The id of the counter.
    id: u32,
    /// Whether the file is `/proc/vmstat`, and not `/proc/meminfo`.
    is_vmstat: bool,
    /// The indexes of the keys in [`VMSTAT`] or [`MEMINFO`].
    keys: &'static [usize],
    /// Computes the value of the counter from the values of the keys.
    compute: fn(&[u64]) -> u64,
    /// Whether the second key is the base by which the value is divided.
    has_base: bool,
}

const fn meminfo(id: u32, keys: &'static [usize], compute: fn(&[u64]) -> u64) -> Source {
    Source { id, is_vmstat: false, keys, compute, has_base: false }
}

/// A ratio: the first key divided by the second.
const fn meminfo_ratio(id: u32, keys: &'static [usize; 2]) -> Source {
    Source { id, is_vmstat: false, keys, compute: |values| in_bytes(&values[..1]), has_base: true }
}

const fn vmstat(id: u32, keys: &'static [usize]) -> Source {
    Source { id, is_vmstat: true, keys, compute: sum, has_base: false }
}

fn sum(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, &value| sum.saturating_add(value))
}

/// The sum in bytes; `/proc/meminfo` counts in units of 1,024 bytes.
fn in_bytes(values: &[u64]) -> u64 {
    sum(values).saturating_mul(1024)
}

/// Used memory, from MemTotal, MemAvailable and MemFree. In a container, MemAvailable can exceed MemTotal; then MemFree is
/// subtracted, as `free` does.
fn used_memory(values: &[u64]) -> u64 {
    let rest = if values[1] > values[0] { values[2] } else { values[1] };
    in_bytes(&[values[0].saturating_sub(rest)])
}

/// The page cache, from Buffers, Cached and Shmem.
fn file_cache(values: &[u64]) -> u64 {
    in_bytes(&[sum(&values[..2]).saturating_sub(values[2])])
}

const SOURCES: &[Source] = &[
    meminfo(AVAILABLE_BYTES, &[1], in_bytes),
    meminfo(AVAILABLE_KBYTES, &[1], sum),
    meminfo(AVAILABLE_MBYTES, &[1], |values| values[0] / 1024),
    meminfo(COMMITTED, &[9], in_bytes),
    meminfo(COMMIT_LIMIT, &[8], in_bytes),
    meminfo_ratio(COMMITTED_IN_USE, &[9, 8]),
    meminfo(POOL_PAGED, &[6], in_bytes),
    meminfo(POOL_PAGED_RESIDENT, &[6], in_bytes),
    meminfo(POOL_NONPAGED, &[7], in_bytes),
    meminfo(CACHE, &[2, 3, 5], file_cache),
    meminfo(CACHE_RESIDENT, &[2, 3, 5], file_cache),
    meminfo(FREE, &[0], in_bytes),
    meminfo(MODIFIED, &[4], in_bytes),
    meminfo(TOTAL, &[10], in_bytes),
    meminfo(USED, &[10, 1, 0], used_memory),
    meminfo(SHARED, &[5], in_bytes),
    meminfo(ANONYMOUS, &[11], in_bytes),
    meminfo(MAPPED, &[12], in_bytes),
    meminfo(ACTIVE, &[13], in_bytes),
    meminfo(INACTIVE, &[14], in_bytes),
    meminfo(PAGE_TABLES, &[15], in_bytes),
    meminfo(KERNEL_STACK, &[16], in_bytes),
    meminfo(LOCKED, &[17], in_bytes),
    meminfo(VMALLOC, &[18], in_bytes),
    meminfo(PERCPU, &[19], in_bytes),
    meminfo(HUGE, &[20], in_bytes),
    meminfo(SWAP_TOTAL, &[21], in_bytes),
    meminfo(SWAP_USED, &[21, 22], |values| in_bytes(&[values[0].saturating_sub(values[1])])),
    meminfo(SWAP_CACHED, &[23], in_bytes),
    meminfo(ZSWAP, &[24], in_bytes),
    meminfo(ZSWAPPED, &[25], in_bytes),
    meminfo_ratio(ZSWAP_SIZE, &[24, 25]),
    vmstat(PAGE_FAULTS, &[2]),
    vmstat(PAGES, &[0, 1]),
    vmstat(PAGES_INPUT, &[0]),
    vmstat(PAGE_READS, &[3]),
    vmstat(PAGES_OUTPUT, &[1]),
    vmstat(REPURPOSED, &[4, 5]),
];

struct Memory {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    meminfo: KeyedFile,
    vmstat: KeyedFile,
}

/// The provider, if one of the files can be read.
pub(super) fn provider(roots: &Roots, vmstat: &SharedText) -> Option<Box<dyn Provider>> {
    let mut meminfo = KeyedFile::new(&KeyedText::shared(roots.proc.join("meminfo")), "", MEMINFO);
    let mut vmstat = KeyedFile::for_totals(vmstat, VMSTAT);
    meminfo.read(Timestamps::default());
    vmstat.read(Timestamps::default());
    // Closes the file, because the set may never be queried.
    meminfo.close();
    let has_counter = |id: u32| {
        SOURCES.iter().any(|source| {
            let file = if source.is_vmstat { &vmstat } else { &meminfo };
            source.id == id && source.keys.iter().all(|&key| file.value(key).is_some())
        })
    };
    let info = TABLE.info_of(has_counter);
    let has_any = !info.counters.is_empty();
    has_any.then(|| -> Box<dyn Provider> {
        Box::new(Memory { info, instance: Arc::default(), meminfo, vmstat })
    })
}

impl Provider for Memory {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let wants = |is_vmstat| {
            rows.wants_any(
                SOURCES.iter().filter(|source| source.is_vmstat == is_vmstat).map(|source| source.id),
            )
        };
        if wants(false) {
            self.meminfo.read(rows.timestamps());
        }
        if wants(true) {
            self.vmstat.read(rows.timestamps());
        }
        let mut row = rows.push(&self.instance);
        for source in SOURCES {
            if !row.wants(source.id) {
                continue;
            }
            let file = if source.is_vmstat { &mut self.vmstat } else { &mut self.meminfo };
            let mut values = [0; 3];
            let missing = source.keys.iter().zip(&mut values).find_map(|(&key, value)| {
                file.value(key).map_or(Some(key), |read| {
                    *value = read;
                    None
                })
            });
            let values = &values[..source.keys.len()];
            match missing {
                Some(key) => row.fail(source.id, file.reason(key)),
                None if source.has_base => {
                    row.set_with_base(source.id, (source.compute)(values), in_bytes(&values[1..]));
                }
                None => row.set(source.id, (source.compute)(values)),
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.meminfo.close();
        self.vmstat.close();
    }
}
