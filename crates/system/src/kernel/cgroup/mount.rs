//! The mount points of the cgroup hierarchy of version 2.

use std::path::PathBuf;

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::storage::mount_table::parse;

/// The mount points of type `cgroup2` in the order of `/proc/self/mountinfo`.
pub(super) fn mount_points(roots: &Roots) -> Vec<PathBuf> {
    let mut file = OpenFile::new(roots.proc.join("self/mountinfo"));
    let Ok(text) = file.read() else { return Vec::new() };
    let mounts = parse(text).into_iter().filter(|line| line.fs_type == "cgroup2");
    mounts
        .map(|line| match line.mount_point.strip_prefix("/sys") {
            Ok(rest) => roots.sys.join(rest),
            Err(_) => line.mount_point,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn only_version_2_is_found() {
        let text = r"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:7 master:1 - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
50 31 0:38 /a /run/my\040groups\134 rw - cgroup2 none rw
51 31 0:38
";
        let machine = Machine::new(&[("proc/self/mountinfo", text)]);
        let expected = [machine.roots.sys.join("fs/cgroup/unified"), PathBuf::from(r"/run/my groups\")];
        assert_eq!(mount_points(&machine.roots), expected);
    }

    #[test]
    fn without_the_file_there_are_none() {
        assert!(mount_points(&Machine::new(&[]).roots).is_empty());
    }
}
