//! A published file, which contains one counter set of one process.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_schema::IgnorePoison;
use tachograph_shm::folder::Folder;
use tachograph_shm::{CounterSetInfo, Guid, SetReader};

use super::control::Connection;
use super::names;

/// A set and the user who publishes it. Files of different users are never combined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    pub(crate) set: Guid,
    /// The user id of the files' owner.
    pub(crate) owner: u32,
}

impl fmt::Debug for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of user {}", self.set, self.owner)
    }
}

/// A published file that is open. Its writer was alive when the file was opened.
#[derive(Debug)]
pub(crate) struct Member {
    reader: Mutex<SetReader>,
    connection: Mutex<Connection>,
    pub(super) folder: Arc<Folder>,
    pub(super) file_name: Box<str>,
    /// The file's device and inode number.
    pub(super) file_id: (u64, u64),
    pub(super) description: Arc<CounterSetInfo>,
    pub(super) key: GroupKey,
    /// The process id that is stored in the file.
    pub(super) process: u64,
    /// When the set was published, in nanoseconds since boot.
    pub(super) started: u64,
    /// The random number that identifies the file.
    pub(super) unique: u64,
    /// Whether the provider has a control callback.
    pub(super) has_control: bool,
    /// The program's name, or the word `process` if the name is unavailable.
    pub(super) program: Arc<str>,
}

impl Member {
    pub(super) fn new(reader: SetReader, folder: Arc<Folder>) -> Self {
        let description = Arc::clone(reader.description());
        let key = GroupKey { set: description.guid, owner: reader.owner() };
        let process = reader.process();
        Self {
            file_name: reader.name().into(),
            file_id: reader.file_id(),
            key,
            process,
            started: reader.started(),
            unique: reader.unique(),
            has_control: reader.has_control(),
            program: program_name(process, key.owner),
            description,
            folder,
            reader: Mutex::new(reader),
            connection: Mutex::default(),
        }
    }

    pub(super) fn reader(&self) -> MutexGuard<'_, SetReader> {
        self.reader.lock().ignore_poison()
    }

    /// The connection to the provider's control callback.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().ignore_poison()
    }

    /// Whether the writer is alive and still publishes the file.
    pub(super) fn is_alive(&self) -> bool {
        self.reader().is_alive()
    }

    /// The name of the instance that represents this process. A published single-instance set has one instance per process.
    pub(super) fn label(&self) -> String {
        match names::replace_controls(&self.description.label) {
            label if label.is_empty() => self.program.to_string(),
            label => label,
        }
    }

    /// The key for sorting the files of a set by start time.
    pub(super) fn order(&self) -> (u64, u64, u64) {
        (self.started, self.process, self.unique)
    }
}

/// The program name of a process. The process id comes from the file and can belong to another PID namespace. If a
/// process here has the same id but another owner, it is a different process.
fn program_name(process: u64, owner: u32) -> Arc<str> {
    let folder = format!("/proc/{process}");
    let is_owner = std::fs::metadata(&folder).is_ok_and(|metadata| metadata.uid() == owner);
    let name = is_owner.then(|| std::fs::read(format!("{folder}/comm")).ok()).flatten().unwrap_or_default();
    match names::replace_controls(String::from_utf8_lossy(&name).trim_end_matches('\n')) {
        name if name.is_empty() => "process".into(),
        name => name.into(),
    }
}
