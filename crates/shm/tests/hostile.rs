//! Invalid files, and files that change while they are read.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::*;
use tachograph_shm::control::{Kind, Request};
use tachograph_shm::folder::Folder;
use tachograph_shm::{InstanceKind, OpenError, SetReader};

/// The bytes of a small set that has a history and an instance with a long name.
fn sample() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let set = publish(folder.path(), InstanceKind::SingleAggregateHistory);
    let _slots = ["short".to_owned(), "long ".repeat(200)]
        .map(|name| set.create_instance(&name, 5).expect("an instance"));
    let mut bytes = std::fs::read(set.path().expect("a file")).expect("its bytes");
    // Without the space reserved for more instances.
    bytes.truncate(3 * 4096);
    bytes
}

struct Fixture {
    folder: tempfile::TempDir,
    opened_folder: Folder,
}

impl Fixture {
    /// The folder is in memory, like the folders of sets, because thousands of files are written.
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
        let opened_folder = Folder::open(folder.path()).expect("the folder");
        Self { folder, opened_folder }
    }

    /// Reads a file, valid or not; returns the number of instances.
    fn read(&self, bytes: &[u8]) -> Result<usize, String> {
        std::fs::write(self.folder.path().join("x.tacho"), bytes).expect("a file");
        let mut reader = SetReader::open(&self.opened_folder, "x.tacho").map_err(|error| match error {
            OpenError::Problem(problem) => problem.to_string(),
            other => panic!("{other}"),
        })?;
        let (mut seen, mut values, mut name) = (0, 0, String::new());
        let counters = reader.description().counters.len();
        let outcome = reader.read(|instance| {
            instance.read_name(&mut name);
            values += (0..counters).filter_map(|counter| instance.value(counter)).count();
            let _ = (instance.history(), instance.id(), instance.created(), instance.is_consistent());
            seen += 1;
        });
        assert!(values <= seen * counters);
        outcome.map(|_| seen).map_err(|problem| problem.to_string())
    }
}

#[test]
fn no_truncation_causes_a_panic_and_a_truncated_description_is_a_problem() {
    let (fixture, bytes) = (Fixture::new(), sample());
    assert_eq!(fixture.read(&bytes), Ok(3));
    let used = bytes.iter().rposition(|byte| *byte != 0).expect("a byte") + 1;
    for length in 0..used.next_multiple_of(8) {
        // Unused slots at the end may be missing.
        let _ = fixture.read(&bytes[..length]);
    }
    for length in (0..4096).step_by(7) {
        assert!(fixture.read(&bytes[..length]).is_err(), "{length} bytes");
    }
}

/// The access during which a file is truncated fails, and so does each later read, even if the first access after the truncation
/// was `is_alive` or `changes`, which read no instances.
#[test]
fn a_file_truncated_during_the_first_read_is_not_an_empty_set() {
    let first_reads: [fn(&mut SetReader); 3] = [
        |_| (),
        |reader| assert!(!reader.is_alive()),
        |reader| {
            reader.changes();
        },
    ];
    for first_read in first_reads {
        let (fixture, bytes) = (Fixture::new(), sample());
        let path = fixture.folder.path().join("x.tacho");
        std::fs::write(&path, bytes).expect("a file");
        let mut reader = SetReader::open(&fixture.opened_folder, "x.tacho").expect("a reader");
        std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .expect("the file")
            .set_len(0)
            .expect("truncate file");
        first_read(&mut reader);
        for _ in 0..2 {
            let problem = reader
                .read(|_| panic!("no instance exists"))
                .expect_err("the file was truncated")
                .to_string();
            assert!(problem.contains("a file that was truncated while it was read"), "{problem}");
        }
        assert!(!reader.is_alive());
    }
}

#[test]
fn no_flipped_bit_causes_a_panic() {
    let (fixture, mut bytes) = (Fixture::new(), sample());
    let used = bytes.iter().rposition(|byte| *byte != 0).expect("a byte") + 1;
    let (mut rejected, mut attempts) = (0, 0);
    for at in 0..used.min(8192) {
        // Most zero bytes are padding, so testing one of eight is enough.
        if bytes[at] == 0 && at % 8 != 0 && at > 300 {
            continue;
        }
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            attempts += 1;
            rejected += usize::from(fixture.read(&bytes).is_err());
            bytes[at] ^= 1 << bit;
        }
    }
    // Most bits belong to strings and values, which can have any contents.
    assert!(rejected > 1000, "{rejected} of {attempts}");
}

/// The index of a word, its value, and a part of the problem's text.
const BROKEN: [(usize, u64, &str); 12] = [
    (0, 0, "expected TACHOSET"),
    (1, 1, "found version 1 of the layout, expected version 2"),
    (2, u64::MAX, "at most 16 MiB"),
    (2, 10_000, "expected slots at"),
    (3, 0, "expected slots at"),
    (4, 64, "expected slots of"),
    (5, 0, "slots"),
    (5, u64::MAX, "slots"),
    (17, u64::MAX, "at most"),
    (17, 60_000, "the end of the file"),
    (36, 0x64_0000_0007, "an instance type"),
    (37, 0x10_0000, "of 88 bytes each"),
];

#[test]
fn each_invalid_field_is_reported() {
    let fixture = Fixture::new();
    for (word, value, expected) in BROKEN {
        let mut bytes = sample();
        bytes[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
        let problem = fixture.read(&bytes).expect_err("a problem");
        assert!(problem.contains(expected), "word {word}: {problem}");
        assert!(problem.starts_with("at byte "), "{problem}");
    }
}

/// The offset of a field of a counter in the description.
fn counter_field(counter: usize, field: usize) -> usize {
    256 + 88 + counter * 88 + field
}

#[test]
fn each_invalid_field_of_a_counter_is_reported() {
    let fixture = Fixture::new();
    let cases: [(usize, u32, &str); 9] = [
        (counter_field(1, 0), 1, "unique"),
        (counter_field(0, 0), u32::MAX, "means all counters"),
        (counter_field(1, 24), 99, "another counter of the set"),
        (counter_field(1, 24), 2, "another counter of the set"),
        (counter_field(1, 24), u32::MAX, "a base counter"),
        (counter_field(0, 44), 5, "a kind of cell"),
        (counter_field(3, 48), 65, "at most 64"),
        (counter_field(0, 56), u32::MAX, "a string within"),
        (counter_field(0, 60), u32::MAX, "a string within"),
    ];
    for (at, value, expected) in cases {
        let mut bytes = sample();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let problem = fixture.read(&bytes).expect_err("a problem");
        assert!(problem.contains(expected), "byte {at}: {problem}");
    }
    // With overlapping strings, a small file could describe a large set.
    let mut bytes = sample();
    for counter in 0..7 {
        for text in [56, 64, 72] {
            let at = counter_field(counter, text);
            bytes[at..at + 4].copy_from_slice(&0_u32.to_le_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&40_u32.to_le_bytes());
        }
    }
    let problem = fixture.read(&bytes).expect_err("a problem");
    assert!(problem.contains("overlapping strings"), "{problem}");
}

/// While the owner truncates, extends and overwrites a file, each read succeeds or reports a problem.
#[test]
fn changing_a_live_file_never_causes_a_panic() {
    read_while_file_changes(2);
}

#[test]
fn long_changing_a_live_file_never_causes_a_panic() {
    if std::env::var_os("TACHO_LONG").is_some() {
        read_while_file_changes(30);
    }
}

fn read_while_file_changes(seconds: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = sample();
    let path = folder.path().join("x.tacho");
    std::fs::write(&path, &bytes).expect("a file");
    let stop = AtomicBool::new(false);
    let (reads, problems) = std::thread::scope(|threads| {
        threads.spawn(|| {
            use std::os::unix::fs::FileExt;
            let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the file");
            let mut state = 0x2545_F491_4F6C_DD1D_u64;
            while !stop.load(Ordering::Relaxed) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = state % bytes.len() as u64;
                let outcome = match state >> 60 {
                    0 => file.set_len(at),
                    1 => file.set_len(bytes.len() as u64 * 3),
                    2 | 3 => file.write_all_at(&bytes, 0),
                    _ => file.write_all_at(&state.to_le_bytes(), at & !7),
                };
                outcome.expect("the file can be changed");
            }
        });
        let opened_folder = Folder::open(folder.path()).expect("the folder");
        let (begun, mut reads, mut problems, mut values) = (Instant::now(), 0, 0, 0);
        while begun.elapsed() < Duration::from_secs(seconds) {
            let Ok(mut reader) = SetReader::open(&opened_folder, "x.tacho") else {
                problems += 1;
                continue;
            };
            for _ in 0..20 {
                let mut name = String::new();
                let outcome = reader.read(|instance| {
                    instance.read_name(&mut name);
                    values += (0..7).filter_map(|counter| instance.value(counter)).count();
                });
                let _ = reader.is_alive();
                if outcome.is_ok() { reads += 1 } else { problems += 1 }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(values > 0);
        (reads, problems)
    });
    assert!(reads > 0 && problems > 0, "{reads} reads, {problems} problems");
}

#[test]
fn requests_round_trip() {
    let mut request = Request::new(Kind::AddCounter, SET);
    request.counter_id = 7;
    request.instance_id = 8;
    request.instance = "Käse".into();
    request.machine = "WEB1".into();
    let mut bytes = Vec::new();
    request.encode(&mut bytes);
    assert_eq!(Request::decode(&bytes), Ok(Some((request.clone(), bytes.len()))));
    for length in 0..bytes.len() {
        assert_eq!(Request::decode(&bytes[..length]), Ok(None), "{length} bytes");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << bit;
            let _ = Request::decode(&broken);
        }
    }
    for (at, value) in [(0, 0_u32), (4, 47), (4, u32::MAX), (8, 4), (36, 1 << 20), (40, u32::MAX)] {
        let mut broken = bytes.clone();
        broken[at..at + 4].copy_from_slice(&value.to_le_bytes());
        assert!(Request::decode(&broken).is_err(), "{value} at {at}");
    }
    let long = Request { instance: "x".repeat(10_000), ..request };
    bytes.clear();
    long.encode(&mut bytes);
    assert!(matches!(Request::decode(&bytes), Ok(Some(_))));
}
