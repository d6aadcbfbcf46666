//! What is refused before the first sample.

use super::arguments;
use crate::run::Folder;

#[track_caller]
fn refused(rest: &[&str], status: i32, line: &str) {
    let folder = Folder::new();
    folder.run(arguments(rest)).refused(status, line);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn arguments_that_contradict_each_other() {
    for (rest, line) in [
        (&["-circular", "-o", "a.blg"][..], "-circular needs the size of the file: give -max MB"),
        (&["-f", "bincirc", "-o", "a.blg"], "-circular needs the size of the file: give -max MB"),
        (
            &["-circular", "-max", "1", "-o", "a.csv"],
            "-circular: a CSV cannot be circular; give -f bin, or a name that ends in .blg",
        ),
        (
            &["-circular", "-max", "1", "-segment", "10", "-o", "a.blg"],
            "-circular keeps one file of -max MB, and -segment and -cnf begin new ones: give one of them",
        ),
        (
            &["-circular", "-max", "1", "-a", "-o", "a.blg"],
            "-a: nothing can be appended to a circular log, its end is in its midst",
        ),
        (
            &["-segment", "1MB", "-max", "1", "-o", "a.blg"],
            "-segment SIZE and -max are both the size of a file: give one of them",
        ),
        (
            &["-cnf", "-o", "a.blg"],
            "-segment and -cnf need a time or a size: give -segment 1:00:00, -segment 100MB, or -max MB with -cnf",
        ),
        (&["-segment", "0.01", "-o", "a.blg"], "-segment: a file cannot be shorter than the interval (-si)"),
        (
            &["-segment", "10", "-a", "-o", "a.blg"],
            "-a: files with -v, -segment or -cnf are always new ones, numbered on behind those that are there: leave -a out",
        ),
        (
            &["-o", "a.json"],
            "a.json: JSON is no format of recordings: give -f bin, csv or tsv ('tacho query -f json' prints it)",
        ),
        (
            &["-o", "-"],
            "a recording needs a file, since each sample is kept as it comes; 'tacho query' prints to standard output",
        ),
        (&["-o", "a.txt"], "a.txt: give -f bin, csv or tsv, or a name that ends in .blg, .csv or .tsv"),
        (
            &["-o", "a.csv", "-f", "bincirc", "-max", "1"],
            "a.csv: -f bincirc writes a BLG: give a name that ends in .blg",
        ),
        (&["-a", "-y", "-o", "a.blg"], "-a appends and -y overwrites: give one of them"),
        (&["-o", "."], ".: this is a folder"),
        (&["-o", ".."], "..: this is a folder"),
    ] {
        refused(rest, 2, line);
    }
    refused(&["-o", "none/a.blg"], 1, "none/a.blg: its folder does not exist; make it first");
}

#[test]
fn values_that_are_none() {
    let folder = Folder::new();
    for (rest, what) in [
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
        assert!(ran.stderr.contains(what), "{}", ran.stderr);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn unknown_counters_and_machines() {
    let folder = Folder::new();
    let ran = folder.run(["record", r"\Memory\Availible Bytes", "-o", "a.blg"]);
    ran.refused(
        2,
        r"'\Memory\Availible Bytes' is not on this machine: did you mean the counter 'Available Bytes'?",
    );
    let ran = folder.run(["record", "Memory", "-o", "a.blg"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("tacho: 'Memory'"), "{}", ran.stderr);
    for arguments in [&[r"\\elsewhere\Memory\*"][..], &[r"\Memory\*", "-s", "elsewhere"]] {
        let ran = folder.run([&["record", "-o", "a.blg"], arguments].concat());
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains("elsewhere' is another machine"), "{}", ran.stderr);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn a_folder_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let locked = folder.path("locked");
    std::fs::create_dir(&locked).expect("a folder");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).expect("permissions");
    if std::fs::write(locked.join("probe"), "").is_ok() {
        eprintln!("left out: this user may write everywhere");
        return;
    }
    folder
        .run(arguments(&["-o", "locked/a.blg"]))
        .refused(1, "locked/a.blg: cannot write: Permission denied");
}
