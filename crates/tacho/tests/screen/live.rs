//! `tacho monitor` of this machine.

use tachograph_publish::{CounterSet, Gauge, Publisher};

use crate::run::{Folder, row};
use crate::tmux::{Tmux, line_with};

/// Whether the screen has Braille characters, which draw lines.
pub(crate) fn has_line(screen: &str) -> bool {
    screen.contains(|character| ('\u{2801}'..='\u{28ff}').contains(&character))
}

#[test]
fn basic_keys_have_their_effect() {
    let Some(tmux) = Tmux::start(80, 24) else { return };
    tmux.tacho(r"monitor '\Memory\Available Bytes' -si 0.2");
    tmux.until("a line", has_line);
    // Adds counters by searching the tree.
    tmux.text("/processor information % processor");
    tmux.shows("Processor Information");
    tmux.keys(&["Enter"]);
    tmux.shows("Space: mark");
    tmux.keys(&["Enter"]);
    tmux.shows("_Total");
    tmux.shows("every 0.2 s");
    // Sorts by the name of the counter, in descending order.
    tmux.text("sssssss");
    tmux.shows("sorted by Maximum");
    tmux.text("s");
    tmux.shows("sorted by Counter");
    tmux.text("o");
    let screen = tmux.shows("Counter▾");
    let rows: Vec<_> = screen.lines().skip_while(|line| !line.contains("Counter▾")).collect();
    assert!(rows[1].contains("Available B"), "{screen}");
    // Selects a counter, and hides its line.
    tmux.keys(&["Home"]);
    tmux.until("selected", |screen| screen.contains("▸✓"));
    tmux.text("x");
    tmux.until("hidden", |screen| screen.lines().any(|line| line.starts_with("▸  ━")));
    tmux.text("x");
    // Freezes and continues.
    tmux.text("f");
    let frozen = tmux.shows("FROZEN");
    let header = |screen: &str| screen.lines().next().unwrap_or_default().to_owned();
    tmux.text("f");
    tmux.until("moving", |screen| header(screen) != header(&frozen) && !screen.contains("FROZEN"));
    // The list of keys, and the other views.
    tmux.text("?");
    tmux.shows("select a counter");
    tmux.keys(&["Escape"]);
    tmux.hides("select a counter");
    tmux.text("g");
    tmux.shows("█");
    tmux.text("g");
    tmux.shows("  Memory");
    tmux.text("g");
    // The table of the set, all of whose instances were added.
    tmux.shows("% Processor Time▾");
    tmux.text("g");
    tmux.until("a line again", has_line);
    // Changes the interval.
    tmux.text("i0.1");
    tmux.keys(&["Enter"]);
    tmux.shows("every 0.1 s");
}

#[test]
fn a_process_is_found_in_the_table_and_added_to_the_chart() {
    let Some(tmux) = Tmux::start(120, 40) else { return };
    tmux.tacho(r"monitor '\Memory\Available Bytes' -si 0.2");
    tmux.until("a line", has_line);
    tmux.text("4");
    tmux.shows("_Total");
    let id = tmux.tacho_id();
    tmux.text(&format!("/{id}"));
    // The mark of the selected row can be directly before the id.
    let cell = format!("{id} ");
    tmux.until("its row", |screen| screen.lines().any(|line| line.contains(&cell) && line.contains("tacho")));
    tmux.keys(&["Enter", "Enter"]);
    // Properties, and counters that are not columns.
    tmux.shows("OOM score");
    tmux.shows("Handle Count");
    tmux.keys(&["Escape"]);
    tmux.hides("Handle Count");
    tmux.text("a");
    tmux.shows("is on the chart");
    tmux.text("1");
    let screen = tmux.until("a line again", has_line);
    assert!(line_with(&screen, "% Processor").contains("tacho"), "{screen}");
}

#[test]
fn a_frozen_chart_does_not_change() {
    let Some(tmux) = Tmux::start(140, 30) else { return };
    let ids = r"\Processor Information(*)\% Idle Time";
    tmux.tacho(&format!(r"monitor '{ids}' '\Memory\Available Bytes' -si 0.2 --points 20"));
    // A recording counts the samples.
    tmux.text("rf.blg");
    tmux.keys(&["Enter"]);
    tmux.until("ten samples", |screen| samples(screen) >= 10);
    tmux.text("f");
    let now = samples(&tmux.shows("FROZEN"));
    let frozen = tmux.until("another sample", |screen| samples(screen) > now);
    // Nothing changes, not even the time, while more samples arrive than the monitor keeps (20).
    let later = tmux.until("many more samples", |screen| samples(screen) >= now + 30);
    assert_eq!(picture(&later), picture(&frozen));
    // Steps back by more than a second, and forward again.
    tmux.text(",,,,,,");
    let stepped = tmux.until("another time", |screen| time(screen) != time(&frozen));
    assert!(stepped.contains("FROZEN"), "{stepped}");
    tmux.until("six samples further back", |screen| picture(screen).1 != picture(&frozen).1);
    tmux.text("......");
    tmux.until("the same picture again", |screen| picture(screen) == picture(&frozen));
    // Removing a counter does not affect others, although the sampled paths change.
    tmux.keys(&["End"]);
    tmux.until("Available Bytes is selected", |screen| screen.contains("\\Memory\\Available Bytes"));
    tmux.text("d");
    let left = tmux.hides("Available B");
    assert_eq!(rows(&left), &rows(&frozen)[..rows(&frozen).len() - 1], "{left}\nof\n{frozen}");
    tmux.keys(&["Home"]);
    tmux.text("d");
    let less = tmux.until("one row less", |screen| rows(screen).len() < rows(&left).len());
    assert!(has_line(&less), "{less}");
    assert_eq!(rows(&less), &rows(&left)[1..], "{less}\nof\n{left}");
    tmux.text("q");
    tmux.hides("every 0.2 s");
}

#[test]
fn keys_after_a_step_are_handled() {
    let Some(tmux) = Tmux::start(80, 24) else { return };
    for (index, keys) in [".q", "..q", ".\u{3}"].into_iter().enumerate() {
        tmux.tacho(&format!(r"monitor '\Memory\Available Bytes' -si 60; echo ended-$?-{index}"));
        tmux.shows("every 60 s");
        tmux.text("f");
        tmux.shows("FROZEN");
        tmux.text(keys);
        tmux.shows(&format!("ended-0-{index}"));
    }
}

/// The words of the rows of the legend, without the selection mark. Column widths depend on all rows.
fn rows(screen: &str) -> Vec<String> {
    let rows = screen.lines().skip_while(|line| !line.contains("Counter")).filter(|line| line.contains('✓'));
    rows.map(|line| line.trim_start_matches('▸').split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The time at the end of the first line.
fn time(screen: &str) -> String {
    let line = screen.lines().next().unwrap_or_default();
    line.split_whitespace().next_back().unwrap_or_default().to_owned()
}

/// The time, and all lines except the first and the last.
fn picture(screen: &str) -> (String, Vec<String>) {
    let lines: Vec<_> = screen.lines().skip(1).map(str::to_owned).collect();
    let kept = lines.len().saturating_sub(1);
    (time(screen), lines.into_iter().take(kept).collect())
}

/// The number of samples in the displayed recording.
pub(crate) fn samples(screen: &str) -> u64 {
    let line = screen.lines().next().unwrap_or_default();
    let number = line.split(".blg ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The counters of a program.
#[derive(CounterSet)]
#[counter_set(name = "Tacho Screen Shop")]
struct Shop {
    /// Orders that are not paid yet.
    #[counter(name = "Open Orders")]
    open: Gauge,
}

#[test]
fn a_recording_continues_when_the_recorded_program_ends() {
    let Some(tmux) = Tmux::start(100, 30) else { return };
    let start = |open| {
        let shop = Publisher::new().folder(tmux.folder().join("run")).start::<Shop>().expect("the set");
        shop.open.set(open);
        shop
    };
    let shop = start(42);
    tmux.enter("export TACHO_RUNTIME_DIR=run");
    tmux.tacho(r"monitor --raw-numbers '\Memory\Available Bytes' '\Tacho Screen Shop\Open Orders' -si 0.1 --points 10");
    tmux.shows("Open Orders");
    tmux.text("rshop.blg");
    tmux.keys(&["Enter"]);
    tmux.until("five samples", |screen| samples(screen) >= 5);
    drop(shop);
    // Waits longer than the detection of a removed set takes.
    let removed = samples(&tmux.hides("Open Orders"));
    tmux.until("forty more samples", |screen| samples(screen) >= removed + 40);
    let shop = start(77);
    let back = samples(&tmux.shows(" 77.000"));
    tmux.until("five more samples", |screen| samples(screen) >= back + 5);
    drop(shop);
    tmux.text("q");
    tmux.hides("every 0.1 s");
    let rows = Folder::new().stats(&[&tmux.folder().join("shop.blg").display().to_string()]);
    let orders = row(&rows, r"\Open Orders");
    assert_eq!((&orders["minimum"], &orders["maximum"]), (&42.into(), &77.into()), "{orders:#?}");
    assert!(row(&rows, r"\Memory\Available Bytes")["values"].as_u64() >= Some(back), "{rows:#?}");
}

#[test]
fn a_recording_and_a_view_have_the_shown_counters() {
    let Some(tmux) = Tmux::start(100, 30) else { return };
    tmux.tacho(r"monitor '\Processor Information(*)\% Processor Time' '\Memory\Available Bytes' -si 0.1");
    tmux.shows("Available Bytes");
    tmux.text("rshown.blg");
    tmux.keys(&["Enter"]);
    tmux.shows("shown.blg");
    tmux.until("ten samples", |screen| samples(screen) >= 10);
    // Counters added or removed later are not added to or removed from the log.
    tmux.text(r"/\System\Processes");
    tmux.keys(&["Enter"]);
    tmux.shows("Processes ");
    tmux.until("selected", |screen| screen.contains("▸✓"));
    tmux.keys(&["End"]);
    tmux.keys(&["Up"]);
    tmux.until("Available Bytes is selected", |screen| {
        screen.lines().any(|line| line.starts_with(r"\") && line.ends_with(r"\Memory\Available Bytes"))
    });
    tmux.text("d");
    tmux.hides("Available Bytes");
    tmux.until("thirty samples", |screen| samples(screen) >= 30);
    tmux.text("r");
    tmux.shows("samples recorded");
    tmux.text("rshown.blg");
    tmux.keys(&["Enter"]);
    tmux.shows("shown.blg exists. Overwrite it?");
    tmux.text("n");
    tmux.hides("Overwrite");
    tmux.text("h");
    tmux.text("Ssaved.toml");
    tmux.keys(&["Enter"]);
    tmux.shows("view saved to saved.toml");
    tmux.text("q");
    tmux.hides("every 0.1 s");

    let here = tmux.folder().display().to_string();
    let folder = Folder::new();
    let checked = folder.run(["check", &format!("{here}/shown.blg")]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let rows = folder.stats(&[&format!("{here}/shown.blg")]);
    let values = |path| row(&rows, path)["values"].as_u64().expect("a number");
    assert!(values(r"\Memory\Available Bytes") >= 30, "{rows:#?}");
    assert!(rows.iter().all(|row| row["set"] != "System"), "{rows:#?}");

    // Opens and records the saved view.
    let view = std::fs::read_to_string(tmux.folder().join("saved.toml")).expect("the view");
    assert!(view.contains("interval = 0.1") && view.contains("highlighted = true"), "{view}");
    tmux.tacho("monitor --view saved.toml");
    let screen = tmux.shows("every 0.1 s");
    assert!(screen.contains("range "), "{screen}");
    tmux.shows("Processes ");
    tmux.text("Sagain.toml");
    tmux.keys(&["Enter"]);
    tmux.shows("view saved to again.toml");
    let again = std::fs::read_to_string(tmux.folder().join("again.toml")).expect("the view");
    assert_eq!(again, view);
    tmux.text("q");
    tmux.hides("every 0.1 s");
    let log = format!("{here}/recorded.blg");
    let recorded = folder.run(["record", "--view", &format!("{here}/saved.toml"), "-sc", "3", "-o", &log]);
    assert_eq!(recorded.status, 0, "{recorded:?}");
    let rows = folder.stats(&[&log]);
    assert_eq!(row(&rows, r"\System\Processes")["values"], 3);
    assert_eq!(row(&rows, r"(_Total)\% Processor Time")["values"], 2);
}

#[test]
fn problems_are_reported() {
    let Some(tmux) = Tmux::start(100, 30) else { return };
    tmux.tacho(r"monitor '\Memory\Available Bytes' '\Processor(9999)\% Processor Time' '\Memory\Nothing'");
    let screen = tmux.shows("is not on this machine");
    assert!(line_with(&screen, "is not on this machine").starts_with(r"'\Memory\Nothing'"), "{screen}");
    let screen = tmux.shows("(9999)");
    assert!(line_with(&screen, "(9999)").contains("---"), "{screen}");
}
