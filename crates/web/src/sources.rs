//! The logs that are open.

mod log;
mod upload;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_logs::ReadOptions;

use crate::answer::Refusal;
use crate::listing::Folders;
use crate::options::{LineLog, ServeError, Uploads};
use crate::work::Work;
pub(crate) use log::{Log, LogState};

/// Most logs that are open at a time.
const MAX_OPEN: usize = 64;
/// Most files that make up one source.
const MAX_FILES: usize = 64;

/// The least memory for which a log is opened.
const MIN_LOG_BYTES: u64 = 1 << 20;

/// Where a log comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line.
    Named,
    /// A folder of the command line.
    Listed,
    /// A client.
    Uploaded,
}

/// All logs that are open, and the folders from which more can be opened.
pub(crate) struct Sources {
    folders: Folders,
    open: Mutex<Open>,
    uploads: Uploads,
    /// How logs are read, with the memory of all of them.
    reading: ReadOptions,
    /// Told of logs of the command line that cannot be read.
    notices: Option<LineLog>,
    /// The threads that read logs.
    pub(crate) work: Work,
}

#[derive(Default)]
struct Open {
    logs: BTreeMap<u64, Arc<Log>>,
    last: u64,
    /// Uploads that are being received.
    arriving: usize,
}

impl Sources {
    /// The files and folders that the command line names. Files are read when [`read_named`](Self::read_named) is called.
    pub(crate) fn new(
        paths: &[PathBuf],
        uploads: Uploads,
        reading: ReadOptions,
        notices: Option<LineLog>,
        work: Work,
    ) -> Result<Self, ServeError> {
        let mut folders = Vec::new();
        let mut open = Open::default();
        for path in paths {
            let metadata = fs::metadata(path)
                .map_err(|error| ServeError::work(format!("{}: {error}", path.display())))?;
            let path = fs::canonicalize(path)
                .map_err(|error| ServeError::work(format!("{}: {error}", path.display())))?;
            if metadata.is_dir() {
                folders.push(path);
            } else {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                open.last += 1;
                let log =
                    Log::new(open.last, Origin::Named, vec![(name, path)], None, reading.clone(), &work);
                open.logs.insert(open.last, Arc::new(log));
            }
        }
        if open.logs.len() > MAX_OPEN / 2 {
            return Err(ServeError::usage(format!(
                "at most {} logs are opened at the start; name their folder, from which any can be opened",
                MAX_OPEN / 2
            )));
        }
        Ok(Self { folders: Folders::new(folders), open: Mutex::new(open), uploads, reading, notices, work })
    }

    /// Begins to read the logs of the command line.
    pub(crate) fn read_named(&self) {
        self.all().iter().for_each(|log| log.read(&self.work, self.notices.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn folders(&self) -> &Folders {
        &self.folders
    }

    pub(crate) fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    /// The open logs, in the order in which they were opened.
    pub(crate) fn all(&self) -> Vec<Arc<Log>> {
        self.lock().logs.values().cloned().collect()
    }

    /// An open log.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Log>, Refusal> {
        let number =
            Some(id).filter(|id| id.bytes().all(|byte| byte.is_ascii_digit())).and_then(|id| id.parse().ok());
        let log = number.and_then(|number: u64| self.lock().logs.get(&number).cloned());
        let log = log.ok_or_else(|| Refusal::unknown("there is no such source"))?;
        log.touch();
        Ok(log)
    }

    /// Opens logs of the folders as one source. May look at the disk: not for threads of the runtime.
    pub(crate) fn find_listed(&self, names: &[String]) -> Result<Vec<(String, PathBuf)>, Refusal> {
        if names.is_empty() || names.len() > MAX_FILES {
            return Err(Refusal::bad(format!("from 1 to {MAX_FILES} logs make up a source")));
        }
        let mut files = Vec::new();
        for (name, path) in names.iter().zip(self.folders.find(names)) {
            let path = path.ok_or_else(|| {
                Refusal::unknown("there is no such log in the folders that the server was given")
            })?;
            if files.iter().any(|(_, known)| *known == path) {
                return Err(Refusal::bad("a log is named twice"));
            }
            files.push((name.clone(), path));
        }
        Ok(files)
    }

    /// Opens these files and begins to read them.
    pub(crate) fn open_listed(&self, files: Vec<(String, PathBuf)>) -> Result<Arc<Log>, Refusal> {
        let log = self.insert(Origin::Listed, files, None)?;
        log.read(&self.work, None);
        Ok(log)
    }

    fn insert(
        &self,
        origin: Origin,
        files: Vec<(String, PathBuf)>,
        uploaded: Option<File>,
    ) -> Result<Arc<Log>, Refusal> {
        self.check_memory()?;
        let mut open = self.lock();
        if open.logs.len() >= MAX_OPEN {
            return Err(Refusal::too_many(format!("{MAX_OPEN} logs are open already; close one")));
        }
        open.last += 1;
        let log = Arc::new(Log::new(open.last, origin, files, uploaded, self.reading.clone(), &self.work));
        let id = open.last;
        open.logs.insert(id, Arc::clone(&log));
        Ok(log)
    }

    /// Refuses another log where there is no memory for even a small one.
    fn check_memory(&self) -> Result<(), Refusal> {
        self.reading.budget.reserve(MIN_LOG_BYTES).map(drop).map_err(Refusal::no_memory)
    }

    /// Closes a log that a client has opened.
    pub(crate) fn close(&self, id: &str) -> Result<(), Refusal> {
        let log = self.get(id)?;
        if !log.is_closable() {
            return Err(Refusal::new(
                axum::http::StatusCode::FORBIDDEN,
                "this source was given to the server at its start, and stays",
            ));
        }
        log.close();
        self.lock().logs.remove(&log.id);
        Ok(())
    }

    /// Closes the logs of clients that nobody has looked at for long.
    pub(crate) fn close_idle(&self) {
        let most = self.uploads.max_idle;
        self.lock().logs.retain(|_, log| {
            let is_idle = log.is_closable() && log.idle() > most;
            if is_idle {
                log.close();
            }
            !is_idle
        });
    }

    /// Ends all reading, and removes what was uploaded.
    pub(crate) fn close_all(&self) {
        let logs = std::mem::take(&mut self.lock().logs);
        logs.values().for_each(|log| log.close());
    }
}
