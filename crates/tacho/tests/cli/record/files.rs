//! The content of recordings.

use std::process::{Command, Stdio};

use super::{COUNTERS, arguments, kill, recorded, samples, summary, wait_for};
use crate::run::{Folder, Outcome, row};

#[test]
fn every_format_has_the_requested_samples() {
    for (name, format) in [
        ("a.blg", None),
        ("a", None),
        ("a.csv", None),
        ("a.tsv", None),
        ("b", Some("CSV")),
        ("c.csv", Some("bin")),
    ] {
        let folder = Folder::new();
        let mut rest = vec!["-sc", "4", "-o", name];
        rest.extend(format.iter().flat_map(|format| ["-f", format]));
        let summary_line = recorded(&folder, &rest);
        assert!(summary_line.starts_with(&format!("{name}: 4 samples over ")), "{summary_line}");
        assert_eq!(folder.names(), [name]);
        let bytes = folder.bytes(name);
        let is_blg = format == Some("bin") || (format.is_none() && !name.contains("sv"));
        assert_eq!(bytes.starts_with(b"\"(PDH-"), !is_blg, "{name}");
        let checked = folder.prints(["check", name]);
        assert!(checked.contains(": intact: ") && checked.contains(", 4 samples from "), "{checked}");
        // Times are distinct, and the first sample is one of the four.
        let times: Vec<_> = samples(&folder.path(name)).iter().map(|sample| sample.at.utc).collect();
        assert!(times.len() == 4 && times.is_sorted_by(|one, other| one < other), "{times:?}");
        let rows = folder.stats(&[name]);
        assert_eq!(row(&rows, r"\Memory\Available Bytes")["values"], 4);
        assert_eq!(row(&rows, r"\System\Context Switches/sec")["values"], 3);
        assert_eq!(row(&rows, r"\Processor Information(_Total)\% Processor Time")["errors"], 0);
    }
}

#[test]
fn rates_are_blank_in_the_first_row_of_a_text_log() {
    let folder = Folder::new();
    recorded(&folder, &["-sc", "2", "-o", "a.csv"]);
    let text = folder.text("a.csv");
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].starts_with("\"(PDH-CSV 4.0) (") && lines[0].contains(r"\Memory\Available Bytes"),
        "{text}"
    );
    let cells: Vec<_> = lines[1].split(',').collect();
    assert_ne!(cells[1], "\" \"");
    assert_eq!(cells[2], "\" \"");
    assert!(!lines[2].contains("\" \""), "{text}");
}

#[test]
fn counters_come_from_paths_options_files_and_settings() {
    let folder = Folder::new();
    folder.write("counters.txt", "\\System\\Processes\n");
    folder.write("settings.txt", "[cf]\ncounters.txt\n[si]\n0.02\n[sc]\n2\n[o]\nb.blg\n");
    let ran = folder.run([
        "record",
        COUNTERS[0],
        "-c",
        COUNTERS[1],
        "-cf",
        "counters.txt",
        "-si",
        "0.02",
        "-sc",
        "2",
        "-o",
        "a.blg",
    ]);
    assert!(summary(&ran).contains(", 3 counters, 6 values, "), "{}", ran.stderr);
    let ran = folder.run(["record", "-config", "settings.txt"]);
    assert!(summary(&ran).starts_with("b.blg: 2 samples over "), "{}", ran.stderr);
}

#[test]
fn counters_and_values_are_counted_as_in_the_log() {
    let folder = Folder::new();
    for name in ["a.blg", "a.csv"] {
        let paths = [r"\Processor Information(*)\% Processor Time", r"\System\Processes"];
        let ran = folder.run([&["record", "-si", "0.05", "-sc", "3", "-o", name], &paths[..]].concat());
        let listed = folder.prints(["list", name]);
        let counts = listed.lines().find_map(|line| line.strip_prefix("  counters  ")).expect("a line");
        let (counters, rest) = counts.split_once(' ').expect("a number");
        let (_, values) = rest.split_once(", ").expect("values");
        let values = values.split(' ').next().expect("a number");
        assert!(
            summary(&ran).contains(&format!(", {counters} counters, {values} values, ")),
            "{}{listed}",
            ran.stderr
        );
    }
}

#[test]
fn without_a_path_the_default_counters_are_recorded_and_reported() {
    let folder = Folder::new();
    let ran = folder.run(["record", "-si", "0.02", "-sc", "2", "-o", "a.blg"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let notice = ran.stderr.lines().next().unwrap_or_default();
    assert!(notice.starts_with("tacho: recording only ") && notice.contains(r": '\\"), "{notice}");
    assert!(notice.contains("--view") && notice.contains("--all"), "{notice}");
    assert_eq!(samples(&folder.path("a.blg")).len(), 2);
}

#[test]
fn a_missing_instance_is_reported() {
    let folder = Folder::new();
    let ran = folder.run([
        "record",
        COUNTERS[0],
        r"\Processor Information(9,999)\% Processor Time",
        "-si",
        "0.02",
        "-sc",
        "3",
        "-o",
        "a.blg",
    ]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    assert!(lines[0].contains(r"\Processor Information(9,999)\% Processor Time'"), "{}", lines[0]);
    assert!(lines[0].ends_with("no such instance now; it is recorded as soon as it appears"), "{}", lines[0]);
    let row = folder.stats(&["a.blg"]);
    let row = crate::run::row(&row, r"(9,999)\% Processor Time");
    assert_eq!((&row["values"], &row["errors"]), (&0.into(), &0.into()));
}

#[test]
fn a_late_instance_is_in_a_blg_but_not_in_a_text_log() {
    for name in ["a.blg", "a.csv"] {
        let folder = Folder::new();
        let path = folder.path(name);
        let mut child = folder
            .command_with_default_signals(["record", r"\Process(*)\ID Process", "-si", "0.02", "-o", name])
            .stderr(Stdio::piped())
            .spawn()
            .expect("start command");
        wait_for(&path, 1, &mut child);
        let mut newcomer = Command::new("sleep").arg("600").spawn().expect("a process");
        let before = samples(&path).len();
        wait_for(&path, before + 3, &mut child);
        kill("-INT", &child);
        let ran = Outcome::from(child.wait_with_output().expect("an end"));
        newcomer.kill().and_then(|()| newcomer.wait()).expect("an end");
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let notices = ran.stderr.matches("appeared after the first row and has no column").count();
        let last = samples(&path).pop().expect("samples");
        let has_instance = last
            .groups
            .iter()
            .flat_map(|group| &group.values)
            .any(|raw| raw.first == i64::from(newcomer.id()));
        assert_eq!(
            (notices, has_instance),
            if name == "a.blg" { (0, true) } else { (1, false) },
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_pipe_accepts_only_text() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("a")).status().expect("mkfifo").success());
    let record = arguments(&["-f", "csv", "-sc", "2", "-o", "a"]);
    let child = folder.command(record).stderr(Stdio::piped()).spawn();
    let text = std::fs::read_to_string(folder.path("a")).expect("UTF-8");
    let ran = Outcome::from(child.and_then(std::process::Child::wait_with_output).expect("an end"));
    assert_eq!((ran.status, text.lines().count()), (0, 3), "{}", ran.stderr);
    // A BLG is refused before the pipe is opened, which would wait for a reader.
    let pipe =
        "a BLG cannot be written to a pipe (its header is completed at the end): use a file, or -f csv";
    folder.run(arguments(&["-f", "bin", "-sc", "2", "-o", "a"])).fails_with(2, &format!("a: {pipe}"));
    folder
        .run(["query", COUNTERS[0], "-f", "bin", "-sc", "1", "-o", "a"])
        .fails_with(2, &format!("a: {pipe}"));
    crate::log_fixture::mixed("WEB1", 0, 4).write(&folder.path("in.blg"));
    for append in [&[][..], &["-a"]] {
        let ran = folder.run([&["relog", "in.blg", "-f", "bin", "-o", "a"], append].concat());
        ran.fails_with(2, &format!("a: {pipe}"));
    }
    let shell = format!("'{}' relog in.blg -f bin -o /dev/stdout | cat", env!("CARGO_BIN_EXE_tacho"));
    let output = Command::new("sh").args(["-c", &shell]).current_dir(folder.path("")).output();
    let ran = Outcome::from(output.expect("a shell"));
    assert_eq!(ran.stdout, "");
    assert_eq!(ran.stderr, format!("tacho: /dev/stdout: {pipe}\n"));
    assert_eq!(folder.run(["check", "in.blg", "--salvage", "a"]).stderr, format!("tacho: a: {pipe}\n"));
}

#[test]
fn a_signal_ends_the_wait_for_a_reader() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("a")).status().expect("mkfifo").success());
    for command in ["query", "record"] {
        let record = [command, COUNTERS[0], "-f", "csv", "-sc", "2", "-o", "a"];
        let mut child = folder.command_with_default_signals(record).spawn().expect("start command");
        let wait_channel = format!("/proc/{}/wchan", child.id());
        let begun = std::time::Instant::now();
        // The kernel's function in which the process waits.
        while !std::fs::read_to_string(&wait_channel).is_ok_and(|name| name.contains("wait_for_partner")) {
            if begun.elapsed().as_secs() > 5 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let killed = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
        use std::os::unix::process::ExitStatusExt as _;
        assert_eq!(child.wait().expect("an end").signal(), Some(2), "{command}");
    }
}

#[test]
fn unknown_counters_do_not_affect_others() {
    let folder = Folder::new();
    let ran = folder.run(["record", COUNTERS[0], r"\Memroy\*", "-si", "0.02", "-sc", "2", "-o", "a.blg"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let notice = r"tacho: '\Memroy\*' is not on this machine: did you mean the counter set 'Memory'?";
    assert_eq!(ran.stderr.lines().next(), Some(notice));
    assert_eq!(samples(&folder.path("a.blg")).len(), 2);
}

#[test]
fn a_recording_ends_after_a_duration() {
    for option in ["-d", "-rf", "--duration"] {
        let folder = Folder::new();
        recorded(&folder, &[option, "0.1", "-o", "a.blg"]);
        let count = samples(&folder.path("a.blg")).len();
        assert!((1..=6).contains(&count), "{count}");
    }
}

#[test]
fn segments_are_complete_logs() {
    for (option, name) in [("-segment", "a.blg"), ("-cnf", "a.blg"), ("-segment", "a.csv")] {
        let folder = Folder::new();
        let summary_line = recorded(&folder, &[option, "0.1", "-sc", "12", "-o", name]);
        let names = folder.names();
        assert!(names.len() >= 3, "{names:?}");
        let (stem, extension) = name.split_once('.').unwrap_or_default();
        for (index, name) in names.iter().enumerate() {
            assert_eq!(*name, format!("{stem}_{:06}.{extension}", index + 1));
            let checked = folder.prints(["check", name]);
            assert!(checked.contains(": intact: "), "{checked}");
        }
        let last = names.last().map(String::as_str).unwrap_or_default();
        assert!(
            summary_line.starts_with(&format!(
                "{} to {last}: {} files, 12 samples over ",
                names[0],
                names.len()
            )),
            "{summary_line}"
        );
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let rows = folder.stats(&names);
        assert_eq!(row(&rows, r"\Memory\Available Bytes")["values"], 12);
        // No interval is lost between segments.
        assert_eq!(row(&rows, r"\System\Context Switches/sec")["values"], 11);
        // Numbering continues after a restart.
        recorded(&folder, &[option, "60", "-sc", "1", "-o", name]);
        assert_eq!(folder.names().last(), Some(&format!("{stem}_{:06}.{extension}", names.len() + 1)));
    }
}

#[test]
fn names_get_a_number_or_a_date() {
    let folder = Folder::new();
    for number in 1..=2 {
        let summary_line = recorded(&folder, &["-v", "nnnnnn", "-sc", "1", "-o", "a.blg"]);
        assert!(summary_line.starts_with(&format!("a_00000{number}.blg: 1 sample, ")), "{summary_line}");
    }
    // A path can follow -cnf without a value.
    let ran =
        folder.run(["record", "-max", "1", "-si", "0.02", "-sc", "2", "-o", "a.blg", "-cnf", COUNTERS[0]]);
    assert!(summary(&ran).starts_with("a_000003.blg: 2 samples over "), "{}", ran.stderr);
    recorded(&folder, &["-v", "MMDDHHMM", "-sc", "1", "-o", "b.csv"]);
    let names = folder.names();
    let date = names[3].strip_prefix("b_").and_then(|name| name.strip_suffix(".csv")).unwrap_or_default();
    assert!(date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()), "{names:?}");
}

/// Records many values per sample, so that a megabyte is soon reached.
const MUCH: [&str; 5] = ["record", r"\Processor Information(*)\*", r"\Paging Activity\*", "-si", "0.002"];

#[test]
fn a_recording_ends_at_the_maximum_size() {
    let folder = Folder::new();
    let ran = folder.run([&MUCH[..], &["-max", "1", "-d", "5:00", "-o", "a.blg"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("; ended at -max 1"), "{}", ran.stderr);
    assert!(folder.bytes("a.blg").len() <= 1 << 20);
    assert!(folder.run(["check", "a.blg"]).stdout.contains(": intact: "));
}

#[test]
fn a_circular_log_keeps_the_last_samples() {
    for form in [&["-circular"][..], &["-f", "bincirc"]] {
        let folder = Folder::new();
        let ran = folder.run([&MUCH[..], &["-max", "1", "-sc", "600", "-o", "a.blg"], form].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(folder.bytes("a.blg").len() <= 1 << 20);
        let checked = folder.run(["check", "a.blg"]).stdout;
        assert!(checked.contains(": intact: "), "{checked}");
        let count = samples(&folder.path("a.blg")).len();
        assert!((2..600).contains(&count), "{count}");
    }
}

#[test]
fn recordings_can_be_listed_and_converted() {
    let folder = Folder::new();
    recorded(&folder, &["-sc", "5", "-o", "a.blg"]);
    let listed = folder.prints(["list", "a.blg"]);
    assert!(listed.contains("samples   5") && listed.contains("Context Switches/sec"), "{listed}");
    folder.relog(["a.blg", "-o", "b.blg"]);
    assert_eq!(folder.stats(&["b.blg"]), folder.stats(&["a.blg"]));
    folder.relog(["a.blg", "-o", "a.csv"]);
    assert_eq!(folder.text("a.csv").lines().count(), 6);
}

#[test]
fn sync_writes_complete_logs() {
    let folder = Folder::new();
    recorded(&folder, &["--sync", "-sc", "3", "-o", "a.blg"]);
    assert_eq!(samples(&folder.path("a.blg")).len(), 3);
}

#[test]
fn a_view_names_the_setting_that_a_column_of_its_table_needs() {
    let folder = Folder::new();
    let ran = folder.run(["record", "--view", "processes", "-si", "0.02", "-sc", "1", "-o", "processes.blg"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let setting = std::fs::read_to_string("/proc/sys/kernel/task_delayacct").unwrap_or_default();
    let notice = "DISK WAIT %: needs 'sysctl kernel.task_delayacct=1'";
    assert_eq!(ran.stderr.contains(notice), setting.trim() == "0", "{}", ran.stderr);
}
