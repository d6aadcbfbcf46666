//! Which published sets there are: the files of the folders, by set and owner.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_shm::folder::Folder;
use tachograph_shm::{OpenError, SetReader};

use super::group::{Group, GroupKey};
use super::member::Member;
use crate::provider::CollectionId;

/// Most published files that are open at once.
pub const MAX_FILES: usize = 4096;

/// The files of some folders. All providers of a registry, and of those that follow it, share one.
#[derive(Debug)]
pub(crate) struct Catalog {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    folders: Vec<Watched>,
    groups: HashMap<GroupKey, Arc<Group>>,
    /// The collection of the last look, so that its sets look once.
    looked_for: Option<CollectionId>,
    /// The files that are open, by device and number.
    open_files: HashSet<(u64, u64)>,
}

/// A folder that is watched.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    folder: Option<Arc<Folder>>,
    /// What [`Folder::version`] said before the last look.
    version: u64,
    files: BTreeMap<String, Found>,
    /// Whether there was something in it of which only a later look can tell whether a dead writer left it.
    has_unready: bool,
    /// Why the folder cannot be read.
    trouble: Option<Arc<str>>,
}

/// What a name of a folder is.
#[derive(Debug)]
enum Found {
    Member(Arc<Member>),
    /// Whole, but not published: it was left behind and cannot be removed, or is about to end.
    Silent,
    /// Open already: the folder has another path, or the file had another name.
    Known,
    /// Another user's, and not for us.
    Hidden,
    /// Why it is not read.
    Refused(Arc<str>),
}

impl Catalog {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        let watched = |path| Watched {
            path,
            folder: None,
            version: 0,
            files: BTreeMap::new(),
            has_unready: false,
            trouble: None,
        };
        let folders = folders.into_iter().map(watched).collect();
        Self { state: Mutex::new(State { folders, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for files that came, once for each collection.
    pub(crate) fn look(&self, collection: CollectionId) {
        let has_changed = {
            let mut state = self.state();
            if state.looked_for.replace(collection) == Some(collection) {
                return;
            }
            state.look()
        };
        // Sets that no query collects are looked at by nobody else; without new files there are no more of them.
        if has_changed {
            self.bury_dead();
        }
    }

    /// Looks for files that came, and for writers that are gone.
    pub(crate) fn look_at_all(&self) {
        {
            let mut state = self.state();
            state.looked_for = None;
            state.look();
        }
        self.bury_dead();
    }

    /// Takes out all files whose writers are gone, and groups that nobody has any more.
    fn bury_dead(&self) {
        let members: Vec<_> = self.state().groups.values().flat_map(|group| group.members()).collect();
        members.iter().filter(|member| !member.is_alive()).for_each(|member| self.bury(member));
        let is_needed = |group: &Arc<Group>| Arc::strong_count(group) > 1 || !group.members().is_empty();
        self.state().groups.retain(|_, group| is_needed(group));
    }

    /// The groups that have a file now, in no order.
    pub(crate) fn groups(&self) -> Vec<Arc<Group>> {
        self.state().groups.values().filter(|group| !group.members().is_empty()).cloned().collect()
    }

    /// The group of a set and its owner, which may have no file (yet).
    pub(crate) fn group(&self, key: GroupKey) -> Arc<Group> {
        let mut state = self.state();
        Arc::clone(state.groups.entry(key).or_insert_with(|| Arc::new(Group::new(key))))
    }

    /// Takes out a file whose writer is gone, or that breaks the rules, and removes it where that may be.
    pub(crate) fn bury(&self, member: &Arc<Member>) {
        let mut state = self.state();
        let group = state.groups.get(&member.key()).cloned();
        if group.is_some_and(|group| group.remove(member)) {
            state.open_files.remove(&member.file_id());
        }
        member.folder().remove_if_left(member.file_name());
        for watched in &mut state.folders {
            let is_it = |found: &Found| matches!(found, Found::Member(known) if Arc::ptr_eq(known, member));
            if watched.files.get(member.file_name()).is_some_and(is_it) {
                watched.files.remove(member.file_name());
                // Another file may have got the name.
                watched.version = 0;
            }
        }
    }

    /// Why folders and files are not read: a path and the cause each.
    pub(crate) fn troubles(&self) -> Vec<(PathBuf, Arc<str>)> {
        let mut troubles = Vec::new();
        for watched in &self.state().folders {
            troubles.extend(watched.trouble.iter().map(|why| (watched.path.clone(), Arc::clone(why))));
            let hidden = watched.files.values().filter(|found| matches!(found, Found::Hidden)).count();
            if hidden > 0 {
                let why = format!("{hidden} published counter sets of other users may not be read");
                troubles.push((watched.path.clone(), why.into()));
            }
            for (name, found) in &watched.files {
                if let Found::Refused(why) = found {
                    troubles.push((watched.path.join(name), Arc::clone(why)));
                }
            }
        }
        troubles
    }
}

impl State {
    /// Looks for files that came; whether a folder is not as it was.
    fn look(&mut self) -> bool {
        let mut has_changed = false;
        for number in 0..self.folders.len() {
            let (folder, version) = match self.folders[number].current() {
                Ok(Some(current)) => current,
                Ok(None) => {
                    self.forget(number, None);
                    continue;
                }
                Err(error) => {
                    self.forget(number, Some(error.to_string().into()));
                    continue;
                }
            };
            let watched = &mut self.folders[number];
            let is_as_it_was = version != 0 && version == watched.version;
            if !is_as_it_was || watched.has_unready {
                watched.has_unready = folder.remove_unready();
            }
            if is_as_it_was {
                continue;
            }
            watched.version = version;
            has_changed = true;
            match folder.files() {
                Ok(names) => self.take_names(number, &folder, names),
                Err(error) => watched.trouble = Some(error.to_string().into()),
            }
        }
        has_changed
    }

    /// The folder cannot be opened. Files that are open already stay: who published them lives.
    fn forget(&mut self, number: usize, trouble: Option<Arc<str>>) {
        let watched = &mut self.folders[number];
        if watched.trouble != trouble {
            watched.trouble = trouble;
        }
        watched.files.retain(|_, found| matches!(found, Found::Member(_)));
    }

    /// Opens the files that are not known.
    fn take_names(&mut self, number: usize, folder: &Arc<Folder>, mut names: Vec<String>) {
        // The same are left out each time where there are too many.
        names.sort_unstable();
        let watched = &mut self.folders[number];
        watched.trouble = None;
        // A name that was refused may have another file now. A member that lost its name lives until its writer ends.
        watched.files.retain(|_, found| matches!(found, Found::Member(_)));
        for name in names {
            if watched.files.contains_key(&name) {
                continue;
            }
            if self.open_files.len() >= MAX_FILES {
                let why = format!("more than {MAX_FILES} published counter sets; the others are left out");
                watched.trouble = Some(why.into());
                break;
            }
            let Some(mut found) = open(folder, &name) else { continue };
            if let Found::Member(member) = &found {
                if self.open_files.insert(member.file_id()) {
                    let key = member.key();
                    let group = self.groups.entry(key).or_insert_with(|| Arc::new(Group::new(key)));
                    group.add(Arc::clone(member));
                } else {
                    found = Found::Known;
                }
            }
            watched.files.insert(name, found);
        }
    }
}

impl Watched {
    /// The folder with its version; nothing where there is none.
    fn current(&mut self) -> io::Result<Option<(Arc<Folder>, u64)>> {
        if let Some(folder) = &self.folder {
            let version = folder.version();
            if version != 0 {
                return Ok(Some((Arc::clone(folder), version)));
            }
        }
        // One that changed just now may also be gone, with another in its place.
        match Folder::open(&self.path) {
            Ok(folder) => {
                let folder = Arc::new(folder);
                // Of the folder that is read next: what changes later gives another version.
                let version = folder.version();
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

/// Opens a file; nothing where it went away in the meantime.
fn open(folder: &Arc<Folder>, name: &str) -> Option<Found> {
    let reader = match SetReader::open(folder, name) {
        Ok(reader) => reader,
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(Found::Hidden);
        }
        Err(error) => {
            // What a writer left unfinished is removed as well.
            return (!folder.remove_if_left(name)).then(|| Found::Refused(error.to_string().into()));
        }
    };
    if !reader.is_alive() {
        return (!folder.remove_if_left(name)).then_some(Found::Silent);
    }
    Some(Found::Member(Arc::new(Member::new(reader, Arc::clone(folder)))))
}

/// The path of a file, for people.
pub(super) fn path_of(member: &Member) -> PathBuf {
    Path::join(member.folder().path(), member.file_name())
}
