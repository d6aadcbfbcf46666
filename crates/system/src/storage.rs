//! Disks, mounted disks and file systems.

mod devices;
mod diskstats;
mod file_system;
mod io;
mod logical;
mod mount_table;
mod mounts;
mod physical;
mod space;

#[cfg(test)]
mod tests;

use tachograph_perflib::Provider;

use crate::Roots;
use crate::shared::Shared;
use crate::table::SetTable;
use diskstats::Diskstats;
use mounts::Mounts;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[&physical::TABLE, &logical::TABLE, &file_system::TABLE];

/// The providers of these sets, as far as this machine has what they read.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    providers_of(roots, Mounts::new(roots, space::Seen::of_this_machine()))
}

fn providers_of(roots: &Roots, mut mounts: Mounts) -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    let mut stats = Diskstats::new(roots);
    let fields = stats.fields_here();
    let stats = Shared::new(stats);
    if let Some(fields) = fields {
        providers.push(Box::new(physical::PhysicalDisk::new(stats.clone(), fields)));
    }
    if mounts.are_readable() {
        let mounts = Shared::new(mounts);
        providers.push(Box::new(logical::LogicalDisk::new(mounts.clone(), stats, fields)));
        providers.push(Box::new(file_system::FileSystem::new(mounts)));
    }
    providers
}
