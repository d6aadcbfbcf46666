//! This machine's performance counters under Windows' names: providers over /proc, /sys and cgroup v2.
//!
//! Every counter is a row of a table: id, name, type, unit, default scale, source and help. Values are raw, 64 bits wide,
//! in the unit of their type. Files stay open and are read anew with `pread`; only what is asked for is read.

#![forbid(unsafe_code)]

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod descriptors;
mod file;
mod kernel;
mod memory;
pub mod mmv;
mod network;
mod online;
mod ordered;
mod process;
mod processor;
mod roots;
mod scan;
mod shared;
mod stat;
mod storage;
pub mod table;
#[cfg(test)]
mod tables_tests;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_perflib::Provider;
use tachograph_perflib::registration::CounterSetInfo;

use table::SetTable;

pub use online::{OnlineProcessors, processor_list};
pub use processor::{ProcessorInstance, ProcessorInstances};
pub use roots::Roots;
pub use stat::{ProcessorLine, ProcessorTicks, ProcessorTimes};

/// The providers of everything that this machine can tell.
pub fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    let stat = stat::shared(roots);
    let mut providers = processor::providers(roots, &stat);
    providers.extend(memory::providers(roots, &stat));
    providers.extend(storage::providers(roots));
    providers.extend(network::providers(roots));
    providers.extend(process::providers(roots));
    providers.extend(kernel::providers(roots));
    providers
}

/// Every counter set and counter that this crate knows, whether this machine has it or not.
///
/// What is here and not among the [`providers`] is something that the kernel, or the hardware, does not tell here.
pub fn known_sets() -> impl Iterator<Item = Arc<CounterSetInfo>> {
    tables().map(SetTable::info)
}

/// The tables of all sets of this crate.
pub fn tables() -> impl Iterator<Item = &'static SetTable> {
    [processor::TABLES, memory::TABLES, storage::TABLES, network::TABLES, process::TABLES, kernel::TABLES]
        .into_iter()
        .flatten()
        .copied()
}

/// When this machine was started, UTC, to the second: the same however often it is asked, as long as the clock is not
/// stepped.
pub fn boot_time(roots: &Roots) -> Option<FileTime> {
    let text = std::fs::read(roots.proc.join("stat")).ok()?;
    let line = scan::lines(&text).find_map(|line| line.strip_prefix(b"btime "))?;
    let seconds = i64::try_from(scan::only_number(line)?).ok()?;
    Some(FileTime::UNIX_EPOCH.saturating_add(seconds.checked_mul(FileTime::PER_SECOND)?))
}
