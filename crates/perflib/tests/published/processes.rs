//! Programs that publish sets, and that start, exit or are killed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tachograph_perflib::Guid;
use tachograph_perflib::published::Published;

use crate::fixtures::{
    Consumer, SHOP, child, files, publish, publish_single, published, registry, rows, set, shop,
};
use crate::trust::wait_for_shop;
use tachograph_shm::InstanceKind;

#[test]
fn a_killed_program_is_gone_at_the_next_collection() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut child = child(folder.path(), "single");
    let mut consumer = wait_for_shop(folder.path());
    assert_eq!(consumer.collect().len(), 1);
    assert_eq!(files(folder.path()).len(), 1);
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(consumer.collect(), []);
    assert_eq!(files(folder.path()), [""; 0], "no file is left");
    let guid = Guid::from_bytes(SHOP.to_bytes());
    assert_eq!(consumer.registry.publishers(guid), []);
}

/// Any process that can read the file can lock it with `flock`.
#[test]
fn a_set_of_a_killed_program_disappears_even_if_a_reader_locks_its_file() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut child = child(folder.path(), "single");
    let mut consumer = wait_for_shop(folder.path());
    let [name] = files(folder.path()).try_into().expect("one file");
    let (path, lock) = (folder.path().join(name), rustix::fs::FlockOperation::LockExclusive);
    let hostile = std::fs::File::open(&path).expect("the file");
    rustix::fs::flock(&hostile, lock).expect("lock");
    assert_eq!(consumer.collect().len(), 1);
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(consumer.collect(), []);
    assert!(!path.exists());
}

#[test]
fn a_restarted_program_is_a_new_instance() {
    let folder = tempfile::tempdir().expect("create folder");
    let (file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 1_000);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let first = consumer.collect();
    let identity = consumer.identities();
    drop((file, slot));
    // The old instance was in the previous sample, so the new one does not have the plain name yet.
    let (_file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 7);
    let second = consumer.collect();
    assert_eq!(second[0].0, format!("{}#1", first[0].0));
    assert_ne!(consumer.identities(), identity);
    assert_eq!(consumer.collect()[0].0, first[0].0);
}

#[test]
fn a_closed_set_is_gone_while_its_program_runs() {
    let folder = tempfile::tempdir().expect("create folder");
    let (file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    assert_eq!(consumer.collect().len(), 1);
    file.stop();
    set(&slot, 0, 9);
    assert_eq!(consumer.collect(), []);
    assert_eq!(registry(&published(folder.path()), None).counter_sets().count(), 0);
}

#[test]
fn a_scan_removes_files_of_killed_programs() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut child = child(folder.path(), "multiple");
    wait_for_shop(folder.path());
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(files(folder.path()).len(), 1);
    assert_eq!(registry(&published(folder.path()), None).counter_sets().count(), 0);
    assert_eq!(files(folder.path()), [""; 0]);
}

/// Killing a writer does not change the folder, since its file is not renamed.
#[test]
fn a_scan_removes_unfinished_files_of_killed_programs() {
    let folder = tempfile::tempdir().expect("create folder");
    let _shop = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let mut child = child(folder.path(), "unready");
    let is_locked = || {
        let names = files(folder.path());
        let unready = names.iter().find(|name| name.ends_with(".new"));
        // The writer locks the file before it writes the description.
        unready.is_some_and(|name| folder.path().join(name).metadata().is_ok_and(|file| file.len() >= 4096))
    };
    wait_until(is_locked);
    // Scan until the folder's version is stable.
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..2 {
        assert_eq!(consumer.collect().len(), 1);
        assert_eq!(files(folder.path()).len(), 2, "the file of the live program is kept");
    }
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(consumer.collect().len(), 1);
    assert_eq!(files(folder.path()).len(), 1);
}

fn wait_until(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "timeout");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Only a reader that knows the version of a file can check whether its writer is alive.
#[test]
fn a_file_of_another_version_is_kept_and_reported() {
    let folder = tempfile::tempdir().expect("create folder");
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
        let text = notice.to_string();
        assert!(text.contains(&name) && text.contains("found version 3 of the layout"), "{text}");
    }
    assert_eq!(files(folder.path()), [name]);
}

/// If they stayed open, a long-running consumer would have more and more open files.
#[test]
fn files_of_sets_that_have_disappeared_are_closed() {
    let folder = tempfile::tempdir().expect("create folder");
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

/// The number of files of a folder that this process has open.
fn open_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").expect("the descriptors");
    let paths = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    paths.filter(|path| path.starts_with(folder)).count()
}

#[test]
fn a_file_with_two_paths_is_read_once() {
    let folder = tempfile::tempdir().expect("create folder");
    let file = publish(folder.path(), shop(InstanceKind::Multiple));
    let slot = file.create_instance("a", 0).expect("create instance");
    set(&slot, 0, 3);
    let again = folder.path().join("../").join(folder.path().file_name().expect("a name"));
    let published = Published::in_folders(vec![folder.path().to_owned(), again]);
    let mut consumer = Consumer::with_registry(registry(&published, None), &[r"\Shop(*)\Requests/sec"]);
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

/// Programs are killed before they create the file, while they write it, or after they have renamed it.
#[test]
fn programs_are_killed_while_they_start() {
    let folder = tempfile::tempdir().expect("create folder");
    let _shop = publish_single(folder.path(), shop(InstanceKind::Single));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let mut first = None;
    for number in 0..100_u64 {
        let mut child = child(folder.path(), "single");
        // Kill every other program after 0 to 20 ms, and the rest as soon as their file exists.
        let begin = Instant::now();
        let wait = Duration::from_micros(number * 200);
        let has_file = || number % 2 == 1 && files(folder.path()).len() > 1;
        while begin.elapsed() < wait.max(Duration::from_millis(20 * (number % 2))) && !has_file() {
            std::hint::spin_loop();
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        let left = files(folder.path());
        first = first.or_else(|| left.iter().find(|name| name.ends_with(".new")).cloned());
        assert_eq!(consumer.collect().len(), 1);
        let left: Vec<_> =
            files(folder.path()).into_iter().filter(|name| !is_empty(folder.path(), name)).collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
    println!("first unfinished file: {first:?}");
}

/// Whether the writer was killed before it locked the file; such a file is removed when it is old enough.
fn is_empty(folder: &Path, name: &str) -> bool {
    folder.join(name).metadata().is_ok_and(|file| file.len() == 0)
}

/// Runs for a minute; only part of ./test --long.
#[test]
fn programs_are_killed_for_a_minute() {
    if std::env::var_os("TACHO_LONG").is_some() {
        kill_in_a_loop(Duration::from_secs(60));
    }
}

/// Starts and kills programs, and collects every 10 ms. Killed programs must disappear, and counters of live
/// ones increase.
fn kill_in_a_loop(duration: Duration) {
    let folder = tempfile::tempdir().expect("create folder");
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
                let is_continued = known.is_none_or(|(id, before)| *id == instance.id() && *before <= value);
                assert!(is_continued, "{value} after {known:?}");
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
    assert_eq!(files(folder.path()), [""; 0], "files left by {killed} killed programs");
    assert!(killed > 4 && seen.len() > 2, "{killed} killed, {} seen, {samples} samples", seen.len());
    println!("{killed} programs killed, {} of them seen, {samples} samples", seen.len());
}

/// Starts and kills programs, two at a time; records the killed ones, and returns their number.
fn kill_until(folder: &Path, end: Instant, dead: &Mutex<HashSet<u32>>) -> u64 {
    let mut killed = 0;
    let mut kill = |mut child: std::process::Child| {
        child.kill().expect("kill");
        child.wait().expect("wait");
        dead.lock().expect("no panic").insert(child.id());
        killed += 1;
        killed
    };
    let (mut before, mut count) = (None, 0);
    while Instant::now() < end {
        let next = child(folder, "single");
        // The kernel can reuse a process id.
        dead.lock().expect("no panic").remove(&next.id());
        std::thread::sleep(Duration::from_millis(20 + count * 7 % 60));
        if let Some(child) = before.replace(next) {
            count = kill(child);
        }
    }
    before.map_or(count, kill)
}

/// The environment variable with the folder that a child process reads with a low limit of open files.
const FEW_FILES: &str = "TACHO_TEST_FEW_FILES";

/// The number of sets in that folder.
const SETS: usize = 3;

/// Runs one test of this program with at most 64 open files.
fn with_few_files(test: &str, folder: &Path) {
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(std::env::current_exe().expect("this program"))
        .arg(test)
        .env(FEW_FILES, folder)
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Opens files until the limit is reached.
fn exhaust_descriptors() -> Vec<std::fs::File> {
    std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect()
}

/// The number of sets that a new registry has.
fn set_count(published: &Published) -> usize {
    registry(published, None).counter_sets().count()
}

#[test]
fn a_folder_is_listed_again_after_a_shortage_of_descriptors() {
    let Some(folder) = std::env::var_os(FEW_FILES) else {
        let folder = tempfile::tempdir().expect("create folder");
        let sets = (0..SETS as u128).map(|number| {
            let description = shop(InstanceKind::Single);
            let guid = tachograph_shm::Guid::from_u128(0x5409 + number);
            publish_single(
                folder.path(),
                tachograph_shm::Description { guid, name: format!("Shop {number}").into(), ..description },
            )
        });
        let _sets: Vec<_> = sets.collect();
        let test = "processes::a_folder_is_listed_again_after_a_shortage_of_descriptors";
        return with_few_files(test, folder.path());
    };
    let folder = Path::new(&folder);
    // A recent change makes every scan list the folder again.
    let deadline = Instant::now() + Duration::from_secs(10);
    let modified = || std::fs::metadata(folder).and_then(|found| found.modified()).expect("a time");
    while modified().elapsed().is_ok_and(|age| age < Duration::from_millis(100)) {
        assert!(Instant::now() < deadline, "the folder keeps changing");
        std::thread::sleep(Duration::from_millis(5));
    }
    // With two free descriptors, not all files can be opened; with one, the folder cannot be listed; with none, it cannot be
    // opened.
    for free in [2, 1, 0] {
        let published = published(folder);
        let mut opened = exhaust_descriptors();
        opened.truncate(opened.len() - free);
        let found = set_count(&published);
        assert!(found < SETS, "{free} free descriptors are enough");
        drop(opened);
        assert_eq!(set_count(&published), SETS, "with {free} free descriptors at first");
    }
}
