//! `tacho cpi COMMAND`: exit status, output, and destination of the results. Works with and without hardware counters.

use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::{Folder, Outcome};

/// The output without messages.
pub(crate) fn results(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("tacho: ")).collect()
}

/// Asserts that the text contains only messages, for example about missing counters.
#[track_caller]
pub(crate) fn only_messages(text: &str) {
    assert_eq!(results(text), [""; 0], "{text}");
}

/// The objects of JSON lines.
#[track_caller]
pub(crate) fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    let folder = Folder::new();
    folder.write("plain.txt", "no program");
    for (arguments, status) in [
        (&["--", "true"][..], 0),
        (&["--", "sh", "-c", "exit 3"], 3),
        (&["-c", "exit 4"], 4),
        (&["--command=exit 255"], 255),
        (&["-noai", "-c", "exit 5"], 5),
        (&["--user", "-c", "exit 6"], 6),
        (&["--", "./plain.txt"], 126),
        (&["--", "/"], 126),
        (&["--", "no-such-command-of-ours"], 127),
        (&["-c", "kill -KILL $$"], 128 + 9),
        (&["-c", "kill -TERM $$"], 128 + 15),
    ] {
        let ran = folder.run([&["cpi"], arguments].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{arguments:?} {ran:?}");
    }
    let ran = folder.run(["cpi", "--", "no-such-command-of-ours"]);
    let message = "tacho: 'no-such-command-of-ours' not found: check its name; use 'tacho cpi -c' for shell \
                   commands";
    assert_eq!(ran.stderr.lines().last(), Some(message));
    let ran = folder.run(["cpi", "--", "./plain.txt"]);
    let message = "tacho: cannot execute './plain.txt': Permission denied";
    assert_eq!(ran.stderr.lines().last(), Some(message));
}

#[test]
fn the_command_has_the_original_limit_of_open_files() {
    let limits = |script: &str| -> String {
        let script = format!("ulimit -Sn 200; {script}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_tacho")]).stderr(Stdio::null());
        let output = shell.output().expect("the shell starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let of_shell = limits("ulimit -Sn; ulimit -Hn");
    assert!(of_shell.starts_with("200\n"), "{of_shell}");
    assert_eq!(limits(r#"exec "$0" cpi -c 'ulimit -Sn; ulimit -Hn'"#), of_shell);
    let of_tacho = limits(r#"exec "$0" query -sc 1 -f json '\Process(tacho)\Handle Count'"#);
    assert!(of_tacho.contains("Handle Count"), "{of_tacho}");
}

/// Counters can need more open files than the command is allowed.
#[test]
fn counters_are_opened_with_the_raised_limit_of_open_files() {
    let script = r#"ulimit -Sn 5; exec "$0" cpi -c 'ulimit -Sn'"#;
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", script, env!("CARGO_BIN_EXE_tacho")]).output().expect("the shell starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"5\n"[..]), "{messages}");
    assert!(!messages.contains("EMFILE"), "{messages}");
}

#[test]
fn existing_files_are_kept_if_nothing_is_measured() {
    let folder = Folder::new();
    folder.write("keep.csv", "mine");
    folder.write("good.nrm2", "a trace");
    for (arguments, status) in [
        (&["-o", "keep.csv", "--", "no-such-command-of-ours"][..], 127),
        (&["--trace", "good.nrm2", "--", "no-such-command-of-ours"], 127),
        (&["--trace", "new.nrm2", "--", "no-such-command-of-ours"], 127),
        (&["--trace", "good.nrm2", "-o", "none/x", "--", "echo", "ran"], 1),
        (&["--trace", "none/x", "-o", "keep.csv", "--", "echo", "ran"], 1),
        (&["--trace", ".", "-o", "keep.csv", "--", "echo", "ran"], 2),
        (&["--trace", "good.nrm2", "-o", "keep.csv", "-s", "60", "--", "true"], 0),
    ] {
        let ran = folder.run([&["cpi", "-y"], arguments].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{arguments:?} {ran:?}");
        assert_eq!(
            (folder.text("keep.csv").as_str(), folder.text("good.nrm2").as_str()),
            ("mine", "a trace")
        );
        assert_eq!(folder.names(), ["good.nrm2", "keep.csv"], "{arguments:?}");
    }
    // Results replace the entire old content.
    folder.write("keep.csv", "mine".repeat(10_000));
    folder.run(["cpi", "-y", "-f", "csv", "-o", "keep.csv", "--", "true"]);
    let text = folder.text("keep.csv");
    assert!(text.starts_with("time,") && !text.contains("mine"), "{text}");
}

#[test]
fn a_hyphen_is_standard_output() {
    let folder = Folder::new();
    folder.write("-", "mine");
    let ran = folder.run(["cpi", "-f", "csv", "-o", "-", "--", "true"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("time,"), "{ran:?}");
    assert_eq!((folder.text("-").as_str(), folder.names().len()), ("mine", 1));
}

#[test]
fn the_command_inherits_standard_input_and_output() {
    let folder = Folder::new();
    folder.write("in.txt", "a\nb");
    let mut command = folder.command(["cpi", "-f", "csv", "--", "cat"]);
    let input = File::open(folder.path("in.txt")).expect("a file");
    let ran = Outcome::from(command.stdin(input).output().expect("start command"));
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "a\nb"));
    let rows = results(&ran.stderr);
    assert!(rows[0].starts_with("time,seconds,scope,") && rows[1].contains(",process,"), "{ran:?}");

    let ran = folder.run(["cpi", "-f", "json", "-o", "out.json", "-c", "echo out; echo err >&2"]);
    assert_eq!((ran.status, ran.stdout.as_str(), results(&ran.stderr)), (0, "out\n", vec!["err"]));
    let objects = objects(&folder.text("out.json"));
    assert_eq!(objects.len(), 1);
    assert!(objects[0]["process"].is_object() && objects[0]["seconds"].as_f64() > Some(0.0), "{objects:?}");

    let ran = folder.run(["cpi", "-o", "-", "--", "echo", "out"]);
    assert!(ran.stdout.starts_with("out\necho out: 0."), "{ran:?}");
    only_messages(&ran.stderr);
}

#[test]
fn options_after_hyphens_belong_to_the_command() {
    let folder = Folder::new();
    let ran =
        folder.run(["cpi", "-t", "1", "--", "echo", "-ts", "-cf", "-c", "x", "--help", "/?", "--", "-y"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "-ts -cf -c x --help /? -- -y\n"), "{ran:?}");
}

#[test]
fn the_process_is_shown_before_the_system() {
    let folder = Folder::new();
    let ran = folder.run(["cpi", "-c", "exit 0 # \u{7}"]);
    let lines = results(&ran.stderr);
    assert!(lines[0].starts_with(r"exit 0 # \u{7}: 0."), "{ran:?}");
    let labels: Vec<&str> = lines[1..6].iter().map(|line| line[..14].trim_end()).collect();
    assert_eq!(labels, ["instructions", "cycles", "core cycles", "cpi", "core cpi"]);
    assert!(lines.iter().any(|line| line.trim_start().starts_with("System   CPU0")), "{ran:?}");
    assert!(lines.last().is_some_and(|line| !line.is_empty()), "{ran:?}");
}

#[test]
fn a_command_is_counted_or_the_reason_is_reported() {
    let folder = Folder::new();
    let ran = folder.run(["cpi", "-f", "json", "-o", "out.json", "--", "true"]);
    let process = &objects(&folder.text("out.json"))[0]["process"];
    match process["instructions"].as_u64() {
        // Even the shortest program executes thousands of instructions.
        Some(instructions) => {
            assert!(instructions > 1000, "{process}");
            assert!(process["core_cpi"].as_f64() > Some(0.0), "{process}");
            assert!(process["counters_running_percent"].as_f64() <= Some(100.0), "{process}");
        }
        None => {
            assert_eq!((&process["cpi"], &process["cycles"]), (&Value::Null, &Value::Null));
            assert!(ran.stderr.starts_with("tacho: "), "{ran:?}");
        }
    }
    only_messages(&ran.stderr);
}

#[test]
fn results_that_cannot_be_written_are_reported() {
    let folder = Folder::new();
    for (command, status) in [("exit 0", 1), ("exit 5", 5)] {
        let ran = folder.run(["cpi", "-o", "/dev/full", "-c", command]);
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{ran:?}");
        let message = "tacho: /dev/full: cannot write: No space left on device";
        assert_eq!(ran.stderr.lines().last(), Some(message));
        only_messages(&ran.stderr);
    }
    // The error is reported before the command runs.
    folder.write("out.txt", "mine");
    for (output, message) in [
        ("out.txt", "tacho: out.txt exists: use -y to overwrite it, or another name\n"),
        (".", "tacho: .: this is a folder, not a file\n"),
    ] {
        let ran = folder.run(["cpi", "-o", output, "--", "echo", "ran"]);
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (2, "", message));
    }
    let ran = folder.run(["cpi", "-o", "none/out.txt", "--", "echo", "ran"]);
    let message = "none/out.txt: its folder does not exist; create it first";
    ran.fails_with(1, message);
    assert_eq!(folder.text("out.txt"), "mine");
    assert_eq!(folder.run(["cpi", "-y", "-o", "out.txt", "--", "true"]).status, 0);
    assert!(folder.text("out.txt").starts_with("true: 0."));
}

#[test]
fn a_closed_standard_error_is_ignored() {
    let folder = Folder::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = folder
        .command(["cpi", "-c", "echo out; exit 7"])
        .stderr(writer)
        .output()
        .expect("the program starts");
    assert_eq!((output.status.code(), output.stdout), (Some(7), b"out\n".to_vec()));
}

#[test]
fn a_command_continues_after_the_measurement() {
    let folder = Folder::new();
    let mut child = folder
        .command(["cpi", "-r", "0.05", "-f", "json", "-o", "out.json", "-c", "read line; exit 7"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("start command");
    // The result is written while the command still waits.
    while !folder.path("out.json").is_file() || !folder.text("out.json").ends_with('\n') {
        assert!(child.try_wait().expect("a child").is_none(), "tacho ended before its command");
        std::thread::yield_now();
    }
    assert!(child.try_wait().expect("a child").is_none());
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"go\n").expect("a reader");
    assert_eq!(child.wait().expect("an end").code(), Some(7));
    assert_eq!(folder.text("out.json").lines().count(), 1);
}

#[test]
fn a_command_that_ends_before_the_measurement_is_reported() {
    let folder = Folder::new();
    let ran = folder.run(["cpi", "-s", "1:00:00", "-c", "exit 3"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (3, ""));
    let message = "tacho: the command ended before the delay of -s was over: nothing was measured";
    assert_eq!(ran.stderr.lines().last(), Some(message));
}
