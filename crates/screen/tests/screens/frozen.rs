//! Frozen charts while samples are taken.

use ratatui::crossterm::event::{Event, KeyCode};
use tachograph_counters::path::PathPattern;
use tachograph_flow::live::LiveOptions;
use tachograph_monitor::LiveBoard;
use tachograph_screen::{Input, Request};

use crate::machine::{Machine, Process};
use crate::test_screen::TestScreen;

const POINTS: usize = 20;
const SIZE: (u16, u16) = (100, 30);

/// A screen of processes whose values change with every sample.
struct Watched {
    machine: Machine,
    screen: TestScreen,
    samples: u32,
}

impl Watched {
    fn new() -> Self {
        let machine = Machine::default();
        let paths = [r"\Process(*)\ID Process", r"\Process(b)\Ticks/sec"].map(PathPattern::parse);
        let paths = paths.map(|path| path.expect("a path"));
        let options = LiveOptions::default();
        let (board, _) = LiveBoard::open(&machine.registry(), &paths, POINTS, options).expect("this machine");
        Self { machine, screen: TestScreen::board(SIZE, board, &paths), samples: 0 }
    }

    /// Takes `count` samples of these processes.
    fn collect(&mut self, names: &[&str], count: u32) {
        for _ in 0..count {
            self.samples += 1;
            let value = |index: usize| self.samples * 7919 % 90 + index as u32;
            let processes = names.iter().enumerate();
            let processes: Vec<_> =
                processes.map(|(index, name)| Process::new(name, 1).showing(value(index))).collect();
            self.machine.set(&processes);
            self.screen.collect();
        }
    }

    /// A chart that was frozen so long ago that all samples that the board keeps have been replaced several times; now other processes run.
    fn frozen_long_ago() -> (Self, String) {
        let mut watched = Self::new();
        watched.collect(&["a", "b"], 25);
        watched.collect(&["a", "b", "c"], 5);
        watched.screen.type_in("f");
        let before = watched.screen.text();
        assert!(before.contains("FROZEN") && has_line(&before), "{before}");
        watched.collect(&["b", "d"], 5 * POINTS as u32);
        assert_eq!(watched.screen.text(), before);
        (watched, before)
    }
}

/// Whether a line is drawn, in Braille.
fn has_line(screen: &str) -> bool {
    screen.contains(|character| ('\u{2801}'..='\u{28ff}').contains(&character))
}

/// The rows of the legend, without the marks at their beginning.
fn rows(screen: &str) -> Vec<String> {
    let rows = screen.lines().skip_while(|line| !line.contains("Counter")).skip(1);
    let rows = rows.filter(|line| line.contains("Process")).map(|line| line.chars().skip(2).collect());
    let mut rows: Vec<String> = rows.collect();
    rows.sort();
    rows
}

#[test]
fn keys_do_not_change_the_rows_of_a_frozen_chart() {
    let (mut watched, before) = Watched::frozen_long_ago();
    let screen = &mut watched.screen;
    assert_eq!(rows(&before).len(), 4, "{before}");
    // Each string undoes its changes: hide, scale, sort by each of the 12 columns and not at all, change the number of points, and highlight. After "23", which changes
    // the view, "1" returns to the chart.
    for there_and_back in ["xx", "<>", "sssssssssssss", "+-", "-+", "23", "hh"] {
        for key in there_and_back.chars() {
            screen.press(KeyCode::Char(key));
            screen.draw();
        }
        screen.type_in("1");
        assert_eq!(rows(&screen.text()), rows(&before), "{there_and_back}\n{}", screen.text());
        assert!(has_line(&screen.text()), "{there_and_back}\n{}", screen.text());
    }
    screen.resize((140, 40));
    let wide = screen.text();
    assert_eq!(wide.matches("Process ").count(), before.matches("Process ").count(), "{wide}");
    screen.resize(SIZE);
    // The last line shows the response to the last key.
    let without_last_line = |text: &str| text.lines().take(29).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_last_line(&screen.text()), without_last_line(&before));
}

#[test]
fn removing_a_counter_keeps_the_others_frozen() {
    let (mut watched, before) = Watched::frozen_long_ago();
    let screen = &mut watched.screen;
    // Removes an instance of a path with wildcards, then a whole path, which changes the sampled paths.
    for left in [3, 2] {
        screen.press(if left == 3 { KeyCode::Home } else { KeyCode::End });
        screen.type_in("d");
        let text = screen.text();
        let rows_left = rows(&text);
        assert_eq!(rows_left.len(), left, "{text}");
        assert!(rows_left.iter().all(|row| rows(&before).contains(row)), "{text}\nof\n{before}");
        assert!(has_line(&text), "{text}");
    }
    screen.collect();
    // The live chart shows the current processes.
    screen.type_in("f");
    let text = screen.text();
    assert!(rows(&text).iter().any(|row| row.contains(" d ")) && !text.contains("FROZEN"), "{text}");
}

#[test]
fn a_step_forward_takes_one_sample() {
    let (mut watched, _) = Watched::frozen_long_ago();
    let screen = &mut watched.screen;
    for _ in 0..=POINTS {
        screen.type_in(".");
    }
    // There is no later sample, so a step requests one. The chart stays frozen, and then shows the new sample.
    let time = |screen: &mut TestScreen| screen.line(0).split_whitespace().next_back().map(str::to_owned);
    let before = time(screen);
    let step = Input::Terminal(Event::Key(KeyCode::Char('.').into()));
    let requests = screen.app.update(step);
    assert_eq!(requests, [Request::Collect]);
    assert!(screen.line(0).contains("FROZEN"), "{}", screen.text());
    screen.perform(requests);
    assert!(screen.line(0).contains("FROZEN") && time(screen) > before, "{}", screen.text());
    // Later samples do not change the chart.
    let stepped = screen.text();
    screen.collect();
    assert_eq!(screen.text(), stepped);
}

#[test]
fn stepping_visits_all_kept_samples() {
    let (mut watched, before) = Watched::frozen_long_ago();
    let screen = &mut watched.screen;
    // Step to the oldest sample and back: samples and rows are kept.
    for _ in 0..POINTS + 5 {
        screen.type_in(",");
    }
    assert!(screen.text().contains("no older sample is kept"), "{}", screen.text());
    assert_eq!(rows(&screen.text()).len(), 4, "{}", screen.text());
    for _ in 0..POINTS {
        screen.type_in(".");
    }
    assert_eq!(screen.text().lines().next(), before.lines().next());
    assert_eq!(rows(&screen.text()), rows(&before), "{}", screen.text());
    // Next come the later samples that are still kept; after the last one, each step collects a sample.
    for _ in 0..POINTS + 5 {
        screen.type_in(".");
        assert!(screen.line(0).contains("FROZEN"), "{}", screen.text());
    }
    let rows = rows(&screen.text());
    assert_eq!(rows.iter().filter(|row| row.contains(" d ")).count(), 1, "{rows:#?}");
}
