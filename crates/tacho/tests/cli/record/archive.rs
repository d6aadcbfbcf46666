//! Recording into an archive: kills at random moments, restarts, full disks, and common mistakes.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};

use tachograph_counters::sample::Sample;
use tachograph_logs::archive::{archive_inputs, complete_files, segments};

use super::kill;
use crate::archive::compare_with_engines;
use crate::run::{Folder, Outcome};

const FAST: [&str; 8] = [
    "record",
    r"\Memory\Available Bytes",
    r"\System\Context Switches/sec",
    "-si",
    "0.002",
    "-f",
    "archive",
    "--min-free=0",
];

fn fast<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&FAST[..], &["-o", "A"], rest].concat()
}

/// The times of the samples in an archive, which ascend.
#[track_caller]
fn times(folder: &Folder, name: &str) -> Vec<i64> {
    let mut reader = tachograph_logs::open(&folder.path(name)).expect("an archive");
    let (mut times, mut sample) = (Vec::new(), Sample::default());
    while reader.next(&mut sample).expect("readable files") {
        times.push(sample.at.utc.0);
    }
    assert!(times.is_sorted_by(|one, other| one < other), "a sample was read twice");
    times
}

/// The number of open segments of an archive.
fn open_segments(folder: &Folder) -> usize {
    let machines = archive_inputs(&folder.path("A")).expect("an archive");
    machines.iter().map(|machine| segments(&machine.folder).expect("a folder").len()).sum()
}

fn start(folder: &Folder, rest: &[&str]) -> Child {
    let mut command = folder.command_with_default_signals(fast(rest));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start command")
}

#[test]
fn kills_lose_and_duplicate_no_sample() {
    check_kills(50);
}

/// Runs if TACHO_LONG is set.
#[test]
fn long_kills_lose_and_duplicate_no_sample() {
    if std::env::var_os("TACHO_LONG").is_some() {
        check_kills(1000);
    }
}

/// Kills recorders of one archive at random moments.
#[track_caller]
fn check_kills(rounds: usize) {
    // The seed is fixed, so that the times of the kills vary, but are the same in each run.
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let folder = Folder::new();
    let mut printed: BTreeMap<i64, usize> = BTreeMap::new();
    for round in 0..rounds {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        // Start a new archive occasionally, since reading many small files takes long.
        if round % 50 == 0 && round > 0 {
            check(&folder, &printed);
            std::fs::remove_dir_all(folder.path("A")).expect("a folder");
            printed.clear();
        }
        let mut child = start(&folder, &["--print-times", "-segment", "0.03"]);
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        for _ in 0..seed % 40 {
            let line = lines.next().expect("a line while recording").expect("UTF-8");
            *printed.entry(line.parse().expect("a time")).or_default() += 1;
        }
        kill("-KILL", &child);
        let ended = child.wait_with_output().expect("an end");
        assert_eq!(ended.status.signal(), Some(9), "{}", String::from_utf8_lossy(&ended.stderr));
        // Read the times that were printed before the kill; each line is a single write to the pipe.
        for line in lines.map_while(Result::ok) {
            *printed.entry(line.parse().expect("a time")).or_default() += 1;
        }
    }
    check(&folder, &printed);
    // A recorder that ends normally leaves only complete files, and SQL finds all intervals.
    let ran = folder.run(fast(&["-sc", "3"]));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(open_segments(&folder), 0);
    check(&folder, &printed);
    let checked = folder.run(["check", "A"]);
    assert_eq!(checked.status, 0, "{}", checked.stdout);
    compare_with_engines(&folder, "A", "A");
}

/// Asserts that each sample whose time was printed is in the archive once.
#[track_caller]
fn check(folder: &Folder, printed: &BTreeMap<i64, usize>) {
    assert!(printed.values().all(|count| *count == 1), "a time was printed twice");
    if printed.is_empty() {
        return;
    }
    let found: BTreeMap<i64, usize> = times(folder, "A").into_iter().map(|time| (time, 1)).collect();
    let missing: Vec<_> = printed.keys().filter(|time| !found.contains_key(time)).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:?}", missing.len(), printed.len());
}

#[test]
fn an_archive_is_recorded_and_continued() {
    let folder = Folder::new();
    for round in 1..=3 {
        let ran = folder.run(fast(&["-sc", "40", "-segment", "0.02"]));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains(" files, 40 samples over "), "{}", ran.stderr);
        assert_eq!(times(&folder, "A").len(), 40 * round);
        assert_eq!(open_segments(&folder), 0);
    }
    let rows = folder.stats(&["A", "-c", r"\Memory\Available Bytes"]);
    assert_eq!(crate::run::row(&rows, r"\Memory\Available Bytes")["values"], 120);
    compare_with_engines(&folder, "A", "A");
    // The same samples as one log have the same statistics.
    folder.relog(["A", "-o", "all.blg"]);
    assert_eq!(folder.stats(&["A"]), folder.stats(&["all.blg"]));
    // Days that have passed are merged.
    let machine = archive_inputs(&folder.path("A")).expect("an archive").remove(0).folder;
    assert!(complete_files(&machine).expect("files").len() > 3);
    let nothing = folder.run(["archive", "compact", "A"]);
    assert_eq!(nothing.status, 0);
}

#[test]
fn files_of_another_user_are_not_merged() {
    // Only root can give a folder to another user.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new();
    crate::log_fixture::mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-f", "archive", "-o", "A"]);
    let machine = folder.path("A/machine=WEB1");
    std::os::unix::fs::chown(&machine, Some(12_345), None).expect("root");
    let refused = folder.run(["archive", "compact", "A"]);
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains(r"run 'sudo -u \#12345 tacho archive compact "), "{}", refused.stderr);
    assert!(!machine.join("_open").exists(), "nothing was created");
}

#[test]
fn past_days_are_merged() {
    let folder = Folder::new();
    crate::log_fixture::mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    for (begin, end) in [("10:00:00", "10:00:07"), ("10:00:07", "10:00:12"), ("10:00:12", "10:01:00")] {
        let (begin, end) = (format!("3/5/2024 {begin}"), format!("3/5/2024 {end}"));
        folder.relog(["all.blg", "-b", &begin, "-e", &end, "-f", "archive", "-a", "-o", "A"]);
    }
    let before = folder.stats(&["A"]);
    let merged = folder.prints(["archive", "compact", "A"]);
    assert!(merged.starts_with("machine=WEB1/date=2024-03-05: 3 files of "), "{merged}");
    assert!(merged.contains(" -> 1 file of "), "{merged}");
    assert_eq!(folder.stats(&["A"]), before);
    assert_eq!(before, folder.stats(&["all.blg"]));
    compare_with_engines(&folder, "all.blg", "A");
    let again = folder.run(["archive", "compact", "A"]);
    again.fails_with(0, "A: no past day has several small files");
    let refused = folder.run(["archive", "compact", "A/machine=WEB1/date=2024-03-05"]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    let refused = folder.run(["archive", "compact", "."]);
    assert!(
        refused.status == 1 && refused.stderr.contains("this is a folder, not a log"),
        "{}",
        refused.stderr
    );
}

#[test]
fn two_recorders_of_one_machine_are_refused() {
    let folder = Folder::new();
    let mut child = start(&folder, &["--print-times"]);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    lines.next().expect("a line while recording").expect("UTF-8");
    let second = folder.run(fast(&["-sc", "2"]));
    assert_eq!(second.status, 2, "{}", second.stderr);
    assert!(second.stderr.contains(": another recorder is writing it"), "{}", second.stderr);
    // Readers read the open segment too.
    assert!(!times(&folder, "A").is_empty());
    let checked = folder.run(["check", "A"]);
    assert_eq!(checked.status, 0, "{}{}", checked.stdout, checked.stderr);
    kill("-INT", &child);
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(open_segments(&folder), 0);
}

#[test]
fn no_file_is_added_beside_open_segments() {
    let folder = Folder::new();
    let ran = folder.run([&FAST[..], &["-o", "B", "-sc", "3"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut child = start(&folder, &["--print-times"]);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    lines.next().expect("a line while recording").expect("UTF-8");
    let add = || folder.run(["relog", "B", "-f", "archive", "-a", "-o", "A"]);
    let refused = add();
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("nothing was added, because a recorder is writing"),
        "{}",
        refused.stderr
    );
    kill("-KILL", &child);
    child.wait().expect("an end");
    let before = times(&folder, "A");
    let refused = add();
    assert_ne!(refused.status, 0);
    assert!(refused.stderr.contains("with 'tacho archive compact'"), "{}", refused.stderr);
    let compacted = folder.run(["archive", "compact", "A"]);
    assert_eq!(compacted.status, 0, "{}", compacted.stderr);
    let added = add();
    assert_eq!(added.status, 0, "{}", added.stderr);
    assert_eq!(times(&folder, "A"), [times(&folder, "B"), before].concat());
}

#[test]
fn wrong_folders_and_options_are_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("other")).expect("a folder");
    folder.write("other/file", "");
    let record = |rest: &[&str]| folder.run([&FAST[..], rest].concat());
    record(&["-o", "other"])
        .fails_with(2, "other: the folder is neither empty nor an archive: name another folder");
    record(&["-o", "other/file"])
        .fails_with(2, "other/file: this is a file; an archive is a folder: use another name");
    record(&["-o", "none/A"]).fails_with(1, "none/A: its folder does not exist; create it first");
    record(&["-o", "-"]).fails_with(2, "an archive is a folder: use -o FOLDER");
    for (option, text) in [
        (&["-y"][..], "-y cannot be used with -f archive: an existing archive is always continued"),
        (&["-a"], "-a cannot be used with -f archive: an existing archive is always continued"),
        (&["-v", "nnnnnn"], "-v cannot be used with -f archive: the files of an archive are named by time"),
    ] {
        record(&[&["-o", "A"], option].concat()).fails_with(2, text);
    }
    let of_log = folder.run(["record", r"\Memory\*", "--keep", "3d", "-o", "a.blg"]);
    of_log.fails_with(2, "--keep applies only to archives: add -f archive");
    let of_folder = folder.run(["record", r"\Memory\*", "-o", "other"]);
    of_folder.fails_with(
        2,
        "other: this is a folder, not a file; -f archive records into the folder of an archive",
    );
    assert_eq!(folder.names(), ["other"]);
}

#[test]
fn a_full_disk_pauses_the_recording() {
    let folder = Folder::new();
    let record = format!(
        r"'{}' record '\Process(*)\*' -si 0.01 -sc 40 -f archive --min-free 0 -o disk/A",
        env!("CARGO_BIN_EXE_tacho")
    );
    let Some(output) = folder.on_full_disk("1m", &record) else { return };
    let ran = Outcome::from(output);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("recording is paused: No space left on device"), "{}", ran.stderr);
    assert!(ran.stderr.contains(" dropped (recording paused, or clock set back)"), "{}", ran.stderr);
    assert!(!times(&folder, "disk/A").is_empty());
}

#[test]
fn a_recording_whose_samples_were_all_dropped_fails() {
    let folder = Folder::new();
    let ran = folder.run([&FAST[..7], &["--min-free=999999GB", "-o", "A", "-sc", "2"]].concat());
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("recording is paused: "), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("nothing was recorded: 2 samples were dropped (recording paused"),
        "{}",
        ran.stderr
    );
}
