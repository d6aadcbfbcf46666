//! Snapshots of the files in folders, to detect changes.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags, open};

/// The maximum number of files that are checked per folder.
const MAX_FILES: usize = 4096;

/// The size of the header of an MMV file, which includes the generations (docs/mmv.md).
const HEADER_BYTES: usize = 40;

/// How a change of a file is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeDetection {
    /// By the time of the file's last change (ctime).
    ChangeTime,
    /// By the header of an MMV file. Its generation number changes with the file's descriptions. The file's times
    /// are unsuitable: they also change when the kernel writes changed values of a mapped file back.
    MmvHeader,
}

/// The state of the files in some folders. If two states differ, a file was added, removed or changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FolderSnapshot {
    /// For each folder, the state of its files.
    folders: Vec<Vec<FileSnapshot>>,
    /// The latest modification time of all files; `None` if there are no files, and for MMV files.
    last_modified: Option<SystemTime>,
}

/// The state of a file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileSnapshot {
    name: OsString,
    device: u64,
    inode: u64,
    /// The file's size.
    bytes: u64,
    content: ContentState,
}

/// What is compared to detect a change of a file's contents.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ContentState {
    /// The time of the last change (ctime): seconds and nanoseconds.
    ChangeTime(i64, i64),
    /// The file's header; `None` if it cannot be read.
    MmvHeader(Option<[u8; HEADER_BYTES]>),
}

impl FolderSnapshot {
    pub(crate) fn read(folders: &[PathBuf], detection: ChangeDetection) -> Self {
        let mut last_modified = None;
        let folders =
            folders.iter().map(|folder| read_folder(folder, detection, &mut last_modified)).collect();
        Self { folders, last_modified }
    }

    /// Whether a file was modified so recently that another modification could get the same time, because file times
    /// are coarse.
    pub(crate) fn may_miss_changes(&self) -> bool {
        let age = |time: SystemTime| SystemTime::now().duration_since(time).unwrap_or_default();
        self.last_modified.is_some_and(|time| age(time) < Duration::from_millis(50))
    }
}

fn read_folder(
    folder: &Path,
    detection: ChangeDetection,
    last_modified: &mut Option<SystemTime>,
) -> Vec<FileSnapshot> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries
        .flatten()
        .take(MAX_FILES)
        .filter_map(|entry| {
            // This does not follow symbolic links.
            let metadata = entry.metadata().ok()?;
            let content = match detection {
                ChangeDetection::ChangeTime => {
                    *last_modified = (*last_modified).max(metadata.modified().ok());
                    ContentState::ChangeTime(metadata.ctime(), metadata.ctime_nsec())
                }
                ChangeDetection::MmvHeader => ContentState::MmvHeader(
                    metadata.is_file().then(|| read_mmv_header(&entry.path())).flatten(),
                ),
            };
            Some(FileSnapshot {
                name: entry.file_name(),
                device: metadata.dev(),
                inode: metadata.ino(),
                bytes: metadata.len(),
                content,
            })
        })
        .collect();
    files.sort_unstable();
    files
}

/// The first bytes of a file, padded with zeros; `None` if it cannot be read. The padding hides no change, because a
/// [`FileSnapshot`] also has the file's size.
fn read_mmv_header(path: &Path) -> Option<[u8; HEADER_BYTES]> {
    // Do not wait for a writer of a pipe; do not follow symbolic links.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty()).ok()?);
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header).ok()?;
    header.resize(HEADER_BYTES, 0);
    header.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn added_removed_and_changed_files_change_the_snapshot() {
        for detection in [ChangeDetection::ChangeTime, ChangeDetection::MmvHeader] {
            let folder = tempfile::tempdir().expect("a folder");
            let folders = [folder.path().to_owned()];
            let snapshot = || FolderSnapshot::read(&folders, detection);
            let empty = snapshot();
            assert_eq!(empty, snapshot());
            let file = folder.path().join("a");
            std::fs::write(&file, "one").expect("a file");
            let one = snapshot();
            assert_ne!(one, empty);
            assert_eq!(one.may_miss_changes(), detection == ChangeDetection::ChangeTime);
            std::fs::write(&file, "longer").expect("a file");
            assert_ne!(snapshot(), one);
            std::fs::remove_file(&file).expect("the file is deleted");
            assert_eq!(snapshot(), empty);
            let missing = |folder: &str| FolderSnapshot::read(&[folder.into()], detection);
            assert_eq!(missing("/no/such/folder"), missing("/none"));
        }
    }

    #[test]
    fn values_of_an_mmv_file_do_not_change_its_snapshot() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = [folder.path().to_owned()];
        let snapshot = || FolderSnapshot::read(&folders, ChangeDetection::MmvHeader);
        let path = folder.path().join("shop");
        let file = File::create(&path).expect("a file");
        let empty = snapshot();
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(b"MMV\0\x02\0\0\0");
        let write = |bytes: &[u8], offset| file.write_all_at(bytes, offset).expect("written");
        // A writer sets the first generation before it writes the file, and the second afterwards.
        header[8..16].copy_from_slice(&7_u64.to_ne_bytes());
        write(&header, 0);
        write(&[0; 100], HEADER_BYTES as u64);
        let incomplete = snapshot();
        header[16..24].copy_from_slice(&7_u64.to_ne_bytes());
        write(&header, 0);
        let complete = snapshot();
        assert!(empty != incomplete && incomplete != complete);
        let before_write = FolderSnapshot::read(&folders, ChangeDetection::ChangeTime);
        // A value is written: the header stays the same, but the kernel's write-back changes the times.
        write(&[1; 8], 100);
        file.set_modified(SystemTime::UNIX_EPOCH).expect("set");
        assert_eq!(snapshot(), complete);
        assert_ne!(FolderSnapshot::read(&folders, ChangeDetection::ChangeTime), before_write);
        // The same file is rewritten with the same size.
        header[8..24].copy_from_slice(&[8; 16]);
        write(&header, 0);
        let rewritten = snapshot();
        assert_ne!(rewritten, complete);
        // The file is replaced by another one with the same bytes.
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).expect("copied");
        std::fs::rename(&copy, &path).expect("renamed");
        assert_ne!(snapshot(), rewritten);
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "MMV").expect("a file");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let mut bytes = [0; HEADER_BYTES];
        bytes[..3].copy_from_slice(b"MMV");
        assert_eq!(read_mmv_header(&file), Some(bytes));
        assert_eq!((read_mmv_header(&link), read_mmv_header(folder.path())), (None, None));
    }
}
