//! Files that are being written: no command overwrites or replaces them.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::log_fixture::mixed;
use crate::record::kill;
use crate::run::{Folder, Outcome};

const AVAILABLE: &str = r"\Memory\Available Bytes";

/// Starts a command that writes to a file until it is stopped.
fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut command = folder.command_with_default_signals(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start command")
}

/// Waits until a file is longer than this number of bytes.
fn wait_for(folder: &Folder, name: &str, length: u64, child: &mut Child) {
    let begun = Instant::now();
    while std::fs::metadata(folder.path(name)).map_or(0, |found| found.len()) <= length {
        assert_eq!(child.try_wait().expect("a child"), None, "{name}: the writer ended too early");
        assert!(begun.elapsed() < Duration::from_secs(60), "{name}: nothing is written");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Stops a command; returns its messages.
fn stop(child: Child) -> Outcome {
    kill("-TERM", &child);
    Outcome::from(child.wait_with_output().expect("an end"))
}

/// Commands that would change this file.
fn commands(name: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["query", AVAILABLE, "-sc", "1", "-y", "-f", "csv", "-o", name],
        vec!["query", AVAILABLE, "-sc", "1", "-y", "-f", "json", "-o", name],
        vec!["query", AVAILABLE, "-sc", "1", "-y", "-f", "table", "-o", name],
        vec!["query", AVAILABLE, "-sc", "1", "-y", "-f", "bin", "-o", name],
        vec!["cpi", "-r", "0.05", "-y", "-o", name],
        vec!["cpi", "-r", "0.05", "-y", "--trace", name],
        vec!["record", AVAILABLE, "-sc", "1", "-y", "-o", name],
        vec!["record", AVAILABLE, "-sc", "1", "-a", "-o", name],
        vec!["relog", "in.blg", "-y", "-o", name],
        vec!["relog", "in.blg", "-q", "-y", "-o", name],
        vec!["check", "in.blg", "--salvage", name, "-y"],
        vec!["list", "in.blg", "-y", "-o", name],
    ]
}

/// Runs commands that would change a file while it is written. The file only gets longer. `record` writes only logs, and refuses
/// another file with other messages.
fn assert_is_locked(folder: &Folder, name: &str, is_log: bool, mut child: Child) -> Outcome {
    wait_for(folder, name, 0, &mut child);
    let before = folder.bytes(name);
    for arguments in commands(name).into_iter().filter(|arguments| is_log || arguments[0] != "record") {
        let ran = folder.run(&arguments);
        let busy = format!(
            "tacho: {name}: another recorder is writing it; use another name, or stop that recorder\n"
        );
        // `check` has already printed its result, and `cpi` can report missing counters before.
        assert!(ran.status == 2 && ran.stderr.ends_with(&busy), "{arguments:?}: {ran:?}");
    }
    assert!(folder.bytes(name).len() >= before.len());
    let ran = stop(child);
    assert!(!ran.stderr.contains("was deleted") && !ran.stderr.contains("truncated"), "{}", ran.stderr);
    assert!(folder.names().iter().all(|name| !name.ends_with(".partial")), "{:?}", folder.names());
    ran
}

fn folder() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 3).write(&folder.path("in.blg"));
    folder
}

#[test]
fn a_recorded_file_is_not_overwritten_or_replaced() {
    for name in ["a.blg", "a.csv"] {
        let folder = folder();
        let child = start(&folder, &["record", AVAILABLE, "-si", "0.02", "-o", name]);
        let ran = assert_is_locked(&folder, name, true, child);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(folder.prints(["check", name]).contains(": intact: "));
    }
}

#[test]
fn relog_does_not_append_to_a_locked_file() {
    let folder = folder();
    mixed("WEB1", 10, 3).write(&folder.path("later.blg"));
    folder.relog(["in.blg", "-o", "a.csv"]);
    let before = folder.text("a.csv");
    let locked = std::fs::File::options().write(true).open(folder.path("a.csv")).expect("a file");
    locked.lock().expect("no other writer");
    folder
        .run(["relog", "later.blg", "-a", "-o", "a.csv"])
        .fails_with(2, "a.csv: another recorder is writing it; use another name, or stop that recorder");
    assert_eq!(folder.text("a.csv"), before);
    drop(locked);
    folder.relog(["later.blg", "-a", "-o", "a.csv"]);
    assert!(folder.text("a.csv").len() > before.len());
}

#[test]
fn the_output_of_query_is_not_overwritten_or_replaced() {
    for name in ["a.csv", "a.json", "a.blg"] {
        let folder = folder();
        let child = start(&folder, &["query", AVAILABLE, "-si", "0.02", "-o", name]);
        assert_is_locked(&folder, name, name != "a.json", child);
        if name != "a.json" {
            assert!(folder.prints(["check", name]).contains(": intact: "));
        }
    }
}

#[test]
fn the_output_of_cpi_is_not_overwritten_or_replaced() {
    let folder = folder();
    let child = start(&folder, &["cpi", "-t", "0.02", "-f", "csv", "-o", "a.csv"]);
    assert_is_locked(&folder, "a.csv", false, child);
    let text = folder.text("a.csv");
    assert!(text.ends_with('\n') && !text.contains('\0'), "{text}");
}
