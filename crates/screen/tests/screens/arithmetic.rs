//! Averages of text logs, which hold displayed values only.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ratatui::crossterm::event::KeyCode;
use tachograph_monitor::LogBoard;

use crate::logs::{Life, Machine, write_blg, write_csv};
use crate::made::Shown;

const SAID: &str = "* arithmetic: the mean of displayed values, all that a text log holds";

/// The average in the value bar.
#[track_caller]
fn average(shown: &mut Shown) -> String {
    let bar = shown.line_with("Duration");
    let rest = bar.split("Average ").nth(1).unwrap_or_else(|| panic!("no average in {bar}"));
    rest.split(' ').next().unwrap_or_default().to_owned()
}

fn open(file: PathBuf) -> Shown {
    let board = LogBoard::open(vec![file], &mut |_| ControlFlow::Continue(())).expect("a log");
    Shown::log_board((140, 40), board)
}

#[test]
fn they_are_marked_wherever_they_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = Machine::new("MADE", 5, Life::default()).samples(1000);
    for (file, is_marked) in [
        (write_csv(folder.path(), "shown.csv", &samples), true),
        (write_blg(folder.path(), "raw.blg", &samples), false),
    ] {
        let mut shown = open(file);
        let first = shown.text();
        assert_eq!(first.contains(SAID), is_marked, "{first}");
        let average = average(&mut shown);
        assert_eq!(average.ends_with('*'), is_marked, "{first}");
        assert_eq!(first.contains('*'), is_marked, "{first}");
        // In the row of the legend, as the last figure of the histogram's line, in the report.
        for (key, mark) in [('1', "▸"), ('2', &*average), ('3', &*average)] {
            shown.press(KeyCode::Char(key));
            let text = shown.text();
            let rows = text.lines().filter(|line| line.contains(mark) && !line.contains("Duration"));
            let has = |line: &str| line.split_whitespace().any(|word| word == average);
            assert!(rows.into_iter().any(has), "{average} with {key} in\n{text}");
            assert!(!text.contains(SAID), "it is said once\n{text}");
        }
        shown.press(KeyCode::Char('1'));
        shown.press(KeyCode::Left);
        let under = shown.line_with(" values)");
        let (mean, _) = under.split_once(" (").unwrap_or_else(|| panic!("{under}"));
        assert_eq!(mean.ends_with('*'), is_marked, "{under}");
    }
}
