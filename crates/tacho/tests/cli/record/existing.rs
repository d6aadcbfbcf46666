//! Logs that are there already.

use std::process::Stdio;

use tachograph_counters::CounterType;

use super::{COUNTERS, arguments, recorded, samples, wait_for};
use crate::made::{Made, counter, one, raw};
use crate::run::Folder;

#[test]
fn a_log_is_never_overwritten_unless_asked_for() {
    let folder = Folder::new();
    folder.write("a.blg", "mine");
    folder
        .run(arguments(&["-sc", "1", "-o", "a.blg"]))
        .refused(2, "a.blg exists: give -y to overwrite it, -a to append to it, or another name");
    assert_eq!(folder.text("a.blg"), "mine");
    for option in ["-y", "-ow", "--yes"] {
        recorded(&folder, &["-sc", "2", option, "-o", "a.blg"]);
        assert_eq!(samples(&folder.path("a.blg")).len(), 2);
    }
}

#[test]
fn a_mistake_leaves_what_would_be_overwritten() {
    let folder = Folder::new();
    folder.write("a.blg", "mine");
    let ran = folder.run(["record", r"\Memroy\*", "-y", "-o", "a.blg"]);
    ran.refused(2, r"'\Memroy\*' is not on this machine: did you mean the counter set 'Memory'?");
    assert_eq!(folder.text("a.blg"), "mine");
}

#[test]
fn the_same_counters_go_on() {
    for name in ["a.blg", "a.csv", "a.tsv"] {
        let folder = Folder::new();
        // Where there is nothing, a log begins.
        recorded(&folder, &["-a", "-sc", "3", "-o", name]);
        let said = recorded(&folder, &["-a", "-sc", "2", "-o", name]);
        assert!(said.starts_with(&format!("{name}: 2 samples over ")), "{said}");
        let checked = folder.prints(["check", name]);
        assert!(checked.contains(": whole: ") && checked.contains(", 5 samples from "), "{checked}");
        let times: Vec<_> = samples(&folder.path(name)).iter().map(|sample| sample.at.utc).collect();
        assert!(times.is_sorted_by(|one, other| one < other), "{times:?}");
    }
}

#[test]
fn other_counters_are_refused_with_the_difference() {
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
fn a_log_that_ends_later_is_refused() {
    let folder = Folder::new();
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("the name of this machine");
    let mut log =
        Made::new(machine.trim()).value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT));
    // In the year 2055.
    log.at(1_000_000_000, vec![one(raw(1, 0))]);
    log.write(&folder.path("a.blg"));
    let before = folder.bytes("a.blg");
    let ran = folder.run(["record", COUNTERS[0], "-a", "-sc", "1", "-o", "a.blg"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("a.blg: cannot append: the log ends at 2055-11-"), "{}", ran.stderr);
    assert_eq!(folder.bytes("a.blg"), before);
}

#[test]
fn another_format_is_refused() {
    let folder = Folder::new();
    recorded(&folder, &["-sc", "1", "-o", "a.csv"]);
    folder
        .run(arguments(&["-a", "-f", "bin", "-sc", "1", "-o", "a.csv"]))
        .refused(2, "a.csv: cannot append: it is a CSV; give -f the same format");
    folder.write("b.blg", "no log at all");
    let ran = folder.run(arguments(&["-a", "-sc", "1", "-o", "b.blg"]));
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.starts_with("tacho: b.blg: "), "{}", ran.stderr);
    assert_eq!(folder.text("b.blg"), "no log at all");
}

#[test]
fn a_log_that_is_being_written_is_left_alone() {
    let folder = Folder::new();
    let log = folder.path("a.blg");
    let mut first =
        folder.command(arguments(&["-o", "a.blg"])).stderr(Stdio::null()).spawn().expect("it starts");
    wait_for(&log, 2, &mut first);
    for option in ["-a", "-y"] {
        let busy = "a.blg: another recorder is writing it; give another name, or end that one";
        folder.run(arguments(&[option, "-sc", "1", "-o", "a.blg"])).refused(2, busy);
    }
    wait_for(&log, 4, &mut first);
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    recorded(&folder, &["-a", "-sc", "1", "-o", "a.blg"]);
}

#[test]
fn a_log_that_is_full_is_refused() {
    let folder = Folder::new();
    let much =
        ["record", r"\Processor Information(*)\*", r"\Paging Activity\*", "-si", "0.002", "-o", "a.blg"];
    let ran = folder.run([&much[..], &["-sc", "600"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let before = folder.bytes("a.blg");
    assert!(before.len() > 1 << 20);
    let ran = folder.run([&much[..], &["-a", "-max", "1"]].concat());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("over -max"), "{}", ran.stderr);
    assert_eq!(folder.bytes("a.blg"), before);
}
