//! SIGHUP and SIGINT: from terminals that close, under `nohup`, and ignored by whatever started the recording.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{kill, samples, wait_for};
use crate::run::Folder;

/// As long as anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn recording(rest: &str) -> String {
    let counter = super::COUNTERS[0];
    format!("'{}' record '{counter}' -si 0.02 -o a.blg {rest}", env!("CARGO_BIN_EXE_tacho"))
}

/// A shell in a terminal of its own; its parent holds the terminal.
fn in_terminal(folder: &Folder, script: &str) -> Option<Child> {
    folder.write("script.sh", script);
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT,TERM", "script", "-qfc", "sh script.sh", "/dev/null"]);
    command.current_dir(folder.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().ok();
    if child.is_none() {
        eprintln!("left out: 'script' is missing (Debian's package bsdutils)");
    }
    child
}

#[test]
fn a_terminal_that_closes_ends_with_a_whole_log() {
    let folder = Folder::new();
    // The outer shell, which leads the session, dies of SIGHUP; all others in front of the terminal get the signal then. The
    // inner one handles it so that it can say how the recording ended.
    let inner =
        format!("trap : HUP\n{} 2> said\necho $? > status.new; mv status.new status\n", recording(""));
    folder.write("inner.sh", inner);
    let Some(mut terminal) = in_terminal(&folder, "sh inner.sh\n:\n") else { return };
    wait_for(&folder.path("a.blg"), 3, &mut terminal);
    kill("-KILL", &terminal);
    terminal.wait().expect("an end");
    wait_until("the recording ends", || folder.path("status").exists());
    assert_eq!(folder.text("status"), "0\n", "{}", folder.text("said"));
    let count = samples(&folder.path("a.blg")).len();
    assert!(folder.text("said").starts_with(&format!("tacho: a.blg: {count} samples over ")));
    assert!(folder.prints(["check", "a.blg"]).contains(": whole: "));
}

/// Ends a process by its number and waits until it has gone.
#[track_caller]
fn end(pid: &str) {
    let status = Command::new("kill").args(["-TERM", pid]).status().expect("kill");
    assert!(status.success());
    wait_until("it ends", || {
        // One that nobody waits for stays as a zombie.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
}

#[test]
fn nohup_outlives_the_terminal() {
    let folder = Folder::new();
    let script = format!("echo $$ > pid.new; mv pid.new pid\nexec nohup {} > said 2>&1\n", recording(""));
    let Some(mut terminal) = in_terminal(&folder, &script) else { return };
    let log = folder.path("a.blg");
    let seen = wait_for(&log, 3, &mut terminal);
    kill("-KILL", &terminal);
    terminal.wait().expect("an end");
    wait_until("it goes on recording", || samples(&log).len() > seen + 20);
    end(folder.text("pid").trim());
    is_complete(&folder, &log);
}

#[track_caller]
fn is_complete(folder: &Folder, log: &Path) {
    let count = samples(log).len();
    let said = folder.text("said");
    assert!(said.contains(&format!("tacho: a.blg: {count} samples over ")), "{said}");
    assert!(folder.prints(["check", "a.blg"]).contains(": whole: "));
}

#[test]
fn signals_that_were_ignored_stay_ignored() {
    let folder = Folder::new();
    let script = format!("trap '' HUP INT; exec {} 2> said", recording(""));
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
    is_complete(&folder, &log);
}

#[test]
fn sighup_from_a_program_ends_nothing() {
    let folder = Folder::new();
    let mut command = Command::new("setsid");
    let script = format!("exec {} 2> said", recording(""));
    command.args(["-w", "env", "--default-signal=HUP,INT,QUIT,TERM", "sh", "-c", &script]);
    command.current_dir(folder.path("")).stdin(Stdio::null());
    let mut child = command.spawn().expect("setsid");
    let log = folder.path("a.blg");
    let seen = wait_for(&log, 3, &mut child);
    kill("-HUP", &child);
    wait_for(&log, seen + 5, &mut child);
    kill("-TERM", &child);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    is_complete(&folder, &log);
}
