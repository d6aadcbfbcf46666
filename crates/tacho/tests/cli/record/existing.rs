//! Existing logs.

use std::process::Stdio;

use tachograph_counters::CounterType;

use super::{COUNTERS, arguments, recorded, samples, wait_for};
use crate::log_fixture::{LogFixture, counter, one, raw};
use crate::run::Folder;

#[test]
fn a_log_is_only_overwritten_on_request() {
    let folder = Folder::new();
    folder.write("a.blg", "mine");
    folder
        .run(arguments(&["-sc", "1", "-o", "a.blg"]))
        .fails_with(2, "a.blg exists: use -y to overwrite it, -a to append to it, or another name");
    assert_eq!(folder.text("a.blg"), "mine");
    for option in ["-y", "-ow", "--yes"] {
        recorded(&folder, &["-sc", "2", option, "-o", "a.blg"]);
        assert_eq!(samples(&folder.path("a.blg")).len(), 2);
    }
}

#[test]
fn invalid_arguments_do_not_overwrite_the_log() {
    let folder = Folder::new();
    folder.write("a.blg", "mine");
    let ran = folder.run(["record", r"\Memroy\*", "-y", "-o", "a.blg"]);
    ran.fails_with(2, r"'\Memroy\*' is not on this machine: did you mean the counter set 'Memory'?");
    assert_eq!(folder.text("a.blg"), "mine");
}

#[test]
fn a_log_with_the_same_counters_is_continued() {
    for name in ["a.blg", "a.csv", "a.tsv"] {
        let folder = Folder::new();
        // Without an existing log, -a creates one.
        recorded(&folder, &["-a", "-sc", "3", "-o", name]);
        let summary = recorded(&folder, &["-a", "-sc", "2", "-o", name]);
        assert!(summary.starts_with(&format!("{name}: 2 samples over ")), "{summary}");
        let checked = folder.prints(["check", name]);
        assert!(checked.contains(": intact: ") && checked.contains(", 5 samples from "), "{checked}");
        let times: Vec<_> = samples(&folder.path(name)).iter().map(|sample| sample.at.utc).collect();
        assert!(times.is_sorted_by(|one, other| one < other), "{times:?}");
    }
}

/// Appending repairs the end, so `check` cannot report the lost sample any more.
#[test]
fn damage_is_reported_before_a_log_is_continued() {
    let folder = Folder::new();
    recorded(&folder, &["-sc", "3", "-o", "a.blg"]);
    let bytes = folder.bytes("a.blg");
    // The end of the events in the last buffer, which has 64 KiB.
    let buffer = bytes.len() - 0x10000;
    let field = bytes[buffer + 0x30..][..4].try_into().expect("4 bytes");
    let end = buffer + u32::from_le_bytes(field) as usize;
    folder.write("a.blg", &bytes[..end - 8]);
    let left = samples(&folder.path("a.blg"));
    assert_eq!(left.len(), 2);
    let ran = folder.run(arguments(&["-a", "-sc", "2", "-o", "a.blg"]));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("tacho: a.blg: damaged: "), "{}", ran.stderr);
    let last = format!("; the last intact sample is at {}\ntacho: a.blg: 2 samples over ", left[1].at);
    assert!(ran.stderr.contains(&last), "{}", ran.stderr);
    assert_eq!(samples(&folder.path("a.blg")).len(), 4);
}

#[test]
fn different_counters_are_refused() {
    for name in ["a.blg", "a.csv"] {
        let folder = Folder::new();
        recorded(&folder, &["-sc", "2", "-o", name]);
        let before = folder.bytes(name);
        let ran = folder.run(["record", COUNTERS[0], "-a", "-sc", "1", "-o", name]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.starts_with(&format!("tacho: {name}: cannot append: ")), "{}", ran.stderr);
        assert!(ran.stderr.contains(r"\System\Context Switches/sec'"), "{}", ran.stderr);
        assert_eq!(folder.bytes(name), before);
    }
}

#[test]
fn a_log_that_ends_in_the_future_is_refused() {
    let folder = Folder::new();
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("the name of this machine");
    let mut log = LogFixture::new(machine.trim())
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT));
    // The log ends in the year 2055.
    log.at(1_000_000_000, vec![one(raw(1, 0))]);
    log.write(&folder.path("a.blg"));
    let before = folder.bytes("a.blg");
    let ran = folder.run(["record", COUNTERS[0], "-a", "-sc", "1", "-o", "a.blg"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("a.blg: cannot append: the log ends at 2055-11-"), "{}", ran.stderr);
    assert_eq!(folder.bytes("a.blg"), before);
}

#[test]
fn a_different_format_is_refused() {
    let folder = Folder::new();
    recorded(&folder, &["-sc", "1", "-o", "a.csv"]);
    folder
        .run(arguments(&["-a", "-f", "bin", "-sc", "1", "-o", "a.csv"]))
        .fails_with(2, "a.csv: cannot append: its format is CSV; use the same with -f");
    folder.write("b.blg", "no log at all");
    let ran = folder.run(arguments(&["-a", "-sc", "1", "-o", "b.blg"]));
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.starts_with("tacho: b.blg: "), "{}", ran.stderr);
    assert_eq!(folder.text("b.blg"), "no log at all");
}

#[test]
fn a_log_that_is_being_written_is_refused() {
    let folder = Folder::new();
    let log = folder.path("a.blg");
    let mut first = folder
        .command(arguments(&["-o", "a.blg"]))
        .stderr(Stdio::null())
        .spawn()
        .expect("the recorder starts");
    wait_for(&log, 2, &mut first);
    for option in ["-a", "-y"] {
        let busy = "a.blg: another recorder is writing it; use another name, or stop that recorder";
        folder.run(arguments(&[option, "-sc", "1", "-o", "a.blg"])).fails_with(2, busy);
    }
    wait_for(&log, 4, &mut first);
    first.kill().expect("the recorder is running");
    first.wait().expect("the recorder ended");
    recorded(&folder, &["-a", "-sc", "1", "-o", "a.blg"]);
}

#[test]
fn a_full_log_is_refused() {
    let folder = Folder::new();
    let much =
        ["record", r"\Processor Information(*)\*", r"\Paging Activity\*", "-si", "0.002", "-o", "a.blg"];
    let ran = folder.run([&much[..], &["-sc", "600"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let before = folder.bytes("a.blg");
    assert!(before.len() > 1 << 20);
    let ran = folder.run([&much[..], &["-a", "-max", "1"]].concat());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("more than -max"), "{}", ran.stderr);
    assert_eq!(folder.bytes("a.blg"), before);
}
