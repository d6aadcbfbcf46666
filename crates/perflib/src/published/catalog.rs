//! The published files in the given folders, grouped by set and owner.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;
use tachograph_schema::IgnorePoison;
use tachograph_shm::folder::Folder;
use tachograph_shm::{OpenError, SetReader};

use super::group::MemberGroup;
use super::member::{GroupKey, Member};
use crate::provider::CollectionId;

/// Maximum number of open published files.
pub const MAX_FILES: usize = 4096;

/// The published files in the given folders. The published sets of a registry, and of the registries that replace it,
/// share one catalog.
#[derive(Debug)]
pub(crate) struct Catalog {
    state: Mutex<State>,
}

/// The folders, and the open files in them.
#[derive(Debug, Default)]
struct State {
    folders: Vec<WatchedFolder>,
    /// The processes that publish a set, by set and user.
    groups: HashMap<GroupKey, Arc<MemberGroup>>,
    /// The collection of the last scan, so that folders are scanned only once per collection.
    scanned_for: Option<CollectionId>,
    /// The open files, by device and inode.
    open_files: HashSet<(u64, u64)>,
}

/// A folder that is scanned when it has changed.
#[derive(Debug, Default)]
struct WatchedFolder {
    path: PathBuf,
    /// The open folder; `None` if it cannot be opened.
    folder: Option<Arc<Folder>>,
    /// The [`Folder::change_token`] at the last scan; 0 if the folder must be scanned again.
    version: u64,
    /// The files by name, as found by the last scan.
    files: BTreeMap<String, FileState>,
    /// Whether the last scan found unfinished files, which may belong to a dead writer.
    has_unfinished: bool,
    /// The reason that the folder, or some of its files, cannot be read.
    error: Option<Arc<str>>,
}

/// The state of a file at the last scan.
#[derive(Debug)]
enum FileState {
    /// Open, and published by a process that was alive when the file was opened.
    Member(Arc<Member>),
    /// Complete, but no longer published: either a leftover file that cannot be removed, or one that is about to be
    /// closed.
    Unpublished,
    /// Already open, through another path to the folder or another hard link to the file.
    Duplicate,
    /// A file of another user that cannot be read for lack of permission.
    Hidden,
    /// Invalid, with the reason.
    Rejected(Arc<str>),
}

impl Catalog {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        let folders =
            folders.into_iter().map(|path| WatchedFolder { path, ..WatchedFolder::default() }).collect();
        Self { state: Mutex::new(State { folders, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Scans the folders for new files. Later calls for the same collection do nothing.
    pub(crate) fn scan(&self, collection: CollectionId) {
        let has_changed = {
            let mut state = self.state();
            if state.scanned_for.replace(collection) == Some(collection) {
                return;
            }
            state.scan()
        };
        // This is the only place that retires the files of sets that no query collects.
        if has_changed {
            self.retire_dead();
        }
    }

    /// Scans the folders for new files, and all open files for dead writers.
    pub(crate) fn scan_all(&self) {
        {
            let mut state = self.state();
            state.scanned_for = None;
            state.scan();
        }
        self.retire_dead();
    }

    /// Retires all files of dead writers, and removes unused groups.
    fn retire_dead(&self) {
        let members: Vec<_> = self.state().groups.values().flat_map(|group| group.members()).collect();
        members.iter().filter(|member| !member.is_alive()).for_each(|member| self.retire(member));
        let is_needed =
            |group: &Arc<MemberGroup>| Arc::strong_count(group) > 1 || !group.members().is_empty();
        self.state().groups.retain(|_, group| is_needed(group));
    }

    /// The groups that have at least one file, in arbitrary order.
    pub(crate) fn groups(&self) -> Vec<Arc<MemberGroup>> {
        self.state().groups.values().filter(|group| !group.members().is_empty()).cloned().collect()
    }

    /// The group for a set and owner, which can be empty.
    pub(crate) fn group(&self, key: GroupKey) -> Arc<MemberGroup> {
        let mut state = self.state();
        Arc::clone(state.groups.entry(key).or_insert_with(|| Arc::new(MemberGroup::new(key))))
    }

    /// Closes a file whose writer is dead, and deletes the file if permitted.
    pub(crate) fn retire(&self, member: &Arc<Member>) {
        let mut state = self.state();
        let group = state.groups.get(&member.key).cloned();
        if group.is_some_and(|group| group.remove(member)) {
            state.open_files.remove(&member.file_id);
        }
        member.folder.remove_if_abandoned(&member.file_name);
        for watched in &mut state.folders {
            let is_member =
                |found: &FileState| matches!(found, FileState::Member(known) if Arc::ptr_eq(known, member));
            if watched.files.get(&*member.file_name).is_some_and(is_member) {
                watched.files.remove(&*member.file_name);
                // The folder must be scanned again, because another file may have the name now.
                watched.version = 0;
            }
        }
    }

    /// The paths of folders and files that cannot be read, with the reasons.
    pub(crate) fn errors(&self) -> Vec<(PathBuf, Arc<str>)> {
        let mut errors = Vec::new();
        for watched in &self.state().folders {
            errors.extend(watched.error.iter().map(|why| (watched.path.clone(), Arc::clone(why))));
            let hidden = watched.files.values().filter(|found| matches!(found, FileState::Hidden)).count();
            if hidden > 0 {
                let why = format!("no permission to read {hidden} published counter sets of other users");
                errors.push((watched.path.clone(), why.into()));
            }
            for (name, found) in &watched.files {
                if let FileState::Rejected(why) = found {
                    errors.push((watched.path.join(name), Arc::clone(why)));
                }
            }
        }
        errors
    }
}

impl State {
    /// Scans for new files; returns whether a folder has changed.
    fn scan(&mut self) -> bool {
        let mut has_changed = false;
        for index in 0..self.folders.len() {
            let (folder, version) = match self.folders[index].current_folder() {
                Ok(Some(current)) => current,
                Ok(None) => {
                    self.mark_unavailable(index, None);
                    continue;
                }
                Err(error) => {
                    self.mark_unavailable(index, Some(error.to_string().into()));
                    continue;
                }
            };
            let watched = &mut self.folders[index];
            let is_unchanged = version != 0 && version == watched.version;
            if !is_unchanged || watched.has_unfinished {
                watched.has_unfinished = folder.remove_unfinished();
            }
            if is_unchanged {
                continue;
            }
            has_changed = true;
            // A folder that could not be listed is listed again by the next scan, and so is a folder with a file that this process
            // had no resources to open.
            watched.version = 0;
            match folder.files() {
                Ok(names) => {
                    if self.open_files_of(index, &folder, names) {
                        self.folders[index].version = version;
                    }
                }
                Err(error) => watched.error = Some(error.to_string().into()),
            }
        }
        has_changed
    }

    /// Records that a folder does not exist or cannot be opened. Open files stay open, because their writers can still
    /// be alive.
    fn mark_unavailable(&mut self, index: usize, error: Option<Arc<str>>) {
        let watched = &mut self.folders[index];
        watched.error = error;
        watched.files.retain(|_, found| matches!(found, FileState::Member(_)));
    }

    /// Opens the files that are not open yet. Returns false if a file could not be opened for lack of resources, which may
    /// be available later.
    fn open_files_of(&mut self, index: usize, folder: &Arc<Folder>, mut names: Vec<String>) -> bool {
        let mut is_complete = true;
        // Sorted, so that each scan omits the same files if there are too many.
        names.sort_unstable();
        let watched = &mut self.folders[index];
        watched.error = None;
        // Try all other names again, because they may belong to another file now. A member whose name was removed stays
        // until its writer exits.
        watched.files.retain(|_, found| matches!(found, FileState::Member(_)));
        for name in names {
            if watched.files.contains_key(&name) {
                continue;
            }
            if self.open_files.len() >= MAX_FILES {
                let why = format!("more than {MAX_FILES} published counter sets; the others are omitted");
                watched.error = Some(why.into());
                break;
            }
            let Some(mut found) = open(folder, &name, &mut is_complete) else { continue };
            if let FileState::Member(member) = &found {
                if self.open_files.insert(member.file_id) {
                    let key = member.key;
                    let group = self.groups.entry(key).or_insert_with(|| Arc::new(MemberGroup::new(key)));
                    group.add(Arc::clone(member));
                } else {
                    found = FileState::Duplicate;
                }
            }
            watched.files.insert(name, found);
        }
        is_complete
    }
}

impl WatchedFolder {
    /// The folder and its version; `None` if the folder does not exist.
    fn current_folder(&mut self) -> io::Result<Option<(Arc<Folder>, u64)>> {
        if let Some(folder) = &self.folder {
            let version = folder.change_token();
            if version != 0 {
                return Ok(Some((Arc::clone(folder), version)));
            }
        }
        // Open the folder again: if its version is unknown, it may have been replaced.
        match Folder::open(&self.path) {
            Ok(folder) => {
                let folder = Arc::new(folder);
                // Read the version before the files are listed, so that later changes are detected.
                let version = folder.change_token();
                self.folder = Some(Arc::clone(&folder));
                Ok(Some((folder, version)))
            }
            Err(error) => {
                self.folder = None;
                match error.kind() {
                    io::ErrorKind::NotFound => Ok(None),
                    _ => Err(error),
                }
            }
        }
    }
}

/// Whether an error means that this process or the machine lacks resources, which may be available later.
fn is_shortage(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM]
        .iter()
        .any(|shortage| error.raw_os_error() == Some(shortage.raw_os_error()))
}

/// Opens a file; `None` if it no longer exists or was abandoned and has been removed. Sets `is_complete` to false if it cannot
/// be opened for lack of resources.
fn open(folder: &Arc<Folder>, name: &str, is_complete: &mut bool) -> Option<FileState> {
    let reader = match SetReader::open(folder, name) {
        Ok(reader) => reader,
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(FileState::Hidden);
        }
        Err(OpenError::Io(error)) if is_shortage(&error) => {
            *is_complete = false;
            return Some(FileState::Rejected(error.to_string().into()));
        }
        Err(error) => {
            // If the file is invalid because its writer died before finishing it, remove it without an error.
            return (!folder.remove_if_abandoned(name))
                .then(|| FileState::Rejected(error.to_string().into()));
        }
    };
    if !reader.is_alive() {
        return (!folder.remove_if_abandoned(name)).then_some(FileState::Unpublished);
    }
    Some(FileState::Member(Arc::new(Member::new(reader, Arc::clone(folder)))))
}
