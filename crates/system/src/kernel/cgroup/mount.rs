//! Where the cgroup hierarchy of version 2 is mounted.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::Roots;
use crate::file::KeptFile;
use crate::scan::{lines, words};

/// The mount points of type `cgroup2` in the order of `/proc/self/mountinfo`, below the folders that stand for /sys and
/// /proc.
pub(super) fn mount_points(roots: &Roots) -> Vec<PathBuf> {
    let mut file = KeptFile::new(roots.proc.join("self/mountinfo"));
    let Ok(text) = file.read() else { return Vec::new() };
    lines(text).filter_map(mount_point).map(|path| below(roots, &path)).collect()
}

/// `41 31 0:38 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw`: any number of words before the dash.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let mut words = words(line);
    let path = words.nth(4)?;
    words.find(|word| *word == b"-")?;
    (words.next()? == b"cgroup2").then(|| PathBuf::from(OsString::from_vec(unescaped(path))))
}

/// The kernel writes blanks, tabs, line ends and backslashes of a path as `\040`.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let code =
            after.get(..3).filter(|code| byte == b'\\' && code.iter().all(|b| (b'0'..=b'7').contains(b)));
        match code {
            Some(code) => {
                bytes.push(code.iter().fold(0, |value: u8, digit| value.wrapping_mul(8) + (digit - b'0')));
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

fn below(roots: &Roots, path: &Path) -> PathBuf {
    match path.strip_prefix("/sys") {
        Ok(rest) => roots.sys.join(rest),
        Err(_) => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn only_version_2() {
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
    fn none_without_the_file() {
        assert!(mount_points(&Machine::new(&[]).roots).is_empty());
    }
}
