//! Errors before the first sample.

use super::arguments;
use crate::run::Folder;

#[track_caller]
fn assert_refused(rest: &[&str], status: i32, line: &str) {
    let folder = Folder::new();
    folder.run(arguments(rest)).fails_with(status, line);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn contradictory_arguments_are_refused() {
    for (rest, line) in [
        (&["-circular", "-o", "a.blg"][..], "-circular needs the size of the file: add -max MB"),
        (&["-f", "bincirc", "-o", "a.blg"], "-circular needs the size of the file: add -max MB"),
        (
            &["-circular", "-max", "1", "-o", "a.csv"],
            "-circular: a CSV cannot be circular; use -f bin, or a name that ends in .blg",
        ),
        (
            &["-circular", "-max", "1", "-segment", "10", "-o", "a.blg"],
            "-circular writes one file of -max MB, but -segment and -cnf start new files: use one of them",
        ),
        (&["-circular", "-max", "1", "-a", "-o", "a.blg"], "-a: cannot append to a circular log"),
        (
            &["-segment", "1MB", "-max", "1", "-o", "a.blg"],
            "-segment SIZE and -max both limit the size of a file: use one of them",
        ),
        (
            &["-cnf", "-o", "a.blg"],
            "-segment and -cnf need a time or a size: use -segment 1:00:00, -segment 100MB, or -cnf with -max MB",
        ),
        (&["-segment", "0.01", "-o", "a.blg"], "-segment: a file cannot be shorter than the interval (-si)"),
        (
            &["-segment", "10", "-a", "-o", "a.blg"],
            "-a: with -v, -segment or -cnf each recording starts a new file: omit -a",
        ),
        (
            &["-o", "a.json"],
            "a.json: cannot record JSON: use -f bin, csv or tsv ('tacho query -f json' prints JSON)",
        ),
        (&["-o", "-"], "a recording needs a file; 'tacho query' prints to standard output"),
        (
            &["-o", "a.txt"],
            "a.txt: unknown format: use -f bin, csv or tsv, or a name that ends in .blg, .csv or .tsv",
        ),
        (
            &["-o", "a.csv", "-f", "bincirc", "-max", "1"],
            "a.csv: -f bincirc writes a BLG: use a name that ends in .blg",
        ),
        (&["-a", "-y", "-o", "a.blg"], "-a appends and -y overwrites: use one of them"),
        (&["-o", "."], ".: this is a folder, not a file"),
        (&["-o", ".."], "..: this is a folder, not a file"),
    ] {
        assert_refused(rest, 2, line);
    }
    assert_refused(&["-o", "none/a.blg"], 1, "none/a.blg: its folder does not exist; create it first");
}

#[test]
fn invalid_values_are_refused() {
    let folder = Folder::new();
    for (rest, option) in [
        (&["-si", "0", "-o", "a.blg"][..], "-si"),
        (&["-sc", "0", "-o", "a.blg"], "-sc"),
        (&["-d", "1:99", "-o", "a.blg"], "-d"),
        (&["-max", "0", "-o", "a.blg"], "-max"),
        (&["-segment", "1KB", "-o", "a.blg"], "-segment"),
        (&["-f", "sql", "-o", "a.blg"], "-f"),
        (&["-v", "yymmdd", "-o", "a.blg"], "nnnnnn"),
        (&["-sc", "1"], " -o"),
    ] {
        let ran = folder.run([&["record", r"\Memory\Available Bytes"], rest].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{rest:?}");
        assert!(ran.stderr.contains(option), "{}", ran.stderr);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn unknown_counters_and_machines_are_refused() {
    let folder = Folder::new();
    let ran = folder.run(["record", r"\Memory\Availible Bytes", "-o", "a.blg"]);
    ran.fails_with(
        2,
        r"'\Memory\Availible Bytes' is not on this machine: did you mean the counter 'Available Bytes'?",
    );
    let ran = folder.run(["record", "Memory", "-o", "a.blg"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("tacho: 'Memory'"), "{}", ran.stderr);
    for arguments in [&[r"\\elsewhere\Memory\*"][..], &[r"\Memory\*", "-s", "elsewhere"]] {
        let ran = folder.run([&["record", "-o", "a.blg"], arguments].concat());
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains("unknown machine 'elsewhere'"), "{}", ran.stderr);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn a_folder_without_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let locked = folder.path("locked");
    std::fs::create_dir(&locked).expect("a folder");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).expect("permissions");
    if std::fs::write(locked.join("probe"), "").is_ok() {
        eprintln!("skipped: this user can write everywhere");
        return;
    }
    folder
        .run(arguments(&["-o", "locked/a.blg"]))
        .fails_with(1, "locked/a.blg: cannot write: Permission denied");
}

#[test]
fn a_file_is_not_a_folder_for_a_log() {
    let folder = Folder::new();
    folder.write("file", "");
    folder.run(arguments(&["-o", "file/x.blg"])).fails_with(2, "file: this is a file, not a folder");
}
