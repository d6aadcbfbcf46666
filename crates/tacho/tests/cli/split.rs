//! Time ranges and splits: `stats -b -e`, `relog` followed by `stats`, and the whole log have the same statistics.

use serde_json::Value;

use crate::log_fixture::mixed;
use crate::run::Folder;

fn mixed_log() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    folder
}

#[test]
fn a_time_range_has_the_statistics_of_a_log_cut_to_it() {
    let folder = mixed_log();
    for (begin, end) in [("10:00:05", "10:00:15"), ("09:00:00", "10:00:01"), ("10:00:19", "11:00:00")] {
        let (begin, end) = (format!("3/5/2024 {begin}"), format!("3/5/2024 {end}"));
        let window = ["-b", begin.as_str(), "-e", end.as_str()];
        folder.relog([&["all.blg", "-y", "-o", "cut.blg"], &window[..]].concat());
        let direct = folder.stats(&[&["all.blg"], &window[..]].concat());
        assert_eq!(direct, folder.stats(&["cut.blg"]), "{begin} {end}");
        assert_eq!(direct.len(), 7);
    }
}

#[test]
fn a_time_range_includes_the_interval_that_ends_in_it() {
    let folder = mixed_log();
    let rows = folder.stats(&["all.blg", "-b", "3/5/2024 10:00:05", "-e", "3/5/2024 10:00:15"]);
    // Ten samples, and ten intervals because of the baseline.
    assert!(rows.iter().all(|row| row["values"] == 10), "{rows:#?}");
    let first = |row: &Value| row["first_time"].as_str().map(str::to_owned);
    for row in &rows {
        let is_one_sample = row["set"] == "Memory";
        let expected =
            if is_one_sample { "2024-03-05T10:00:05.000+01:00" } else { "2024-03-05T10:00:04.000+01:00" };
        assert_eq!(first(row).as_deref(), Some(expected), "{row}");
        assert_eq!(row["last_time"], "2024-03-05T10:00:14.000+01:00");
    }
}

#[test]
fn cutting_and_thinning_in_one_or_two_steps_is_equivalent() {
    let folder = mixed_log();
    let window = ["-b", "3/5/2024 10:00:03", "-e", "3/5/2024 10:00:18"];
    folder.relog([&["all.blg", "-t", "4", "-o", "once.blg"], &window[..]].concat());
    folder.relog([&["all.blg", "-o", "cut.blg"], &window[..]].concat());
    folder.relog(["cut.blg", "-t", "4", "-o", "twice.blg"]);
    assert_eq!(folder.stats(&["once.blg"]), folder.stats(&["twice.blg"]));
    // Samples 3, 7, 11, 15, and the baseline.
    assert!(folder.stats(&["once.blg"]).iter().all(|row| row["values"] == 4));
}

#[test]
fn thinning_keeps_the_averages_of_two_sample_formulas() {
    let folder = mixed_log();
    folder.relog(["all.blg", "-t", "19", "-o", "ends.blg"]);
    let (all, ends) = (folder.stats(&["all.blg"]), folder.stats(&["ends.blg"]));
    for (all, ends) in all.iter().zip(&ends).filter(|(all, _)| all["set"] != "Memory") {
        assert_eq!(all["average"], ends["average"], "{}", all["path"]);
        assert_eq!((&all["values"], &ends["values"]), (&19.into(), &1.into()));
    }
}

#[test]
fn two_halves_have_the_statistics_of_the_whole() {
    let folder = mixed_log();
    let cut = "2024-03-05T10:00:09";
    folder.relog(["all.blg", "-e", cut, "-o", "1.blg"]);
    folder.relog(["all.blg", "-b", cut, "-o", "2.blg"]);
    let whole = folder.stats(&["all.blg"]);
    assert_eq!(folder.stats(&["1.blg", "2.blg"]), whole);
    assert_eq!(folder.stats(&["2.blg", "1.blg"]), whole);
    // This also holds for a time range, even if it starts with the second half.
    for window in
        [["-b", "2024-03-05T10:00:04", "-e", "2024-03-05T10:00:12"], ["-b", cut, "-e", "2025-01-01"]]
    {
        let both = folder.stats(&[&["1.blg", "2.blg"], &window[..]].concat());
        assert_eq!(both, folder.stats(&[&["all.blg"], &window[..]].concat()), "{window:?}");
    }
}

#[test]
fn two_merged_halves_have_the_statistics_of_the_whole() {
    let folder = mixed_log();
    let cut = "2024-03-05T10:00:09";
    folder.relog(["all.blg", "-e", cut, "-o", "1.blg"]);
    folder.relog(["all.blg", "-b", cut, "-o", "2.blg"]);
    folder.relog(["1.blg", "2.blg", "-o", "both.blg"]);
    assert_eq!(folder.stats(&["both.blg"]), folder.stats(&["all.blg"]));
    folder.relog(["all.blg", "-o", "all.csv"]);
    folder.relog(["2.blg", "1.blg", "-o", "both.csv"]);
    assert_eq!(folder.text("both.csv"), folder.text("all.csv"));
}

#[test]
fn a_cut_log_shows_the_values_of_its_first_sample() {
    let folder = mixed_log();
    let window = ["-b", "3/5/2024 10:00:05", "-e", "3/5/2024 10:00:07"];
    folder.relog([&["all.blg", "-o", "cut.csv"], &window[..]].concat());
    folder.relog([&["all.blg", "-o", "cut.blg"], &window[..]].concat());
    let direct = folder.text("cut.csv");
    assert_eq!(direct.lines().count(), 3);
    assert!(!direct.contains("\" \""), "{direct}");
    folder.relog(["cut.blg", "-y", "-o", "cut.csv"]);
    assert_eq!(folder.text("cut.csv"), direct);
    let listed = folder.prints(["relog", "cut.blg"]);
    assert!(listed.contains("samples   2, typical interval 1.000 s\n"), "{listed}");
    assert!(listed.contains("2024-03-05 10:00:05.000 to 2024-03-05 10:00:06.000"), "{listed}");
}
