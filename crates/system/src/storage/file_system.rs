//! `File System`: size, space and inodes of all mounted file systems except the kernel's own (proc, sysfs and others). Linux only.

use std::sync::Arc;

use tachograph_counters::CounterType as T;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, Provider, Row, Rows, SharedReading};

use super::mounts::{Mount, Mounts};
use super::space::Space;
use crate::table::{CounterInfo, SetTable};

pub(super) const SIZE: u32 = 1;
pub(super) const USED: u32 = 2;
pub(super) const FREE: u32 = 3;
pub(super) const AVAILABLE: u32 = 4;
pub(super) const USED_PERCENT: u32 = 5;
pub(super) const INODES: u32 = 6;
pub(super) const USED_INODES: u32 = 7;
pub(super) const FREE_INODES: u32 = 8;
pub(super) const INODES_PERCENT: u32 = 9;
pub(super) const READ_ONLY: u32 = 10;
const SPACE_BASE: u32 = 20;
const INODES_BASE: u32 = 21;

pub(super) static TABLE: SetTable = SetTable {
    name: "File System",
    guid: 0xd70264cbddb85bd4a2d4d4f5345ac803,
    instance_type: InstanceType::Multiple,
    help: "Size, space and inodes of mounted file systems: on devices (ext4, xfs, btrfs, zfs), in memory (tmpfs), layered on \
           others (overlay), read-only images (squashfs, iso9660), on other machines (nfs, cifs) and provided by processes (fuse).",
    instances: "One per file system, named by its mount point, in the order of /proc/self/mountinfo. The kernel's own file \
                systems (proc, sysfs, cgroup, devtmpfs and others) are excluded. A file system that is mounted at several \
                places counts once, at the shortest mount point. A remote file system that does not \
                answer within 0.1 s is an error. Later samples do not wait for it while it is slow: each shows the \
                answer to the previous sample's request, or an error if that has not arrived.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(SIZE, "Size Bytes", T::LARGE_RAWCOUNT, "bytes", -9, "statvfs: f_blocks",
            "Size of the file system."),
        CounterInfo::row(USED, "Used Bytes", T::LARGE_RAWCOUNT, "bytes", -9, "statvfs: f_blocks - f_bfree",
            "Space in use."),
        CounterInfo::row(FREE, "Free Bytes", T::LARGE_RAWCOUNT, "bytes", -9, "statvfs: f_bfree",
            "Free space, including root's reserve."),
        CounterInfo::row(AVAILABLE, "Available Bytes", T::LARGE_RAWCOUNT, "bytes", -9, "statvfs: f_bavail",
            "Free space that users other than root can still use."),
        CounterInfo::row(USED_PERCENT, "% Used Space", T::RAW_FRACTION, "%", 0,
            "statvfs: (f_blocks - f_bfree) / (f_blocks - f_bfree + f_bavail)",
            "Used Bytes in percent of Used Bytes plus Available Bytes: the percentage of df before it is rounded up.")
            .base(SPACE_BASE),
        CounterInfo::row(INODES, "Inodes", T::LARGE_RAWCOUNT, "", -6, "statvfs: f_files",
            "The maximum number of files. File systems that allocate inodes on demand (btrfs, vfat) do not report it."),
        CounterInfo::row(USED_INODES, "Used Inodes", T::LARGE_RAWCOUNT, "", -6, "statvfs: f_files - f_ffree",
            "The number of files."),
        CounterInfo::row(FREE_INODES, "Free Inodes", T::LARGE_RAWCOUNT, "", -6, "statvfs: f_ffree",
            "The number of files that can still be created."),
        CounterInfo::row(INODES_PERCENT, "% Used Inodes", T::RAW_FRACTION, "%", 0, "statvfs: (f_files - f_ffree) / f_files",
            "Used Inodes in percent of Inodes.").base(INODES_BASE),
        CounterInfo::row(READ_ONLY, "Read Only", T::RAWCOUNT, "", 0, "/proc/self/mountinfo: options",
            "1 while the file system is mounted read-only, for instance after an error, otherwise 0."),
        CounterInfo::companion(SPACE_BASE, "% Used Space Base", T::RAW_BASE),
        CounterInfo::companion(INODES_BASE, "% Used Inodes Base", T::RAW_BASE),
    ],
};

const SPACE_IDS: [u32; 5] = [SIZE, USED, FREE, AVAILABLE, USED_PERCENT];
const INODE_IDS: [u32; 4] = [INODES, USED_INODES, FREE_INODES, INODES_PERCENT];

pub(super) struct FileSystem {
    info: Arc<CounterSetInfo>,
    mounts: SharedReading<Mounts>,
    /// The reasons for missing values.
    no_size: Arc<str>,
    no_inodes: Arc<str>,
}

impl FileSystem {
    pub(super) fn new(mounts: SharedReading<Mounts>) -> Self {
        Self {
            info: TABLE.info(),
            mounts,
            no_size: "the file system reports a size of 0".into(),
            no_inodes: "the file system does not report its number of inodes".into(),
        }
    }

    fn set_space(&self, row: &mut Row<'_>, space: &Space) {
        if space.blocks == 0 {
            row.fail_all(SPACE_IDS, &self.no_size);
        } else {
            row.set(SIZE, space.size_bytes());
            row.set(USED, space.used_bytes());
            row.set(FREE, space.free_bytes());
            row.set(AVAILABLE, space.available_bytes());
            row.set_with_base(USED_PERCENT, space.used_bytes(), space.usable_bytes());
        }
        if space.inodes == 0 {
            row.fail_all(INODE_IDS, &self.no_inodes);
        } else {
            row.set(INODES, space.inodes);
            row.set(USED_INODES, space.used_inodes());
            row.set(FREE_INODES, space.free_inodes);
            row.set_with_base(INODES_PERCENT, space.used_inodes(), space.inodes);
        }
    }
}

impl Provider for FileSystem {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        let wants_space = rows.wants_any(SPACE_IDS.into_iter().chain(INODE_IDS));
        self.mounts.at(at, |mounts| {
            let is_wanted = |mount: &Mount| rows.wants_instance(mount.key.name(), mount.key.id());
            if wants_space {
                mounts.measure(at, is_wanted);
            }
            for mount in &mounts.mounts {
                if !rows.wants_instance(mount.key.name(), mount.key.id()) {
                    continue;
                }
                let mut row = rows.push(&mount.key);
                row.set(READ_ONLY, mount.line.is_read_only.into());
                if wants_space {
                    match &mount.space {
                        Ok(space) => self.set_space(&mut row, space),
                        Err(reason) => row.fail_all(SPACE_IDS.into_iter().chain(INODE_IDS), reason),
                    }
                }
            }
        })
    }
}
