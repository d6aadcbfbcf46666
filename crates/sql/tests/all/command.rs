//! The program `tacho-sql`.

use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::process::{Command, Output, Stdio};

use crate::generated::{TempFolder, recording, write};
use crate::log_fixture::mixed;
use crate::page_archive::write_archive_of_page;

pub(crate) fn tacho_sql(folder: &TempFolder, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tacho-sql"));
    command.current_dir(&folder.0).args(words).output().expect("tacho-sql runs")
}

/// Runs a query that must succeed, and returns its output.
#[track_caller]
pub(crate) fn prints(folder: &TempFolder, words: &[&str]) -> String {
    let ran = tacho_sql(folder, words);
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// Runs a query that must fail, and returns its message and exit status.
#[track_caller]
pub(crate) fn fails(folder: &TempFolder, words: &[&str]) -> (String, i32) {
    let ran = tacho_sql(folder, words);
    assert!(!ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stdout));
    (String::from_utf8_lossy(&ran.stderr).trim_end().to_owned(), ran.status.code().expect("an exit status"))
}

fn folder_with_log() -> TempFolder {
    let folder = TempFolder::new();
    mixed("WEB1", 0, 20).write(&folder.0.join("a.blg"));
    folder
}

const QUERY: &str =
    r#"SELECT "set", instance, counter, average, unit FROM averages ORDER BY "set", instance"#;

#[test]
fn the_result_is_a_table_csv_or_json() {
    let folder = folder_with_log();
    let table = prints(&folder, &[QUERY, "a.blg"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 8, "{table}");
    assert!(lines[0].starts_with("set ") && lines[0].ends_with("unit"), "{table}");
    assert!(lines.iter().any(|line| line.starts_with("Processor     _Total    % Processor Time")), "{table}");
    let query = "SELECT counter, instance, time, date, num, average FROM (SELECT counter, instance, time, date, num, average(*) FROM samples GROUP BY 1, 2, 3, 4, 5) WHERE counter = 'Available Bytes' ORDER BY time LIMIT 2";
    let csv = prints(&folder, &[query, "a.blg", "-f", "csv"]);
    assert_eq!(
        csv,
        "counter,instance,time,date,num,average\r\n\
         Available Bytes,,2024-03-05T09:00:00Z,2024-03-05,4000000,4000000\r\n\
         Available Bytes,,2024-03-05T09:00:01Z,2024-03-05,4001024,4001024\r\n"
    );
    let json = prints(&folder, &[query, "a.blg", "-f", "json"]);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        first,
        serde_json::json!({"counter": "Available Bytes", "instance": null, "time": "2024-03-05T09:00:00Z", "date": "2024-03-05", "num": 4_000_000, "average": 4_000_000.0})
    );
    assert_eq!(json.lines().count(), 2);
    assert_eq!(prints(&folder, &["SELECT 1 AS one FROM samples WHERE false", "a.blg"]), "one\n(no rows)\n");
}

#[test]
fn results_are_written_to_files() {
    let folder = folder_with_log();
    assert_eq!(prints(&folder, &[QUERY, "a.blg", "-o", "out.parquet"]), "");
    assert_eq!(prints(&folder, &[QUERY, "a.blg", "-o", "out.csv"]), "");
    let csv = std::fs::read_to_string(folder.0.join("out.csv")).expect("the output");
    assert_eq!(csv, prints(&folder, &[QUERY, "a.blg", "-f", "csv"]));
    let file = std::fs::File::open(folder.0.join("out.parquet")).expect("the output");
    let builder =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let rows: usize =
        builder.build().expect("a reader").map(|batch| batch.expect("a batch").num_rows()).sum();
    assert_eq!(rows, 7);
    let (message, status) = fails(&folder, &[QUERY, "a.blg", "-o", "out.csv"]);
    assert_eq!(
        (message.as_str(), status),
        ("tacho sql: out.csv exists: use -y to overwrite it, or another name", 2)
    );
    prints(&folder, &["SELECT 1", "a.blg", "-o", "out.csv", "-y"]);
    assert_ne!(std::fs::read_to_string(folder.0.join("out.csv")).expect("the output"), csv);
    let (message, status) = fails(&folder, &[QUERY, "a.blg", "-o", "out.tsv"]);
    assert_eq!(
        (message.as_str(), status),
        (
            "tacho sql: out.tsv: the extension 'tsv' selects no format: use .csv, .json, .parquet or .txt, or the option -f",
            2
        )
    );
    let (message, status) = fails(&folder, &[QUERY, "a.blg", "--temp-folder", "none"]);
    assert_eq!((message.as_str(), status), ("tacho sql: --temp-folder: none: this is not a folder", 2));
    let (message, _) = fails(&folder, &[QUERY, "a.blg", "-f", "parquet"]);
    assert!(message.contains("-f parquet needs -o FILE"), "{message}");
    // A failed query leaves no file.
    fails(&folder, &["SELECT nothing FROM samples", "a.blg", "-o", "none.csv"]);
    let names: Vec<_> = std::fs::read_dir(&folder.0)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

/// Devices and pipes are written, and the target of a symbolic link is replaced, not the link.
#[test]
fn results_are_written_through_pipes_and_links() {
    let folder = folder_with_log();
    let expected = prints(&folder, &[QUERY, "a.blg", "-f", "csv"]);
    let pipe = folder.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let reading = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::read_to_string(reading).expect("the pipe"));
    prints(&folder, &[QUERY, "a.blg", "-f", "csv", "-y", "-o", "pipe"]);
    assert!(std::fs::symlink_metadata(&pipe).expect("the pipe").file_type().is_fifo());
    assert_eq!(reader.join().expect("no panic"), expected);
    prints(&folder, &[QUERY, "a.blg", "-f", "parquet", "-o", "/dev/null"]);
    std::fs::write(folder.0.join("target.csv"), "old").expect("written");
    std::os::unix::fs::symlink("target.csv", folder.0.join("link.csv")).expect("a link");
    prints(&folder, &[QUERY, "a.blg", "-y", "-o", "link.csv"]);
    assert!(std::fs::symlink_metadata(folder.0.join("link.csv")).expect("the link").is_symlink());
    assert_eq!(std::fs::read_to_string(folder.0.join("target.csv")).expect("the target"), expected);
    let (message, _) = fails(&folder, &[QUERY, "a.blg", "-o", "none/out.csv"]);
    assert_eq!(message, "tacho sql: none/out.csv: its folder does not exist; create it first");
}

#[test]
fn a_file_that_a_recorder_writes_is_not_replaced() {
    let folder = folder_with_log();
    let path = folder.0.join("out.csv");
    std::fs::write(&path, "samples").expect("written");
    let recorded = std::fs::File::options().write(true).open(&path).expect("a file");
    recorded.lock().expect("no other writer");
    let (message, _) = fails(&folder, &[QUERY, "a.blg", "-y", "-o", "out.csv"]);
    assert_eq!(
        message,
        "tacho sql: out.csv: another recorder is writing it; use another name, or stop that recorder"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "samples");
    drop(recorded);
    prints(&folder, &[QUERY, "a.blg", "-y", "-o", "out.csv"]);
    assert_ne!(std::fs::read_to_string(&path).expect("a file"), "samples");
}

#[test]
fn an_input_is_not_replaced() {
    let folder = folder_with_log();
    let log = std::fs::read(folder.0.join("a.blg")).expect("the log");
    std::os::unix::fs::symlink("a.blg", folder.0.join("link.blg")).expect("a link");
    for output in ["a.blg", "./a.blg", "link.blg"] {
        let (message, status) = fails(&folder, &[QUERY, "a.blg", "-y", "-f", "csv", "-o", output]);
        assert_eq!(message, format!("tacho sql: {output}: this is an input of the query; use another name"));
        assert_eq!(status, 2);
    }
    assert_eq!(std::fs::read(folder.0.join("a.blg")).expect("the log"), log);
}

/// A query reads what is intact, and reports the damage, as the other commands do.
#[test]
fn damage_is_reported() {
    let folder = folder_with_log();
    let whole = std::fs::read(folder.0.join("a.blg")).expect("a log");
    std::fs::write(folder.0.join("cut.blg"), &whole[..whole.len() * 2 / 3]).expect("written");
    for table in ["samples", "machines"] {
        let ran = tacho_sql(&folder, &[&format!("SELECT count(*) AS n FROM {table}"), "cut.blg"]);
        assert!(ran.status.success());
        let notice = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(notice.starts_with("tacho sql: cut.blg: damaged: "), "{notice}");
        assert!(notice.ends_with("; 'tacho check cut.blg' lists them\n"), "{notice}");
        assert_eq!(notice.lines().count(), 1, "{notice}");
    }
}

/// Files of an archive that cannot be opened are reported once and skipped.
#[test]
fn damaged_files_of_an_archive_are_skipped() {
    let folder = TempFolder::new();
    let samples = mixed("WEB1", 0, 60).samples;
    samples.chunks(20).for_each(|part| write(&folder.0.join("archive"), part, 1000));
    let files = crate::generated::files(&folder.0.join("archive"));
    assert_eq!(files.len(), 3);
    let query = r#"SELECT count(*) AS n FROM samples a JOIN machines m ON a.machine = m.machine"#;
    let whole = std::fs::read(&files[1]).expect("a file");
    std::fs::rename(&files[1], folder.0.join("moved")).expect("moved");
    let expected = prints(&folder, &[query, "archive"]);
    for damaged in [&whole[..0], &whole[..whole.len() - 1]] {
        std::fs::write(&files[1], damaged).expect("written");
        let ran = tacho_sql(&folder, &[query, "archive"]);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
        let notice = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(notice.lines().count(), 1, "{notice}");
        let file = files[1].file_name().expect("a name").to_string_lossy().into_owned();
        assert!(notice.contains(&file) && notice.contains("is not read; move it away"), "{notice}");
        assert!(ran.status.success());
    }
    files.iter().for_each(|file| std::fs::write(file, "").expect("written"));
    let (message, status) = fails(&folder, &["SELECT count(*) FROM samples", "archive"]);
    assert_eq!(status, 1);
    assert!(message.ends_with("there is no intact file in this part of the archive"), "{message}");
}

#[test]
fn a_low_limit_on_open_files_is_reported() {
    let folder = folder_with_log();
    let script = format!("ulimit -n 8; exec '{}' 'SELECT 1' a.blg", env!("CARGO_BIN_EXE_tacho-sql"));
    let ran = Command::new("sh").args(["-c", &script]).current_dir(&folder.0).output().expect("sh runs");
    let message = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{message}");
    assert_eq!(
        message,
        "tacho sql: a query needs more open files than the limit of 8: raise it with 'ulimit -n 1024'\n"
    );
}

#[test]
fn errors_say_what_to_write() {
    let folder = folder_with_log();
    let message = |query: &str| fails(&folder, &[query, "a.blg"]);
    assert_eq!(
        message("SELECT * FROM sample"),
        (
            "tacho sql: there is no table 'sample': the tables are samples, averages, counters, machines"
                .to_owned(),
            2
        )
    );
    let (unknown, status) = message("SELECT disk FROM machines");
    assert_eq!(status, 2);
    assert!(
        unknown.starts_with("tacho sql: there is no column 'disk': the columns are machine, files,"),
        "{unknown}"
    );
    let (syntax, status) = message("SELECT * FORM samples");
    assert!(status == 2 && syntax.starts_with("tacho sql: the query is not valid SQL: "), "{syntax}");
    let (mixed, status) = message("SELECT average(*) FROM samples");
    assert!(mixed.contains("have no common average: select one counter"), "{mixed}");
    assert_eq!(status, 1);
    let (one, _) = message("SELECT average(num) FROM samples");
    assert!(one.contains("write average(*)"), "{one}");
    for changing in [
        "CREATE TABLE x AS SELECT 1",
        "DROP TABLE samples",
        "SET x = 1",
        "INSERT INTO samples SELECT * FROM samples",
        "COPY samples TO 'x.csv'",
    ] {
        let (message, status) = message(changing);
        assert_eq!(
            (message.as_str(), status),
            ("tacho sql: only statements that read are supported: SELECT, DESCRIBE, SHOW and EXPLAIN", 2),
            "{changing}"
        );
        assert!(!folder.0.join("x.csv").exists(), "{changing}");
    }
    let (two, status) = message("SELECT 1; SELECT 2");
    assert_eq!(
        (two.as_str(), status),
        ("tacho sql: a query is a single statement: remove everything after the first ';'", 2)
    );
    assert_eq!(message(" ").0, "tacho sql: the query is empty");
    let (missing, status) = fails(&folder, &["SELECT 1", "none.blg"]);
    assert!(status == 1 && missing.starts_with("tacho sql: none.blg: No such file"), "{missing}");
    std::fs::write(folder.0.join("x.txt"), "hello").expect("written");
    let (no_log, _) = fails(&folder, &["SELECT count(*) FROM samples", "x.txt"]);
    assert!(no_log.contains("x.txt"), "{no_log}");
    let (usage, status) = fails(&folder, &[]);
    assert!(status == 2 && usage.contains("a query and a log are required"), "{usage}");
    let (memory, status) = fails(&folder, &["SELECT 1", "a.blg", "--memory", "much"]);
    assert!(status == 2 && memory.contains("not a size"), "{memory}");
}

/// Times have `Z`, the offset of their zone, or neither, in all formats of text.
#[test]
fn times_are_printed_in_their_zone() {
    let folder = folder_with_log();
    let query = "SELECT time, date_trunc('day', time AT TIME ZONE 'Asia/Kathmandu') AS day, \
                 date_trunc('hour', time, 'Asia/Kathmandu') AS hour, \
                 to_local_time(time AT TIME ZONE 'Asia/Kathmandu') AS local, \
                 date_part('hour', time AT TIME ZONE 'Asia/Kathmandu') AS number \
                 FROM samples ORDER BY time LIMIT 1";
    let expected = [
        "2024-03-05T09:00:00Z",
        "2024-03-05T00:00:00+05:45",
        "2024-03-05T14:00:00+05:45",
        "2024-03-05T14:45:00",
        "14",
    ];
    let table = prints(&folder, &[query, "a.blg"]);
    assert_eq!(table.lines().nth(1).expect("a row").split_whitespace().collect::<Vec<_>>(), expected);
    let csv = prints(&folder, &[query, "a.blg", "-f", "csv"]);
    assert_eq!(csv.lines().nth(1).expect("a row"), expected.join(","));
    let json: serde_json::Value =
        serde_json::from_str(&prints(&folder, &[query, "a.blg", "-f", "json"])).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!({"time": expected[0], "day": expected[1], "hour": expected[2], "local": expected[3], "number": 14})
    );
    let (message, status) =
        fails(&folder, &["SELECT time AT TIME ZONE 'Asia/Nowhere' FROM samples", "a.blg"]);
    assert_eq!(
        (message.as_str(), status),
        (
            "tacho sql: there is no time zone 'Asia/Nowhere': write a name such as 'Europe/Berlin', or an offset such as '+05:30'",
            2
        )
    );
    let (message, _) = fails(&folder, &["SELECT date_trunc('day', time, 'x') FROM samples", "a.blg"]);
    assert!(message.starts_with("tacho sql: there is no time zone 'x': "), "{message}");
    let (message, _) = fails(&folder, &["SELECT date_trunc('day', time, machine) FROM samples", "a.blg"]);
    assert_eq!(message, "tacho sql: machine: a time zone must be a text, such as 'Europe/Berlin'");
}

#[test]
fn an_untyped_null_is_a_missing_value() {
    let folder = folder_with_log();
    let query = "SELECT NULL AS none, 1 AS one, [1, NULL] AS list";
    assert_eq!(prints(&folder, &[query, "a.blg"]), "none  one  list\n-       1  [1, ]\n");
    assert_eq!(prints(&folder, &[query, "a.blg", "-f", "csv"]), "none,one,list\r\n,1,\"[1, ]\"\r\n");
    let json = prints(&folder, &[query, "a.blg", "-f", "json"]);
    assert_eq!(json, "{\"none\":null,\"one\":1,\"list\":\"[1, ]\"}\n");
}

/// Seconds can be omitted where a text is compared with a time or cast to one.
#[test]
fn times_need_no_seconds() {
    let folder = folder_with_log();
    let count = |condition: &str| {
        let query = format!("SELECT count(DISTINCT time) AS n FROM samples WHERE {condition}");
        let text = prints(&folder, &[&query, "a.blg", "-f", "csv"]);
        text.lines().nth(1).expect("a row").to_owned()
    };
    assert_eq!(count("time >= '2024-03-05 09:00'"), "20");
    assert_eq!(count("'2024-03-05T09:00Z' = time"), "1");
    assert_eq!(count("time > '2024-03-05T10:00+01:00'"), "19");
    assert_eq!(count("time BETWEEN '2024-03-05 08:59' AND '2024-03-05 09:00'"), "1");
    assert_eq!(count("time IN ('2024-03-05 09:00', '2024-03-05 09:00:01')"), "2");
    assert_eq!(count("time AT TIME ZONE 'Asia/Kathmandu' > '2024-03-05 14:45'"), "19");
    assert_eq!(count("time > CAST('2024-03-05 09:00' AS TIMESTAMP)"), "19");
    assert_eq!(count("time > TIMESTAMP '2024-03-05 09:00'"), "19");
    assert_eq!(count("time = (SELECT min(time) FROM samples WHERE time >= '2024-03-05 09:00')"), "1");
    // Other texts are unchanged.
    assert_eq!(count("to_char(time, '%Y-%m-%d %H:%M') = '2024-03-05 09:00'"), "20");
    let named = prints(
        &folder,
        &[
            "SELECT n, '2024-03-05 09:00' AS text FROM (SELECT time > '2024-03-05 09:00' AS n FROM samples) WHERE n LIMIT 1",
            "a.blg",
            "-f",
            "csv",
        ],
    );
    assert_eq!(named, "n,text\r\ntrue,2024-03-05 09:00\r\n");
}

/// Errors of the engine say what to write.
#[test]
fn errors_of_the_engine_are_explained() {
    let folder = folder_with_log();
    for (query, expected, status) in [
        (
            "SELECT avg(*) FROM samples",
            "avg(*): write average(*) for the average of rows of samples, or avg(COLUMN) for a column",
            2,
        ),
        (
            "SELECT max(s.*) FROM samples s",
            "max(*): write average(*) for the average of rows of samples, or max(COLUMN) for a column",
            2,
        ),
        (
            "SELECT instance, average(*) FROM samples",
            "SELECT: 'instance' is neither in GROUP BY nor in an aggregate function: add it to GROUP BY, or write max(instance)",
            2,
        ),
        (
            "SELECT count(*) FROM samples HAVING counter = 'x'",
            "HAVING: 'counter' is neither in GROUP BY nor in an aggregate function: add it to GROUP BY, or write max(counter)",
            2,
        ),
        (
            "SELECT p95(num) FROM samples",
            "there is no function 'p95': a 95th percentile is percentile_cont(0.95) WITHIN GROUP (ORDER BY COLUMN)",
            2,
        ),
        (
            "SELECT percentile(num, 0.95) FROM samples",
            "there is no function 'percentile': a 95th percentile is percentile_cont(0.95) WITHIN GROUP (ORDER BY COLUMN)",
            2,
        ),
        ("SELECT rounds(num) FROM samples", "there is no function 'rounds'; did you mean 'round'?", 2),
        ("SELECT xyzzy(num) FROM samples", "there is no function 'xyzzy': SHOW FUNCTIONS lists all", 2),
        (
            "SELECT date_trunc('hour') FROM samples",
            "function 'date_trunc' has other arguments: date_trunc(String, Timestamp) or date_trunc(String, Time), not date_trunc(Utf8)",
            2,
        ),
        (
            "SELECT count(*) FROM samples WHERE time > 'yesterday'",
            "'yesterday' is not a time: write '2026-11-27 00:43:00', '2026-11-27T00:43:00+01:00' or '2026-11-27'",
            1,
        ),
        ("SELECT count(*) FROM samples WHERE date > '2010'", "'2010' is not a date: write '2026-11-27'", 1),
    ] {
        let (message, found) = fails(&folder, &[query, "a.blg"]);
        assert_eq!((message, found), (format!("tacho sql: {expected}"), status), "{query}");
    }
    assert_eq!(
        prints(
            &folder,
            &["SELECT count(*) > 0 AS a, count(s.*) > 0 AS b FROM samples s", "a.blg", "-f", "csv"]
        ),
        "a,b\r\ntrue,true\r\n"
    );
}

#[test]
fn averages_need_one_unit_and_the_rows_of_one_table() {
    let folder = TempFolder::new();
    write_archive_of_page(&folder);
    let message = |query: &str| fails(&folder, &[query, "ARCHIVE"]).0;
    let units =
        message(r#"SELECT average(*) FROM samples WHERE "set" = 'Memory' AND counter LIKE 'Available %'"#);
    assert!(units.starts_with("tacho sql: counters with different units ('"), "{units}");
    assert!(units.contains("have no common average: select one counter"), "{units}");
    assert_eq!(
        message("SELECT average(*) FROM samples s JOIN samples t ON s.time = t.time"),
        "tacho sql: several tables have the column 'type': write average(TABLE.*) to average the rows of one of them"
    );
    let subquery = message("SELECT average(*) FROM averages");
    assert!(
        subquery.starts_with(
            "tacho sql: there is no column 'factor': average(*) averages rows of samples, and needs"
        ),
        "{subquery}"
    );
    let quotes = message(r#"SELECT count(*) FROM samples WHERE counter = "Available Bytes""#);
    assert!(quotes.ends_with("; a text is written in single quotes: 'Available Bytes'"), "{quotes}");
    // Different ids have no average.
    let ids = prints(
        &folder,
        &[
            "SELECT instance, average, intervals FROM averages WHERE counter = 'ID Process' ORDER BY 1",
            "ARCHIVE",
            "-f",
            "csv",
        ],
    );
    assert!(ids.contains("\r\nnginx,903,596\r\n"), "{ids}");
    let mean = "SELECT average(*) AS mean FROM samples WHERE counter = 'ID Process'";
    assert_eq!(prints(&folder, &[mean, "ARCHIVE"]), "mean\n   -\n");
}

#[test]
fn plans_have_several_lines() {
    let folder = folder_with_log();
    let plan = prints(&folder, &["EXPLAIN SELECT count(*) FROM samples", "a.blg"]);
    assert!(plan.starts_with("logical_plan\n  ") && plan.contains("\nphysical_plan\n  "), "{plan}");
    assert!(plan.lines().count() > 4 && !plan.contains("\\u{"), "{plan}");
}

#[test]
fn a_query_can_begin_with_a_comment() {
    let folder = folder_with_log();
    for query in ["-- the answer\nSELECT 1 AS one", "--the answer\nSELECT 1 AS one"] {
        assert_eq!(prints(&folder, &[query, "a.blg", "-f", "csv"]), "one\r\n1\r\n");
    }
}

#[test]
fn the_help_names_the_commands_of_clusters() {
    let folder = folder_with_log();
    let help = prints(&folder, &["--help"]);
    assert!(help.contains("tacho-sql scheduler") && help.contains("tacho-sql executor"), "{help}");
    assert!(prints(&folder, &["scheduler", "--help"]).contains("Usage: tacho-sql scheduler"));
}

/// A condition with many terms is a deep syntax tree.
#[test]
fn long_conditions_do_not_overflow_the_planner() {
    let folder = folder_with_log();
    let terms: Vec<String> = (0..300).map(|number| format!("num + {number} = {}", 2 * number)).collect();
    let query = format!("SELECT count(*) > 0 AS found FROM samples WHERE {}", terms.join(" OR "));
    assert!(prints(&folder, &[&query, "a.blg"]).starts_with("found\n"));
    let nested = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    let (message, status) = fails(&folder, &[&nested, "a.blg"]);
    assert!(status == 2 && message.contains("nested too deeply"), "{message}");
}

/// If a query reads a damaged byte, it fails with an error that names the file.
#[test]
fn damage_is_an_error() {
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &mixed("WEB1", 0, 500).samples, 10_000);
    let file = crate::generated::files(&folder.0.join("archive")).pop().expect("a file");
    let whole = std::fs::read(&file).expect("a file");
    let query = r#"SELECT "set", counter, average(*) FROM samples GROUP BY 1, 2"#;
    let expected = prints(&folder, &[&format!("{query} ORDER BY 1, 2"), "archive"]);
    let mut failed = 0;
    for at in (4..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        std::fs::write(&file, &damaged).expect("written");
        let ran = tacho_sql(&folder, &[&format!("{query} ORDER BY 1, 2"), "archive"]);
        match ran.status.success() {
            // The byte is in a column that the query does not read.
            true => assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "byte {at}"),
            false => {
                let message = String::from_utf8_lossy(&ran.stderr).into_owned();
                assert!(message.contains(".parquet: "), "{message}");
                failed += 1;
            }
        }
    }
    assert!(failed > 20, "{failed}");
}

/// A sort of more rows than fit into memory uses temporary files, and removes them.
#[test]
fn a_sort_beyond_the_memory_limit_is_spilled() {
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &recording(3, 340), 50_000);
    let temp = folder.0.join("temp");
    std::fs::create_dir(&temp).expect("a folder");
    let query = r#"SELECT machine, "set", counter, parent, instance, time, num, den, value, unit, type, status FROM samples ORDER BY num, time DESC, instance, counter, "set", value, status"#;
    let sorted = |memory: &str| {
        prints(
            &folder,
            &[query, "archive", "-f", "csv", "--memory", memory, "--temp-folder", "temp", "--threads", "2"],
        )
    };
    let plan = prints(
        &folder,
        &[
            &format!("EXPLAIN ANALYZE {query}"),
            "archive",
            "-f",
            "csv",
            "--memory",
            "48M",
            "--temp-folder",
            "temp",
            "--threads",
            "2",
        ],
    );
    let spills = plan.split("spill_count=").skip(1).filter(|rest| !rest.starts_with('0')).count();
    assert!(spills > 0, "{plan}");
    let (small, large) = (sorted("48M"), sorted("2G"));
    assert!(small.lines().count() > 100_000, "{}", small.lines().count());
    assert!(small == large, "the result depends on the memory");
    assert_eq!(std::fs::read_dir(&temp).expect("a folder").count(), 0, "temporary files are left");
}

/// If a temporary file cannot be written, the message names its folder.
#[test]
fn a_full_folder_of_temporary_files_is_named() {
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &recording(3, 340), 50_000);
    std::fs::create_dir(folder.0.join("temp")).expect("a folder");
    // A file beyond the limit is an error (EFBIG) if SIGXFSZ is ignored.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec '{}' 'SELECT * FROM samples ORDER BY num, time DESC, instance, counter' archive \
         -f csv --memory 48M --threads 2 --temp-folder temp",
        env!("CARGO_BIN_EXE_tacho-sql")
    );
    let mut command = Command::new("sh");
    let ran = command.args(["-c", &script]).current_dir(&folder.0).stdout(Stdio::piped()).output();
    let ran = ran.expect("sh runs");
    let message = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{message}");
    assert!(
        message.starts_with("tacho sql: temp: a temporary file could not be written: File too large"),
        "{message}"
    );
    assert!(message.ends_with("; choose another folder with --temp-folder\n"), "{message}");
}

/// The reader of the output closes the pipe.
#[test]
fn a_closed_pipe_ends_the_query_without_a_message() {
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &recording(1, 100), 50_000);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tacho-sql"))
        .current_dir(&folder.0)
        .args(["SELECT * FROM samples", "archive", "-f", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tacho-sql runs");
    let mut out = child.stdout.take().expect("its output");
    let mut start = [0; 100];
    out.read_exact(&mut start).expect("the first bytes");
    drop(out);
    let ran = child.wait_with_output().expect("wait for tacho-sql");
    assert_eq!((String::from_utf8_lossy(&ran.stderr).as_ref(), ran.status.code()), ("", Some(0)));
}

/// Ctrl-C, SIGTERM and SIGHUP end a long query and remove its temporary files and its unfinished output.
#[test]
fn a_signal_ends_the_query() {
    for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        ends_at_signal(signal, status);
    }
}

fn ends_at_signal(signal: &str, expected: i32) {
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &recording(1, 100), 50_000);
    let temp = folder.0.join("temp");
    std::fs::create_dir(&temp).expect("a folder");
    let query = "SELECT count(*) FROM samples a, samples b, samples c WHERE a.num + b.num + c.num = 12345";
    // The tests can run with ignored signals, which a child inherits.
    let mut child = Command::new("env")
        .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_tacho-sql")])
        .current_dir(&folder.0)
        .args([query, "archive", "--temp-folder", "temp", "-o", "temp/out.csv"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("tacho-sql runs");
    // Wait until the program handles signals.
    let status = format!("/proc/{}/status", child.id());
    let handles = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    // Also wait until the unfinished output exists.
    while !handles() || std::fs::read_dir(&temp).expect("a folder").count() == 0 {
        assert!(child.try_wait().expect("its status").is_none(), "the query ended before the signal");
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let status = child.wait().expect("wait for tacho-sql");
    assert_eq!(status.code(), Some(expected));
    assert_eq!(std::fs::read_dir(&temp).expect("a folder").count(), 0);
}

/// Runs the queries of docs/sql.md and compares the output. `TACHO_UPDATE=1` writes the output into the page instead.
#[test]
fn the_examples_in_docs_sql_print_the_output_shown_there() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md");
    let page = std::fs::read_to_string(PAGE).expect("docs/sql.md");
    let folder = TempFolder::new();
    write_archive_of_page(&folder);
    let mut blocks = page.split("```sql\n");
    let mut updated = blocks.next().expect("the start of the page").to_owned();
    let mut run = 0;
    for block in blocks {
        let (query, rest) = block.split_once("```\n").expect("the end of the block");
        let rest = rest
            .strip_prefix("\n```text\n")
            .and_then(|rest| rest.split_once("```\n"))
            .map_or(rest, |(_, rest)| rest);
        let output = prints(&folder, &[query, "ARCHIVE"]);
        updated += &format!("```sql\n{query}```\n\n```text\n{output}```\n{rest}");
        run += 1;
    }
    assert!(run >= 10, "{run} examples");
    if std::env::var_os("TACHO_UPDATE").is_some() {
        std::fs::write(PAGE, &updated).expect("docs/sql.md can be written");
    } else {
        assert!(page == updated, "the output of an example has changed: run the test with TACHO_UPDATE=1");
    }
}
