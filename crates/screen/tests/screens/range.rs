//! The range over logs: the one that is told, or chosen, is the one that the figures are of.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ratatui::crossterm::event::{KeyCode, MouseButton, MouseEventKind};
use tachograph_counters::Summary;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::time_zone::{TimeZone, TransitionDate};
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{WindowBounds, run};
use tachograph_monitor::{LogBoard, Span, View};
use tachograph_screen::{App, Facts, Input, Theme};

use crate::logs::{Life, Machine, write_blg};
use crate::made::{LINES, START, Shown, reduced};

/// The two times of the first line, as a person copies them: the date of the second is that of the first where it has none.
#[track_caller]
fn times(shown: &mut Shown) -> [TimeArgument; 2] {
    let line = shown.line(0);
    let (before, until) = line.split_once(" - ").unwrap_or_else(|| panic!("no range in {line}"));
    let from = before.split("  ").last().unwrap_or_default();
    let date = from.split(' ').next().unwrap_or_default();
    let until = if until.contains(' ') { until.to_owned() } else { format!("{date} {until}") };
    [from, &until].map(|time| TimeArgument::parse(time).unwrap_or_else(|error| panic!("{line}: {error}")))
}

/// What `tacho stats -b BEGIN -e END` has.
fn statistics(file: &Path, [begin, end]: [TimeArgument; 2]) -> BTreeMap<String, Summary> {
    let bounds = WindowBounds { begin: Some(begin), end: Some(end) };
    let query = LogQuery { bounds, ..LogQuery::new(vec![file.to_path_buf()]) };
    let mut pipeline = query.samples().expect("a log");
    let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
    let mut sink = StatisticsSink::new(options);
    run(&mut *pipeline.source, &mut sink, || {}).expect("a log");
    let rows = sink.rows().into_iter().map(|row| (row.path, row.summary));
    rows.filter(|(_, row)| row.values + row.errors > 0).collect()
}

#[track_caller]
fn check(shown: &mut Shown, file: &Path, what: &str) {
    let range = times(shown);
    let (line, figures) = (shown.line(0), shown.figures.clone().expect("figures"));
    let expected = statistics(file, range);
    let found: BTreeMap<_, _> =
        figures.series.into_iter().map(|one| (one.info.path.clone(), one.summary)).collect();
    let of = |row: &Summary| (row.values, row.errors, row.last, row.minimum, row.maximum);
    for (path, row) in found.iter().filter(|(_, row)| row.values + row.errors > 0) {
        let expected = expected.get(path).unwrap_or_else(|| panic!("{path} is not in {line} ({what})"));
        assert_eq!(of(row), of(expected), "{path} in {line} ({what})");
        let averages = row.average.zip(expected.average);
        assert_eq!(row.average.is_some(), expected.average.is_some(), "{path} in {line} ({what})");
        let is_equal = averages.is_none_or(|(one, other)| (one - other).abs() <= other.abs() * 1e-12);
        assert!(is_equal, "{path} in {line} ({what}): {averages:?}");
    }
    let has_any = |row: &&Summary| row.values + row.errors > 0;
    assert_eq!(found.values().filter(has_any).count(), expected.len(), "{line} ({what})");
}

/// Goes through a log, and compares wherever it comes.
fn go_through(file: &Path) {
    let open = || LogBoard::open(vec![file.to_path_buf()], &mut |_| ControlFlow::Continue(()));
    let Ok(board) = open() else { return };
    let mut shown = Shown::log_board((80, 24), board);
    check(&mut shown, file, "all");
    for keys in ["+", "+", "p", "-", "+", "+", "n", "n", "-", "+", "+", "+", "p", "+"] {
        shown.type_in(keys);
        check(&mut shown, file, keys);
    }
    shown.type_in("0");
    for (from, to) in [(30, 79), (20, 60), (5, 40), (33, 34)] {
        shown.draw();
        shown.mouse(MouseEventKind::Down(MouseButton::Left), (from, 5));
        shown.mouse(MouseEventKind::Up(MouseButton::Left), (to, 5));
        check(&mut shown, file, "dragged");
    }
    shown.press(KeyCode::Backspace);
    check(&mut shown, file, "back");
}

#[test]
fn what_is_told_gives_the_same_figures_over_a_made_log() {
    let folder = tempfile::tempdir().expect("a folder");
    // Its samples are apart by odd numbers of 100 ns.
    let samples = Machine::new("MADE", 5, Life::default()).samples(400);
    assert!(samples.iter().any(|sample| sample.at.utc.0 % FileTime::PER_MILLISECOND != 0));
    go_through(&write_blg(folder.path(), "odd.blg", &samples));
}

#[test]
fn what_is_told_gives_the_same_figures_over_a_real_log() {
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else {
        eprintln!("left out: no corpus (set TACHO_CORPUS to its folder)");
        return;
    };
    go_through(&PathBuf::from(folder).join("SampleLog.blg"));
}

#[test]
fn ends_are_whole_milliseconds_unless_others_were_asked_for() {
    let begin = START.saturating_add(12_345_678);
    let whole = Span::new(begin, begin.saturating_add(100_000_001));
    let mut shown = Shown::log((80, 24), 60);
    shown.input(Input::Opened(Some(whole), TimeZone::utc()));
    assert_eq!(shown.line(0), " web1.blg  2024-03-05 09:00:01.234 - 09:00:11.235");
    let facts =
        Facts { is_live: false, name: "a log of a name that is long.blg".to_owned(), zone: TimeZone::utc() };
    let asked = Some(TimeArgument::Utc(begin.saturating_add(1)));
    shown.app = App::new(facts, View { begin: asked, ..View::default() }, Theme::default());
    shown.input(Input::Opened(Some(whole), TimeZone::utc()));
    assert_eq!(
        shown.line(0),
        " a log of a name that is long.blg  2024-03-05 09:00:01.2345679 - 09:00:11.235"
    );
    shown.resize((60, 24));
    assert_eq!(shown.line(0), " a log of a nam…  2024-03-05 09:00:01.2345679 - 09:00:11.235");
}

#[test]
fn times_that_a_clock_shows_twice_have_their_offset() {
    let at = |month, day| TransitionDate { month, day, hour: 2, ..TransitionDate::NONE };
    let mut zone = TimeZone::fixed("Pacific Standard Time", 480);
    (zone.standard_date, zone.daylight_date, zone.daylight_bias_minutes) = (at(11, 1), at(3, 2), -60);
    // 2024-11-03, from 01:30 of daylight time to 01:30 of standard time, which is an hour later.
    let span = [8 * 60 + 30, 9 * 60 + 30]
        .map(|minutes| FileTime(133_750_656_000_000_000 + minutes * FileTime::PER_MINUTE));
    let mut shown = Shown::log((80, 24), 60);
    shown.input(Input::Opened(Some(Span::new(span[0], span[1])), zone.clone()));
    let told = times(&mut shown).map(|time| zone.argument_to_moment(time).utc);
    assert_eq!(told, span, "{}", shown.line(0));
    assert!(shown.line(0).contains("2024-11-03 01:30:00 - 01:30:00-08:00"), "{}", shown.line(0));
}

/// The figures of the whole log from a moment on.
fn rest_from(begin: FileTime, whole: Span, seconds: u64) -> Vec<Summary> {
    let rest = reduced(&LINES, Span::new(begin, whole.end()), 1, seconds);
    rest.series.into_iter().map(|series| series.summary).collect()
}

#[test]
fn a_stretch_to_the_right_edge_is_the_rest_of_the_log() {
    let left = MouseButton::Left;
    // Wide enough for a dot for each sample or two, and much narrower than the samples are many.
    for seconds in [150, 229, 7200] {
        let new = || Shown::log((120, 40), seconds);
        let whole = new().app.wanted().expect("a stretch").0;
        let check = |shown: &mut Shown, what: &str| {
            let (span, _) = shown.app.wanted().expect("a stretch");
            assert!(span != whole && span.end() == whole.end(), "{what} of {seconds}: {span:?} of {whole:?}");
            let rest = rest_from(span.begin(), whole, seconds);
            assert_eq!(rest[0].last, (LINES[0].value)(seconds - 1), "{what} of {seconds}");
            let bar = shown.line_with("Duration");
            let [last, average] = [rest[0].last, rest[0].average].map(|value| value.expect("a value"));
            let expected = format!("Last {last:.3}  Average {average:.3}  ");
            assert!(bar.starts_with(&expected), "{what} of {seconds}: {bar}, not {expected}");
        };
        for (from, to) in [(62, 119), (119, 62), (118, 119), (119, 118)] {
            let mut shown = new();
            shown.mouse(MouseEventKind::Down(left), (from, 10));
            shown.mouse(MouseEventKind::Drag(left), (90, 10));
            shown.mouse(MouseEventKind::Up(left), (to, 10));
            check(&mut shown, &format!("dragged from {from} to {to}"));
        }
        for (first, last) in [('[', ']'), (']', '[')] {
            let mut shown = new();
            for (x, key) in [(119, last), (80, first)] {
                shown.mouse(MouseEventKind::Down(left), (x, 10));
                shown.mouse(MouseEventKind::Up(left), (x, 10));
                shown.type_in(&key.to_string());
                shown.draw();
            }
            shown.press(KeyCode::Enter);
            check(&mut shown, &format!("clicked and chosen with {first}"));

            let mut shown = new();
            shown.press(KeyCode::Left);
            shown.type_in(&last.to_string());
            for _ in 0..30 {
                shown.press(KeyCode::Left);
            }
            shown.type_in(&first.to_string());
            shown.press(KeyCode::Enter);
            check(&mut shown, &format!("chosen by keys with {first}"));
        }
        // To the left edge.
        let mut shown = new();
        shown.mouse(MouseEventKind::Down(left), (62, 10));
        shown.mouse(MouseEventKind::Up(left), (0, 10));
        let (span, _) = shown.app.wanted().expect("a stretch");
        assert!(span != whole && span.begin() == whole.begin(), "{span:?}");
    }
}

/// What is shown of a log, after it was asked for like this, has grown, was changed by keys and has grown again.
fn after_growth(begin: Option<i64>, end: Option<i64>, keys: &str) -> [(i64, i64); 3] {
    let at = |second: i64| START.saturating_add(second * FileTime::PER_SECOND);
    let samples = |seconds: i64| Span::of_samples(at(0), at(seconds));
    let asked = |second: Option<i64>| second.map(|second| TimeArgument::Utc(at(second)));
    let facts = Facts { is_live: false, name: "growing.blg".to_owned(), zone: TimeZone::utc() };
    let view = View { begin: asked(begin), end: asked(end), ..View::default() };
    let mut shown = Shown::log((80, 24), 60);
    shown.app = App::new(facts, view, Theme::default());
    shown.input(Input::Opened(Some(samples(100)), TimeZone::utc()));
    let of = |shown: &Shown| {
        let (span, _) = shown.app.wanted().expect("a stretch");
        [span.begin(), span.end()].map(|time| time.since(START) / FileTime::PER_SECOND).into()
    };
    let opened = of(&shown);
    shown.input(Input::Grown(samples(200)));
    let grown = of(&shown);
    for key in keys.chars() {
        shown.draw();
        shown.press(if key == '<' { KeyCode::Backspace } else { KeyCode::Char(key) });
    }
    shown.input(Input::Grown(samples(400)));
    [opened, grown, of(&shown)]
}

#[test]
fn what_is_shown_goes_on_with_a_log_that_grows() {
    for (begin, end, keys, expected) in [
        (None, None, "", [(0, 100), (0, 200), (0, 400)]),
        // Zoomed it stays, until all is shown again, one way or the other.
        (None, None, "+", [(0, 100), (0, 200), (50, 150)]),
        (None, None, "+n", [(0, 100), (0, 200), (100, 200)]),
        (None, None, "+0", [(0, 100), (0, 200), (0, 400)]),
        (None, None, "+<", [(0, 100), (0, 200), (0, 400)]),
        // As far as it was asked for.
        (Some(40), None, "", [(40, 100), (40, 200), (40, 400)]),
        (None, Some(300), "", [(0, 100), (0, 200), (0, 300)]),
        (Some(50), Some(80), "", [(50, 80), (50, 80), (50, 80)]),
        (Some(50), Some(80), "0", [(50, 80), (50, 80), (0, 400)]),
        // Not there yet.
        (Some(150), None, "", [(0, 100), (150, 200), (150, 400)]),
    ] {
        assert_eq!(after_growth(begin, end, keys), expected, "{begin:?} {end:?} {keys}");
    }
}

#[test]
fn windows_without_a_sample_are_told() {
    let at = |units: i64| START.saturating_add(units);
    // Its samples are no whole milliseconds.
    let samples = Span::of_samples(at(12_345), at(100_000_017));
    let open = |begin: Option<i64>, end: Option<TimeArgument>| {
        let facts = Facts { is_live: false, name: "a.blg".to_owned(), zone: TimeZone::fixed("E", -60) };
        let begin = begin.map(|units| TimeArgument::Utc(at(units)));
        let mut shown = Shown::log((80, 24), 60);
        shown.app = App::new(facts.clone(), View { begin, end, ..View::default() }, Theme::default());
        shown.input(Input::Opened(Some(samples), facts.zone));
        let is_told = shown.text().contains("there is no sample in this window of time: all is shown");
        let (span, _) = shown.app.wanted().expect("a stretch");
        (is_told, span == samples.in_milliseconds())
    };
    let end = |units| Some(TimeArgument::Utc(at(units)));
    let all = (true, true);
    for (begin, end) in [
        (None, end(-5_000_000)),
        // Where the first sample is, and within the millisecond before it.
        (None, end(12_345)),
        (None, end(12_000)),
        (Some(100_000_018), None),
        (Some(2_000_000_000), None),
        (Some(50_000_000), end(50_000_000)),
        (Some(60_000_000), end(50_000_000)),
        // 5 s after the start as the log's zone has it.
        (Some(60_000_000), Some(TimeArgument::Local(at(36_050_000_000)))),
    ] {
        assert_eq!(open(begin, end), all, "{begin:?} {end:?}");
    }
    assert_eq!(open(None, end(12_346)), (false, false));
    assert_eq!(open(Some(100_000_017), None), (false, false));
    assert_eq!(open(Some(50_000_000), Some(TimeArgument::Local(at(36_060_000_000)))), (false, false));
    assert_eq!(open(None, None), (false, true));
}

#[test]
fn times_that_no_calendar_has() {
    let mut shown = Shown::log((80, 24), 60);
    let told = |shown: &mut Shown, begin: i64, end: i64| {
        shown.input(Input::Opened(Some(Span::new(FileTime(begin), FileTime(end))), TimeZone::utc()));
        shown.line(0)
    };
    assert_eq!(told(&mut shown, i64::MAX - 5_000_000, i64::MAX - 1), " web1.blg  -");
    assert_eq!(told(&mut shown, START.0, i64::MAX), " web1.blg  2024-03-05 09:00:00 - -");
    // That of the list of keys.
    assert_eq!(shown.text().matches('?').count(), 1, "{}", shown.text());
}
