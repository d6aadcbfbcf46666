//! Logs in databases that are reached through ODBC. `servers.py` starts the servers, and sets TACHO_ODBC; without it, the tests
//! return immediately.

#[path = "../all/archive/generated.rs"]
#[expect(dead_code, reason = "only the recording is used")]
mod generated;
mod hostile;
mod kills;
mod laws;
#[path = "../all/sql/samples.rs"]
mod samples;

use std::path::PathBuf;

use tachograph_counters::RawValue;
use tachograph_counters::sample::Sample;

/// The servers that were started: `pg`, `maria`, `lite`.
fn servers() -> Vec<String> {
    let servers = std::env::var("TACHO_ODBC").unwrap_or_default();
    if servers.is_empty() {
        eprintln!("skipped: run crates/logs/tests/odbc/servers.py with this test");
    }
    servers.split_whitespace().map(str::to_owned).collect()
}

/// The name of a log in the database `database` of a server. Each file of tests has a database of its own.
fn name_in(server: &str, database: char, log: &str) -> PathBuf {
    PathBuf::from(format!("SQL:{server}_{database}!{log}"))
}

/// Executes statements with a connection of its own.
#[track_caller]
fn run_sql(server: &str, database: char, statements: &[&str]) {
    let odbc = odbc_api::environment().expect("ODBC");
    let connection = odbc
        .connect_with_connection_string(
            &format!("DSN={server}_{database}"),
            odbc_api::ConnectionOptions::default(),
        )
        .expect("a connection");
    for statement in statements {
        connection
            .execute(statement, (), None)
            .unwrap_or_else(|error| panic!("{server}: {statement}: {error}"));
    }
}

/// Samples with this many instances, of one counter.
fn many(samples: i64, instances: u32) -> Vec<Sample> {
    let row = |second: i64, instance: u32| (None, "disk", instance, RawValue::new(second << 32, second * 7));
    let of_second = |second| (0..instances).map(|instance| row(second, instance)).collect::<Vec<_>>();
    (0..samples).map(|second| samples::sample(second, "WEB1", "Disk", &of_second(second))).collect()
}
