//! Screens with boards of samples instead of generated figures.

use std::ops::ControlFlow;

use ratatui::crossterm::event::Event;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::{Board, Chosen, LiveBoard, LogBoard, TableFigures, View};
use tachograph_screen::{App, Facts, Input, Request, Theme};

use crate::test_screen::TestScreen;

/// A board of samples.
pub(crate) enum Samples {
    Live(Box<LiveBoard>),
    Log(Box<LogBoard>),
}

impl TestScreen {
    /// A screen of a log, with all counters.
    pub(crate) fn log_board(size: (u16, u16), mut board: LogBoard) -> Self {
        let mut screen = Self::new(false, size, 0, Theme::default(), &[]);
        let paths = [r"\*(*)\*", r"\*\*"].map(|path| PathPattern::parse(path).expect("a path"));
        board.set_paths(&paths, &mut |_| ControlFlow::Continue(())).expect("a log");
        let view = View::of_counters(paths.map(Chosen::new).to_vec());
        let name = "a log of a long name.blg".to_owned();
        let (span, zone) = (board.span(), board.zone().clone());
        let facts =
            Facts { is_live: false, name, about: String::new(), zone: zone.clone(), has_properties: false };
        screen.app = App::new(facts, view, Theme::default());
        screen.board = Some(Samples::Log(Box::new(board)));
        screen.input(Input::Opened(span, zone));
        screen
    }

    /// A screen of a live board.
    pub(crate) fn board(size: (u16, u16), board: LiveBoard, paths: &[PathPattern]) -> Self {
        let mut screen = Self::new(true, size, 0, Theme::default(), &[]);
        let counters = paths.iter().cloned().map(Chosen::new).collect();
        let view = View { points: Some(board.points()), ..View::of_counters(counters) };
        let facts = Facts {
            is_live: true,
            name: "fixture".to_owned(),
            about: String::new(),
            zone: TimeZone::utc(),
            has_properties: true,
        };
        screen.app = App::new(facts, view, Theme::default());
        screen.board = Some(Samples::Live(Box::new(board)));
        screen
    }

    /// Takes a sample.
    #[track_caller]
    pub(crate) fn collect(&mut self) {
        let Some(Samples::Live(board)) = &mut self.board else { panic!("no machine") };
        let at = board.collect().at.utc;
        self.input(Input::Collected(at));
    }

    pub(crate) fn resize(&mut self, (width, height): (u16, u16)) {
        self.terminal.backend_mut().resize(width, height);
        self.input(Input::Terminal(Event::Resize(width, height)));
    }

    /// Performs a request with the board; false if the request is not for a board.
    pub(crate) fn perform_by_board(&mut self, request: &Request) -> bool {
        let Some(samples) = &mut self.board else { return false };
        if *request == Request::Figures {
            let Some((span, columns)) = self.app.required_figures() else { return true };
            let board: &mut dyn Board = match samples {
                Samples::Live(board) => &mut **board,
                Samples::Log(board) => &mut **board,
            };
            let figures = board.reduce(span, columns, &self.app.charted_paths()).expect("figures");
            self.figures = Some(figures.clone());
            self.input(Input::Figures(figures));
            return true;
        }
        if let Request::Table(id) = *request {
            let Some((span, paths)) = self.app.required_table(id) else { return true };
            let board: &mut dyn Board = match samples {
                Samples::Live(board) => &mut **board,
                Samples::Log(board) => &mut **board,
            };
            let figures = TableFigures::read(board, span, &paths).expect("figures");
            self.input(Input::Table(id, figures));
            return true;
        }
        let Samples::Live(board) = samples else { return false };
        match request {
            Request::Hold(until) => board.hold(*until),
            Request::Points(points) => board.set_points(*points),
            Request::Paths(paths) => {
                board.set_paths(paths);
                self.collect();
            }
            Request::Collect => self.collect(),
            _ => return false,
        }
        true
    }
}
