//! Logs that are renamed or deleted during a recording.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use tachograph_counters::sample::Sample;

use super::{arguments, kill, samples, summary, wait_for};
use crate::run::{Folder, Outcome};

fn start(folder: &Folder, rest: &[&str]) -> Child {
    let mut command = folder.signalled_command(arguments(rest));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start command")
}

/// Pseudo-random numbers with a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Renames the log repeatedly while it is recorded, as logrotate does; returns how often.
fn rotate(folder: &Folder, name: &str, child: &mut Child, random: &mut Random) -> usize {
    let log = folder.path(name);
    let rounds = 12;
    for round in 0..rounds {
        wait_for(&log, 1 + random.below(3) as usize, child);
        // Rename at a random time between two samples or during a write.
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        std::fs::rename(&log, folder.path(&format!("{round:02}-{name}"))).expect("the log");
        match random.below(3) {
            // As with logrotate's option `create`.
            0 => drop(std::fs::OpenOptions::new().create(true).append(true).open(&log).expect("a file")),
            1 => kill("-HUP", child),
            _ => {}
        }
    }
    wait_for(&log, 2, child);
    rounds
}

/// All samples of the log and of the renamed files, in order. Each file must be intact.
#[track_caller]
fn all_samples(folder: &Folder, name: &str, files: usize) -> Vec<Sample> {
    let names: Vec<_> = folder.names().into_iter().filter(|found| found.ends_with(name)).collect();
    assert_eq!(names.len(), files, "{names:?}");
    let mut all = Vec::new();
    for name in names {
        let checked = folder.run(["check", &name]);
        assert!(checked.stdout.contains(": intact: "), "{checked:?}");
        all.extend(samples(&folder.path(&name)));
    }
    assert!(all.is_sorted_by(|one, other| one.at.utc < other.at.utc));
    all
}

#[test]
fn rotation_loses_no_samples() {
    for (seed, name) in [(1, "a.blg"), (2, "a.csv"), (3, "a.blg")] {
        let folder = Folder::new();
        let mut child = start(&folder, &["-o", name]);
        let rounds = rotate(&folder, name, &mut child, &mut Random(seed));
        kill("-TERM", &child);
        let ran = Outcome::from(child.wait_with_output().expect("an end"));
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        let moved: Vec<_> = ran.stderr.lines().filter(|line| line.contains(": was renamed with ")).collect();
        assert_eq!(moved.len(), rounds, "{}", ran.stderr);
        let count = all_samples(&folder, name, rounds + 1).len();
        let summary = ran.stderr.lines().last().unwrap_or_default().replace(',', "");
        let expected = format!("tacho: {name}: {} files {count} samples over ", rounds + 1);
        assert!(summary.starts_with(&expected), "{count}: {summary}");
    }
}

#[test]
fn a_killed_recorder_leaves_rotated_logs_intact() {
    for (seed, name) in [(4, "a.blg"), (5, "a.csv")] {
        let folder = Folder::new();
        let mut child = start(&folder, &["-o", name]);
        let rounds = rotate(&folder, name, &mut child, &mut Random(seed));
        let seen = samples(&folder.path(name)).len();
        kill("-KILL", &child);
        assert_eq!(child.wait().expect("an end").signal(), Some(9));
        let last = samples(&folder.path(name)).len();
        assert!(last >= seen);
        // Only the sample being written can be lost; renamed files are complete.
        std::fs::rename(folder.path(name), folder.path("last")).expect("the log");
        let all = all_samples(&folder, name, rounds).len();
        assert!(all >= rounds);
        let rows = folder.stats(&["last"]);
        assert_eq!(crate::run::row(&rows, r"\Memory\Available Bytes")["values"], last);
    }
}

#[test]
fn sighup_closes_a_renamed_log_immediately() {
    let folder = Folder::new();
    let command = ["record", super::COUNTERS[0], "-si", "1:00:00", "-o", "a.blg"];
    let mut child = folder.signalled_command(command).stderr(Stdio::piped()).spawn().expect("start command");
    wait_for(&folder.path("a.blg"), 1, &mut child);
    std::fs::rename(folder.path("a.blg"), folder.path("b.blg")).expect("the log");
    kill("-HUP", &child);
    let mut notice = String::new();
    let stderr = child.stderr.take().expect("a pipe");
    // The next sample is an hour away.
    BufReader::new(stderr).read_line(&mut notice).expect("a line");
    assert_eq!(
        notice,
        "tacho: a.blg: was renamed with 1 sample of this recording; the next sample starts a new log with this name\n"
    );
    kill("-TERM", &child);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert_eq!(folder.names(), ["b.blg"]);
    assert_eq!(samples(&folder.path("b.blg")).len(), 1);
    assert!(folder.prints(["check", "b.blg"]).contains(": intact: "));
}

#[test]
fn a_deleted_log_is_created_again() {
    let folder = Folder::new();
    let mut child = start(&folder, &["-o", "a.blg"]);
    wait_for(&folder.path("a.blg"), 3, &mut child);
    std::fs::remove_file(folder.path("a.blg")).expect("the log");
    wait_for(&folder.path("a.blg"), 3, &mut child);
    kill("-INT", &child);
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("tacho: a.blg: was deleted with "), "{}", ran.stderr);
    let summary = ran.stderr.lines().last().unwrap_or_default();
    assert!(
        summary.starts_with("tacho: a.blg: 2 files (1 kept, 1 deleted during the recording), "),
        "{summary}"
    );
    assert!(folder.prints(["check", "a.blg"]).contains(": intact: "));
}

#[test]
fn another_file_with_the_name_of_the_log_ends_the_recording() {
    let folder = Folder::new();
    let mut child = start(&folder, &["-y", "-o", "a.blg"]);
    wait_for(&folder.path("a.blg"), 3, &mut child);
    folder.write("other", "another's");
    std::fs::hard_link(folder.path("a.blg"), folder.path("b.blg")).expect("a link");
    std::fs::rename(folder.path("other"), folder.path("a.blg")).expect("a file");
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "tacho: a.blg: it was renamed or deleted, and another file now has its name; it was not overwritten"
    );
    assert_eq!(folder.text("a.blg"), "another's");
    assert!(folder.prints(["check", "b.blg"]).contains(": intact: "));
    // The summary of a failed recording describes the log.
    let ran = Outcome {
        stderr: ran.stderr.lines().nth(1).map(|line| format!("{line}\n")).unwrap_or_default(),
        ..ran
    };
    assert!(summary(&ran).starts_with("a.blg: "), "{}", ran.stderr);
}
