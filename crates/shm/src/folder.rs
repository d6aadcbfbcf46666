//! The folders in which published sets have their files.

use std::collections::HashSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::layout::{MAGIC, VERSION};
use crate::map::{effective_user, is_write_locked};
use crate::problem::WriteError;

/// The environment variable that names a folder for published sets.
pub const VARIABLE: &str = "TACHO_RUNTIME_DIR";

/// The folder shared by all users.
const SYSTEM_FOLDER: &str = "/run/tachograph";

/// The suffix of a published file.
pub(crate) const FILE_SUFFIX: &str = ".tacho";
/// The suffix of the socket of a published file, instead of [`FILE_SUFFIX`].
const SOCKET_SUFFIX: &str = ".sock";
/// The suffix that a file has until it is finished, after [`FILE_SUFFIX`].
const UNFINISHED_SUFFIX: &str = ".new";
/// The suffix of the folder in which a writer creates a socket. The socket is moved out of this folder
/// after its mode is set.
const UNFINISHED_SOCKET_SUFFIX: &str = ".sock-new";

/// The time after which an empty file without a lock, or a socket without a file, counts as abandoned. A writer creates
/// a file shortly before it locks it.
const GRACE_PERIOD: Duration = Duration::from_secs(60);

/// Whether a directory entry is a leftover of a writer that died before it finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryState {
    /// Finished, removed, or not created by a writer.
    NotLeftover,
    /// The writer may be alive.
    Undecided,
    /// The writer is dead.
    Abandoned,
}

impl EntryState {
    /// Calls `remove` if the state is `Abandoned`, and ignores its error. Returns the state after that.
    fn remove_with(self, remove: impl FnOnce() -> io::Result<()>) -> Self {
        if self != Self::Abandoned {
            return self;
        }
        let _ = remove();
        Self::NotLeftover
    }
}

/// The folders that are searched for published sets: the value of `TACHO_RUNTIME_DIR`, `/run/tachograph`, and
/// `tachograph` in `XDG_RUNTIME_DIR`. They need not exist.
pub fn runtime_folders() -> Vec<PathBuf> {
    let folder_from = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user_folder = folder_from("XDG_RUNTIME_DIR").map(|folder| folder.join("tachograph"));
    let mut folders: Vec<PathBuf> =
        [folder_from(VARIABLE), Some(SYSTEM_FOLDER.into()), user_folder].into_iter().flatten().collect();
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

    /// Opens the folder to publish in: `chosen`, or the first suitable one of [`runtime_folders`]. A missing folder, other
    /// than `/run/tachograph`, is created with mode 0700.
    pub(crate) fn open_for_publishing(chosen: Option<&Path>) -> Result<Self, WriteError> {
        let mut first_error = None;
        let folders = chosen.map_or_else(runtime_folders, |folder| vec![folder.to_owned()]);
        for path in folders {
            match Self::open_if_suitable(&path) {
                Ok(folder) => return Ok(folder),
                Err(WriteError::Io(_, path, error))
                    if error.kind() == io::ErrorKind::NotFound && path == Path::new(SYSTEM_FOLDER) => {}
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or(WriteError::NoFolder))
    }

    fn open_if_suitable(path: &Path) -> Result<Self, WriteError> {
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
        let has_trusted_owner = [0, effective_user()].contains(&metadata.uid());
        let (is_world_writable, is_sticky) = (metadata.mode() & 0o002 != 0, metadata.mode() & 0o1000 != 0);
        if !has_trusted_owner {
            return Err(WriteError::Folder(path.to_owned(), "the folder belongs to another user"));
        }
        if is_world_writable && !is_sticky {
            let why = "other users can write to the folder and replace its files: run 'chmod o-w' on it";
            return Err(WriteError::Folder(path.to_owned(), why));
        }
        Ok(folder)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A token that differs from earlier tokens if files may have been added or removed since. 0 if that is unknown,
    /// because the folder was removed, or was changed so recently that the coarse resolution of file times could hide a
    /// change.
    pub fn change_token(&self) -> u64 {
        let Ok(metadata) = self.file.metadata() else { return 0 };
        let Ok(changed) = metadata.modified() else { return 0 };
        let age = SystemTime::now().duration_since(changed).unwrap_or_default();
        let is_removed = metadata.nlink() == 0;
        if age < Duration::from_millis(50) || is_removed {
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
        for entry in std::fs::read_dir(self.descriptor_path())? {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if name.ends_with(FILE_SUFFIX) && !name.starts_with('.') {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Removes a file whose writer is dead, and its socket. Only a regular file with a name that writers choose is removed,
    /// and only if the name still refers to the checked file. A file of another layout version is kept, because that version may
    /// define another way to detect a live writer. Returns whether the file was removed; missing permissions are not an error.
    pub fn remove_if_abandoned(&self, name: &str) -> bool {
        if !is_writer_name(name, FILE_SUFFIX) {
            return false;
        }
        let Ok(file) = self.open_file(name) else { return false };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return false;
        }
        if layout_version(&file).is_some_and(|version| version != VERSION) {
            return false;
        }
        // A writer holds the lock as long as it is alive.
        if is_write_locked(&file) || !self.name_refers_to(name, &file) {
            return false;
        }
        let is_removed = std::fs::remove_file(self.descriptor_path().join(name)).is_ok();
        if is_removed {
            let _ = std::fs::remove_file(self.descriptor_path().join(socket_name(name)));
        }
        is_removed
    }

    /// Removes unfinished files and sockets of dead writers, where permissions allow it.
    ///
    /// Returns whether entries remain that may become abandoned later, by age or because their writer dies. Neither
    /// event changes [`change_token`](Self::change_token), so the caller must call this function again later.
    pub fn remove_unfinished(&self) -> bool {
        let Ok(entries) = std::fs::read_dir(self.descriptor_path()) else { return false };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names: HashSet<String> = names.collect();
        let mut is_undecided = false;
        for name in &names {
            is_undecided |= self.remove_one_unfinished(name, &names) == EntryState::Undecided;
        }
        is_undecided
    }

    fn remove_one_unfinished(&self, name: &str, names: &HashSet<String>) -> EntryState {
        let path = || self.descriptor_path().join(name);
        if let Some(finished) = name.strip_suffix(UNFINISHED_SUFFIX).and_then(|name| name.strip_prefix('.')) {
            let state = if is_writer_name(finished, FILE_SUFFIX) {
                self.state_of_unfinished(name)
            } else {
                EntryState::NotLeftover
            };
            return state.remove_with(|| {
                std::fs::remove_file(path())?;
                std::fs::remove_file(self.descriptor_path().join(socket_name(finished)))
            });
        }
        if is_writer_name(name, UNFINISHED_SOCKET_SUFFIX) {
            // Removes only an empty folder, and never the target of a symbolic link.
            return state_by_age(&path()).remove_with(|| std::fs::remove_dir(path()));
        }
        if let Some(stem) = name.strip_suffix(SOCKET_SUFFIX).filter(|_| is_writer_name(name, SOCKET_SUFFIX)) {
            let file = format!("{stem}{FILE_SUFFIX}");
            let unfinished = unfinished_name(&file);
            if names.contains(&file) || names.contains(&unfinished) {
                return EntryState::NotLeftover;
            }
            // The file may have been renamed to its final name since the folder was listed.
            let has_file = || self.descriptor_path().join(&file).symlink_metadata().is_ok();
            return match state_by_age(&path()) {
                EntryState::Abandoned if has_file() => EntryState::NotLeftover,
                state => state.remove_with(|| std::fs::remove_file(path())),
            };
        }
        EntryState::NotLeftover
    }

    /// The state of a file that was unfinished when the folder was listed.
    fn state_of_unfinished(&self, name: &str) -> EntryState {
        let Ok(file) = self.open_file(name) else { return EntryState::NotLeftover };
        let Ok(metadata) = file.metadata() else { return EntryState::NotLeftover };
        if !metadata.is_file() {
            return EntryState::NotLeftover;
        }
        // Read before the lock is checked: a writer takes the lock before it writes the version.
        let version = layout_version(&file);
        if version.is_some_and(|version| version != VERSION) {
            return EntryState::NotLeftover;
        }
        let is_abandoned = !is_write_locked(&file) && (version.is_some() || is_old(&metadata));
        match is_abandoned {
            true if self.name_refers_to(name, &file) => EntryState::Abandoned,
            true => EntryState::NotLeftover,
            false => EntryState::Undecided,
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
            .open(self.descriptor_path().join(name))
    }

    /// Whether the directory entry `name` is (still) a link to this open file.
    pub(crate) fn name_refers_to(&self, name: &str, file: &File) -> bool {
        let named = std::fs::symlink_metadata(self.descriptor_path().join(name));
        let (Ok(named), Ok(file)) = (named, file.metadata()) else { return false };
        (named.dev(), named.ino()) == (file.dev(), file.ino())
    }

    /// The path of this folder through its open descriptor, which is valid even if the folder was renamed; the original path
    /// if `/proc` is missing.
    pub(crate) fn descriptor_path(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        if path.is_dir() { path } else { self.path.clone() }
    }

    /// The path of a file's socket. It is valid while the folder is open, and short: a socket address has at most 107 bytes.
    pub fn socket_path(&self, name: &str) -> PathBuf {
        self.descriptor_path().join(socket_name(name))
    }
}

/// The state of a socket or folder, which has no lock, judged by its age.
fn state_by_age(path: &Path) -> EntryState {
    match path.symlink_metadata() {
        Ok(metadata) if is_old(&metadata) => EntryState::Abandoned,
        Ok(metadata) if [0, metadata.uid()].contains(&effective_user()) => EntryState::Undecided,
        _ => EntryState::NotLeftover,
    }
}

/// Whether the last modification was so long ago that a live writer would have finished.
fn is_old(metadata: &Metadata) -> bool {
    metadata.modified().is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > GRACE_PERIOD))
}

/// The layout version of a file; `None` if it does not start like a published set.
fn layout_version(file: &File) -> Option<u64> {
    let mut words = [[0; 8]; 2];
    file.read_exact_at(words.as_flattened_mut(), 0).ok()?;
    let [magic, version] = words.map(u64::from_le_bytes);
    (magic == MAGIC).then_some(version)
}

/// Whether a name has the form that writers choose. Files with other names are never removed.
fn is_writer_name(name: &str, suffix: &str) -> bool {
    let Some(stem) = name.strip_suffix(suffix) else { return false };
    let parts: Vec<&str> = stem.split('-').collect();
    let [guid, process, unique] = parts[..] else { return false };
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_process_id =
        (1..=10).contains(&process.len()) && process.bytes().all(|byte| byte.is_ascii_digit());
    guid.len() == 32 && is_hexadecimal(guid) && is_process_id && unique.len() == 16 && is_hexadecimal(unique)
}

/// The name that a file has until it is finished.
pub(crate) fn unfinished_name(name: &str) -> String {
    format!(".{name}{UNFINISHED_SUFFIX}")
}

pub(crate) fn socket_name(name: &str) -> String {
    format!("{}{SOCKET_SUFFIX}", name.strip_suffix(FILE_SUFFIX).unwrap_or(name))
}
