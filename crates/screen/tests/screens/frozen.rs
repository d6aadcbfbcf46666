//! Frozen pictures, over a ring of samples that goes on.

use ratatui::crossterm::event::{Event, KeyCode};
use tachograph_counters::path::PathPattern;
use tachograph_flow::live::LiveOptions;
use tachograph_monitor::LiveBoard;
use tachograph_screen::{Input, Request};

use crate::machine::{Machine, Process};
use crate::made::Shown;

const POINTS: usize = 20;
const SIZE: (u16, u16) = (100, 30);

/// Processes whose numbers change with every sample.
struct Watched {
    machine: Machine,
    shown: Shown,
    samples: u32,
}

impl Watched {
    fn new() -> Self {
        let machine = Machine::default();
        let paths = [r"\Process(*)\ID Process", r"\Process(b)\Ticks/sec"].map(PathPattern::parse);
        let paths = paths.map(|path| path.expect("a path"));
        let options = LiveOptions::default();
        let (board, _) = LiveBoard::open(&machine.registry(), &paths, POINTS, options).expect("this machine");
        Self { machine, shown: Shown::board(SIZE, board, &paths), samples: 0 }
    }

    /// Takes so many samples of these processes.
    fn collect(&mut self, names: &[&str], count: u32) {
        for _ in 0..count {
            self.samples += 1;
            let number = |place: usize| self.samples * 7919 % 90 + place as u32;
            let processes = names.iter().enumerate();
            let processes: Vec<_> =
                processes.map(|(place, name)| Process::new(name, 1).showing(number(place))).collect();
            self.machine.set(&processes);
            self.shown.collect();
        }
    }

    /// Frozen, with what was there then; the ring has gone through several times since, with other processes.
    fn frozen_long_ago() -> (Self, String) {
        let mut watched = Self::new();
        watched.collect(&["a", "b"], 25);
        watched.collect(&["a", "b", "c"], 5);
        watched.shown.type_in("f");
        let before = watched.shown.text();
        assert!(before.contains("FROZEN") && has_line(&before), "{before}");
        watched.collect(&["b", "d"], 5 * POINTS as u32);
        assert_eq!(watched.shown.text(), before);
        (watched, before)
    }
}

/// Whether Braille is drawn: a line.
fn has_line(screen: &str) -> bool {
    screen.contains(|character| ('\u{2801}'..='\u{28ff}').contains(&character))
}

/// The rows of the legend without the marks of what is selected and shown.
fn rows(screen: &str) -> Vec<String> {
    let rows = screen.lines().skip_while(|line| !line.contains("Counter")).skip(1);
    let rows = rows.filter(|line| line.contains("Process")).map(|line| line.chars().skip(2).collect());
    let mut rows: Vec<String> = rows.collect();
    rows.sort();
    rows
}

#[test]
fn what_is_frozen_stays_whatever_is_done_with_it() {
    let (mut watched, before) = Watched::frozen_long_ago();
    let shown = &mut watched.shown;
    assert_eq!(rows(&before).len(), 4, "{before}");
    // Hidden and shown again, another scale, sorted by every column, as other views, in another size.
    for there_and_back in ["xx", "<>", "ss\u{8}\u{8}", "+-", "-+", "23", "hh"] {
        for key in there_and_back.chars() {
            shown.press(if key == '\u{8}' { KeyCode::BackTab } else { KeyCode::Char(key) });
            shown.draw();
        }
        shown.type_in("1");
        assert_eq!(rows(&shown.text()), rows(&before), "{there_and_back}\n{}", shown.text());
        assert!(has_line(&shown.text()), "{there_and_back}\n{}", shown.text());
    }
    shown.resize((140, 40));
    let wide = shown.text();
    assert_eq!(wide.matches("Process ").count(), before.matches("Process ").count(), "{wide}");
    shown.resize(SIZE);
    // The last line tells of the last key.
    let without_last_line = |text: &str| text.lines().take(29).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_last_line(&shown.text()), without_last_line(&before));
}

#[test]
fn removing_from_what_is_frozen_removes_that_alone() {
    let (mut watched, before) = Watched::frozen_long_ago();
    let shown = &mut watched.shown;
    // An instance of a path with wildcards, then a path as a whole, for which samples are taken anew.
    for left in [3, 2] {
        shown.press(if left == 3 { KeyCode::Home } else { KeyCode::End });
        shown.type_in("d");
        let text = shown.text();
        let rows_left = rows(&text);
        assert_eq!(rows_left.len(), left, "{text}");
        assert!(rows_left.iter().all(|row| rows(&before).contains(row)), "{text}\nof\n{before}");
        assert!(has_line(&text), "{text}");
    }
    shown.collect();
    // It goes on with what is there now.
    shown.type_in("f");
    let text = shown.text();
    assert!(rows(&text).iter().any(|row| row.contains(" d ")) && !text.contains("FROZEN"), "{text}");
}

#[test]
fn a_step_ends_with_its_sample() {
    let (mut watched, _) = Watched::frozen_long_ago();
    let shown = &mut watched.shown;
    for _ in 0..=POINTS {
        shown.type_in(".");
    }
    // There is no later sample. What is pressed before it is there finds the picture frozen.
    let time = |shown: &mut Shown| shown.line(0).split_whitespace().next_back().map(str::to_owned);
    let before = time(shown);
    let step = Input::Terminal(Event::Key(KeyCode::Char('.').into()));
    let requests = shown.app.update(step);
    assert_eq!(requests, [Request::Collect]);
    assert!(shown.line(0).contains("FROZEN"), "{}", shown.text());
    shown.take(requests);
    assert!(shown.line(0).contains("FROZEN") && time(shown) > before, "{}", shown.text());
    // The next one is none of its business.
    let stepped = shown.text();
    shown.collect();
    assert_eq!(shown.text(), stepped);
}

#[test]
fn stepping_goes_through_what_was_there() {
    let (mut watched, before) = Watched::frozen_long_ago();
    let shown = &mut watched.shown;
    // To the oldest sample and back: no sample is lost, nor the row of what came later.
    for _ in 0..POINTS + 5 {
        shown.type_in(",");
    }
    assert!(shown.text().contains("this is the oldest sample that is kept"), "{}", shown.text());
    assert_eq!(rows(&shown.text()).len(), 4, "{}", shown.text());
    for _ in 0..POINTS {
        shown.type_in(".");
    }
    assert_eq!(shown.text().lines().next(), before.lines().next());
    assert_eq!(rows(&shown.text()), rows(&before), "{}", shown.text());
    // One further are the samples of the ring, and after its last one a sample is taken for each step.
    for _ in 0..POINTS + 5 {
        shown.type_in(".");
        assert!(shown.line(0).contains("FROZEN"), "{}", shown.text());
    }
    let rows = rows(&shown.text());
    assert_eq!(rows.iter().filter(|row| row.contains(" d ")).count(), 1, "{rows:#?}");
}
