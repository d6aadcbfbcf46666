//! `tacho cpi` of the system and of processes: samples, the facility's table, CSV, JSON, wrong calls, help. With hardware
//! counters and without.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::cpi::{objects, only_messages};
use crate::run::{Folder, Ran};

/// Whether this machine counts cycles and instructions of its processors for us.
pub(crate) fn has_cpi(folder: &Folder) -> bool {
    let ran = folder.run(["cpi", "-noai", "-r", "0.02"]);
    match ran.status {
        0 => true,
        _ => {
            assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
            assert!(ran.stderr.starts_with("tacho: -noai leaves nothing to measure: "), "{ran:?}");
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
            false
        }
    }
}

/// What is printed, which must succeed; messages are allowed.
#[track_caller]
fn printed(folder: &Folder, arguments: &[&str]) -> String {
    let ran = folder.run([&["cpi"], arguments].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    only_messages(&ran.stderr);
    ran.stdout
}

#[test]
fn the_table_is_the_facilitys() {
    let folder = Folder::new();
    let text = printed(&folder, &["-r", "0.2"]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("counters ran")).collect();
    let [heading, rows @ ..] = &lines[..] else { panic!("{text}") };
    let heading: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(heading[..2], ["System", "CPU0"], "{text}");
    assert_eq!(
        rows.iter().map(|row| row[..6].trim_end()).collect::<Vec<_>>(),
        ["cpi", "cpi_wb", "idle%", "busy%"]
    );
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    let values: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|row| row.split_whitespace().skip(1).map(|cell| cell.parse().ok()).collect())
        .collect();
    assert!(values.iter().all(|row| row.len() == heading.len()), "{text}");
    // Shares are known on every machine, and are two parts of a whole.
    for (idle, busy) in values[2].iter().zip(&values[3]) {
        let sum = idle.expect("idle") + busy.expect("busy");
        assert!((99.98..=100.02).contains(&sum), "{text}");
    }
    if has_cpi(&folder) {
        // On an idle machine nothing is known of CPI while busy.
        assert!(values[0][0] > Some(0.0), "{text}");
    }
}

#[test]
fn a_result_for_each_interval() {
    let folder = Folder::new();
    let samples = objects(&printed(&folder, &["-r", "1", "-t", "0.25", "-f", "json"]));
    let seconds: Vec<f64> =
        samples.iter().map(|sample| sample["seconds"].as_f64().expect("a number")).collect();
    // A sample that was late on a busy machine may have left out the moment after it.
    let is_late = seconds.iter().any(|&seconds| seconds > 1.25 * 0.25);
    assert!(samples.len() == 4 || is_late && (1..4).contains(&samples.len()), "{seconds:?}");
    assert!(seconds.iter().sum::<f64>() > 0.99, "{seconds:?}");
    let times: Vec<&str> = samples.iter().map(|sample| sample["time"].as_str().expect("a time")).collect();
    assert!(times.iter().all(|time| time.parse::<jiff::Timestamp>().is_ok()), "{times:?}");
    // What is left at the end has a sample too.
    let samples = objects(&printed(&folder, &["-r", "0.3", "-t", "0.2", "--format=JSON", "-ds"]));
    let is_late = samples[0]["seconds"].as_f64() > Some(0.29);
    assert!(samples.len() == 2 || is_late, "{samples:?}");
    assert!(samples.iter().all(|sample| sample["processors"] == Value::Array(Vec::new())), "{samples:?}");
}

#[test]
fn one_line_per_sample() {
    let folder = Folder::new();
    let text = printed(&folder, &["-r", "0.2", "-ds"]);
    let line = text.strip_suffix('\n').expect("a line");
    let parts: Vec<&str> = line.split_whitespace().collect();
    let names: Vec<&str> = parts.iter().copied().step_by(2).collect();
    assert_eq!(names, ["cpi:", "cpi_wb:", "idle:", "busy:"], "{text}");
    let share = |part: &str| part.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
    let sum = share(parts[5]).expect("idle") + share(parts[7]).expect("busy");
    assert!((99.98..=100.02).contains(&sum), "{text}");

    let text = printed(&folder, &["--run=0.2", "--system-only", "--timestamp"]);
    let (time, rest) = text.split_once(' ').expect("a time stamp");
    assert!(time.parse::<jiff::Timestamp>().is_ok() && rest.starts_with("cpi: "), "{text}");
    let text = printed(&folder, &["-r=0.2", "-ts"]);
    let (time, rest) = text.split_once('\n').expect("a time stamp");
    assert!(time.parse::<jiff::Timestamp>().is_ok() && rest.starts_with("       System"), "{text}");
}

#[test]
fn without_utilization() {
    let folder = Folder::new();
    if has_cpi(&folder) {
        let text = printed(&folder, &["-r", "0.1", "-noai"]);
        assert!(!text.contains("busy") && !text.contains("cpi_wb") && text.contains("\ncpi "), "{text}");
        let text = printed(&folder, &["-r", "0.1", "-noai", "-ds"]);
        assert!(text.starts_with("cpi: ") && !text.contains("idle"), "{text}");
    } else {
        // A command runs all the same, and then nothing is known.
        let ran = folder.run(["cpi", "-noai", "-f", "csv", "-c", "echo out; exit 8"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (8, "out\n"));
        let row = ran.stderr.lines().last().expect("a row");
        assert!(row.ends_with(",process,false,,,,,,,,,,"), "{ran:?}");
    }
}

#[test]
fn csv_has_a_row_for_each_scope() {
    let folder = Folder::new();
    let text = printed(&folder, &["-r", "0.2", "-t", "0.1", "-f", "csv", "-o", "-"]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    assert_eq!(rows.iter().filter(|row| row[0] == "time").count(), 1, "{text}");
    let place = rows[0].iter().position(|column| *column == "scope").expect("a column");
    assert_eq!((rows[1][place], rows[2][place]), ("system", "cpu0"), "{text}");
    for row in &rows[1..] {
        assert!(row[0].parse::<jiff::Timestamp>().is_ok(), "{text}");
        assert!(row[place + 2..].iter().all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok()), "{text}");
    }
}

#[test]
fn files_that_exist_are_kept() {
    let folder = Folder::new();
    folder.write("out.csv", "mine");
    let measure = ["cpi", "-r", "0.02", "-f", "csv"];
    folder
        .run([&measure[..], &["-o", "out.csv"]].concat())
        .refused(2, "out.csv exists: give -y to overwrite it, or another name");
    folder
        .run([&measure[..], &["--trace", "out.csv"]].concat())
        .refused(2, "out.csv exists: give -y to overwrite it, or another name");
    folder
        .run([&measure[..], &["--trace", "x", "-o", "x"]].concat())
        .refused(2, "-o and --trace both name x");
    assert_eq!((folder.text("out.csv").as_str(), folder.names()), ("mine", vec!["out.csv".to_owned()]));
    printed(&folder, &[&measure[1..], &["-y", "-o", "out.csv"]].concat());
    assert!(folder.text("out.csv").starts_with("time,"));
    let ran = folder.run([&measure[..], &["-o", "/dev/full"]].concat());
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert_eq!(ran.stderr.lines().last(), Some("tacho: /dev/full: cannot write: No space left on device"));
}

/// Ends a child that a failed test would leave.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_process() {
    let folder = Folder::new();
    let waiting = || {
        let mut cat = std::process::Command::new("cat");
        Ended(cat.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat"))
    };
    let mut cat = waiting();
    let pid = cat.0.id().to_string();
    let measure = ["cpi", "-p", &pid, "-t", "0.02", "-f", "json", "-o", "out.json"];
    if !has_cpi(&folder) {
        let ran = folder.run(measure);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("tacho: -p {pid}: ")), "{ran:?}");
        assert!(!folder.path("out.json").exists());
    } else {
        let child = folder.command(measure).stderr(Stdio::piped()).spawn().expect("the command starts");
        while !folder.path("out.json").is_file() || folder.bytes("out.json").is_empty() {
            std::thread::yield_now();
        }
        // It ends with the process.
        drop(cat.0.stdin.take());
        let ran = Ran::from(child.wait_with_output().expect("an end"));
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(objects(&folder.text("out.json")).iter().all(|sample| sample["process"].is_object()));
    }
    let ran = folder.run(["cpi", "-p", "2147483647"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("tacho: -p 2147483647: "), "{ran:?}");
}

#[test]
fn wrong_calls() {
    let folder = Folder::new();
    let length = "not a length of time: write seconds (1, 0.1), mm:ss or hh:mm:ss";
    let contradicts = |option: &str| format!("--read and {option} contradict each other: give one of them");
    for (arguments, message) in [
        (
            &["ls"][..],
            "'cpi' does not take 'ls': a command stands behind --, as in 'tacho cpi -- ls'".to_owned(),
        ),
        (&["-f", "out.txt"], "-f out.txt: give table, csv or json".to_owned()),
        (&["-s=x"], format!("-s x: {length}")),
        (&["-s", "-1"], format!("-s -1: {length}")),
        (&["-r", "0"], "-r 0: must be longer than 0".to_owned()),
        (&["-t", "1s"], format!("-t 1s: {length}")),
        (&["-p", "0"], "-p 0: the number of a process: 1 or more".to_owned()),
        (&["-ts=1"], "-ts takes no value, and '1' is given".to_owned()),
        (&["-noia"], "'cpi' has no option -n".to_owned()),
        (&["--minor", "256", "--trace", "x"], "--minor 256: 256 is not in 0..=255".to_owned()),
        (&["--label", "x"], "--label needs --trace FILE".to_owned()),
        (&["--minor=1"], "--minor needs --trace FILE".to_owned()),
        (&["--summary"], "--summary needs --trace FILE".to_owned()),
        (&["--detailed", "--", "--label"], "--detailed needs --trace FILE".to_owned()),
        (&["--"], "-- needs a command behind it, as in 'tacho cpi -- make'".to_owned()),
        (&["-f", "csv", "--"], "-- needs a command behind it, as in 'tacho cpi -- make'".to_owned()),
        (&["-c", ""], "-c needs a command, and its text is empty".to_owned()),
        (&["--command= "], "--command needs a command, and its text is empty".to_owned()),
        (&["--read", "x", "--summary"], contradicts("--summary")),
        (&["--read", "x", "--detailed"], contradicts("--detailed")),
        (&["--read", "x", "--minor", "0"], contradicts("--minor")),
        (&["--read", "x", "--label", "a"], contradicts("--label")),
        (&["--read", "-"], "--read -: a trace needs a file ('./-' is one of that name)".to_owned()),
        (&["--trace", "-"], "--trace -: a trace needs a file ('./-' is one of that name)".to_owned()),
        (&["-c", "a", "--", "b"], "-c and COMMAND contradict each other: give one of them".to_owned()),
        (&["-p", "1", "--", "b"], "-p and COMMAND contradict each other: give one of them".to_owned()),
        (&["--read", "x", "-t", "1"], "--read and -t contradict each other: give one of them".to_owned()),
    ] {
        let line = format!("{message}; 'tacho cpi --help' shows the options");
        folder.run([&["cpi"], arguments].concat()).refused(2, &line);
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn help_names_every_option_and_its_short_word() {
    let folder = Folder::new();
    let help = folder.prints(["cpi", "--help"]);
    assert_eq!(folder.prints(["cpi", "-?"]), help);
    // Lines are as wide as the terminal.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for option in [
        "-c, --command <TEXT>",
        "-p, --pid <PID>",
        "-s, --start-after <TIME>",
        "-r, --run <TIME>",
        "-t, --interval <TIME>",
        "--timestamp",
        "(-ts)",
        "--system-only",
        "(-ds)",
        "--no-utilization",
        "(-noai)",
        "--user",
        "-f, --format <FORMAT>",
        "The old tool's -f named the file",
        "-o, --output <FILE>",
        "--trace <FILE>",
        "--label <TEXT>",
        "--minor <N>",
        "--summary",
        "--detailed",
        "--read <FILE>",
        "-y, --yes",
        "[-- <COMMAND>...]",
        "sh -c",
        "126",
    ] {
        assert!(help.contains(option), "{option} in {help}");
    }
}
