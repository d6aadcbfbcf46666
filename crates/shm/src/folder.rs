//! The folders of published sets.

use std::collections::HashSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::layout::{MAGIC, VERSION};
use crate::map::{effective_user, is_locked_to_write};
use crate::problem::WriteError;

/// The environment variable that names a folder for published sets.
pub const VARIABLE: &str = "TACHO_RUNTIME_DIR";

/// The folder shared by all users.
const SYSTEM_FOLDER: &str = "/run/tachograph";

/// File name endings: of published files, their sockets, unfinished files, and the folders in which sockets are created
/// before their mode is set.
pub(crate) const FILE: &str = ".tacho";
const SOCKET: &str = ".sock";
const UNFINISHED: &str = ".new";
const UNFINISHED_SOCKET: &str = ".sock-new";

/// The time after which an empty file without a lock, or a socket without a file, counts as abandoned. A writer creates
/// a file shortly before it locks it.
const GRACE: Duration = Duration::from_secs(60);

/// The state of a file, socket or folder that may be unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftover {
    /// Finished, or not ours to remove.
    Keep,
    /// The writer may be alive.
    Undecided,
    /// The writer is dead.
    Abandoned,
}

impl Leftover {
    /// Calls `remove` if the state is `Abandoned`. Errors are ignored.
    fn remove_with(self, remove: impl FnOnce() -> io::Result<()>) -> Self {
        if self != Self::Abandoned {
            return self;
        }
        let _ = remove();
        Self::Keep
    }
}

/// The folders that are searched for published sets: the value of `TACHO_RUNTIME_DIR`, `/run/tachograph`, and
/// `tachograph` in `XDG_RUNTIME_DIR`. They need not exist.
pub fn runtime_folders() -> Vec<PathBuf> {
    let of_variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = of_variable("XDG_RUNTIME_DIR").map(|folder| folder.join("tachograph"));
    let mut folders: Vec<PathBuf> =
        [of_variable(VARIABLE), Some(SYSTEM_FOLDER.into()), of_user].into_iter().flatten().collect();
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
    /// Errors of the operating system, including "not a directory" for a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// The folder to publish in: `chosen`, or the first suitable one of [`runtime_folders`]. Missing folders, except
    /// `/run/tachograph`, are created with mode 0700.
    pub(crate) fn to_publish(chosen: Option<&Path>) -> Result<Self, WriteError> {
        let mut first_error = None;
        let folders = chosen.map_or_else(runtime_folders, |folder| vec![folder.to_owned()]);
        for path in folders {
            match Self::open_to_publish(&path) {
                Ok(folder) => return Ok(folder),
                Err(WriteError::Io(_, path, error))
                    if error.kind() == io::ErrorKind::NotFound && path == Path::new(SYSTEM_FOLDER) => {}
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or(WriteError::NoFolder))
    }

    fn open_to_publish(path: &Path) -> Result<Self, WriteError> {
        if path != Path::new(SYSTEM_FOLDER) {
            use std::os::unix::fs::DirBuilderExt;
            match std::fs::DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(WriteError::io("create the folder", path, error));
                }
                _ => {}
            }
        }
        let folder = Self::open(path).map_err(|error| WriteError::io("open the folder", path, error))?;
        let metadata = folder
            .file
            .metadata()
            .map_err(|error| WriteError::io("read the attributes of the folder", path, error))?;
        let is_ours = [0, effective_user()].contains(&metadata.uid());
        let (open_to_all, sticky) = (metadata.mode() & 0o002 != 0, metadata.mode() & 0o1000 != 0);
        if !is_ours {
            return Err(WriteError::Folder(path.to_owned(), "the folder belongs to another user"));
        }
        if open_to_all && !sticky {
            let why = "other users can write to the folder and replace its files: run 'chmod o-w' on it";
            return Err(WriteError::Folder(path.to_owned(), why));
        }
        Ok(folder)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A number that changes when files may have been added or removed; 0 if this is unknown, because the folder was
    /// removed, or was changed so recently that the coarse resolution of file times could hide another change.
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

    /// The names of published files, in any order.
    ///
    /// # Errors
    ///
    /// Errors of the operating system.
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

    /// Removes a file whose writer is dead, and its socket. Only a regular file with a name that writers choose is removed,
    /// and only if the name still refers to the checked file. A file of another layout version is kept, since its writer may
    /// show in another way that it is alive. Returns whether the file was removed; missing permissions are not an error.
    pub fn remove_if_abandoned(&self, name: &str) -> bool {
        if !is_writer_name(name, FILE) {
            return false;
        }
        let Ok(file) = self.open_file(name) else { return false };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return false;
        }
        if version_of(&file).is_some_and(|version| version != VERSION) {
            return false;
        }
        // A writer holds the lock as long as it lives.
        if is_locked_to_write(&file) || !self.is_still(name, &file) {
            return false;
        }
        let is_removed = std::fs::remove_file(self.by_descriptor().join(name)).is_ok();
        if is_removed {
            let _ = std::fs::remove_file(self.by_descriptor().join(socket_name(name)));
        }
        is_removed
    }

    /// Removes unfinished files and sockets of dead writers, where permissions allow it.
    ///
    /// Returns whether some may later count as abandoned without a change to the folder.
    pub fn remove_unfinished(&self) -> bool {
        let Ok(entries) = std::fs::read_dir(self.by_descriptor()) else { return false };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names: HashSet<String> = names.collect();
        let mut is_undecided = false;
        for name in &names {
            is_undecided |= self.remove_one_unfinished(name, &names) == Leftover::Undecided;
        }
        is_undecided
    }

    fn remove_one_unfinished(&self, name: &str, names: &HashSet<String>) -> Leftover {
        let path = || self.by_descriptor().join(name);
        if let Some(finished) = name.strip_suffix(UNFINISHED).and_then(|name| name.strip_prefix('.')) {
            let state =
                if is_writer_name(finished, FILE) { self.unfinished_file(name) } else { Leftover::Keep };
            return state.remove_with(|| {
                std::fs::remove_file(path())?;
                std::fs::remove_file(self.by_descriptor().join(socket_name(finished)))
            });
        }
        if is_writer_name(name, UNFINISHED_SOCKET) {
            // Removes only an empty folder, and never the target of a symbolic link.
            return leftover_by_age(&path()).remove_with(|| std::fs::remove_dir(path()));
        }
        if let Some(stem) = name.strip_suffix(SOCKET).filter(|_| is_writer_name(name, SOCKET)) {
            let file = format!("{stem}{FILE}");
            let unfinished = unfinished_name(&file);
            if names.contains(&file) || names.contains(&unfinished) {
                return Leftover::Keep;
            }
            // The file may have been renamed to its final name since the folder was listed.
            let has_file = || self.by_descriptor().join(&file).symlink_metadata().is_ok();
            return match leftover_by_age(&path()) {
                Leftover::Abandoned if has_file() => Leftover::Keep,
                state => state.remove_with(|| std::fs::remove_file(path())),
            };
        }
        Leftover::Keep
    }

    /// The state of a file that was unfinished when the folder was listed.
    fn unfinished_file(&self, name: &str) -> Leftover {
        let Ok(file) = self.open_file(name) else { return Leftover::Keep };
        let Ok(metadata) = file.metadata() else { return Leftover::Keep };
        if !metadata.is_file() {
            return Leftover::Keep;
        }
        // Read before the lock is checked: a writer takes the lock before it writes the version.
        let version = version_of(&file);
        if version.is_some_and(|version| version != VERSION) {
            return Leftover::Keep;
        }
        let is_abandoned = !is_locked_to_write(&file) && (version.is_some() || is_old(&metadata));
        match is_abandoned {
            true if self.is_still(name, &file) => Leftover::Abandoned,
            true => Leftover::Keep,
            false => Leftover::Undecided,
        }
    }

    /// Opens a file of this folder for reading. Does not follow symbolic links, and does not block (as opening a pipe would).
    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        if name.contains('/') {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename));
        }
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(self.by_descriptor().join(name))
    }

    /// Whether the name still refers to this file.
    pub(crate) fn is_still(&self, name: &str, file: &File) -> bool {
        let named = std::fs::symlink_metadata(self.by_descriptor().join(name));
        let (Ok(named), Ok(file)) = (named, file.metadata()) else { return false };
        (named.dev(), named.ino()) == (file.dev(), file.ino())
    }

    /// A path that refers to this folder even if it was renamed; the original path if `/proc` is missing.
    pub(crate) fn by_descriptor(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        if path.is_dir() { path } else { self.path.clone() }
    }

    /// The path of a file's socket. It is valid while the folder is open, and short: a socket address has at most 107 bytes.
    pub fn socket_path(&self, name: &str) -> PathBuf {
        self.by_descriptor().join(socket_name(name))
    }
}

/// The state of a socket or folder, which has no lock, judged by its age.
fn leftover_by_age(path: &Path) -> Leftover {
    match path.symlink_metadata() {
        Ok(metadata) if is_old(&metadata) => Leftover::Abandoned,
        Ok(metadata) if [0, metadata.uid()].contains(&effective_user()) => Leftover::Undecided,
        _ => Leftover::Keep,
    }
}

/// Whether the last change was so long ago that a live writer would have finished.
fn is_old(metadata: &Metadata) -> bool {
    metadata.modified().is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > GRACE))
}

/// The layout version of a file; `None` if it does not start like a published set.
fn version_of(file: &File) -> Option<u64> {
    let mut words = [[0; 8]; 2];
    file.read_exact_at(words.as_flattened_mut(), 0).ok()?;
    let [magic, version] = words.map(u64::from_le_bytes);
    (magic == MAGIC).then_some(version)
}

/// Whether a name has the form that writers choose; other files are not ours to remove.
fn is_writer_name(name: &str, ending: &str) -> bool {
    let Some(stem) = name.strip_suffix(ending) else { return false };
    let parts: Vec<&str> = stem.split('-').collect();
    let [guid, process, unique] = parts[..] else { return false };
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_process = (1..=10).contains(&process.len()) && process.bytes().all(|byte| byte.is_ascii_digit());
    guid.len() == 32 && is_hexadecimal(guid) && is_process && unique.len() == 16 && is_hexadecimal(unique)
}

/// The name of a file until it is finished.
pub(crate) fn unfinished_name(name: &str) -> String {
    format!(".{name}{UNFINISHED}")
}

/// The name of a file's socket.
pub(crate) fn socket_name(name: &str) -> String {
    format!("{}{SOCKET}", name.strip_suffix(FILE).unwrap_or(name))
}
