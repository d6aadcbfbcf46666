//! `relog`, `record` and reading with ODBC data sources. `crates/logs/tests/odbc/servers.py` starts the servers, and sets TACHO_ODBC;
//! without it, the tests return immediately.

#[path = "../cli/log_fixture.rs"]
#[expect(dead_code, reason = "two fixtures are used")]
mod log_fixture;
#[path = "../cli/run.rs"]
#[expect(dead_code, reason = "few functions are used")]
mod run;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use tachograph_counters::CounterType;
use tachograph_counters::set::Counter;

use log_fixture::{LogFixture, mixed, one, raw};
use run::Folder;

/// The names of a log in a database of each server that was started.
fn logs(log: &str) -> Vec<String> {
    let servers = std::env::var("TACHO_ODBC").unwrap_or_default();
    if servers.is_empty() {
        eprintln!("skipped: run crates/logs/tests/odbc/servers.py with this test");
    }
    servers.split_whitespace().map(|server| format!("SQL:{server}_a!{log}")).collect()
}

/// The samples of a log as JSON lines.
#[track_caller]
fn samples(folder: &Folder, log: &str) -> String {
    folder.prints(["relog", log, "-f", "json"])
}

/// One read of 150 ms, then nine samples without a read: the mean of the displayed values is 0.015 s.
#[test]
fn a_database_keeps_the_average() {
    for log in logs("article") {
        let folder = Folder::new();
        let counter = Counter::new("Avg. Disk sec/Read", CounterType::AVERAGE_TIMER, 14_318_180);
        let mut fixture = LogFixture::new("SERVER").value_of("PhysicalDisk", "0 C:", counter);
        fixture.at(0, vec![one(raw(0, 0))]);
        for second in 1..=10 {
            fixture.at(second, vec![one(raw(2_147_727, 1))]);
        }
        fixture.write(&folder.path("article.blg"));
        folder.relog(["article.blg", "-f", "SQL", "-o", &log]);
        let rows = folder.stats(&[&log]);
        assert_eq!((&rows[0]["average_kind"], &rows[0]["average"]), (&"raw".into(), &0.15.into()), "{log}");
    }
}

#[test]
fn a_log_through_a_database_has_equal_samples_and_statistics() {
    for log in logs("mixed") {
        let folder = Folder::new();
        mixed("WEB1", 0, 20).write(&folder.path("in.blg"));
        mixed("WEB1", 20, 10).write(&folder.path("later.blg"));
        let ran = folder.relog(["in.blg", "-o", &log]);
        assert!(ran.stderr.ends_with(&format!("tacho: {log}: 20 samples written\n")), "{}", ran.stderr);
        assert_eq!(samples(&folder, &log), samples(&folder, "in.blg"));
        assert_eq!(folder.stats(&[&log]), folder.stats(&["in.blg"]));
        assert!(folder.prints(["check", &log]).starts_with(&format!("{log}: intact: SQL, 20 samples")));
        folder.run(["relog", "in.blg", "-o", &log]).fails_with(
            2,
            &format!(
                "{log}: the database has a log of this name: use -y to replace it, -a to append to it, or another name"
            ),
        );
        folder.relog(["later.blg", "-a", "-o", &log]);
        assert_eq!(folder.stats(&[&log]), folder.stats(&["in.blg", "later.blg"]));
        folder.relog(["later.blg", "-y", "-o", &log]);
        assert_eq!(samples(&folder, &log), samples(&folder, "later.blg"));
    }
}

#[test]
fn a_killed_recording_has_every_printed_sample() {
    for log in logs("killed") {
        let folder = Folder::new();
        let mut command =
            folder.command(["record", r"\Memory\*", "-si", "0.05", "--print-times", "--sync", "-o", &log]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let printed = lines.by_ref().take(5).map_while(Result::ok).count();
        child.kill().expect("it runs");
        child.wait().expect("an end");
        let printed = printed + lines.map_while(Result::ok).count();
        let found = samples(&folder, &log).lines().count();
        // The last sample can be written without having been printed.
        assert!(printed >= 5 && (printed..=printed + 1).contains(&found), "{log}: {printed} {found}");
        let ran = folder.run(["record", r"\Memory\*", "-si", "0.05", "-sc", "2", "-a", "-o", &log]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(samples(&folder, &log).lines().count(), found + 2);
    }
}

#[test]
fn unreachable_data_sources_are_named() {
    if logs("").is_empty() {
        return;
    }
    let folder = Folder::new();
    mixed("WEB1", 0, 2).write(&folder.path("in.blg"));
    for arguments in [&["stats", "SQL:absent!x"][..], &["relog", "in.blg", "-o", "SQL:absent!x"]] {
        let ran = folder.run(arguments);
        assert!(
            ran.status != 0 && ran.stderr.contains("SQL:absent!x: no ODBC data source 'absent': add it to"),
            "{ran:?}"
        );
    }
}
