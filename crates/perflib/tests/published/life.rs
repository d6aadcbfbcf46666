//! Programs that start, end, and are killed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tachograph_perflib::Guid;
use tachograph_perflib::published::Published;

use crate::made::{
    Consumer, SHOP, child, files, publish, publish_single, published, registry, rows, set, shop,
};
use crate::trust::wait_for_shop;
use tachograph_shm::InstanceKind;

#[test]
fn a_killed_program_is_gone_at_the_next_collection() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = child(folder.path(), "single");
    let mut consumer = wait_for_shop(folder.path());
    assert_eq!(consumer.collect().len(), 1);
    assert_eq!(files(folder.path()).len(), 1);
    child.kill().expect("it dies");
    child.wait().expect("it is dead");
    assert_eq!(consumer.collect(), []);
    assert_eq!(files(folder.path()), [""; 0], "nothing is left behind");
    let guid = Guid::from_bytes(SHOP.to_bytes());
    assert_eq!(consumer.registry.publishers(guid), []);
}

/// Whoever may read the file may lock it, too, so far as the lock is not one to write.
#[test]
fn a_reader_that_locks_the_file_keeps_no_dead_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = child(folder.path(), "single");
    let mut consumer = wait_for_shop(folder.path());
    let [name] = files(folder.path()).try_into().expect("one file");
    let (path, lock) = (folder.path().join(name), rustix::fs::FlockOperation::LockExclusive);
    let hostile = std::fs::File::open(&path).expect("the file");
    rustix::fs::flock(&hostile, lock).expect("nobody else has such a lock");
    assert_eq!(consumer.collect().len(), 1);
    child.kill().expect("it dies");
    child.wait().expect("it is dead");
    assert_eq!(consumer.collect(), []);
    assert!(!path.exists());
}

#[test]
fn a_program_that_was_started_again_is_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 1_000);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let first = consumer.collect();
    let identity = consumer.identities();
    drop((file, slot));
    // It comes in the very interval in which the other ends: its name is not that of the other yet.
    let (_file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 7);
    let second = consumer.collect();
    assert_eq!(second[0].0, format!("{}#1", first[0].0));
    assert_ne!(consumer.identities(), identity);
    assert_eq!(consumer.collect()[0].0, first[0].0);
}

#[test]
fn a_set_that_stopped_is_gone_though_its_program_lives() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    assert_eq!(consumer.collect().len(), 1);
    file.stop();
    set(&slot, 0, 9);
    assert_eq!(consumer.collect(), []);
    assert_eq!(registry(&published(folder.path()), None).counter_sets().count(), 0);
}

#[test]
fn files_that_were_left_behind_are_removed_by_who_looks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = child(folder.path(), "multiple");
    wait_for_shop(folder.path());
    child.kill().expect("it dies");
    child.wait().expect("it is dead");
    assert_eq!(files(folder.path()).len(), 1);
    assert_eq!(registry(&published(folder.path()), None).counter_sets().count(), 0);
    assert_eq!(files(folder.path()), [""; 0]);
}

/// It made its file, and died before it could name it: no name comes or goes any more, by which the folder is another one.
#[test]
fn what_a_program_left_that_was_killed_while_it_started_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let _shop = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let mut child = child(folder.path(), "unready");
    let is_locked = || {
        let names = files(folder.path());
        let unready = names.iter().find(|name| name.ends_with(".new"));
        // The lock comes first, then the room for the description.
        unready.is_some_and(|name| folder.path().join(name).metadata().is_ok_and(|file| file.len() >= 4096))
    };
    wait_until(is_locked);
    // So long that a collection finds the folder as it was.
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..2 {
        assert_eq!(consumer.collect().len(), 1);
        assert_eq!(files(folder.path()).len(), 2, "the program lives");
    }
    child.kill().expect("it dies");
    child.wait().expect("it is dead");
    assert_eq!(consumer.collect().len(), 1);
    assert_eq!(files(folder.path()).len(), 1);
}

fn wait_until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it comes to be so");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether its writer lives, is for those to tell who know its version.
#[test]
fn a_file_of_another_version_stays_and_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut bytes = std::fs::read(file.path().expect("a file")).expect("its bytes");
    drop((file, slot));
    bytes[8] += 1;
    let name = format!("{:032x}-1-{:016x}.tacho", SHOP.to_u128(), 5);
    std::fs::write(folder.path().join(&name), bytes).expect("a file");
    let published = published(folder.path());
    for _ in 0..2 {
        let registry = registry(&published, None);
        assert_eq!(registry.counter_sets().count(), 0);
        let [notice] = registry.notices() else { panic!("{:?}", registry.notices()) };
        let told = notice.to_string();
        assert!(told.contains(&name) && told.contains("found version 3 of the layout"), "{told}");
    }
    assert_eq!(files(folder.path()), [name]);
}

/// A consumer that runs for long keeps nothing of the sets of others that came and went.
#[test]
fn files_of_sets_that_nobody_collects_are_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let _shop = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let mut collect = || assert_eq!(consumer.collect().len(), 1);
    collect();
    let before = open_files(folder.path());
    for number in 1..=20 {
        let mut other = shop(InstanceKind::Single);
        other.guid = tachograph_shm::Guid::from_u128(number);
        let other = publish(folder.path(), other);
        collect();
        assert!(open_files(folder.path()) > before, "{number}");
        drop(other);
        collect();
        assert_eq!(open_files(folder.path()), before, "{number}");
    }
}

/// How many files of a folder this process has open.
fn open_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").expect("the descriptors");
    let paths = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    paths.filter(|path| path.starts_with(folder)).count()
}

#[test]
fn a_file_with_two_paths_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = publish(folder.path(), shop(InstanceKind::Multiple));
    let slot = file.create_instance("a", 0).expect("an instance");
    set(&slot, 0, 3);
    let again = folder.path().join("../").join(folder.path().file_name().expect("a name"));
    let published = Published::in_folders(vec![folder.path().to_owned(), again]);
    let mut consumer = Consumer::of(registry(&published, None), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect(), rows([("a", [3])]));
    let path = file.path().expect("a file");
    let name = format!("{:032x}-{}-{:016x}.tacho", 1, std::process::id(), 2);
    std::fs::rename(path, folder.path().join(name)).expect("another name");
    assert_eq!(consumer.collect(), rows([("a", [3])]));
    drop((file, slot));
    assert_eq!(consumer.collect(), rows::<1, 0>([]));
}

#[test]
fn programs_are_killed_while_a_consumer_collects() {
    kill_in_a_loop(Duration::from_secs(3));
}

/// Some before they have a file, some while they make it, some when they have named it.
#[test]
fn programs_are_killed_while_they_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let _shop = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let mut first = None;
    for number in 0..100_u64 {
        let mut child = child(folder.path(), "single");
        // At a moment of its own from 0 to 20 ms each, or, every other one, as soon as there is a file at all.
        let begin = Instant::now();
        let wait = Duration::from_micros(number * 200);
        let has_file = || number % 2 == 1 && files(folder.path()).len() > 1;
        while begin.elapsed() < wait.max(Duration::from_millis(20 * (number % 2))) && !has_file() {
            std::hint::spin_loop();
        }
        child.kill().expect("it dies");
        child.wait().expect("it is dead");
        let left = files(folder.path());
        first = first.or_else(|| left.iter().find(|name| name.ends_with(".new")).cloned());
        assert_eq!(consumer.collect().len(), 1);
        let left: Vec<_> =
            files(folder.path()).into_iter().filter(|name| !is_empty(folder.path(), name)).collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
    println!("left on the way at first: {first:?}");
}

/// One that had no time to lock its file: that is told by its age alone.
fn is_empty(folder: &Path, name: &str) -> bool {
    folder.join(name).metadata().is_ok_and(|file| file.len() == 0)
}

/// A minute of it, where there is time: ./test --long.
#[test]
fn programs_are_killed_for_a_minute() {
    if std::env::var_os("TACHO_LONG").is_some() {
        kill_in_a_loop(Duration::from_secs(60));
    }
}

/// Programs are started and killed all the time, and collected every 10 ms. Nothing that is dead is shown, and what is shown
/// counts up.
fn kill_in_a_loop(duration: Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    let dead = Mutex::new(HashSet::new());
    let dead_now = || dead.lock().expect("no panic").clone();
    let (mut last, mut seen, mut samples) = (HashMap::new(), HashSet::new(), 0);
    let killed = std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill_until(folder.path(), Instant::now() + duration, &dead));
        let mut consumer = wait_for_shop(folder.path());
        while !killer.is_finished() {
            let moment = Instant::now();
            let dead_before: HashSet<u32> = dead_now();
            consumer.query.collect();
            let queried = &consumer.query.sets()[0];
            queried.outcome().expect("a collection");
            let rows = queried.rows();
            let mut now = HashMap::new();
            for (row, instance) in rows.instances().iter().enumerate() {
                let value = rows.values(row)[0].first;
                assert!(!dead_before.contains(&instance.id()), "process {} is dead", instance.id());
                let known: Option<&(u32, i64)> = last.get(&instance.identity());
                let goes_on = known.is_none_or(|(id, before)| *id == instance.id() && *before <= value);
                assert!(goes_on, "{value} after {known:?}");
                seen.insert(instance.identity());
                now.insert(instance.identity(), (instance.id(), value));
            }
            last = now;
            samples += 1;
            std::thread::sleep(Duration::from_millis(10).saturating_sub(moment.elapsed()));
        }
        let killed = killer.join().expect("no panic");
        consumer.query.collect();
        assert_eq!(consumer.query.sets()[0].rows().instances(), []);
        killed
    });
    assert_eq!(files(folder.path()), [""; 0], "after {killed} were killed");
    assert!(killed > 4 && seen.len() > 2, "{killed} killed, {} seen, {samples} samples", seen.len());
    println!("{killed} programs killed, {} of them seen, {samples} samples", seen.len());
}

/// Starts and kills programs, two at a time, and notes who is dead; gives how many.
fn kill_until(folder: &Path, end: Instant, dead: &Mutex<HashSet<u32>>) -> u64 {
    let mut killed = 0;
    let mut kill = |mut child: std::process::Child| {
        child.kill().expect("it dies");
        child.wait().expect("it is dead");
        dead.lock().expect("no panic").insert(child.id());
        killed += 1;
        killed
    };
    let (mut before, mut count) = (None, 0);
    while Instant::now() < end {
        let next = child(folder, "single");
        // The kernel may give the number of one that is dead again.
        dead.lock().expect("no panic").remove(&next.id());
        std::thread::sleep(Duration::from_millis(20 + count * 7 % 60));
        if let Some(child) = before.replace(next) {
            count = kill(child);
        }
    }
    before.map_or(count, kill)
}
