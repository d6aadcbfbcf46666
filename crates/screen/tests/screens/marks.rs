//! Lines and areas that can be distinguished without colours.

use std::collections::HashSet;

use tachograph_monitor::View;
use tachograph_screen::{ColourDepth, Theme};

use crate::test_screen::{Line, TestScreen};

const fn line(instance: &'static str, value: fn(u64) -> Option<f64>) -> Line {
    Line { set: "Disk", instance: Some(instance), counter: "% Busy Time", scale: 0, value }
}

/// Ten lines at different heights.
const LINES: [Line; 10] = [
    line("d0", |_| Some(25.0)),
    line("d1", |_| Some(30.0)),
    line("d2", |_| Some(35.0)),
    line("d3", |_| Some(40.0)),
    line("d4", |_| Some(45.0)),
    line("d5", |_| Some(55.0)),
    line("d6", |_| Some(65.0)),
    line("d7", |_| Some(75.0)),
    line("d8", |_| Some(85.0)),
    line("d9", |_| Some(95.0)),
];

const NO_COLOURS: Theme = Theme { background: None, depth: ColourDepth::Full, is_unicode: true };

fn screen(kind: &str, theme: Theme) -> TestScreen {
    let text = format!(
        "version = 2\n[[panel]]\nkind = '{kind}'\naxis = 'linear'\n[[panel.counter]]\npath = '\\Disk(*)\\% Busy Time'\n"
    );
    TestScreen::with_view(true, (120, 40), 60, theme, &LINES, View::parse(&text).expect("a view"))
}

/// The marks in the legend, from the first counter to the last.
fn legend_marks(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.contains("% Busy Time") && line.contains(" d"));
    let swatch = |line: &str| {
        let word = line
            .split_whitespace()
            .find(|word| !word.chars().all(|it| matches!(it, '▸' | '✓')))
            .unwrap_or_default();
        word.trim_matches('━').trim_matches(['╍', '┅', '┉']).to_owned()
    };
    rows.filter(|line| !line.starts_with(r"\\")).map(swatch).collect()
}

#[test]
fn lines_have_marks_that_the_legend_shows() {
    let mut screen = screen("line", NO_COLOURS);
    let text = screen.text();
    let marks = legend_marks(&text);
    assert_eq!(marks, ["*", "+", "o", "x", "#", "%", "@", "&", "A", "B"], "{text}");
    let plot: Vec<_> = text.lines().take_while(|line| !line.contains('└')).collect();
    // Each line is at its own height, and its mark is on it several times; the first is at the bottom.
    let rows: Vec<Vec<usize>> = marks
        .iter()
        .map(|mark| {
            let has_mark =
                |line: &&str| line.split(['┤', '│']).nth(1).is_some_and(|plot| plot.contains(mark.as_str()));
            plot.iter().enumerate().filter(|(_, line)| has_mark(line)).map(|(row, _)| row).collect()
        })
        .collect();
    assert!(rows.iter().all(|rows| rows.len() == 1), "{rows:?} {text}");
    assert!(rows.windows(2).all(|pair| pair[0][0] > pair[1][0]), "{rows:?} {text}");
    let line = plot[rows[8][0]];
    assert!(line.matches('A').count() >= 3, "{line}");
}

#[test]
fn lines_with_colours_have_no_marks() {
    let mut screen = screen("line", Theme::default());
    let text = screen.text();
    let plot: String = text.lines().skip(1).take_while(|line| !line.contains('└')).collect();
    assert!(!plot.contains(['*', '+', 'o', 'x', '#', '@', '&', 'A']), "{text}");
}

#[test]
fn areas_have_the_characters_of_the_legend() {
    let mut screen = screen("stacked", NO_COLOURS);
    let text = screen.text();
    let marks = legend_marks(&text);
    let characters: Vec<_> = marks.iter().filter_map(|mark| mark.chars().next()).collect();
    assert_eq!(characters, ['█', '▒', '▓', '░', '#', '%', '@', '&', 'A', 'B'], "{text}");
    assert_eq!(characters.iter().collect::<HashSet<_>>().len(), 10);
    let plot: String = text.lines().skip(1).take_while(|line| !line.contains('└')).collect();
    assert!(characters.iter().all(|character| plot.contains(*character)), "{text}");
}
