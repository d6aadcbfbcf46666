//! Files that change under a reader: nothing may panic, loop, or take memory without bound.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tachograph_shm::{Description, InstanceKind};

use crate::made::{Consumer, publish, published, registry, set, shop, with_timer};

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A set with some instances, whose file anybody may spoil.
fn victim(folder: &Path, kind: InstanceKind) -> (tachograph_shm::SetFile, Vec<tachograph_shm::Slot>) {
    let file = publish(folder, with_timer(shop(kind)));
    let names = ["a", "b", "a long name that goes on in another slot, where it is cut in the middle"];
    let slots = names.map(|name| file.create_instance(name, 1).expect("an instance"));
    (file, slots.into())
}

#[test]
fn a_file_that_is_cut_ends_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, _slots) = victim(folder.path(), InstanceKind::Multiple);
    let good = publish(folder.path(), shop(InstanceKind::Multiple));
    let slot = good.create_instance("good", 0).expect("an instance");
    set(&slot, 0, 6);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect().len(), 4);
    let path = file.path().expect("a file");
    OpenOptions::new().write(true).open(path).expect("it opens").set_len(300).expect("it is cut");
    for _ in 0..3 {
        let collected = consumer.collect();
        assert_eq!(collected, [("good".to_owned(), vec![6])]);
    }
    std::mem::forget(_slots);
    std::mem::forget(file);
}

#[test]
fn any_byte_may_change_under_a_reader() {
    for kind in [
        InstanceKind::Multiple,
        InstanceKind::Single,
        InstanceKind::MultipleAggregate,
        InstanceKind::SingleAggregateHistory,
    ] {
        mutate(kind, Duration::from_millis(1_500));
    }
}

/// One thread flips bits, writes numbers, cuts and grows the file; the other collects, and opens it anew.
fn mutate(kind: InstanceKind, duration: Duration) {
    let folder = tempfile::tempdir().expect("a folder");
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
    let whole = std::fs::read(&path).expect("its bytes");
    let is_over = AtomicBool::new(false);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let spoiled = OpenOptions::new().write(true).open(&path).expect("it opens");
            let mut random = Random(kind as u64);
            while begin.elapsed() < duration {
                spoil(&spoiled, &whole, &mut random);
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
    // The writer's own memory was spoiled as well: it is not touched any more.
    std::mem::forget(slots);
    std::mem::forget(file);
}

fn spoil(file: &std::fs::File, whole: &[u8], random: &mut Random) {
    let at = match random.below(3) {
        // Header, description, slots.
        0 => random.below(256),
        1 => random.below(1024),
        _ => 4096 + random.below((whole.len() as u64).saturating_sub(4096).clamp(1, 2048)),
    };
    let outcome = match random.below(12) {
        0 => file.set_len(random.below(whole.len() as u64)),
        1 => file.set_len(whole.len() as u64 + random.below(100_000)),
        2..=5 => file.write_all_at(&[1 << random.below(8)], at),
        6..=7 => file.write_all_at(&[0xFF; 8], at & !7),
        8 => file.write_all_at(&random.below(1 << 40).to_le_bytes(), at & !7),
        _ => file.write_all_at(whole, 0),
    };
    // A file that was cut to nothing has no room here; then the next one writes it.
    let _ = outcome;
}

/// An instance whose name is not whole is left out, and not known by a part of it later.
#[test]
fn a_name_that_is_not_whole_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, _slots) = victim(folder.path(), InstanceKind::Multiple);
    let path = file.path().expect("a file");
    let bytes = std::fs::read(&path).expect("its bytes");
    let name = bytes.windows(11).position(|bytes| bytes == b"a long name").expect("the name");
    // The word before the name says where it goes on.
    let next = name - 8;
    let spoiled = OpenOptions::new().write(true).open(&path).expect("it opens");
    spoiled.write_all_at(&[0; 8], next as u64).expect("it is written");
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    let mut names = move || consumer.collect().into_iter().map(|(name, _)| name.len()).collect::<Vec<_>>();
    assert_eq!(names(), [1, 1]);
    spoiled.write_all_at(&bytes[next..next + 8], next as u64).expect("it is written");
    assert_eq!(names(), [1, 1, 71]);
}

/// A description that has nothing but counters that take no room, and a file that says it has a million instances.
#[test]
fn values_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut description = Description::new("Shop", crate::made::SHOP, InstanceKind::Multiple);
    for id in 1..=3_000 {
        let mut counter = tachograph_shm::CounterDescription::new(id, format!("c{id}"), 0x0001_0100);
        counter.cell = tachograph_shm::CellKind::None;
        description.counters.push(counter);
    }
    let options = tachograph_shm::Options { folder: Some(folder.path().to_owned()), ..Default::default() };
    let Ok(file) = tachograph_shm::SetFile::create(description, &options) else {
        // The writer takes no such set; the reader's own check of it is tested in `shm`.
        return;
    };
    file.go_live().expect("a name");
    let _slots: Vec<_> = (0..2_000).map(|id| file.create_instance("x", id).expect("an instance")).collect();
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\*"]);
    consumer.query.collect();
    let failure = consumer.query.sets()[0].outcome().expect_err("too much");
    assert_eq!(failure.code, tachograph_perflib::ErrorCode::NO_SYSTEM_RESOURCES);
}
