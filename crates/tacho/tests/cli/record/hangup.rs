//! SIGHUP and SIGINT: when a terminal closes, under `nohup`, and if they are ignored from the start.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{kill, samples, wait_for};
use crate::run::Folder;

/// The maximum wait on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

#[track_caller]
fn wait_until(event: &str, has_happened: impl Fn() -> bool) {
    let begun = Instant::now();
    while !has_happened() {
        assert!(begun.elapsed() < TIMEOUT, "{event}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn recording(rest: &str) -> String {
    let counter = super::COUNTERS[0];
    format!("'{}' record '{counter}' -si 0.02 -o a.blg {rest}", env!("CARGO_BIN_EXE_tacho"))
}

/// A shell in its own terminal, which closes when the returned process ends.
fn in_terminal(folder: &Folder, script: &str) -> Option<Child> {
    folder.write("script.sh", script);
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT,TERM", "script", "-qfc", "sh script.sh", "/dev/null"]);
    command.current_dir(folder.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().ok();
    if child.is_none() {
        eprintln!("skipped: 'script' is missing (Debian's package bsdutils)");
    }
    child
}

#[test]
fn a_closing_terminal_ends_the_recording() {
    let folder = Folder::new();
    // SIGHUP kills the outer shell, the session leader; the foreground processes then get the signal too. The inner shell
    // handles it, to save the exit status.
    let inner =
        format!("trap : HUP\n{} 2> stderr\necho $? > status.new; mv status.new status\n", recording(""));
    folder.write("inner.sh", inner);
    let Some(mut terminal) = in_terminal(&folder, "sh inner.sh\n:\n") else { return };
    wait_for(&folder.path("a.blg"), 3, &mut terminal);
    kill("-KILL", &terminal);
    terminal.wait().expect("an end");
    wait_until("the recording ends", || folder.path("status").exists());
    assert_eq!(folder.text("status"), "0\n", "{}", folder.text("stderr"));
    let count = samples(&folder.path("a.blg")).len();
    assert!(folder.text("stderr").starts_with(&format!("tacho: a.blg: {count} samples over ")));
    assert!(folder.prints(["check", "a.blg"]).contains(": intact: "));
}

/// Terminates a process and waits until it has ended.
#[track_caller]
fn end(pid: &str) {
    let status = Command::new("kill").args(["-TERM", pid]).status().expect("kill");
    assert!(status.success());
    wait_until("it ends", || {
        // If no parent waits for the process, it remains a zombie.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
}

#[test]
fn nohup_continues_after_the_terminal_closes() {
    let folder = Folder::new();
    let script = format!("echo $$ > pid.new; mv pid.new pid\nexec nohup {} > stderr 2>&1\n", recording(""));
    let Some(mut terminal) = in_terminal(&folder, &script) else { return };
    let log = folder.path("a.blg");
    let seen = wait_for(&log, 3, &mut terminal);
    kill("-KILL", &terminal);
    terminal.wait().expect("an end");
    wait_until("it is still recording", || samples(&log).len() > seen + 20);
    end(folder.text("pid").trim());
    assert_complete(&folder, &log);
}

#[track_caller]
fn assert_complete(folder: &Folder, log: &Path) {
    let count = samples(log).len();
    let stderr = folder.text("stderr");
    assert!(stderr.contains(&format!("tacho: a.blg: {count} samples over ")), "{stderr}");
    assert!(folder.prints(["check", "a.blg"]).contains(": intact: "));
}

#[test]
fn ignored_signals_stay_ignored() {
    let folder = Folder::new();
    let script = format!("trap '' HUP INT; exec {} 2> stderr", recording(""));
    let mut child = Command::new("sh");
    child.args(["-c", &script]).current_dir(folder.path("")).stdin(Stdio::null());
    let mut child = child.spawn().expect("a shell");
    let log = folder.path("a.blg");
    let mut seen = wait_for(&log, 3, &mut child);
    for signal in ["-HUP", "-INT", "-HUP", "-INT"] {
        kill(signal, &child);
        seen = wait_for(&log, seen + 5, &mut child);
    }
    kill("-TERM", &child);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert_complete(&folder, &log);
}

#[test]
fn sighup_without_a_terminal_does_not_end_the_recording() {
    let folder = Folder::new();
    let mut command = Command::new("setsid");
    let script = format!("exec {} 2> stderr", recording(""));
    command.args(["-w", "env", "--default-signal=HUP,INT,QUIT,TERM", "sh", "-c", &script]);
    command.current_dir(folder.path("")).stdin(Stdio::null());
    let mut child = command.spawn().expect("setsid");
    let log = folder.path("a.blg");
    let seen = wait_for(&log, 3, &mut child);
    kill("-HUP", &child);
    wait_for(&log, seen + 5, &mut child);
    kill("-TERM", &child);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert_complete(&folder, &log);
}
