//! A published file: one counter set of one process.

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_shm::folder::Folder;
use tachograph_shm::{CounterSetInfo, SetReader};

use super::control::Connection;
use super::group::GroupKey;
use super::names;

/// A file that is open. Its writer lived when it was opened.
#[derive(Debug)]
pub(crate) struct Member {
    reader: Mutex<SetReader>,
    folder: Arc<Folder>,
    file_name: Box<str>,
    file_id: (u64, u64),
    description: Arc<CounterSetInfo>,
    key: GroupKey,
    process: u64,
    started: u64,
    unique: u64,
    has_control: bool,
    program: Arc<str>,
    connection: Mutex<Connection>,
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
            program: program_of(process, key.owner),
            description,
            folder,
            reader: Mutex::new(reader),
            connection: Mutex::default(),
        }
    }

    pub(super) fn reader(&self) -> MutexGuard<'_, SetReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection over which it is asked.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its writer lives and publishes it still.
    pub(super) fn is_alive(&self) -> bool {
        self.reader().is_alive()
    }

    pub(super) fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    pub(super) fn file_name(&self) -> &str {
        &self.file_name
    }

    /// The file's device and its number there.
    pub(super) fn file_id(&self) -> (u64, u64) {
        self.file_id
    }

    pub(super) fn description(&self) -> &Arc<CounterSetInfo> {
        &self.description
    }

    pub(super) fn key(&self) -> GroupKey {
        self.key
    }

    /// The number of its process, as it says itself.
    pub(super) fn process(&self) -> u64 {
        self.process
    }

    /// When it was published: nanoseconds since the machine was started.
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// The random number that tells it from every other file.
    pub(super) fn unique(&self) -> u64 {
        self.unique
    }

    /// Whether it answers requests.
    pub(super) fn has_control(&self) -> bool {
        self.has_control
    }

    /// The program's name; `process` where it cannot be seen.
    pub(super) fn program(&self) -> &Arc<str> {
        &self.program
    }

    /// What the one instance of a single-instance set is called beside those of other processes.
    pub(super) fn label(&self) -> String {
        match names::cleaned(&self.description.label) {
            label if label.is_empty() => self.program.to_string(),
            label => label,
        }
    }

    /// In the order in which several of one set are numbered: that of their start.
    pub(super) fn order(&self) -> (u64, u64, u64) {
        (self.started, self.process, self.unique)
    }
}

/// The name of a process's program. The number comes from the file, and may be that of another name space: a process of
/// another owner is not the one.
fn program_of(process: u64, owner: u32) -> Arc<str> {
    let folder = format!("/proc/{process}");
    let is_owner = std::fs::metadata(&folder).is_ok_and(|metadata| metadata.uid() == owner);
    let name = is_owner.then(|| std::fs::read(format!("{folder}/comm")).ok()).flatten().unwrap_or_default();
    match names::cleaned(String::from_utf8_lossy(&name).trim_end_matches('\n')) {
        name if name.is_empty() => "process".into(),
        name => name.into(),
    }
}
