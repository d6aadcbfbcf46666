//! This machine's performance counters under their Windows names: providers over /proc, /sys and control groups.
//!
//! Every counter is a row of a table: id, name, type, unit, default scale, source and help. Values are raw, 64 bits
//! wide, and in the unit of their type. Files stay open and are re-read with `pread`; only requested files are read.
//!
//! Only `adjtimex.rs` contains `unsafe`: a system call.

mod absence;
mod adjtimex;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod counter_folder;
mod descriptors;
mod error_texts;
mod folder;
mod gpu;
mod kernel;
mod memory;
mod netlink;
mod network;
mod number_file;
mod online;
mod open_file;
mod operating_system;
mod ordered;
mod process;
mod processor;
mod roots;
mod scan;
mod sensors;
mod shared_file;
mod stat;
mod storage;
pub mod table;
#[cfg(test)]
mod tables_tests;
#[cfg(test)]
mod testing;
mod users;
mod wrapping_sum;

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_perflib::Provider;
use tachograph_perflib::registration::CounterSetInfo;

use shared_file::InterruptFiles;
use table::SetTable;

pub use absence::{Absence, absences};
pub use kernel::cgroup::ContainerNames;
pub use online::{OnlineProcessors, processor_list};
pub use operating_system::operating_system;
pub use process::properties::{MAX_COMMAND_LINE, ProcessProperties, ProcessReader, ProcessState};
pub use processor::{ProcessorInstance, ProcessorInstances};
pub use roots::Roots;
pub use stat::{ProcessorLine, ProcessorTicks, ProcessorTimes};
pub use storage::mount_list::{MountList, MountedFileSystem};

/// The providers of all sets that this machine has.
pub fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    let stat = stat::shared_stat(roots);
    let interrupt_files = InterruptFiles::new(roots);
    let mut providers = processor::providers(roots, &stat, &interrupt_files);
    providers.extend(memory::providers(roots, &stat));
    providers.extend(storage::providers(roots));
    providers.extend(network::providers(roots));
    providers.extend(process::providers(roots, &stat));
    providers.extend(kernel::providers(roots, &interrupt_files));
    providers.extend(sensors::providers(roots));
    providers.extend(gpu::providers(roots));
    providers
}

/// Every counter set and counter of this crate, including those that the kernel or hardware of this machine lacks.
pub fn known_sets() -> impl Iterator<Item = Arc<CounterSetInfo>> {
    tables().map(SetTable::info)
}

/// The tables of all sets of this crate.
pub fn tables() -> impl Iterator<Item = &'static SetTable> {
    let modules = [
        processor::TABLES,
        memory::TABLES,
        storage::TABLES,
        network::TABLES,
        process::TABLES,
        kernel::TABLES,
        sensors::TABLES,
        gpu::TABLES,
    ];
    modules.into_iter().flatten().copied()
}

/// What sets and counters require.
pub(crate) fn requirements() -> impl Iterator<Item = &'static absence::Requirement> {
    [
        process::REQUIREMENTS,
        storage::REQUIREMENTS,
        kernel::cgroup::REQUIREMENTS,
        sensors::REQUIREMENTS,
        gpu::REQUIREMENTS,
    ]
    .into_iter()
    .flatten()
}

/// The boot time of this machine in UTC, to the second. It is constant unless the clock is stepped.
pub fn boot_time(roots: &Roots) -> Option<FileTime> {
    let text = std::fs::read(roots.proc.join("stat")).ok()?;
    let line = scan::lines(&text).find_map(|line| line.strip_prefix(b"btime "))?;
    let seconds = i64::try_from(scan::parse_single_number(line)?).ok()?;
    Some(FileTime::UNIX_EPOCH.saturating_add(seconds.checked_mul(FileTime::PER_SECOND)?))
}
