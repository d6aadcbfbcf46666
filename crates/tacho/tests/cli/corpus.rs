//! Real logs: run if TACHO_CORPUS names their folder.

use crate::run::{Folder, row};

/// The path of a log of the corpus. Without a corpus, prints a notice and returns `None`.
pub(crate) fn corpus(name: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else {
        eprintln!("skipped: no corpus (set TACHO_CORPUS to its folder)");
        return None;
    };
    let folder = std::path::PathBuf::from(folder);
    let folder = folder.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    Some(folder.join(name).into_os_string().into_string().expect("UTF-8"))
}

/// A number with ten digits.
#[track_caller]
fn figure(value: &serde_json::Value) -> String {
    format!("{:.9e}", value.as_f64().expect("a number"))
}

#[test]
fn statistics_equal_those_of_windows() {
    let Some(log) = corpus("BasicPerfCounters.blg") else { return };
    let rows = Folder::new().stats(&[&log]);
    assert_eq!(rows.len(), 10);
    let processor = row(&rows, r"\Processor(_Total)\% Processor Time");
    assert_eq!(figure(&processor["last"]), "3.281577859e1");
    assert_eq!(figure(&processor["average"]), "1.152740315e1");
    assert_eq!(figure(&processor["minimum"]), "1.568819282e0");
    assert_eq!(figure(&processor["maximum"]), "5.390787244e1");
    let disk = row(&rows, r"\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read");
    assert_eq!(disk["average"].to_string(), "5309.188746893078");
    assert_eq!(disk["average_kind"], "raw");
    assert!(rows.iter().all(|row| row["values"] == 600 && row["errors"] == 0));
}

#[test]
fn the_table_has_the_values_of_performance_monitor() {
    let Some(log) = corpus("BasicPerfCounters.blg") else { return };
    let path = r"\\GEORGIS3\Processor(_Total)\% Processor Time";
    let cells = |options: &[&str]| -> Vec<String> {
        let table =
            Folder::new().prints([&["stats", &log, "-c", r"\Processor(_Total)\*"][..], options].concat());
        let row = table.lines().nth(1).expect("a row");
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    let raw = cells(&["--raw-numbers"]);
    assert_eq!(raw[..6], [path, "%", "32.816", "11.527", "1.569", "53.908"]);
    // Percentiles are within 1 %.
    assert_eq!(raw[9..], ["600", "0"]);
    assert_eq!(cells(&[])[..5], [path, "32.8 %", "11.5 %", "1.57 %", "53.9 %"]);
}

#[test]
fn the_first_rows_of_the_csv_have_known_values() {
    let Some(log) = corpus("BasicPerfCounters.blg") else { return };
    let folder = Folder::new();
    let ran = folder.relog([&log, "-f", "csv", "-o", "server.csv"]);
    assert_eq!(ran.stderr, "tacho: server.csv: 601 samples written\n");
    let text = folder.text("server.csv");
    assert!(
        text.starts_with(r#""(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\GEORGIS3\PhysicalDisk(0 C:)\"#)
    );
    let lines: Vec<_> = text.split("\r\n").collect();
    assert_eq!((lines.len(), lines[602]), (603, ""));
    let blanks = r#"," ""#.repeat(10);
    assert_eq!(lines[1], format!(r#""02/19/2013 18:50:17.844"{blanks}"#));
    assert_eq!(
        lines[2],
        concat!(
            r#""02/19/2013 18:50:18.844","0","8795.4285714285706","0.039698570851449351","0","0.039698570851449351","#,
            r#""15.628037390653937","7.8158186305293036","6.2533748785043697","7.8158186305293036","9.378262382554226""#
        )
    );
}

#[test]
fn a_log_with_block_records_has_known_values() {
    let Some(log) = corpus("SampleLog.blg") else { return };
    let folder = Folder::new();
    let listed = folder.prints(["list", "-f", "json", &log]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed[0]["samples"], 11);
    assert_eq!(listed[0]["values"], 18164);
    let moment = ["-b", "8/14/2007 15:41:38", "-e", "8/14/2007 3:41:39 PM"];
    let rows = folder.stats(&[&[log.as_str()][..], &moment[..]].concat());
    for (path, value) in [
        (r"\Processor(_Total)\% Processor Time", "8.214811316e1"),
        (r"\System\System Up Time", "2.062115783e3"),
        (r"\Memory\% Committed Bytes In Use", "4.214359591e1"),
        (r"\LogicalDisk(C:)\% Disk Time", "3.117314416e1"),
        (r"\Process(svchost#3)\Elapsed Time", "2.009726135e3"),
    ] {
        assert_eq!(figure(&row(&rows, path)["last"]), value, "{path}");
    }
    folder.relog([&log, "-o", "all.csv"]);
    let text = folder.text("all.csv");
    assert_eq!(text.lines().next().expect("a header").matches("\",\"").count(), 1832);
    folder.relog([&log, "-o", "copy.blg"]);
    assert_eq!(folder.stats(&[&log]), folder.stats(&["copy.blg"]));
}

#[test]
fn a_csv_without_pdh_header_is_refused() {
    let Some(log) = corpus("CorruptBlg.blg") else { return };
    let folder = Folder::new();
    for command in ["list", "stats", "relog", "check"] {
        folder.run([command, &log]).fails_with(
            1,
            &format!(
                "{log}: not a performance log: it starts with '\"(Pacific Daylight Time)(420)\",\"\\\\CHANDSR-X86\\Pr...' \
                 (text); a CSV log starts with \"(PDH-CSV 4.0)\", a TSV log with \"(PDH-TSV 4.0)\", a JSON log with {{\"time\""
            ),
        );
    }
}

#[test]
fn two_halves_have_the_statistics_of_the_whole() {
    for name in ["BasicPerfCounters.blg", "SampleLog.blg"] {
        let Some(log) = corpus(name) else { return };
        let folder = Folder::new();
        let cut = if name.starts_with('B') { "2/19/2013 18:55:00" } else { "2007-08-14T15:45:00" };
        folder.relog([&log, "-e", cut, "-o", "1.blg"]);
        folder.relog([&log, "-b", cut, "-o", "2.blg"]);
        let (parts, whole) = (folder.stats(&["2.blg", "1.blg"]), folder.stats(&[&log]));
        assert_eq!(parts.len(), whole.len());
        for (part, whole) in parts.into_iter().zip(whole) {
            assert_eq!(part, whole, "{name}");
        }
    }
}

#[test]
fn the_example_of_the_guide_is_the_real_output() {
    let Some(log) = corpus("BasicPerfCounters.blg") else { return };
    let folder = Folder::new();
    folder.write("server.blg", std::fs::read(log).expect("a log of the corpus"));
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let is_example = |block: &&str| block.starts_with("console\n$ tacho list server.blg\n");
    let example = guide.split("```").find(is_example).expect("a fenced block with the two commands");
    let (list, stats) = example.split_once("\n\n$ tacho stats").expect("two commands");
    let (list, _) = list.split_once("  ...").expect("the start of the output");
    let list = list.strip_prefix("console\n$ tacho list server.blg\n").expect("a command");
    assert!(folder.prints(["list", "server.blg"]).starts_with(list), "{list}");
    let paths = [r"\PhysicalDisk(*)\Avg. Disk Bytes/*", r"\Processor(_Total)\*"];
    let printed = folder.prints(["stats", "server.blg", "-c", paths[0], paths[1]]);
    assert_eq!(stats, format!(" server.blg -c '{}' '{}'\n{printed}", paths[0], paths[1]));
}
