//! Samples that two inputs contain.

use std::path::Path;

use tachograph_counters::sample::Sample;

use crate::command::{fails, prints};
use crate::generated::{TempFolder, files, write};
use crate::log_fixture::mixed;

const COUNT: &str = "SELECT machine, count(*) AS rows FROM samples GROUP BY machine";

/// Writes the archive `a` and the log `a.blg`, which have the same 20 seconds of the machine WEB1.
pub(crate) fn write_common_samples(folder: &Path) {
    let log = mixed("WEB1", 0, 20);
    log.write(&folder.join("a.blg"));
    write(&folder.join("a"), &log.samples, 1000);
}

/// A folder with the archive `a` and the log `a.blg`, which have the same 20 seconds of the machine WEB1.
fn folder_with_log_and_archive() -> TempFolder {
    let folder = TempFolder::new();
    write_common_samples(&folder.0);
    folder
}

/// Asserts that a query fails because two inputs have a sample at the start of the log, and says which.
#[track_caller]
fn assert_refused(folder: &TempFolder, words: &[&str], second: &str) {
    let (message, status) = fails(folder, words);
    assert_eq!(status, 1, "{message}");
    assert!(message.starts_with("tacho sql: a/machine=WEB1/date=2024-03-05/0900"), "{message}");
    let at = format!("{second} both contain a sample of the same machine at 2024-03-05T10:00:0");
    assert!(message.contains(&at), "{message}");
    // There are no such options of `tacho sql`.
    assert!(message.ends_with(
        "omit one of them, or copy separate time ranges of them with 'tacho relog -b ... -e ...'"
    ));
}

#[test]
fn samples_in_an_archive_and_another_input_are_refused() {
    let folder = folder_with_log_and_archive();
    for query in [COUNT, "SELECT average FROM averages", "SELECT samples FROM machines"] {
        assert_refused(&folder, &[query, "a", "a.blg"], "a.blg");
    }
    // A part of the same samples in another archive, with another spelling of the machine's name.
    write(&folder.0.join("b"), &mixed("web1", 7, 5).samples, 1000);
    assert_refused(&folder, &[COUNT, "a", "b"], ".parquet");
    // Files of archives, whose paths name no machine.
    let file = files(&folder.0.join("a")).pop().expect("a file");
    std::fs::copy(file, folder.0.join("copy.parquet")).expect("copied");
    let (message, _) = fails(&folder, &[COUNT, "a", "copy.parquet"]);
    assert!(message.contains("both contain a sample of the same machine"), "{message}");
}

/// `tacho stats` accepts these inputs, too.
#[test]
fn separate_samples_of_a_machine_are_counted_once() {
    let folder = folder_with_log_and_archive();
    let rows = |words: &[&str]| prints(&folder, &[&[COUNT], words, &["-f", "csv"]].concat());
    let csv = |rows: usize| format!("machine,rows\r\nWEB1,{rows}\r\n");
    assert_eq!(rows(&["a"]), csv(140));
    // Later times.
    mixed("WEB1", 20, 10).write(&folder.0.join("later.blg"));
    assert_eq!(rows(&["a", "later.blg"]), csv(210));
    // Times between the samples.
    let mut between = mixed("WEB1", 5, 3).samples;
    between.iter_mut().for_each(|sample| sample.at.utc.0 += 5_000_000);
    write(&folder.0.join("between"), &between, 1000);
    assert_eq!(rows(&["a", "between"]), csv(161));
    // Other counters at the same times.
    let split = |range: std::ops::Range<usize>| -> Vec<Sample> {
        let mut samples = mixed("WEB1", 0, 20).samples;
        samples.iter_mut().for_each(|sample| sample.groups = sample.groups[range.clone()].to_vec());
        samples
    };
    write(&folder.0.join("first"), &split(0..2), 1000);
    write(&folder.0.join("second"), &split(2..5), 1000);
    assert_eq!(rows(&["first", "second"]), csv(140));
    // A sample that only starts intervals, as `relog -b` writes it.
    let mut cut = mixed("WEB1", 19, 5).samples;
    cut[0].is_baseline = true;
    write(&folder.0.join("cut"), &cut, 1000);
    assert_eq!(rows(&["a", "cut"]), csv(175));
    // Another machine.
    mixed("WEB2", 0, 20).write(&folder.0.join("other.blg"));
    assert_eq!(rows(&["a", "other.blg"]).lines().count(), 3);
}

/// A condition that excludes the common samples makes the inputs separate.
#[test]
fn only_samples_that_a_query_reads_are_compared() {
    let folder = folder_with_log_and_archive();
    write(&folder.0.join("b"), &mixed("WEB1", 15, 20).samples, 1000);
    let query = |condition: &str| format!("SELECT count(*) AS rows FROM samples WHERE {condition}");
    let counted = |condition: &str| prints(&folder, &[&query(condition), "a", "b", "-f", "csv"]);
    assert_eq!(counted("time < '2024-03-05T09:00:14.5Z'"), "rows\r\n105\r\n");
    assert_eq!(counted("time >= '2024-03-05T09:00:20Z'"), "rows\r\n105\r\n");
    assert_eq!(counted("machine = 'WEB2'"), "rows\r\n0\r\n");
    fails(&folder, &[&query("time <= '2024-03-05T09:00:15Z'"), "a", "b"]);
}
