//! The time range of logs: figures are exactly those of the displayed or selected range.

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
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{LogBoard, Span, View};
use tachograph_screen::{App, Facts, Input, Theme};

use crate::logs::{Life, Machine, write_blg};
use crate::test_screen::{LINES, START, TestScreen, reduced};

/// The two times in the first line. If the second has no date, it has that of the first.
#[track_caller]
fn times(screen: &mut TestScreen) -> [TimeArgument; 2] {
    let line = screen.line(0);
    let (before, until) = line.split_once(" - ").unwrap_or_else(|| panic!("no range in {line}"));
    let from = before.split("  ").last().unwrap_or_default();
    let date = from.split(' ').next().unwrap_or_default();
    let until = if until.contains(' ') { until.to_owned() } else { format!("{date} {until}") };
    [from, &until].map(|time| TimeArgument::parse(time).unwrap_or_else(|error| panic!("{line}: {error}")))
}

/// The statistics of `tacho stats -b BEGIN -e END`.
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
fn check(screen: &mut TestScreen, file: &Path, what: &str) {
    let range = times(screen);
    let (line, figures) = (screen.line(0), screen.figures.clone().expect("figures"));
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

/// Zooms and moves through a log, and compares all figures.
fn compare_everywhere(file: &Path) {
    let open = || LogBoard::open(vec![file.to_path_buf()], &mut |_| ControlFlow::Continue(()));
    let Ok(board) = open() else { return };
    let mut screen = TestScreen::log_board((80, 24), board);
    check(&mut screen, file, "all");
    for keys in ["+", "+", "p", "-", "+", "+", "n", "n", "-", "+", "+", "+", "p", "+"] {
        screen.type_in(keys);
        check(&mut screen, file, keys);
    }
    screen.type_in("0");
    for (from, to) in [(30, 79), (20, 60), (5, 40), (33, 34)] {
        screen.draw();
        screen.mouse(MouseEventKind::Down(MouseButton::Left), (from, 5));
        screen.mouse(MouseEventKind::Up(MouseButton::Left), (to, 5));
        check(&mut screen, file, "dragged");
    }
    screen.press(KeyCode::Backspace);
    check(&mut screen, file, "back");
}

#[test]
fn the_displayed_range_has_the_same_statistics_in_a_generated_log() {
    let folder = tempfile::tempdir().expect("a folder");
    // The times of its samples are not whole milliseconds.
    let samples = Machine::new("FAKE", 5, Life::default()).samples(400);
    assert!(samples.iter().any(|sample| sample.at.utc.0 % FileTime::PER_MILLISECOND != 0));
    compare_everywhere(&write_blg(folder.path(), "odd.blg", &samples));
}

#[test]
fn the_displayed_range_has_the_same_statistics_in_a_real_log() {
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else {
        eprintln!("skipped: no corpus (set TACHO_CORPUS to its folder)");
        return;
    };
    compare_everywhere(&PathBuf::from(folder).join("SampleLog.blg"));
}

#[test]
fn ends_are_whole_milliseconds_unless_requested_otherwise() {
    let begin = START.saturating_add(12_345_678);
    let whole = Span::new(begin, begin.saturating_add(100_000_001));
    let mut screen = TestScreen::log((80, 24), 60);
    screen.input(Input::Opened(Some(whole), TimeZone::utc()));
    assert_eq!(screen.line(0), " web1.blg  2024-03-05 09:00:01.234 - 09:00:11.235");
    let facts = Facts {
        is_live: false,
        name: "a log of a name that is long.blg".to_owned(),
        about: String::new(),
        zone: TimeZone::utc(),
        has_properties: false,
    };
    let requested = Some(TimeArgument::Utc(begin.saturating_add(1)));
    screen.app = App::new(facts, View { begin: requested, ..View::default() }, Theme::default());
    screen.input(Input::Opened(Some(whole), TimeZone::utc()));
    assert_eq!(
        screen.line(0),
        " a log of a name that is long.blg  2024-03-05 09:00:01.2345679 - 09:00:11.235"
    );
    screen.resize((60, 24));
    assert_eq!(screen.line(0), " a log of a nam…  2024-03-05 09:00:01.2345679 - 09:00:11.235");
}

#[test]
fn ambiguous_local_times_have_a_utc_offset() {
    let at = |month, day| TransitionDate { month, day, hour: 2, ..TransitionDate::NONE };
    let mut zone = TimeZone::fixed("Pacific Standard Time", 480);
    (zone.standard_date, zone.daylight_date, zone.daylight_bias_minutes) = (at(11, 1), at(3, 2), -60);
    // 2024-11-03, from 01:30 daylight time to 01:30 standard time, which is an hour later.
    let span = [8 * 60 + 30, 9 * 60 + 30]
        .map(|minutes| FileTime(133_750_656_000_000_000 + minutes * FileTime::PER_MINUTE));
    let mut screen = TestScreen::log((80, 24), 60);
    screen.input(Input::Opened(Some(Span::new(span[0], span[1])), zone.clone()));
    let displayed = times(&mut screen).map(|time| zone.argument_to_moment(time).utc);
    assert_eq!(displayed, span, "{}", screen.line(0));
    assert!(screen.line(0).contains("2024-11-03 01:30:00 - 01:30:00-08:00"), "{}", screen.line(0));
}

/// The statistics from a moment to the end of the log.
fn statistics_from(begin: FileTime, whole: Span, seconds: u64) -> Vec<Summary> {
    let rest = reduced(&LINES, Span::new(begin, whole.end()), 1, seconds);
    rest.series.into_iter().map(|series| series.summary).collect()
}

#[test]
fn a_selection_to_the_right_edge_extends_to_the_end_of_the_log() {
    let left = MouseButton::Left;
    // About as many columns of Braille dots as samples, and many more samples than columns.
    for seconds in [150, 229, 7200] {
        let new = || {
            let mut screen = TestScreen::log((120, 40), seconds);
            screen.app.set_numbers(NumberForm::Raw);
            screen
        };
        let whole = new().app.required_figures().expect("a span").0;
        let check = |screen: &mut TestScreen, what: &str| {
            let (span, _) = screen.app.required_figures().expect("a span");
            assert!(span != whole && span.end() == whole.end(), "{what} of {seconds}: {span:?} of {whole:?}");
            let rest = statistics_from(span.begin(), whole, seconds);
            assert_eq!(rest[0].last, (LINES[0].value)(seconds - 1), "{what} of {seconds}");
            let bar = screen.line_with("Duration");
            let [last, average] = [rest[0].last, rest[0].average].map(|value| value.expect("a value"));
            let expected = format!("Last {last:.3}  Average {average:.3}  ");
            assert!(bar.starts_with(&expected), "{what} of {seconds}: {bar}, not {expected}");
        };
        for (from, to) in [(62, 119), (119, 62), (118, 119), (119, 118)] {
            let mut screen = new();
            screen.mouse(MouseEventKind::Down(left), (from, 10));
            screen.mouse(MouseEventKind::Drag(left), (90, 10));
            screen.mouse(MouseEventKind::Up(left), (to, 10));
            check(&mut screen, &format!("dragged from {from} to {to}"));
        }
        for (first, last) in [('[', ']'), (']', '[')] {
            let mut screen = new();
            for (x, key) in [(119, last), (80, first)] {
                screen.mouse(MouseEventKind::Down(left), (x, 10));
                screen.mouse(MouseEventKind::Up(left), (x, 10));
                screen.type_in(&key.to_string());
                screen.draw();
            }
            screen.press(KeyCode::Enter);
            check(&mut screen, &format!("clicked and chosen with {first}"));

            let mut screen = new();
            screen.press(KeyCode::Left);
            screen.type_in(&last.to_string());
            for _ in 0..30 {
                screen.press(KeyCode::Left);
            }
            screen.type_in(&first.to_string());
            screen.press(KeyCode::Enter);
            check(&mut screen, &format!("chosen by keys with {first}"));
        }
        // A drag to the left edge.
        let mut screen = new();
        screen.mouse(MouseEventKind::Down(left), (62, 10));
        screen.mouse(MouseEventKind::Up(left), (0, 10));
        let (span, _) = screen.app.required_figures().expect("a span");
        assert!(span != whole && span.begin() == whole.begin(), "{span:?}");
    }
}

/// The visible range in seconds when the log is opened, after it has grown, and after keys were pressed and it has grown again.
fn ranges_of_a_growing_log(begin: Option<i64>, end: Option<i64>, keys: &str) -> [(i64, i64); 3] {
    let at = |second: i64| START.saturating_add(second * FileTime::PER_SECOND);
    let samples = |seconds: i64| Span::of_samples(at(0), at(seconds));
    let requested = |second: Option<i64>| second.map(|second| TimeArgument::Utc(at(second)));
    let facts = Facts {
        is_live: false,
        name: "growing.blg".to_owned(),
        about: String::new(),
        zone: TimeZone::utc(),
        has_properties: false,
    };
    let view = View { begin: requested(begin), end: requested(end), ..View::default() };
    let mut screen = TestScreen::log((80, 24), 60);
    screen.app = App::new(facts, view, Theme::default());
    screen.input(Input::Opened(Some(samples(100)), TimeZone::utc()));
    let of = |screen: &TestScreen| {
        let (span, _) = screen.app.required_figures().expect("a span");
        [span.begin(), span.end()].map(|time| time.since(START) / FileTime::PER_SECOND).into()
    };
    let opened = of(&screen);
    screen.input(Input::Grown(samples(200)));
    let grown = of(&screen);
    for key in keys.chars() {
        screen.draw();
        screen.press(if key == '<' { KeyCode::Backspace } else { KeyCode::Char(key) });
    }
    screen.input(Input::Grown(samples(400)));
    [opened, grown, of(&screen)]
}

#[test]
fn the_visible_range_grows_with_the_log() {
    for (begin, end, keys, expected) in [
        (None, None, "", [(0, 100), (0, 200), (0, 400)]),
        // A zoomed range stays until the whole log is shown again.
        (None, None, "+", [(0, 100), (0, 200), (50, 150)]),
        (None, None, "+n", [(0, 100), (0, 200), (100, 200)]),
        (None, None, "+0", [(0, 100), (0, 200), (0, 400)]),
        (None, None, "+<", [(0, 100), (0, 200), (0, 400)]),
        // The visible range grows only up to the requested end.
        (Some(40), None, "", [(40, 100), (40, 200), (40, 400)]),
        (None, Some(300), "", [(0, 100), (0, 200), (0, 300)]),
        (Some(50), Some(80), "", [(50, 80), (50, 80), (50, 80)]),
        (Some(50), Some(80), "0", [(50, 80), (50, 80), (0, 400)]),
        // The requested range is not recorded yet.
        (Some(150), None, "", [(0, 100), (150, 200), (150, 400)]),
    ] {
        assert_eq!(ranges_of_a_growing_log(begin, end, keys), expected, "{begin:?} {end:?} {keys}");
    }
}

#[test]
fn a_requested_range_without_samples_shows_a_message() {
    let at = |units: i64| START.saturating_add(units);
    // The times of the samples are not whole milliseconds.
    let samples = Span::of_samples(at(12_345), at(100_000_017));
    let open = |begin: Option<i64>, end: Option<TimeArgument>| {
        let facts = Facts {
            is_live: false,
            name: "a.blg".to_owned(),
            about: String::new(),
            zone: TimeZone::fixed("E", -60),
            has_properties: false,
        };
        let begin = begin.map(|units| TimeArgument::Utc(at(units)));
        let mut screen = TestScreen::log((80, 24), 60);
        screen.app = App::new(facts.clone(), View { begin, end, ..View::default() }, Theme::default());
        screen.input(Input::Opened(Some(samples), facts.zone));
        let has_message = screen.text().contains("no samples in the requested time range: showing all");
        let (span, _) = screen.app.required_figures().expect("a span");
        (has_message, span == samples.in_milliseconds())
    };
    let end = |units| Some(TimeArgument::Utc(at(units)));
    let all = (true, true);
    for (begin, end) in [
        (None, end(-5_000_000)),
        // Times at the first sample, and within the millisecond before it.
        (None, end(12_345)),
        (None, end(12_000)),
        (Some(100_000_018), None),
        (Some(2_000_000_000), None),
        (Some(50_000_000), end(50_000_000)),
        (Some(60_000_000), end(50_000_000)),
        // 5 s after the start in the time zone of the log.
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
fn times_outside_the_calendar_are_a_dash() {
    let mut screen = TestScreen::log((80, 24), 60);
    let first_line = |screen: &mut TestScreen, begin: i64, end: i64| {
        screen.input(Input::Opened(Some(Span::new(FileTime(begin), FileTime(end))), TimeZone::utc()));
        screen.line(0)
    };
    assert_eq!(first_line(&mut screen, i64::MAX - 5_000_000, i64::MAX - 1), " web1.blg  -");
    assert_eq!(first_line(&mut screen, START.0, i64::MAX), " web1.blg  2024-03-05 09:00:00 - -");
    // Only the hint `?:keys` contains a question mark.
    assert_eq!(screen.text().matches('?').count(), 1, "{}", screen.text());
}
