//! `tacho monitor` of logs.

use tachograph_counters::CounterType;
use tachograph_logs::LogWriter as _;

use crate::log_fixture::{LogFixture, counter, one, raw};
use crate::run::{Folder, row};
use crate::tmux::{Tmux, line_with};

const SAMPLES: i64 = 600;

/// Writes ten minutes of a rate and of an instantaneous value, one sample per second from 10:00:00.
pub(crate) fn write(tmux: &Tmux) {
    log().write(&tmux.folder().join("web.blg"));
}

fn log() -> LogFixture {
    let mut log = LogFixture::new("WEB1")
        .value("Web", counter("Requests/sec", CounterType::COUNTER_COUNTER))
        .value("Web", counter("Queue Length", CounterType::RAWCOUNT));
    let mut total = 0;
    for second in 0..SAMPLES {
        total += second * second % 97;
        log.at(second, vec![one(raw(total, second * 10_000_000)), one(raw(second % 7, 0))]);
    }
    log
}

/// The average in the value bar.
fn average(screen: &str) -> String {
    let bar = line_with(screen, "Duration");
    let rest = bar.split("Average ").nth(1).unwrap_or_else(|| panic!("no average in {bar}"));
    rest.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn the_average_of_the_visible_range_is_that_of_stats() {
    let Some(tmux) = Tmux::start(120, 40) else { return };
    write(&tmux);
    tmux.tacho(r"monitor web.blg --raw-numbers -c '\Web\Requests/sec'");
    let screen = tmux.shows("Duration 9:59");
    let folder = Folder::new();
    let file = tmux.folder().join("web.blg").display().to_string();
    let of_stats = |begin: &str, end: &str| {
        let rows = folder.stats(&[&file, "-b", begin, "-e", end]);
        let average = row(&rows, r"\Web\Requests/sec")["average"].as_f64().expect("an average");
        format!("{average:.3}")
    };
    assert_eq!(average(&screen), of_stats("2024-03-05 10:00:00", "2024-03-05 10:10:00"));

    // Zooms into the middle; a saved view has the bounds of the range.
    for zoom in ["+", "+", "p", "-"] {
        let before = tmux.screen();
        tmux.text(zoom);
        tmux.until("another range", |screen| {
            line_with(screen, "web.blg") != line_with(&before, "web.blg") && screen.contains("Duration")
        });
    }
    let shown = tmux.shows("Duration 4:59");
    tmux.text("Szoomed.toml");
    tmux.keys(&["Enter"]);
    tmux.shows("view saved to zoomed.toml");
    let view = std::fs::read_to_string(tmux.folder().join("zoomed.toml")).expect("the view");
    let bound = |name: &str| {
        let line = view.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{view}"));
        line.split('"').nth(1).unwrap_or_else(|| panic!("{view}")).to_owned()
    };
    assert_eq!(average(&shown), of_stats(&bound("begin"), &bound("end")), "{view}");
    tmux.text("q");
    tmux.hides("Duration");
    // The view opens the same range.
    tmux.tacho("monitor web.blg --raw-numbers --view zoomed.toml");
    let again = tmux.shows("Duration 4:59");
    assert_eq!(average(&again), average(&shown));
}

#[test]
fn a_growing_log_is_followed() {
    let Some(tmux) = Tmux::start(120, 40) else { return };
    let log = log();
    let mut writer = log.writer(&tmux.folder().join("web.blg"));
    let mut write = |minute: usize| {
        let samples = &log.samples[minute * 60..(minute + 1) * 60];
        samples.iter().for_each(|sample| writer.write(sample).expect("written"));
        writer.flush().expect("written");
    };
    write(0);
    tmux.tacho(r"monitor web.blg --raw-numbers -c '\Web\*'");
    tmux.shows("Duration 0:59");
    write(1);
    tmux.shows("Duration 1:59");
    // Zooms in, then shows all, including samples that were added in the meantime and later.
    tmux.text("+");
    tmux.shows("Duration 0:59");
    write(2);
    tmux.text("0");
    tmux.shows("Duration 2:59");
    write(3);
    let screen = tmux.shows("Duration 3:59");
    let folder = Folder::new();
    let rows = folder.stats(&[&tmux.folder().join("web.blg").display().to_string()]);
    let expected = row(&rows, r"\Web\Requests/sec")["average"].as_f64().expect("an average");
    assert_eq!(average(&screen), format!("{expected:.3}"));
    assert_eq!(line_with(&screen, "?:keys").chars().next(), Some('?'), "nothing is damaged: {screen}");
}

#[test]
fn the_mouse_zooms() {
    let Some(tmux) = Tmux::start(120, 40) else { return };
    write(&tmux);
    tmux.tacho(r"monitor web.blg -c '\Web\*'");
    tmux.shows("Duration 9:59");
    // Button down, drag, up, in xterm's SGR mode.
    for event in ["\u{1b}[<0;20;10M", "\u{1b}[<32;40;10M", "\u{1b}[<32;77;10M", "\u{1b}[<0;77;10m"] {
        tmux.text(event);
    }
    // The drag covers 58 of 115 character columns. The range is extended to whole columns of statistics: 120 of 236.
    tmux.shows("Duration 5:04");
    tmux.keys(&["BSpace"]);
    tmux.shows("Duration 9:59");
}

#[test]
fn unknown_counters_and_damaged_logs_are_reported() {
    let Some(tmux) = Tmux::start(100, 24) else { return };
    write(&tmux);
    tmux.tacho(r"monitor web.blg -c '\Web\Nothing'; echo ended-$?");
    let screen = tmux.shows("ended-2");
    assert!(
        screen.contains(r"tacho: '\Web\Nothing' is not in the log: 'Web' has no counter 'Nothing'"),
        "{screen}"
    );
    std::fs::write(tmux.folder().join("bad.blg"), [0; 5000]).expect("written");
    tmux.tacho("monitor bad.blg; echo ended-$?");
    let screen = tmux.shows("ended-1");
    assert!(screen.contains("tacho: bad.blg: "), "{screen}");
}

#[test]
fn counters_can_be_added() {
    let Some(tmux) = Tmux::start(100, 30) else { return };
    write(&tmux);
    tmux.tacho("monitor web.blg");
    // Without paths, the first counters are shown.
    tmux.shows("Queue Length");
    tmux.text("D");
    tmux.shows("no counters: press a");
    tmux.text("/queue");
    tmux.keys(&["Enter", "Enter"]);
    tmux.until("chosen", |screen| screen.contains("▸✓") && screen.contains("Queue Length"));
}
