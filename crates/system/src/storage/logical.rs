//! `LogicalDisk`: mounted file systems that hold data.

use std::sync::Arc;

use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows, SharedReading, Timestamps};

use super::diskstats::{Diskstats, field};
use super::io::{self, Activity};
use super::mount_table::Kind;
use super::mounts::{Mount, Mounts};
use crate::ordered::move_if_present;
use crate::table::SetTable;

pub(super) const FREE_SPACE: u32 = 30;
pub(super) const FREE_MEGABYTES: u32 = 31;
const SPACE_BASE: u32 = 46;

/// The major number of loop devices.
const LOOP: u32 = 7;

pub(super) static TABLE: SetTable = SetTable {
    name: "LogicalDisk",
    guid: 0x1e329d16c11d5ee7a7d9a8268f48eff6,
    instance_type: InstanceType::Multiple,
    help: "Space of mounted file systems that hold data, and input and output of their devices.",
    instances: "One per file system, named by its mount point, in the order of /proc/self/mountinfo, then _Total: file systems \
                on block devices, pools (zfs, btrfs), network file systems, fuse file systems with a device or a remote \
                source, and the file system that is mounted at /. A file system that is mounted at several places counts once, at the \
                shortest mount point. File systems in memory and read-only images (squashfs, iso9660) are only in File System.",
    total: "Sums over the local file systems, without loop-mounted ones. Percentages of time are means over their \
            devices; % Free Space is computed from the sums. Input and output of file systems whose device the kernel \
            does not report are not included.",
    repeats: None,
    counters: io::rows![
        CounterInfo::row(
            FREE_SPACE,
            "% Free Space",
            T::RAW_FRACTION,
            "%",
            0,
            "statvfs: f_bavail / (f_blocks - f_bfree + f_bavail)",
            "Available space in percent of used plus available space, both without root's reserve: \
             100 minus the percentage that df shows."
        )
        .base(SPACE_BASE),
        CounterInfo::row(
            FREE_MEGABYTES,
            "Free Megabytes",
            T::RAWCOUNT,
            "MB",
            0,
            "statvfs: f_bavail",
            "Free space that users other than root can still use, in units of 1,048,576 bytes."
        ),
        CounterInfo::companion(SPACE_BASE, "% Free Space Base", T::RAW_BASE),
    ],
};

/// The provider of `LogicalDisk`.
pub(super) struct LogicalDisk {
    info: Arc<CounterSetInfo>,
    mounts: SharedReading<Mounts>,
    stats: SharedReading<Diskstats>,
    disks: Vec<Disk>,
    total: Arc<InstanceKey>,
    reasons: Reasons,
    /// Whether this kernel has `/proc/diskstats`.
    has_stats: bool,
}

/// The state of a mount, kept between samples.
struct Disk {
    /// The id of the mount.
    mount: u64,
    key: Arc<InstanceKey>,
    /// The last index of the device in [`Diskstats::devices`].
    hint: usize,
    /// The identity of the mount's last device; `None` before the first sample.
    device: Option<u64>,
}

/// The reasons for missing values.
struct Reasons {
    no_device: Arc<str>,
    malformed: Arc<str>,
    no_size: Arc<str>,
    no_file: Arc<str>,
    unread: Arc<str>,
}

impl LogicalDisk {
    /// `fields` is the number of fields in `/proc/diskstats`, if it exists.
    pub(super) fn new(
        mounts: SharedReading<Mounts>,
        stats: SharedReading<Diskstats>,
        fields: Option<usize>,
    ) -> Self {
        let has_stats = fields.is_some();
        let fields = fields.map_or(0, |fields| fields.max(field::MIN));
        Self {
            info: TABLE.info_of(|id| !io::IDS.contains(&id) || io::has_counter(id, fields)),
            mounts,
            stats,
            disks: Vec::new(),
            total: Arc::new(InstanceKey::new("_Total", 0, 0).reserved()),
            reasons: Reasons {
                no_device: "the file system has no block device that is listed in /proc/diskstats".into(),
                malformed: "/proc/diskstats: the line of the device is malformed".into(),
                no_size: "the file system reports a size of 0".into(),
                no_file: "/proc/diskstats cannot be read".into(),
                unread: "the space of a local file system is unknown".into(),
            },
            has_stats,
        }
    }

    /// Updates the list of mounts.
    fn update_disks(&mut self, mounts: &[&Mount]) {
        let mut changed = false;
        for (next, mount) in mounts.iter().enumerate() {
            if !move_if_present(&mut self.disks, next, |disk| disk.mount == mount.id) {
                let disk = Disk { mount: mount.id, key: Arc::clone(&mount.key), hint: 0, device: None };
                self.disks.insert(next, disk);
                changed = true;
            }
        }
        changed |= self.disks.len() > mounts.len();
        self.disks.truncate(mounts.len());
        if changed {
            self.renew_total();
        }
    }

    /// Gives `_Total` a new identity, because it now sums over different devices.
    fn renew_total(&mut self) {
        self.total = Arc::new(InstanceKey::new("_Total", 0, self.total.identity() + 1).reserved());
    }
}

fn is_shown(mount: &Mount) -> bool {
    matches!(mount.kind, Kind::Local | Kind::Remote) || mount.key.name() == "/"
}

fn is_in_total(mount: &Mount) -> bool {
    mount.kind != Kind::Remote && mount.device.is_none_or(|(major, _)| major != LOOP)
}

/// The identity of a file system: a combination of the device number and the identity of the device.
fn identity_of(major_minor: Option<(u32, u32)>, device: u64) -> u64 {
    let (major, minor) = major_minor.unwrap_or_default();
    (u64::from(major) << 40 | u64::from(minor) << 16) ^ device.rotate_left(32)
}

impl Provider for LogicalDisk {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        let wants_space = rows.wants_any([FREE_SPACE, FREE_MEGABYTES]);
        let wants_io = self.has_stats && rows.wants_any(io::IDS);
        let mounts = self.mounts.clone();
        mounts.at(at, |mounts| {
            let wants_total = rows.wants_instance("_Total", 0);
            if wants_space {
                mounts.measure(at, |mount| {
                    is_shown(mount)
                        && (wants_total && is_in_total(mount)
                            || rows.wants_instance(mount.key.name(), mount.key.id()))
                });
            }
            if mounts.mounts.iter().filter(|mount| is_shown(mount)).count() != self.disks.len()
                || mounts
                    .mounts
                    .iter()
                    .filter(|mount| is_shown(mount))
                    .zip(&self.disks)
                    .any(|(mount, disk)| mount.id != disk.mount)
            {
                let shown: Vec<&Mount> = mounts.mounts.iter().filter(|mount| is_shown(mount)).collect();
                self.update_disks(&shown);
            }
            let stats = self.stats.clone();
            let mounts = &mounts.mounts;
            let filled =
                wants_io.then(|| stats.at(at, |stats| self.fill(rows, mounts, Some(stats), wants_space)));
            // The space can be known even if the I/O of the devices is not.
            if !matches!(filled, Some(Ok(()))) {
                self.fill(rows, mounts, None, wants_space);
            }
        })
    }
}

impl LogicalDisk {
    fn fill(&mut self, rows: &mut Rows, mounts: &[Mount], stats: Option<&mut Diskstats>, wants_space: bool) {
        let at = rows.timestamps();
        let stats = stats.map(|stats| &*stats);
        let mut all =
            Sums { activity: Activity::none(), available: 0, usable: 0, is_complete: true, has_space: false };
        let mut changed = false;
        for (mount, disk) in mounts.iter().filter(|mount| is_shown(mount)).zip(&mut self.disks) {
            let device =
                stats.zip(mount.device).and_then(|(stats, numbers)| stats.find(numbers, &mut disk.hint));
            // Only /proc/diskstats identifies a device; without it the identity is unchanged.
            let identity = match (stats, disk.device) {
                (None, Some(known)) => known,
                _ => device.map_or(0, |device| device.identity()),
            };
            if disk.device != Some(identity) {
                changed |= stats.is_some() && disk.device.is_some();
                disk.device = Some(identity);
                let identity = identity_of(mount.device.or(Some(mount.line.major_minor)), identity);
                disk.key = Arc::new(InstanceKey::new(mount.key.name(), 0, identity));
            }
            if is_in_total(mount) {
                all.add(mount, wants_space);
                if let Some(device) = device {
                    all.activity.add(device);
                }
            }
            if !rows.wants_instance(disk.key.name(), disk.key.id()) {
                continue;
            }
            let mut row = rows.push(&disk.key);
            if wants_space {
                set_space(&mut row, mount, &self.reasons);
            }
            match device {
                Some(device) => Activity::for_device(device).fill(&mut row, at, &self.reasons.malformed),
                None => {
                    let reason =
                        if stats.is_some() { &self.reasons.no_device } else { &self.reasons.no_file };
                    row.fail_all(io::IDS, reason);
                }
            }
        }
        if changed {
            self.renew_total();
        }
        if rows.wants_instance("_Total", 0) {
            let mut row = rows.push(&self.total);
            all.fill(&mut row, at, stats.is_some(), &self.reasons);
        }
    }
}

fn set_space(row: &mut Row<'_>, mount: &Mount, reasons: &Reasons) {
    match &mount.space {
        Ok(space) if space.blocks == 0 => row.fail_all([FREE_SPACE, FREE_MEGABYTES], &reasons.no_size),
        Ok(space) => set_free(row, space.available_bytes(), space.usable_bytes()),
        Err(reason) => row.fail_all([FREE_SPACE, FREE_MEGABYTES], reason),
    }
}

fn set_free(row: &mut Row<'_>, available: u64, usable: u64) {
    row.set_with_base(FREE_SPACE, available, usable);
    row.set(FREE_MEGABYTES, available >> 20);
}

/// The sums of `_Total`.
struct Sums {
    activity: Activity,
    available: u64,
    usable: u64,
    /// Whether no file system failed.
    is_complete: bool,
    /// Whether any file system reported its size.
    has_space: bool,
}

impl Sums {
    fn add(&mut self, mount: &Mount, wants_space: bool) {
        match &mount.space {
            Ok(space) if wants_space => {
                self.available = self.available.saturating_add(space.available_bytes());
                self.usable = self.usable.saturating_add(space.usable_bytes());
                self.has_space |= space.blocks > 0;
            }
            Ok(_) => {}
            Err(_) => self.is_complete = false,
        }
    }

    fn fill(&self, row: &mut Row<'_>, at: Timestamps, has_stats: bool, reasons: &Reasons) {
        if self.has_space && self.is_complete {
            set_free(row, self.available, self.usable);
        } else {
            let reason = if self.is_complete { &reasons.no_size } else { &reasons.unread };
            row.fail_all([FREE_SPACE, FREE_MEGABYTES], reason);
        }
        let reason = match (has_stats, self.activity.is_empty()) {
            (false, _) => &reasons.no_file,
            (true, true) => &reasons.no_device,
            (true, false) => &reasons.malformed,
        };
        self.activity.fill(row, at, reason);
    }
}
