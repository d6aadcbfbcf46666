//! Whether something changed in a folder.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags, open};

/// Most files of a folder that are looked at.
const MAX_FILES: usize = 4096;

/// How many bytes of an MMV file say which it is (docs/mmv.md): all before its sections, the generations among them.
const HEADER_BYTES: usize = 40;

/// What says that a file was written since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The time of its last change.
    Time,
    /// The header of an MMV file: its writer changes the generation when it describes something else. Its times change also
    /// with every value, when the system writes the mapped file back.
    Header,
}

/// The files of some folders with what tells whether they are the same.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamps {
    folders: Vec<Vec<Stamp>>,
    newest: Option<SystemTime>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    name: OsString,
    device: u64,
    inode: u64,
    bytes: u64,
    mark: Mark,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Changed(i64, i64),
    /// `None` where it cannot be read.
    Header(Option<[u8; HEADER_BYTES]>),
}

impl Stamps {
    pub(crate) fn of(folders: &[PathBuf], sign: Sign) -> Self {
        let mut newest = None;
        let folders = folders.iter().map(|folder| stamps_of(folder, sign, &mut newest)).collect();
        Self { folders, newest }
    }

    /// Whether the last change was just now, so that another one might not show: the clock of files has coarse steps.
    pub(crate) fn is_fresh(&self) -> bool {
        let age = |newest: SystemTime| SystemTime::now().duration_since(newest).unwrap_or_default();
        self.newest.is_some_and(|newest| age(newest) < Duration::from_millis(50))
    }
}

fn stamps_of(folder: &Path, sign: Sign, newest: &mut Option<SystemTime>) -> Vec<Stamp> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut stamps: Vec<_> = entries
        .flatten()
        .take(MAX_FILES)
        .filter_map(|entry| {
            // Of a link, not of what it leads to.
            let metadata = entry.metadata().ok()?;
            let mark = match sign {
                Sign::Time => {
                    *newest = (*newest).max(metadata.modified().ok());
                    Mark::Changed(metadata.ctime(), metadata.ctime_nsec())
                }
                Sign::Header => Mark::Header(metadata.is_file().then(|| header_of(&entry.path())).flatten()),
            };
            Some(Stamp {
                name: entry.file_name(),
                device: metadata.dev(),
                inode: metadata.ino(),
                bytes: metadata.len(),
                mark,
            })
        })
        .collect();
    stamps.sort_unstable();
    stamps
}

/// The first bytes of a file; zeros behind the last one of a shorter file, which is told by its size.
fn header_of(path: &Path) -> Option<[u8; HEADER_BYTES]> {
    // Whatever has come in the file's place: a pipe is not waited for, and no link is followed.
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
    fn what_comes_goes_or_changes_shows() {
        for sign in [Sign::Time, Sign::Header] {
            let folder = tempfile::tempdir().expect("a folder");
            let folders = [folder.path().to_owned()];
            let look = || Stamps::of(&folders, sign);
            let empty = look();
            assert_eq!(empty, look());
            let file = folder.path().join("a");
            std::fs::write(&file, "one").expect("a file");
            let one = look();
            assert_ne!(one, empty);
            assert_eq!(one.is_fresh(), sign == Sign::Time);
            std::fs::write(&file, "longer").expect("a file");
            assert_ne!(look(), one);
            std::fs::remove_file(&file).expect("it is gone");
            assert_eq!(look(), empty);
            let nowhere = |folder: &str| Stamps::of(&[folder.into()], sign);
            assert_eq!(nowhere("/no/such/folder"), nowhere("/none"));
        }
    }

    #[test]
    fn values_of_an_mmv_file_are_no_change_of_what_it_describes() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = [folder.path().to_owned()];
        let look = || Stamps::of(&folders, Sign::Header);
        let path = folder.path().join("shop");
        let file = File::create(&path).expect("a file");
        let begin = look();
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(b"MMV\0\x02\0\0\0");
        let write = |bytes: &[u8], offset| file.write_all_at(bytes, offset).expect("written");
        // The first generation alone, as while the rest is being written; then the second.
        header[8..16].copy_from_slice(&7_u64.to_ne_bytes());
        write(&header, 0);
        write(&[0; 100], HEADER_BYTES as u64);
        let torn = look();
        header[16..24].copy_from_slice(&7_u64.to_ne_bytes());
        write(&header, 0);
        let whole = look();
        assert!(begin != torn && torn != whole);
        let times = Stamps::of(&folders, Sign::Time);
        // A value. Setting a time stands for the system's writing back.
        write(&[1; 8], 100);
        file.set_modified(SystemTime::UNIX_EPOCH).expect("set");
        assert_eq!(look(), whole);
        assert_ne!(Stamps::of(&folders, Sign::Time), times);
        // The same file written anew, of the same size.
        header[8..24].copy_from_slice(&[8; 16]);
        write(&header, 0);
        let anew = look();
        assert_ne!(anew, whole);
        // Another file of the same bytes in its place.
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).expect("copied");
        std::fs::rename(&copy, &path).expect("renamed");
        assert_ne!(look(), anew);
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "MMV").expect("a file");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let mut bytes = [0; HEADER_BYTES];
        bytes[..3].copy_from_slice(b"MMV");
        assert_eq!(header_of(&file), Some(bytes));
        assert_eq!((header_of(&link), header_of(folder.path())), (None, None));
    }
}
