//! The open logs.

mod chart_board;
mod log;
mod upload;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_counters::IgnorePoison;
use tachograph_logs::ReadOptions;
use tachograph_logs::archive::archive_inputs;
use tachograph_logs::sql::SqlLogName;

use crate::folders::Folders;
use crate::options::{LineLog, ServeError, Uploads};
use crate::response::ApiError;
use crate::workers::Workers;
pub(crate) use log::{Log, LogState};

/// Maximum number of open logs.
const MAX_OPEN: usize = 64;
/// Maximum number of files that are opened as one log.
const MAX_FILES: usize = 64;

/// A log is opened only if this much memory is left.
const MIN_LOG_BYTES: u64 = 1 << 20;

/// Where a log comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line names the log.
    Named,
    /// The log is in a folder that the command line names.
    Listed,
    /// A client uploaded the log.
    Uploaded,
}

/// All open logs, and the folders from which clients can open more.
pub(crate) struct Sources {
    pub(crate) folders: Folders,
    state: Mutex<State>,
    pub(crate) uploads: Uploads,
    /// The options for reading logs, with the memory budget that all logs share.
    reading: ReadOptions,
    /// Called for each log named on the command line that cannot be read.
    notices: Option<LineLog>,
    /// The threads that read logs.
    pub(crate) workers: Workers,
}

/// The open logs, and the uploads that are being received.
#[derive(Default)]
struct State {
    logs: BTreeMap<u64, Arc<Log>>,
    last_id: u64,
    /// The number of uploads that are being received.
    receiving: usize,
}

impl State {
    /// Adds a log that was named on the command line.
    fn add_named(&mut self, files: Vec<(String, PathBuf)>, reading: &ReadOptions, workers: &Workers) {
        self.last_id += 1;
        let log = Log::new(self.last_id, Origin::Named, files, None, reading.clone(), workers);
        self.logs.insert(self.last_id, Arc::new(log));
    }
}

impl Sources {
    /// Adds the files and folders named on the command line, and the folder of recordings.
    /// [`read_named`](Self::read_named) reads the files.
    pub(crate) fn new(
        paths: &[PathBuf],
        recordings: Option<&Path>,
        uploads: Uploads,
        reading: ReadOptions,
        notices: Option<LineLog>,
        workers: Workers,
    ) -> Result<Self, ServeError> {
        let mut folders = Vec::new();
        let mut state = State::default();
        for path in paths {
            let failed = |error| ServeError::io(path.display(), &error);
            if SqlLogName::parse(path).is_some() {
                let files = vec![(path.display().to_string(), path.clone())];
                state.add_named(files, &reading, &workers);
                continue;
            }
            let metadata = fs::metadata(path).map_err(failed)?;
            let path = fs::canonicalize(path).map_err(failed)?;
            let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // The machines of an archive are one source.
            let archive = metadata.is_dir().then(|| archive_inputs(&path).ok()).flatten();
            if metadata.is_dir() && archive.is_none() {
                folders.push(path);
            } else {
                let files = match archive {
                    Some(machines) => {
                        machines.into_iter().map(|it| (name_of(&it.folder), it.folder)).collect()
                    }
                    None => vec![(name_of(&path), path)],
                };
                state.add_named(files, &reading, &workers);
            }
        }
        if let Some(folder) = recordings.filter(|folder| !folders.iter().any(|known| known == folder)) {
            folders.push(folder.to_path_buf());
        }
        if state.logs.len() > MAX_OPEN / 2 {
            return Err(ServeError::usage(format!(
                "more than {} logs; name their folder instead, and open them on the page",
                MAX_OPEN / 2
            )));
        }
        Ok(Self {
            folders: Folders::new(folders),
            state: Mutex::new(state),
            uploads,
            reading,
            notices,
            workers,
        })
    }

    /// Starts to read the logs named on the command line.
    pub(crate) fn read_named(&self) {
        self.all().iter().for_each(|log| log.read(&self.workers, self.notices.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// The open logs, in the order in which they were opened.
    pub(crate) fn all(&self) -> Vec<Arc<Log>> {
        self.lock().logs.values().cloned().collect()
    }

    pub(crate) fn get(&self, id: &str) -> Result<Arc<Log>, ApiError> {
        let id = Some(id).filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()));
        let id = id.and_then(|id| id.parse::<u64>().ok());
        let log = id.and_then(|id| self.lock().logs.get(&id).cloned());
        let log = log.ok_or_else(|| ApiError::not_found("no such source"))?;
        log.touch();
        Ok(log)
    }

    /// Looks up logs in the folders by name. This reads the disk, so it must not run on a thread of the runtime.
    pub(crate) fn find_listed(&self, names: &[String]) -> Result<Vec<(String, PathBuf)>, ApiError> {
        if names.is_empty() || names.len() > MAX_FILES {
            return Err(ApiError::bad_request(format!("a source consists of 1 to {MAX_FILES} logs")));
        }
        let mut files = Vec::new();
        for (name, path) in names.iter().zip(self.folders.find(names)) {
            let path = path.ok_or_else(|| ApiError::not_found("no such log in the folders of the server"))?;
            if files.iter().any(|(_, known)| *known == path) {
                return Err(ApiError::bad_request("a log appears twice"));
            }
            files.push((name.clone(), path));
        }
        Ok(files)
    }

    /// Opens these files as one source and starts to read them.
    pub(crate) fn open_listed(&self, files: Vec<(String, PathBuf)>) -> Result<Arc<Log>, ApiError> {
        let log = self.insert(Origin::Listed, files, None)?;
        log.read(&self.workers, None);
        Ok(log)
    }

    fn insert(
        &self,
        origin: Origin,
        files: Vec<(String, PathBuf)>,
        uploaded: Option<File>,
    ) -> Result<Arc<Log>, ApiError> {
        self.check_memory()?;
        let mut state = self.lock();
        if state.logs.len() >= MAX_OPEN {
            return Err(ApiError::too_many_requests(format!(
                "the limit of {MAX_OPEN} open logs is reached; close one"
            )));
        }
        state.last_id += 1;
        let log =
            Arc::new(Log::new(state.last_id, origin, files, uploaded, self.reading.clone(), &self.workers));
        let id = state.last_id;
        state.logs.insert(id, Arc::clone(&log));
        Ok(log)
    }

    /// Refuses another log if there is no memory for even a small one.
    fn check_memory(&self) -> Result<(), ApiError> {
        self.reading.budget.reserve(MIN_LOG_BYTES).map(drop).map_err(ApiError::memory_full)
    }

    pub(crate) fn close(&self, id: &str) -> Result<(), ApiError> {
        let log = self.get(id)?;
        if !log.is_closable() {
            return Err(ApiError::new(
                axum::http::StatusCode::FORBIDDEN,
                "logs named on the command line cannot be closed",
            ));
        }
        log.close();
        self.lock().logs.remove(&log.id);
        Ok(())
    }

    /// Closes logs that clients opened and that have been idle for too long.
    pub(crate) fn close_idle(&self) {
        let max_idle = self.uploads.max_idle;
        self.lock().logs.retain(|_, log| {
            let is_idle = log.is_closable() && log.idle_time() > max_idle;
            if is_idle {
                log.close();
            }
            !is_idle
        });
    }

    /// Stops all reading and closes all logs; uploads are deleted.
    pub(crate) fn close_all(&self) {
        let logs = std::mem::take(&mut self.lock().logs);
        logs.values().for_each(|log| log.close());
    }
}
