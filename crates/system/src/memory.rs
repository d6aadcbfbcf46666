//! `Memory`, `Paging File`, `NUMA Node Memory`, `Paging Activity`, `Cache` and `System`.
//!
//! What Windows' `Memory` has and Linux does not count, and what is therefore not here:
//!
//! - `Cache Faults/sec`, `Transition Faults/sec`, `Demand Zero Faults/sec`, `Write Copies/sec`: Linux counts faults, and
//!   those that had to wait for a device; it does not tell new memory, memory found in the page cache and copies on
//!   write apart, and what `read` finds or misses in the page cache is not counted at all.
//! - `Page Writes/sec`: pages are counted, not the operations that wrote them.
//! - `Pool Paged Allocs`, `Pool Nonpaged Allocs`, `Free System Page Table Entries`, `System Code ... Bytes`, `System
//!   Driver ... Bytes`, `Cache Bytes Peak`: no such numbers.
//! - `Standby Cache ... Bytes`, `Long-Term Average Standby Cache Lifetime (s)`: the page cache has two lists, by how
//!   recently a page was used, and no priorities.
//!
//! `System` has no `System Calls/sec`, `File ... /sec` and `Exception Dispatches/sec`: the kernel does not count them
//! without tracing.

use tachograph_perflib::{Moments, Provider};

use crate::Roots;
use crate::shared::Shared;
use crate::stat::Stat;
use crate::table::SetTable;

mod activity;
mod cache;
mod keyed;
mod memory_set;
mod numa;
mod processes;
mod swap;
mod system;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] =
    &[&memory_set::TABLE, &swap::TABLE, &numa::TABLE, &activity::TABLE, &cache::TABLE, &system::TABLE];

/// The providers of these sets, as far as this machine has what they read.
pub(crate) fn providers(roots: &Roots, stat: &Shared<Stat>) -> Vec<Box<dyn Provider>> {
    let at = Moments::default();
    [
        memory_set::provider(roots),
        swap::provider(roots),
        numa::provider(roots),
        activity::provider(roots),
        cache::provider(roots),
        system::provider(roots, stat, at),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests;
