//! The folders in which published sets are.

use std::collections::HashSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::layout::{MAGIC, VERSION};
use crate::map::{effective_user, is_locked_to_write};
use crate::problem::WriteError;

/// The variable that names a folder of one's own.
pub const VARIABLE: &str = "TACHO_RUNTIME_DIR";

/// The folder of the machine.
const OF_THE_MACHINE: &str = "/run/tachograph";

/// How names of published files end, of their sockets, and of files that are not ready.
pub(crate) const FILE: &str = ".tacho";
const SOCKET: &str = ".sock";
const UNREADY: &str = ".new";
/// Of folders in which sockets are made before they have their mode.
const UNREADY_SOCKET: &str = ".sock-new";

/// How long an empty file may be without a lock, or a socket without a file, before it counts as left behind: between making
/// and locking it there is a moment.
const GRACE: Duration = Duration::from_secs(60);

/// How it is with what may not be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unready {
    /// It is nothing to be removed, or not by us.
    Stays,
    /// Its writer lives, or may.
    Later,
    /// Its writer is gone.
    Left,
}

impl Unready {
    /// Removes it where it was left behind; what cannot be removed stays.
    fn remove_by(self, remove: impl FnOnce() -> io::Result<()>) -> Self {
        if self != Self::Left {
            return self;
        }
        let _ = remove();
        Self::Stays
    }
}

/// The folders where published sets are looked for: that of `TACHO_RUNTIME_DIR`, `/run/tachograph`, and `tachograph` in
/// `XDG_RUNTIME_DIR`. Whether they are there is another matter.
pub fn runtime_folders() -> Vec<PathBuf> {
    let of_variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = of_variable("XDG_RUNTIME_DIR").map(|folder| folder.join("tachograph"));
    let mut folders: Vec<PathBuf> =
        [of_variable(VARIABLE), Some(OF_THE_MACHINE.into()), of_user].into_iter().flatten().collect();
    let mut seen = Vec::new();
    folders.retain(|folder| {
        let is_new = !seen.contains(folder);
        seen.push(folder.clone());
        is_new
    });
    folders
}

/// A folder of published sets.
#[derive(Debug)]
pub struct Folder {
    file: File,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    ///
    /// What the operating system says; a link is refused ("not a directory").
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// The folder to publish in: this one, or the first of [`runtime_folders`] that will do. The folder of a variable is
    /// made where it is missing, for its owner alone.
    pub(crate) fn to_publish(chosen: Option<&Path>) -> Result<Self, WriteError> {
        let mut first_error = None;
        let folders = chosen.map_or_else(runtime_folders, |folder| vec![folder.to_owned()]);
        for path in folders {
            match Self::open_to_publish(&path) {
                Ok(folder) => return Ok(folder),
                Err(WriteError::Io(_, path, error))
                    if error.kind() == io::ErrorKind::NotFound && path == Path::new(OF_THE_MACHINE) => {}
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or(WriteError::NoFolder))
    }

    fn open_to_publish(path: &Path) -> Result<Self, WriteError> {
        if path != Path::new(OF_THE_MACHINE) {
            use std::os::unix::fs::DirBuilderExt;
            match std::fs::DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(WriteError::io("create the folder", path, error));
                }
                _ => {}
            }
        }
        let folder = Self::open(path).map_err(|error| WriteError::io("open the folder", path, error))?;
        let metadata =
            folder.file.metadata().map_err(|error| WriteError::io("look at the folder", path, error))?;
        let is_ours = [0, effective_user()].contains(&metadata.uid());
        let (open_to_all, sticky) = (metadata.mode() & 0o002 != 0, metadata.mode() & 0o1000 != 0);
        if !is_ours {
            return Err(WriteError::Folder(path.to_owned(), "this folder belongs to another user"));
        }
        if open_to_all && !sticky {
            let why = "anybody may write to this folder and replace what is in it: chmod o-w";
            return Err(WriteError::Folder(path.to_owned(), why));
        }
        Ok(folder)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A number that is another one when files may have come or gone; 0 when that cannot be told, since the last change
    /// was just now: the clock of files has coarse steps.
    pub fn version(&self) -> u64 {
        let Ok(metadata) = self.file.metadata() else { return 0 };
        let Ok(changed) = metadata.modified() else { return 0 };
        let age = SystemTime::now().duration_since(changed).unwrap_or_default();
        let is_gone = metadata.nlink() == 0;
        if age < Duration::from_millis(50) || is_gone {
            return 0;
        }
        let since_epoch = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        (since_epoch.as_nanos() as u64).max(1)
    }

    /// The names of published files, in no order.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn files(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.by_descriptor())? {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if name.ends_with(FILE) && !name.starts_with('.') {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Removes a file that its writer left behind, with its socket; so that nobody removes what came in its place, it must
    /// be the one that was looked at, and a regular file with such a name as writers give. One of another version of the layout
    /// stays: its writer may tell in another way that it lives. Gives whether it is gone. Without permission, nothing happens.
    pub fn remove_if_left(&self, name: &str) -> bool {
        if !is_of_a_writer(name, FILE) {
            return false;
        }
        let Ok(file) = self.open_file(name) else { return false };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return false;
        }
        if version_of(&file).is_some_and(|version| version != VERSION) {
            return false;
        }
        // The writer has the lock as long as it lives.
        if is_locked_to_write(&file) || !self.is_still(name, &file) {
            return false;
        }
        let is_gone = std::fs::remove_file(self.by_descriptor().join(name)).is_ok();
        if is_gone {
            let _ = std::fs::remove_file(self.by_descriptor().join(socket_name(name)));
        }
        is_gone
    }

    /// Removes what writers that died on the way left behind, where it may: files that were not ready, sockets without a file.
    ///
    /// Gives whether there is more of which only later can be told whether it was left behind, though no name comes or goes.
    pub fn remove_unready(&self) -> bool {
        let Ok(entries) = std::fs::read_dir(self.by_descriptor()) else { return false };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names: HashSet<String> = names.collect();
        let mut is_more = false;
        for name in &names {
            is_more |= self.remove_one_unready(name, &names) == Unready::Later;
        }
        is_more
    }

    fn remove_one_unready(&self, name: &str, names: &HashSet<String>) -> Unready {
        let path = || self.by_descriptor().join(name);
        if let Some(ready) = name.strip_suffix(UNREADY).and_then(|name| name.strip_prefix('.')) {
            let state = if is_of_a_writer(ready, FILE) { self.unready_file(name) } else { Unready::Stays };
            return state.remove_by(|| {
                std::fs::remove_file(path())?;
                std::fs::remove_file(self.by_descriptor().join(socket_name(ready)))
            });
        }
        if is_of_a_writer(name, UNREADY_SOCKET) {
            // Only an empty folder, and not what a link of this name leads to.
            return unready_by_age(&path()).remove_by(|| std::fs::remove_dir(path()));
        }
        if let Some(stem) = name.strip_suffix(SOCKET).filter(|_| is_of_a_writer(name, SOCKET)) {
            let file = format!("{stem}{FILE}");
            let unready = unready_name(&file);
            if names.contains(&file) || names.contains(&unready) {
                return Unready::Stays;
            }
            // It may have got its name since the names were listed.
            let has_file = || self.by_descriptor().join(&file).symlink_metadata().is_ok();
            return match unready_by_age(&path()) {
                Unready::Left if has_file() => Unready::Stays,
                state => state.remove_by(|| std::fs::remove_file(path())),
            };
        }
        Unready::Stays
    }

    /// How it is with a file that was not ready when it was listed.
    fn unready_file(&self, name: &str) -> Unready {
        let Ok(file) = self.open_file(name) else { return Unready::Stays };
        let Ok(metadata) = file.metadata() else { return Unready::Stays };
        if !metadata.is_file() {
            return Unready::Stays;
        }
        // The version first: the writer has the lock before it writes that.
        let version = version_of(&file);
        if version.is_some_and(|version| version != VERSION) {
            return Unready::Stays;
        }
        let is_left = !is_locked_to_write(&file) && (version.is_some() || is_old(&metadata));
        match is_left {
            true if self.is_still(name, &file) => Unready::Left,
            true => Unready::Stays,
            false => Unready::Later,
        }
    }

    /// Opens a file of this folder to read. Links are not followed, and nothing waits (as for the writer of a pipe).
    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        if name.contains('/') {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename));
        }
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(self.by_descriptor().join(name))
    }

    /// Whether the name still means this file.
    pub(crate) fn is_still(&self, name: &str, file: &File) -> bool {
        let named = std::fs::symlink_metadata(self.by_descriptor().join(name));
        let (Ok(named), Ok(file)) = (named, file.metadata()) else { return false };
        (named.dev(), named.ino()) == (file.dev(), file.ino())
    }

    /// A path to this folder, whatever has taken its name in the meantime; the path itself where there is no `/proc`.
    pub(crate) fn by_descriptor(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        if path.is_dir() { path } else { self.path.clone() }
    }

    /// The path of a file's socket. It holds as long as the folder is open, and is short: an address of a socket has at
    /// most 107 bytes.
    pub fn socket_path(&self, name: &str) -> PathBuf {
        self.by_descriptor().join(socket_name(name))
    }
}

/// How it is with something that has no lock, by its age alone.
fn unready_by_age(path: &Path) -> Unready {
    match path.symlink_metadata() {
        Ok(metadata) if is_old(&metadata) => Unready::Left,
        Ok(metadata) if [0, metadata.uid()].contains(&effective_user()) => Unready::Later,
        _ => Unready::Stays,
    }
}

/// Whether it is as it is for longer than a writer needs on its way.
fn is_old(metadata: &Metadata) -> bool {
    metadata.modified().is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > GRACE))
}

/// The version of the layout that a file says it has; `None` where it does not begin as a published set.
fn version_of(file: &File) -> Option<u64> {
    let mut words = [[0; 8]; 2];
    file.read_exact_at(words.as_flattened_mut(), 0).ok()?;
    let [magic, version] = words.map(u64::from_le_bytes);
    (magic == MAGIC).then_some(version)
}

/// Whether a name with this ending is one that writers give: nothing else in the folder is ours to remove.
fn is_of_a_writer(name: &str, ending: &str) -> bool {
    let Some(stem) = name.strip_suffix(ending) else { return false };
    let parts: Vec<&str> = stem.split('-').collect();
    let [guid, process, unique] = parts[..] else { return false };
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_process = (1..=10).contains(&process.len()) && process.bytes().all(|byte| byte.is_ascii_digit());
    guid.len() == 32 && is_hexadecimal(guid) && is_process && unique.len() == 16 && is_hexadecimal(unique)
}

/// The name of a file that is not ready.
pub(crate) fn unready_name(name: &str) -> String {
    format!(".{name}{UNREADY}")
}

/// The name of the socket beside a file.
pub(crate) fn socket_name(name: &str) -> String {
    format!("{}{SOCKET}", name.strip_suffix(FILE).unwrap_or(name))
}
