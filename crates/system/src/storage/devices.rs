//! Distinguishes disks from other block devices.

use std::fs;
use std::path::{Path, PathBuf};

use crate::folder::FolderEntries;

/// The names, without numbers, of devices that are not treated as disks: stacked devices, which a total would count twice, and
/// devices in memory or with removable media, which would distort the total's percentages.
const EXCLUDED: &[&str] = &["loop", "ram", "zram", "dm-", "md", "md_d", "drbd", "bcache", "sr", "fd"];

/// Whether a block device is a disk, and not a partition or a stacked device.
///
/// `sys` is `/sys`. If it has no folder `block`, partitions are recognised by comparing their name with `disk`, the name of
/// the disk before them in `/proc/diskstats`.
pub(super) fn is_disk(sys: &Path, name: &str, disk: Option<&str>) -> bool {
    if is_one_of(name, EXCLUDED) || is_boot_part(name) {
        return false;
    }
    let block = sys.join("block");
    if !block.is_dir() {
        return !disk.is_some_and(|disk| is_partition_of(name, disk));
    }
    let folder = block.join(file_name(name));
    // The kernel marks the individual paths of a multipath NVMe disk as hidden.
    let is_hidden = fs::read(folder.join("hidden")).is_ok_and(|text| text.trim_ascii() == b"1");
    folder.is_dir() && !is_hidden
}

/// Whether the driver creates devices with such a name before they are used, as `nbd` creates sixteen.
pub(super) fn is_precreated(name: &str) -> bool {
    is_one_of(name, &["nbd", "loop", "zram"])
}

/// Whether a device is built on other devices, a file or compressed memory.
pub(super) fn is_stacked(name: &str) -> bool {
    is_one_of(name, &["dm-", "md", "md_d", "loop", "zram", "drbd", "bcache"])
}

/// The name to display: the name of the volume for a dm device, otherwise the kernel's name.
pub(super) fn display_name(sys: &Path, name: &str) -> String {
    let of_volume = |name: &str| fs::read_to_string(sys.join("block").join(name).join("dm/name")).ok();
    let found = if is_one_of(name, &["dm-"]) { of_volume(name) } else { None };
    match found.as_deref().map(str::trim) {
        Some(found) if !found.is_empty() => found.to_owned(),
        _ => name.to_owned(),
    }
}

/// The folder `md` of a RAID array in sysfs; `None` if the device is not an array.
pub(super) fn array_folder(sys: &Path, name: &[u8]) -> Option<std::path::PathBuf> {
    let name = std::str::from_utf8(name).ok().filter(|name| is_one_of(name, &["md", "md_d"]))?;
    let folder = sys.join("block").join(name).join("md");
    folder.is_dir().then_some(folder)
}

/// The folder with the underlying devices of a device.
pub(super) fn underlying_folder(sys: &Path, name: &[u8]) -> PathBuf {
    sys.join("block").join(file_name(&String::from_utf8_lossy(name))).join("slaves")
}

/// The kernel's names of the underlying devices in an [`underlying_folder`], sorted.
pub(super) fn underlying_names(folder: &FolderEntries) -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> =
        folder.names().iter().map(|name| name.replace('!', "/").into_bytes()).collect();
    names.sort();
    names
}

/// The name of a device's folder in sysfs: `cciss!c0d0` for `cciss/c0d0`.
pub(super) fn file_name(name: &str) -> String {
    name.replace('/', "!")
}

fn is_one_of(name: &str, kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| {
        name.strip_prefix(kind)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Whether a device is a boot or RPMB area of an eMMC chip, such as `mmcblk0boot0`.
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
    fn partitions_are_recognised_by_name() {
        assert!(is_partition_of("sda1", "sda"));
        assert!(is_partition_of("nvme0n1p2", "nvme0n1"));
        assert!(!is_partition_of("nvme0n10", "nvme0n1"));
        assert!(!is_partition_of("sdaa", "sda"));
        assert!(!is_partition_of("sda", "sda"));
    }

    #[test]
    fn other_block_devices_are_not_disks() {
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
