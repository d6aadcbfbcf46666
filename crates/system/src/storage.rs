//! Disks, stacked block devices, mounted disks and file systems.

mod block_device;
mod btrfs;
mod device_list;
mod devices;
mod diskstats;
mod file_system;
mod io;
mod logical;
pub(crate) mod mount_list;
pub(crate) mod mount_table;
mod mounts;
mod nfs;
mod physical;
mod raid;
mod space;
mod zfs;
mod zram;

#[cfg(test)]
mod stacked_tests;
#[cfg(test)]
mod tests;

use tachograph_perflib::{Provider, SharedReading};

use crate::absence::Requirement;
use crate::roots::Roots;
use crate::table::SetTable;
use diskstats::Diskstats;
use mounts::Mounts;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[
    &physical::TABLE,
    &logical::TABLE,
    &file_system::TABLE,
    &block_device::TABLE,
    &block_device::MEMBERS,
    &raid::TABLE,
    &zram::TABLE,
    &nfs::TABLE,
    &zfs::TABLE,
    &btrfs::TABLE,
];

/// What these sets require.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement { table: &zfs::TABLE, ids: &[], check: zfs::check },
    Requirement { table: &btrfs::TABLE, ids: &[], check: btrfs::check },
];

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
        providers.push(Box::new(block_device::BlockDevices::new(stats.clone(), fields)));
        providers.push(Box::new(block_device::Members::new(roots, stats.clone(), fields)));
        providers.push(Box::new(raid::RaidArrays::new(roots, stats.clone())));
        providers.push(Box::new(zram::Zram::new(roots, stats.clone())));
    }
    if mounts.are_readable() {
        let mounts = SharedReading::new(mounts);
        providers.push(Box::new(logical::LogicalDisk::new(mounts.clone(), stats, fields)));
        providers.push(Box::new(file_system::FileSystem::new(mounts)));
    }
    providers.extend(nfs::provider(roots));
    providers.extend(zfs::provider(roots));
    providers.extend(btrfs::provider(roots));
    providers
}
