//! Signals to `tacho cpi`: some end the measurement, others are left to the command.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use crate::cpi::{objects, only_messages, results};
use crate::run::{Folder, Outcome};

#[track_caller]
fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

/// Starts `tacho` with pipes, and waits for the first line of its standard output.
#[track_caller]
fn started(folder: &Folder, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut child = folder
        .signalled_command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start command");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    (child, stdout, line)
}

#[track_caller]
fn end(child: Child, mut stdout: BufReader<std::process::ChildStdout>) -> Outcome {
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("UTF-8");
    Outcome { stdout: rest, ..Outcome::from(child.wait_with_output().expect("an end")) }
}

#[test]
fn signals_end_the_measurement_of_the_system() {
    let folder = Folder::new();
    for signal in ["-INT", "-TERM", "-HUP"] {
        let (child, stdout, first) = started(&folder, &["cpi", "-t", "0.05", "-ds"]);
        send(signal, &child);
        let ran = end(child, stdout);
        assert!(first.starts_with("cpi: "), "{first}");
        assert_eq!(ran.status, 0, "{ran:?}");
        // The last, partial interval is shown too.
        assert!(ran.stdout.lines().count() >= 1 && ran.stdout.ends_with('\n'), "{ran:?}");
        only_messages(&ran.stderr);
    }
}

#[test]
fn sigterm_is_forwarded() {
    let folder = Folder::new();
    let script = "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.01; done";
    let (child, stdout, first) = started(&folder, &["cpi", "--", "sh", "-c", script]);
    assert_eq!(first, "ready\n");
    send("-TERM", &child);
    let ran = end(child, stdout);
    assert_eq!((ran.status, ran.stdout.as_str()), (9, "got\n"), "{ran:?}");
    assert!(results(&ran.stderr).iter().any(|line| line.contains("System")), "{ran:?}");
}

#[test]
fn sigint_is_ignored_with_a_command() {
    let folder = Folder::new();
    let (mut child, stdout, first) = started(&folder, &["cpi", "-c", "echo ready; read line; exit 4"]);
    assert_eq!(first, "ready\n");
    // A terminal would also send the signal to the command.
    send("-INT", &child);
    send("-QUIT", &child);
    child.stdin.take().expect("a pipe").write_all(b"go\n").expect("a reader");
    let ran = end(child, stdout);
    assert_eq!(ran.status, 4, "{ran:?}");
    assert!(results(&ran.stderr).iter().any(|line| line.contains("System")), "{ran:?}");
}

#[test]
fn ignored_signals_stay_ignored_for_the_command() {
    let folder = Folder::new();
    let script = format!(
        "trap '' HUP TERM; exec '{}' cpi -o out.txt -- sh -c 'kill -HUP $$; kill -TERM $$; exit 6'",
        env!("CARGO_BIN_EXE_tacho")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(folder.path("")).stdin(Stdio::null());
    let ran = Outcome::from(shell.output().expect("a shell"));
    assert_eq!(ran.status, 6, "{ran:?}");
}

/// As in a script: `tacho cpi & ... kill -INT $!`.
#[test]
fn sigint_ends_a_background_measurement() {
    let script = format!("trap '' INT; exec '{}' cpi -t 0.1 -f json", env!("CARGO_BIN_EXE_tacho"));
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    // The first sample shows that tacho is measuring.
    let (mut first, mut rest) = (String::new(), String::new());
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    reader.read_line(&mut first).expect("a sample");
    assert!(first.starts_with('{'), "{first}");
    send("-INT", &child);
    reader.read_to_string(&mut rest).expect("text");
    assert!(child.wait().expect("ended").success());
    assert!(rest.ends_with("}\n"), "{rest}");
}

#[test]
fn ignored_signals_do_not_end_the_measurement() {
    let folder = Folder::new();
    let script = format!("trap '' HUP; exec '{}' cpi -r 1 -t 0.1 -f json", env!("CARGO_BIN_EXE_tacho"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(folder.path("")).stdin(Stdio::null());
    let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("a line");
    send("-HUP", &child);
    send("-HUP", &child);
    let ran = end(child, stdout);
    assert_eq!(ran.status, 0, "{ran:?}");
    // The measurement was not cut short.
    let seconds = |line: &str| objects(line)[0]["seconds"].as_f64().expect("a number");
    let whole = seconds(&first) + ran.stdout.lines().map(seconds).sum::<f64>();
    assert!(whole > 0.8, "{whole} {ran:?}");
}

#[test]
fn a_closed_pipe_ends_the_measurement_silently() {
    let folder = Folder::new();
    let (child, stdout, first) = started(&folder, &["cpi", "-t", "0.01", "-ds"]);
    drop(stdout);
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert!(first.starts_with("cpi: "), "{first}");
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(!ran.stderr.contains("ipe"), "{ran:?}");
}
