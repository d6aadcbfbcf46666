//! `Memory`, `Paging File`, `NUMA Node Memory`, `Paging Activity`, `Cache`, `Huge Page`, `Kernel Samepage Merging`,
//! `Buddy Allocator` and `System`.
//!
//! Counters of the Windows set `Memory` that have no source in Linux:
//!
//! - `Cache Faults/sec`, `Transition Faults/sec`, `Demand Zero Faults/sec`, `Write Copies/sec`: Linux counts all
//!   faults, and faults that waited for a device, but does not distinguish new memory, page cache hits and copies on
//!   write. Hits and misses of `read` are not counted at all.
//! - `Page Writes/sec`: Linux counts pages, not operations.
//! - `Pool Paged Allocs`, `Pool Nonpaged Allocs`, `Free System Page Table Entries`, `System Code ... Bytes`, `System
//!   Driver ... Bytes`, `Cache Bytes Peak`: not counted.
//! - `Standby Cache ... Bytes`, `Long-Term Average Standby Cache Lifetime (s)`: the page cache has an active and an
//!   inactive list, and no priorities.
//!
//! `System` lacks `System Calls/sec`, `File ... /sec` and `Exception Dispatches/sec`: on Linux, these can only be
//! counted by tracing.

use tachograph_perflib::{Provider, SharedReading, Timestamps};

use crate::roots::Roots;
use crate::stat::Stat;
use crate::table::SetTable;
use keyed::KeyedText;

mod activity;
mod buddy;
mod cache;
mod huge_pages;
mod kernel_objects;
mod keyed;
mod memory_set;
mod merged_pages;
mod numa;
mod processes;
mod swap;
mod system;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[
    &memory_set::TABLE,
    &swap::TABLE,
    &numa::TABLE,
    &activity::TABLE,
    &cache::TABLE,
    &huge_pages::TABLE,
    &merged_pages::TABLE,
    &buddy::TABLE,
    &system::TABLE,
];

/// The providers of the sets that this machine has.
pub(crate) fn providers(roots: &Roots, stat: &SharedReading<Stat>) -> Vec<Box<dyn Provider>> {
    let at = Timestamps::default();
    let vmstat = KeyedText::shared(roots.proc.join("vmstat"));
    let providers: Vec<Box<dyn Provider>> = [
        memory_set::provider(roots, &vmstat),
        swap::provider(roots),
        numa::provider(roots),
        activity::provider(&vmstat),
        cache::provider(&vmstat),
        huge_pages::provider(roots),
        merged_pages::provider(roots),
        buddy::provider(roots),
        system::provider(roots, stat, at),
    ]
    .into_iter()
    .flatten()
    .collect();
    // Closes the file, because the sets may never be queried.
    vmstat.with(KeyedText::close);
    providers
}

#[cfg(test)]
mod tests;
