//! Files of a folder, and changes to them between collections.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};

use tachograph_mmv::{MmvSets, providers};
use tachograph_perflib::{ErrorCode, Guid, Provider};
use tempfile::TempDir;

use crate::sampling::{at, collect, names, raw, set, try_collect};
use crate::writer::{COUNT, COUNTER, FLAG_PROCESS, File, Metric, U32, U64};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Replaces a file with a new one, as PCP's library does.
    fn replace(&self, name: &str, file: &File) {
        let _ = fs::remove_file(self.path(name));
        fs::write(self.path(name), file.image().bytes).expect("written");
    }

    fn find(&self) -> MmvSets {
        providers(&[self.0.path().to_owned()], &|_, _| false)
    }

    fn problems(&self) -> Vec<String> {
        let prefix = format!("{}/", self.0.path().display());
        self.find().problems.iter().map(|problem| problem.to_string().replace(&prefix, "")).collect()
    }
}

fn set_names(found: &MmvSets) -> Vec<String> {
    found.providers.iter().map(|provider| provider.info().name.to_string()).collect()
}

fn value(provider: &mut dyn Provider, seconds: i64, instance: &str) -> i64 {
    raw(&collect(provider, at(seconds)), instance, "products.count").first
}

#[test]
fn values_are_read_at_each_collection() {
    let folder = Folder::new();
    folder.replace("shop", &File::shop(1));
    let mut found = folder.find();
    let image = File::shop(1).image();
    let products = set(&mut found.providers, "mmv shop 61");
    assert_eq!(value(products, 1, "Rockets"), 20);
    let file = fs::OpenOptions::new().write(true).open(folder.path("shop")).expect("opened");
    file.write_all_at(&21_u64.to_ne_bytes(), image.values as u64 + 32).expect("written");
    assert_eq!(value(products, 1, "Rockets"), 20, "the file is read once per collection");
    assert_eq!(value(products, 2, "Rockets"), 21);
    let owner = rustix::process::getuid().as_raw();
    assert_eq!(*products.info().provider_name, format!("PCP MMV of uid {owner}"));
    assert_eq!(*products.info().counters[0].source, folder.path("shop").display().to_string());
}

#[test]
fn a_replaced_file_has_new_identities() {
    let folder = Folder::new();
    let mut file = File::shop(2);
    folder.replace("shop", &file);
    let mut found = folder.find();
    let products = set(&mut found.providers, "mmv shop 61");
    let before = collect(products, at(1));

    // Same content in a new file: a program that was restarted within one tick of its clock.
    folder.replace("shop", &file);
    let after = collect(products, at(2));
    assert_eq!(names(&before), names(&after));
    assert_ne!(before.instances()[0].identity(), after.instances()[0].identity());

    // The new file has one more product.
    file.indoms[0].instances.push((6, "Magnets".to_owned()));
    file.metrics[0].values.push((30, 0));
    file.metrics[1].values.push((0, 0));
    file.generations = [8, 8];
    folder.replace("shop", &file);
    assert_eq!(names(&collect(products, at(3))), ["Anvils", "Rockets", "Magnets"]);
    assert_eq!(value(products, 3, "Magnets"), 30);
}

#[test]
fn a_file_rewritten_in_place_has_new_identities() {
    let folder = Folder::new();
    let mut file = File::shop(3);
    folder.replace("shop", &file);
    let mut found = folder.find();
    let products = set(&mut found.providers, "mmv shop 61");
    let before = collect(products, at(1));

    // The file is being written: the second generation is written last.
    file.generations = [8, 0];
    fs::write(folder.path("shop"), file.image().bytes).expect("written");
    let failure = try_collect(products, at(2)).expect_err("torn");
    assert_eq!(failure.code, ErrorCode::INVALID_DATA);
    assert!(failure.reason.contains("generation 1 is 8, generation 2 is 0"), "{failure}");

    // The header is incomplete.
    fs::write(folder.path("shop"), b"MMV").expect("written");
    let failure = try_collect(products, at(3)).expect_err("short");
    assert!(failure.reason.contains("shorter"), "{failure}");

    file.generations = [8, 8];
    fs::write(folder.path("shop"), file.image().bytes).expect("written");
    let after = collect(products, at(4));
    assert_ne!(before.instances()[0].identity(), after.instances()[0].identity());
    assert_eq!(value(products, 4, "Rockets"), 20);
}

#[test]
fn a_removed_file_has_no_instances_until_it_returns() {
    let folder = Folder::new();
    folder.replace("shop", &File::shop(1));
    let mut found = folder.find();
    fs::remove_file(folder.path("shop")).expect("removed");
    for name in ["mmv shop", "mmv shop 61"] {
        assert_eq!(names(&collect(set(&mut found.providers, name), at(1))), [""; 0]);
    }
    folder.replace("shop", &File::shop(1));
    assert_eq!(value(set(&mut found.providers, "mmv shop 61"), 2, "Rockets"), 20);
}

#[test]
fn changed_counters_are_an_error() {
    let folder = Folder::new();
    let mut file = File::shop(1);
    folder.replace("shop", &file);
    let mut found = folder.find();
    file.metrics[0].kind = U32;
    folder.replace("shop", &file);
    let failure = try_collect(set(&mut found.providers, "mmv shop 61"), at(1)).expect_err("changed");
    assert_eq!(failure.code, ErrorCode::INVALID_REGISTRATION);
    assert!(failure.reason.ends_with("shop: the counters that the file describes have changed"), "{failure}");
    // The other set is unchanged.
    assert_eq!(raw(&collect(set(&mut found.providers, "mmv shop"), at(1)), "", "stock").first, 4_096);

    // The instance domain is missing.
    file.indoms.clear();
    file.metrics.drain(..2);
    folder.replace("shop", &file);
    try_collect(set(&mut found.providers, "mmv shop 61"), at(2)).expect_err("changed");
    folder.replace("shop", &File::shop(1));
    assert_eq!(value(set(&mut found.providers, "mmv shop 61"), 3, "Anvils"), 10);
}

#[test]
fn damage_between_collections_is_an_error_with_its_offset() {
    let folder = Folder::new();
    folder.replace("shop", &File::shop(1));
    let mut found = folder.find();
    let products = set(&mut found.providers, "mmv shop 61");
    let mut file = File::shop(1);
    file.generations = [9, 9];
    let mut image = file.image();
    image.bytes[40] = 99;
    fs::write(folder.path("shop"), &image.bytes).expect("written");
    for second in 1..4 {
        let failure = try_collect(products, at(second)).expect_err("damaged");
        assert!(
            failure.reason.ends_with("offset 40: kind of a section: found 99, expected 1 to 6"),
            "{failure}"
        );
    }
    // The file is truncated within its values.
    folder.replace("shop", &File::shop(1));
    collect(products, at(4));
    let file = fs::OpenOptions::new().write(true).open(folder.path("shop")).expect("opened");
    file.set_len(image.values as u64 + 8).expect("cut");
    let failure = try_collect(products, at(5)).expect_err("cut");
    assert!(failure.reason.contains("shorter"), "{failure}");
    // A link is not followed.
    fs::rename(folder.path("shop"), folder.path("real")).expect("renamed");
    symlink(folder.path("real"), folder.path("shop")).expect("linked");
    let failure = try_collect(products, at(6)).expect_err("a link");
    assert!(failure.reason.ends_with("a symbolic link, not a regular file"), "{failure}");
}

fn sleeper() -> (Child, i32) {
    let child = Command::new("sleep").arg("600").spawn().expect("started");
    let id = child.id().cast_signed();
    (child, id)
}

#[test]
fn a_set_has_no_instances_after_its_process_ended() {
    let folder = Folder::new();
    let (mut child, id) = sleeper();
    let mut file = File::shop(1);
    (file.flags, file.process) = (FLAG_PROCESS, id);
    folder.replace("shop", &file);
    let mut found = folder.find();
    let products = set(&mut found.providers, "mmv shop 61");
    assert_eq!(value(products, 1, "Rockets"), 20);
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(names(&collect(products, at(2))), [""; 0]);
    let reread = folder.find();
    assert!(reread.providers.is_empty() && reread.problems.is_empty(), "{:?}", reread.problems);

    // The file has no flag PROCESS.
    file.flags = 0;
    folder.replace("shop", &file);
    assert_eq!(value(products, 3, "Rockets"), 20);
}

#[test]
fn files_that_are_not_mmv_files_are_reported() {
    let folder = Folder::new();
    fs::write(folder.path("text"), "not a file of values, but long enough to have a header")
        .expect("written");
    fs::write(folder.path("empty"), "").expect("written");
    fs::write(folder.path(".hidden"), "x").expect("written");
    fs::create_dir(folder.path("folder")).expect("created");
    symlink(folder.path("text"), folder.path("link")).expect("linked");
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path("pipe"), rustix::fs::Mode::RUSR).expect("created");
    let mut torn = File::shop(1);
    torn.generations = [5, 0];
    folder.replace("torn", &torn);
    let large = fs::File::create(folder.path("very large")).expect("created");
    large.set_len(9 << 20).expect("extended");
    assert_eq!(
        folder.problems(),
        [
            "link: a symbolic link, not a regular file",
            "pipe: a pipe, not a regular file",
            "empty: 0 bytes, fewer than the header of an MMV file",
            "text: offset 0: magic: found not , expected MMV\\x00",
            "torn: offset 8: the file is being written, or its program ended while writing it: generation 1 is 5, \
             generation 2 is 0, expected the same",
            "very large: 9437184 bytes; at most 8388608 are read",
        ]
    );
}

#[test]
fn skipped_metrics_are_reported_once() {
    let folder = Folder::new();
    let mut file = File::shop(1);
    file.metrics.push(Metric::new("event", 9, 9 + 1, COUNTER, COUNT));
    folder.replace("shop", &file);
    assert_eq!(
        folder.problems(),
        [
            "shop: metric 'motto' is skipped: its values are strings",
            "shop: metric 'event' is skipped: its values are of type 10, which is not numeric",
        ]
    );
}

#[test]
fn sets_whose_name_or_guid_is_taken_are_skipped() {
    let (one, other) = (Folder::new(), Folder::new());
    one.replace("shop", &File::shop(1));
    one.replace("Shop", &File::shop(1));
    other.replace("shop", &File::shop(1));
    let link = one.0.path().with_extension("link");
    symlink(one.0.path(), &link).expect("linked");
    let folders =
        [one.0.path().to_owned(), link.clone(), other.0.path().to_owned(), Path::new("/no/such").to_owned()];
    let name_problems = |found: &MmvSets| -> Vec<String> {
        let problems = found.problems.iter().map(ToString::to_string);
        problems.filter(|problem| problem.contains("another set has this name or GUID")).collect()
    };

    let found = providers(&folders, &|_, _| false);
    fs::remove_file(link).expect("removed");
    assert_eq!(set_names(&found), ["mmv Shop", "mmv Shop 61"]);
    assert_eq!(
        name_problems(&found).len(),
        4,
        "two sets of two files; the linked folder is the same: {:?}",
        name_problems(&found)
    );

    let found = providers(&folders[2..], &|name, _| name == "mmv shop");
    assert_eq!(set_names(&found), ["mmv shop 61"]);
    let path = other.path("shop");
    let expected =
        format!("{}: counter set 'mmv shop' is skipped: another set has this name or GUID", path.display());
    assert_eq!(name_problems(&found), [expected]);

    let guid: Guid = "{2f91a6fc-a788-5e7c-af67-ff701df4da28}".parse().expect("a GUID");
    let found = providers(&folders[2..], &|_, other| other == guid);
    assert_eq!(set_names(&found), ["mmv shop 61"]);
}

#[test]
fn unreadable_files_are_reported() {
    if rustix::process::geteuid().is_root() {
        // Root can read every file.
        return;
    }
    let folder = Folder::new();
    folder.replace("shop", &File::shop(1));
    fs::set_permissions(folder.path("shop"), fs::Permissions::from_mode(0o000)).expect("changed");
    assert_eq!(folder.problems(), ["shop: Permission denied"]);
}

#[test]
fn problems_beyond_a_thousand_are_counted() {
    let folder = Folder::new();
    for index in 0..1_003 {
        let mut file = fs::File::create(folder.path(&index.to_string())).expect("created");
        file.write_all(b"x").expect("written");
    }
    let found = folder.find();
    assert_eq!((found.problems.len(), found.more_problems), (1_000, 3));
}

#[test]
fn large_files_share_a_memory_budget() {
    let folder = Folder::new();
    let mut file = File::new(1);
    file.metrics.push(Metric::new("m", 1, U64, COUNTER, COUNT));
    let mut image = file.image();
    // As many values as a file can have, all of the same cell.
    let values = (8 << 20) / 32 - 100;
    let record = image.bytes[image.values..image.values + 32].to_vec();
    let start = image.bytes.len() as u64;
    image.bytes.extend(record.iter().copied().cycle().take(32 * values));
    for (at, value) in [(92, values as u64), (96, start)] {
        let bytes = if at == 92 { value.to_ne_bytes()[..4].to_vec() } else { value.to_ne_bytes().to_vec() };
        image.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    for index in 0..35 {
        fs::write(folder.path(&format!("{index:02}")), &image.bytes).expect("written");
    }
    let found = folder.find();
    assert_eq!(found.providers.len(), 32, "of 8 MiB each");
    let problems: Vec<_> = found.problems.iter().map(ToString::to_string).collect();
    let repeated = "262043 values are skipped: an earlier value has the same metric and instance";
    assert!(problems[0].ends_with(repeated), "{}", problems[0]);
    let out_of_budget = |problem: &&String| problem.ends_with("together would take too much memory");
    assert_eq!(problems.iter().filter(out_of_budget).count(), 3);
}

/// A program rewrites the file in place while it is read.
#[test]
fn all_values_of_a_sample_are_of_one_generation() {
    const GENERATIONS: u64 = 3_000;
    let folder = Folder::new();
    let shop = |generation: u64| {
        let mut file = File::shop(1);
        file.generations = [generation, 0];
        for value in &mut file.metrics[0].values {
            value.0 = generation;
        }
        file.metrics[3].values[0].0 = generation;
        let mut image = file.image();
        image.bytes.resize(image.bytes.len() + 4096, 0);
        image.bytes
    };
    let mut first = shop(1);
    first[16..24].copy_from_slice(&1_u64.to_ne_bytes());
    fs::write(folder.path("shop"), &first).expect("written");
    let mut found = folder.find();
    let is_done = AtomicBool::new(false);
    let (mut complete, mut torn) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::OpenOptions::new().write(true).open(folder.path("shop")).expect("opened");
            for generation in 2..=GENERATIONS {
                let bytes = shop(generation);
                file.write_all_at(&bytes[..24], 0).expect("written");
                for start in (24..bytes.len()).step_by(200) {
                    let end = bytes.len().min(start + 200);
                    file.write_all_at(&bytes[start..end], start as u64).expect("written");
                }
                file.write_all_at(&generation.to_ne_bytes(), 16).expect("written");
            }
            is_done.store(true, Ordering::Release);
        });
        let products = set(&mut found.providers, "mmv shop 61");
        let (mut moment, mut last) = (1, (0, 0));
        loop {
            let is_last = is_done.load(Ordering::Acquire);
            match try_collect(products, at(moment)) {
                Ok(rows) => {
                    let values = ["Anvils", "Rockets"].map(|name| raw(&rows, name, "products.count").first);
                    assert_eq!(values[0], values[1], "one generation");
                    assert!(values[0] >= last.0, "generations never go backwards");
                    let identity = rows.instances()[0].identity();
                    assert_eq!(
                        values[0] == last.0,
                        identity == last.1,
                        "identities of different generations differ"
                    );
                    last = (values[0], identity);
                    complete += 1;
                }
                Err(failure) => {
                    assert!(failure.reason.contains("the file is being written"), "{failure}");
                    torn += 1;
                }
            }
            moment += 1;
            if is_last {
                break;
            }
        }
        assert_eq!(last.0, GENERATIONS as i64, "the last generation is read");
    });
    assert!(complete > 0, "{complete} complete, {torn} torn");
}

/// A program writes random bytes into the file while it is read.
#[test]
fn random_changes_of_a_file_cause_no_panic() {
    let folder = Folder::new();
    let original = File::shop(3).image().bytes;
    fs::write(folder.path("shop"), &original).expect("written");
    let mut found = folder.find();
    let file = fs::OpenOptions::new().write(true).open(folder.path("shop")).expect("opened");
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut rows_read, mut failures) = (0, 0);
    for moment in 1..20_000 {
        let offset = random() % original.len() as u64;
        match random() % 8 {
            0 => file.write_all_at(&original, 0).expect("written"),
            1 => file.set_len(offset).expect("cut"),
            2 => file.write_all_at(&random().to_ne_bytes(), 8 * (offset / 8)).expect("written"),
            _ => file.write_all_at(&[random() as u8], offset % 1_000).expect("written"),
        }
        for provider in &mut found.providers {
            match try_collect(&mut **provider, at(moment)) {
                Ok(rows) => rows_read += rows.instances().len(),
                Err(failure) => failures += usize::from(!failure.reason.is_empty()),
            }
        }
    }
    assert!(rows_read > 100 && failures > 100, "{rows_read} rows, {failures} failures");
}
