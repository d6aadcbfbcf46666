//! `list` of logs.

use serde_json::{Value, json};
use tachograph_counters::{CounterType, set::Counter};

use crate::log_fixture::{LogFixture, counter, mixed, one, raw, rows};
use crate::run::Folder;

/// A German log with a block record, and with hexadecimal and unknown types.
fn halle() -> LogFixture {
    let mut log = LogFixture::new("HALLE")
        .table(("Prozessor", 238), [(counter("Prozessorzeit (%)", CounterType::TIMER_INV_100NS), 6)])
        .value("Treiber", Counter { default_scale: -3, ..counter("Flags", CounterType::RAWCOUNT_HEX) })
        .value("Treiber", counter("Rätsel", CounterType(0x1234_0500)));
    for second in 0..3 {
        let values = [raw(second * 2_500_000, second * 10_000_000)];
        log.at(
            second * 60,
            vec![rows(&[("0", values), ("_Total", values)]), one(raw(0xbeef, 0)), one(raw(second, 0))],
        );
    }
    log
}

#[test]
fn the_text_form_is_complete() {
    let folder = Folder::new();
    halle().write(&folder.path("in.blg"));
    let text = folder.prints(["list", "in.blg"]);
    let bytes = folder.bytes("in.blg").len() / 1024 * 1024;
    let bytes = format!("{},{:03}", bytes / 1000, bytes % 1000);
    assert_eq!(
        text,
        format!(
            "in.blg: BLG, {bytes} bytes\n  \
             machine   \\\\HALLE\n  \
             time      2024-03-05 10:00:00.000 to 2024-03-05 10:02:00.000 W. Europe Standard Time (UTC+01:00), 2:00\n  \
             UTC       2024-03-05T09:00:00.000Z to 2024-03-05T09:02:00.000Z\n  \
             samples   3, typical interval 1:00\n  \
             counters  4 in 2 sets, 12 raw values\n\
             \n\
             \\\\HALLE\\Prozessor  (Processor)\n  \
             instances: 0 | _Total\n  \
             Prozessorzeit (%)  PERF_100NSEC_TIMER_INV              %  (% Processor Time)\n\
             \n\
             \\\\HALLE\\Treiber\n  \
             Flags   PERF_COUNTER_RAWCOUNT_HEX\n  \
             Rätsel  0x12340500\n"
        )
    );
}

#[test]
fn the_json_form_is_complete() {
    let folder = Folder::new();
    halle().write(&folder.path("in.blg"));
    let listed: Value = serde_json::from_str(&folder.prints(["list", "-f", "json", "in.blg"])).expect("JSON");
    assert_eq!(
        listed,
        json!([{
            "file": "in.blg",
            "format": "BLG",
            "bytes": folder.bytes("in.blg").len(),
            "machines": ["HALLE"],
            "time_zone": "W. Europe Standard Time",
            "is_time_zone_known": true,
            "first_time": "2024-03-05T10:00:00.000+01:00",
            "last_time": "2024-03-05T10:02:00.000+01:00",
            "first_time_utc": "2024-03-05T09:00:00.000Z",
            "last_time_utc": "2024-03-05T09:02:00.000Z",
            "samples": 3,
            "interval_seconds": 60.0,
            "values": 12,
            "sets": [
                {
                    "machine": "HALLE",
                    "name": "Prozessor",
                    "english_name": "Processor",
                    "instances": ["0", "_Total"],
                    "counters": [{
                        "name": "Prozessorzeit (%)",
                        "english_name": "% Processor Time",
                        "type": "PERF_100NSEC_TIMER_INV",
                        "unit": "%",
                        "default_scale": 0,
                    }],
                },
                {
                    "machine": "HALLE",
                    "name": "Treiber",
                    "english_name": null,
                    "instances": null,
                    "counters": [
                        {
                            "name": "Flags",
                            "english_name": null,
                            "type": "PERF_COUNTER_RAWCOUNT_HEX",
                            "unit": "",
                            "default_scale": -3,
                        },
                        {
                            "name": "Rätsel",
                            "english_name": null,
                            "type": "0x12340500",
                            "unit": "",
                            "default_scale": 0,
                        },
                    ],
                },
            ],
        }])
    );
}

#[test]
fn several_logs_are_listed_in_order() {
    let folder = Folder::new();
    halle().write(&folder.path("1.blg"));
    mixed("WEB1", 0, 2).write(&folder.path("2.blg"));
    folder.relog(["2.blg", "-o", "2.csv"]);
    let parts: Vec<_> = ["1.blg", "2.blg", "2.csv"].map(|name| folder.prints(["list", name])).into();
    assert_eq!(folder.prints(["list", "1.blg", "2.blg", "2.csv"]), parts.join("\n"));
    let listed = folder.prints(["list", "--format", "JSON", "1.blg", "2.blg", "2.csv"]);
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let shown: Vec<_> = listed.as_array().expect("an array").iter().map(|log| &log["format"]).collect();
    assert_eq!(shown, ["BLG", "BLG", "CSV"]);
}

#[test]
fn only_the_values_of_an_unknown_type_are_errors() {
    let folder = Folder::new();
    halle().write(&folder.path("in.blg"));
    let rows = folder.stats(&["in.blg", "-c", r"\Treiber\*"]);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| ["type", "values", "errors", "last"].map(|key| row[key].to_string()).join(" "))
        .collect();
    assert_eq!(shown, [r#""PERF_COUNTER_RAWCOUNT_HEX" 3 0 48879"#, r#""0x12340500" 0 3 null"#]);
    let text = folder.prints(["relog", "in.blg", "-o", "-", "-c", r"\Treiber\*"]);
    assert!(text.ends_with("\"48879\",\" \"\r\n"), "{text}");
}

#[test]
fn a_text_log_without_rows_is_listed() {
    let folder = Folder::new();
    folder.write(
        "in.csv",
        "\"(PDH-CSV 4.0) (Pacific Standard Time)(480)\",\"\\\\A\\Memory\\Available Bytes\"\r\n",
    );
    assert_eq!(folder.prints(["list", "in.csv"]), "in.csv: CSV, 75 bytes\n  samples   none\n");
    let listed: Value = serde_json::from_str(&folder.prints(["list", "-f", "json", "in.csv"])).expect("JSON");
    assert_eq!((&listed[0]["first_time"], &listed[0]["interval_seconds"]), (&Value::Null, &Value::Null));
}

#[test]
fn names_are_compared_case_insensitively() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1").value("Übersicht", counter("Größe", CounterType::RAWCOUNT));
    log.at(0, vec![one(raw(1, 0))]).write(&folder.path("1.blg"));
    let mut log = LogFixture::new("web1").value("ÜBERSICHT", counter("GRÖßE", CounterType::RAWCOUNT));
    log.at(1, vec![one(raw(2, 0))]).write(&folder.path("2.blg"));
    let mut log = LogFixture::new("Web1").value("übersicht", counter("Länge", CounterType::RAWCOUNT));
    log.at(2, vec![one(raw(3, 0))]).write(&folder.path("3.blg"));
    folder.relog(["1.blg", "2.blg", "3.blg", "-o", "all.blg"]);
    let listed = folder.prints(["list", "all.blg"]);
    assert!(listed.contains("  machine   \\\\WEB1\n"), "{listed}");
    assert!(
        listed.ends_with(
            "\n\n\\\\WEB1\\Übersicht\n  Größe  PERF_COUNTER_RAWCOUNT\n  Länge  PERF_COUNTER_RAWCOUNT\n"
        ),
        "{listed}"
    );
}

#[test]
fn operands_after_a_log_select_its_counters() {
    let folder = Folder::new();
    halle().write(&folder.path("in.blg"));
    let listed = folder.prints(["list", "in.blg", "treiber"]);
    assert!(listed.contains("counters  2 in 1 set, ") && listed.contains("\\\\HALLE\\Treiber\n"), "{listed}");
    assert!(!listed.contains("Prozessor"), "{listed}");
    let paths = folder.prints(["list", "-q", "in.blg", r"\\h*\Treiber\Flags"]);
    assert_eq!(paths, "\\\\HALLE\\Treiber\\Flags\n");
    // The English name of a set, and a path of a set with instances.
    let paths = folder.prints(["list", "-qx", "Processor", "in.blg"]);
    assert_eq!(paths.lines().count(), 2, "{paths}");
    folder.run(["list", "in.blg", "Treibe"]).fails_with(
        2,
        "'Treibe' is neither a log nor among the counters of in.blg: did you mean the counter set 'Treiber'?",
    );
    let some = folder.run(["list", "in.blg", "Treiber", "Memory"]);
    assert_eq!(some.status, 0, "{some:?}");
    assert!(some.stderr.starts_with("tacho: 'Memory' is neither a log nor"), "{}", some.stderr);
    assert!(!some.stdout.contains("Memory"), "{}", some.stdout);
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    folder
        .run(["list", "-s", hostname.trim(), "in.blg"])
        .fails_with(2, "'in.blg' is a file, not a counter set: 'tacho list in.blg' lists its counters");
}
