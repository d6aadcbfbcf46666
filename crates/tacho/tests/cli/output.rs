//! Where results go: files that appear when they are whole, devices, pipes, interrupts.

mod replaced;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::made::mixed;
use crate::run::{Folder, Ran};

fn small() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 4).write(&folder.path("in.blg"));
    folder
}

#[test]
fn an_existing_file_is_overwritten_with_y_only() {
    let folder = small();
    folder.write("out.csv", "mine");
    folder
        .run(["relog", "in.blg", "-o", "out.csv"])
        .refused(2, "out.csv exists: give -y to overwrite it, or another name");
    assert_eq!(folder.text("out.csv"), "mine");
    folder.relog(["in.blg", "-o", "out.csv", "-y"]);
    assert!(folder.text("out.csv").starts_with("\"(PDH-CSV 4.0)"));
    assert_eq!(folder.names(), ["in.blg", "out.csv"]);
}

#[test]
fn a_failure_leaves_the_file_as_it_was() {
    let folder = small();
    folder.write("in.csv", "(PDH-CSV 4.0),\\P\\S\\ä\n03/05/2024 10:00:01,1\n");
    folder.write("out.csv", "mine");
    let ran = folder.run(["relog", "in.csv", "--output-encoding", "1251", "-y", "-o", "out.csv"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_eq!(folder.text("out.csv"), "mine");
    assert_eq!(folder.names(), ["in.blg", "in.csv", "out.csv"]);
}

#[test]
fn the_output_may_be_the_input() {
    let folder = small();
    let before = folder.stats(&["in.blg"]);
    folder
        .run(["relog", "in.blg", "-o", "in.blg"])
        .refused(2, "in.blg exists: give -y to overwrite it, or another name");
    folder.relog(["in.blg", "-y", "-o", "in.blg"]);
    assert_eq!(folder.stats(&["in.blg"]), before);
    folder.relog(["in.blg", "-y", "-c", r"\System\*", "-o", "in.blg"]);
    assert_eq!(folder.stats(&["in.blg"]).len(), 1);
}

#[test]
fn folders_are_no_outputs() {
    let folder = small();
    folder.run(["relog", "in.blg", "-o", "."]).refused(2, ".: this is a folder");
    folder
        .run(["relog", "in.blg", "-o", "none/out.csv"])
        .refused(1, "none/out.csv: its folder does not exist; make it first");
    // A folder in which no file can be made.
    let why = "/proc/out.csv: files cannot be created in this folder; choose another";
    folder.run(["relog", "in.blg", "-o", "/proc/out.csv"]).refused(1, why);
    folder.run(["query", r"\Memory\Available Bytes", "-sc", "1", "-o", "/proc/out.csv"]).refused(1, why);
    folder.run(["record", r"\Memory\Available Bytes", "-sc", "1", "-o", "/proc/out.csv"]).refused(1, why);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = small();
    folder.write("real.csv", "old");
    std::os::unix::fs::symlink("real.csv", folder.path("link.csv")).expect("a link");
    folder.relog(["in.blg", "-y", "-o", "link.csv"]);
    assert!(folder.path("link.csv").is_symlink());
    assert!(folder.text("real.csv").starts_with("\"(PDH-CSV 4.0)"));
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let folder = small();
    let locked = folder.path("locked");
    std::fs::create_dir(&locked).expect("a folder");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).expect("permissions");
    if std::fs::write(locked.join("probe"), "").is_ok() {
        eprintln!("left out: this user may write everywhere");
        return;
    }
    folder
        .run(["relog", "in.blg", "-o", "locked/out.csv"])
        .refused(1, "locked/out.csv: cannot write: Permission denied");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_that_names_it() {
    let folder = small();
    for format in ["csv", "tsv", "json", "bin"] {
        folder
            .run(["relog", "in.blg", "-f", format, "-o", "/dev/full"])
            .refused(1, "/dev/full: cannot write: No space left on device");
    }
    for arguments in [
        &["list", "in.blg"][..],
        &["stats", "in.blg"],
        &["stats", "-f", "json", "in.blg"],
        &["relog", "in.blg"],
        &["relog", "in.blg", "-o", "-"],
        &["check", "in.blg"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let output = folder.command(arguments).stdout(full).output().expect("the command starts");
        let what = if arguments.ends_with(&["-"]) {
            "standard output: cannot write"
        } else {
            "cannot write the output"
        };
        Ran::from(output).refused(1, &format!("{what}: No space left on device"));
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20_000).write(&folder.path("long.blg"));
    for format in ["csv", "json"] {
        let mut child = folder
            .command(["relog", "long.blg", "-f", format, "-o", "-"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("a line");
        drop(stdout);
        let ran = Ran::from(child.wait_with_output().expect("an end"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{line}");
    }
}

#[test]
fn every_output_ends_quietly_where_nobody_reads_it() {
    let folder = small();
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
        let output = folder.command(arguments).stdout(writer).output().expect("the command starts");
        let ran = Ran::from(output);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn standard_error_that_nobody_reads_is_no_failure() {
    let folder = small();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = folder.command(["relog", "in.blg", "-o", "out.csv"]).stderr(writer).output();
    assert_eq!(output.expect("the command starts").status.code(), Some(0));
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
        .signalled_command(["relog", "1.blg", "-y", "-o", "out.csv"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    // In the midst of its work: it has begun its output, which bears another name meanwhile.
    let is_begun = || folder.names().len() > 2;
    while !is_begun() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before its output was seen");
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let status = child.wait_with_output().expect("an end").status;
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status:?}");
    assert_eq!(folder.names(), ["1.blg", "out.csv"]);
    assert_eq!(folder.text("out.csv"), "mine");
}
