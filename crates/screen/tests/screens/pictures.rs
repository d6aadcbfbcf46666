//! Expected screens.

use ratatui::crossterm::event::KeyCode;
use tachograph_monitor::palette::Background;
use tachograph_screen::{ColourDepth, Existing, Input, Recording, Theme};

use crate::test_screen::{Line, TestScreen};

#[test]
fn a_live_screen_of_80_by_24_is_drawn_as_expected() {
    let mut screen = TestScreen::live((80, 24), 70, Theme::default());
    screen.assert_matches("live_80x24");
    screen.type_in("f");
    screen.press(KeyCode::Left);
    screen.type_in("bs");
    screen.assert_matches("live_80x24_frozen");
}

#[test]
fn a_live_screen_of_120_by_40_is_drawn_as_expected() {
    let mut screen = TestScreen::live((120, 40), 100, Theme::default());
    screen.type_in("jjh");
    let recording = Recording { file: "web1.blg".to_owned(), samples: 1234, bytes: 56_789 };
    screen.input(Input::Recording(Some(recording)));
    screen.input(Input::Problem(r"\\web1\PhysicalDisk: no such file".to_owned()));
    screen.input(Input::Problem(r"\\web1\Memory: no such file".to_owned()));
    screen.assert_matches("live_120x40");
}

#[test]
fn small_screens_are_drawn_as_expected() {
    TestScreen::live((40, 12), 50, Theme::default()).assert_matches("live_40x12");
    TestScreen::live((24, 8), 50, Theme::default()).assert_matches("live_24x8");
    for size in [(23, 8), (24, 7), (1, 1), (3, 200), (200, 2)] {
        let text = TestScreen::live(size, 5, Theme::default()).text();
        assert!(text.starts_with(&"too small"[..usize::from(size.0).min(9).saturating_sub(1)]), "{text}");
    }
}

#[test]
fn a_too_small_terminal_shows_how_to_quit() {
    assert_eq!(TestScreen::live((10, 3), 5, Theme::default()).text(), "too small;\nq quits\n\n");
}

#[test]
fn huge_terminals_are_filled() {
    let mut screen = TestScreen::live((400, 200), 100, Theme::default());
    let text = screen.text();
    assert_eq!(text.lines().count(), 200);
    assert!(text.lines().all(|line| line.chars().count() <= 400));
    // The chart extends to the right edge.
    assert!(text.lines().any(|line| line.chars().count() == 400));
}

#[test]
fn a_screen_without_unicode_and_colours_is_ascii() {
    let theme = Theme { background: None, depth: ColourDepth::Ansi, is_unicode: false };
    let mut screen = TestScreen::live((80, 24), 100, theme);
    screen.assert_matches("ascii_80x24");
    screen.type_in("a");
    screen.assert_matches("ascii_tree_80x24");
    let text = screen.text();
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn logs_are_drawn_as_expected() {
    let mut screen = TestScreen::log((120, 40), 7200);
    screen.type_in("b");
    screen.assert_matches("log_120x40");
    screen.type_in("b");
    for _ in 0..3 {
        screen.type_in("+");
    }
    for _ in 0..4 {
        screen.press(KeyCode::Left);
    }
    screen.type_in("[");
    for _ in 0..9 {
        screen.press(KeyCode::Left);
    }
    screen.type_in("]");
    screen.assert_matches("log_120x40_brushed");
}

#[test]
fn histogram_and_report_are_drawn_as_expected() {
    let mut screen = TestScreen::live((80, 24), 100, Theme::default());
    screen.type_in("g");
    screen.assert_matches("histogram_80x24");
    screen.type_in("g");
    screen.assert_matches("report_80x24");
    let mut screen = TestScreen::log((120, 40), 600);
    screen.type_in("2");
    screen.assert_matches("histogram_log_120x40");
}

#[test]
fn the_tree_is_drawn_as_expected() {
    let mut screen = TestScreen::live((80, 24), 70, Theme::default());
    screen.type_in("a");
    screen.assert_matches("tree_80x24");
    screen.type_in("jl");
    screen.press(KeyCode::Down);
    screen.press(KeyCode::Right);
    screen.type_in("jj ");
    screen.assert_matches("tree_open_80x24");
    screen.type_in("/proc time");
    screen.assert_matches("tree_search_80x24");
}

#[test]
fn keys_messages_and_questions_are_drawn_as_expected() {
    let mut screen = TestScreen::live((100, 40), 70, Theme::default());
    screen.type_in("?");
    screen.assert_matches("keys_live_100x40");
    screen.press(KeyCode::Esc);
    screen.type_in("i0.x");
    screen.press(KeyCode::Enter);
    screen.assert_matches("question_100x40");
    let mut screen = TestScreen::log((100, 40), 70);
    screen.type_in("?");
    screen.assert_matches("keys_log_100x40");
    screen.press(KeyCode::Esc);
    for _ in 0..3 {
        screen.input(Input::Problem("web1.blg: 2 damaged places were left out".to_owned()));
    }
    screen.type_in("!");
    let line = screen.line_with("damaged");
    assert!(line.contains("left out (3 times)"), "{line}");
}

#[test]
fn long_texts_are_readable_at_80_by_24() {
    let mut screen = TestScreen::log((80, 24), 70);
    screen.type_in("t2024-13-05 10");
    screen.press(KeyCode::Enter);
    screen.assert_matches("jump_error_80x24");
    screen.press(KeyCode::Esc);
    screen.type_in("?");
    screen.assert_matches("keys_log_80x24");
    screen.press(KeyCode::PageDown);
    screen.press(KeyCode::PageDown);
    screen.assert_matches("keys_log_80x24_below");
    screen.press(KeyCode::Home);
    screen.press(KeyCode::End);
    screen.assert_matches("keys_log_80x24_below");
    screen.press(KeyCode::Esc);
    let path = std::path::PathBuf::from(format!("/srv/{}/web1.blg", "recordings/".repeat(8)));
    screen.input(Input::Exists(Existing::Recording(path)));
    screen.assert_matches("overwrite_80x24");
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
fn control_characters_in_names_are_escaped() {
    let mut screen = TestScreen::new(true, (80, 24), 50, Theme::default(), &HOSTILE);
    for view in ["1", "2", "3"] {
        screen.type_in(view);
        let text = screen.text();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains(r"\u{1b}[2J"), "{text}");
    }
}

#[test]
fn light_and_dark_themes_differ_only_in_colours() {
    let light = Theme { background: Some(Background::Light), ..Theme::default() };
    assert_eq!(
        TestScreen::live((80, 24), 70, light).text(),
        TestScreen::live((80, 24), 70, Theme::default()).text()
    );
}
