//! The list of mounted file systems, for programs that describe the instances of `File System` and `LogicalDisk`.

use super::mount_table::{parse, reachable_mounts};
use crate::open_file::OpenFile;
use crate::roots::Roots;

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedFileSystem {
    /// The mount point, as in the names of instances.
    pub mount_point: String,
    /// The device or other source, such as `/dev/sda1`, `tmpfs` or `server:/export`.
    pub source: String,
    /// The type, such as `ext4`.
    pub fs_type: String,
}

/// Reads the mounted file systems, and detects changes.
#[derive(Debug)]
pub struct MountList {
    file: OpenFile,
    /// The content of the file at the last call.
    text: Vec<u8>,
}

impl MountList {
    /// Creates a reader; nothing is read yet.
    pub fn new(roots: &Roots) -> Self {
        Self { file: OpenFile::new(roots.proc.join("self/mountinfo")), text: Vec::new() }
    }

    /// The file systems that can be reached by a path. `None` if the list is the same as at the last call, or cannot be read.
    pub fn changed(&mut self) -> Option<Vec<MountedFileSystem>> {
        let text = self.file.read().ok().filter(|text| *text != self.text)?;
        self.text.clear();
        self.text.extend_from_slice(text);
        let lines = parse(text);
        let describe = |line: &super::mount_table::Line| MountedFileSystem {
            mount_point: line.mount_point.to_string_lossy().into_owned(),
            source: line.source.clone(),
            fs_type: line.fs_type.clone(),
        };
        Some(reachable_mounts(&lines).into_iter().map(describe).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn changes_are_detected() {
        let machine = Machine::new(&[]);
        machine.write(
            "proc/self/mountinfo",
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 8:1 / /a\\040b rw - xfs /dev/sda1 rw\n",
        );
        let mut list = MountList::new(&machine.roots);
        let all = list.changed().expect("the first reading");
        let texts: Vec<_> =
            all.iter().map(|one| [&*one.mount_point, &*one.source, &*one.fs_type].join(" | ")).collect();
        assert_eq!(texts, ["/ | /dev/vda | ext4", "/a b | /dev/sda1 | xfs"]);
        assert_eq!(list.changed(), None);
        // A later mount hides the first one.
        machine.write(
            "proc/self/mountinfo",
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n31 27 0:7 / / rw - tmpfs none rw\n",
        );
        let all = list.changed().expect("a change");
        assert_eq!(all.iter().map(|one| &*one.fs_type).collect::<Vec<_>>(), ["tmpfs"]);
    }

    #[test]
    fn an_unreadable_list_is_treated_as_unchanged() {
        assert_eq!(MountList::new(&Machine::new(&[]).roots).changed(), None);
    }
}
