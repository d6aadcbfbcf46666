//! `PhysicalDisk`: whole disks.

use std::sync::Arc;

use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, SharedReading};

use super::diskstats::Diskstats;
use super::io::{self, Activity};
use crate::table::SetTable;

pub(super) static TABLE: SetTable = SetTable {
    name: "PhysicalDisk",
    guid: 0xa34e08006dd357e38f603371e4b05eb0,
    instance_type: InstanceType::Multiple,
    help: "Input and output of whole disks, as the kernel counts it for block devices.",
    instances: "One for each disk under the kernel's name (sda, nvme0n1, vda, mmcblk0), in the kernel's order, then _Total. \
                Partitions, loop, ram, zram, dm, md, drbd and bcache devices, optical and floppy drives, boot areas of \
                memory cards, hidden paths of a multipath disk, and nbd devices that were never used are \
                excluded; file systems mounted from them are in LogicalDisk. A disk that was replaced or \
                whose counters restarted is another instance.",
    total: "Percentages are the mean over the disks (floor of the raw values' mean), everything else their sum; averages \
            per transfer are computed from summed times, bytes and transfers.",
    counters: io::rows![],
};

pub(super) struct PhysicalDisk {
    info: Arc<CounterSetInfo>,
    stats: SharedReading<Diskstats>,
    total: Arc<InstanceKey>,
    malformed: Arc<str>,
    no_disk: Arc<str>,
}

impl PhysicalDisk {
    /// `fields` is the number of fields in this kernel's lines.
    pub(super) fn new(stats: SharedReading<Diskstats>, fields: usize) -> Self {
        Self {
            // Lines that are too short now may be complete later.
            info: TABLE.info_of(|id| io::has_counter(id, fields.max(super::diskstats::field::MIN))),
            stats,
            total: Arc::new(InstanceKey::new("_Total", 0, 0).reserved()),
            malformed: "/proc/diskstats: the line of the device is malformed".into(),
            no_disk: "/proc/diskstats: no disks".into(),
        }
    }
}

impl Provider for PhysicalDisk {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        self.stats.at(at, |stats| {
            let mut all = Activity::none();
            for device in stats.devices.iter().filter(|device| device.is_shown()) {
                all.add(device);
                if rows.wants_instance(device.key.name(), device.key.id()) {
                    Activity::of(device).fill(&mut rows.push(&device.key), at, &self.malformed);
                }
            }
            if self.total.identity() != stats.generation {
                self.total = Arc::new(InstanceKey::new("_Total", 0, stats.generation).reserved());
            }
            if rows.wants_instance("_Total", 0) {
                let reason = if all.is_empty() { &self.no_disk } else { &self.malformed };
                all.fill(&mut rows.push(&self.total), at, reason);
            }
        })
    }
}
