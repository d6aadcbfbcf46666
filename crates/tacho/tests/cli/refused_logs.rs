//! Files that are not logs or cannot be read: the message is one line, with the file and a remedy.

use crate::log_fixture::mixed;
use crate::run::Folder;

const COMMANDS: [&str; 4] = ["list", "stats", "relog", "check"];

#[test]
fn files_that_are_not_logs_are_refused() {
    let folder = Folder::new();
    folder.write("empty.blg", "");
    folder.write("notes.txt", "Remember the milk.");
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    for command in COMMANDS {
        folder.run([command, "none.blg"]).fails_with(1, "none.blg: cannot read: No such file or directory");
        folder.run([command, "empty.blg"]).fails_with(1, "empty.blg: the file is empty");
        let message = "folder: this is a folder, not a log: an archive has files named machine=NAME/date=YYYY-MM-DD/*.parquet";
        folder.run([command, "folder"]).fails_with(1, message);
        folder.run([command, "notes.txt"]).fails_with(
            1,
            "notes.txt: not a performance log: it starts with 'Remember the milk.' (text); a CSV log starts with \
             \"(PDH-CSV 4.0)\", a TSV log with \"(PDH-TSV 4.0)\", a JSON log with {\"time\"",
        );
    }
    folder
        .run(["stats", "none.blg", "notes.txt"])
        .fails_with(1, "none.blg: cannot read: No such file or directory");
}

#[test]
fn pipes_and_devices_are_refused() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = Folder::new();
    mknodat(CWD, folder.path("pipe.blg"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    for command in COMMANDS {
        for file in ["pipe.blg", "/dev/zero"] {
            folder.run([command, file]).fails_with(
                1,
                &format!(
                    "{file}: a log cannot be read from a pipe or a device, since it is read more than once: save it to a file"
                ),
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_log_without_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    mixed("WEB1", 0, 2).write(&folder.path("in.blg"));
    std::fs::set_permissions(folder.path("in.blg"), std::fs::Permissions::from_mode(0o000))
        .expect("permissions");
    if std::fs::read(folder.path("in.blg")).is_ok() {
        eprintln!("skipped: this user can read everything");
        return;
    }
    for command in COMMANDS {
        folder.run([command, "in.blg"]).fails_with(1, "in.blg: cannot read: Permission denied");
    }
}

#[test]
fn invalid_arguments_have_status_2() {
    let folder = Folder::new();
    for arguments in
        [&["stats"][..], &["check"], &["relog"], &["record"], &["stats", "--nonsense", "x"], &["chart"]]
    {
        let ran = folder.run(arguments.iter().copied());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?} {}", ran.stderr);
        assert!(ran.stderr.contains("--help' lists the "), "{arguments:?} {}", ran.stderr);
    }
}

#[test]
fn help_is_the_same_in_both_forms() {
    let folder = Folder::new();
    let help = folder.prints(["relog", "--help"]);
    assert_eq!(folder.prints(["relog", "/?"]), help);
    for option in [
        "-c, --counter <PATH>",
        "--counter-file <FILE>",
        "(-cf)",
        "-b, --begin <TIME>",
        "-e, --end <TIME>",
        "-t, --every <N>",
        "-a, --append",
        "-y, --yes",
        "-q, --query",
        "-f, --format <FORMAT>",
        "-o, --output <FILE>",
        "--config <FILE>",
    ] {
        assert!(help.contains(option), "{option} in {help}");
    }
    assert!(folder.prints(["--version"]).starts_with("tacho "));
}

#[test]
fn a_time_range_without_samples_is_refused() {
    let folder = Folder::new();
    mixed("WEB1", 0, 4).write(&folder.path("in.blg"));
    let line = "in.blg: no samples in this time range; its samples are from 2024-03-05 10:00:00.000 to 2024-03-05 10:00:03.000";
    for window in [["-b", "2025-01-01"], ["-e", "2023-01-01"]] {
        folder.run([&["stats", "in.blg"][..], &window].concat()).fails_with(1, line);
        folder.run([&["stats", "in.blg", "-c", r"\Memory\*"][..], &window].concat()).fails_with(1, line);
        for output in ["out.blg", "out.csv", "-"] {
            folder.run([&["relog", "in.blg", "-o", output][..], &window].concat()).fails_with(1, line);
        }
    }
    assert_eq!(folder.names(), ["in.blg"]);
}
