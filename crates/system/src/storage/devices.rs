//! Which block devices are disks.

use std::fs;
use std::path::Path;

/// Devices whose input and output is counted at what they lie on too, or that are no disk at all: kept in memory, or
/// with media that are mostly absent. With them a total would count twice, or its percentages be thinned.
const NO_DISKS: &[&str] = &["loop", "ram", "zram", "dm-", "md", "md_d", "drbd", "bcache", "sr", "fd"];

/// Whether a block device is a disk: neither a partition nor one of those that lie on others.
///
/// `sys` is `/sys`; where it does not show block devices, the name and that of the `disk` before it in `/proc/diskstats`
/// tell partitions apart: they follow their disk.
pub(super) fn is_disk(sys: &Path, name: &str, disk: Option<&str>) -> bool {
    if is_one_of(name, NO_DISKS) || is_boot_part(name) {
        return false;
    }
    let block = sys.join("block");
    if !block.is_dir() {
        return !disk.is_some_and(|disk| is_partition_of(name, disk));
    }
    let folder = block.join(file_name(name));
    // The paths below a multipath NVMe disk are hidden.
    let is_hidden = fs::read(folder.join("hidden")).is_ok_and(|text| text.trim_ascii() == b"1");
    folder.is_dir() && !is_hidden
}

/// Whether a device that was never used is a mere slot for one: `nbd` makes sixteen.
pub(super) fn is_slot(name: &str) -> bool {
    is_one_of(name, &["nbd"])
}

/// The name of a device's folder in sysfs: `cciss/c0d0` is `cciss!c0d0`.
pub(super) fn file_name(name: &str) -> String {
    name.replace('/', "!")
}

fn is_one_of(name: &str, kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| {
        name.strip_prefix(kind)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// `mmcblk0boot0` and its like: small areas of a chip that is a disk already.
fn is_boot_part(name: &str) -> bool {
    name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb"))
}

fn is_partition_of(name: &str, disk: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk) else { return false };
    let number = if disk.ends_with(|last: char| last.is_ascii_digit()) {
        rest.strip_prefix('p').unwrap_or_default()
    } else {
        rest
    };
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_by_name() {
        assert!(is_partition_of("sda1", "sda"));
        assert!(is_partition_of("nvme0n1p2", "nvme0n1"));
        assert!(!is_partition_of("nvme0n10", "nvme0n1"));
        assert!(!is_partition_of("sdaa", "sda"));
        assert!(!is_partition_of("sda", "sda"));
    }

    #[test]
    fn what_is_no_disk() {
        for name in
            ["loop0", "ram15", "zram0", "dm-3", "md127", "md_d0", "sr0", "fd0", "mmcblk0boot1", "drbd0"]
        {
            assert!(!is_disk(Path::new("/nowhere"), name, None), "{name}");
        }
        for name in ["sda", "vda", "xvda1", "nvme0n1", "mmcblk0", "nbd0", "dasda", "fdx"] {
            assert!(is_disk(Path::new("/nowhere"), name, None), "{name}");
        }
    }
}
