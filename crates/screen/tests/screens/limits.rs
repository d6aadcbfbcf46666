//! Values above the limits of a panel.

use ratatui::style::{Color, Modifier};
use tachograph_monitor::View;
use tachograph_screen::Theme;

use crate::test_screen::{Line, TestScreen};

const LINES: [Line; 3] = [
    Line {
        set: "Disk",
        instance: Some("a"),
        counter: "% Busy Time",
        scale: 0,
        value: |second| Some(if second % 2 == 0 { 95.0 } else { 65.0 }),
    },
    Line { set: "Disk", instance: Some("b"), counter: "% Busy Time", scale: 0, value: |_| Some(12.0) },
    Line { set: "Disk", instance: Some("c"), counter: "Reads/sec", scale: 0, value: |_| Some(1500.0) },
];

/// Two panels. The first one has a limit in percent, and on the right an axis of reads per second.
const VIEW: &str = r"
version = 2
[[panel]]
title = 'Disks'
kind = 'line'
axis = 'linear'
unit = '%'
limits = [90, 70]
[[panel.counter]]
path = '\Disk(*)\% Busy Time'
[[panel.counter]]
path = '\Disk(*)\Reads/sec'
[[panel]]
[[panel.counter]]
path = '\Disk(a)\% Busy Time'
";

/// A live screen whose last value of the disk a is 65 or 95.
fn screen(size: (u16, u16), theme: Theme, seconds: u64) -> TestScreen {
    TestScreen::with_view(true, size, seconds, theme, &LINES, View::parse(VIEW).expect("a view"))
}

const NO_COLOURS: Theme =
    Theme { background: None, depth: tachograph_screen::ColourDepth::Full, is_unicode: true };

#[test]
fn lists_show_values_above_a_limit_in_another_colour() {
    // The last value is 95.
    let mut over = screen((120, 24), Theme::default(), 21);
    assert_eq!(over.style_of("95.0 %").fg, Some(Color::Red), "{}", over.text());
    // Values below the limits, and those of the other axis, have no colour; nor has the panel without limits.
    assert_ne!(over.style_of("12.0 %").fg, Some(Color::Red));
    assert_ne!(over.style_of("1.5 k/s").fg, Some(Color::Red));
    // As the last value and as the maximum, in both panels.
    assert_eq!(over.text().matches("95.0 %").count(), 4);
    let mut below = screen((120, 24), Theme::default(), 20);
    assert_ne!(below.style_of("65.0 %").fg, Some(Color::Red), "{}", below.text());
    assert!(!over.text().contains('!') && !below.text().contains('!'));
}

#[test]
fn values_above_a_limit_have_a_mark_without_colours() {
    let mut over = screen((120, 24), NO_COLOURS, 21);
    let text = over.text();
    assert_eq!(text.matches("!95.0 %").count(), 1, "{text}");
    assert_eq!(text.matches('!').count(), 1, "{text}");
    assert!(over.style_of("!95.0 %").add_modifier.contains(Modifier::BOLD));
    // On the edges of small panels.
    let text = screen((60, 16), NO_COLOURS, 21).text();
    assert_eq!(text.matches("!95.0").count(), 1, "{text}");
}

#[test]
fn each_figure_of_the_legend_is_compared() {
    let mut over = screen((120, 24), NO_COLOURS, 21);
    over.type_in("z");
    // The average is 80, the last value and the maximum are 95, the minimum is 65.
    let line = over.line_with("% Busy Time a ");
    let words: Vec<_> = line.split_whitespace().collect();
    for (figure, is_over) in [("80.0", true), ("95.0", true), ("65.0", false)] {
        let marked = format!("!{figure}");
        assert_eq!(words.contains(&marked.as_str()), is_over, "{figure} in {line}");
    }
    assert_eq!(line.matches('!').count(), 3, "{line}");
    assert!(!over.line_with("% Busy Time b ").contains('!') && !over.line_with("Reads/sec").contains('!'));
    let mut over = screen((120, 24), Theme::default(), 21);
    over.type_in("z");
    assert_eq!(over.style_of("95.0 %   65.0 %").fg, Some(Color::Red), "{}", over.text());
    assert_ne!(over.style_of("65.0 %   95.0 %").fg, Some(Color::Red), "{}", over.text());
}
