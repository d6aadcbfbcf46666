//! Sets that exist only on Linux: pressure stall, cgroups, interrupts by line, softirqs, thermal zones.

pub(crate) mod cgroup;
mod interrupt;
mod pressure;
mod thermal;

use tachograph_perflib::Provider;

use crate::roots::Roots;
use crate::shared_file::InterruptFiles;
use crate::table::SetTable;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[
    &pressure::TABLE,
    &cgroup::TABLE,
    &cgroup::CONTAINER,
    &cgroup::DISK,
    &interrupt::INTERRUPT,
    &interrupt::SOFTIRQ,
    &thermal::TABLE,
];

/// The providers of the sets that this machine has.
pub(crate) fn providers(roots: &Roots, files: &InterruptFiles) -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    providers.extend(pressure::provider(roots));
    providers.extend(cgroup::providers(roots));
    providers.extend(interrupt::providers(files));
    providers.extend(thermal::provider(roots));
    providers
}
