//! The terminal after a panic. The test runs its own executable on a terminal; there, the executable panics.

use tachograph_counters::path::PathPattern;
use tachograph_flow::live::LiveOptions;
use tachograph_machine::Machine;
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{Chosen, LiveBoard, View};
use tachograph_screen::{DEFAULT_POINTS, Live, Logs, Source, Theme};

use crate::live::has_line;
use crate::logs::write;
use crate::terminal::state;
use crate::tmux::{Tmux, line_with};

/// The environment variable that makes the test the panicking program; its value selects the source.
const ROLE: &str = "TACHO_TEST_PANICS";

const MESSAGE: &str = "an injected panic";

/// A screen that panics on the drawing thread, when it refreshes the registry.
fn this_machine() -> Source {
    let registry = Machine::of_this_machine().expect("this machine").registry();
    let paths = [PathPattern::parse(r"\Memory\Available Bytes").expect("a path")];
    let options = LiveOptions::default();
    let (mut board, _) = LiveBoard::open(&registry, &paths, DEFAULT_POINTS, options).expect("a board");
    board.follow(Box::new(|| panic!("{MESSAGE}")));
    Source::Live(Box::new(Live {
        board,
        unmatched: |_| Vec::new(),
        reason: |_, _| None,
        name: "test".to_owned(),
        about: String::new(),
        zone: tachograph_counters::time_zone::TimeZone::utc(),
        frequency: 10_000_000,
        properties: None,
    }))
}

/// A screen whose log thread panics.
fn logs() -> Source {
    Source::Logs(Logs {
        reading: Default::default(),
        files: vec!["web.blg".into()],
        are_paths_required: false,
        is_default_view: false,
        unmatched: |_| Vec::new(),
        problems: |_| panic!("{MESSAGE}"),
    })
}

#[test]
fn the_terminal_is_restored_after_a_panic() {
    if let Ok(role) = std::env::var(ROLE) {
        let source = if role == "live" { this_machine() } else { logs() };
        let path = PathPattern::parse(r"\Memory\Available Bytes").expect("a path");
        let view = View::of_counters(vec![Chosen::new(path)]);
        let numbers = NumberForm::default();
        let ended = tachograph_screen::run(source, view, Theme::default(), numbers, Vec::new(), &[]);
        eprintln!("{}", ended.expect_err("an unreadable registry"));
        std::process::exit(1);
    }
    let Some(tmux) = Tmux::start(100, 40) else { return };
    write(&tmux);
    let before = state(&tmux, "before");
    let program = std::env::current_exe().expect("this program");
    let program = program.display();
    for (role, status) in [("live", 101), ("logs", 1)] {
        tmux.enter(&format!(
            "clear; {ROLE}={role} RUST_BACKTRACE=0 '{program}' --exact panics::the_terminal_is_restored_after_a_panic \
             --nocapture; echo ended-$?-{role}"
        ));
        if role == "live" {
            tmux.until("a line", has_line);
        }
        let screen = tmux.shows(&format!("ended-{status}-{role}"));
        // The line starts at the left edge, so raw mode is off.
        assert_eq!(line_with(&screen, MESSAGE), MESSAGE, "{screen}");
        assert!(!has_line(&screen), "{screen}");
        assert_eq!(role == "logs", screen.contains("web.blg: reading failed"), "{screen}");
        assert_eq!(state(&tmux, role), before);
    }
}
