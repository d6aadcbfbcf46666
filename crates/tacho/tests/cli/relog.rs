//! `relog`: formats, thinning, summaries.

use serde_json::Value;
use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, counter, mixed, one, raw, rows};
use crate::run::Folder;

fn small_log() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 4).write(&folder.path("in.blg"));
    folder
}

const CSV_START: &str =
    "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\"\\\\WEB1\\Memory\\Available Bytes\",";

#[test]
fn a_text_log_is_written_as_expected() {
    let folder = small_log();
    let csv = concat!(
        r#""(PDH-CSV 4.0) (W. Europe Standard Time)(-60)","\\WEB1\Memory\Available Bytes","\\WEB1\Memory\% Committed Bytes In Use","\\WEB1\System\Context Switches/sec","\\WEB1\PhysicalDisk(0 C:)\Avg. Disk sec/Read","\\WEB1\Processor(0)\% Processor Time","\\WEB1\Processor(1)\% Processor Time","\\WEB1\Processor(_Total)\% Processor Time""#,
        "\r\n",
        r#""03/05/2024 10:00:00.000","4000000","30.927835051546392"," "," "," "," "," ""#,
        "\r\n",
        r#""03/05/2024 10:00:01.000","4001024","31.958762886597935","1001","0.0023333666666666667","69.969999999999999","19.920000000000005","49.950000000000003""#,
        "\r\n",
    );
    let text = folder.prints(["relog", "in.blg", "-o", "-"]);
    assert!(text.starts_with(csv), "{text}");
    assert_eq!(text.lines().count(), 5);
    let tabs = folder.prints(["relog", "in.blg", "-o", "-", "-f", "tsv"]);
    assert_eq!(tabs, text.replace("PDH-CSV", "PDH-TSV").replace("\",\"", "\"\t\""));
}

#[test]
fn the_format_is_given_or_that_of_the_extension() {
    let folder = small_log();
    for (name, format, start) in [
        ("a.csv", None, CSV_START.as_bytes()),
        ("a.CSV", None, CSV_START.as_bytes()),
        ("a.tsv", None, b"\"(PDH-TSV 4.0)"),
        ("a.json", None, b"{\"time\":"),
        ("a.jsonl", None, b"{\"time\":"),
        ("a.blg", None, &[0, 0, 1, 0]),
        ("a", None, &[0, 0, 1, 0]),
        ("b.blg", Some("csv"), CSV_START.as_bytes()),
        ("b.csv", Some("BIN"), &[0, 0, 1, 0]),
        ("c.csv", Some("Tsv"), b"\"(PDH-TSV 4.0)"),
        ("d", Some("blg"), &[0, 0, 1, 0]),
    ] {
        let mut arguments = vec!["in.blg", "-o", name];
        arguments.extend(format.iter().flat_map(|format| ["-f", format]));
        folder.relog(arguments);
        assert!(folder.bytes(name).starts_with(start), "{name}");
    }
    for name in ["x.txt", "x.log"] {
        folder.run(["relog", "in.blg", "-o", name]).fails_with(
            2,
            &format!(
                "{name}: unknown format: use -f bin, csv, tsv or json, or a name that ends in .blg, .csv, .tsv or .json"
            ),
        );
    }
    // Without an output, -f writes to standard output.
    for format in ["csv", "json"] {
        let text = folder.prints(["relog", "in.blg", "-f", format]);
        assert_eq!(text, folder.prints(["relog", "in.blg", "-f", format, "-o", "-"]));
    }
    let ran = folder.run(["relog", "in.blg", "-f", "xml", "-o", "x"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.starts_with("tacho: -f xml: must be bin, csv, tsv, json, archive or sql; "),
        "{}",
        ran.stderr
    );
    folder.run(["relog", "in.blg", "-f", "bin", "-o", "-"]).fails_with(
        2,
        "cannot write a BLG to standard output (its header is completed at the end): use -o FILE, or -f csv",
    );
}

#[test]
fn json_has_a_line_per_sample() {
    let folder = small_log();
    let text = folder.prints(["relog", "in.blg", "-o", "-", "-f", "json"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["time"], "2024-03-05T10:00:00.000+01:00");
    let values = |line: &Value| line["values"].as_object().expect("an object").clone();
    assert!(lines.iter().all(|line| values(line).len() == 7));
    assert_eq!(lines[0]["values"][r"\\WEB1\Memory\Available Bytes"], 4_000_000);
    assert_eq!(lines[0]["values"][r"\\WEB1\System\Context Switches/sec"], Value::Null);
    assert_eq!(lines[1]["values"][r"\\WEB1\Processor(0)\% Processor Time"], 69.97);
}

#[test]
fn a_copy_of_a_blg_has_the_same_content() {
    let folder = small_log();
    folder.relog(["in.blg", "-o", "copy.blg"]);
    assert_eq!(folder.stats(&["copy.blg"]), folder.stats(&["in.blg"]));
    assert_eq!(
        folder.prints(["relog", "copy.blg", "-o", "-"]),
        folder.prints(["relog", "in.blg", "-o", "-"])
    );
    let (copy, original) = (folder.prints(["list", "copy.blg"]), folder.prints(["list", "in.blg"]));
    assert_eq!(copy.split_once('\n').expect("lines").1, original.split_once('\n').expect("lines").1);
}

#[test]
fn a_copy_of_a_text_log_is_identical() {
    let folder = small_log();
    for extension in ["csv", "tsv"] {
        let (first, second) = (format!("1.{extension}"), format!("2.{extension}"));
        folder.relog(["in.blg", "-o", &first]);
        folder.relog([&first, "-o", &second]);
        assert_eq!(folder.text(&first), folder.text(&second));
    }
    folder.relog(["1.csv", "-o", "3.tsv"]);
    assert_eq!(folder.text("3.tsv"), folder.text("1.tsv"));
}

#[test]
fn every_nth_sample_is_kept() {
    let folder = Folder::new();
    mixed("WEB1", 0, 10).write(&folder.path("in.blg"));
    for (n, seconds) in [("1", (0..10).collect::<Vec<_>>()), ("3", vec![0, 3, 6, 9]), ("100", vec![0])] {
        let text = folder.prints(["relog", "in.blg", "-t", n, "-o", "-"]);
        let times: Vec<_> = text.lines().skip(1).map(|line| line[18..20].to_owned()).collect();
        let expected: Vec<_> = seconds.iter().map(|second| format!("{second:02}")).collect();
        assert_eq!(times, expected, "-t {n}");
    }
    let ran = folder.run(["relog", "in.blg", "-t", "0", "-o", "-"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}

#[test]
fn without_an_output_it_shows_a_summary() {
    let folder = small_log();
    let summary = "in.blg: BLG, 131,072 bytes\n  \
                   machine   \\\\WEB1\n  \
                   time      2024-03-05 10:00:00.000 to 2024-03-05 10:00:03.000 W. Europe Standard Time (UTC+01:00), 3.000 s\n  \
                   UTC       2024-03-05T09:00:00.000Z to 2024-03-05T09:00:03.000Z\n  \
                   samples   4, typical interval 1.000 s\n  \
                   counters  7 in 4 sets, 28 raw values\n";
    assert_eq!(folder.prints(["relog", "in.blg"]), summary);
    assert_eq!(folder.prints(["relog", "in.blg", "in.blg"]), summary.repeat(2));
    let paths = "\\\\WEB1\\Memory\\Available Bytes\n\\\\WEB1\\Memory\\% Committed Bytes In Use\n\
                 \\\\WEB1\\System\\Context Switches/sec\n\\\\WEB1\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read\n\
                 \\\\WEB1\\Processor(0)\\% Processor Time\n\\\\WEB1\\Processor(1)\\% Processor Time\n\
                 \\\\WEB1\\Processor(_Total)\\% Processor Time\n";
    assert_eq!(folder.prints(["relog", "-q", "in.blg"]), format!("{summary}{paths}"));
    // The list can be used with -cf.
    assert_eq!(folder.prints(["relog", "-q", "in.blg", "-o", "paths.txt"]), "");
    assert_eq!(folder.text("paths.txt"), paths);
    assert_eq!(folder.stats(&["in.blg", "-cf", "paths.txt"]), folder.stats(&["in.blg"]));
}

#[test]
fn the_summary_has_the_selected_samples_and_counters() {
    let folder = small_log();
    let part = ["-c", r"\Processor(*)\*", "-b", "10:00:01", "-e", "10:00:03"];
    let summary = folder.prints([&["relog", "in.blg"], &part[..]].concat());
    assert!(summary.contains("  samples   2, typical interval 1.000 s\n"), "{summary}");
    assert!(summary.ends_with("  counters  3 in 1 set, 6 raw values\n"), "{summary}");
    folder.prints([&["relog", "-q", "in.blg", "-o", "paths.txt"], &part[..]].concat());
    let paths = ["0", "1", "_Total"].map(|name| format!("\\\\WEB1\\Processor({name})\\% Processor Time\n"));
    assert_eq!(folder.text("paths.txt"), paths.concat());
    for arguments in
        [&["relog", "in.blg", "-c", r"\Nope\x"][..], &["relog", "-q", "in.blg", "-c", r"\Nope\x"]]
    {
        let ran = folder.run(arguments.iter().copied());
        assert_eq!((ran.status, &*ran.stdout), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(r"'\Nope\x'"), "{}", ran.stderr);
    }
}

#[test]
fn selected_block_records_stay_block_records() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1").table(
        ("Process", 230),
        [
            (counter("Handle Count", CounterType::RAWCOUNT), 952),
            (counter("IO Read Bytes/sec", CounterType::BULK_COUNT), 1420),
        ],
    );
    for second in 0..3 {
        let values = |share: i64| [raw(100 * share, 0), raw(share * second * 1000, second * 10_000_000)];
        log.at(second, vec![rows(&[("sql", values(1)), ("web", values(2)), ("web#1", values(3))])]);
    }
    log.write(&folder.path("in.blg"));
    folder.relog(["in.blg", "-o", "copy.blg"]);
    assert_eq!(folder.stats(&["copy.blg"]), folder.stats(&["in.blg"]));
    let chosen = ["-c", r"\Process(web*)\IO*"];
    folder.relog([&["in.blg", "-o", "part.blg"], &chosen[..]].concat());
    let rows = folder.stats(&["part.blg"]);
    assert_eq!(rows, folder.stats(&[&["in.blg"], &chosen[..]].concat()));
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["index"], &rows[0]["average"]), (&1.into(), &3000.into()));
    // The signature of a block, once per sample.
    let block = b"P\0E\0R\0F\0";
    for name in ["in.blg", "copy.blg", "part.blg"] {
        assert_eq!(folder.bytes(name).windows(8).filter(|window| window == block).count(), 3, "{name}");
    }
}

#[test]
fn later_counters_are_included() {
    let folder = Folder::new();
    let memory =
        |name: &str| LogFixture::new("WEB1").value("Memory", counter(name, CounterType::LARGE_RAWCOUNT));
    memory("Available Bytes").at(0, vec![one(raw(1, 0))]).write(&folder.path("1.blg"));
    memory("Cache Bytes").at(1, vec![one(raw(2, 0))]).write(&folder.path("2.blg"));
    folder.relog(["1.blg", "2.blg", "-o", "both.blg"]);
    let text = folder.prints(["relog", "both.blg", "-o", "-"]);
    assert_eq!(text, folder.prints(["relog", "1.blg", "2.blg", "-o", "-"]));
    assert!(text.ends_with("\"1\",\" \"\r\n\"03/05/2024 10:00:01.000\",\" \",\"2\"\r\n"), "{text}");
}

#[test]
fn text_logs_and_blgs_of_one_machine_are_merged() {
    let folder = Folder::new();
    mixed("WEB1", 0, 10).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-o", "all.csv"]);
    folder.relog(["all.csv", "-e", "2024-03-05T10:00:05", "-o", "1.csv"]);
    folder.relog(["all.blg", "-b", "2024-03-05T10:00:05", "-o", "2.blg"]);
    folder.relog(["1.csv", "2.blg", "-o", "both.csv"]);
    // A CSV has a group for each instance, a BLG has one for all instances. Such groups become separate columns, so only
    // the columns of fixed paths contain values of both logs.
    let text = folder.text("both.csv");
    let all = folder.text("all.csv");
    for (both, all) in text.lines().zip(all.lines()).skip(1) {
        let cells = |line: &str| line.split(',').take(5).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(cells(both), cells(all));
    }
}
