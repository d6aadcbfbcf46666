//! Keys and the mouse.

use std::path::PathBuf;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, MouseButton, MouseEventKind};
use tachograph_counters::civil::FileTime;
use tachograph_monitor::{LegendColumn, View};
use tachograph_screen::{Existing, Input, Request, Theme};

use crate::test_screen::{START, TestScreen};

fn live() -> TestScreen {
    TestScreen::live((80, 24), 50, Theme::default())
}

/// The rows of the legend.
fn legend(screen: &mut TestScreen) -> Vec<String> {
    let text = screen.text();
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let heading = lines.iter().position(|line| line.contains("Counter")).expect("a heading");
    lines[heading + 1..lines.len() - 1].to_vec()
}

#[test]
fn the_value_bar_shows_the_selected_counter() {
    let mut screen = live();
    assert!(
        screen.line_with("Last").starts_with("Last 42.9 %  Average 50.0 %  Minimum 5.03 %  Maximum 94.9 %"),
        "{}",
        screen.text()
    );
    screen.type_in("jj");
    assert_eq!(screen.line_with(r"\\WEB1"), r"\\WEB1\Memory\Available Bytes");
    let bar = screen.line_with("Last");
    assert!(bar.starts_with("Last 6.99 GiB  Avg 7.22 GiB"), "{bar}");
    screen.press(KeyCode::End);
    screen.type_in("j");
    assert_eq!(screen.line_with(r"\\WEB1"), r"\\WEB1\PhysicalDisk(_Total)\Avg. Disk sec/Read");
    screen.press(KeyCode::Home);
    assert!(legend(&mut screen)[0].starts_with('▸'));
}

#[test]
fn counters_can_be_hidden_highlighted_and_removed() {
    let mut screen = live();
    let before = screen.line(3);
    screen.type_in("x");
    assert!(legend(&mut screen)[0].starts_with("▸  ━━"), "{}", screen.text());
    assert_ne!(screen.line(3), before);
    screen.type_in("xh");
    assert!(screen.app.view().panels[0].counters[0].settings.is_highlighted);
    screen.type_in("jd");
    assert!(matches!(&screen.requests[..], [Request::Paths(paths)] if paths.len() == 3));
    assert!(screen.line_with(r"\\WEB1").ends_with("Available Bytes"), "the next one is selected");
    screen.type_in("D");
    assert!(screen.text().contains("no counters: press a to add some"));
}

#[test]
fn scales_can_be_changed_and_fitted() {
    let mut screen = live();
    let scale = |screen: &mut TestScreen| screen.app.view().panels[0].counters[3].settings.scale;
    let of = tachograph_monitor::scale::Scale::Exponent;
    screen.press(KeyCode::End);
    screen.type_in("<");
    assert_eq!(scale(&mut screen), of(2));
    screen.type_in("=");
    assert_eq!(scale(&mut screen), of(3), "0.02 times 1000 is 20");
    screen.type_in(">>~");
    assert_eq!(scale(&mut screen), tachograph_monitor::scale::Scale::Default);
    screen.type_in("*");
    let scales: Vec<_> =
        screen.app.view().panels[0].counters.iter().map(|chosen| chosen.settings.scale.exponent(0)).collect();
    assert_eq!(scales, [0, 0, -8, 3]);
}

#[test]
fn the_legend_can_be_sorted_by_every_column() {
    let mut screen = TestScreen::live((200, 30), 50, Theme::default());
    for column in LegendColumn::ALL {
        screen.type_in("s");
        let mark = if column.is_number() { "▾" } else { "▴" };
        screen.line_with(&format!("{}{mark}", column.title()));
    }
    screen.type_in("s");
    assert!(!screen.text().contains('▴'));
    screen.type_in("ssss");
    screen.line_with("Average▾");
    assert!(legend(&mut screen)[0].contains("Available Bytes"));
    screen.type_in("o");
    screen.line_with("Average▴");
    assert!(legend(&mut screen)[0].contains("Avg. Disk sec/Read"));
}

#[test]
fn frozen_charts_do_not_change_and_can_be_stepped_through() {
    let mut screen = live();
    screen.type_in("f");
    let before = screen.text();
    assert!(screen.line(0).contains("FROZEN"));
    for second in 50..55 {
        screen.input(Input::Collected(START.saturating_add(second * FileTime::PER_SECOND)));
    }
    assert_eq!(screen.text(), before);
    screen.type_in(",");
    assert!(screen.line(0).ends_with("10:00:48"), "{}", screen.line(0));
    screen.type_in("..");
    assert!(screen.line(0).ends_with("10:00:50"), "{}", screen.line(0));
    screen.type_in("......");
    assert!(screen.requests.contains(&Request::Collect), "a later sample is requested");
    screen.type_in("f");
    screen.type_in("f");
    assert!(!screen.line(0).contains("FROZEN") || screen.line(0).ends_with("10:00:54"));
}

#[test]
fn interval_and_points_can_be_changed() {
    let mut screen = live();
    screen.type_in("i0.5");
    screen.press(KeyCode::Enter);
    assert_eq!(screen.requests.last(), Some(&Request::Interval(Duration::from_millis(500))));
    assert!(screen.line(0).contains("every 0.5 s"));
    screen.type_in("p1");
    screen.press(KeyCode::Enter);
    screen.line_with("enter a whole number from 2 to 1000");
    screen.press(KeyCode::Esc);
    screen.type_in("p1000");
    screen.press(KeyCode::Enter);
    assert_eq!(screen.requests.last(), Some(&Request::Points(1000)));
    assert_eq!(screen.app.points(), 1000);
    screen.type_in("---+");
    assert_eq!(screen.app.points(), 500);
    for _ in 0..20 {
        screen.type_in("+");
    }
    assert_eq!(screen.app.points(), 2);
    screen.draw();
}

#[test]
fn counters_are_added_with_the_tree() {
    let mut screen = live();
    screen.type_in("/cache");
    screen.press(KeyCode::Enter);
    screen.press(KeyCode::Enter);
    let [Request::Paths(paths)] = &screen.requests[..] else { panic!("{:?}", screen.requests) };
    assert_eq!(paths[4].to_string(), r"\Memory\Cache Bytes");
    screen.requests.clear();
    // Several marks, a wildcard, and a known counter.
    screen.type_in("a");
    screen.type_in("l");
    screen.type_in("j j ");
    screen.press(KeyCode::Enter);
    let [Request::Paths(paths)] = &screen.requests[..] else { panic!("{:?}", screen.requests) };
    assert_eq!(
        paths[5..].iter().map(ToString::to_string).collect::<Vec<_>>(),
        [r"\Processor Information(*)\*"]
    );
    assert!(screen.line(23).contains("already in the legend"), "{}", screen.text());
    // An entered path.
    screen.requests.clear();
    screen.type_in(r"/\System\Processes");
    screen.press(KeyCode::Enter);
    assert!(matches!(&screen.requests[..], [Request::Paths(paths)] if paths.len() == 7));
}

/// The last requested paths.
fn requested_paths(screen: &TestScreen) -> Vec<String> {
    let mut paths = screen.requests.iter().filter_map(|request| match request {
        Request::Paths(paths) => Some(paths.iter().map(ToString::to_string).collect()),
        _ => None,
    });
    paths.next_back().unwrap_or_default()
}

#[test]
fn adding_many_lines_must_be_confirmed() {
    let mut screen = live();
    screen.instances = 1_200;
    screen.type_in("aj");
    screen.press(KeyCode::Enter);
    // Two lines per instance, except two lines that are already on the chart.
    screen.line_with("This adds 2,398 lines. Continue? (y/n)");
    screen.line_with("y: yes   any other key: no");
    screen.type_in("n");
    screen.line_with("Add counters");
    assert!(requested_paths(&screen).is_empty());
    screen.press(KeyCode::Enter);
    screen.mouse(MouseEventKind::Down(MouseButton::Left), (10, 2));
    screen.line_with("This adds 2,398 lines");
    screen.type_in("y");
    assert!(!screen.text().contains("Add counters"));
    assert_eq!(requested_paths(&screen).last().map(String::as_str), Some(r"\Processor Information(*)\*"));

    // The same with an entered path; 100 lines need no confirmation.
    let mut screen = live();
    screen.instances = 102;
    screen.type_in(r"/\Processor Information(*)\% User Time");
    screen.press(KeyCode::Enter);
    screen.line_with("This adds 102 lines.");
    screen.press(KeyCode::Esc);
    screen.instances = 100;
    screen.press(KeyCode::Enter);
    assert_eq!(requested_paths(&screen).len(), 5);

    // A path without instances is added, with a message.
    let mut screen = live();
    screen.instances = 0;
    screen.type_in(r"/\Processor Information(*)\% User Time");
    screen.press(KeyCode::Enter);
    screen.line_with(r"\Processor Information(*)\% User Time: no new instances yet");
    assert_eq!(requested_paths(&screen).len(), 5);
}

#[test]
fn logs_can_be_zoomed_and_moved() {
    let mut screen = TestScreen::log((120, 40), 7200);
    let seconds = |screen: &TestScreen| {
        let (span, _) = screen.app.required_figures().expect("a span");
        span.length() as f64 / 1e7
    };
    assert_eq!(seconds(&screen).round(), 7199.0);
    screen.type_in("+");
    assert_eq!(seconds(&screen).round(), 3600.0);
    let bar = screen.line_with("Duration");
    assert!(bar.ends_with("Duration 59:59"), "{bar}");
    screen.type_in("n");
    assert!(screen.line(0).contains("10:59:59.500 - 11:59:59.001"), "{}", screen.line(0));
    screen.type_in("pp");
    assert!(screen.line(0).contains("10:00:00 - 10:59:59.501"), "{}", screen.line(0));
    // The jump to a time zooms in until each column has one sample.
    screen.type_in("t11:30");
    screen.press(KeyCode::Enter);
    assert!(screen.line(0).contains("11:28:13.829 - 11:31:46.171"), "{}", screen.line(0));
    screen.type_in("t13:00");
    screen.press(KeyCode::Enter);
    screen.line_with("the log covers 2024-03-05 10:00:00 to 2024-03-05 11:59:59");
    screen.press(KeyCode::Esc);
    screen.type_in("0");
    assert_eq!(seconds(&screen).round(), 7199.0);
    screen.press(KeyCode::Backspace);
    assert_eq!(seconds(&screen).round(), 212.0);
    for _ in 0..60 {
        screen.type_in("+");
    }
    assert!(seconds(&screen) >= 0.001);
    screen.draw();
    for _ in 0..60 {
        screen.type_in("-");
    }
    assert_eq!(seconds(&screen).round(), 7199.0);
}

#[test]
fn a_time_range_is_selected_with_keys_and_mouse() {
    let mut screen = TestScreen::log((120, 40), 7200);
    screen.press(KeyCode::Right);
    screen.type_in("[");
    for _ in 0..22 {
        screen.press(KeyCode::Right);
    }
    screen.type_in("]");
    screen.press(KeyCode::Enter);
    // 23 of 236 columns.
    let (span, _) = screen.app.required_figures().expect("a span");
    assert_eq!(span.begin(), START);
    assert!((span.length() as f64 / 7199e7 - 23.0 / 236.0).abs() < 0.001, "{}", span.length());
    screen.draw();

    screen.type_in("0");
    let left = MouseButton::Left;
    screen.mouse(MouseEventKind::Down(left), (5, 10));
    screen.mouse(MouseEventKind::Drag(left), (30, 10));
    screen.draw();
    screen.mouse(MouseEventKind::Up(left), (62, 12));
    let (span, _) = screen.app.required_figures().expect("a span");
    assert!((span.length() as f64 / 7199e7 - 0.5).abs() < 0.02, "{}", span.length());
    screen.mouse(MouseEventKind::ScrollDown, (5, 10));
    let (span, _) = screen.app.required_figures().expect("a span");
    assert!(span.length() as f64 / 7199e7 > 0.9);
}

#[test]
fn clicks_on_the_legend_select_hide_and_sort() {
    let mut screen = live();
    let text = screen.text();
    let heading = text.lines().position(|line| line.contains("Counter")).expect("a heading") as u16;
    let left = MouseEventKind::Down(MouseButton::Left);
    screen.mouse(left, (40, heading + 3));
    assert!(screen.line_with(r"\\WEB1").ends_with("Available Bytes"));
    screen.mouse(left, (1, heading + 3));
    assert!(!screen.app.view().panels[0].counters[2].settings.is_shown);
    screen.mouse(left, (18, heading));
    screen.line_with("Average▾");
    screen.mouse(MouseEventKind::ScrollDown, (40, heading + 1));
    screen.draw();
    // A click on the chart sets the cursor.
    screen.mouse(left, (70, 4));
    screen.mouse(MouseEventKind::Up(MouseButton::Left), (70, 4));
    screen.line_with("at 10:00:");
}

#[test]
fn views_are_saved_and_samples_recorded() {
    let mut screen = live();
    screen.type_in("jhr");
    screen.type_in("a.blg");
    screen.press(KeyCode::Enter);
    let path = PathBuf::from("a.blg");
    assert_eq!(screen.requests.pop(), Some(Request::Record { path: path.clone(), may_overwrite: false }));
    screen.input(Input::Exists(Existing::Recording(path.clone())));
    screen.line_with("a.blg exists. Overwrite it? (y/n)");
    screen.type_in("n");
    assert!(screen.requests.is_empty());
    screen.input(Input::Exists(Existing::Recording(path.clone())));
    screen.type_in("y");
    assert_eq!(screen.requests.pop(), Some(Request::Record { path, may_overwrite: true }));

    screen.type_in("S");
    screen.press(KeyCode::Enter);
    let Some(Request::Save { path, may_overwrite: false, view }) = screen.requests.pop() else {
        panic!("no view is saved")
    };
    assert_eq!(path, PathBuf::from("view.toml"));
    assert_eq!(View::parse(&view.to_text()).as_ref(), Ok(&*view));
    assert_eq!((view.counters().count(), view.points), (4, Some(100)));
    assert!(view.panels[0].counters[1].settings.is_highlighted);
}

#[test]
fn a_view_of_a_log_contains_its_time_range() {
    let mut screen = TestScreen::log((120, 40), 7200);
    assert_eq!(screen.app.view().begin, None);
    screen.type_in("+");
    let view = screen.app.view();
    assert!(view.begin.is_some() && view.end.is_some() && view.interval.is_none());
}

#[test]
fn no_sequence_of_keys_panics() {
    // A pseudo-random walk over all keys.
    let keys: Vec<KeyCode> = (' '..='~')
        .map(KeyCode::Char)
        .chain([KeyCode::Enter, KeyCode::Esc, KeyCode::Up, KeyCode::Down, KeyCode::Left, KeyCode::Right])
        .chain([KeyCode::Home, KeyCode::End, KeyCode::PageDown, KeyCode::PageUp, KeyCode::Backspace])
        .collect();
    for (is_live, size) in [(true, (80, 24)), (false, (80, 24)), (true, (30, 9)), (false, (200, 50))] {
        let mut screen =
            if is_live { TestScreen::live(size, 30, Theme::default()) } else { TestScreen::log(size, 300) };
        let mut state = 7u64;
        for step in 0..3000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            screen.press(keys[(state >> 33) as usize % keys.len()]);
            let (x, y) = ((state >> 40) as u16 % size.0, (state >> 50) as u16 % size.1);
            match state >> 60 {
                0 => screen.mouse(MouseEventKind::Down(MouseButton::Left), (x, y)),
                1 => screen.mouse(MouseEventKind::Drag(MouseButton::Left), (x, y)),
                2 => screen.mouse(MouseEventKind::Up(MouseButton::Left), (x, y)),
                3 => screen.mouse(MouseEventKind::ScrollDown, (x, y)),
                _ => {}
            }
            if step % 5 == 0 {
                screen.draw();
            }
        }
    }
}
