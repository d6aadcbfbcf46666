//! Instance names that belong to different processes over time, as `ID Process` shows.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, TICKS, counter, one, raw, rows};
use crate::run::{Folder, Outcome, row};

/// Two processes with the same name; the first ends after 10:00:02, and the second is renumbered.
///
/// Processor time of process 100: 0, 1, 2 s; of process 200: 10, 10.5, 11, 11.5, 12 s.
fn renumbered() -> Folder {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .column("Process", counter("ID Process", CounterType::RAWCOUNT))
        .column("Process", counter("% Processor Time", CounterType::TIMER_100NS));
    let time = |second: i64, tenths: i64| [raw(tenths * TICKS / 10, second * TICKS)];
    for second in 0..5 {
        let of_100 = time(second, 10 * second);
        let of_200 = time(second, 100 + 5 * second);
        if second < 3 {
            log.at(
                second,
                vec![
                    rows(&[("svchost", [raw(100, 0)]), ("svchost#1", [raw(200, 0)])]),
                    rows(&[("svchost", of_100), ("svchost#1", of_200)]),
                ],
            );
        } else {
            log.at(second, vec![rows(&[("svchost", [raw(200, 0)])]), rows(&[("svchost", of_200)])]);
        }
    }
    log.write(&folder.path("in.blg"));
    folder
}

const NOTICE: &str = "tacho: 1 time an instance name passed to another process (ID Process changed); no interval spans the change\n";

#[test]
fn statistics_do_not_pair_different_processes() {
    let folder = renumbered();
    let ran = folder.run(["stats", "in.blg", "-f", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, NOTICE));
    let all: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).expect("JSON");
    let first = row(&all, r"\Process(svchost)\% Processor Time");
    // There are two intervals of process 100 at 100 % and one of process 200 at 50 %, but none from 2 s to 11.5 s.
    let figures = ["values", "errors", "minimum", "maximum"].map(|key| first[key].to_string());
    assert_eq!(figures, ["3", "0", "50", "100"]);
    // 2.5 seconds of processor time in 3 seconds.
    let average = first["average"].as_f64().expect("a number");
    assert!((average - 250.0 / 3.0).abs() < 1e-12, "{average}");
    let second = row(&all, r"\Process(svchost#1)\% Processor Time");
    assert_eq!((&second["values"], &second["average"]), (&2.into(), &50.into()));
}

#[test]
fn identities_are_used_even_if_not_selected() {
    let folder = renumbered();
    let ran = folder.run(["stats", "in.blg", "-f", "csv", "-c", r"\Process(svchost)\% Processor Time"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, NOTICE));
    assert_eq!(ran.stdout.lines().nth(1).expect("a row").split(',').nth(10), Some("3"));
}

#[test]
fn text_of_windows_logs_keeps_windows_pairing() {
    let folder = renumbered();
    let cells = || -> Vec<String> {
        let text = folder.prints(["relog", "in.blg", "-o", "-", "-c", r"\Process(svchost)\% Processor Time"]);
        text.lines().skip(1).map(|line| line.rsplit(',').next().expect("a cell").to_owned()).collect()
    };
    assert_eq!(cells(), [r#"" ""#, r#""100""#, r#""100""#, r#"" ""#, r#""50""#]);
    // Windows writes the clock of the processor.
    const CPU_MHZ: usize = 0x48 + 0x20 + 0x34;
    let mut bytes = std::fs::read(folder.path("in.blg")).expect("a log");
    bytes[CPU_MHZ] = 1;
    std::fs::write(folder.path("in.blg"), bytes).expect("written");
    assert_eq!(cells(), [r#"" ""#, r#""100""#, r#""100""#, r#""950""#, r#""50""#]);
    let json = folder.prints(["relog", "in.blg", "-f", "json", "-c", r"\Process(svchost)\% Processor Time"]);
    assert!(!json.contains("950"), "{json}");
}

#[test]
fn no_notice_is_printed_without_renumbering() {
    let folder = renumbered();
    let ran = folder.run(["stats", "in.blg", "-e", "2024-03-05T10:00:03"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    folder.relog(["in.blg", "-b", "2024-03-05T10:00:03", "-o", "2.blg"]);
    // The baseline of the cut log belongs to another process.
    assert_eq!(
        folder.run(["stats", "2.blg"]),
        Outcome { stderr: NOTICE.into(), ..folder.run(["stats", "2.blg"]) }
    );
    // There is also no notice if the name is not selected.
    assert_eq!(folder.run(["stats", "in.blg", "-c", r"\Process(svchost#1)\*"]).stderr, "");
    let rows = folder.stats(&["2.blg"]);
    assert_eq!(row(&rows, r"\Process(svchost)\% Processor Time")["values"], 1);
}

#[test]
fn the_notice_appears_only_for_selected_intervals() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
        .value("Memory", counter("Pages/sec", CounterType::COUNTER_COUNTER))
        .column("Process", counter("ID Process", CounterType::RAWCOUNT))
        .column("Process", counter("Thread Count", CounterType::RAWCOUNT))
        .column("Process", counter("% Processor Time", CounterType::TIMER_100NS));
    for second in 0..4 {
        let id = if second < 2 { 100 } else { 200 };
        let time = raw(second * TICKS, second * TICKS);
        log.at(
            second,
            vec![
                one(raw(5, 0)),
                one(time),
                rows(&[("svchost", [raw(id, 0)])]),
                rows(&[("svchost", [raw(7, 0)])]),
                rows(&[("svchost", [time])]),
            ],
        );
    }
    log.write(&folder.path("in.blg"));
    for (paths, notice) in [
        (&[r"\Memory\*"][..], ""),
        (&[r"\Process(*)\Thread Count", r"\Memory\*"], ""),
        (&[r"\Process(*)\ID Process"], ""),
        (&[r"\Process(other)\*", r"\Process(*)\Thread Count"], ""),
        (&[r"\Process(*)\*"], NOTICE),
        (&[r"\Memory\*", r"\Process(svchost)\% Processor Time"], NOTICE),
    ] {
        let ran = folder.run([&["stats", "in.blg", "-f", "csv", "-c"], paths].concat());
        let notices: String = ran
            .stderr
            .split_inclusive('\n')
            .filter(|line| line.contains("an instance name passed"))
            .collect();
        assert_eq!(notices, notice, "{paths:?}");
    }
    assert_eq!(folder.run(["stats", "in.blg"]).stderr, NOTICE);
    // This also holds if a new log was started between the two processes.
    let cut = "2024-03-05T10:00:02";
    folder.relog(["in.blg", "-e", cut, "-o", "1.blg"]);
    for (begin, notice) in [(cut, NOTICE), ("2024-03-05T10:00:03", NOTICE)] {
        folder.relog(["in.blg", "-b", begin, "-y", "-o", "2.blg"]);
        assert_eq!(folder.run(["stats", "1.blg", "2.blg"]).stderr, notice, "{begin}");
    }
}

/// The columns of `\Thread(*)\*` have both `ID Thread` and `ID Process`.
#[test]
fn threads_are_identified_by_their_thread_id() {
    let folder = Folder::new();
    for is_thread_first in [true, false] {
        let counters = ["ID Thread", "ID Process"].map(|name| counter(name, CounterType::RAWCOUNT));
        let mut columns = Vec::from(counters);
        let mut log = LogFixture::new("WEB1");
        if !is_thread_first {
            columns.reverse();
        }
        for column in columns {
            log = log.column("Thread", column);
        }
        log = log.column("Thread", counter("% Processor Time", CounterType::TIMER_100NS));
        for second in 0..5 {
            // The second thread ends, and another of the same process gets its name.
            let second_thread = if second < 3 { 101 } else { 102 };
            let threads = rows(&[("python/0", [raw(100, 0)]), ("python/1", [raw(second_thread, 0)])]);
            let processes = rows(&[("python/0", [raw(100, 0)]), ("python/1", [raw(100, 0)])]);
            let time = raw(second * TICKS / 2, second * TICKS);
            let times = rows(&[("python/0", [time]), ("python/1", [time])]);
            let ids = if is_thread_first { [threads, processes] } else { [processes, threads] };
            log.at(second, ids.into_iter().chain([times]).collect());
        }
        let name = format!("{is_thread_first}.blg");
        log.write(&folder.path(&name));
        assert_eq!(folder.run(["stats", &name, "-e", "2024-03-05T10:00:02"]).stderr, "");
        assert_eq!(folder.run(["stats", &name, "-c", r"\Thread(*)\% Processor Time"]).stderr, NOTICE);
        assert_eq!(folder.run(["stats", &name, "-c", r"\Thread(*)\ID Process"]).stderr, "");
        let rows = folder.stats(&[&name]);
        assert_eq!(row(&rows, r"\Thread(python/0)\% Processor Time")["values"], 4);
        assert_eq!(row(&rows, r"\Thread(python/1)\% Processor Time")["values"], 3);
    }
}

#[test]
fn identities_in_another_language_are_unknown() {
    let folder = Folder::new();
    let mut log = LogFixture::new("HALLE")
        .column("Prozess", counter("Prozesskennung", CounterType::RAWCOUNT))
        .column("Prozess", counter("Threadanzahl", CounterType::RAWCOUNT));
    for second in 0..4 {
        let id = if second < 2 { 100 } else { 200 };
        log.at(second, vec![rows(&[("svchost", [raw(id, 0)])]), rows(&[("svchost", [raw(5, 0)])])]);
    }
    log.write(&folder.path("in.blg"));
    assert_eq!(folder.run(["stats", "in.blg"]).stderr, "");
}

/// Relogs a selection of the renumbered log to a BLG.
fn selected(folder: &Folder, path: &str, options: &[&str]) -> Outcome {
    folder.run([&["relog", "in.blg", "-o", "out.blg", "-c", path], options].concat())
}

#[test]
fn relog_keeps_the_identities_of_selected_processes() {
    let folder = renumbered();
    let path = r"\Process(svchost)\% Processor Time";
    let ran = selected(&folder, path, &[]);
    let notice = "tacho: out.blg: also contains \\Process(*)\\ID Process, which distinguish processes with the same \
                name\ntacho: out.blg: 5 samples written\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (0, notice));
    let paths = folder.prints(["list", "out.blg", "-qx"]);
    let expected = [r"\\WEB1\Process(svchost)\ID Process", r"\\WEB1\Process(svchost)\% Processor Time"];
    assert_eq!(paths.lines().collect::<Vec<_>>(), expected);
    // The statistics equal those of the input.
    let written = folder.run(["stats", "out.blg", "-f", "json", "-c", path]);
    assert_eq!(written, folder.run(["stats", "in.blg", "-f", "json", "-c", path]));
    assert_eq!(written.stderr, NOTICE);
    // This also holds for every second sample.
    assert_eq!(selected(&folder, path, &["-y", "-t", "2"]).status, 0);
    let rows = folder.stats(&["out.blg"]);
    assert_eq!(row(&rows, path)["maximum"], 100);
}

#[test]
fn identities_are_only_added_to_process_counters_of_a_blg() {
    let folder = renumbered();
    let written = "tacho: out.blg: 5 samples written\n";
    assert_eq!(selected(&folder, r"\Process(*)\*", &[]).stderr, written);
    // An instance name that does not exist selects no process counter.
    let ran = folder.run(["relog", "in.blg", "-o", "none.blg", "-c", r"\Process(*)\Handle Count"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    // Text logs have formatted values.
    let ran = folder.run(["relog", "in.blg", "-o", "out.csv", "-c", r"\Process(*)\% Processor Time"]);
    assert_eq!(ran.stderr, "tacho: out.csv: 5 samples written\n");
    assert!(!folder.prints(["list", "out.csv", "-qx"]).contains("ID Process"));
}

#[test]
fn appending_adds_identities_only_if_the_log_has_them() {
    let folder = renumbered();
    let path = r"\Process(*)\% Processor Time";
    for (name, counters) in
        [("with.blg", &["ID Process", "% Processor Time"][..]), ("without.blg", &["% Processor Time"])]
    {
        let mut log = LogFixture::new("WEB1");
        for counter_name in counters {
            let is_identity = *counter_name == "ID Process";
            let counter_type = if is_identity { CounterType::RAWCOUNT } else { CounterType::TIMER_100NS };
            log = log.column("Process", counter(counter_name, counter_type));
        }
        let value = || rows(&[("svchost", [raw(1, 1)])]);
        log.at(-10, counters.iter().map(|_| value()).collect());
        log.write(&folder.path(name));
        let ran = folder.run(["relog", "in.blg", "-c", path, "-a", "-o", name]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("also contains"), counters.len() == 2, "{}", ran.stderr);
    }
}
