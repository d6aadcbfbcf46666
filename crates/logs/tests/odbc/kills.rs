//! After the writer was killed, or the connection was closed, the database has all samples up to a commit: whole batches.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tachograph_counters::sample::Sample;
use tachograph_logs::sql::SqlStart;
use tachograph_logs::{LogError, LogWriter as _, open};

use crate::samples::{assert_equal, expected, open_writer, plain, read, try_read, write};
use crate::{many, name_in, run_sql, servers};

const DATABASE: char = 'd';

/// The number of samples of the writer. It is killed before it has written all of them.
const SAMPLES: usize = 400;

/// The samples that the killed process writes.
fn samples() -> Vec<Sample> {
    many(SAMPLES as i64, 30)
}

/// Writes samples and prints the index of each, if this process was started by [`start_writer`].
#[test]
fn writer_process() {
    let Ok(name) = std::env::var("TACHO_ODBC_WRITER") else { return };
    let commits_each = std::env::var("TACHO_ODBC_COMMITS").is_ok();
    let mut writer = open_writer(Path::new(&name), SqlStart::New).expect("the database can be written");
    let mut output = std::io::stdout();
    for (index, sample) in samples().iter().enumerate() {
        writer.write(sample).expect("written");
        if commits_each || index % 7 == 6 {
            writer.flush().expect("committed");
        }
        writeln!(output, "\nwritten {index}").and_then(|()| output.flush()).expect("the other process reads");
    }
    writer.finish().expect("committed");
}

fn start_writer(name: &Path, commits_each: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "--nocapture", "kills::writer_process"]).env("TACHO_ODBC_WRITER", name);
    if commits_each {
        command.env("TACHO_ODBC_COMMITS", "1");
    }
    command.stdout(Stdio::piped()).spawn().expect("the test starts")
}

/// Kills a writer after it has reported some samples. Returns how many it has reported in total.
fn kill_after(name: &Path, samples: usize, commits_each: bool) -> usize {
    let mut child = start_writer(name, commits_each);
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut written = lines.map_while(Result::ok).filter(|line| line.starts_with("written "));
    let before = written.by_ref().take(samples).count();
    child.kill().expect("it runs");
    child.wait().expect("an end");
    before + written.count()
}

#[test]
fn a_killed_writer_leaves_whole_batches() {
    let whole = expected(&samples());
    assert_eq!(whole.len(), SAMPLES, "all samples have values");
    for server in servers() {
        for round in 0..6 {
            let name = name_in(&server, DATABASE, &format!("each {round}"));
            let reported = kill_after(&name, round * 3 + 1, true);
            // Another test closes all connections to the database, which can end the writer before its first sample.
            let found = if reported == 0 { read_started(&name) } else { read(&name) };
            // The last sample can be committed without having been reported.
            assert!((reported..=reported + 1).contains(&found.len()), "{server}: {reported} {}", found.len());
            assert_equal(&found, &whole[..found.len()]);
            let name = name_in(&server, DATABASE, &format!("seven {round}"));
            let reported = kill_after(&name, round * 5 + 1, false);
            let found = if reported < 7 { read_started(&name) } else { read(&name) };
            // A writer that was faster than the kill has committed everything at its end.
            let has_finished = reported == SAMPLES && found.len() == SAMPLES;
            assert!(
                has_finished || found.len() == reported / 7 * 7 || found.len() == (reported + 1) / 7 * 7,
                "{server}: {reported}"
            );
            assert_equal(&found, &whole[..found.len()]);
        }
    }
}

/// The values of a log that exists if its first batch was committed.
fn read_started(name: &Path) -> Vec<crate::samples::Values> {
    if open(name).is_err_and(|error| error.to_string().contains("no log '")) {
        Vec::new()
    } else {
        read(name)
    }
}

/// Closes all other connections to a database.
fn close_connections(server: &str) {
    match server {
        "pg" => run_sql(
            server,
            DATABASE,
            &[
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'd' AND application_name <> 'other' AND pid <> \
               pg_backend_pid()",
            ],
        ),
        _ => run_sql(
            server,
            DATABASE,
            &[
                "BEGIN NOT ATOMIC FOR other IN (SELECT id FROM information_schema.processlist WHERE db = 'd' AND id <> \
               CONNECTION_ID()) DO EXECUTE IMMEDIATE CONCAT('KILL ', other.id); END FOR; END",
            ],
        ),
    }
}

/// Closes the connection while a log is written, and while one is read. Asserts that the writer reports an error, that the reader
/// does unless it has received all rows, and that the database has whole batches. Other tests use other databases.
fn check_closed_connection(server: &str) -> Result<(), LogError> {
    let name = name_in(server, DATABASE, "closed");
    let samples: Vec<_> = (0..20).map(plain).collect();
    let mut writer = open_writer(&name, SqlStart::New)?;
    for sample in &samples[..10] {
        writer.write(sample)?;
        writer.flush()?;
    }
    writer.write(&samples[10])?;
    close_connections(server);
    let failed = writer.flush().and_then(|()| writer.write(&samples[11])).and_then(|()| writer.flush());
    let error = failed.expect_err("the connection is closed");
    assert!(error.io_error().is_some() && error.to_string().len() > 10, "{server}: {error}");
    assert!(writer.finish().is_err(), "{server}");
    drop(writer);
    assert_equal(&read(&name), &expected(&samples[..10]));
    // A log of more rows than a driver buffers.
    let long = name_in(server, DATABASE, "closed while reading");
    write(&long, &many(200, 50));
    let mut reader = open(&long)?;
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample)?);
    close_connections(server);
    let mut count = 1;
    let end = loop {
        match reader.next(&mut sample) {
            Ok(true) => count += 1,
            end => break end,
        }
    };
    // The rest may have been received already.
    assert!(end.is_err() || count == 200, "{server}: {count} samples and {end:?}");
    drop(reader);
    assert_eq!(try_read(&long)?.0.len(), 200);
    Ok(())
}

#[test]
fn a_closed_connection_is_an_error() {
    for server in servers().into_iter().filter(|server| server != "lite") {
        check_closed_connection(&server).unwrap_or_else(|error| panic!("{server}: {error}"));
    }
}
