//! Outputs: files that appear when they are complete, devices, pipes, interrupts.

mod replaced;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::log_fixture::mixed;
use crate::run::{Folder, Outcome};

fn small_log() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 4).write(&folder.path("in.blg"));
    folder
}

#[test]
fn an_existing_file_is_only_overwritten_with_y() {
    let folder = small_log();
    folder.write("out.csv", "mine");
    folder
        .run(["relog", "in.blg", "-o", "out.csv"])
        .fails_with(2, "out.csv exists: use -y to overwrite it, or another name");
    assert_eq!(folder.text("out.csv"), "mine");
    folder.relog(["in.blg", "-o", "out.csv", "-y"]);
    assert!(folder.text("out.csv").starts_with("\"(PDH-CSV 4.0)"));
    assert_eq!(folder.names(), ["in.blg", "out.csv"]);
}

#[test]
fn a_failure_does_not_change_the_file() {
    let folder = small_log();
    folder.write("in.csv", "(PDH-CSV 4.0),\\P\\S\\ä\n03/05/2024 10:00:01,1\n");
    folder.write("out.csv", "mine");
    let ran = folder.run(["relog", "in.csv", "--output-encoding", "1251", "-y", "-o", "out.csv"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_eq!(folder.text("out.csv"), "mine");
    assert_eq!(folder.names(), ["in.blg", "in.csv", "out.csv"]);
}

#[test]
fn the_output_can_be_the_input() {
    let folder = small_log();
    let before = folder.stats(&["in.blg"]);
    folder
        .run(["relog", "in.blg", "-o", "in.blg"])
        .fails_with(2, "in.blg exists: use -y to overwrite it, or another name");
    folder.relog(["in.blg", "-y", "-o", "in.blg"]);
    assert_eq!(folder.stats(&["in.blg"]), before);
    folder.relog(["in.blg", "-y", "-c", r"\System\*", "-o", "in.blg"]);
    assert_eq!(folder.stats(&["in.blg"]).len(), 1);
}

#[test]
fn folders_are_refused_as_outputs() {
    let folder = small_log();
    folder.run(["relog", "in.blg", "-o", "."]).fails_with(2, ".: this is a folder, not a file");
    folder
        .run(["relog", "in.blg", "-o", "none/out.csv"])
        .fails_with(1, "none/out.csv: its folder does not exist; create it first");
    // A folder in which files cannot be created.
    let why = "/proc/out.csv: files cannot be created in this folder; choose another";
    folder.run(["relog", "in.blg", "-o", "/proc/out.csv"]).fails_with(1, why);
    folder.run(["query", r"\Memory\Available Bytes", "-sc", "1", "-o", "/proc/out.csv"]).fails_with(1, why);
    folder.run(["record", r"\Memory\Available Bytes", "-sc", "1", "-o", "/proc/out.csv"]).fails_with(1, why);
}

#[cfg(unix)]
#[test]
fn an_output_that_is_a_link_remains_a_link() {
    let folder = small_log();
    folder.write("real.csv", "old");
    std::os::unix::fs::symlink("real.csv", folder.path("link.csv")).expect("a link");
    folder.relog(["in.blg", "-y", "-o", "link.csv"]);
    assert!(folder.path("link.csv").is_symlink());
    assert!(folder.text("real.csv").starts_with("\"(PDH-CSV 4.0)"));
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = small_log();
    let locked = folder.path("locked");
    std::fs::create_dir(&locked).expect("a folder");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).expect("permissions");
    if std::fs::write(locked.join("probe"), "").is_ok() {
        eprintln!("skipped: this user can write everywhere");
        return;
    }
    folder
        .run(["relog", "in.blg", "-o", "locked/out.csv"])
        .fails_with(1, "locked/out.csv: cannot write: Permission denied");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_with_its_name() {
    let folder = small_log();
    for format in ["csv", "tsv", "json", "bin"] {
        folder
            .run(["relog", "in.blg", "-f", format, "-o", "/dev/full"])
            .fails_with(1, "/dev/full: cannot write: No space left on device");
    }
    for arguments in [
        &["list", "in.blg"][..],
        &["stats", "in.blg"],
        &["stats", "-f", "json", "in.blg"],
        &["relog", "in.blg"],
        &["relog", "in.blg", "-o", "-"],
        &["check", "in.blg"],
        &["--help"],
        &["relog", "--help"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let output = folder.command(arguments).stdout(full).output().expect("start command");
        let start = if arguments.ends_with(&["-"]) {
            "standard output: cannot write"
        } else {
            "cannot write the output"
        };
        Outcome::from(output).fails_with(1, &format!("{start}: No space left on device"));
    }
}

#[test]
fn a_closed_pipe_ends_the_command_silently() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20_000).write(&folder.path("long.blg"));
    for format in ["csv", "json"] {
        let mut child = folder
            .command(["relog", "long.blg", "-f", format, "-o", "-"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start command");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("a line");
        drop(stdout);
        let ran = Outcome::from(child.wait_with_output().expect("an end"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{line}");
    }
}

#[test]
fn every_command_ends_silently_on_a_closed_pipe() {
    let folder = small_log();
    folder.write("set.man", include_str!("../../../perflib/tests/manifest/shop.man"));
    let counter = r"\System\Processes";
    for arguments in [
        &["list", "in.blg"][..],
        &["list", "in.blg", "-f", "json"],
        &["list"],
        &["list", "-f", "json"],
        &["list", "-v"],
        &["list", "-q"],
        &["stats", "in.blg"],
        &["stats", "-f", "csv", "in.blg"],
        &["stats", "-f", "json", "in.blg"],
        &["relog", "in.blg"],
        &["relog", "-q", "in.blg"],
        &["relog", "in.blg", "-f", "csv", "-o", "-"],
        &["relog", "in.blg", "-f", "tsv", "-o", "-"],
        &["relog", "in.blg", "-f", "json", "-o", "-"],
        &["check", "in.blg"],
        &["query", counter, "-sc", "2", "-si", "0.02"],
        &["query", counter, "-sc", "2", "-si", "0.02", "-f", "csv"],
        &["query", counter, "-sc", "2", "-si", "0.02", "-f", "tsv"],
        &["query", counter, "-sc", "2", "-si", "0.02", "-f", "json"],
        &["manifest", "check", "set.man"],
        &["manifest", "rust", "set.man"],
        &["manifest", "header", "set.man"],
        &["--help"],
        &["stats", "--help"],
        &["--version"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = folder.command(arguments).stdout(writer).output().expect("start command");
        let ran = Outcome::from(output);
        // `list -v` prints why counters are missing on this machine.
        let is_absence = |line: &&str| arguments == ["list", "-v"] && line.starts_with(r"tacho: \");
        let others: Vec<_> = ran.stderr.lines().filter(|line| !is_absence(line)).collect();
        assert!(ran.status == 0 && others.is_empty(), "{arguments:?}: {} {others:?}", ran.status);
    }
}

#[cfg(unix)]
#[test]
fn a_closed_standard_error_is_ignored() {
    let folder = small_log();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = folder.command(["relog", "in.blg", "-o", "out.csv"]).stderr(writer).output();
    assert_eq!(output.expect("start command").status.code(), Some(0));
    assert!(folder.path("out.csv").is_file());
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_partial_file() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    mixed("WEB1", 0, 200_000).write(&folder.path("1.blg"));
    folder.write("out.csv", "mine");
    let mut child = folder
        .command_with_default_signals(["relog", "1.blg", "-y", "-o", "out.csv"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("start command");
    // Wait for the partial file, which has a temporary name.
    let has_partial_file = || folder.names().len() > 2;
    while !has_partial_file() {
        assert!(child.try_wait().expect("a child").is_none(), "tacho ended too early");
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let status = child.wait_with_output().expect("an end").status;
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status:?}");
    assert_eq!(folder.names(), ["1.blg", "out.csv"]);
    assert_eq!(folder.text("out.csv"), "mine");
}
