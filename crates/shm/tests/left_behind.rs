//! What writers leave behind that die on the way, and what must not be taken for that.

mod common;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use common::*;
use tachograph_shm::folder::Folder;
use tachograph_shm::{InstanceKind, SetFile, SetReader};

/// The name of a published file, by a random number.
fn name(unique: u64) -> String {
    format!("{:032x}-1-{unique:016x}.tacho", SET.to_u128())
}

fn unready(unique: u64) -> String {
    format!(".{}.new", name(unique))
}

struct Place {
    folder: tempfile::TempDir,
    here: Folder,
}

impl Place {
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

/// Makes it as if the file had not changed for longer than a start takes.
fn make_old(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(61);
    File::open(path).expect("it is there").set_modified(long_ago).expect("it is ours");
}

/// How a header begins.
fn head(version: u64) -> Vec<u8> {
    [&b"TACHOSET"[..], &version.to_le_bytes()].concat()
}

/// The bytes of a whole file that says it is of this version.
fn whole(version: u64) -> Vec<u8> {
    let place = Place::new();
    let set = publish(place.folder.path(), InstanceKind::Multiple);
    let mut bytes = std::fs::read(set.path().expect("a file")).expect("its bytes");
    bytes[..16].copy_from_slice(&head(version));
    bytes
}

#[test]
fn whether_the_writer_of_an_unready_file_lives_is_told_by_its_lock() {
    let place = Place::new();
    let options = options(place.folder.path());
    let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
    let path = everything(place.folder.path()).remove(0);
    make_old(&path);
    assert!(place.here.remove_unready(), "it may be left behind later");
    assert!(path.exists(), "its writer lives, however long it takes");
    let bytes = std::fs::read(&path).expect("its bytes");
    assert_eq!(bytes[..16], head(2), "that it has the lock, is told by how it begins");
    set.go_live().expect("it has its file");
    drop(set);

    // The same file without a lock, and one that got no further than its first bytes.
    place.write(&unready(1), &bytes);
    place.write(&unready(2), &head(2));
    place.write(&name(1).replace(".tacho", ".sock"), b"");
    assert!(!place.here.remove_unready());
    assert_eq!(place.left(), 0, "both are gone at once, with the socket");
}

#[test]
fn before_the_lock_there_is_a_moment() {
    let place = Place::new();
    let path = place.write(&unready(1), b"");
    assert!(place.here.remove_unready() && path.exists());
    make_old(&path);
    assert!(!place.here.remove_unready());
    assert!(!path.exists());
}

#[test]
fn a_socket_waits_for_its_file() {
    let place = Place::new();
    let options = options(place.folder.path());
    let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
    let socket = set.socket_path().expect("a path");
    std::fs::write(&socket, "").expect("in the socket's place");
    make_old(&socket);
    place.here.remove_unready();
    assert!(socket.exists(), "its file is not ready yet");
    let alone = place.write(&name(7).replace(".tacho", ".sock"), b"");
    assert!(place.here.remove_unready() && alone.exists());
    make_old(&alone);
    place.here.remove_unready();
    assert!(!alone.exists() && socket.exists());
}

#[test]
fn another_version_is_left_alone() {
    let place = Place::new();
    for version in [0, 1, 3, u64::MAX] {
        let (ready, unready) = (name(version), unready(version));
        let paths = [place.write(&ready, &whole(version)), place.write(&unready, &head(version))];
        paths.iter().for_each(|path| make_old(path));
        let problem = SetReader::open(&place.here, &ready).expect_err("it cannot be read").to_string();
        let expected = format!("at byte 8: found version {version} of the layout, expected version 2");
        assert_eq!(problem, expected);
        assert!(!place.here.remove_if_left(&ready));
        assert!(!place.here.remove_unready(), "it will never be ours to remove");
        assert!(paths.iter().all(|path| path.exists()), "version {version}");
    }
    let ours = place.write(&name(9), &whole(2));
    assert!(place.here.remove_if_left(&name(9)) && !ours.exists());
}

/// A file that becomes one of another version while it is open for reading is not removed either.
#[test]
fn the_version_is_that_of_the_moment() {
    let place = Place::new();
    let path = place.write(&name(1), &whole(2));
    let reader = SetReader::open(&place.here, &name(1)).expect("a reader");
    assert!(!reader.is_alive());
    let file = OpenOptions::new().write(true).open(&path).expect("the file");
    file.write_all_at(&head(3), 0).expect("it is written");
    assert!(!place.here.remove_if_left(&name(1)) && path.exists());
}

#[test]
fn what_no_writer_named_is_left_alone() {
    let place = Place::new();
    for other in [".notes.tacho.new", ".new", "x.sock", "x.sock-new", "notes.txt"] {
        make_old(&place.write(other, &head(2)));
    }
    std::os::unix::fs::symlink(place.path("notes.txt"), place.path(&unready(1))).expect("a link");
    assert!(!place.here.remove_unready());
    assert_eq!(place.left(), 6);
}
