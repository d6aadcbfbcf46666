//! A disk that records the operations of a recorder, and replays them up to a power failure.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_flow::record::{DiskFiles, Existing, FileLocation, LogFile, LogFiles, OpenedFile};
use tachograph_logs::SetLength;
use tachograph_logs::archive::{DiskStorage, Storage, StorageFile};

/// An operation, with paths relative to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    CreateFolder(PathBuf),
    RemoveFolder(PathBuf),
    Create(PathBuf),
    Write(PathBuf, u64, Vec<u8>),
    Truncate(PathBuf, u64),
    Rename(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
    Remove(PathBuf),
    Sync(PathBuf),
    SyncFolder(PathBuf),
    /// The recorder has returned from writing the sample of this time.
    Recorded(i64),
}

/// Performs operations below a root, and records them.
#[derive(Clone, Debug)]
pub(crate) struct RecordedDisk {
    root: PathBuf,
    operations: Arc<Mutex<Vec<Operation>>>,
}

impl RecordedDisk {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), operations: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Operation>> {
        self.operations.lock().expect("no panic")
    }

    pub(crate) fn operations(&self) -> Vec<Operation> {
        self.lock().clone()
    }

    pub(crate) fn push(&self, operation: Operation) {
        self.lock().push(operation);
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).expect("a path below the root").to_path_buf()
    }

    /// Performs and records an operation under a lock, so that operations are recorded in the order in which they are
    /// performed.
    fn perform<T>(
        &self,
        operation: impl FnOnce() -> Operation,
        perform: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut operations = self.lock();
        let outcome = perform()?;
        operations.push(operation());
        Ok(outcome)
    }
}

/// An open file.
pub(crate) struct RecordedFile<F> {
    file: F,
    disk: RecordedDisk,
    path: PathBuf,
    at: u64,
}

impl<F: Write> Write for RecordedFile<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { file, disk, path, at } = self;
        let mut operations = disk.lock();
        let written = file.write(bytes)?;
        operations.push(Operation::Write(path.clone(), *at, bytes[..written].to_vec()));
        *at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl StorageFile for RecordedFile<Box<dyn StorageFile>> {
    fn sync(&self) -> io::Result<()> {
        self.disk.perform(|| Operation::Sync(self.path.clone()), || self.file.sync())
    }
}

impl Storage for RecordedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let relative = self.relative(path);
        let file = self.perform(|| Operation::Create(relative.clone()), || DiskStorage.create(path))?;
        Ok(Box::new(RecordedFile { file, disk: self.clone(), path: relative, at: 0 }))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.perform(|| Operation::CreateFolder(self.relative(path)), || DiskStorage.create_folder(path))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match path.starts_with(&self.root) {
            true => {
                self.perform(|| Operation::SyncFolder(self.relative(path)), || DiskStorage.sync_folder(path))
            }
            false => DiskStorage.sync_folder(path),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let operation = || Operation::Rename(self.relative(from), self.relative(to));
        self.perform(operation, || DiskStorage.rename(from, to))
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let operation = || Operation::Exchange(self.relative(one), self.relative(other));
        self.perform(operation, || DiskStorage.exchange(one, other))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.perform(|| Operation::Remove(self.relative(path)), || DiskStorage.remove(path))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.perform(|| Operation::RemoveFolder(self.relative(path)), || DiskStorage.remove_folder(path))
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}

impl Read for RecordedFile<File> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for RecordedFile<File> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

impl SetLength for RecordedFile<File> {
    fn set_length(&mut self, bytes: u64) -> io::Result<()> {
        let Self { file, disk, path, .. } = self;
        disk.perform(|| Operation::Truncate(path.clone(), bytes), || SetLength::set_length(file, bytes))
    }
}

impl LogFile for RecordedFile<File> {
    fn sync(&self) -> io::Result<()> {
        self.disk.perform(|| Operation::Sync(self.path.clone()), || LogFile::sync(&self.file))
    }

    fn length(&self) -> Option<u64> {
        LogFile::length(&self.file)
    }
}

impl LogFiles for RecordedDisk {
    type File = RecordedFile<File>;

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        DiskFiles.names(folder)
    }

    fn open(&mut self, path: &Path, existing: Existing) -> io::Result<OpenedFile<Self::File>> {
        let relative = self.relative(path);
        let opened =
            self.perform(|| Operation::Create(relative.clone()), || DiskFiles.open(path, existing))?;
        let file = RecordedFile { file: opened.file, disk: self.clone(), path: relative, at: 0 };
        Ok(OpenedFile { file, is_new: opened.is_new, has_content: opened.has_content })
    }

    fn location_of(&self, file: &Self::File, path: &Path) -> FileLocation {
        DiskFiles.location_of(&file.file, path)
    }

    fn has_content(&self, path: &Path) -> bool {
        DiskFiles.has_content(path)
    }

    fn sync_name(&self, path: &Path) -> io::Result<()> {
        self.sync_folder(path.parent().expect("a folder"))
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        Storage::remove(self, path)
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Whether a later operation ensures that an operation is on the disk.
fn is_durable(operation: &Operation, later: &[Operation]) -> bool {
    let is_synced = |folder: &Path| later.iter().any(|it| *it == Operation::SyncFolder(folder.to_path_buf()));
    match operation {
        Operation::CreateFolder(path)
        | Operation::RemoveFolder(path)
        | Operation::Create(path)
        | Operation::Remove(path) => is_synced(parent(path)),
        Operation::Rename(from, to) | Operation::Exchange(from, to) => {
            is_synced(parent(from)) && is_synced(parent(to))
        }
        Operation::Write(path, ..) | Operation::Truncate(path, _) => {
            later.contains(&Operation::Sync(path.clone()))
        }
        Operation::Sync(_) | Operation::SyncFolder(_) | Operation::Recorded(_) => true,
    }
}

/// The indexes of the operations that a power failure can undo, in groups that are undone together. The writes to a
/// file are a group.
pub(crate) fn volatile(operations: &[Operation]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<&Path>, Vec<usize>)> = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        if is_durable(operation, &operations[index + 1..]) {
            continue;
        }
        let file = match operation {
            Operation::Write(path, ..) | Operation::Truncate(path, _) => Some(path.as_path()),
            _ => None,
        };
        match groups.iter_mut().find(|(path, _)| path.is_some() && *path == file) {
            Some((_, group)) => group.push(index),
            None => groups.push((file, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Creates the disk after a power failure that undid some operations. Operations on files that are missing for this
/// reason have no effect.
pub(crate) fn replay(root: &Path, operations: &[Operation], lost: &BTreeSet<usize>) {
    for (_, operation) in operations.iter().enumerate().filter(|(index, _)| !lost.contains(index)) {
        let at = |path: &Path| root.join(path);
        let _ = match operation {
            Operation::CreateFolder(path) => fs::create_dir(at(path)),
            Operation::RemoveFolder(path) => fs::remove_dir(at(path)),
            Operation::Create(path) => File::create_new(at(path)).map(drop),
            Operation::Write(path, offset, bytes) => {
                File::options().write(true).open(at(path)).and_then(|mut file| {
                    file.seek(SeekFrom::Start(*offset))?;
                    file.write_all(bytes)
                })
            }
            Operation::Truncate(path, bytes) => {
                File::options().write(true).open(at(path)).and_then(|file| file.set_len(*bytes))
            }
            Operation::Rename(from, to) => DiskStorage.rename(&at(from), &at(to)),
            Operation::Exchange(one, other) => DiskStorage.exchange(&at(one), &at(other)),
            Operation::Remove(path) => fs::remove_file(at(path)),
            Operation::Sync(_) | Operation::SyncFolder(_) | Operation::Recorded(_) => Ok(()),
        };
    }
}
