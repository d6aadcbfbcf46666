//! Averages of text logs, which have only formatted values.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ratatui::crossterm::event::KeyCode;
use tachograph_monitor::LogBoard;
use tachograph_monitor::figures::NumberForm;

use crate::logs::{Life, Machine, write_blg, write_csv};
use crate::test_screen::TestScreen;

const EXPLANATION: &str = "* arithmetic mean of formatted values: no raw values in the log";

/// The average in the value bar.
#[track_caller]
fn average(screen: &mut TestScreen) -> String {
    let bar = screen.line_with("Duration");
    let rest = bar.split("Average ").nth(1).unwrap_or_else(|| panic!("no average in {bar}"));
    rest.split(' ').next().unwrap_or_default().to_owned()
}

fn open(file: PathBuf) -> TestScreen {
    let board = LogBoard::open(vec![file], &mut |_| ControlFlow::Continue(())).expect("a log");
    TestScreen::log_board((140, 40), board)
}

#[test]
fn arithmetic_averages_are_marked_in_all_views() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = Machine::new("FAKE", 5, Life::default()).samples(1000);
    for (file, is_marked) in [
        (write_csv(folder.path(), "formatted.csv", &samples), true),
        (write_blg(folder.path(), "raw.blg", &samples), false),
    ] {
        let mut screen = open(file);
        screen.app.set_numbers(NumberForm::Raw);
        let first = screen.text();
        assert_eq!(first.contains(EXPLANATION), is_marked, "{first}");
        let average = average(&mut screen);
        assert_eq!(average.ends_with('*'), is_marked, "{first}");
        assert_eq!(first.contains('*'), is_marked, "{first}");
        // Legend, histogram and report.
        for (key, mark) in [('1', "▸"), ('2', &*average), ('3', &*average)] {
            screen.press(KeyCode::Char(key));
            let text = screen.text();
            let rows = text.lines().filter(|line| line.contains(mark) && !line.contains("Duration"));
            let has = |line: &str| line.split_whitespace().any(|word| word == average);
            assert!(rows.into_iter().any(has), "{average} with {key} in\n{text}");
            assert!(!text.contains(EXPLANATION), "the explanation is shown only once\n{text}");
        }
        screen.press(KeyCode::Char('1'));
        screen.press(KeyCode::Left);
        let under = screen.line_with(" values)");
        let (mean, _) = under.split_once(" (").unwrap_or_else(|| panic!("{under}"));
        assert_eq!(mean.ends_with('*'), is_marked, "{under}");
    }
}
