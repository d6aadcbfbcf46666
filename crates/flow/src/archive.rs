//! Changes the folder of a machine in an archive: converts open segments to complete files, merges files, and removes
//! old ones.
//!
//! At every moment, even after a crash or a power failure, each sample is in an open segment, or exactly once in the
//! complete files, or in both. Readers return a sample that is in both only once
//! ([`MachineReader`](tachograph_logs::archive::MachineReader)).

mod convert;
mod merge;
mod retention;
mod written;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_logs::archive::{
    ArchiveReader, ArchiveWriter, FileSpan, Storage, complete_files, machine_folder, open_folder,
};
use tachograph_logs::{LogError, LogReader, LogWriter as _};

pub use convert::Converted;
pub use merge::Merged;
pub use retention::{Removed, Retention};

use crate::{FlowError, Identity, Selection, Source};

/// Name of the lock file that the recorder of a machine holds.
const RECORDER_LOCK: &str = "recorder.lock";
/// Name of the lock file that is held while complete files are merged or removed.
const FILES_LOCK: &str = "files.lock";
/// Names of two empty folders that are exchanged to find out whether the file system can exchange folders.
const EXCHANGED: [&str; 2] = ["exchange-1", "exchange-2"];

/// The folder of one machine in an archive.
#[derive(Clone, Debug)]
pub struct ArchiveStore {
    archive: PathBuf,
    machine: PathBuf,
    storage: Arc<dyn Storage>,
}

/// The last sample of a complete file. With it, the next conversion need not read the file.
#[derive(Clone, Debug)]
pub struct LastSample {
    file: PathBuf,
    sample: Sample,
}

/// A lock on the folder of a machine; dropping it releases the lock.
#[derive(Debug)]
pub struct ArchiveLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

impl ArchiveStore {
    /// The folder of the machine with this name.
    ///
    /// # Errors
    ///
    /// When the name is too long for a folder.
    pub fn new(archive: &Path, machine: &str, storage: Arc<dyn Storage>) -> Result<Self, LogError> {
        Ok(Self { archive: archive.to_path_buf(), machine: archive.join(machine_folder(machine)?), storage })
    }

    /// An existing folder of a machine in an archive.
    pub fn of_folder(machine: &Path, storage: Arc<dyn Storage>) -> Self {
        let archive = machine.parent().unwrap_or(Path::new("")).to_path_buf();
        Self { archive, machine: machine.to_path_buf(), storage }
    }

    /// The folder of the machine.
    pub fn folder(&self) -> &Path {
        &self.machine
    }

    /// The folder of the machine's open segments.
    pub fn open_folder(&self) -> PathBuf {
        open_folder(&self.machine)
    }

    /// The errors of the complete files that cannot be opened, because they are cut short, or their footer is damaged. Reads the
    /// footers of all files.
    ///
    /// # Errors
    ///
    /// When the files cannot be listed.
    pub fn damaged_files(&self) -> Result<Vec<LogError>, LogError> {
        let opened =
            complete_files(&self.machine)?.into_iter().map(|file| ArchiveReader::open(vec![file.path]));
        Ok(opened.filter_map(Result::err).filter(LogError::is_corrupt).collect())
    }

    /// The free space in bytes.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn free_bytes(&self) -> io::Result<u64> {
        self.storage.free_bytes(&self.machine)
    }

    /// Checks that the file system can exchange two folders atomically, as [`merge`](Self::merge) does. The caller must hold the
    /// [lock](Self::lock_files).
    ///
    /// # Errors
    ///
    /// When the file system cannot exchange folders, and the errors of the operating system.
    pub fn check_exchange(&self) -> Result<(), LogError> {
        let folders = EXCHANGED.map(|name| self.open_folder().join(name));
        for folder in &folders {
            match self.storage.create_folder(folder) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                outcome => outcome.map_err(|error| LogError::io(error).at_path(folder))?,
            }
        }
        let exchanged = self.exchange(&folders[0], &folders[1]);
        let removed = folders.iter().try_for_each(|folder| self.remove_if_empty(folder));
        exchanged.and(removed)
    }

    /// Atomically exchanges two folders.
    fn exchange(&self, one: &Path, other: &Path) -> Result<(), LogError> {
        self.storage.exchange(one, other).map_err(|error| {
            match error.kind() {
                ErrorKind::InvalidInput | ErrorKind::Unsupported => LogError::unsupported(
                    "the file system cannot exchange two folders atomically, so files are not merged",
                ),
                _ => LogError::io(error),
            }
            .at_path(other)
        })
    }

    /// Creates the folders of the archive, of the machine and of its open segments, and syncs them.
    ///
    /// # Errors
    ///
    /// When a folder cannot be created.
    pub fn create_folders(&self) -> Result<(), LogError> {
        for folder in [&self.archive, &self.machine, &self.open_folder()] {
            let failed = |error| LogError::io(error).at_path(folder);
            match self.storage.create_folder(folder) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    return Err(failed(ErrorKind::NotADirectory.into()));
                }
                outcome => outcome.map_err(failed)?,
            }
            self.sync_parent(folder)?;
        }
        Ok(())
    }

    fn sync_parent(&self, path: &Path) -> Result<(), LogError> {
        let parent = path.parent().unwrap_or(Path::new(""));
        match self.storage.sync_folder(parent) {
            // A folder that this user cannot read, such as `/var/log`.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            outcome => outcome.map_err(|error| LogError::io(error).at_path(parent)),
        }
    }

    /// Locks the folder for a recorder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceBusy`] if another recorder writes it, and the errors of the operating system.
    pub fn lock_recorder(&self) -> Result<ArchiveLock, LogError> {
        self.lock(RECORDER_LOCK)
    }

    /// Locks the complete files for merging or removal. Reading needs no lock.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceBusy`] if another process has the lock, and the errors of the operating system.
    pub fn lock_files(&self) -> Result<ArchiveLock, LogError> {
        self.lock(FILES_LOCK)
    }

    /// Locks the folder to add files of another recording. `None` if no recorder has ever written to it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceBusy`] if a recorder is writing; an error if a recorder has left open segments, whose
    /// samples must be added first; and the errors of the operating system.
    pub fn lock_to_add(&self) -> Result<Option<ArchiveLock>, LogError> {
        if !self.open_folder().is_dir() {
            return Ok(None);
        }
        let lock = self.lock_recorder()?;
        match self.segments()?.first() {
            Some(segment) => Err(LogError::unsupported(
                "a stopped recorder has left this open segment: first add its samples with 'tacho archive compact'",
            )
            .at_path(segment)),
            None => Ok(Some(lock)),
        }
    }

    fn lock(&self, name: &str) -> Result<ArchiveLock, LogError> {
        let path = self.open_folder().join(name);
        let failed = |error| LogError::io(error).at_path(&self.machine);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(failed(ErrorKind::ResourceBusy.into())),
            // Some file systems do not support locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(ArchiveLock(file)),
        }
    }

    /// The last complete file.
    fn last_file(&self) -> Result<Option<FileSpan>, LogError> {
        Ok(complete_files(&self.machine)?.pop())
    }

    /// Removes a file, if it exists.
    fn remove(&self, path: &Path) -> Result<(), LogError> {
        match self.storage.remove(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            outcome => outcome.map_err(|error| LogError::io(error).at_path(path)),
        }
    }

    /// Removes a folder, if it is empty.
    fn remove_if_empty(&self, path: &Path) -> Result<(), LogError> {
        let ignored = [ErrorKind::DirectoryNotEmpty, ErrorKind::NotFound, ErrorKind::AlreadyExists];
        match self.storage.remove_folder(path) {
            Err(error) if ignored.contains(&error.kind()) => Ok(()),
            outcome => outcome.map_err(|error| LogError::io(error).at_path(path)),
        }
    }
}

/// Reads the last sample of a file. The first intervals of the next file begin with it.
fn last_sample(file: &Path) -> Result<Option<Sample>, LogError> {
    let mut reader = ArchiveReader::open(vec![file.to_path_buf()])?;
    reader.seek_near_end(0)?;
    let (mut last, mut sample) = (None, Sample::default());
    while reader.next(&mut sample)? {
        std::mem::swap(last.get_or_insert_with(Sample::default), &mut sample);
    }
    Ok(last)
}

/// Yields `previous`, then the samples of `reader`.
struct Continuation<'a> {
    /// The sample before those of `reader`, with which the first intervals begin.
    previous: Option<Sample>,
    reader: &'a mut dyn LogReader,
    is_stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Source for Continuation<'_> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if let Some(previous) = self.previous.take() {
            *sample = previous;
            sample.log = 0;
            return Ok(true);
        }
        if (self.is_stopped)() {
            return Err(FlowError::Stopped);
        }
        let is_sample = self.reader.next(sample)?;
        // `previous` has log id 0.
        sample.log = sample.log.saturating_add(1);
        Ok(is_sample)
    }
}

/// Writes the samples of `source` for which `is_written` returns true. Returns their number and the last of them.
fn write_samples(
    source: Continuation<'_>,
    mut is_written: impl FnMut(&Sample) -> bool,
    writer: &mut ArchiveWriter,
) -> Result<(u64, Option<Sample>), FlowError> {
    let mut is_previous = source.previous.is_some();
    let mut source = Identity::new(source, Selection::new(Vec::new()));
    let (mut sample, mut last, mut written) = (Sample::default(), Sample::default(), 0);
    while source.next(&mut sample)? {
        if std::mem::take(&mut is_previous) {
            writer.continue_after(&sample);
        } else if is_written(&sample) {
            sample.log -= 1;
            writer.write(&sample)?;
            written += 1;
            std::mem::swap(&mut sample, &mut last);
        }
    }
    Ok((written, (written > 0).then_some(last)))
}
