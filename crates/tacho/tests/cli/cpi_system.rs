//! `tacho cpi` of the system and of processes: samples, table, CSV, JSON, invalid arguments, help. Works with and without
//! hardware counters.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::cpi::{objects, only_messages};
use crate::run::{Folder, Outcome};

/// Whether cycles and instructions can be counted on this machine.
pub(crate) fn has_cpi(folder: &Folder) -> bool {
    let ran = folder.run(["cpi", "-noai", "-r", "0.02"]);
    match ran.status {
        0 => true,
        _ => {
            assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
            assert!(ran.stderr.starts_with("tacho: -noai: nothing to measure: "), "{ran:?}");
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
            false
        }
    }
}

/// The output of a successful command; messages are allowed.
#[track_caller]
fn printed(folder: &Folder, arguments: &[&str]) -> String {
    let ran = folder.run([&["cpi"], arguments].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    only_messages(&ran.stderr);
    ran.stdout
}

#[test]
fn the_table_has_the_rows_of_performance_inspectors_cpi() {
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
    // The shares are available on every machine, and add up to 100 %.
    for (idle, busy) in values[2].iter().zip(&values[3]) {
        let sum = idle.expect("idle") + busy.expect("busy");
        assert!((99.98..=100.02).contains(&sum), "{text}");
    }
    if has_cpi(&folder) {
        // Not checked: cpi_wb, which is unknown if the machine is idle.
        assert!(values[0][0] > Some(0.0), "{text}");
    }
}

#[test]
fn each_interval_has_a_result() {
    let folder = Folder::new();
    let samples = objects(&printed(&folder, &["-r", "1", "-t", "0.25", "-f", "json"]));
    let seconds: Vec<f64> =
        samples.iter().map(|sample| sample["seconds"].as_f64().expect("a number")).collect();
    // On a busy machine, a sample can be so late that the next one is dropped.
    let is_late = seconds.iter().any(|&seconds| seconds > 1.25 * 0.25);
    assert!(samples.len() == 4 || is_late && (1..4).contains(&samples.len()), "{seconds:?}");
    assert!(seconds.iter().sum::<f64>() > 0.99, "{seconds:?}");
    let times: Vec<&str> = samples.iter().map(|sample| sample["time"].as_str().expect("a time")).collect();
    assert!(times.iter().all(|time| time.parse::<jiff::Timestamp>().is_ok()), "{times:?}");
    // The remaining time at the end is a sample too.
    let samples = objects(&printed(&folder, &["-r", "0.3", "-t", "0.2", "--format=JSON", "-ds"]));
    let is_late = samples[0]["seconds"].as_f64() > Some(0.29);
    assert!(samples.len() == 2 || is_late, "{samples:?}");
    assert!(samples.iter().all(|sample| sample["processors"] == Value::Array(Vec::new())), "{samples:?}");
}

#[test]
fn results_of_the_system_have_one_line_per_sample() {
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
fn utilization_is_omitted_on_request() {
    let folder = Folder::new();
    if has_cpi(&folder) {
        let text = printed(&folder, &["-r", "0.1", "-noai"]);
        assert!(!text.contains("busy") && !text.contains("cpi_wb") && text.contains("\ncpi "), "{text}");
        let text = printed(&folder, &["-r", "0.1", "-noai", "-ds"]);
        assert!(text.starts_with("cpi: ") && !text.contains("idle"), "{text}");
    } else {
        // A command is run nevertheless; its values are missing.
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
    let column = rows[0].iter().position(|name| *name == "scope").expect("a column");
    assert_eq!((rows[1][column], rows[2][column]), ("system", "cpu0"), "{text}");
    for row in &rows[1..] {
        assert!(row[0].parse::<jiff::Timestamp>().is_ok(), "{text}");
        assert!(
            row[column + 2..].iter().all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok()),
            "{text}"
        );
    }
}

#[test]
fn existing_files_are_kept() {
    let folder = Folder::new();
    folder.write("out.csv", "mine");
    let measure = ["cpi", "-r", "0.02", "-f", "csv"];
    folder
        .run([&measure[..], &["-o", "out.csv"]].concat())
        .fails_with(2, "out.csv exists: use -y to overwrite it, or another name");
    folder
        .run([&measure[..], &["--trace", "out.csv"]].concat())
        .fails_with(2, "out.csv exists: use -y to overwrite it, or another name");
    folder
        .run([&measure[..], &["--trace", "x", "-o", "x"]].concat())
        .fails_with(2, "-o and --trace both name x");
    assert_eq!((folder.text("out.csv").as_str(), folder.names()), ("mine", vec!["out.csv".to_owned()]));
    printed(&folder, &[&measure[1..], &["-y", "-o", "out.csv"]].concat());
    assert!(folder.text("out.csv").starts_with("time,"));
    let ran = folder.run([&measure[..], &["-o", "/dev/full"]].concat());
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert_eq!(ran.stderr.lines().last(), Some("tacho: /dev/full: cannot write: No space left on device"));
}

/// Kills a child process when dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_process_is_measured_until_it_ends() {
    let folder = Folder::new();
    let waiting = || {
        let mut cat = std::process::Command::new("cat");
        KillOnDrop(cat.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat"))
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
        let child = folder.command(measure).stderr(Stdio::piped()).spawn().expect("start command");
        while !folder.path("out.json").is_file() || folder.bytes("out.json").is_empty() {
            std::thread::yield_now();
        }
        // The measurement ends with the process.
        drop(cat.0.stdin.take());
        let ran = Outcome::from(child.wait_with_output().expect("an end"));
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(objects(&folder.text("out.json")).iter().all(|sample| sample["process"].is_object()));
    }
    let ran = folder.run(["cpi", "-p", "2147483647"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("tacho: -p 2147483647: "), "{ran:?}");
}

#[test]
fn utilization_is_not_offered_for_a_process() {
    let folder = Folder::new();
    let ran = folder.run(["cpi", "-p", &std::process::id().to_string(), "-r", "0.01"]);
    if ran.stderr.contains("only CPU utilization can be shown") {
        assert!(ran.status == 1 && ran.stderr.ends_with(" can be shown, without -p\n"), "{ran:?}");
    }
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = Folder::new();
    let duration = "not a duration: write seconds (1, 0.1), mm:ss or hh:mm:ss";
    let conflict = |option: &str| format!("--read and {option} cannot be used together: use one of them");
    for (arguments, message) in [
        (
            &["ls"][..],
            "'cpi' does not accept 'ls': write a command after --, as in 'tacho cpi -- ls'".to_owned(),
        ),
        (&["-f", "out.txt"], "-f out.txt: must be table, csv or json".to_owned()),
        (&["-s=x"], format!("-s x: {duration}")),
        (&["-s", "-1"], format!("-s -1: {duration}")),
        (&["-r", "0"], "-r 0: must be longer than 0".to_owned()),
        (&["-t", "1s"], format!("-t 1s: {duration}")),
        (&["-p", "0"], "-p 0: not a process id: must be a number, 1 or more".to_owned()),
        (&["-ts=1"], "-ts does not accept a value ('1')".to_owned()),
        (&["-noia"], "'cpi' has no option -n".to_owned()),
        (&["--minor", "256", "--trace", "x"], "--minor 256: must be from 0 to 255".to_owned()),
        (&["--label", "x"], "--label needs --trace FILE".to_owned()),
        (&["--minor=1"], "--minor needs --trace FILE".to_owned()),
        (&["--summary"], "--summary needs --trace FILE".to_owned()),
        (&["--detailed", "--", "--label"], "--detailed needs --trace FILE".to_owned()),
        (&["--"], "-- must be followed by a command, as in 'tacho cpi -- make'".to_owned()),
        (&["-f", "csv", "--"], "-- must be followed by a command, as in 'tacho cpi -- make'".to_owned()),
        (&["-c", ""], "-c needs a command, but its text is empty".to_owned()),
        (&["--command= "], "--command needs a command, but its text is empty".to_owned()),
        (&["--read", "x", "--summary"], conflict("--summary")),
        (&["--read", "x", "--detailed"], conflict("--detailed")),
        (&["--read", "x", "--minor", "0"], conflict("--minor")),
        (&["--read", "x", "--label", "a"], conflict("--label")),
        (
            &["--read", "-"],
            "--read -: a trace cannot be read from standard input (write './-' for a file of this name)"
                .to_owned(),
        ),
        (
            &["--trace", "-"],
            "--trace -: a trace cannot be written to standard output (write './-' for a file of this name)"
                .to_owned(),
        ),
        (&["-c", "a", "--", "b"], "-c and COMMAND cannot be used together: use one of them".to_owned()),
        (&["-p", "1", "--", "b"], "-p and COMMAND cannot be used together: use one of them".to_owned()),
        (&["--read", "x", "-t", "1"], "--read and -t cannot be used together: use one of them".to_owned()),
    ] {
        let line = format!("{message}; 'tacho cpi --help' lists the options");
        folder.run([&["cpi"], arguments].concat()).fails_with(2, &line);
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn help_names_every_option_and_its_short_form() {
    let folder = Folder::new();
    let help = folder.prints(["cpi", "--help"]);
    assert_eq!(folder.prints(["cpi", "-?"]), help);
    // Lines are wrapped at the width of the terminal.
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
        "In Performance Inspector's cpi, -f named the output file",
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
