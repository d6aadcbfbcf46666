//! Logs of several machines.

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;

use crate::log_fixture::{LogFixture, START, TICKS, counter, one, raw};
use crate::run::{Folder, row};

/// A log of a rate with samples at these tenths of a second.
fn calls(machine: &str, samples: &[(i64, i64)]) -> LogFixture {
    let mut log =
        LogFixture::new(machine).value("System", counter("System Calls/sec", CounterType::BULK_COUNT));
    for &(tenth, value) in samples {
        let utc = FileTime(START + tenth * TICKS / 10);
        let at = log.zone.utc_to_moment(utc);
        log.at_moment(at, vec![one(raw(value, tenth * TICKS / 10))]);
    }
    log
}

fn two_machines() -> Folder {
    let folder = Folder::new();
    calls("WEB1", &[(0, 0), (10, 10), (20, 30), (30, 60)]).write(&folder.path("web1.blg"));
    calls("WEB2", &[(0, 0), (7, 70), (18, 400), (22, 500)]).write(&folder.path("web2.blg"));
    folder
}

#[test]
fn statistics_have_rows_for_each_machine() {
    let folder = two_machines();
    let rows = folder.stats(&["web2.blg", "web1.blg"]);
    let shown = |key: &str| rows.iter().map(|row| row[key].to_string()).collect::<Vec<_>>();
    assert_eq!(shown("machine"), [r#""WEB1""#, r#""WEB2""#]);
    assert_eq!(shown("average")[0], "20");
    assert_eq!(shown("values"), ["3", "3"]);
}

#[test]
fn across_machines_merges_counters_with_the_same_path() {
    let folder = two_machines();
    let rows = folder.stats(&["web2.blg", "web1.blg", "--across", "machines"]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["path"], r"\System\System Calls/sec");
    assert_eq!(rows[0]["machine"], serde_json::Value::Null);
    // 560 calls in 5.2 seconds of machine time; the last value is that of WEB1, whose log ends later.
    assert_eq!(rows[0]["average"].to_string(), (560.0 / 5.2_f64).to_string());
    assert_eq!((&rows[0]["values"], &rows[0]["last"]), (&6.into(), &30.into()));
    let reversed = folder.stats(&["web1.blg", "web2.blg", "--across", "machines"]);
    assert_eq!(reversed, rows);
}

#[test]
fn merged_rows_have_the_times_of_the_first_log() {
    let folder = two_machines();
    // The samples of WEB2 at 0.7 s (for the row of 1.0 s) and 1.8 s (for 2.0 s) are recent enough; the one at 2.2 s (for 3.0 s) is not.
    let ran = folder.relog(["web1.blg", "web2.blg", "-o", "-"]);
    assert_eq!(
        ran.stdout,
        "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\"\\\\WEB1\\System\\System Calls/sec\",\
         \"\\\\WEB2\\System\\System Calls/sec\"\r\n\
         \"03/05/2024 10:00:00.000\",\" \",\" \"\r\n\
         \"03/05/2024 10:00:01.000\",\"10\",\"100\"\r\n\
         \"03/05/2024 10:00:02.000\",\"20\",\"300\"\r\n\
         \"03/05/2024 10:00:03.000\",\"30\",\" \"\r\n"
    );
    assert_eq!(
        ran.stderr,
        "tacho: 1 sample of other machines skipped: rows have the times of the first log's machine, and include samples \
         of the others that are at most half an interval older; --all-times keeps all\n"
    );
    let reversed = folder.relog(["web2.blg", "web1.blg", "-o", "-"]);
    assert!(reversed.stdout.contains("\"03/05/2024 10:00:00.700\",\"100\",\" \"\r\n"), "{}", reversed.stdout);
    assert!(reversed.stderr.starts_with("tacho: 2 samples of other machines skipped"), "{}", reversed.stderr);
}

#[test]
fn machines_are_merged_into_one_blg() {
    let folder = two_machines();
    folder.relog(["web1.blg", "web2.blg", "-o", "both.blg"]);
    let rows = folder.stats(&["both.blg"]);
    assert_eq!(row(&rows, r"\\WEB1\System\System Calls/sec")["values"], 3);
    assert_eq!(row(&rows, r"\\WEB2\System\System Calls/sec")["values"], 2);
    let text = folder.prints(["relog", "both.blg", "-o", "-"]);
    assert_eq!(text, folder.relog(["web1.blg", "web2.blg", "-o", "-"]).stdout);
    let listed = folder.prints(["relog", "both.blg"]);
    assert!(listed.contains(r"machine   \\WEB1, \\WEB2"), "{listed}");
}

#[test]
fn the_machine_in_a_path_can_have_wildcards() {
    let folder = two_machines();
    folder.relog(["web1.blg", "web2.blg", "-o", "both.blg"]);
    let machines = |path: &str| {
        let rows = folder.stats(&["both.blg", "-c", path]);
        rows.iter().map(|row| row["machine"].as_str().expect("a machine").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(machines(r"\\*\System\System Calls/sec"), ["WEB1", "WEB2"]);
    assert_eq!(machines(r"\\web?\System\*"), ["WEB1", "WEB2"]);
    assert_eq!(machines(r"\\*2\System\*"), ["WEB2"]);
    let text = folder.prints(["relog", "both.blg", "-c", r"\\*1\System\*", "-o", "-"]);
    assert!(text.contains("WEB1") && !text.contains("WEB2"), "{text}");
    folder
        .run(["stats", "both.blg", r"\\db*\System\*"])
        .fails_with(2, r"'\\db*\System\*' is not in the log: there are counters of '\\WEB1', '\\WEB2'");
    // Machines can be ranked by a counter that has no instances.
    let top = folder.stats(&["both.blg", r"\\*\System\System Calls/sec", "--sort", "maximum", "--top", "1"]);
    assert_eq!((top.len(), &top[0]["machine"]), (1, &"WEB2".into()));
}

#[test]
fn an_archive_of_several_machines_is_listed_as_one() {
    let folder = two_machines();
    folder.relog(["web1.blg", "-o", "all", "-f", "archive"]);
    folder.relog(["web2.blg", "-o", "all", "-f", "archive", "-a"]);
    let listed = folder.prints(["list", "all"]);
    let bytes = |name: &str| {
        let listed = folder.prints(["list", "-f", "json", name]);
        let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
        listed[0]["bytes"].as_u64().expect("a number")
    };
    assert!(listed.starts_with("all: archive, ") && listed.contains(r"machine   \\WEB1, \\WEB2"), "{listed}");
    assert_eq!(bytes("all"), bytes("all/machine=WEB1") + bytes("all/machine=WEB2"));
    // Damage to the second machine is found.
    assert!(folder.prints(["check", "all"]).starts_with("all: intact: archive, "));
    let date = std::fs::read_dir(folder.path("all/machine=WEB2")).expect("a folder").next().expect("a date");
    let date = date.expect("an entry").path();
    let file = std::fs::read_dir(date).expect("a folder").next().expect("a file").expect("an entry").path();
    let mut content = std::fs::read(&file).expect("a file");
    content.truncate(content.len() / 2);
    std::fs::write(&file, content).expect("written");
    let checked = folder.run(["check", "all"]);
    assert_eq!(checked.status, 1, "{checked:?}");
}

#[test]
fn all_times_keep_every_sample_of_every_machine() {
    let folder = two_machines();
    let ran = folder.relog(["web1.blg", "web2.blg", "--all-times", "-o", "-"]);
    assert_eq!(ran.stderr, "");
    let rows: Vec<_> = ran.stdout.lines().skip(1).collect();
    // Both machines have a sample at the start; each other sample belongs to one machine.
    assert_eq!(
        rows,
        [
            r#""03/05/2024 10:00:00.000"," "," ""#,
            r#""03/05/2024 10:00:00.700"," ","100""#,
            r#""03/05/2024 10:00:01.000","10"," ""#,
            r#""03/05/2024 10:00:01.800"," ","300""#,
            r#""03/05/2024 10:00:02.000","20"," ""#,
            r#""03/05/2024 10:00:02.200"," ","250""#,
            r#""03/05/2024 10:00:03.000","30"," ""#,
        ]
    );
    let apart = folder.stats(&["web1.blg", "web2.blg"]);
    let ran = folder.relog(["web2.blg", "web1.blg", "--all-times", "-o", "both.blg"]);
    assert_eq!(ran.stderr, "tacho: both.blg: 7 samples written\n");
    assert_eq!(folder.stats(&["both.blg"]), apart);
    assert_eq!(folder.prints(["check", "both.blg"]).lines().count(), 1);
    // With a window and thinning, every second sample of each machine is kept.
    let window = ["-b", "2024-03-05T10:00:00.500", "-e", "2024-03-05T10:00:02.100"];
    let apart = folder.stats(&[&["web1.blg", "web2.blg"], &window[..]].concat());
    folder.relog([&["web1.blg", "web2.blg", "--all-times", "-y", "-o", "both.blg"], &window[..]].concat());
    assert_eq!(folder.stats(&["both.blg"]), apart);
    let ran = folder.relog(["web1.blg", "web2.blg", "--all-times", "-t", "2", "-y", "-o", "both.blg"]);
    assert_eq!(ran.stderr, "tacho: both.blg: 3 samples written\n");
}

#[test]
fn distant_times_are_not_merged() {
    let folder = Folder::new();
    calls("WEB1", &[(0, 0), (10, 10), (20, 30)]).write(&folder.path("web1.blg"));
    // Near the minimum time: the difference exceeds 63 bits.
    let mut ancient = calls("WEB2", &[]);
    for second in 0..3 {
        let utc = FileTime(-9_200_000_000_000_000_000 + second * TICKS);
        ancient.at_moment(ancient.zone.utc_to_moment(utc), vec![one(raw(second, second * TICKS))]);
    }
    ancient.write(&folder.path("ancient.blg"));
    let ran = folder.relog(["web1.blg", "ancient.blg", "-o", "-"]);
    let cells: Vec<_> =
        ran.stdout.lines().skip(1).map(|row| row.rsplit(',').next().expect("a cell")).collect();
    assert_eq!(cells, [r#"" ""#; 3]);
    assert!(ran.stderr.starts_with("tacho: 3 samples of other machines skipped"), "{}", ran.stderr);
}

#[test]
fn a_time_range_is_in_the_local_time_of_each_machine() {
    let folder = Folder::new();
    let values: Vec<_> = (0..10).map(|second| (second * 10, second * 5)).collect();
    calls("PARIS", &values).write(&folder.path("paris.blg"));
    let mut london = calls("LONDON", &[]);
    london.zone = TimeZone::fixed("GMT Standard Time", 0);
    // One hour of UTC later, so that local times are equal.
    for (second, value) in &values {
        let utc = FileTime(START + 3600 * TICKS + second * TICKS / 10);
        let at = london.zone.utc_to_moment(utc);
        london.at_moment(at, vec![one(raw(*value, second * TICKS / 10))]);
    }
    london.write(&folder.path("london.blg"));
    for order in [["paris.blg", "london.blg"], ["london.blg", "paris.blg"]] {
        let rows =
            folder.stats(&[&order[..], &["-b", "3/5/2024 10:00:03", "-e", "3/5/2024 10:00:06"]].concat());
        let values: Vec<_> = rows.iter().map(|row| row["values"].to_string()).collect();
        assert_eq!(values, ["3", "3"], "{rows:#?}");
    }
}
