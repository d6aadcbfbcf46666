//! Files that change while they are read cause no panic, no endless loop and no unbounded use of memory.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tachograph_shm::{Description, InstanceKind};

use crate::fixtures::{Consumer, publish, published, registry, set, shop, with_timer};

/// A reproducible random generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A set with some instances, to be corrupted.
fn victim(folder: &Path, kind: InstanceKind) -> (tachograph_shm::SetFile, Vec<tachograph_shm::Slot>) {
    let file = publish(folder, with_timer(shop(kind)));
    let names = ["a", "b", "a long name that continues in another slot, where it is cut in the middle"];
    let slots = names.map(|name| file.create_instance(name, 1).expect("create instance"));
    (file, slots.into())
}

#[test]
fn a_truncated_file_does_not_affect_others() {
    let folder = tempfile::tempdir().expect("create folder");
    let (file, _slots) = victim(folder.path(), InstanceKind::Multiple);
    let good = publish(folder.path(), shop(InstanceKind::Multiple));
    let slot = good.create_instance("good", 0).expect("create instance");
    set(&slot, 0, 6);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect().len(), 4);
    let path = file.path().expect("a file");
    OpenOptions::new().write(true).open(path).expect("open").set_len(300).expect("truncate");
    for _ in 0..3 {
        let collected = consumer.collect();
        assert_eq!(collected, [("good".to_owned(), vec![6])]);
    }
    std::mem::forget(_slots);
    std::mem::forget(file);
}

#[test]
fn files_that_change_while_they_are_read_cause_no_panic() {
    for kind in [
        InstanceKind::Multiple,
        InstanceKind::Single,
        InstanceKind::MultipleAggregate,
        InstanceKind::SingleAggregateHistory,
    ] {
        mutate(kind, Duration::from_millis(1_500));
    }
}

/// One thread flips bits, writes numbers, truncates and extends the file; the other collects and reopens it.
fn mutate(kind: InstanceKind, duration: Duration) {
    let folder = tempfile::tempdir().expect("create folder");
    let kind_of_file = if kind == InstanceKind::Single { InstanceKind::Multiple } else { kind };
    let (file, slots) = victim(folder.path(), kind_of_file);
    let mut consumer = Consumer::new(
        folder.path(),
        &[match kind_of_file {
            InstanceKind::SingleAggregateHistory => r"\Shop\*",
            _ => r"\Shop(*)\*",
        }],
    );
    let path = file.path().expect("a file");
    let original = std::fs::read(&path).expect("read");
    let is_over = AtomicBool::new(false);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let corrupted = OpenOptions::new().write(true).open(&path).expect("open");
            let mut random = Random(kind as u64);
            while begin.elapsed() < duration {
                corrupt(&corrupted, &original, &mut random);
            }
            is_over.store(true, Ordering::Release);
        });
        let mut rounds = 0_u64;
        while !is_over.load(Ordering::Acquire) {
            consumer.query.collect();
            let rows = consumer.query.sets()[0].rows();
            assert!(rows.instances().len() <= 65_536);
            if rounds.is_multiple_of(4) {
                let again = registry(&published(folder.path()), None);
                let mut block = Vec::new();
                for guid in again.enumerate() {
                    let _ = again.instance_list(guid, &mut block);
                    let _ = again.publishers(guid);
                }
            }
            rounds += 1;
        }
        assert!(rounds > 10, "{rounds}");
    });
    // The writer's memory is corrupted too, so its destructors must not run.
    std::mem::forget(slots);
    std::mem::forget(file);
}

fn corrupt(file: &std::fs::File, original: &[u8], random: &mut Random) {
    let at = match random.below(3) {
        // Header, description, slots.
        0 => random.below(256),
        1 => random.below(1024),
        _ => 4096 + random.below((original.len() as u64).saturating_sub(4096).clamp(1, 2048)),
    };
    let outcome = match random.below(12) {
        0 => file.set_len(random.below(original.len() as u64)),
        1 => file.set_len(original.len() as u64 + random.below(100_000)),
        2..=5 => file.write_all_at(&[1 << random.below(8)], at),
        6..=7 => file.write_all_at(&[0xFF; 8], at & !7),
        8 => file.write_all_at(&random.below(1 << 40).to_le_bytes(), at & !7),
        _ => file.write_all_at(original, 0),
    };
    // If the change fails, the next one follows.
    let _ = outcome;
}

/// An instance is omitted as long as its name cannot be read.
#[test]
fn an_unreadable_name_is_read_again() {
    let folder = tempfile::tempdir().expect("create folder");
    let (file, _slots) = victim(folder.path(), InstanceKind::Multiple);
    let path = file.path().expect("a file");
    let bytes = std::fs::read(&path).expect("read");
    let name = bytes.windows(11).position(|bytes| bytes == b"a long name").expect("the name");
    // The word before the name is the offset of its continuation.
    let next = name - 8;
    let corrupted = OpenOptions::new().write(true).open(&path).expect("open");
    corrupted.write_all_at(&[0; 8], next as u64).expect("write");
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    let mut names = move || consumer.collect().into_iter().map(|(name, _)| name.len()).collect::<Vec<_>>();
    assert_eq!(names(), [1, 1]);
    corrupted.write_all_at(&bytes[next..next + 8], next as u64).expect("write");
    assert_eq!(names(), [1, 1, 73]);
}

/// A file can be small and still have six million values: 3,000 counters without cells, and 2,000 instances.
#[test]
fn too_many_values_are_an_error() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut description = Description::new("Shop", crate::fixtures::SHOP, InstanceKind::Multiple);
    for id in 1..=3_000 {
        let mut counter = tachograph_shm::CounterDescription::new(id, format!("c{id}"), 0x0001_0100);
        counter.cell = tachograph_shm::CellKind::None;
        description.counters.push(counter);
    }
    let options = tachograph_shm::Options { folder: Some(folder.path().to_owned()), ..Default::default() };
    let Ok(file) = tachograph_shm::SetFile::create(description, &options) else {
        // If the writer rejects the set, there is no file to read; `shm` tests the reader's check.
        return;
    };
    file.go_live().expect("rename file");
    let _slots: Vec<_> =
        (0..2_000).map(|id| file.create_instance("x", id).expect("create instance")).collect();
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\*"]);
    consumer.query.collect();
    let failure = consumer.query.sets()[0].outcome().expect_err("too much");
    assert_eq!(failure.code, tachograph_perflib::ErrorCode::NO_SYSTEM_RESOURCES);
}
