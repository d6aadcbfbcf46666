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
    instances: "One per disk, by the kernel's name (sda, nvme0n1, vda, mmcblk0), in the kernel's order, then _Total. \
                Partitions, loop, ram, zram, dm, md, drbd and bcache devices, optical and floppy drives, boot areas of \
                memory cards, hidden paths of a multipath disk, and nbd devices that were never used are \
                excluded; file systems on them are in LogicalDisk. A disk that was replaced or \
                whose counters restarted is a new instance.",
    total: "Percentages are means over the disks (of the raw values, rounded down); all other values are sums; averages \
            per transfer are computed from summed times, bytes and transfers.",
    repeats: None,
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
            // A line that is too short now may be complete later.
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
                    Activity::for_device(device).fill(&mut rows.push(&device.key), at, &self.malformed);
                }
            }
            if self.total.identity() != stats.disk_changes {
                self.total = Arc::new(InstanceKey::new("_Total", 0, stats.disk_changes).reserved());
            }
            if rows.wants_instance("_Total", 0) {
                let reason = if all.is_empty() { &self.no_disk } else { &self.malformed };
                all.fill(&mut rows.push(&self.total), at, reason);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::storage::io as disk;
    use crate::storage::tests::{MOUNTS, STATS, fake_calls, identity, machine, pair, provider};
    use crate::testing::{at, collect, first_value, value};

    #[test]
    fn a_total_continues_when_other_devices_are_added_or_removed() {
        let machine = machine(STATS, MOUNTS);
        let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
        let mut total = |second: i64, stats: &str| {
            machine.write("proc/diskstats", stats);
            identity(&collect(&mut *disks, at(second)), "_Total")
        };
        let first = total(1, STATS);
        let more = format!("{STATS}   7       1 loop1 5 0 10 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
        assert_eq!(total(2, &more), first, "a loop device was added");
        assert_eq!(total(3, STATS), first, "and removed");
        assert_eq!(total(4, &STATS.replace("loop0 5", "loop0 1")), first, "and restarted");
        let without_sdb: String = STATS.split_inclusive('\n').filter(|line| !line.contains("sdb")).collect();
        let second = total(5, &without_sdb);
        assert_ne!(second, first, "a disk was removed");
        assert_ne!(total(6, STATS), second, "and added");
    }

    #[test]
    fn a_disk_that_is_replaced_while_its_line_is_malformed_starts_from_its_own_counts() {
        let machine = machine(STATS, MOUNTS);
        let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
        let old = identity(&collect(&mut *disks, at(1)), "sda");
        machine.write("sys/block/sda/diskseq", "9\n");
        machine.write("proc/diskstats", STATS.replace("sda 100", "sda x"));
        let rows = collect(&mut *disks, at(2));
        assert!(!value(&rows, "sda", disk::READS).status.is_good());
        let new = identity(&rows, "sda");
        assert_ne!(new, old);
        // All numbers of the new disk are larger than those of the old one, except the time reading.
        machine.write(
            "proc/diskstats",
            STATS.replace("sda 100 10 2000 300 50 5 1000 400", "sda 107 10 2070 100 57 5 1070 470"),
        );
        let rows = collect(&mut *disks, at(3));
        assert_eq!(identity(&rows, "sda"), new);
        let value_of = |id| first_value(&rows, "sda", id);
        assert_eq!([disk::READS, disk::WRITES, disk::READ_BYTES].map(value_of), [107, 57, 2070 * 512]);
        assert_eq!(
            pair(&rows, "sda", disk::SECONDS_PER_READ),
            (1_000_000, 107),
            "no value of the old disk is included"
        );
    }
}
