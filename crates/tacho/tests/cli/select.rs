//! `-c`: counter paths with wildcards, and messages about those that match nothing.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, counter, mixed, one, raw, rows};
use crate::run::Folder;

/// Processes with equal names, threads with parents, and a set without instances.
fn processes() -> Folder {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .column("Process", counter("Thread Count", CounterType::RAWCOUNT))
        .column("Process", counter("Handle Count", CounterType::RAWCOUNT))
        .column("Thread", counter("Priority Current", CounterType::RAWCOUNT))
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
        .value_of("Processor", "_Total", counter("Interrupts", CounterType::RAWCOUNT));
    let named = |names: &[&str]| {
        let numbered = names.iter().enumerate();
        numbered.map(|(index, name)| ((*name).to_owned(), vec![raw(index as i64, 0)])).collect::<Vec<_>>()
    };
    let processes = ["svchost", "explorer", "svchost#1", "svchost#2", "_Total"];
    log.at(
        0,
        vec![
            named(&processes),
            named(&processes),
            named(&["explorer/0", "explorer/1", "svchost/0"]),
            one(raw(5, 0)),
            one(raw(6, 0)),
        ],
    );
    log.write(&folder.path("in.blg"));
    folder
}

/// The selected paths, without the machine.
fn selected(folder: &Folder, paths: &[&str]) -> Vec<String> {
    let mut arguments = vec!["in.blg"];
    for path in paths {
        arguments.extend(["-c", path]);
    }
    let rows = folder.stats(&arguments);
    rows.iter().map(|row| row["path"].as_str().expect("a path").replace(r"\\WEB1", "")).collect()
}

#[test]
fn wildcards_select_paths() {
    let folder = processes();
    for (path, expected) in [
        (r"\Process(svchost)\Thread Count", &[r"\Process(svchost)\Thread Count"][..]),
        (r"\process(SVCHOST#1)\thread count", &[r"\Process(svchost#1)\Thread Count"]),
        (
            r"\Process(svchost#*)\Thread*",
            &[
                r"\Process(svchost#1)\Thread Count",
                r"\Process(svchost#2)\Thread Count",
                r"\Process(svchost)\Thread Count",
            ],
        ),
        (r"\Process(e*)\*", &[r"\Process(explorer)\Handle Count", r"\Process(explorer)\Thread Count"]),
        (
            r"\Thread(explorer/*)\*",
            &[r"\Thread(explorer/0)\Priority Current", r"\Thread(explorer/1)\Priority Current"],
        ),
        (
            r"\Thread(*/0)\*",
            &[r"\Thread(explorer/0)\Priority Current", r"\Thread(svchost/0)\Priority Current"],
        ),
        (r"\Mem???\*", &[r"\Memory\Available Bytes"]),
        (r"\\web1\Memory\*", &[r"\Memory\Available Bytes"]),
        ("/Memory/Available Bytes", &[r"\Memory\Available Bytes"]),
        ("//WEB1/Process(explorer)/Handle Count", &[r"\Process(explorer)\Handle Count"]),
        (r"/Process(explorer)\Handle Count", &[r"\Process(explorer)\Handle Count"]),
        (r"/Thread(explorer/1)\*", &[r"\Thread(explorer/1)\Priority Current"]),
        (r"//web1\Memory\Available Bytes", &[r"\Memory\Available Bytes"]),
        (
            r"\*(_Total)\*",
            &[
                r"\Process(_Total)\Handle Count",
                r"\Process(_Total)\Thread Count",
                r"\Processor(_Total)\Interrupts",
            ],
        ),
    ] {
        assert_eq!(selected(&folder, &[path]), expected, "{path}");
    }
    assert_eq!(selected(&folder, &[r"\*(*)\*", r"\*\*"]).len(), 15);
}

#[test]
fn several_paths_are_accepted_in_every_form() {
    let folder = processes();
    let (memory, total) = (r"\Memory\*", r"\Process(_Total)\Handle Count");
    let expected = folder.stats(&["in.blg", "-c", memory, "-c", total]);
    assert_eq!(expected.len(), 2);
    for arguments in [
        &["in.blg", "-c", memory, total][..],
        &["-c", memory, total, "--", "in.blg"],
        &["-c", memory, total, "in.blg"],
        &["--counter", memory, "-c", total, "in.blg"],
        &["in.blg", "-c", memory, total, memory],
    ] {
        assert_eq!(folder.stats(arguments), expected, "{arguments:?}");
    }
    folder
        .run(["stats", "-c", memory, total])
        .fails_with(2, "no log: name one before -c, as in 'tacho stats FILE -c PATH'");
    folder
        .run(["stats", "-c", memory, "none.blg"])
        .fails_with(1, "none.blg: cannot read: No such file or directory");
}

#[test]
fn counters_of_one_set_can_select_different_instances() {
    let folder = processes();
    let paths = selected(&folder, &[r"\Process(explorer)\Handle Count", r"\Process(*)\Thread Count"]);
    assert_eq!(paths.len(), 6);
    assert_eq!(paths.iter().filter(|path| path.ends_with("Handle Count")).count(), 1);
}

#[test]
fn unknown_paths_get_suggestions() {
    let folder = processes();
    for (path, advice) in [
        (r"\Proces(svchost)\Thread Count", "did you mean the counter set 'Process'?"),
        (r"\Process(svchost)\Thraed Count", "did you mean the counter 'Thread Count'?"),
        (r"\Process(svchost)\Thr Cou", "did you mean the counter 'Thread Count'?"),
        (r"\Process(svchost)\% Bogus", "'Process' has no counter '% Bogus'"),
        (r"\Process(svchos)\Thread Count", "did you mean the instance 'svchost'?"),
        (r"\Process(sqlservr)\Thread Count", "'Process' has no instance 'sqlservr'"),
        (r"\Process(sql*)\Thread Count", "'Process' has no instance 'sql*'"),
        (r"\Processor(_Totl)\Interrupts", "did you mean the instance '_Total'?"),
        (
            r"\Process\Thread Count",
            r"'Process' has instances: write '\Process(*)\Thread Count' for all of them",
        ),
        (r"\Memory(*)\Available Bytes", r"'Memory' has no instances: write '\Memory\Available Bytes'"),
        (r"\\WEB2\Memory\Available Bytes", r"there are counters of '\\WEB1'"),
    ] {
        let line = format!("'{path}' is not in the log: {advice}");
        folder.run(["stats", "in.blg", "-c", path]).fails_with(2, &line);
        folder.run(["relog", "in.blg", "-o", "-", "-c", path]).fails_with(2, &line);
        folder.run(["relog", "in.blg", "-o", "out.blg", "-c", path]).fails_with(2, &line);
    }
    folder
        .run(["stats", "in.blg", "-c", r"\Something Else\*"])
        .fails_with(2, r"'\Something Else\*' is not in the log; 'tacho list FILE' lists its counters");
    assert_eq!(folder.names(), ["in.blg"]);
}

#[test]
fn a_path_that_matches_nothing_is_reported_if_others_match() {
    let folder = processes();
    let ran =
        folder.run(["stats", "in.blg", "-f", "csv", "-c", r"\Memory\*", r"\Process(svchos)\Thread Count"]);
    assert_eq!(ran.status, 0);
    assert_eq!(
        ran.stderr,
        "tacho: '\\Process(svchos)\\Thread Count' is not in the log: did you mean the instance 'svchost'?\n"
    );
    assert_eq!(ran.stdout.lines().count(), 2);
}

#[test]
fn unquoted_paths_are_reported_with_quotes() {
    let folder = processes();
    let unquoted = folder.run(["stats", "in.blg", "-c", "Process(svchost)Thread Count"]);
    let broken = folder.run(["stats", "in.blg", "-c", r"\Process(svchost\Thread Count"]);
    let stray = folder.run(["stats", "in.blg", "-c", r"Process(svchost)\Thread Count"]);
    for ran in [unquoted, broken, stray] {
        assert_eq!(
            (ran.status, ran.stdout.as_str(), ran.stderr.lines().count()),
            (2, "", 1),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.starts_with("tacho: -c '"), "{}", ran.stderr);
        assert!(ran.stderr.ends_with("quote it: '\\Process(svchost)\\Thread Count'\n"), "{}", ran.stderr);
    }
    folder.run(["stats", "in.blg", "-c", r"Memory"]).fails_with(
        2,
        r"-c 'Memory': a counter path begins with '\'; a shell removes the backslashes of unquoted text; quote it: '\Set(Instance)\Counter'",
    );
}

#[test]
fn german_block_records_match_english_names() {
    let folder = Folder::new();
    let mut log = LogFixture::new("HALLE").table(
        ("Prozessor", 238),
        [
            (counter("Prozessorzeit (%)", CounterType::TIMER_INV_100NS), 6),
            (counter("Größe für Übertragungen", CounterType::RAWCOUNT), 148),
        ],
    );
    for second in 0..3 {
        let values = [raw(second * 2_500_000, second * 10_000_000), raw(second, 0)];
        log.at(second, vec![rows(&[("0", values), ("_Total", values)])]);
    }
    log.write(&folder.path("in.blg"));
    let german = folder.stats(&["in.blg", "-c", r"\Prozessor(_Total)\Prozessorzeit (%)"]);
    assert_eq!((german.len(), &german[0]["average"]), (1, &75.into()));
    for path in [
        r"\Processor(_Total)\% Processor Time",
        r"\Prozessor(_Total)\% Processor Time",
        r"\PROCESSOR(_total)\prozessorzeit (%)",
    ] {
        assert_eq!(folder.stats(&["in.blg", "-c", path]), german, "{path}");
    }
    assert_eq!(german[0]["path"], r"\\HALLE\Prozessor(_Total)\Prozessorzeit (%)");
    assert_eq!(folder.stats(&["in.blg", "-c", r"\Prozessor(0)\größe FÜR übertragungen"]).len(), 1);
    folder
        .run(["stats", "in.blg", "-c", r"\Procesor(*)\*"])
        .fails_with(2, r"'\Procesor(*)\*' is not in the log: did you mean the counter set 'Processor'?");
    folder.run(["stats", "in.blg", "-c", r"\Processor(*)\% Procesor Time"]).fails_with(
        2,
        r"'\Processor(*)\% Procesor Time' is not in the log: did you mean the counter '% Processor Time'?",
    );
    // A column that is selected by its English name keeps its German name.
    let text = folder.prints(["relog", "in.blg", "-o", "-", "-c", r"\Processor(0)\% Processor Time"]);
    assert!(text.starts_with(
        "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\"\\\\HALLE\\Prozessor(0)\\Prozessorzeit (%)\"\r\n"
    ));
    folder.relog(["in.blg", "-o", "in.csv"]);
    assert_eq!(folder.stats(&["in.csv", "-c", r"\*(0)\Größe*"])[0]["last"], 2);
}

#[test]
fn counters_of_a_text_log_are_selected() {
    let folder = Folder::new();
    mixed("WEB1", 0, 4).write(&folder.path("in.blg"));
    folder.relog(["in.blg", "-o", "in.csv"]);
    let rows = folder.stats(&["in.csv", "-c", r"\Processor(*)\*"]);
    assert_eq!(rows.len(), 3);
    let text = folder.prints(["relog", "in.csv", "-c", r"\Processor(1)\*", "-o", "-"]);
    assert_eq!(text.lines().next().expect("a line").matches(r"\\WEB1").count(), 1);
}

#[test]
fn a_set_whose_name_ends_in_parentheses_is_selected_by_its_printed_path() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .value("Cache (L2)", counter("Hits", CounterType::RAWCOUNT))
        .value("Cache ", counter("Hits", CounterType::RAWCOUNT));
    log.at(0, vec![one(raw(1, 0)), one(raw(2, 0))]).at(1, vec![one(raw(3, 0)), one(raw(4, 0))]);
    log.write(&folder.path("in.blg"));
    for printed in folder.stats(&["in.blg"]) {
        let path = printed["path"].as_str().expect("a path");
        assert_eq!(folder.stats(&["in.blg", "-c", path]), std::slice::from_ref(&printed), "{path}");
    }
}
