//! Logs in databases: converted logs have the same statistics, and recordings survive kills.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::log_fixture::mixed;
use crate::record::kill;
use crate::run::{Folder, Outcome};

const LOG: &str = "SQL:x.db!web";

fn folder() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("in.blg"));
    folder
}

/// The samples of a log as JSON lines.
#[track_caller]
fn samples(folder: &Folder, log: &str) -> String {
    folder.prints(["relog", log, "-f", "json"])
}

#[test]
fn a_log_through_a_database_has_equal_samples_and_statistics() {
    let folder = folder();
    let ran = folder.relog(["in.blg", "-f", "SQL", "-o", LOG]);
    assert!(ran.stderr.ends_with("tacho: SQL:x.db!web: 20 samples written\n"), "{}", ran.stderr);
    folder.relog([LOG, "-o", "again.blg"]);
    assert_eq!(samples(&folder, LOG), samples(&folder, "in.blg"));
    assert_eq!(samples(&folder, "again.blg"), samples(&folder, "in.blg"));
    for log in [LOG, "again.blg"] {
        assert_eq!(folder.stats(&[log]), folder.stats(&["in.blg"]));
    }
    let window = ["-b", "3/5/2024 10:00:05", "-e", "3/5/2024 10:00:15", "-c", r"\Processor(*)\*"];
    assert_eq!(
        folder.stats(&[&[LOG], &window[..]].concat()),
        folder.stats(&[&["in.blg"], &window[..]].concat())
    );
    // After -c, a log is not a counter path.
    let after = folder.stats(&["-c", r"\Memory\*", LOG]);
    assert_eq!(after, folder.stats(&["-c", r"\Memory\*", "in.blg"]));
    assert!(folder.prints(["check", LOG]).starts_with("SQL:x.db!web: intact: SQL, 20 samples"));
    assert!(folder.prints(["list", LOG]).contains("PhysicalDisk"));
    let compared = folder.prints(["compare", "in.blg", LOG]);
    assert!(compared.contains("PhysicalDisk"), "{compared}");
    assert_eq!(folder.names(), ["again.blg", "in.blg", "x.db"]);
}

/// Both counters belong to one set, but each has an instance of its own.
#[test]
fn a_log_through_a_database_has_no_counters_that_it_never_had() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\S(x)\\a\",\"\\\\vm\\S(y)\\b\",\"\\\\vm\\S(x)\\c\"\r\n\
                \"01/01/2026 00:00:00.000\",\"1\",\"2\",\"3\"\r\n\
                \"01/01/2026 00:00:01.000\",\"4\",\" \",\"5\"\r\n\
                \"01/01/2026 00:00:02.000\",\"6\",\"7\",\"8\"\r\n";
    std::fs::write(folder.path("in.csv"), text).expect("a writable folder");
    folder.relog(["in.csv", "-o", LOG]);
    assert_eq!(folder.stats(&[LOG]), folder.stats(&["in.csv"]));
    let columns = folder.prints(["relog", LOG, "-f", "csv"]);
    assert_eq!(columns.lines().next().map(|line| line.split(',').count()), Some(4), "{columns}");
}

#[test]
fn an_existing_log_is_refused_replaced_or_continued() {
    let folder = folder();
    mixed("WEB1", 20, 10).write(&folder.path("later.blg"));
    folder.relog(["in.blg", "-o", LOG]);
    folder.run(["relog", "in.blg", "-o", LOG]).fails_with(
        2,
        "SQL:x.db!web: the database has a log of this name: use -y to replace it, -a to append to it, or another name",
    );
    let ran = folder.run(["relog", "in.blg", "-a", "-o", LOG]);
    assert!(
        ran.status == 1 && ran.stderr.contains("cannot append: the log ends at 2024-03-05 09:00:19:000 UTC"),
        "{ran:?}"
    );
    assert_eq!(samples(&folder, LOG), samples(&folder, "in.blg"));
    folder.relog(["later.blg", "-a", "-o", LOG]);
    assert_eq!(samples(&folder, LOG).lines().count(), 30);
    assert_eq!(folder.stats(&[LOG]), folder.stats(&["in.blg", "later.blg"]));
    folder.relog(["later.blg", "-y", "-o", LOG]);
    assert_eq!(samples(&folder, LOG), samples(&folder, "later.blg"));
    // A selection without samples changes nothing.
    let ran = folder.run(["relog", "in.blg", "-y", "-o", LOG, "-b", "2030-01-01"]);
    assert_ne!(ran.status, 0);
    assert_eq!(samples(&folder, LOG), samples(&folder, "later.blg"));
}

#[test]
fn logs_of_several_machines_are_merged() {
    let folder = folder();
    mixed("WEB2", 0, 20).write(&folder.path("other.blg"));
    folder.relog(["in.blg", "other.blg", "-o", LOG]);
    folder.relog(["in.blg", "other.blg", "-o", "both.blg"]);
    assert_eq!(samples(&folder, LOG), samples(&folder, "both.blg"));
}

#[test]
fn wrong_names_and_options_are_refused() {
    let folder = folder();
    let refused = |arguments: &[&str], text: &str| {
        let ran = folder.run(arguments);
        assert!(ran.status == 2 && ran.stderr.contains(text), "{arguments:?}: {ran:?}");
    };
    refused(&["relog", "in.blg", "-f", "SQL", "-o", "out.db"], "use -o SQL:FILE.db!NAME");
    refused(&["relog", "in.blg", "-f", "csv", "-o", LOG], "has the format SQL, not CSV");
    refused(&["relog", "in.blg", "-f", "SQL"], "use -o SQL:FILE.db!NAME");
    refused(&["relog", "in.blg", "-q", "-o", LOG], "-q writes counter paths to a file");
    refused(&["relog", "in.blg", "-o", "SQL:x.db"], "SQL:DSN!NAME");
    refused(&["relog", "in.blg", "-o", "SQL:servers!web"], "only SQLite databases are supported");
    refused(&["relog", "in.blg", "-a", "-y", "-o", LOG], "-a appends and -y overwrites");
    refused(&["check", "in.blg", "--salvage", LOG], "must be a file");
    refused(&["query", r"\Memory\*", "-o", LOG], "must be a file");
    refused(&["list", "-o", LOG], "must be a file");
    for (option, name) in [
        (&["-max", "5"][..], "-max"),
        (&["-segment", "100MB"], "-segment and -cnf"),
        (&["-circular"], "-circular"),
        (&["-v", "nnnnnn"], "-v"),
        (&["--keep", "3d"], "--keep"),
    ] {
        refused(&[&["record", r"\Memory\*", "-o", LOG], option].concat(), name);
    }
    refused(&["record", r"\Memory\*", "-f", "bin", "-o", LOG], "has the format SQL, not BLG");
    refused(&["record", r"\Memory\*", "-f", "sql", "-o", "a.blg"], "use -o SQL:FILE.db!NAME");
    assert_eq!(folder.names(), ["in.blg"]);
    for command in ["stats", "list", "check", "relog"] {
        let ran = folder.run([command, LOG]);
        assert!(
            ran.status != 0 && ran.stderr.contains("x.db: cannot read: No such file or directory"),
            "{ran:?}"
        );
    }
    folder.relog(["in.blg", "-o", LOG]);
    let ran = folder.run(["stats", "SQL:x.db!march"]);
    assert!(ran.stderr.contains("no log 'march' in the database; it has: web"), "{ran:?}");
    folder.write("empty.db", "");
    let ran = folder.run(["stats", "SQL:empty.db!web"]);
    assert!(ran.stderr.contains("not a database of performance logs"), "{ran:?}");
}

#[test]
fn a_database_without_the_name_of_a_log_is_refused_with_its_logs() {
    let folder = folder();
    folder.relog(["in.blg", "-o", LOG]);
    folder.relog(["in.blg", "-o", "SQL:x.db!all"]);
    for command in ["stats", "list", "check", "relog"] {
        folder
            .run([command, "x.db"])
            .fails_with(1, "x.db: an SQLite database: a log in it is named SQL:x.db!NAME; it has: all, web");
    }
    // The name of another file would be a data source of ODBC.
    std::fs::rename(folder.path("x.db"), folder.path("x.data")).expect("renamed");
    folder.run(["stats", "x.data"]).fails_with(
        1,
        "x.data: an SQLite database: a log in it is named SQL:FILE!NAME, where FILE must end in .db, .sqlite or .sqlite3",
    );
}

/// The limits leave room for nothing, and for a part of the tables or of the samples.
#[test]
fn a_new_database_is_removed_if_no_log_was_committed() {
    let folder = folder();
    let fails_with_limit = |blocks: u32| {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" relog in.blg -o '{LOG}'");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_tacho")]).current_dir(folder.path("."));
        let ran = shell.output().expect("sh runs");
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    };
    for blocks in [1, 20] {
        fails_with_limit(blocks);
        assert_eq!(folder.names(), ["in.blg"]);
    }
    // A file that existed before is kept.
    folder.write("x.db", "");
    fails_with_limit(1);
    assert_eq!(folder.names(), ["in.blg", "x.db"]);
}

#[test]
fn a_recording_is_refused_replaced_or_continued() {
    let folder = Folder::new();
    let record = |options: &[&str]| {
        folder.run([&["record", r"\Memory\*", "-si", "0.05", "-sc", "3", "-o", LOG], options].concat())
    };
    let ran = record(&[]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("SQL:x.db!web: 3 samples over "), "{}", ran.stderr);
    record(&[])
        .fails_with(2, "SQL:x.db!web exists: use -y to overwrite it, -a to append to it, or another name");
    assert_eq!(record(&["-a", "--sync"]).status, 0);
    assert_eq!(samples(&folder, LOG).lines().count(), 6);
    assert_eq!(record(&["-y"]).status, 0);
    assert_eq!(samples(&folder, LOG).lines().count(), 3);
    assert_eq!(folder.names(), ["x.db"]);
}

#[test]
fn a_killed_recording_has_every_printed_sample_whole() {
    let folder = Folder::new();
    for round in 0..10 {
        let log = format!("SQL:x.db!round{round}");
        let mut command =
            folder.command(["record", r"\Process(*)\*", "-si", "0.01", "--print-times", "-o", &log]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut printed: Vec<String> =
            (0..=round).map(|_| lines.next().expect("it is still recording").expect("UTF-8")).collect();
        kill("-KILL", &child);
        child.wait().expect("an end");
        printed.extend(lines.map_while(Result::ok));
        let text = samples(&folder, &log);
        let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        // The last sample can be written without having been printed.
        assert!(
            found.len() == printed.len() || found.len() == printed.len() + 1,
            "{} {}",
            found.len(),
            printed.len()
        );
        let checked = folder.run(["check", &log]);
        assert_eq!(checked.status, 0, "{}", checked.stdout);
    }
}

#[test]
fn a_full_disk_ends_a_recording_with_whole_samples() {
    let folder = Folder::new();
    let record = format!(
        r"'{}' record '\Process(*)\*' -si 0.01 -sc 400 -o 'SQL:disk/x.db!full'",
        env!("CARGO_BIN_EXE_tacho")
    );
    let Some(output) = folder.on_full_disk("2m", &record) else { return };
    let ran = Outcome::from(output);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("No space left on device") || ran.stderr.contains("disk I/O error"),
        "{}",
        ran.stderr
    );
    let checked = folder.run(["check", "SQL:disk/x.db!full"]);
    assert_eq!(checked.status, 0, "{}{}", checked.stdout, checked.stderr);
}

/// Starts a recording, and returns it with its lines on standard output, one per sample.
fn recording(folder: &Folder, log: &str) -> (std::process::Child, impl Iterator<Item = String> + use<>) {
    let mut child = folder
        .command_with_default_signals(["record", r"\Memory\*", "-si", "0.02", "--print-times", "-o", log])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start command");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, lines.map(|line| line.expect("UTF-8")))
}

/// Stops a recording after its next sample; returns its messages.
fn stop(child: std::process::Child, lines: &mut impl Iterator<Item = String>) -> Outcome {
    lines.next().expect("it is still recording");
    kill("-TERM", &child);
    // The output is read to its end, so that the recorder does not wait.
    lines.for_each(drop);
    Outcome::from(child.wait_with_output().expect("an end"))
}

#[test]
fn a_log_that_is_being_written_is_refused_but_others_are_not() {
    let folder = folder();
    let (child, mut lines) = recording(&folder, LOG);
    let (other, mut other_lines) = recording(&folder, "SQL:x.db!other");
    lines.next().expect("a sample");
    other_lines.next().expect("a sample");
    for (arguments, option) in [
        (&["record", r"\Memory\*", "-sc", "1"][..], "-a"),
        (&["record", r"\Memory\*", "-sc", "1"], "-y"),
        (&["relog", "in.blg"], "-a"),
        (&["relog", "in.blg"], "-y"),
    ] {
        folder.run([arguments, &[option, "-o", LOG]].concat()).fails_with(
            2,
            "SQL:x.db!web: another recorder is writing it; use another name, or stop that recorder",
        );
    }
    for ran in [stop(child, &mut lines), stop(other, &mut other_lines)] {
        assert_eq!((ran.status, ran.stderr.lines().count()), (0, 1), "{}", ran.stderr);
    }
    assert_eq!(folder.names(), ["in.blg", "x.db"]);
    assert_eq!(folder.run(["record", r"\Memory\*", "-sc", "1", "-a", "-o", LOG]).status, 0);
}

#[test]
fn a_deleted_or_replaced_database_is_reported_and_created_again() {
    let folder = folder();
    folder.relog(["in.blg", "-o", "SQL:other.db!web2"]);
    for with_other in [false, true] {
        let (child, mut lines) = recording(&folder, LOG);
        lines.by_ref().take(3).for_each(drop);
        if with_other {
            std::fs::copy(folder.path("other.db"), folder.path("copy.db")).expect("a copy");
            std::fs::rename(folder.path("copy.db"), folder.path("x.db")).expect("a database");
        } else {
            std::fs::remove_file(folder.path("x.db")).expect("a database");
        }
        // The sample after the next one was certainly taken after the deletion.
        lines.by_ref().take(2).for_each(drop);
        let ran = stop(child, &mut lines);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let messages: Vec<_> = ran.stderr.lines().collect();
        assert!(messages[0].starts_with("tacho: SQL:x.db!web: was deleted with "), "{}", ran.stderr);
        assert!(
            messages[0].ends_with(" of this recording; the next sample starts a new log with this name"),
            "{}",
            ran.stderr
        );
        assert!(
            messages[1]
                .starts_with("tacho: SQL:x.db!web: 2 files (1 kept, 1 deleted during the recording), "),
            "{}",
            ran.stderr
        );
        assert!(samples(&folder, LOG).lines().count() >= 2);
        if with_other {
            assert_eq!(samples(&folder, "SQL:x.db!web2"), samples(&folder, "in.blg"));
        }
        std::fs::remove_file(folder.path("x.db")).expect("a database");
        assert_eq!(folder.names(), ["in.blg", "other.db"]);
    }
}

#[test]
fn a_renamed_database_has_all_samples_until_then() {
    let folder = folder();
    let (child, mut lines) = recording(&folder, LOG);
    let mut count = lines.by_ref().take(3).count();
    std::fs::rename(folder.path("x.db"), folder.path("y.db")).expect("a database");
    count += lines.by_ref().take(2).count();
    lines.next().expect("it is still recording");
    kill("-TERM", &child);
    count += 1 + lines.count();
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("tacho: SQL:x.db!web: was renamed with "), "{}", ran.stderr);
    let found = [LOG, "SQL:y.db!web"].map(|log| samples(&folder, log).lines().count());
    assert_eq!(found[0] + found[1], count, "{found:?} {}", ran.stderr);
    assert!(found[1] >= 3, "{found:?}");
}

#[test]
fn another_database_with_the_log_ends_the_recording() {
    let folder = folder();
    folder.relog(["in.blg", "-o", "SQL:other.db!web"]);
    let (child, mut lines) = recording(&folder, LOG);
    lines.by_ref().take(3).for_each(drop);
    std::fs::rename(folder.path("other.db"), folder.path("x.db")).expect("a database");
    lines.for_each(drop);
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(" of this recording; another file now has its name\n"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("the log in that one was not overwritten\n"), "{}", ran.stderr);
    assert_eq!(samples(&folder, LOG), samples(&folder, "in.blg"));
}
