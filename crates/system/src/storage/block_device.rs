//! `Block Device` and `Block Device Member`: dm, md, loop, zram, drbd and bcache devices, and their underlying devices.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, SharedReading};

use super::devices;
use super::diskstats::{Diskstats, field};
use super::io::{self, Activity};
use crate::folder::FolderEntries;
use crate::roots::Roots;
use crate::table::SetTable;

pub(super) static TABLE: SetTable = SetTable {
    name: "Block Device",
    guid: 0xc2bec60a_3aef_5f56_96c2_1f25266b690d,
    instance_type: InstanceType::Multiple,
    help: "Input and output of block devices that are not disks themselves, but are built on disks, files or memory: volumes \
           of LVM and of encryption, RAID arrays, loop and zram devices.",
    instances: "dm devices by their own names (vg0-root); md, loop, zram, drbd and bcache devices by the kernel's names \
                (md0); in the kernel's order. loop, zram and nbd devices that were never used are excluded. A device \
                that was replaced or whose counters restarted is a new instance.",
    total: "",
    repeats: None,
    counters: io::rows![],
};

pub(super) static MEMBERS: SetTable = SetTable {
    name: "Block Device Member",
    guid: 0x61a3e513_6586_5935_9947_8ad6fc76513d,
    instance_type: InstanceType::Multiple,
    help: "The underlying devices (disks, partitions and others) of each device of Block Device, with their input and output.",
    instances: "One per pair of a device and an underlying device: vg0-root/sda2, md0/sdb1. A device with several underlying devices has several \
                instances; a disk that underlies several devices has one for each.",
    total: "",
    repeats: None,
    counters: io::rows![],
};

/// The provider of `Block Device`.
pub(super) struct BlockDevices {
    info: Arc<CounterSetInfo>,
    stats: SharedReading<Diskstats>,
    malformed: Arc<str>,
}

impl BlockDevices {
    /// `fields` is the number of fields in the lines of `/proc/diskstats`.
    pub(super) fn new(stats: SharedReading<Diskstats>, fields: usize) -> Self {
        Self { info: info(&TABLE, fields), stats, malformed: MALFORMED.into() }
    }
}

const MALFORMED: &str = "/proc/diskstats: the line of the device is malformed";

fn info(table: &SetTable, fields: usize) -> Arc<CounterSetInfo> {
    // A line that is too short now may be complete later.
    table.info_of(|id| io::has_counter(id, fields.max(field::MIN)))
}

impl Provider for BlockDevices {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        self.stats.at(at, |stats| {
            for device in stats.devices.iter().filter(|device| device.is_stacked && device.is_used()) {
                if rows.wants_instance(device.key.name(), device.key.id()) {
                    Activity::for_device(device).fill(&mut rows.push(&device.key), at, &self.malformed);
                }
            }
        })
    }
}

/// The number of samples after which the folders of members are compared with the list, to find disks that were added to an
/// array or removed from it.
const COMPARE_SAMPLES: u64 = 10;

/// The provider of `Block Device Member`.
pub(super) struct Members {
    info: Arc<CounterSetInfo>,
    stats: SharedReading<Diskstats>,
    sys: PathBuf,
    members: Vec<Member>,
    /// The folders with the members of each device.
    folders: Vec<FolderEntries>,
    /// [`Diskstats::changes`] when the members were listed.
    listed_at: Option<u64>,
    /// The number of samples so far.
    sample: u64,
    malformed: Arc<str>,
}

/// An underlying device of a block device.
struct Member {
    key: Arc<InstanceKey>,
    /// Major and minor number of the underlying device.
    underlying: (u32, u32),
    /// The identity of the underlying device.
    identity: u64,
    /// The last index of the underlying device in [`Diskstats::devices`].
    hint: usize,
}

impl Members {
    /// `fields` is the number of fields in the lines of `/proc/diskstats`.
    pub(super) fn new(roots: &Roots, stats: SharedReading<Diskstats>, fields: usize) -> Self {
        Self {
            info: info(&MEMBERS, fields),
            stats,
            sys: roots.sys.clone(),
            members: Vec::new(),
            folders: Vec::new(),
            listed_at: None,
            sample: 0,
            malformed: MALFORMED.into(),
        }
    }
}

fn list(sys: &Path, stats: &Diskstats) -> (Vec<FolderEntries>, Vec<Member>) {
    let (mut folders, mut members) = (Vec::new(), Vec::new());
    for device in stats.devices.iter().filter(|device| device.is_stacked && device.is_used()) {
        let Ok(folder) = FolderEntries::new(devices::underlying_folder(sys, device.kernel_name())) else {
            continue;
        };
        for name in devices::underlying_names(&folder) {
            let found = stats.devices.iter().position(|device| device.kernel_name() == name);
            let Some((hint, found)) = found.map(|index| (index, &stats.devices[index])) else { continue };
            let identity = found.identity();
            let key = InstanceKey::with_parent(device.key.name(), found.key.name(), 0, identity);
            let underlying = found.major_minor;
            members.push(Member { key: Arc::new(key), underlying, identity, hint });
        }
        folders.push(folder);
    }
    (folders, members)
}

impl Provider for Members {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        let Self { stats, sys, members, folders, listed_at, sample, malformed, .. } = self;
        *sample += 1;
        stats.at(at, |stats| {
            let mut has_changed = |folder: &mut FolderEntries| folder.update().unwrap_or(true);
            if *listed_at != Some(stats.device_changes)
                || sample.is_multiple_of(COMPARE_SAMPLES) && folders.iter_mut().any(&mut has_changed)
            {
                (*folders, *members) = list(sys, stats);
                *listed_at = Some(stats.device_changes);
            }
            for Member { key, underlying, identity, hint } in members {
                let Some(device) = stats.find(*underlying, hint) else { continue };
                if device.identity() == *identity && rows.wants_instance(key.full_name(), key.id()) {
                    Activity::for_device(device).fill(&mut rows.push(key), at, malformed);
                }
            }
        })
    }
}
