//! The tree of control groups. Every sample walks it; files stay open between samples.
//!
//! To be notified of new groups, a program needs one inotify watch per folder. Instead, every sample lists the
//! folders that have subfolders, and checks the link count of the others, which shows whether they have any.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, openat, seek, statat};
use rustix::io::{Errno, pread};
use tachograph_perflib::{InstanceKey, Rows};

use super::table::{FILE_COUNT, FILES, IDS};
use super::values::{Reasons, RunningTotal};
use crate::descriptors::with_high_descriptor;

/// The maximum number of groups.
const MAX_GROUPS: usize = 20_000;
/// The maximum depth of the tree.
const MAX_DEPTH: u32 = 64;
/// The maximum size of a file; the buffer grows up to it.
const MAX_FILE: usize = 4 << 20;
/// The number of samples after which an absent file is tried again. Files of newly enabled controllers are found
/// immediately; this covers all other cases.
const RETRY_SAMPLES: u64 = 32;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// A group and its descendants.
pub(super) struct Group {
    /// The folder's name; `.` for the root.
    name: Box<[u8]>,
    pub(super) instance: Arc<InstanceKey>,
    inode: u64,
    /// The number of the last walk that found this group.
    last_walk: u64,
    /// The group's folder. Stays open while it has subfolders and the budget allows.
    folder: Option<OwnedFd>,
    control: Slot,
    /// The content of `cgroup.subtree_control`: the controllers of the child groups.
    enabled: Vec<u8>,
    below: Vec<Group>,
    files: [Slot; FILE_COUNT],
    pub(super) counted: [RunningTotal; IDS],
}

/// A file of a group.
#[derive(Default)]
enum Slot {
    /// Opened at the next read.
    #[default]
    Closed,
    Open(OwnedFd),
    /// The group has no such file.
    Absent,
}

/// Why a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileError {
    /// The group is gone.
    Gone,
    /// The group has no such file.
    Absent,
    Error(Errno),
}

/// The state of the walk through the tree, kept from sample to sample.
pub(super) struct Walk {
    number: u64,
    /// How many more files may stay open. Negative if folders opened during the walk exceed the limit.
    budget: isize,
    groups: usize,
    /// Whether the limit of open files was reached.
    is_out_of_files: bool,
    /// For each file, whether one of its counters is requested.
    requested: [bool; FILE_COUNT],
    path: Vec<u8>,
    pub(super) buffer: Vec<u8>,
    entries: Vec<MaybeUninit<u8>>,
    pub(super) reasons: Reasons,
}

impl Group {
    /// The root of the hierarchy.
    pub(super) fn root(inode: u64) -> Self {
        Self::new(b".", "/".into(), inode)
    }

    fn new(name: &[u8], label: Box<str>, inode: u64) -> Self {
        Self {
            name: name.into(),
            // The kernel avoids reusing the inode numbers of groups.
            instance: Arc::new(InstanceKey::new(label, inode as u32, inode)),
            inode,
            last_walk: 0,
            folder: None,
            control: Slot::Closed,
            enabled: Vec::new(),
            below: Vec::new(),
            files: [const { Slot::Closed }; FILE_COUNT],
            counted: [RunningTotal::default(); IDS],
        }
    }

    fn child(&self, name: &[u8], inode: u64) -> Self {
        let parent = self.instance.name();
        let slash = if parent.ends_with('/') { "" } else { "/" };
        let label = format!("{parent}{slash}{}", String::from_utf8_lossy(name));
        Self::new(name, label.into(), inode)
    }

    /// Makes the next read try absent files again.
    pub(super) fn retry_absent(&mut self) {
        let absent = self.files.iter_mut().filter(|slot| matches!(slot, Slot::Absent));
        absent.for_each(|slot| *slot = Slot::Closed);
    }

    /// Closes the files of this group and its descendants.
    fn close_files(&mut self) {
        let open = self.files.iter_mut().chain([&mut self.control]);
        open.filter(|slot| matches!(slot, Slot::Open(_))).for_each(|slot| *slot = Slot::Closed);
        self.below.iter_mut().for_each(Self::close_files);
    }

    /// Closes the folders of this group and its descendants.
    fn close_folders(&mut self) {
        self.folder = None;
        self.below.iter_mut().for_each(Self::close_folders);
    }

    #[cfg(test)]
    pub(super) fn open_files(&self) -> usize {
        let folders = usize::from(self.folder.is_some());
        self.holdings().1 - folders - self.below.iter().filter(|below| below.folder.is_some()).count()
    }

    /// The number of open files and folders of this group and its descendants.
    #[cfg(test)]
    pub(super) fn open_files_and_folders(&self) -> usize {
        self.holdings().1
    }

    /// The number of groups in this subtree, and the number of their open files and folders.
    fn holdings(&self) -> (usize, usize) {
        let open = |slot: &&Slot| matches!(slot, Slot::Open(_));
        let files = self.files.iter().chain([&self.control]).filter(open).count();
        let own = (1, files + usize::from(self.folder.is_some()));
        self.below.iter().map(Self::holdings).fold(own, |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }
}

impl Walk {
    pub(super) fn new(budget: isize) -> Self {
        Self {
            number: 0,
            budget,
            groups: 1,
            is_out_of_files: false,
            requested: [true; FILE_COUNT],
            path: Vec::new(),
            buffer: vec![0; 16 << 10],
            entries: vec![MaybeUninit::uninit(); 16 << 10],
            reasons: Reasons::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> isize {
        self.budget
    }

    #[cfg(test)]
    pub(super) fn set_out_of_files(&mut self) {
        self.is_out_of_files = true;
    }

    /// Which files can be read in the root, which lacks some, or in one of its first 64 child groups.
    pub(super) fn probe(&mut self, root: &mut Group, folder: BorrowedFd<'_>) -> [bool; FILE_COUNT] {
        self.number += 1;
        // If the root cannot be listed, no groups below it are known.
        let _ = self.list(root, folder, folder);
        let mut available = [false; FILE_COUNT];
        for (file, available) in available.iter_mut().enumerate() {
            *available = self.read(&root.name, root.inode, &mut root.files[file], file, folder).is_ok()
                || root.below.iter_mut().take(64).any(|group| {
                    self.read(&group.name, group.inode, &mut group.files[file], file, folder).is_ok()
                });
        }
        available
    }

    /// Adds a row for each requested group.
    pub(super) fn collect(&mut self, root: &mut Group, folder: BorrowedFd<'_>, rows: &mut Rows) {
        self.number += 1;
        for (file, requested) in FILES.iter().zip(&mut self.requested) {
            *requested = file.ids().any(|id| rows.wants(id));
        }
        self.visit(root, folder, 0, rows);
        if self.is_out_of_files {
            // Leave the descriptors to the rest of the process: from now on, files are opened for each read.
            self.is_out_of_files = false;
            self.budget = 0;
            root.close_files();
        }
    }

    /// Closes all files and folders.
    pub(super) fn close_all(&mut self, root: &mut Group) {
        let (_, files) = root.holdings();
        root.close_files();
        root.close_folders();
        self.budget += files as isize;
    }

    fn visit(&mut self, group: &mut Group, parent: BorrowedFd<'_>, depth: u32, rows: &mut Rows) {
        let mut folder = match group.folder.take() {
            Some(folder) => Some(folder),
            None => match self.open_if_inner(group, parent) {
                Ok(folder) => folder,
                Err(FileError::Gone) => return,
                Err(_) => None,
            },
        };
        if let Some(open) = &folder
            && depth < MAX_DEPTH
        {
            // If the folder cannot be listed, its known child groups remain.
            let _ = self.list(group, open.as_fd(), parent);
        }

        if (self.number.wrapping_add(group.inode)).is_multiple_of(RETRY_SAMPLES) {
            group.retry_absent();
        }
        if rows.wants_all_instances() || rows.wants_instance(group.instance.name(), group.instance.id()) {
            self.add_row(group, parent, rows);
        }

        if let Some(open) = &folder {
            for below in &mut group.below {
                self.visit(below, open.as_fd(), depth + 1, rows);
            }
        }
        // The budget was charged when the folder was opened.
        if (group.below.is_empty() || self.budget < 0) && folder.take().is_some() {
            self.budget += 1;
        }
        group.folder = folder;
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
        // Closed after the visit if the budget is exceeded.
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
                let (groups, files) = gone.holdings();
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

    /// If the controllers of the child groups have changed, makes the next reads of their absent files try again.
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

    fn add_row(&mut self, group: &mut Group, parent: BorrowedFd<'_>, rows: &mut Rows) {
        let row_index = rows.instances().len();
        let mut row = rows.push(&group.instance);
        let mut memory = Default::default();
        for file in 0..FILE_COUNT {
            if !self.requested[file] {
                continue;
            }
            match self.read(&group.name, group.inode, &mut group.files[file], file, parent) {
                Ok(length) => {
                    let text = &self.buffer[..length];
                    self.reasons.set(&mut row, file, text, &mut group.counted, &mut memory);
                }
                Err(FileError::Gone) => {
                    rows.truncate(row_index);
                    return;
                }
                Err(FileError::Absent) => self.reasons.fail_absent(&mut row, file),
                Err(FileError::Error(error)) => self.reasons.fail(&mut row, file, error),
            }
        }
        self.reasons.set_used(&mut row, memory);
    }

    fn read(
        &mut self,
        name: &[u8],
        inode: u64,
        slot: &mut Slot,
        file: usize,
        parent: BorrowedFd<'_>,
    ) -> Result<usize, FileError> {
        self.read_file(name, inode, slot, FILES[file].name, parent)
    }

    /// Reads a file of a group into the buffer.
    fn read_file(
        &mut self,
        name: &[u8],
        inode: u64,
        slot: &mut Slot,
        file: &str,
        parent: BorrowedFd<'_>,
    ) -> Result<usize, FileError> {
        match slot {
            Slot::Absent => return Err(FileError::Absent),
            Slot::Open(open) => match read_whole(open.as_fd(), &mut self.buffer) {
                // The controller was disabled, and possibly enabled again, or the group is gone.
                Err(Errno::NODEV) => {
                    *slot = Slot::Closed;
                    self.budget += 1;
                }
                read => return read.map_err(FileError::Error),
            },
            Slot::Closed => {}
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
                    *slot = Slot::Open(with_high_descriptor(open));
                }
                Ok(length)
            }
            Err(error @ (Errno::MFILE | Errno::NFILE)) => {
                self.is_out_of_files = true;
                Err(FileError::Error(error))
            }
            Err(error) => match FileError::from(error) {
                FileError::Gone if self.exists(name, inode, parent) => {
                    *slot = Slot::Absent;
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
