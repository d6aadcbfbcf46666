//! Leftovers of writers that died while they started, and files that must not be mistaken for them.

mod common;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use common::*;
use tachograph_shm::folder::Folder;
use tachograph_shm::{InstanceKind, SetFile, SetReader};

/// The name of a published file with this random number.
fn name(unique: u64) -> String {
    format!("{:032x}-1-{unique:016x}.tacho", SET.to_u128())
}

fn unfinished(unique: u64) -> String {
    format!(".{}.new", name(unique))
}

struct Fixture {
    folder: tempfile::TempDir,
    here: Folder,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let here = Folder::open(folder.path()).expect("the folder");
        Self { folder, here }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).expect("a file");
        self.path(name)
    }

    fn left(&self) -> usize {
        everything(self.folder.path()).len()
    }
}

/// Sets the time of the last change to longer ago than a start takes.
fn make_old(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(61);
    File::open(path).expect("it is there").set_modified(long_ago).expect("it is ours");
}

/// The first words of a header.
fn head(version: u64) -> Vec<u8> {
    [&b"TACHOSET"[..], &version.to_le_bytes()].concat()
}

/// The bytes of a complete file with this layout version.
fn whole(version: u64) -> Vec<u8> {
    let fixture = Fixture::new();
    let set = publish(fixture.folder.path(), InstanceKind::Multiple);
    let mut bytes = std::fs::read(set.path().expect("a file")).expect("its bytes");
    bytes[..16].copy_from_slice(&head(version));
    bytes
}

#[test]
fn the_lock_shows_whether_the_writer_of_an_unfinished_file_is_alive() {
    let fixture = Fixture::new();
    let options = options(fixture.folder.path());
    let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
    let path = everything(fixture.folder.path()).remove(0);
    make_old(&path);
    assert!(fixture.here.remove_unfinished(), "it may be abandoned later");
    assert!(path.exists(), "its writer lives, however long it takes");
    let bytes = std::fs::read(&path).expect("its bytes");
    assert_eq!(bytes[..16], head(2), "the header shows that the file is locked");
    set.go_live().expect("it has its file");
    drop(set);

    // The same file without a lock, and one with only its first bytes.
    fixture.write(&unfinished(1), &bytes);
    fixture.write(&unfinished(2), &head(2));
    fixture.write(&name(1).replace(".tacho", ".sock"), b"");
    assert!(!fixture.here.remove_unfinished());
    assert_eq!(fixture.left(), 0, "both are gone at once, with the socket");
}

#[test]
fn an_empty_file_is_not_removed_at_once() {
    let fixture = Fixture::new();
    let path = fixture.write(&unfinished(1), b"");
    assert!(fixture.here.remove_unfinished() && path.exists());
    make_old(&path);
    assert!(!fixture.here.remove_unfinished());
    assert!(!path.exists());
}

#[test]
fn a_socket_without_a_file_is_not_removed_at_once() {
    let fixture = Fixture::new();
    let options = options(fixture.folder.path());
    let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
    let socket = set.socket_path().expect("a path");
    std::fs::write(&socket, "").expect("instead of the socket");
    make_old(&socket);
    fixture.here.remove_unfinished();
    assert!(socket.exists(), "its file is not ready yet");
    let alone = fixture.write(&name(7).replace(".tacho", ".sock"), b"");
    assert!(fixture.here.remove_unfinished() && alone.exists());
    make_old(&alone);
    fixture.here.remove_unfinished();
    assert!(!alone.exists() && socket.exists());
}

#[test]
fn files_of_another_version_are_kept() {
    let fixture = Fixture::new();
    for version in [0, 1, 3, u64::MAX] {
        let (ready, unready) = (name(version), unfinished(version));
        let paths = [fixture.write(&ready, &whole(version)), fixture.write(&unready, &head(version))];
        paths.iter().for_each(|path| make_old(path));
        let problem = SetReader::open(&fixture.here, &ready).expect_err("it cannot be read").to_string();
        let expected = format!("at byte 8: found version {version} of the layout, expected version 2");
        assert_eq!(problem, expected);
        assert!(!fixture.here.remove_if_abandoned(&ready));
        assert!(!fixture.here.remove_unfinished(), "it will never be ours to remove");
        assert!(paths.iter().all(|path| path.exists()), "version {version}");
    }
    let ours = fixture.write(&name(9), &whole(2));
    assert!(fixture.here.remove_if_abandoned(&name(9)) && !ours.exists());
}

/// A file whose version changes while it is open for reading is kept.
#[test]
fn the_current_version_counts() {
    let fixture = Fixture::new();
    let path = fixture.write(&name(1), &whole(2));
    let reader = SetReader::open(&fixture.here, &name(1)).expect("a reader");
    assert!(!reader.is_alive());
    let file = OpenOptions::new().write(true).open(&path).expect("the file");
    file.write_all_at(&head(3), 0).expect("it is written");
    assert!(!fixture.here.remove_if_abandoned(&name(1)) && path.exists());
}

#[test]
fn files_with_other_names_are_kept() {
    let fixture = Fixture::new();
    for other in [".notes.tacho.new", ".new", "x.sock", "x.sock-new", "notes.txt"] {
        make_old(&fixture.write(other, &head(2)));
    }
    std::os::unix::fs::symlink(fixture.path("notes.txt"), fixture.path(&unfinished(1))).expect("a link");
    assert!(!fixture.here.remove_unfinished());
    assert_eq!(fixture.left(), 6);
}
