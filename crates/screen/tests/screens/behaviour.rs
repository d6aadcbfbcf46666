//! What keys and the mouse do.

use std::path::PathBuf;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, MouseButton, MouseEventKind};
use tachograph_counters::civil::FileTime;
use tachograph_monitor::{LegendColumn, View};
use tachograph_screen::{Existing, Input, Request, Theme};

use crate::made::{START, Shown};

fn live() -> Shown {
    Shown::live((80, 24), 50, Theme::default())
}

/// The rows of the legend.
fn legend(shown: &mut Shown) -> Vec<String> {
    let text = shown.text();
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let heading = lines.iter().position(|line| line.contains("Counter")).expect("a heading");
    lines[heading + 1..lines.len() - 1].to_vec()
}

#[test]
fn selecting_and_the_value_bar() {
    let mut shown = live();
    assert!(
        shown.line_with("Last").starts_with("Last 42.911  Average 50.019  Minimum 5.032  Maximum 94.934"),
        "{}",
        shown.text()
    );
    shown.type_in("jj");
    assert_eq!(shown.line_with(r"\\WEB1"), r"\\WEB1\Memory\Available Bytes");
    let bar = shown.line_with("Last");
    assert!(bar.starts_with("Last 7.510e9  Avg 7.755e9"), "{bar}");
    shown.press(KeyCode::End);
    shown.type_in("j");
    assert_eq!(shown.line_with(r"\\WEB1"), r"\\WEB1\PhysicalDisk(_Total)\Avg. Disk sec/Read");
    shown.press(KeyCode::Home);
    assert!(legend(&mut shown)[0].starts_with('▸'));
}

#[test]
fn hiding_highlighting_removing() {
    let mut shown = live();
    let before = shown.line(3);
    shown.type_in("x");
    assert!(legend(&mut shown)[0].starts_with("▸  ━━"), "{}", shown.text());
    assert_ne!(shown.line(3), before);
    shown.type_in("xh");
    assert!(shown.app.view().counters[0].settings.is_highlighted);
    shown.type_in("jd");
    assert!(matches!(&shown.requests[..], [Request::Paths(paths)] if paths.len() == 3));
    assert!(shown.line_with(r"\\WEB1").ends_with("Available Bytes"), "the next one is selected");
    shown.type_in("D");
    assert!(shown.text().contains("no counter is chosen: a adds some"));
}

#[test]
fn scales() {
    let mut shown = live();
    let scale = |shown: &mut Shown| shown.app.view().counters[3].settings.scale;
    let of = tachograph_monitor::scale::Scale::Exponent;
    shown.press(KeyCode::End);
    shown.type_in("<");
    assert_eq!(scale(&mut shown), of(2));
    shown.type_in("=");
    assert_eq!(scale(&mut shown), of(3), "0.02 times 1000 is 20");
    shown.type_in(">>~");
    assert_eq!(scale(&mut shown), tachograph_monitor::scale::Scale::Default);
    shown.type_in("*");
    let scales: Vec<_> =
        shown.app.view().counters.iter().map(|chosen| chosen.settings.scale.exponent(0)).collect();
    assert_eq!(scales, [0, 0, -8, 3]);
}

#[test]
fn sorting_by_every_column() {
    let mut shown = Shown::live((200, 30), 50, Theme::default());
    for column in LegendColumn::ALL {
        shown.type_in("s");
        let mark = if column.is_number() { "▾" } else { "▴" };
        shown.line_with(&format!("{}{mark}", column.title()));
    }
    shown.type_in("s");
    assert!(!shown.text().contains('▴'));
    shown.press(KeyCode::BackTab);
    shown.line_with("Computer▴");
    shown.type_in("ssss");
    shown.type_in("s");
    shown.line_with("Average▾");
    assert!(legend(&mut shown)[0].contains("Available Bytes"));
    shown.type_in("o");
    shown.line_with("Average▴");
    assert!(legend(&mut shown)[0].contains("Avg. Disk sec/Read"));
}

#[test]
fn frozen_pictures_stay_and_step() {
    let mut shown = live();
    shown.type_in("f");
    let before = shown.text();
    assert!(shown.line(0).contains("FROZEN"));
    for second in 50..55 {
        shown.input(Input::Collected(START.saturating_add(second * FileTime::PER_SECOND)));
    }
    assert_eq!(shown.text(), before);
    shown.type_in(",");
    assert!(shown.line(0).ends_with("10:00:48"), "{}", shown.line(0));
    shown.type_in("..");
    assert!(shown.line(0).ends_with("10:00:50"), "{}", shown.line(0));
    shown.type_in("......");
    assert!(shown.requests.contains(&Request::Collect), "there is no later one yet");
    shown.type_in("f");
    shown.type_in("f");
    assert!(!shown.line(0).contains("FROZEN") || shown.line(0).ends_with("10:00:54"));
}

#[test]
fn interval_and_points() {
    let mut shown = live();
    shown.type_in("i0.5");
    shown.press(KeyCode::Enter);
    assert_eq!(shown.requests.last(), Some(&Request::Interval(Duration::from_millis(500))));
    assert!(shown.line(0).contains("every 0.5 s"));
    shown.type_in("p1");
    shown.press(KeyCode::Enter);
    shown.line_with("a whole number from 2 to 1000");
    shown.press(KeyCode::Esc);
    shown.type_in("p1000");
    shown.press(KeyCode::Enter);
    assert_eq!(shown.requests.last(), Some(&Request::Points(1000)));
    assert_eq!(shown.app.points(), 1000);
    shown.type_in("---+");
    assert_eq!(shown.app.points(), 500);
    for _ in 0..20 {
        shown.type_in("+");
    }
    assert_eq!(shown.app.points(), 2);
    shown.draw();
}

#[test]
fn adding_by_the_tree() {
    let mut shown = live();
    shown.type_in("/cache");
    shown.press(KeyCode::Enter);
    shown.press(KeyCode::Enter);
    let [Request::Paths(paths)] = &shown.requests[..] else { panic!("{:?}", shown.requests) };
    assert_eq!(paths[4].to_string(), r"\Memory\Cache Bytes");
    shown.requests.clear();
    // Marked in several places, with a wildcard, and one that is there already.
    shown.type_in("a");
    shown.type_in("l");
    shown.type_in("j j ");
    shown.press(KeyCode::Enter);
    let [Request::Paths(paths)] = &shown.requests[..] else { panic!("{:?}", shown.requests) };
    assert_eq!(
        paths[5..].iter().map(ToString::to_string).collect::<Vec<_>>(),
        [r"\Processor Information(*)\*"]
    );
    assert!(shown.line(23).contains("on the legend already"), "{}", shown.text());
    // A path that is written.
    shown.requests.clear();
    shown.type_in(r"/\System\Processes");
    shown.press(KeyCode::Enter);
    assert!(matches!(&shown.requests[..], [Request::Paths(paths)] if paths.len() == 7));
}

/// The paths that samples are to be taken of.
fn asked_paths(shown: &Shown) -> Vec<String> {
    let mut paths = shown.requests.iter().filter_map(|request| match request {
        Request::Paths(paths) => Some(paths.iter().map(ToString::to_string).collect()),
        _ => None,
    });
    paths.next_back().unwrap_or_default()
}

#[test]
fn many_lines_are_asked_about() {
    let mut shown = live();
    shown.instances = 1_200;
    shown.type_in("aj");
    shown.press(KeyCode::Enter);
    // Two counters of each instance, less the two that are there.
    shown.line_with("These are 2,398 new lines. Add them all? (y/n)");
    shown.line_with("y: yes   any other key: no");
    shown.type_in("n");
    shown.line_with("Add counters");
    assert!(asked_paths(&shown).is_empty());
    shown.press(KeyCode::Enter);
    shown.mouse(MouseEventKind::Down(MouseButton::Left), (10, 2));
    shown.line_with("2,398 new lines");
    shown.type_in("y");
    assert!(!shown.text().contains("Add counters"));
    assert_eq!(asked_paths(&shown).last().map(String::as_str), Some(r"\Processor Information(*)\*"));

    // A path that is written is as much; a hundred lines are not many.
    let mut shown = live();
    shown.instances = 102;
    shown.type_in(r"/\Processor Information(*)\% User Time");
    shown.press(KeyCode::Enter);
    shown.line_with("These are 102 new lines.");
    shown.press(KeyCode::Esc);
    shown.instances = 100;
    shown.press(KeyCode::Enter);
    assert_eq!(asked_paths(&shown).len(), 5);

    // What has no instance is chosen, and that it shows nothing is said.
    let mut shown = live();
    shown.instances = 0;
    shown.type_in(r"/\Processor Information(*)\% User Time");
    shown.press(KeyCode::Enter);
    shown.line_with(r"\Processor Information(*)\% User Time: nothing new now; what comes is shown");
    assert_eq!(asked_paths(&shown).len(), 5);
}

#[test]
fn zooming_and_moving_in_logs() {
    let mut shown = Shown::log((120, 40), 7200);
    let seconds = |shown: &Shown| {
        let (span, _) = shown.app.wanted().expect("a stretch");
        span.length() as f64 / 1e7
    };
    assert_eq!(seconds(&shown).round(), 7199.0);
    shown.type_in("+");
    assert_eq!(seconds(&shown).round(), 3600.0);
    let bar = shown.line_with("Duration");
    assert!(bar.ends_with("Duration 59:59"), "{bar}");
    shown.type_in("n");
    assert!(shown.line(0).contains("10:59:59.500 - 11:59:59.001"), "{}", shown.line(0));
    shown.type_in("pp");
    assert!(shown.line(0).contains("10:00:00 - 10:59:59.501"), "{}", shown.line(0));
    shown.type_in("t11:30");
    shown.press(KeyCode::Enter);
    assert!(shown.line(0).contains("10:59:59.500 - 11:59:59.001"), "{}", shown.line(0));
    shown.type_in("t13:00");
    shown.press(KeyCode::Enter);
    shown.line_with("the log covers 2024-03-05 10:00:00 to 2024-03-05 11:59:59");
    shown.press(KeyCode::Esc);
    shown.type_in("0");
    assert_eq!(seconds(&shown).round(), 7199.0);
    shown.press(KeyCode::Backspace);
    assert_eq!(seconds(&shown).round(), 3600.0);
    for _ in 0..60 {
        shown.type_in("+");
    }
    assert!(seconds(&shown) >= 0.001);
    shown.draw();
    for _ in 0..60 {
        shown.type_in("-");
    }
    assert_eq!(seconds(&shown).round(), 7199.0);
}

#[test]
fn brushing_with_keys_and_mouse() {
    let mut shown = Shown::log((120, 40), 7200);
    shown.press(KeyCode::Right);
    shown.type_in("[");
    for _ in 0..22 {
        shown.press(KeyCode::Right);
    }
    shown.type_in("]");
    shown.press(KeyCode::Enter);
    // 23 of 230 columns.
    let (span, _) = shown.app.wanted().expect("a stretch");
    assert_eq!(span.begin(), START);
    assert!((span.length() as f64 / 7199e7 - 0.1).abs() < 0.001, "{}", span.length());
    shown.draw();

    shown.type_in("0");
    let left = MouseButton::Left;
    shown.mouse(MouseEventKind::Down(left), (5, 10));
    shown.mouse(MouseEventKind::Drag(left), (30, 10));
    shown.draw();
    shown.mouse(MouseEventKind::Up(left), (62, 12));
    let (span, _) = shown.app.wanted().expect("a stretch");
    assert!((span.length() as f64 / 7199e7 - 0.5).abs() < 0.02, "{}", span.length());
    shown.mouse(MouseEventKind::ScrollDown, (5, 10));
    let (span, _) = shown.app.wanted().expect("a stretch");
    assert!(span.length() as f64 / 7199e7 > 0.9);
}

#[test]
fn the_mouse_on_the_legend() {
    let mut shown = live();
    let text = shown.text();
    let heading = text.lines().position(|line| line.contains("Counter")).expect("a heading") as u16;
    let left = MouseEventKind::Down(MouseButton::Left);
    shown.mouse(left, (40, heading + 3));
    assert!(shown.line_with(r"\\WEB1").ends_with("Available Bytes"));
    shown.mouse(left, (1, heading + 3));
    assert!(!shown.app.view().counters[2].settings.is_shown);
    shown.mouse(left, (18, heading));
    shown.line_with("Average▾");
    shown.mouse(MouseEventKind::ScrollDown, (40, heading + 1));
    shown.draw();
    // A click on the chart sets the cursor.
    shown.mouse(left, (70, 4));
    shown.mouse(MouseEventKind::Up(MouseButton::Left), (70, 4));
    shown.line_with("at 10:00:");
}

#[test]
fn saving_and_recording() {
    let mut shown = live();
    shown.type_in("jhr");
    shown.type_in("a.blg");
    shown.press(KeyCode::Enter);
    let path = PathBuf::from("a.blg");
    assert_eq!(shown.requests.pop(), Some(Request::Record { path: path.clone(), is_overwritten: false }));
    shown.input(Input::Exists(Existing::Recording(path.clone())));
    shown.line_with("a.blg exists. Overwrite it? (y/n)");
    shown.type_in("n");
    assert!(shown.requests.is_empty());
    shown.input(Input::Exists(Existing::Recording(path.clone())));
    shown.type_in("y");
    assert_eq!(shown.requests.pop(), Some(Request::Record { path, is_overwritten: true }));

    shown.type_in("S");
    shown.press(KeyCode::Enter);
    let Some(Request::Save { path, is_overwritten: false, view }) = shown.requests.pop() else {
        panic!("a view is saved")
    };
    assert_eq!(path, PathBuf::from("view.toml"));
    assert_eq!(View::parse(&view.to_text()).as_ref(), Ok(&*view));
    assert_eq!((view.counters.len(), view.points), (4, Some(100)));
    assert!(view.counters[1].settings.is_highlighted);
}

#[test]
fn a_view_of_a_log_holds_its_stretch() {
    let mut shown = Shown::log((120, 40), 7200);
    assert_eq!(shown.app.view().begin, None);
    shown.type_in("+");
    let view = shown.app.view();
    assert!(view.begin.is_some() && view.end.is_some() && view.interval.is_none());
}

#[test]
fn any_key_at_any_time() {
    // A pseudo-random walk over all keys; nothing panics, whatever is open.
    let keys: Vec<KeyCode> = (' '..='~')
        .map(KeyCode::Char)
        .chain([KeyCode::Enter, KeyCode::Esc, KeyCode::Up, KeyCode::Down, KeyCode::Left, KeyCode::Right])
        .chain([KeyCode::Home, KeyCode::End, KeyCode::PageDown, KeyCode::PageUp, KeyCode::Backspace])
        .collect();
    for (is_live, size) in [(true, (80, 24)), (false, (80, 24)), (true, (30, 9)), (false, (200, 50))] {
        let mut shown = if is_live { Shown::live(size, 30, Theme::default()) } else { Shown::log(size, 300) };
        let mut state = 7u64;
        for step in 0..3000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shown.press(keys[(state >> 33) as usize % keys.len()]);
            let (x, y) = ((state >> 40) as u16 % size.0, (state >> 50) as u16 % size.1);
            match state >> 60 {
                0 => shown.mouse(MouseEventKind::Down(MouseButton::Left), (x, y)),
                1 => shown.mouse(MouseEventKind::Drag(MouseButton::Left), (x, y)),
                2 => shown.mouse(MouseEventKind::Up(MouseButton::Left), (x, y)),
                3 => shown.mouse(MouseEventKind::ScrollDown, (x, y)),
                _ => {}
            }
            if step % 5 == 0 {
                shown.draw();
            }
        }
    }
}
