//! Logs in databases (`SQL:DSN!NAME`) as tables.

use std::path::{Path, PathBuf};

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::LogWriter as _;
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};

use crate::answers::query;
use crate::command::{fails, prints};
use crate::figures::compare;
use crate::generated::TempFolder;
use crate::log_fixture::mixed;

/// Writes a log into an SQLite database; returns its name.
pub(crate) fn write_sql(database: &Path, log: &str, samples: &[Sample]) -> PathBuf {
    let name = PathBuf::from(format!("SQL:{}!{log}", database.display()));
    let parsed = SqlLogName::parse(&name).expect("an SQL name").expect("valid");
    let zone = TimeZone::utc();
    let mut writer = SqlLogWriter::open(&parsed, &zone, SqlStart::New).expect("a log");
    for sample in samples {
        writer.write(sample).expect("a sample that can be written");
    }
    writer.finish().expect("written");
    name
}

/// Averages are those of `tacho stats` over the database, and of the BLG with the same samples.
#[test]
fn averages_of_databases_equal_those_of_statistics() {
    let folder = TempFolder::new();
    let fixture = mixed("WEB1", 0, 200);
    let blg = folder.0.join("a.blg");
    fixture.write(&blg);
    let name = write_sql(&folder.0.join("a.db"), "march", &fixture.samples);
    let compared = compare(std::slice::from_ref(&name), std::slice::from_ref(&name));
    assert!(compared >= 6, "{compared}");
    assert_eq!(compare(std::slice::from_ref(&name), std::slice::from_ref(&blg)), compared);
    let rows = |input: &PathBuf| {
        let sql = r#"SELECT machine, date, "set", counter, instance, time, num, den, value, type
                     FROM samples ORDER BY machine, "set", counter, instance, time"#;
        query(std::slice::from_ref(input), sql).batch
    };
    assert_eq!(rows(&name), rows(&blg));
    assert_eq!(rows(&name).num_rows(), 7 * 200);
}

/// Two logs of one database, an archive's folder and a file are inputs of one query.
#[test]
fn databases_and_files_are_inputs_of_one_query() {
    let folder = TempFolder::new();
    let database = folder.0.join("a.db");
    write_sql(&database, "web-1", &mixed("WEB1", 0, 20).samples);
    write_sql(&database, "web 2", &mixed("WEB2", 100, 30).samples);
    mixed("WEB3", 0, 10).write(&folder.0.join("c.blg"));
    let query = "SELECT machine, files, samples FROM machines ORDER BY machine";
    let words = [query, "SQL:a.db!web-1", "sql:a.db!web 2", "c.blg", "-f", "csv"];
    assert_eq!(prints(&folder, &words), "machine,files,samples\r\nWEB1,1,20\r\nWEB2,1,30\r\nWEB3,1,10\r\n");
    let counters = r#"SELECT count(*) AS counters FROM counters WHERE "set" = 'Memory'"#;
    assert_eq!(prints(&folder, &[counters, "SQL:a.db!web-1", "-f", "csv"]), "counters\r\n2\r\n");
}

#[test]
fn wrong_names_are_errors() {
    let folder = TempFolder::new();
    write_sql(&folder.0.join("a.db"), "march", &mixed("WEB1", 0, 5).samples);
    let message = |name: &str| fails(&folder, &["SELECT count(*) FROM samples", name]).0;
    for (name, expected) in [
        ("SQL:a.db!april", "april"),
        ("SQL:none.db!march", "none.db"),
        ("SQL:a.db", "SQL:DSN!NAME"),
        ("SQL:!x", "SQL:DSN!NAME"),
    ] {
        let message = message(name);
        assert!(message.starts_with("tacho sql: ") && message.contains(expected), "{name}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    assert!(!folder.0.join("none.db").exists(), "a query creates no database");
}
