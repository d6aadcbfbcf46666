//! The tree of groups: found anew at every sample, with its files kept open.
//!
//! The kernel does not tell when groups come and go other than by a watch per folder, so every sample lists the folders
//! that have folders in them, and asks the others for their number of links, which counts folders.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, openat, seek, statat};
use rustix::io::{Errno, pread};
use tachograph_perflib::{InstanceKey, Rows};

use super::table::{FILE_COUNT, FILES, IDS};
use super::values::{Counted, Reasons};
use crate::descriptors::with_high_number;

/// How many groups are told about.
const MAX_GROUPS: usize = 20_000;
/// How deep the tree is followed.
const MAX_DEPTH: u32 = 64;
/// More than any file of a group: what does not fit is read again into twice the room, up to this.
const MAX_FILE: usize = 4 << 20;
/// After how many samples a file that was absent is looked for again. Controllers that are switched on are noticed at
/// once; this is for what else may make files appear.
const LOOK_AGAIN: u64 = 32;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// A group, with those below it.
pub(super) struct Group {
    /// The folder's name; `.` for the root.
    name: Box<[u8]>,
    pub(super) instance: Arc<InstanceKey>,
    inode: u64,
    /// The number of the walk that met it last.
    met: u64,
    /// Kept open while it has folders in it.
    folder: Option<OwnedFd>,
    control: Slot,
    /// What the control file held: the controllers of the groups below.
    enabled: Vec<u8>,
    below: Vec<Group>,
    files: [Slot; FILE_COUNT],
    pub(super) counted: [Counted; IDS],
}

/// A file of a group.
#[derive(Default)]
enum Slot {
    /// To be opened.
    #[default]
    Closed,
    Open(OwnedFd),
    /// It was not there when it was looked for.
    Absent,
}

/// Why a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// The group is gone.
    Gone,
    /// The group has no such file.
    Absent,
    Error(Errno),
}

/// What a walk through the tree needs, kept from sample to sample.
pub(super) struct Walk {
    number: u64,
    /// How many more files may be kept open; less than none while folders are visited.
    budget: isize,
    groups: usize,
    /// Whether a file could not be opened because this process may have no more of them.
    is_crowded: bool,
    /// By file: whether one of its counters is wanted.
    wanted: [bool; FILE_COUNT],
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
            // The kernel does not give an inode's number to another group for as long as it can avoid it.
            instance: Arc::new(InstanceKey::new(label, inode as u32, inode)),
            inode,
            met: 0,
            folder: None,
            control: Slot::Closed,
            enabled: Vec::new(),
            below: Vec::new(),
            files: [const { Slot::Closed }; FILE_COUNT],
            counted: [Counted::default(); IDS],
        }
    }

    fn child(&self, name: &[u8], inode: u64) -> Self {
        let parent = self.instance.name();
        let slash = if parent.ends_with('/') { "" } else { "/" };
        let label = format!("{parent}{slash}{}", String::from_utf8_lossy(name));
        Self::new(name, label.into(), inode)
    }

    /// Looks for absent files again at the next reading.
    pub(super) fn look_again(&mut self) {
        let absent = self.files.iter_mut().filter(|slot| matches!(slot, Slot::Absent));
        absent.for_each(|slot| *slot = Slot::Closed);
    }

    /// Closes the files that are kept open, those of the groups below too.
    fn close_files(&mut self) {
        let open = self.files.iter_mut().chain([&mut self.control]);
        open.filter(|slot| matches!(slot, Slot::Open(_))).for_each(|slot| *slot = Slot::Closed);
        self.below.iter_mut().for_each(Self::close_files);
    }

    /// Closes the folders that are kept open, those of the groups below too.
    fn close_folders(&mut self) {
        self.folder = None;
        self.below.iter_mut().for_each(Self::close_folders);
    }

    #[cfg(test)]
    pub(super) fn open_files(&self) -> usize {
        let folders = usize::from(self.folder.is_some());
        self.holdings().1 - folders - self.below.iter().filter(|below| below.folder.is_some()).count()
    }

    /// How many files and folders are kept open, those of the groups below too.
    #[cfg(test)]
    pub(super) fn kept_open(&self) -> usize {
        self.holdings().1
    }

    /// How many groups this is with those below it, and how many files they keep open.
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
            is_crowded: false,
            wanted: [true; FILE_COUNT],
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
    pub(super) fn be_crowded(&mut self) {
        self.is_crowded = true;
    }

    /// Which files there are: in the root, which lacks some, or in a group right below it.
    pub(super) fn probe(&mut self, root: &mut Group, folder: BorrowedFd<'_>) -> [bool; FILE_COUNT] {
        self.number += 1;
        // A root that cannot be listed has no groups below it that could be told about.
        let _ = self.list(root, folder, folder);
        let mut here = [false; FILE_COUNT];
        for (place, here) in here.iter_mut().enumerate() {
            *here = self.read(&root.name, root.inode, &mut root.files[place], place, folder).is_ok()
                || root.below.iter_mut().take(64).any(|group| {
                    self.read(&group.name, group.inode, &mut group.files[place], place, folder).is_ok()
                });
        }
        here
    }

    /// Adds a row for each group that there is and that is wanted.
    pub(super) fn collect(&mut self, root: &mut Group, folder: BorrowedFd<'_>, rows: &mut Rows) {
        self.number += 1;
        for (file, wanted) in FILES.iter().zip(&mut self.wanted) {
            *wanted = file.ids().any(|id| rows.wants(id));
        }
        self.visit(root, folder, 0, rows);
        if self.is_crowded {
            // Others of this process took the room: from now on files are opened for each reading.
            self.is_crowded = false;
            self.budget = 0;
            root.close_files();
        }
    }

    /// Closes all that is kept open for the next walk.
    pub(super) fn rest(&mut self, root: &mut Group) {
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
                Err(Unread::Gone) => return,
                Err(_) => None,
            },
        };
        if let Some(open) = &folder
            && depth < MAX_DEPTH
        {
            // What cannot be listed keeps its groups as they were known.
            let _ = self.list(group, open.as_fd(), parent);
        }

        if (self.number.wrapping_add(group.inode)).is_multiple_of(LOOK_AGAIN) {
            group.look_again();
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

    /// The group's folder, if it has folders in it. A file system that does not count them in its links says 1.
    fn open_if_inner(&mut self, group: &Group, parent: BorrowedFd<'_>) -> Result<Option<OwnedFd>, Unread> {
        let status = statat(parent, &*group.name, AtFlags::SYMLINK_NOFOLLOW).map_err(Unread::from)?;
        if status.st_ino != group.inode {
            return Err(Unread::Gone);
        }
        if status.st_nlink == 2 && group.below.is_empty() {
            return Ok(None);
        }
        let folder = openat(parent, &*group.name, FOLDER, Mode::empty()).map_err(Unread::from)?;
        // Where the budget is used up, it is closed after the visit.
        self.budget -= 1;
        Ok(Some(with_high_number(folder)))
    }

    /// Brings the groups right below this one up to date.
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
            let place = group.below[..known].binary_search_by(|below| (*below.name).cmp(name));
            match place.map(|place| &mut group.below[place]) {
                Ok(below) if below.inode == entry.ino() => below.met = self.number,
                _ if self.groups < MAX_GROUPS => {
                    let mut below = group.child(name, entry.ino());
                    below.met = self.number;
                    group.below.push(below);
                    self.groups += 1;
                }
                _ => {}
            }
        }
        let is_changed =
            group.below.len() > known || group.below.iter().any(|below| below.met != self.number);
        if is_changed {
            for gone in group.below.iter().filter(|below| below.met != self.number) {
                let (groups, files) = gone.holdings();
                self.groups -= groups;
                self.budget += files as isize;
            }
            group.below.retain(|below| below.met == self.number);
            group.below.sort_by(|a, b| a.name.cmp(&b.name));
            // A folder that changes while it is listed may tell a name twice.
            let before = group.below.len();
            group.below.dedup_by(|a, b| a.name == b.name);
            self.groups -= before - group.below.len();
        }
        if !group.below.is_empty() {
            self.notice_controllers(group, parent);
        }
        Ok(())
    }

    /// Where the controllers of the groups below have changed, looks for the files that these lacked.
    fn notice_controllers(&mut self, group: &mut Group, parent: BorrowedFd<'_>) {
        let read =
            self.read_file(&group.name, group.inode, &mut group.control, "cgroup.subtree_control", parent);
        let Ok(length) = read else { return };
        let enabled = &self.buffer[..length];
        if *enabled != *group.enabled {
            group.enabled.clear();
            group.enabled.extend_from_slice(enabled);
            group.below.iter_mut().for_each(Group::look_again);
        }
    }

    fn add_row(&mut self, group: &mut Group, parent: BorrowedFd<'_>, rows: &mut Rows) {
        let place = rows.instances().len();
        let mut row = rows.push(&group.instance);
        let mut memory = Default::default();
        for file in 0..FILE_COUNT {
            if !self.wanted[file] {
                continue;
            }
            match self.read(&group.name, group.inode, &mut group.files[file], file, parent) {
                Ok(length) => {
                    let text = &self.buffer[..length];
                    self.reasons.set(&mut row, file, text, &mut group.counted, &mut memory);
                }
                Err(Unread::Gone) => {
                    rows.truncate(place);
                    return;
                }
                Err(Unread::Absent) => self.reasons.fail_absent(&mut row, file),
                Err(Unread::Error(error)) => self.reasons.fail(&mut row, file, error),
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
    ) -> Result<usize, Unread> {
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
    ) -> Result<usize, Unread> {
        match slot {
            Slot::Absent => return Err(Unread::Absent),
            Slot::Open(open) => match read_whole(open.as_fd(), &mut self.buffer) {
                // The file belongs to a controller that was switched off, perhaps on again, or to a group that is gone.
                Err(Errno::NODEV) => {
                    *slot = Slot::Closed;
                    self.budget += 1;
                }
                read => return read.map_err(Unread::Error),
            },
            Slot::Closed => {}
        }
        self.path.clear();
        self.path.extend_from_slice(name);
        self.path.push(b'/');
        self.path.extend_from_slice(file.as_bytes());
        match openat(parent, &*self.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(open) => {
                let length = read_whole(open.as_fd(), &mut self.buffer).map_err(Unread::from)?;
                if self.budget > 0 {
                    self.budget -= 1;
                    *slot = Slot::Open(with_high_number(open));
                }
                Ok(length)
            }
            Err(error @ (Errno::MFILE | Errno::NFILE)) => {
                self.is_crowded = true;
                Err(Unread::Error(error))
            }
            Err(error) => match Unread::from(error) {
                Unread::Gone if self.is_there(name, inode, parent) => {
                    *slot = Slot::Absent;
                    Err(Unread::Absent)
                }
                unread => Err(unread),
            },
        }
    }

    fn is_there(&self, name: &[u8], inode: u64, parent: BorrowedFd<'_>) -> bool {
        statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|status| status.st_ino == inode)
    }
}

impl From<Errno> for Unread {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NODEV => Self::Gone,
            error => Self::Error(error),
        }
    }
}

/// The kernel makes the whole text of such a file at once, so that one reading that leaves room has all of it.
fn read_whole(file: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    loop {
        match pread(file, &mut **buffer, 0) {
            Err(Errno::INTR) => {}
            Ok(length) if length == buffer.len() && length < MAX_FILE => buffer.resize(length * 2, 0),
            read => return read,
        }
    }
}
