//! The mount points of the cgroup hierarchies.

use std::path::PathBuf;

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::storage::mount_table::parse;

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) path: PathBuf,
    /// The controllers of a hierarchy of version 1; `None` for version 2.
    pub(super) controllers: Option<Vec<String>>,
}

/// The mounted hierarchies in the order of `/proc/self/mountinfo`.
pub(super) fn mounts(roots: &Roots) -> Vec<Mount> {
    let mut file = OpenFile::new(roots.proc.join("self/mountinfo"));
    let Ok(text) = file.read() else { return Vec::new() };
    let mounts = parse(text).into_iter().filter_map(|line| {
        let controllers = match line.fs_type.as_str() {
            "cgroup2" => None,
            "cgroup" => Some(line.super_options.split(',').map(str::to_owned).collect()),
            _ => return None,
        };
        let path = match line.mount_point.strip_prefix("/sys") {
            Ok(rest) => roots.sys.join(rest),
            Err(_) => line.mount_point,
        };
        Some(Mount { path, controllers })
    });
    mounts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn both_versions_are_found() {
        let text = r"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:7 master:1 - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
50 31 0:38 /a /run/my\040groups\134 rw - cgroup2 none rw
51 31 0:38
";
        let machine = Machine::new(&[("proc/self/mountinfo", text)]);
        let controllers = ["rw", "cpu", "cpuacct"].map(str::to_owned).to_vec();
        let sys = &machine.roots.sys;
        let expected = [
            Mount { path: sys.join("fs/cgroup/cpu"), controllers: Some(controllers) },
            Mount { path: sys.join("fs/cgroup/unified"), controllers: None },
            Mount { path: PathBuf::from(r"/run/my groups\"), controllers: None },
        ];
        assert_eq!(mounts(&machine.roots), expected);
    }

    #[test]
    fn without_mountinfo_there_are_no_mounts() {
        assert!(mounts(&Machine::new(&[]).roots).is_empty());
    }
}
