//! `Block Device` and `Block Device Member`: dm, md, loop, zram, drbd and bcache devices, and their underlying devices.

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, SharedReading};

use super::devices;
use super::diskstats::{Diskstats, field};
use super::io::{self, Activity};
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
    counters: io::rows![],
};

pub(super) static MEMBERS: SetTable = SetTable {
    name: "Block Device Member",
    guid: 0x61a3e513_6586_5935_9947_8ad6fc76513d,
    instance_type: InstanceType::Multiple,
    help: "The underlying devices (disks, partitions and others) of each device of Block Device, with their input and output.",
    instances: "The device and an underlying device: vg0-root/sda2, md0/sdb1. A device with several underlying devices has several \
                instances; a disk that underlies several devices has one for each.",
    total: "",
    counters: io::rows![],
};

/// The provider of `Block Device`.
pub(super) struct BlockDevices {
    info: Arc<CounterSetInfo>,
    stats: SharedReading<Diskstats>,
    malformed: Arc<str>,
}

impl BlockDevices {
    /// `fields` is the number of fields in this kernel's lines.
    pub(super) fn new(stats: SharedReading<Diskstats>, fields: usize) -> Self {
        Self { info: info(&TABLE, fields), stats, malformed: MALFORMED.into() }
    }
}

const MALFORMED: &str = "/proc/diskstats: the line of the device is malformed";

fn info(table: &SetTable, fields: usize) -> Arc<CounterSetInfo> {
    // Lines that are too short now may be complete later.
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

/// The number of samples after which members are listed again, to find disks that were added to an array or removed.
const LISTED_EVERY: u32 = 10;

/// The provider of `Block Device Member`.
pub(super) struct Members {
    info: Arc<CounterSetInfo>,
    stats: SharedReading<Diskstats>,
    sys: PathBuf,
    members: Vec<Member>,
    /// [`Diskstats::changes`] when the members were listed.
    listed_at: Option<u64>,
    until_listed: u32,
    malformed: Arc<str>,
}

struct Member {
    key: Arc<InstanceKey>,
    /// Major and minor number of the underlying device.
    underlying: (u32, u32),
    /// The identity of the underlying device.
    identity: u64,
    /// The last index of the underlying device.
    hint: usize,
}

impl Members {
    /// `fields` is the number of fields in this kernel's lines.
    pub(super) fn new(roots: &Roots, stats: SharedReading<Diskstats>, fields: usize) -> Self {
        Self {
            info: info(&MEMBERS, fields),
            stats,
            sys: roots.sys.clone(),
            members: Vec::new(),
            listed_at: None,
            until_listed: 0,
            malformed: MALFORMED.into(),
        }
    }
}

fn list(sys: &std::path::Path, stats: &Diskstats, members: &mut Vec<Member>) {
    members.clear();
    for device in stats.devices.iter().filter(|device| device.is_stacked && device.is_used()) {
        for name in devices::underlying(sys, device.kernel_name()) {
            let found = stats.devices.iter().position(|device| device.kernel_name() == name);
            let Some((hint, found)) = found.map(|index| (index, &stats.devices[index])) else { continue };
            let identity = found.identity();
            let key = InstanceKey::with_parent(device.key.name(), found.key.name(), 0, identity);
            let underlying = found.major_minor;
            members.push(Member { key: Arc::new(key), underlying, identity, hint });
        }
    }
}

impl Provider for Members {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        let Self { stats, sys, members, listed_at, until_listed, malformed, .. } = self;
        stats.at(at, |stats| {
            if *listed_at != Some(stats.changes) || *until_listed == 0 {
                list(sys, stats, members);
                (*listed_at, *until_listed) = (Some(stats.changes), LISTED_EVERY);
            }
            *until_listed -= 1;
            for Member { key, underlying, identity, hint } in members {
                let Some(device) = stats.find(*underlying, hint) else { continue };
                if device.identity() == *identity && rows.wants_instance(key.full_name(), key.id()) {
                    Activity::for_device(device).fill(&mut rows.push(key), at, malformed);
                }
            }
        })
    }
}
