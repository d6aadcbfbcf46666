//! The trees of control groups, one for each hierarchy. Every sample walks all trees in parallel, so that groups with the same
//! path in several hierarchies are one row. Files stay open between samples.
//!
//! To be notified of new groups, a program needs one inotify watch per folder. Instead, every sample lists the
//! folders that have subfolders. The link counts of the other folders show whether they have subfolders now.

mod group;
mod rows;

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, openat, seek, statat};
use rustix::io::{Errno, pread};
use tachograph_perflib::{InstanceKey, Rows};

use super::Hierarchy;
use super::disks::DiskNames;
use super::names::{GroupName, Names};
use super::table::FileTable;
use super::values::Reasons;
use crate::descriptors::with_high_descriptor;

pub(super) use group::Group;
use group::GroupFile;

/// The maximum number of groups.
const MAX_GROUPS: usize = 20_000;
/// The maximum depth of the tree.
const MAX_DEPTH: u32 = 64;
/// The maximum size of a file; the buffer grows up to it.
const MAX_FILE: usize = 4 << 20;
/// The number of samples after which an absent file is tried again. Files of newly enabled controllers are found
/// immediately; this covers all other cases.
const RETRY_SAMPLES: u64 = 32;

/// The flags with which folders of groups are opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Why a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileError {
    /// The group was removed.
    Gone,
    /// The group has no such file.
    Absent,
    Error(Errno),
}

/// The kind of rows of a set.
pub(super) enum Shown {
    /// Every group by its path.
    Paths,
    /// The units, containers and pods by their names.
    Named(Names),
    /// Each disk of each group.
    Disks(DiskNames),
}

/// The state of the walk through the trees, kept from sample to sample.
pub(super) struct Walk {
    shown: Shown,
    /// The number of walks so far.
    number: u64,
    /// The number of further files that may stay open. Negative if folders opened during the walk exceed the limit.
    budget: isize,
    /// The number of known groups.
    groups: usize,
    /// Whether the limit of open files was reached.
    is_out_of_files: bool,
    /// The path of the file that is being opened.
    path: Vec<u8>,
    /// The content of the file that was read last.
    pub(super) buffer: Vec<u8>,
    /// The buffer for directory entries.
    entries: Vec<MaybeUninit<u8>>,
}

/// The maximum number of hierarchies: version 2, and one for each controller of version 1.
pub(super) const MAX_HIERARCHIES: usize = 6;

/// The files of the groups of a hierarchy.
pub(super) struct HierarchyFiles {
    pub(super) tables: Vec<&'static FileTable>,
    pub(super) is_legacy: bool,
    /// Whether the visible root is that of the whole machine, not the group of a container. Only set for version 1.
    pub(super) has_kernel_root: bool,
    /// The counters that come from this hierarchy, as bits.
    pub(super) ids: u64,
    pub(super) reasons: Reasons,
    /// For each file, whether one of its counters is requested.
    requested: Box<[bool]>,
}

/// The groups with the same path, by hierarchy.
type Groups<'a> = [Option<&'a mut Group>; MAX_HIERARCHIES];

/// The folders of the parents of groups, by hierarchy.
type Folders<'a> = [Option<BorrowedFd<'a>>; MAX_HIERARCHIES];

impl HierarchyFiles {
    pub(super) fn new(tables: Vec<&'static FileTable>, is_legacy: bool) -> Self {
        let reasons = Reasons::new(&tables);
        let requested = vec![true; tables.len()].into();
        Self { tables, is_legacy, has_kernel_root: false, ids: 0, reasons, requested }
    }
}

impl Walk {
    pub(super) fn new(budget: isize, shown: Shown) -> Self {
        Self {
            shown,
            number: 0,
            budget,
            groups: 1,
            is_out_of_files: false,
            path: Vec::new(),
            buffer: vec![0; 16 << 10],
            entries: vec![MaybeUninit::uninit(); 16 << 10],
        }
    }

    #[cfg(test)]
    pub(super) fn budget(&self) -> isize {
        self.budget
    }

    #[cfg(test)]
    pub(super) fn set_out_of_files(&mut self) {
        self.is_out_of_files = true;
    }

    /// Returns for each file whether it can be read in the root or in one of the first 64 child groups. The root lacks some
    /// files.
    pub(super) fn probe(
        &mut self,
        root: &mut Group,
        folder: BorrowedFd<'_>,
        tables: &[&FileTable],
    ) -> Vec<bool> {
        self.number += 1;
        // If the root cannot be listed, no groups below it are known.
        let _ = self.list(root, folder, folder);
        let files = tables.iter().enumerate().map(|(file, table)| {
            let mut has_readable_file = |group: &mut Group| {
                self.read_file(&group.name, group.inode, &mut group.files[file], table.name, folder).is_ok()
            };
            has_readable_file(root) || root.below.iter_mut().take(64).any(has_readable_file)
        });
        files.collect()
    }

    /// Adds a row for each requested group.
    pub(super) fn collect(&mut self, hierarchies: &mut [Hierarchy], rows: &mut Rows) {
        self.number += 1;
        let mut roots: Groups<'_> = Default::default();
        let mut folders: Folders<'_> = Default::default();
        let mut files: [Option<&mut HierarchyFiles>; MAX_HIERARCHIES] = Default::default();
        for (index, hierarchy) in hierarchies.iter_mut().take(MAX_HIERARCHIES).enumerate() {
            for (table, requested) in hierarchy.files.tables.iter().zip(&mut hierarchy.files.requested) {
                *requested = table.ids().any(|id| hierarchy.files.ids & 1 << id != 0 && rows.wants(id));
            }
            // A hierarchy without transfers has no disks.
            if matches!(self.shown, Shown::Disks(_)) && !hierarchy.files.requested.contains(&true) {
                continue;
            }
            roots[index] = Some(&mut hierarchy.root);
            folders[index] = Some(hierarchy.folder.as_fd());
            files[index] = Some(&mut hierarchy.files);
        }
        self.visit(&mut files, roots, folders, 0, rows);
        if self.is_out_of_files {
            // Leave the descriptors to the rest of the process: from now on, files are opened for each read.
            self.is_out_of_files = false;
            self.budget = 0;
            hierarchies.iter_mut().for_each(|hierarchy| hierarchy.root.close_files());
        }
    }

    /// Closes all files and folders.
    pub(super) fn close_all(&mut self, root: &mut Group) {
        let (_, files) = root.count_groups_and_files();
        root.close_files();
        root.close_folders();
        self.budget += files as isize;
    }

    /// Visits the groups with the same path and the groups below them. The instance is that of the first hierarchy that has the
    /// group.
    fn visit(
        &mut self,
        files: &mut [Option<&mut HierarchyFiles>; MAX_HIERARCHIES],
        mut groups: Groups<'_>,
        parents: Folders<'_>,
        depth: u32,
        rows: &mut Rows,
    ) {
        let mut folders: [Option<OwnedFd>; MAX_HIERARCHIES] = Default::default();
        for ((option, parent), folder) in groups.iter_mut().zip(parents).zip(&mut folders) {
            let (Some(group), Some(parent)) = (option.as_deref_mut(), parent) else { continue };
            *folder = match group.folder.take() {
                Some(folder) => Some(folder),
                None => match self.open_if_inner(group, parent) {
                    Ok(folder) => folder,
                    Err(FileError::Gone) => {
                        *option = None;
                        continue;
                    }
                    Err(_) => None,
                },
            };
            if let Some(open) = folder
                && depth < MAX_DEPTH
            {
                // If the folder cannot be listed, its known child groups remain.
                let _ = self.list(group, open.as_fd(), parent);
            }
            if (self.number.wrapping_add(group.inode)).is_multiple_of(RETRY_SAMPLES) {
                group.retry_absent();
                group.is_named = group.is_name_final;
            }
            if !group.is_named {
                self.set_instance(group);
            }
        }
        let Some(instance) = groups.iter().flatten().next().map(|group| &group.shown) else { return };
        if matches!(self.shown, Shown::Disks(_)) {
            self.add_disk_rows(files, &mut groups, parents, rows);
        } else if let Some(instance) = instance
            && (rows.wants_all_instances() || rows.wants_instance(instance.name(), instance.id()))
        {
            let instance = Arc::clone(instance);
            self.add_row(files, &mut groups, parents, &instance, depth, rows);
        }
        self.visit_children(files, &mut groups, &folders, depth, rows);
        for (group, mut folder) in groups.into_iter().zip(folders) {
            // The budget was charged when the folder was opened.
            let Some(group) = group else {
                self.budget += isize::from(folder.is_some());
                continue;
            };
            if (group.below.is_empty() || self.budget < 0) && folder.take().is_some() {
                self.budget += 1;
            }
            group.folder = folder;
        }
    }

    /// Visits the child groups in the order of their names. Child groups with the same name are visited together.
    fn visit_children(
        &mut self,
        files: &mut [Option<&mut HierarchyFiles>; MAX_HIERARCHIES],
        groups: &mut Groups<'_>,
        folders: &[Option<OwnedFd>; MAX_HIERARCHIES],
        depth: u32,
        rows: &mut Rows,
    ) {
        let mut children = groups.each_mut().map(|group| {
            let below: &mut [Group] = group.as_deref_mut().map_or(&mut [], |group| &mut group.below);
            below.iter_mut().peekable()
        });
        loop {
            let names = children
                .iter_mut()
                .enumerate()
                .filter_map(|(index, groups)| groups.peek().map(|group| (index, &*group.name)));
            let Some((first, _)) = names.min_by_key(|(_, name)| *name) else { break };
            let mut next: Groups<'_> = Default::default();
            next[first] = children[first].next();
            if let (before, [group, after @ ..]) = next.split_at_mut(first)
                && let Some(group) = group
            {
                debug_assert!(before.iter().all(Option::is_none));
                for (other, groups) in after.iter_mut().zip(&mut children[first + 1..]) {
                    *other = groups.next_if(|other| other.name == group.name);
                }
            }
            let parents = folders.each_ref().map(|folder| folder.as_ref().map(AsFd::as_fd));
            self.visit(files, next, parents, depth + 1, rows);
        }
    }

    /// Sets the instance that the set shows for a group.
    #[cold]
    fn set_instance(&self, group: &mut Group) {
        group.is_named = true;
        let Shown::Named(names) = &self.shown else {
            group.shown = Some(Arc::clone(&group.instance));
            group.is_name_final = true;
            return;
        };
        let found = names.find(group.instance.name());
        group.is_name_final = found.as_ref().is_none_or(|found| found.is_final);
        let is_same =
            |found: &GroupName| group.shown.as_ref().is_some_and(|shown| shown.name() == found.name);
        if found.as_ref().is_some_and(is_same) {
            return;
        }
        let key = |found: GroupName| Arc::new(InstanceKey::new(found.name, group.inode as u32, group.inode));
        group.shown = found.map(key);
    }

    /// Opens the group's folder, unless its link count of 2 means that it has no subfolders. File systems whose link
    /// counts do not include subfolders return 1.
    fn open_if_inner(&mut self, group: &Group, parent: BorrowedFd<'_>) -> Result<Option<OwnedFd>, FileError> {
        let status = statat(parent, &*group.name, AtFlags::SYMLINK_NOFOLLOW).map_err(FileError::from)?;
        if status.st_ino != group.inode {
            return Err(FileError::Gone);
        }
        if status.st_nlink == 2 && group.below.is_empty() {
            return Ok(None);
        }
        let folder = openat(parent, &*group.name, FOLDER, Mode::empty()).map_err(FileError::from)?;
        // The folder is closed after the visit if the budget is exceeded.
        self.budget -= 1;
        Ok(Some(with_high_descriptor(folder)))
    }

    /// Updates the child groups of a group.
    fn list(
        &mut self,
        group: &mut Group,
        folder: BorrowedFd<'_>,
        parent: BorrowedFd<'_>,
    ) -> Result<(), Errno> {
        seek(folder, SeekFrom::Start(0))?;
        let known = group.below.len();
        let mut entries = RawDir::new(folder, &mut self.entries);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.groups -= group.below.len() - known;
                    group.below.truncate(known);
                    return Err(error);
                }
            };
            let name = entry.file_name().to_bytes();
            if entry.file_type() != FileType::Directory || name == b"." || name == b".." {
                continue;
            }
            let index = group.below[..known].binary_search_by(|below| (*below.name).cmp(name));
            match index.map(|index| &mut group.below[index]) {
                Ok(below) if below.inode == entry.ino() => below.last_walk = self.number,
                _ if self.groups < MAX_GROUPS => {
                    let mut below = group.child(name, entry.ino());
                    below.last_walk = self.number;
                    group.below.push(below);
                    self.groups += 1;
                }
                _ => {}
            }
        }
        let is_changed =
            group.below.len() > known || group.below.iter().any(|below| below.last_walk != self.number);
        if is_changed {
            for gone in group.below.iter().filter(|below| below.last_walk != self.number) {
                let (groups, files) = gone.count_groups_and_files();
                self.groups -= groups;
                self.budget += files as isize;
            }
            group.below.retain(|below| below.last_walk == self.number);
            group.below.sort_by(|a, b| a.name.cmp(&b.name));
            // A folder that changes while it is listed can contain a name twice.
            let before = group.below.len();
            group.below.dedup_by(|a, b| a.name == b.name);
            self.groups -= before - group.below.len();
        }
        if !group.below.is_empty() {
            self.check_controllers(group, parent);
        }
        Ok(())
    }

    /// If the controllers of the child groups have changed, makes the next reads try the absent files of these groups again.
    fn check_controllers(&mut self, group: &mut Group, parent: BorrowedFd<'_>) {
        let read =
            self.read_file(&group.name, group.inode, &mut group.control, "cgroup.subtree_control", parent);
        let Ok(length) = read else { return };
        let enabled = &self.buffer[..length];
        if *enabled != *group.enabled {
            group.enabled.clear();
            group.enabled.extend_from_slice(enabled);
            group.below.iter_mut().for_each(Group::retry_absent);
        }
    }

    /// Reads a file of a group into the buffer; returns the length.
    fn read_file(
        &mut self,
        name: &[u8],
        inode: u64,
        group_file: &mut GroupFile,
        file: &str,
        parent: BorrowedFd<'_>,
    ) -> Result<usize, FileError> {
        match group_file {
            GroupFile::Absent => return Err(FileError::Absent),
            GroupFile::Open(open) => match read_whole(open.as_fd(), &mut self.buffer) {
                // The controller was disabled (and possibly enabled again), or the group was removed.
                Err(Errno::NODEV) => {
                    *group_file = GroupFile::Closed;
                    self.budget += 1;
                }
                read => return read.map_err(FileError::Error),
            },
            GroupFile::Closed => {}
        }
        self.path.clear();
        self.path.extend_from_slice(name);
        self.path.push(b'/');
        self.path.extend_from_slice(file.as_bytes());
        match openat(parent, &*self.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(open) => {
                let length = read_whole(open.as_fd(), &mut self.buffer).map_err(FileError::from)?;
                if self.budget > 0 {
                    self.budget -= 1;
                    *group_file = GroupFile::Open(with_high_descriptor(open));
                }
                Ok(length)
            }
            Err(error @ (Errno::MFILE | Errno::NFILE)) => {
                self.is_out_of_files = true;
                Err(FileError::Error(error))
            }
            Err(error) => match FileError::from(error) {
                FileError::Gone if self.exists(name, inode, parent) => {
                    *group_file = GroupFile::Absent;
                    Err(FileError::Absent)
                }
                error => Err(error),
            },
        }
    }

    fn exists(&self, name: &[u8], inode: u64, parent: BorrowedFd<'_>) -> bool {
        statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|status| status.st_ino == inode)
    }
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NODEV => Self::Gone,
            error => Self::Error(error),
        }
    }
}

/// Reads a whole file. The kernel returns it in a single read if the buffer is large enough.
fn read_whole(file: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    loop {
        match pread(file, &mut **buffer, 0) {
            Err(Errno::INTR) => {}
            Ok(length) if length == buffer.len() && length < MAX_FILE => buffer.resize(length * 2, 0),
            read => return read,
        }
    }
}
