//! `query`: output files, and signals.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::query::{AVAILABLE, query};
use crate::run::{Folder, Outcome};

/// Starts a query that runs until it is stopped.
fn endless(folder: &Folder, arguments: &[&str]) -> Child {
    folder
        .command_with_default_signals([&["query", "-si", "0.02", AVAILABLE][..], arguments].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start command")
}

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.expect("kill").success());
}

/// Waits until a file has this number of lines.
fn wait_for_lines(folder: &Folder, name: &str, lines: usize) {
    let begun = Instant::now();
    while std::fs::read_to_string(folder.path(name)).map_or(0, |text| text.lines().count()) < lines {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written to {name}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_existing_file_is_only_overwritten_with_y() {
    let folder = Folder::new();
    for name in ["out.csv", "out.blg", "out.json"] {
        folder.write(name, "mine");
        query(&folder, &["-sc", "1", AVAILABLE, "-o", name])
            .fails_with(2, &format!("{name} exists: use -y to overwrite it, or another name"));
        assert_eq!(folder.text(name), "mine");
        let ran = query(&folder, &["-sc", "1", AVAILABLE, "-o", name, "-y"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(!folder.bytes(name).starts_with(b"mine"), "{name}");
    }
    query(&folder, &["-sc", "1", AVAILABLE, "-o", "."]).fails_with(2, ".: this is a folder, not a file");
    for name in ["none/out.csv", "none/out.blg"] {
        query(&folder, &["-sc", "1", AVAILABLE, "-o", name])
            .fails_with(1, &format!("{name}: its folder does not exist; create it first"));
    }
    let recorded = std::fs::File::open(folder.path("out.blg")).expect("the log");
    recorded.lock().expect("a lock");
    query(&folder, &["-sc", "1", AVAILABLE, "-o", "out.blg", "-y"])
        .fails_with(2, "out.blg: another recorder is writing it; use another name, or stop that recorder");
}

#[test]
fn the_extension_selects_the_format() {
    let folder = Folder::new();
    for (name, start) in
        [("a.csv", "\"(PDH-CSV"), ("a.tsv", "\"(PDH-TSV"), ("a.json", "{\"time\""), ("a", "\"(PDH-CSV")]
    {
        assert_eq!(query(&folder, &["-sc", "1", AVAILABLE, "-o", name]).status, 0);
        assert!(folder.text(name).starts_with(start), "{name}");
    }
}

#[test]
fn a_blg_has_raw_values() {
    let folder = Folder::new();
    let ran = query(&folder, &["-sc", "3", "-f", "BIN", "-o", "out.blg", r"\Memory\Page Faults/sec"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let rows = folder.stats(&["out.blg"]);
    // The baseline is not counted.
    assert_eq!((rows.len(), &rows[0]["values"]), (1, &3.into()));
    assert_eq!(rows[0]["average_kind"], "raw");
}

#[test]
fn signals_end_the_query_with_a_complete_file() {
    let folder = Folder::new();
    for (index, name) in ["-INT", "-TERM"].into_iter().enumerate() {
        let file = format!("{index}.csv");
        let child = endless(&folder, &["-o", &file]);
        wait_for_lines(&folder, &file, 3);
        signal(&child, name);
        let ran = Outcome::from(child.wait_with_output().expect("an end"));
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        let text = folder.text(&file);
        assert!(text.ends_with("\"\r\n"), "{text}");
        assert!(folder.stats(&[&file])[0]["values"].as_u64().is_some_and(|values| values >= 2));
    }
}

#[test]
fn a_killed_query_leaves_complete_rows() {
    let folder = Folder::new();
    let mut child = endless(&folder, &["-o", "out.csv"]);
    wait_for_lines(&folder, "out.csv", 3);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let text = folder.text("out.csv");
    assert!(text.ends_with("\"\r\n"), "{text}");
}

#[test]
fn a_closed_pipe_ends_the_query_silently() {
    let folder = Folder::new();
    for format in ["csv", "json", "table"] {
        let mut child = endless(&folder, &["-f", format]);
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        assert!(!line.is_empty());
        drop(stdout);
        let ran = Outcome::from(child.wait_with_output().expect("an end"));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(!ran.stderr.contains("pipe"), "{}", ran.stderr);
    }
}

#[test]
fn a_full_device_is_an_error_with_its_name() {
    let folder = Folder::new();
    for format in ["csv", "json", "table"] {
        let ran = query(&folder, &["-sc", "2", AVAILABLE, "-f", format, "-o", "/dev/full"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
        assert!(
            ran.stderr.contains("tacho: /dev/full: cannot write: No space left on device\n"),
            "{}",
            ran.stderr
        );
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let arguments = ["query", "-si", "0.05", "-sc", "2", AVAILABLE, "-f", format];
        let output = folder.command(arguments).stdout(full).output().expect("start command");
        let ran = Outcome::from(output);
        assert_eq!(ran.status, 1);
        assert!(
            ran.stderr.contains("standard output: cannot write: No space left on device"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_late_instance_has_no_column_and_is_reported_once() {
    let folder = Folder::new();
    let mut child = endless(&folder, &[r"\Process(*)\Thread Count", "-o", "out.csv"]);
    wait_for_lines(&folder, "out.csv", 2);
    let mut late = Command::new("sleep").arg("60").spawn().expect("a process");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("appeared after the start") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("a line") > 0, "nothing was reported");
    }
    late.kill().expect("a kill");
    late.wait().expect("an end");
    assert!(line.starts_with(r"tacho: '\\") && line.contains(r"\Process("), "{line}");
    signal(&child, "-INT");
    let rest = std::io::read_to_string(stderr).expect("text");
    assert!(!rest.contains("has no column"), "{rest}");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    let text = folder.text("out.csv");
    let widths: std::collections::BTreeSet<_> =
        text.lines().map(|line| line.matches("\",\"").count()).collect();
    assert_eq!(widths.len(), 1, "{widths:?}");
}

#[test]
fn an_unknown_extension_needs_a_format() {
    let folder = Folder::new();
    let why = "z.txt: unknown format: use -f bin, csv, tsv or json, or a name that ends in .blg, .csv, .tsv or .json";
    folder.run(["query", r"\Memory\Available Bytes", "-sc", "1", "-o", "z.txt"]).fails_with(2, why);
    folder.run(["relog", "in.blg", "-o", "z.txt"]).fails_with(2, why);
    assert_eq!(folder.names(), [""; 0]);
    for arguments in [&["-f", "csv", "-o", "z.txt"][..], &["-o", "z"]] {
        folder
            .prints([&["query", r"\Memory\Available Bytes", "-si", "0.02", "-sc", "1"], arguments].concat());
        assert!(folder.text(arguments[arguments.len() - 1]).starts_with("\"(PDH-CSV 4.0)"));
    }
}
