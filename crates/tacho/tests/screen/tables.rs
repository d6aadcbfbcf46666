//! Tables on terminals of different widths, and the pager.

use std::sync::atomic::{AtomicUsize, Ordering};

use tachograph_counters::CounterType;
use unicode_width::UnicodeWidthStr as _;

use crate::log_fixture::{LogFixture, TICKS, counter, raw, rows};
use crate::tmux::Tmux;

/// Forty processes with a rate and a size.
fn write(tmux: &Tmux) {
    let mut log = LogFixture::new("WEB1")
        .column("Process", counter("IO Data Bytes/sec", CounterType::BULK_COUNT))
        .column("Process", counter("Working Set", CounterType::LARGE_RAWCOUNT));
    let names: Vec<_> = (0..40).map(|index| format!("worker-with-a-long-name-{index:02}")).collect();
    for second in 0..12i64 {
        let columns = [
            |index: i64, second: i64| raw(1_234_567 * index * second, second * TICKS),
            |index: i64, second: i64| raw(1_000_000_007 * index + second, 0),
        ];
        let column = |value: fn(i64, i64) -> tachograph_counters::RawValue| {
            let value = |(index, name): (usize, &String)| (name.clone(), [value(index as i64, second)]);
            let cells: Vec<_> = names.iter().enumerate().map(value).collect();
            cells.iter().flat_map(|(name, value)| rows(&[(name.as_str(), *value)])).collect()
        };
        log.at(second, columns.map(column).into());
    }
    log.write(&tmux.folder().join("web.blg"));
}

/// The screen after a command, which must succeed. The end marker has a number, because the screen can still show the
/// marker of an earlier command.
fn finished(tmux: &Tmux, arguments: &str) -> String {
    static COMMANDS: AtomicUsize = AtomicUsize::new(0);
    let number = COMMANDS.fetch_add(1, Ordering::Relaxed);
    tmux.tacho(&format!("{arguments}; echo status-$?-of-{number}."));
    tmux.shows(&format!("status-0-of-{number}."))
}

/// The lines of the screen after a command without a pager.
fn shown(tmux: &Tmux, arguments: &str) -> Vec<String> {
    finished(tmux, &format!("{arguments} --no-pager"))
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

const STATS: &str = r"stats web.blg --raw-numbers -c '\Process(*-0?)\Working Set'";

#[test]
fn statistics_fit_the_terminal() {
    for (width, headings, dropped) in [
        (60, "instance average maximum", "unit, last, minimum, p50, p95, p99, values, errors"),
        (80, "instance unit average minimum maximum", "last, p50, p95, p99, values, errors"),
        (120, "instance unit last average minimum maximum p95 values", "p50, p99, errors"),
        (200, "instance unit last average minimum maximum p50 p95 p99 values errors", ""),
    ] {
        let Some(tmux) = Tmux::start(width, 40) else { return };
        write(&tmux);
        let lines = shown(&tmux, STATS);
        assert!(lines.iter().all(|line| line.width() <= width.into()), "{lines:#?}");
        let table = lines
            .iter()
            .position(|line| line == r"\\WEB1\Process(*)\Working Set")
            .expect("the counter, once");
        let words: Vec<_> = lines[table + 1].split_whitespace().collect();
        assert_eq!(words.join(" "), headings, "{width}");
        let rows = &lines[table + 2..table + 12];
        assert!(rows.iter().all(|row| row.starts_with("worker")), "{rows:#?}");
        let note = lines.iter().find(|line| line.starts_with("No room for "));
        let expected = match dropped {
            "" => None,
            dropped => Some(format!("No room for {dropped}; --wide shows all columns.")),
        };
        // The note can have several lines.
        assert_eq!(note.is_some(), expected.is_some(), "{lines:#?}");
        assert!(expected.is_none_or(|expected| lines.join(" ").contains(&expected)), "{lines:#?}");
    }
}

#[test]
fn paths_are_shortened_and_the_sort_column_is_kept() {
    let Some(tmux) = Tmux::start(60, 40) else { return };
    write(&tmux);
    // Two rows that have nothing but the set in common.
    let paths = r"'\Process(*-01)\IO*' '\Process(*-02)\Working Set'";
    let lines = shown(&tmux, &format!("stats web.blg -c {paths} --sort p99"));
    assert!(lines.iter().all(|line| line.width() <= 60), "{lines:#?}");
    let table = lines.iter().position(|line| line == r"\\WEB1\Process").expect("the set, once");
    let words: Vec<_> = lines[table + 1].split_whitespace().collect();
    assert_eq!(words, ["counter", "average", "maximum", "p99"], "{lines:#?}");
    for (row, counter) in lines[table + 2..].iter().zip(["Bytes/sec", "Working Set"]) {
        let path = row.split("  ").next().unwrap_or_default();
        assert!(path.starts_with('(') && path.contains('…') && path.ends_with(&counter[3..]), "{row}");
    }
}

#[test]
fn rows_with_the_same_start_have_a_title() {
    let Some(tmux) = Tmux::start(80, 60) else { return };
    write(&tmux);
    let heading = "average minimum maximum values";
    let part = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    // Sorted by path: the counters of an instance.
    let lines = shown(&tmux, r"stats web.blg -c '\Process(*-0?)\*'");
    assert!(lines.iter().all(|line| line.width() <= 80), "{lines:#?}");
    let table = lines.iter().position(|line| line == r"\\WEB1").expect("the machine, once");
    assert_eq!(part(&lines[table + 1]), format!("counter last {heading}"), "{lines:#?}");
    assert_eq!(lines[table + 2], r"\Process(worker-with-a-long-name-00)");
    assert!(lines[table + 3].starts_with("  IO Data Bytes/sec  "), "{lines:#?}");
    assert!(lines[table + 4].starts_with("  Working Set  "), "{lines:#?}");
    assert_eq!(lines[table + 5], r"\Process(worker-with-a-long-name-01)");
    // Sorted by a figure: the instances of a counter.
    let lines = shown(&tmux, r"stats web.blg -c '\Process(*-0?)\*' --sort maximum");
    let table = lines.iter().position(|line| line == r"\\WEB1").expect("the machine, once");
    assert!(part(&lines[table + 1]).starts_with("instance ") && part(&lines[table + 1]).contains(heading));
    assert_eq!(lines[table + 2], r"\Process(*)\IO Data Bytes/sec");
    assert!(lines[table + 3].starts_with("  worker-with-a-long-name-09  "), "{lines:#?}");
    assert_eq!(lines[table + 13], r"\Process(*)\Working Set");
}

#[test]
fn wide_shows_everything() {
    let Some(tmux) = Tmux::start(80, 60) else { return };
    write(&tmux);
    let lines = shown(&tmux, &format!("{STATS} --wide"));
    let text = lines.concat();
    assert!(
        text.contains(r"\\WEB1\Process(worker-with-a-long-name-00)\Working Set") && text.contains("p99"),
        "{text}"
    );
    assert!(!text.contains("No room"), "{text}");
    // A file contains all columns too.
    finished(&tmux, &format!("{STATS} > out.txt"));
    let file = std::fs::read_to_string(tmux.folder().join("out.txt")).expect("the output");
    assert!(
        file.starts_with("counter")
            && file.contains(r"\\WEB1\Process(worker-with-a-long-name-00)\Working Set  ")
    );
    assert!(file.lines().next().is_some_and(|header| header.ends_with("values  errors")), "{file}");
}

#[test]
fn tables_of_instances_fit_the_terminal() {
    for width in [60, 80, 120, 200] {
        let Some(tmux) = Tmux::start(width, 40) else { return };
        let query = r"query '\Process(*)\*' --sort '% Processor Time' --top 3 -si 0.1 -sc 1 2> notices";
        let screen = finished(&tmux, query);
        let lines: Vec<_> = screen.lines().collect();
        let headings = lines.iter().position(|line| line.contains(r"\Process ")).expect("headings");
        assert!(lines[headings].contains("% Processor Time"), "{screen}");
        assert!(lines[headings..].iter().all(|line| line.width() <= width.into()), "{screen}");
        assert!(lines[headings + 4].starts_with("status-0"), "three rows of one line each: {screen}");
    }
}

/// Whether the screen shows the first and the last process.
fn ends(screen: &str) -> [bool; 2] {
    ["name-00", "name-39"].map(|name| screen.contains(name))
}

#[test]
fn long_tables_are_shown_with_less() {
    let Some(tmux) = Tmux::start(120, 20) else { return };
    if std::process::Command::new("less").arg("--version").output().is_err() {
        eprintln!("skipped: less is missing");
        return;
    }
    write(&tmux);
    tmux.enter("unset PAGER LESS");
    let all = r"stats web.blg -c '\Process(*)\Working Set'; echo status-$?";
    tmux.tacho(all);
    let first = tmux.until("the first page", |screen| {
        screen.lines().last().is_some_and(|line| line.starts_with(':')) || screen.trim_end().ends_with(':')
    });
    assert_eq!(ends(&first), [true, false], "{first}");
    // Ctrl-C is for the pager, which continues.
    tmux.keys(&["C-c"]);
    let last = tmux.until("the end", |screen| {
        let is_end = screen.contains("name-39");
        if !is_end {
            // Again, because Ctrl-C discards keys that were not read yet.
            tmux.text("G");
        }
        is_end
    });
    assert_eq!(ends(&last), [false, true], "{last}");
    tmux.text("q");
    let after = tmux.shows("status-0");
    assert!(!after.contains("tacho: "), "{after}");
    // The pager can be closed before the end.
    tmux.tacho("list -v; echo list-$?");
    tmux.until("the first page", |screen| screen.trim_end().ends_with(':'));
    tmux.text("q");
    let after = tmux.shows("list-0");
    assert!(!after.contains("tacho: "), "{after}");
    // Short output is shown without a pager.
    finished(&tmux, r"list '\Memory\Available Bytes'");
}

#[test]
fn the_pager_can_be_replaced_or_turned_off() {
    let Some(tmux) = Tmux::start(120, 20) else { return };
    write(&tmux);
    let all = r"stats web.blg -c '\Process(*)\Working Set'";
    tmux.enter("export PAGER='sed s/^/paged:/'");
    assert!(finished(&tmux, all).contains("paged:worker-with-a-long-name-39"));
    assert!(!finished(&tmux, &format!("{all} --no-pager")).contains("paged:"));
    assert!(!finished(&tmux, &format!("{all} | tail -n 3")).contains("paged:"));
    for pager in ["''", "cat", "/no/such/pager"] {
        tmux.enter(&format!("export PAGER={pager}"));
        let screen = finished(&tmux, all);
        assert_eq!(ends(&screen), [false, true], "{pager}: {screen}");
        assert!(!screen.contains("tacho: "), "{screen}");
    }
    // Output that fits on the screen does not start the pager.
    tmux.enter("export PAGER='sed s/^/paged:/'");
    assert!(!finished(&tmux, STATS).contains("paged:"));
}
