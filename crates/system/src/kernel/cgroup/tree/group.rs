//! A control group in one hierarchy.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tachograph_perflib::InstanceKey;

use crate::kernel::cgroup::disks::DiskTransfers;
use crate::kernel::cgroup::table::IDS;
use crate::kernel::cgroup::values::RunningTotal;

/// A group in one hierarchy, and its descendants.
pub(in crate::kernel::cgroup) struct Group {
    /// The folder's name; `.` for the root.
    pub(super) name: Box<[u8]>,
    /// The instance whose name is the group's path.
    pub(super) instance: Arc<InstanceKey>,
    /// The instance that the set shows for the group; `None` if the set does not show the group.
    pub(super) shown: Option<Arc<InstanceKey>>,
    /// Whether `shown` was determined.
    pub(super) is_named: bool,
    /// Whether `shown` cannot change any more.
    pub(super) is_name_final: bool,
    pub(super) inode: u64,
    /// The number of the last walk that found this group.
    pub(super) last_walk: u64,
    /// The group's folder. Stays open while it has subfolders and the budget allows.
    pub(super) folder: Option<OwnedFd>,
    /// `cgroup.subtree_control`.
    pub(super) control: GroupFile,
    /// The content of `cgroup.subtree_control`: the controllers of the child groups.
    pub(super) enabled: Vec<u8>,
    /// The child groups, sorted by name.
    pub(super) below: Vec<Group>,
    /// The files, in the order of [`HierarchyFiles::tables`](super::HierarchyFiles::tables).
    pub(super) files: Box<[GroupFile]>,
    /// The running totals, by counter id.
    pub(super) counted: [RunningTotal; IDS],
    /// The transfers by disk, if the set shows disks.
    pub(super) disks: Vec<DiskTransfers>,
}

/// A file of a group.
#[derive(Default)]
pub(super) enum GroupFile {
    /// Opened at the next read.
    #[default]
    Closed,
    Open(OwnedFd),
    /// The group has no such file.
    Absent,
}

impl Group {
    /// The root of the hierarchy.
    pub(in crate::kernel::cgroup) fn root(inode: u64, files: usize) -> Self {
        Self::new(b".", "/".into(), inode, files)
    }

    fn new(name: &[u8], label: Box<str>, inode: u64, files: usize) -> Self {
        Self {
            name: name.into(),
            // The kernel avoids reusing the inode numbers of groups.
            instance: Arc::new(InstanceKey::new(label, inode as u32, inode)),
            shown: None,
            is_named: false,
            is_name_final: false,
            inode,
            last_walk: 0,
            folder: None,
            control: GroupFile::Closed,
            enabled: Vec::new(),
            below: Vec::new(),
            files: (0..files).map(|_| GroupFile::Closed).collect(),
            counted: [RunningTotal::default(); IDS],
            disks: Vec::new(),
        }
    }

    pub(super) fn child(&self, name: &[u8], inode: u64) -> Self {
        let parent = self.instance.name();
        let slash = if parent.ends_with('/') { "" } else { "/" };
        let label = format!("{parent}{slash}{}", String::from_utf8_lossy(name));
        Self::new(name, label.into(), inode, self.files.len())
    }

    /// Makes the next read try absent files again.
    pub(in crate::kernel::cgroup) fn retry_absent(&mut self) {
        let absent = self.files.iter_mut().filter(|group_file| matches!(group_file, GroupFile::Absent));
        absent.for_each(|group_file| *group_file = GroupFile::Closed);
    }

    /// Closes the files of this group and its descendants.
    pub(super) fn close_files(&mut self) {
        let open = self.files.iter_mut().chain([&mut self.control]);
        open.filter(|group_file| matches!(group_file, GroupFile::Open(_)))
            .for_each(|group_file| *group_file = GroupFile::Closed);
        self.below.iter_mut().for_each(Self::close_files);
    }

    /// Closes the folders of this group and its descendants.
    pub(super) fn close_folders(&mut self) {
        self.folder = None;
        self.below.iter_mut().for_each(Self::close_folders);
    }

    #[cfg(test)]
    pub(in crate::kernel::cgroup) fn open_files(&self) -> usize {
        let folders = usize::from(self.folder.is_some());
        self.count_groups_and_files().1
            - folders
            - self.below.iter().filter(|below| below.folder.is_some()).count()
    }

    /// The number of open files and folders of this group and its descendants.
    #[cfg(test)]
    pub(in crate::kernel::cgroup) fn open_files_and_folders(&self) -> usize {
        self.count_groups_and_files().1
    }

    /// The number of groups in this subtree, and the number of their open files and folders.
    pub(super) fn count_groups_and_files(&self) -> (usize, usize) {
        let open = |group_file: &&GroupFile| matches!(group_file, GroupFile::Open(_));
        let files = self.files.iter().chain([&self.control]).filter(open).count();
        let own = (1, files + usize::from(self.folder.is_some()));
        self.below
            .iter()
            .map(Self::count_groups_and_files)
            .fold(own, |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }
}
