//! Damaged and hostile databases are refused, or read as far as possible.

use tachograph_counters::sample::Sample;

use crate::samples::{try_read, values_of, write};
use crate::{many, name_in, run_sql, servers};

/// The samples and problems of a log after changes with SQL, or the error.
fn after(server: &str, database: char, statements: &[&str]) -> Result<(Vec<Sample>, Vec<String>), String> {
    let name = name_in(server, database, "log");
    let drop_all: &[&str] = &[
        "DROP TABLE IF EXISTS CounterData",
        "DROP TABLE IF EXISTS CounterDetails",
        "DROP TABLE IF EXISTS DisplayToID",
    ];
    run_sql(server, database, drop_all);
    write(&name, &many(10, 20));
    run_sql(server, database, statements);
    let found = try_read(&name).map_err(|error| error.to_string());
    if let Some(view) = statements.iter().find_map(|statement| statement.strip_prefix("CREATE VIEW ")) {
        let name = view.split_whitespace().next().unwrap_or_default();
        run_sql(server, database, &[&format!("DROP VIEW {name}")]);
    }
    found
}

#[test]
fn damaged_databases_are_refused() {
    for server in servers() {
        let text = "ALTER TABLE CounterDetails";
        let of_server = match server.as_str() {
            "pg" => vec![
                (
                    vec![format!("{text} ALTER COLUMN CounterType TYPE text USING 'x'")],
                    "CounterID 1: no CounterType",
                ),
                (
                    vec![
                        format!("{text} ALTER COLUMN ObjectName TYPE text"),
                        "UPDATE CounterDetails SET ObjectName = repeat('x', 100000)".to_owned(),
                    ],
                    "a text is longer",
                ),
                (vec![format!("{text} ALTER COLUMN CounterName TYPE bytea USING 'x'")], "no CounterName"),
                (
                    vec!["ALTER TABLE CounterData ALTER COLUMN RecordIndex TYPE text".to_owned()],
                    "a RecordIndex is not an integer",
                ),
                (
                    vec![
                        "CREATE TABLE copy AS SELECT * FROM DisplayToID".to_owned(),
                        "DROP TABLE DisplayToID".to_owned(),
                        "CREATE VIEW DisplayToID AS SELECT * FROM copy".to_owned(),
                    ],
                    "the table DisplayToID is not an ordinary table",
                ),
            ],
            "maria" => vec![
                (
                    vec![
                        format!("{text} MODIFY CounterType text"),
                        "UPDATE CounterDetails SET CounterType = 'x'".to_owned(),
                    ],
                    "no CounterType",
                ),
                (
                    vec![
                        format!("{text} MODIFY ObjectName longtext"),
                        "UPDATE CounterDetails SET ObjectName = repeat('x', 100000)".to_owned(),
                    ],
                    "a text is longer",
                ),
            ],
            _ => vec![(
                vec!["UPDATE CounterDetails SET ObjectName = printf('%.5000c', 'x')".to_owned()],
                "longer than",
            )],
        };
        let of_all = [
            ("DROP TABLE CounterData", "the table CounterData is missing"),
            ("DROP TABLE CounterDetails", "the table CounterDetails is missing"),
            ("DROP TABLE DisplayToID", "the table DisplayToID is missing"),
            ("DELETE FROM DisplayToID", "no log 'log' in the database; it has no logs"),
            (
                "UPDATE CounterDetails SET InstanceIndex = -1 WHERE InstanceName IS NOT NULL",
                "impossible InstanceIndex",
            ),
        ];
        let of_all = of_all.map(|(statement, why)| (vec![statement.to_owned()], why));
        for (statements, why) in of_all.into_iter().chain(of_server) {
            let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
            let found = after(&server, 'e', &statements);
            let refusal = match &found {
                Err(error) => error.clone(),
                // If there are no samples, the problems contain the reason.
                Ok((samples, problems)) => format!("{} samples, {problems:?}", samples.len()),
            };
            assert!(
                refusal.contains(why) && !found.is_ok_and(|(samples, _)| !samples.is_empty()),
                "{server}: {statements:?}: {refusal}"
            );
        }
    }
}

#[test]
fn invalid_rows_are_skipped() {
    for server in servers() {
        for statement in [
            "UPDATE CounterData SET FirstValueA = NULL",
            "UPDATE CounterData SET FirstValueB = NULL",
            "UPDATE CounterData SET CounterID = -CounterID - 1",
        ] {
            let (samples, problems) = after(&server, 'f', &[statement]).expect("the log can be read");
            assert!(samples.iter().all(|sample| values_of(sample).1.is_empty()), "{server}: {statement}");
            assert!(!problems.is_empty(), "{server}: {statement}");
        }
        let (samples, problems) = after(&server, 'f', &["UPDATE CounterData SET CounterDateTime = 'never'"])
            .expect("the log can be read");
        assert_eq!((samples.len(), problems.len()), (0, 10), "{server}");
        // Negative indexes, and indexes with gaps.
        for change in ["RecordIndex - 2000000000", "RecordIndex * 100000000"] {
            let statement = format!("UPDATE CounterData SET RecordIndex = {change}");
            let (samples, problems) = after(&server, 'f', &[&statement]).expect("the log can be read");
            assert_eq!((samples.len(), problems), (10, Vec::new()), "{server}: {change}");
        }
    }
}

#[test]
fn unreachable_data_sources_are_named() {
    if servers().is_empty() {
        return;
    }
    for (source, why) in [
        ("absent", "no ODBC data source 'absent': add it to ~/.odbc.ini"),
        ("none_a", "cannot connect to the ODBC data source 'none_a': Can't open lib"),
    ] {
        let name = std::path::PathBuf::from(format!("SQL:{source}!log"));
        let error = try_read(&name).expect_err("not reachable").to_string();
        assert!(error.contains(why), "{error}");
    }
}
