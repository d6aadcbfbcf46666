//! Archives: converted logs have the same statistics and the same samples, and SQL computes the same averages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tachograph_counters::CounterType;

use crate::corpus::corpus;
use crate::log_fixture::{LogFixture, TICKS, counter, mixed, one, raw};
use crate::run::{Folder, Outcome, row};
use crate::segments::Simulation;

/// Converts logs to an archive, and asserts that it has the same statistics and samples.
#[track_caller]
fn assert_equal_in_archive(folder: &Folder, logs: &[&str], archive: &str) {
    folder.relog(logs.iter().copied().chain(["-f", "archive", "-o", archive]));
    let output = |command: &[&str], inputs: &[&str]| {
        let ran = folder.run([command, inputs].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stdout
    };
    for command in [["stats", "-f", "json"], ["relog", "-f", "json"]] {
        let (of_logs, of_archive) = (output(&command, logs), output(&command, &[archive]));
        let difference = of_logs.lines().zip(of_archive.lines()).find(|(log, archive)| log != archive);
        assert!(of_logs == of_archive, "{command:?}: {difference:#?}");
    }
    let again = format!("{archive}-again.blg");
    folder.relog([archive, "-o", &again]);
    assert_eq!(output(&["stats", "-f", "json"], &[&again]), output(&["stats", "-f", "json"], logs));
}

#[test]
fn an_archive_has_the_samples_and_statistics_of_its_log() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    assert_equal_in_archive(&folder, &["all.blg"], "A");
    let window = ["-b", "3/5/2024 10:00:05", "-e", "3/5/2024 10:00:15"];
    assert_eq!(
        folder.stats(&[&["A"], &window[..]].concat()),
        folder.stats(&[&["all.blg"], &window[..]].concat())
    );
    let machine = "A/machine=WEB1";
    assert_eq!(folder.stats(&[machine]), folder.stats(&["all.blg"]));
    assert_eq!(folder.stats(&[&format!("{machine}/date=2024-03-05")]), folder.stats(&["all.blg"]));
    let files: Vec<_> = files(&folder.path("A"));
    assert_eq!(files.len(), 1);
    assert!(files[0].ends_with("machine=WEB1/date=2024-03-05/090000-090019.parquet"), "{files:?}");
    let file = files[0].to_string_lossy().into_owned();
    assert_eq!(folder.stats(&[&file]), folder.stats(&["all.blg"]));
    let checked = folder.prints(["check", "A"]);
    assert!(checked.starts_with("A: intact: archive, 20 samples"), "{checked}");
}

/// The files of an archive.
fn files(archive: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(archive).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn random_segments_in_an_archive_have_the_statistics_of_the_whole_log() {
    let folder = Folder::new();
    for seed in 0..12 {
        let simulation = Simulation::new(seed);
        let count = simulation.len();
        // A segment without samples is not a log.
        let middle = (count / 2 + seed as usize % 3).clamp(1, count - 1);
        simulation.write(&folder.path("whole.blg"), 0..count);
        simulation.write(&folder.path("first.blg"), 0..middle);
        simulation.write(&folder.path("second.blg"), middle..count);
        assert_equal_in_archive(&folder, &["whole.blg"], &format!("W{seed}"));
        // Two conversions into one folder.
        let archive = format!("S{seed}");
        folder.relog(["first.blg", "-f", "archive", "-o", &archive]);
        folder.relog(["second.blg", "-f", "archive", "-a", "-o", &archive]);
        assert_eq!(folder.stats(&[&archive]), folder.stats(&["whole.blg"]), "seed {seed}");
    }
}

#[test]
fn several_machines_share_a_folder() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("one.blg"));
    mixed("WEB2", 0, 20).write(&folder.path("two.blg"));
    assert_equal_in_archive(&folder, &["one.blg", "two.blg"], "A");
    assert_eq!(folder.stats(&["A/machine=WEB2"]), folder.stats(&["two.blg"]));
    let listed = folder.prints(["relog", "A"]);
    assert!(listed.contains("WEB1") && listed.contains("WEB2"), "{listed}");
}

#[test]
fn archives_are_not_overwritten() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-f", "archive", "-o", "A"]);
    let refused = folder.run(["relog", "all.blg", "-f", "archive", "-o", "A"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("A: the folder is not empty: use -a"), "{}", refused.stderr);
    // Adding the same samples again is refused.
    let before = files(&folder.path("A"));
    let refused = folder.run(["relog", "all.blg", "-f", "archive", "-a", "-o", "A"]);
    assert_ne!(refused.status, 0);
    assert!(refused.stderr.contains("nothing was added"), "{}", refused.stderr);
    assert_eq!(files(&folder.path("A")), before);
    assert_eq!(folder.stats(&["A"]), folder.stats(&["all.blg"]));
    let refused = folder.run(["relog", "all.blg", "-o", "x.parquet"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("-f archive -o FOLDER"), "{}", refused.stderr);
    // A conversion that fails leaves no files.
    folder.write("broken.blg", "no log");
    assert_ne!(folder.run(["relog", "broken.blg", "-f", "archive", "-o", "B"]).status, 0);
    assert!(!folder.path("B").exists());
}

#[test]
fn time_ranges_are_added_one_after_another() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    let (middle, end) = ("3/5/2024 10:00:10", "3/5/2024 10:00:15");
    folder.relog(["all.blg", "-e", middle, "-f", "archive", "-o", "A"]);
    folder.relog(["all.blg", "-b", middle, "-e", end, "-f", "archive", "-a", "-o", "A"]);
    folder.relog(["all.blg", "-b", end, "-f", "archive", "-a", "-o", "A"]);
    assert_eq!(files(&folder.path("A")).len(), 3);
    assert_eq!(folder.stats(&["A"]), folder.stats(&["all.blg"]));
    let checked = folder.prints(["check", "A"]);
    assert!(checked.starts_with("A: intact: archive, 20 samples"), "{checked}");
    assert_ne!(folder.run(["relog", "all.blg", "-b", end, "-f", "archive", "-a", "-o", "A"]).status, 0);
    assert_eq!(files(&folder.path("A")).len(), 3);
}

#[test]
fn logs_of_one_machine_with_different_counters_are_joined() {
    let folder = Folder::new();
    let rate = |set: &str, step: i64| {
        let mut log = LogFixture::new("WEB1").value(set, counter("Rate", CounterType::COUNTER_COUNTER));
        for second in (0..20).step_by(step as usize) {
            log.at(second, vec![one(raw(second * second, second * TICKS))]);
        }
        log.write(&folder.path(&format!("{set}.blg")));
    };
    rate("Memory", 1);
    rate("System", 1);
    rate("Slow", 2);
    assert_equal_in_archive(&folder, &["Memory.blg", "System.blg"], "A");
    assert_equal_in_archive(&folder, &["Memory.blg", "Slow.blg"], "B");
    let checked = folder.prints(["check", "B"]);
    assert!(checked.starts_with("B: intact: archive, 20 samples"), "{checked}");
}

#[test]
fn a_machine_without_the_counter_adds_nothing() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("one.blg"));
    let mut other = LogFixture::new("WEB2").value("Other", counter("C", CounterType::COUNTER_COUNTER));
    for second in 0..30 {
        other.at(second, vec![one(raw(second, second * TICKS))]);
    }
    other.write(&folder.path("two.blg"));
    let path = r"\Memory\Available Bytes";
    folder.relog(["one.blg", "two.blg", "-c", path, "-f", "archive", "-o", "A"]);
    let checked = folder.prints(["check", "A"]);
    assert!(checked.starts_with("A: intact: archive, 20 samples"), "{checked}");
}

#[test]
fn archives_of_several_machines_are_compared() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("one.blg"));
    mixed("WEB2", 0, 20).write(&folder.path("two.blg"));
    folder.relog(["one.blg", "two.blg", "-f", "archive", "-o", "A"]);
    let compared = folder.run(["compare", "-c", r"\Memory\Available Bytes", "A", "A"]);
    assert_eq!(compared.status, 0, "{}", compared.stderr);
}

#[test]
fn salvage_writes_no_archive() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    let refused = folder.run(["check", "all.blg", "--salvage", "out.parquet"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("--salvage does not write archives"), "{}", refused.stderr);
    assert!(!folder.path("out.parquet").exists());
}

#[test]
fn damage_is_reported_with_its_place() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-f", "archive", "-o", "A"]);
    let file = files(&folder.path("A")).remove(0);
    let mut bytes = std::fs::read(&file).expect("a file");
    bytes[20] ^= 4;
    std::fs::write(&file, bytes).expect("a writable file");
    let ran = folder.run(["stats", "A"]);
    assert_eq!(ran.status, 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("090000-090019.parquet: damaged at offset"), "{}", ran.stderr);
    assert!(ran.stderr.contains("row group 0, column 'set': the checksum is wrong"), "{}", ran.stderr);
    assert!(ran.stderr.contains("move the file away to read the others"), "{}", ran.stderr);
    let checked = folder.run(["check", "A"]);
    assert_eq!(checked.status, 1, "{}", checked.stderr);
    assert!(
        checked.stdout.contains("090000-090019.parquet: row group 0, column 'set'"),
        "{}",
        checked.stdout
    );
}

/// Each damaged file is reported, and all commands read the others.
#[test]
fn the_intact_files_of_an_archive_are_read() {
    let folder = Folder::new();
    for (index, name) in ["1.blg", "2.blg", "3.blg", "4.blg"].into_iter().enumerate() {
        mixed("WEB1", 100 * index as i64, 20).write(&folder.path(name));
        folder.relog([name, "-f", "archive", "-a", "-o", "A"]);
    }
    let mut files = files(&folder.path("A"));
    files.sort();
    assert_eq!(files.len(), 4);
    std::fs::write(&files[1], "").expect("a writable file");
    let mut bytes = std::fs::read(&files[2]).expect("a file");
    bytes[20] ^= 4;
    std::fs::write(&files[2], &bytes).expect("a writable file");
    // 'check' lists the problems of all files, and saves the intact samples.
    let checked = folder.run(["check", "A", "--salvage", "saved.blg"]);
    assert_eq!(checked.status, 1, "{}", checked.stderr);
    for file in &files[1..3] {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(checked.stdout.contains(&name), "{}", checked.stdout);
    }
    assert!(checked.stdout.contains("A: 2 problems; intact: 40 samples"), "{}", checked.stdout);
    folder.relog(["1.blg", "4.blg", "-o", "expected.blg"]);
    assert_eq!(folder.stats(&["saved.blg"]), folder.stats(&["expected.blg"]));
    // The file is cut short, too, so that it cannot be opened.
    std::fs::write(&files[2], &bytes[..bytes.len() - 1]).expect("a writable file");
    let stats = folder.run(["stats", "A", "-f", "json"]);
    assert_eq!(stats.status, 0, "{}", stats.stderr);
    assert_eq!(stats.stderr.lines().count(), 1, "{}", stats.stderr);
    assert!(stats.stderr.contains(": damaged: 2 problems, the first at offset 0x0: "), "{}", stats.stderr);
    assert!(stats.stderr.contains("is not read; move it away"), "{}", stats.stderr);
    assert_eq!(stats.stdout, folder.run(["stats", "-f", "json", "expected.blg"]).stdout);
    let relogged = folder.run(["relog", "A", "-o", "again.blg"]);
    assert_eq!(relogged.status, 0, "{}", relogged.stderr);
    assert_eq!(folder.stats(&["again.blg"]), folder.stats(&["expected.blg"]));
}

#[test]
fn a_signal_ends_a_conversion_without_a_file() {
    let folder = Folder::new();
    mixed("WEB1", 0, 200_000).write(&folder.path("1.blg"));
    for (signal, status) in [("-TERM", 143), ("-HUP", 129)] {
        let mut child = folder
            .command_with_default_signals(["relog", "1.blg", "-f", "archive", "-o", "A"])
            .stderr(Stdio::null())
            .spawn()
            .expect("start command");
        // Wait until the command handles signals: SIGHUP, SIGINT and SIGTERM.
        const HANDLED: u64 = 1 | 1 << 1 | 1 << 14;
        let handled = || {
            let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
            mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or_default()
        };
        while handled() & HANDLED != HANDLED {
            std::thread::yield_now();
        }
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        assert_eq!(child.wait().expect("an end").code(), Some(status));
        assert!(!folder.path("A").exists() || files(&folder.path("A")).is_empty());
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_archive() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20_000).write(&folder.path("1.blg"));
    let relog = format!("'{}' relog 1.blg -f archive -o disk/A", env!("CARGO_BIN_EXE_tacho"));
    let Some(output) = folder.on_full_disk("32k", &relog) else { return };
    let ran = Outcome::from(output);
    ran.fails_with(1, "disk/A: cannot write: No space left on device");
}

#[test]
fn real_logs_are_equal_in_an_archive() {
    for name in ["BasicPerfCounters.blg", "SampleLog.blg"] {
        let Some(log) = corpus(name) else { return };
        let folder = Folder::new();
        assert_equal_in_archive(&folder, &[&log], "A");
    }
}

/// Compares the averages that DuckDB and pyarrow compute from an archive with those of `tacho stats` for the log. Returns how
/// many were compared, or `None` if `TACHO_ARCHIVE_PYTHON` is not set.
#[track_caller]
pub(crate) fn compare_with_engines(folder: &Folder, log: &str, archive: &str) -> Option<u64> {
    let Some(python) = std::env::var_os("TACHO_ARCHIVE_PYTHON") else {
        eprintln!("skipped: TACHO_ARCHIVE_PYTHON does not name a Python with duckdb and pyarrow");
        return None;
    };
    let stats = folder.run(["stats", "-f", "json", log]);
    assert_eq!(stats.status, 0, "{}", stats.stderr);
    folder.write("stats.json", stats.stdout);
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(crate_folder.join("tests/archive_oracle.py"))
        .args([archive, "stats.json"])
        .arg(crate_folder.join("../../docs/archive.md"))
        .current_dir(folder.path(""))
        .output()
        .expect("start the Python of TACHO_ARCHIVE_PYTHON");
    assert!(output.status.success(), "{log}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Some(text.trim().parse().expect("a number"))
}

#[test]
fn sql_gives_the_averages_of_stats() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-f", "archive", "-o", "A"]);
    let Some(compared) = compare_with_engines(&folder, "all.blg", "A") else { return };
    assert_eq!(compared, 7);
    for seed in 0..6 {
        let simulation = Simulation::new(seed);
        simulation.write(&folder.path("random.blg"), 0..simulation.len());
        let archive = format!("R{seed}");
        folder.relog(["random.blg", "-f", "archive", "-o", &archive]);
        assert!(compare_with_engines(&folder, "random.blg", &archive).is_some_and(|compared| compared > 0));
    }
    for name in ["BasicPerfCounters.blg", "SampleLog.blg"] {
        let Some(log) = corpus(name) else { return };
        folder.relog([&log, "-f", "archive", "-o", name]);
        assert!(compare_with_engines(&folder, &log, name).is_some_and(|compared| compared > 5));
    }
}

/// An archive that an earlier Tachograph wrote, and the values that it printed.
#[test]
fn archives_of_version_1_are_read() {
    let folder = Folder::new();
    let day = "A/machine=vm/date=2026-11-26";
    std::fs::create_dir_all(folder.path(day)).expect("a folder");
    let file = include_bytes!("archive_version1/103350-103351.parquet");
    folder.write(&format!("{day}/103350-103351.parquet"), file);
    folder.write("expected.json", include_bytes!("archive_version1/values.json"));
    folder.relog(["A", "-f", "json", "-o", "found.json"]);
    assert_eq!(folder.text("found.json"), folder.text("expected.json"));
    // The same as a file of the current version.
    folder.relog(["A", "-f", "archive", "-o", "B"]);
    folder.relog(["B", "-f", "json", "-o", "copied.json"]);
    assert_eq!(folder.text("copied.json"), folder.text("expected.json"));
    assert_eq!(folder.stats(&["A"]), folder.stats(&["B"]));
    let elapsed = folder.stats(&["A", "-c", r"\System\System Up Time"]);
    assert_eq!(elapsed[0]["average"].to_string(), "76479.1680684");
    compare_with_engines(&folder, "A", "B");
}

#[test]
fn one_counter_is_selected_from_an_archive() {
    let folder = Folder::new();
    mixed("WEB1", 0, 20).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-f", "archive", "-o", "A"]);
    let path = r"\PhysicalDisk(0 C:)\Avg. Disk sec/Read";
    let rows = folder.stats(&["A", "-c", path]);
    assert_eq!(rows.len(), 1);
    assert_eq!(row(&rows, &format!(r"\\WEB1{path}"))["values"], 19);
}

/// Two recordings around the end of daylight saving time. Other logs have one UTC offset for all samples.
#[test]
fn recordings_with_different_utc_offsets_become_one_log() {
    let folder = Folder::new();
    let csv = |zone: &str, minutes: [u32; 2]| {
        let row = |minute: u32| format!("\"10/25/2026 02:{minute}:00.000\",\"{minute}\"\r\n");
        format!(
            "\"(PDH-CSV 4.0) {zone}\",\"\\\\WEB1\\Memory\\Available Bytes\"\r\n{}",
            minutes.map(row).concat()
        )
    };
    let write =
        |name: &str, text: String| std::fs::write(folder.path(name), text).expect("a writable folder");
    write("1.csv", csv("(W. Europe Daylight Time)(-120)", [40, 50]));
    write("2.csv", csv("(W. Europe Standard Time)(-60)", [10, 20]));
    folder.relog(["1.csv", "-f", "archive", "-o", "A"]);
    folder.relog(["2.csv", "-f", "archive", "-a", "-o", "A"]);
    let times = |log: &str| {
        let lines = folder.prints(["relog", log, "-f", "json"]);
        let time = |line: &str| line.split('"').find(|part| part.starts_with("2026-")).map(str::to_owned);
        lines.lines().filter_map(time).collect::<Vec<_>>()
    };
    for log in ["out.blg", "SQL:out.db!x", "out.csv"] {
        folder.relog(["A", "-o", log]);
        let expected =
            ["02:40", "02:50", "03:10", "03:20"].map(|time| format!("2026-10-25T{time}:00.000+02:00"));
        assert_eq!(times(log), expected, "{log}");
        assert!(folder.prints(["check", log]).contains("intact: "));
    }
}
