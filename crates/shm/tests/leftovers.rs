//! Files that remain from writers that were killed while they started, and files that must not be mistaken for them.

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
    opened_folder: Folder,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let opened_folder = Folder::open(folder.path()).expect("the folder");
        Self { folder, opened_folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).expect("a file");
        self.path(name)
    }

    fn entry_count(&self) -> usize {
        all_entries(self.folder.path()).len()
    }
}

/// Sets a modification time that is longer ago than any writer takes to start.
fn make_old(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(61);
    File::open(path).expect("the file").set_modified(long_ago).expect("the file is ours");
}

/// The first two words of a header.
fn header_start(version: u64) -> Vec<u8> {
    [&b"TACHOSET"[..], &version.to_le_bytes()].concat()
}

/// The bytes of a complete file with this layout version.
fn complete_file(version: u64) -> Vec<u8> {
    let fixture = Fixture::new();
    let set = publish(fixture.folder.path(), InstanceKind::Multiple);
    let mut bytes = std::fs::read(set.path().expect("a file")).expect("its bytes");
    bytes[..16].copy_from_slice(&header_start(version));
    bytes
}

#[test]
fn the_lock_shows_whether_the_writer_of_an_unfinished_file_is_alive() {
    let fixture = Fixture::new();
    let options = options(fixture.folder.path());
    let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
    let path = all_entries(fixture.folder.path()).remove(0);
    make_old(&path);
    assert!(fixture.opened_folder.remove_unfinished(), "the file may be abandoned later");
    assert!(path.exists(), "its writer is alive, however long ago it started");
    let bytes = std::fs::read(&path).expect("its bytes");
    assert_eq!(bytes[..16], header_start(2), "the header shows that the file is locked");
    set.go_live().expect("rename file");
    drop(set);

    // Copies without a lock: one complete, one of only the first bytes.
    fixture.write(&unfinished(1), &bytes);
    fixture.write(&unfinished(2), &header_start(2));
    fixture.write(&name(1).replace(".tacho", ".sock"), b"");
    assert!(!fixture.opened_folder.remove_unfinished());
    assert_eq!(fixture.entry_count(), 0, "both are removed immediately, with the socket");
}

#[test]
fn an_empty_file_is_not_removed_immediately() {
    let fixture = Fixture::new();
    let path = fixture.write(&unfinished(1), b"");
    assert!(fixture.opened_folder.remove_unfinished() && path.exists());
    make_old(&path);
    assert!(!fixture.opened_folder.remove_unfinished());
    assert!(!path.exists());
}

#[test]
fn a_socket_without_a_file_is_not_removed_immediately() {
    let fixture = Fixture::new();
    let options = options(fixture.folder.path());
    let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
    let socket = set.socket_path().expect("a path");
    std::fs::write(&socket, "").expect("a file in the socket's place");
    make_old(&socket);
    fixture.opened_folder.remove_unfinished();
    assert!(socket.exists(), "its file is not ready yet");
    let alone = fixture.write(&name(7).replace(".tacho", ".sock"), b"");
    assert!(fixture.opened_folder.remove_unfinished() && alone.exists());
    make_old(&alone);
    fixture.opened_folder.remove_unfinished();
    assert!(!alone.exists() && socket.exists());
}

#[test]
fn files_of_another_version_are_kept() {
    let fixture = Fixture::new();
    for version in [0, 1, 3, u64::MAX] {
        let (ready, unready) = (name(version), unfinished(version));
        let paths =
            [fixture.write(&ready, &complete_file(version)), fixture.write(&unready, &header_start(version))];
        paths.iter().for_each(|path| make_old(path));
        let problem =
            SetReader::open(&fixture.opened_folder, &ready).expect_err("another version").to_string();
        let expected = format!("at byte 8: found version {version} of the layout, expected version 2");
        assert_eq!(problem, expected);
        assert!(!fixture.opened_folder.remove_if_abandoned(&ready));
        assert!(!fixture.opened_folder.remove_unfinished(), "only its own version can remove it");
        assert!(paths.iter().all(|path| path.exists()), "version {version}");
    }
    let ours = fixture.write(&name(9), &complete_file(2));
    assert!(fixture.opened_folder.remove_if_abandoned(&name(9)) && !ours.exists());
}

#[test]
fn a_file_whose_version_changes_while_it_is_open_is_kept() {
    let fixture = Fixture::new();
    let path = fixture.write(&name(1), &complete_file(2));
    let reader = SetReader::open(&fixture.opened_folder, &name(1)).expect("a reader");
    assert!(!reader.is_alive());
    let file = OpenOptions::new().write(true).open(&path).expect("the file");
    file.write_all_at(&header_start(3), 0).expect("write the version");
    assert!(!fixture.opened_folder.remove_if_abandoned(&name(1)) && path.exists());
}

#[test]
fn files_with_other_names_are_kept() {
    let fixture = Fixture::new();
    for other in [".notes.tacho.new", ".new", "x.sock", "x.sock-new", "notes.txt"] {
        make_old(&fixture.write(other, &header_start(2)));
    }
    std::os::unix::fs::symlink(fixture.path("notes.txt"), fixture.path(&unfinished(1))).expect("a link");
    assert!(!fixture.opened_folder.remove_unfinished());
    assert_eq!(fixture.entry_count(), 6);
}
