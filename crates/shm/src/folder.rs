//! The folders in which published sets are.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::map::{effective_user, is_locked_to_write};
use crate::problem::WriteError;

/// The variable that names a folder of one's own.
pub const VARIABLE: &str = "TACHO_RUNTIME_DIR";

/// The folder of the machine.
const OF_THE_MACHINE: &str = "/run/tachograph";

/// How names of published files end, of their sockets, and of files that are not ready.
pub(crate) const FILE: &str = ".tacho";
pub(crate) const SOCKET: &str = ".sock";
pub(crate) const UNREADY: &str = ".new";
/// Of folders in which sockets are made before they have their mode.
pub(crate) const UNREADY_SOCKET: &str = ".sock-new";

/// How long a file may be without a lock, or a socket without a file, before it counts as left behind: between making
/// and locking it there is a moment.
const GRACE: Duration = Duration::from_secs(60);

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
    /// be the one that was looked at, and a regular file with such a name as writers give. Gives whether it is gone. Without
    /// permission, nothing happens.
    pub fn remove_if_left(&self, name: &str) -> bool {
        if !is_of_a_writer(name, FILE) {
            return false;
        }
        let Ok(file) = self.open_file(name) else { return false };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
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

    /// Removes what writers that died on the way left behind: files that were not ready, sockets without a file.
    pub fn remove_unready(&self) {
        let Ok(entries) = std::fs::read_dir(self.by_descriptor()) else { return };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_old = || {
                let changed = entry.metadata().and_then(|metadata| metadata.modified());
                changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > GRACE))
            };
            if let Some(ready) = name.strip_suffix(UNREADY).and_then(|name| name.strip_prefix('.')) {
                if !is_of_a_writer(ready, FILE) {
                    continue;
                }
                let is_left = || self.open_file(&name).is_ok_and(|file| !is_locked_to_write(&file));
                if is_old() && is_left() {
                    let _ = std::fs::remove_file(entry.path());
                }
            } else if is_of_a_writer(&name, UNREADY_SOCKET) {
                // Only an empty folder, and not what a link of this name leads to.
                if is_old() {
                    let _ = std::fs::remove_dir(entry.path());
                }
            } else if let Some(stem) = name.strip_suffix(SOCKET).filter(|_| is_of_a_writer(&name, SOCKET)) {
                let file = self.by_descriptor().join(format!("{stem}{FILE}"));
                if is_old()
                    && matches!(file.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
                {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
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

/// Whether a name with this ending is one that writers give: nothing else in the folder is ours to remove.
fn is_of_a_writer(name: &str, ending: &str) -> bool {
    let Some(stem) = name.strip_suffix(ending) else { return false };
    let parts: Vec<&str> = stem.split('-').collect();
    let [guid, process, unique] = parts[..] else { return false };
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_process = (1..=10).contains(&process.len()) && process.bytes().all(|byte| byte.is_ascii_digit());
    guid.len() == 32 && is_hexadecimal(guid) && is_process && unique.len() == 16 && is_hexadecimal(unique)
}

/// The name of the socket beside a file.
pub(crate) fn socket_name(name: &str) -> String {
    format!("{}{SOCKET}", name.strip_suffix(FILE).unwrap_or(name))
}
