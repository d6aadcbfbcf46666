//! Detects changes to the files in a folder.

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
pub(crate) enum StampKind {
    /// By the time of the file's last change (ctime).
    Times,
    /// By the header of an MMV file. Its generation number changes with the file's descriptions. The file's times
    /// are unsuitable: they also change when the kernel writes changed values of a mapped file back.
    MmvHeader,
}

/// The state of the files in some folders. If two states differ, a file was added, removed or changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamps {
    /// For each folder, the state of its files.
    folders: Vec<Vec<Stamp>>,
    /// The latest modification time of all files; `None` if there are no files, and for MMV files.
    newest: Option<SystemTime>,
}

/// The state of a file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    name: OsString,
    device: u64,
    inode: u64,
    /// The file's size.
    bytes: u64,
    state: FileState,
}

/// What is compared to detect a change of a file's contents.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FileState {
    /// The time of the last change (ctime): seconds and nanoseconds.
    Changed(i64, i64),
    /// The file's header; `None` if it cannot be read.
    Header(Option<[u8; HEADER_BYTES]>),
}

impl Stamps {
    pub(crate) fn read(folders: &[PathBuf], kind: StampKind) -> Self {
        let mut newest = None;
        let folders = folders.iter().map(|folder| read_folder(folder, kind, &mut newest)).collect();
        Self { folders, newest }
    }

    /// Whether a file was modified so recently that another modification could get the same time, because file times
    /// are coarse.
    pub(crate) fn may_miss_changes(&self) -> bool {
        let age = |newest: SystemTime| SystemTime::now().duration_since(newest).unwrap_or_default();
        self.newest.is_some_and(|newest| age(newest) < Duration::from_millis(50))
    }
}

fn read_folder(folder: &Path, kind: StampKind, newest: &mut Option<SystemTime>) -> Vec<Stamp> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut stamps: Vec<_> = entries
        .flatten()
        .take(MAX_FILES)
        .filter_map(|entry| {
            // This does not follow symbolic links.
            let metadata = entry.metadata().ok()?;
            let state = match kind {
                StampKind::Times => {
                    *newest = (*newest).max(metadata.modified().ok());
                    FileState::Changed(metadata.ctime(), metadata.ctime_nsec())
                }
                StampKind::MmvHeader => {
                    FileState::Header(metadata.is_file().then(|| read_header(&entry.path())).flatten())
                }
            };
            Some(Stamp {
                name: entry.file_name(),
                device: metadata.dev(),
                inode: metadata.ino(),
                bytes: metadata.len(),
                state,
            })
        })
        .collect();
    stamps.sort_unstable();
    stamps
}

/// The first bytes of a file, padded with zeros; `None` if it cannot be read. The padding hides no change, because a
/// [`Stamp`] also has the file's size.
fn read_header(path: &Path) -> Option<[u8; HEADER_BYTES]> {
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
    fn added_removed_and_changed_files_change_the_stamps() {
        for kind in [StampKind::Times, StampKind::MmvHeader] {
            let folder = tempfile::tempdir().expect("a folder");
            let folders = [folder.path().to_owned()];
            let stamps = || Stamps::read(&folders, kind);
            let empty = stamps();
            assert_eq!(empty, stamps());
            let file = folder.path().join("a");
            std::fs::write(&file, "one").expect("a file");
            let one = stamps();
            assert_ne!(one, empty);
            assert_eq!(one.may_miss_changes(), kind == StampKind::Times);
            std::fs::write(&file, "longer").expect("a file");
            assert_ne!(stamps(), one);
            std::fs::remove_file(&file).expect("the file is deleted");
            assert_eq!(stamps(), empty);
            let missing = |folder: &str| Stamps::read(&[folder.into()], kind);
            assert_eq!(missing("/no/such/folder"), missing("/none"));
        }
    }

    #[test]
    fn values_of_an_mmv_file_do_not_change_its_stamp() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = [folder.path().to_owned()];
        let stamps = || Stamps::read(&folders, StampKind::MmvHeader);
        let path = folder.path().join("shop");
        let file = File::create(&path).expect("a file");
        let begin = stamps();
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(b"MMV\0\x02\0\0\0");
        let write = |bytes: &[u8], offset| file.write_all_at(bytes, offset).expect("written");
        // A writer sets the first generation before it writes the file, and the second afterwards.
        header[8..16].copy_from_slice(&7_u64.to_ne_bytes());
        write(&header, 0);
        write(&[0; 100], HEADER_BYTES as u64);
        let torn = stamps();
        header[16..24].copy_from_slice(&7_u64.to_ne_bytes());
        write(&header, 0);
        let complete = stamps();
        assert!(begin != torn && torn != complete);
        let times = Stamps::read(&folders, StampKind::Times);
        // A value is written: the header stays the same, but the kernel's write-back changes the times.
        write(&[1; 8], 100);
        file.set_modified(SystemTime::UNIX_EPOCH).expect("set");
        assert_eq!(stamps(), complete);
        assert_ne!(Stamps::read(&folders, StampKind::Times), times);
        // The same file is rewritten with the same size.
        header[8..24].copy_from_slice(&[8; 16]);
        write(&header, 0);
        let rewritten = stamps();
        assert_ne!(rewritten, complete);
        // The file is replaced by another one with the same bytes.
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).expect("copied");
        std::fs::rename(&copy, &path).expect("renamed");
        assert_ne!(stamps(), rewritten);
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
        assert_eq!(read_header(&file), Some(bytes));
        assert_eq!((read_header(&link), read_header(folder.path())), (None, None));
    }
}
