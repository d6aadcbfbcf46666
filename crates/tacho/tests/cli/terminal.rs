//! Human-readable output has no control characters, even if names contain some. Machine-readable output has the names
//! unchanged.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, counter, one, raw};
use crate::run::{Folder, Outcome};

const CLEAR: &str = "\u{1b}[2J";
const SHOWN: &str = r"\u{1b}[2J";

/// A log whose names contain control characters, and the damaged start of that log.
fn hostile() -> Folder {
    let folder = Folder::new();
    let name = format!("{CLEAR}evil\u{9b}31m\nname\r");
    let mut log = LogFixture::new(&format!("WEB{CLEAR}"))
        .value(&format!("Set{CLEAR}"), counter(&name, CounterType::RAWCOUNT))
        .value_of("Inst", &format!("i{CLEAR}"), counter("plain", CounterType::RAWCOUNT));
    log.zone.standard_name = format!("Zone{CLEAR}");
    log.buffer_bytes = 1024;
    for second in 0..40 {
        log.at(second, vec![one(raw(second, 0)), one(raw(second, 0))]);
    }
    log.write(&folder.path("in.blg"));
    let bytes = folder.bytes("in.blg");
    folder.write("cut\u{7}.blg", &bytes[..bytes.len() * 2 / 3 + 100]);
    folder
}

#[track_caller]
fn assert_clean(ran: &Outcome) {
    for text in [&ran.stdout, &ran.stderr] {
        let control = text.chars().find(|character| character.is_control() && *character != '\n');
        assert_eq!(control, None, "{text:?}");
    }
}

#[test]
fn names_in_human_readable_output_are_escaped() {
    let folder = hostile();
    for (arguments, shown) in [
        (
            &["list", "in.blg"][..],
            format!(r"  {SHOWN}evil\u{{9b}}31m\u{{a}}name\u{{d}}  PERF_COUNTER_RAWCOUNT"),
        ),
        (&["stats", "in.blg"], format!(r"\\WEB{SHOWN}\Inst(i{SHOWN})\plain ")),
        (&["check", "in.blg"], format!("machine WEB{SHOWN}\n")),
        (&["relog", "in.blg"], format!("Zone{SHOWN} (UTC+01:00)")),
        (&["relog", "in.blg", "-q"], format!("\n\\\\WEB{SHOWN}\\Inst(i{SHOWN})\\plain\n")),
        (&["check", "cut\u{7}.blg"], r"'tacho check cut\u{7}.blg --salvage OUT'".to_owned()),
    ] {
        let ran = folder.run(arguments);
        assert_clean(&ran);
        assert!(ran.stdout.contains(&shown), "{arguments:?} {}", ran.stdout);
    }
    // A line for each counter.
    assert_eq!(folder.prints(["stats", "in.blg"]).lines().count(), 3);
}

#[test]
fn names_in_messages_are_escaped() {
    let folder = hostile();
    for (arguments, status, shown) in [
        (&["list", "cut\u{7}.blg"][..], 0, r"tacho: cut\u{7}.blg: "),
        (&["list", "no\nlog\u{1b}.blg"], 1, r"tacho: no\u{a}log\u{1b}.blg: cannot read: No such file"),
        (
            &["stats", "in.blg", "-c", "\\Memory\\a\u{1b}\nb"],
            2,
            r"tacho: '\Memory\a\u{1b}\u{a}b' is not in the log",
        ),
        (&["stats", "in.blg", "-c", "\u{1b}\nMemory"], 2, r"tacho: -c '\u{1b}\u{a}Memory': "),
        (
            &["stats", "in.blg", "-c", r"\Set?[2K\*"],
            2,
            &format!(r"did you mean the counter set 'Set{SHOWN}'?"),
        ),
        (&["relog", "in.blg", "-y", "-o", "out\n.csv"], 0, r"tacho: out\u{a}.csv: 40 samples written"),
        (&["stats", "in.blg", "-b", "2024-03-06", "-e", "\n2024-03-05"], 2, r"-e '\u{a}2024-03-05'"),
    ] {
        let ran = folder.run(arguments);
        assert_clean(&ran);
        assert_eq!((ran.status, ran.stderr.lines().count()), (status, 1), "{arguments:?} {}", ran.stderr);
        assert!(ran.stderr.contains(shown), "{arguments:?} {}", ran.stderr);
    }
}

#[test]
fn several_errors_have_a_line_each() {
    let folder = hostile();
    let ran = folder.run(["stats", "in.blg", "-c", r"\None\*", r"\Nor\a", "\\This\\\u{7}"]);
    assert_clean(&ran);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 3), "{}", ran.stderr);
    assert!(ran.stderr.lines().all(|line| line.starts_with(r"tacho: '\")), "{}", ran.stderr);
}

#[test]
fn machine_readable_output_has_the_names_unchanged() {
    let folder = hostile();
    let rows = folder.stats(&["in.blg"]);
    let counter = format!("{CLEAR}evil\u{9b}31m\nname\r");
    assert!(rows.iter().any(|row| row["counter"] == counter), "{rows:#?}");
    assert!(folder.prints(["stats", "-f", "csv", "in.blg"]).contains(&counter));
    assert!(folder.prints(["relog", "in.blg", "-o", "-"]).contains(&counter));
    folder.relog(["in.blg", "-q", "-o", "paths.txt"]);
    assert!(folder.text("paths.txt").contains(&format!(r"\Inst(i{CLEAR})\plain")));
}
