//! Disks, mounted disks and file systems.

mod devices;
mod diskstats;
mod file_system;
mod io;
mod logical;
pub(crate) mod mount_table;
mod mounts;
mod physical;
mod space;

#[cfg(test)]
mod tests;

use tachograph_perflib::{Provider, SharedReading};

use crate::roots::Roots;
use crate::table::SetTable;
use diskstats::Diskstats;
use mounts::Mounts;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[&physical::TABLE, &logical::TABLE, &file_system::TABLE];

/// The providers of the sets that this machine has.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    providers_of(roots, Mounts::new(roots, space::FileSystemCalls::of_this_machine()))
}

fn providers_of(roots: &Roots, mut mounts: Mounts) -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    let mut stats = Diskstats::new(roots);
    let fields = stats.field_count();
    let stats = SharedReading::new(stats);
    if let Some(fields) = fields {
        providers.push(Box::new(physical::PhysicalDisk::new(stats.clone(), fields)));
    }
    if mounts.are_readable() {
        let mounts = SharedReading::new(mounts);
        providers.push(Box::new(logical::LogicalDisk::new(mounts.clone(), stats, fields)));
        providers.push(Box::new(file_system::FileSystem::new(mounts)));
    }
    providers
}
