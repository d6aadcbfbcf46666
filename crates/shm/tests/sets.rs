//! Readers see the values that were published.

mod common;

use std::sync::atomic::Ordering;

use common::*;
use tachograph_shm::cell::{Pair, set_ratio};
use tachograph_shm::folder::Folder;
use tachograph_shm::{
    InstanceKind, OpenError, Readers, Reading, SetFile, SetReader, Slot, WriteError, stripe,
};

fn add(slot: &Slot, counter: usize, value: u64) {
    slot.line(counter).expect("a cell")[0].fetch_add(value, Ordering::Relaxed);
}

#[test]
fn a_reader_sees_every_kind_of_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let slot = set.create_instance("till 1", 7).expect("an instance");
    add(&slot, PLAIN, 5);
    let timer = slot.line(TIMER).expect("a cell");
    Pair::<16, 48>::new(&timer[..]).add(1_234);
    Pair::<16, 48>::new(&timer[..]).add(66);
    let lines = slot.lines(STRIPED).expect("a cell");
    assert_eq!(lines.len(), 8);
    lines.iter().for_each(|line| line[0].store(10, Ordering::Relaxed));
    set_ratio(&slot.line(RATIO).expect("a cell")[0], 3, 4);
    assert!(slot.line(BASE).is_none() && slot.lines(RATIO_BASE).is_none() && slot.lines(99).is_none());

    let mut reader = open(folder.path()).expect("a reader");
    assert_eq!(**reader.description(), description(InstanceKind::Multiple));
    assert_eq!(reader.process(), u64::from(std::process::id()));
    assert!(reader.is_alive() && reader.unique() == set.unique() && reader.started() > 0);
    let seen = read_instances(&mut reader);
    assert_eq!((seen.len(), seen[0].name.as_str(), seen[0].id), (1, "till 1", 7));
    assert_eq!(seen[0].value(PLAIN), 5);
    assert_eq!(seen[0].values[TIMER], Some(Reading { value: 13, base: Some(2) }), "in 100 ns");
    assert_eq!(seen[0].values[BASE], None);
    assert_eq!(seen[0].value(STRIPED), 80);
    assert_eq!(seen[0].values[RATIO], Some(Reading { value: 3, base: Some(4) }));
    assert_eq!(seen[0].values[REFERENCE], None, "its value is not set");
    let reference = slot.line(REFERENCE).expect("a cell");
    reference[0].store(9, Ordering::Relaxed);
    reference[1].store(1, Ordering::Release);
    assert_eq!(read_instances(&mut reader)[0].value(REFERENCE), 9);
}

#[test]
fn instances_are_added_and_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let mut reader = open(folder.path()).expect("a reader");
    let first = set.create_instance("a", 0).expect("an instance");
    let changes = reader.changes();
    assert!(matches!(set.create_instance("a", 0), Err(WriteError::InstanceExists(..))));
    let other_id = set.create_instance("a", 1).expect("another id is another instance");
    assert_ne!(reader.changes(), changes);
    add(&first, PLAIN, 4);
    let cell = first.line(PLAIN).expect("a cell");
    drop(first);
    assert_eq!(read_instances(&mut reader).len(), 2, "a slot is in use while one of its cells is");
    drop(cell);
    let seen = read_instances(&mut reader);
    assert_eq!((seen.len(), seen[0].id), (1, 1));

    let again = set.create_instance("a", 0).expect("the name is free");
    assert!(again.serial() > other_id.serial());
    let seen = read_instances(&mut reader);
    assert_eq!(seen[0].serial, again.serial(), "the slot is reused");
    assert_eq!(seen[0].value(PLAIN), 0, "and starts at 0");
    let late = again.line(PLAIN).expect("a cell");
    again.end();
    assert!(again.has_ended());
    late[0].fetch_add(1, Ordering::Relaxed);
    assert_eq!(read_instances(&mut reader).len(), 1);
    assert_ne!(set.create_instance("b", 0).expect("an instance").serial(), again.serial());
}

#[test]
fn names_of_any_length_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let lengths = [1, 31, 32, 33, 500, 600, 1022, 1023];
    let names = lengths.map(|length| "ä".repeat(length));
    let slots = names.each_ref().map(|name| set.create_instance(name, 3).expect("an instance"));
    let mut reader = open(folder.path()).expect("a reader");
    assert_eq!(read_instances(&mut reader).into_iter().map(|seen| seen.name).collect::<Vec<_>>(), names);
    drop(slots);
    for name in ["", &"x".repeat(1024), "with\0NUL"] {
        assert!(matches!(set.create_instance(name, 0), Err(WriteError::Name(_))), "{name:?}");
    }
}

#[test]
fn a_reader_follows_a_growing_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let mut reader = open(folder.path()).expect("a reader");
    let mut slots = Vec::new();
    for count in 1..=2000_u64 {
        let slot = set.create_instance(&format!("instance {count}"), 0).expect("an instance");
        add(&slot, PLAIN, count);
        slots.push(slot);
        if count % 97 == 0 {
            let seen = read_instances(&mut reader);
            assert_eq!(seen.len() as u64, count);
            assert_eq!(seen.iter().map(|seen| seen.value(PLAIN)).sum::<u64>(), count * (count + 1) / 2);
        }
    }
}

#[test]
fn the_capacity_of_a_set_limits_its_instances() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = tachograph_shm::Options { capacity: 3, ..options(folder.path()) };
    let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
    let slots: Vec<Slot> = (0..3).map(|id| set.create_instance("x", id).expect("an instance")).collect();
    assert!(matches!(set.create_instance("x", 3), Err(WriteError::Full(3))));
    drop(slots);
    set.create_instance("x", 3).expect("there is free space again");

    let single = SetFile::create(description(InstanceKind::Single), &options).expect("a set");
    let _only = single.create_instance("", 0).expect("its instance");
    assert!(matches!(single.create_instance("other", 1), Err(WriteError::SecondInstance)));
}

#[test]
fn a_history_keeps_values_of_ended_instances() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::SingleAggregateHistory);
    let mut reader = open(folder.path()).expect("a reader");
    assert_eq!(read_instances(&mut reader)[0].history, Some(0));
    for value in [5, 6] {
        let slot = set.create_instance("visit", 0).expect("an instance");
        add(&slot, PLAIN, value);
        Pair::<16, 48>::new(&slot.line(TIMER).expect("a cell")[..]).add(value * 100);
        slot.lines(STRIPED).expect("a cell").iter().for_each(|line| line[0].store(1, Ordering::Relaxed));
        set_ratio(&slot.line(RATIO).expect("a cell")[0], 1, u32::MAX);
        assert_eq!(read_instances(&mut reader).len(), 2);
        slot.end();
    }
    let seen = read_instances(&mut reader);
    assert_eq!((seen.len(), seen[0].history), (1, Some(2)));
    assert_eq!(seen[0].value(PLAIN), 11);
    assert_eq!(seen[0].values[TIMER], Some(Reading { value: 11, base: Some(2) }));
    assert_eq!(seen[0].value(STRIPED), 16);
    assert_eq!(seen[0].values[RATIO], Some(Reading { value: 2, base: Some(u64::from(u32::MAX)) }));
}

#[test]
fn a_stopped_set_has_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let slot = set.create_instance("a", 0).expect("an instance");
    let reader = open(folder.path()).expect("a reader");
    let other = set.clone();
    drop(set);
    assert!(reader.is_alive());
    drop(other);
    assert!(!reader.is_alive());
    assert!(all_entries(folder.path()).is_empty());
    add(&slot, PLAIN, 1);
    slot.end();

    let unfinished =
        SetFile::create(description(InstanceKind::Multiple), &options(folder.path())).expect("a set");
    assert!(files(folder.path()).is_empty(), "the set is not visible before it is live");
    drop(unfinished);
    assert!(all_entries(folder.path()).is_empty());
}

#[test]
fn files_of_dead_writers_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let name = files(folder.path()).remove(0);
    let opened_folder = Folder::open(folder.path()).expect("the folder");
    assert!(!opened_folder.remove_if_abandoned(&name), "its writer is alive");
    let abandoned = format!("{}.tacho", ["0".repeat(32), "1".into(), "2".repeat(16)].join("-"));
    for name in [abandoned.as_str(), "notes.tacho"] {
        std::fs::copy(set.path().expect("a file"), folder.path().join(name)).expect("a copy");
    }
    std::fs::write(folder.path().join(abandoned.replace(".tacho", ".sock")), "")
        .expect("in the socket's place");
    let reader = SetReader::open(&opened_folder, &abandoned).expect("a reader");
    assert!(!reader.is_alive(), "the file is not locked");
    assert!(opened_folder.remove_if_abandoned(&abandoned));
    assert!(!opened_folder.remove_if_abandoned(&abandoned));
    assert!(!opened_folder.remove_if_abandoned("notes.tacho"), "writers do not use such a name");
    std::fs::remove_file(folder.path().join("notes.tacho")).expect("remove file");
    assert_eq!(all_entries(folder.path()).len(), 1);
    drop(set);
}

#[test]
fn files_have_the_requested_mode() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().expect("a folder");
    let mode = |readers| {
        let options = tachograph_shm::Options { readers, ..options(folder.path()) };
        let set = SetFile::create(description(InstanceKind::Multiple), &options).expect("a set");
        set.go_live().expect("rename file");
        let metadata = std::fs::metadata(set.path().expect("a file")).expect("its metadata");
        (metadata.mode() & 0o7777, metadata.gid())
    };
    let own = std::fs::metadata(folder.path()).expect("its metadata").gid();
    assert_eq!(mode(Readers::Owner).0, 0o600);
    assert_eq!(mode(Readers::Group(own)), (0o640, own));
}

#[test]
fn planted_files_are_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let path = set.path().expect("a file");
    let opened_folder = Folder::open(folder.path()).expect("the folder");
    let open = |name: &str| SetReader::open(&opened_folder, name);
    std::os::unix::fs::symlink(&path, folder.path().join("link.tacho")).expect("a link");
    assert!(matches!(open("link.tacho"), Err(OpenError::Unsuitable(_))));
    std::fs::create_dir(folder.path().join("folder.tacho")).expect("a folder");
    assert!(matches!(open("folder.tacho"), Err(OpenError::Unsuitable(_))));
    let pipe = folder.path().join("pipe.tacho");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    assert!(matches!(open("pipe.tacho"), Err(OpenError::Unsuitable(_))));
    std::fs::hard_link(&path, folder.path().join("second.tacho")).expect("a second hard link");
    assert!(matches!(open("second.tacho"), Err(OpenError::Unsuitable(_))));
    assert!(matches!(open("../x.tacho"), Err(OpenError::Io(_))));
    assert!(matches!(open("none.tacho"), Err(OpenError::Io(_))));
    std::fs::write(folder.path().join("empty.tacho"), "").expect("an empty file");
    assert!(matches!(open("empty.tacho"), Err(OpenError::Problem(_))));

    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).expect("a link");
    assert!(Folder::open(&link).is_err());
    assert!(SetFile::create(description(InstanceKind::Multiple), &options(&link)).is_err());
}

#[test]
fn unsuitable_folders_are_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("new");
    let create = || SetFile::create(description(InstanceKind::Multiple), &options(&folder));
    drop(create().expect("the folder is created"));
    let mode = std::fs::metadata(&folder).expect("the folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("a mode");
    assert!(matches!(create(), Err(WriteError::Folder(..))));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o1777)).expect("a mode");
    create().expect("others cannot replace files in the folder");
    std::fs::write(parent.path().join("file"), "").expect("a file");
    let options = options(&parent.path().join("file"));
    assert!(matches!(
        SetFile::create(description(InstanceKind::Multiple), &options),
        Err(WriteError::Io(..))
    ));
}

#[test]
fn an_unpublished_set_has_cells_but_no_file() {
    let set = SetFile::unpublished(description(InstanceKind::Multiple), 0).expect("a set");
    set.go_live().expect("nothing to do");
    let slot = set.create_instance("a", 0).expect("an instance");
    add(&slot, PLAIN, 1);
    assert!(set.path().is_none());
    assert!(stripe::index() < 64);
}

#[test]
fn creating_an_instance_fails_when_the_disk_is_full() {
    // A limit applies to the whole process, so it is set in a child.
    if std::env::var_os("TACHO_TEST_LIMIT").is_none() {
        // Its output goes through pipes: writing to a file that exceeds the limit would fail.
        let child = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["creating_an_instance_fails_when_the_disk_is_full", "--exact"])
            .env("TACHO_TEST_LIMIT", "1")
            .output()
            .expect("a child");
        let has_run = String::from_utf8_lossy(&child.stdout).contains("1 passed");
        assert!(child.status.success() && has_run, "{child:?}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::Multiple);
    let limit = rustix::process::Rlimit { current: Some(100 << 10), maximum: Some(100 << 10) };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).expect("a limit");
    let mut slots = Vec::new();
    let error = loop {
        match set.create_instance("x", slots.len() as u32) {
            Ok(slot) => slots.push(slot),
            Err(error) => break error,
        }
        assert!(slots.len() < 1000, "the limit has no effect");
    };
    assert!(matches!(error, WriteError::Io("reserve space in the file", ..)), "{error}");
    assert!(error.to_string().ends_with("cannot reserve space in the file: File too large"), "{error}");
    assert!(!slots.is_empty());
    add(&slots[0], PLAIN, 1);
    assert_eq!(read_instances(&mut open(folder.path()).expect("a reader")).len(), slots.len());
}
