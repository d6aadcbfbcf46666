//! The example of Microsoft's article on averages: one read of 150 ms, then nine samples without a read.

use tachograph_counters::CounterType;
use tachograph_counters::set::Counter;

use crate::log_fixture::{LogFixture, one, raw};
use crate::run::Folder;

const PATH: &str = r"\\SERVER\PhysicalDisk(0 C:)\Avg. Disk sec/Read";

fn article() -> Folder {
    let folder = Folder::new();
    let counter = Counter::new("Avg. Disk sec/Read", CounterType::AVERAGE_TIMER, 14_318_180);
    let mut log = LogFixture::new("SERVER").value_of("PhysicalDisk", "0 C:", counter);
    log.at(0, vec![one(raw(0, 0))]);
    for second in 1..=10 {
        log.at(second, vec![one(raw(2_147_727, 1))]);
    }
    log.write(&folder.path("article.blg"));
    folder
}

#[test]
fn the_average_is_the_time_of_the_only_read() {
    let folder = article();
    let rows = folder.stats(&["article.blg"]);
    let figures = ["average", "average_kind", "last", "minimum", "maximum", "values", "errors", "unit"];
    let figures = figures.map(|key| rows[0][key].to_string());
    assert_eq!(figures, ["0.15", r#""raw""#, "0", "0", "0.15", "10", "0", r#""seconds""#]);
    assert_eq!(
        folder.prints(["stats", "article.blg"]),
        "counter                                         last  average  minimum  maximum  p50     p95     p99  values  errors\n\
         \\\\SERVER\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read   0 s   150 ms      0 s   150 ms  0 s  150 ms  150 ms      10       0\n"
    );
}

#[test]
fn a_database_keeps_the_average() {
    let folder = article();
    folder.relog(["article.blg", "-f", "SQL", "-o", "SQL:article.db!article"]);
    let rows = folder.stats(&["SQL:article.db!article"]);
    assert_eq!((&rows[0]["average_kind"], &rows[0]["average"]), (&"raw".into(), &0.15.into()));
}

#[test]
fn averages_of_a_csv_are_marked_as_arithmetic() {
    let folder = article();
    folder.relog(["article.blg", "-f", "csv", "-o", "article.csv"]);
    let nine = (2..=10).map(|second| format!("\"03/05/2024 10:00:{second:02}.000\",\"0\"\r\n"));
    assert_eq!(
        folder.text("article.csv"),
        format!(
            "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\"{PATH}\"\r\n\"03/05/2024 10:00:00.000\",\" \"\r\n\
             \"03/05/2024 10:00:01.000\",\"0.14999999999999999\"\r\n{}",
            nine.collect::<String>()
        )
    );
    let rows = folder.stats(&["article.csv"]);
    assert_eq!((&rows[0]["average_kind"], &rows[0]["average"]), (&"arithmetic".into(), &0.015.into()));
    assert_eq!(
        folder.prints(["stats", "article.csv"]),
        "counter                                         last   average  minimum  maximum  p50     p95     p99  values  errors\n\
         \\\\SERVER\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read   0 s  15.0 ms*      0 s   150 ms  0 s  150 ms  150 ms      10       0\n\
         \n\
         * arithmetic mean: the log has only formatted values of this counter, so the average by the counter's type cannot be computed.\n  \
           A .blg recorded at the same time has the correct average.\n"
    );
}

#[test]
fn only_active_ignores_intervals_without_reads() {
    let folder = article();
    let rows = folder.stats(&["article.blg", "--only-active"]);
    let figures = ["average", "minimum", "maximum", "p50", "values"].map(|key| rows[0][key].to_string());
    assert_eq!(figures, ["0.15", "0.15", "0.15", "0.15", "1"]);
    let text = folder.prints(["stats", "article.blg", "--only-active"]);
    assert!(text.ends_with("\nOnly intervals with activity; averages are the same either way.\n"), "{text}");
}
