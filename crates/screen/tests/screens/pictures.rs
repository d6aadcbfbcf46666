//! Screens as they look.

use ratatui::crossterm::event::KeyCode;
use tachograph_monitor::palette::Background;
use tachograph_screen::{ColourDepth, Existing, Input, Recording, Theme};

use crate::made::{Line, Shown};

#[test]
fn live_at_80_by_24() {
    let mut shown = Shown::live((80, 24), 70, Theme::default());
    shown.is("live_80x24");
    shown.type_in("f");
    shown.press(KeyCode::Left);
    shown.type_in("bs");
    shown.is("live_80x24_frozen");
}

#[test]
fn live_at_120_by_40() {
    let mut shown = Shown::live((120, 40), 100, Theme::default());
    shown.type_in("jjh");
    let recording = Recording { file: "web1.blg".to_owned(), samples: 1234, bytes: 56_789 };
    shown.input(Input::Recording(Some(recording)));
    shown.input(Input::Trouble(r"\\web1\PhysicalDisk: no such file".to_owned()));
    shown.input(Input::Trouble(r"\\web1\Memory: no such file".to_owned()));
    shown.is("live_120x40");
}

#[test]
fn small_screens() {
    Shown::live((40, 12), 50, Theme::default()).is("live_40x12");
    Shown::live((24, 8), 50, Theme::default()).is("live_24x8");
    for size in [(23, 8), (24, 7), (1, 1), (3, 200), (200, 2)] {
        let text = Shown::live(size, 5, Theme::default()).text();
        assert!(text.starts_with(&"too small"[..usize::from(size.0).min(9).saturating_sub(1)]), "{text}");
    }
}

#[test]
fn a_screen_that_is_too_small_says_how_to_leave() {
    assert_eq!(Shown::live((10, 3), 5, Theme::default()).text(), "too small:\nq quits\n\n");
}

#[test]
fn a_huge_screen() {
    let mut shown = Shown::live((400, 200), 100, Theme::default());
    let text = shown.text();
    assert_eq!(text.lines().count(), 200);
    assert!(text.lines().all(|line| line.chars().count() <= 400));
    // The line of the last one reaches the right edge.
    assert!(text.lines().any(|line| line.chars().count() == 400));
}

#[test]
fn without_unicode_and_colours() {
    let theme = Theme { background: None, depth: ColourDepth::Ansi, is_unicode: false };
    let mut shown = Shown::live((80, 24), 100, theme);
    shown.is("ascii_80x24");
    shown.type_in("a");
    shown.is("ascii_tree_80x24");
    let text = shown.text();
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn logs() {
    let mut shown = Shown::log((120, 40), 7200);
    shown.type_in("b");
    shown.is("log_120x40");
    shown.type_in("b");
    for _ in 0..3 {
        shown.type_in("+");
    }
    for _ in 0..4 {
        shown.press(KeyCode::Left);
    }
    shown.type_in("[");
    for _ in 0..9 {
        shown.press(KeyCode::Left);
    }
    shown.type_in("]");
    shown.is("log_120x40_brushed");
}

#[test]
fn histogram_and_report() {
    let mut shown = Shown::live((80, 24), 100, Theme::default());
    shown.type_in("g");
    shown.is("histogram_80x24");
    shown.type_in("g");
    shown.is("report_80x24");
    let mut shown = Shown::log((120, 40), 600);
    shown.type_in("2");
    shown.is("histogram_log_120x40");
}

#[test]
fn the_tree() {
    let mut shown = Shown::live((80, 24), 70, Theme::default());
    shown.type_in("a");
    shown.is("tree_80x24");
    shown.type_in("jl");
    shown.press(KeyCode::Down);
    shown.press(KeyCode::Right);
    shown.type_in("jj ");
    shown.is("tree_open_80x24");
    shown.type_in("/proc time");
    shown.is("tree_search_80x24");
}

#[test]
fn keys_messages_and_questions() {
    let mut shown = Shown::live((100, 40), 70, Theme::default());
    shown.type_in("?");
    shown.is("keys_live_100x40");
    shown.press(KeyCode::Esc);
    shown.type_in("i0.x");
    shown.press(KeyCode::Enter);
    shown.is("question_100x40");
    let mut shown = Shown::log((100, 40), 70);
    shown.type_in("?");
    shown.is("keys_log_100x40");
    shown.press(KeyCode::Esc);
    for _ in 0..3 {
        shown.input(Input::Trouble("web1.blg: 2 damaged places were left out".to_owned()));
    }
    shown.type_in("!");
    let line = shown.line_with("damaged");
    assert!(line.contains("left out (3 times)"), "{line}");
}

#[test]
fn what_is_long_is_readable_at_80_by_24() {
    let mut shown = Shown::log((80, 24), 70);
    shown.type_in("t2024-13-05 10");
    shown.press(KeyCode::Enter);
    shown.is("jump_error_80x24");
    shown.press(KeyCode::Esc);
    shown.type_in("?");
    shown.is("keys_log_80x24");
    shown.press(KeyCode::PageDown);
    shown.is("keys_log_80x24_below");
    shown.press(KeyCode::Home);
    shown.press(KeyCode::End);
    shown.is("keys_log_80x24_below");
    shown.press(KeyCode::Esc);
    let path = std::path::PathBuf::from(format!("/srv/{}/web1.blg", "recordings/".repeat(8)));
    shown.input(Input::Exists(Existing::Recording(path)));
    shown.is("overwrite_80x24");
}

const HOSTILE: [Line; 2] = [
    Line {
        set: "S\u{1b}[2J",
        instance: Some("プロセッサ\n"),
        counter: "C\u{7}",
        scale: 0,
        value: |_| Some(1e300),
    },
    Line { set: "S\u{1b}[2J", instance: Some("i"), counter: "C\u{7}", scale: 0, value: |_| Some(-5.0) },
];

#[test]
fn names_hold_no_control_characters() {
    let mut shown = Shown::new(true, (80, 24), 50, Theme::default(), &HOSTILE);
    for view in ["1", "2", "3"] {
        shown.type_in(view);
        let text = shown.text();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains(r"\u{1b}[2J"), "{text}");
    }
}

#[test]
fn light_and_dark_differ_in_colours_alone() {
    let light = Theme { background: Some(Background::Light), ..Theme::default() };
    assert_eq!(Shown::live((80, 24), 70, light).text(), Shown::live((80, 24), 70, Theme::default()).text());
}
