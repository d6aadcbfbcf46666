//! `tacho monitor`: counters on the terminal.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_counters::path::PathPattern;
use tachograph_flow::WindowBounds;
use tachograph_flow::live::LiveOptions;
use tachograph_flow::query::LogQuery;
use tachograph_machine::Machine;
use tachograph_monitor::{Chosen, LiveBoard, View};
use tachograph_perflib::FREQUENCY;
use tachograph_screen::{DEFAULT_POINTS, End, Live, Logs, ScreenError, Source, Theme, ThemeChoice};
use tachograph_system::Roots;

use super::{log_complaints, problem_lines};
use crate::arguments::MonitorArguments;
use crate::failure::{Failure, say};
use crate::{live, signals};

/// Whether a screen can be opened, and keys be pressed.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb()
}

/// Whether the terminal says of itself that it only goes from line to line, such as a shell in an editor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

pub(crate) fn run(arguments: &MonitorArguments) -> Result<ExitCode, Failure> {
    let watched = arguments.watched()?;
    let mut view = match &arguments.view {
        Some(file) => View::open(file).map_err(Failure::usage)?,
        None => View::default(),
    };
    if !has_terminal() {
        return Err(Failure::usage(if is_dumb() {
            "the monitor needs a terminal that can show a screen, and TERM is 'dumb'; 'tacho query' and 'tacho stats' print lines"
        } else {
            "the monitor needs a terminal; 'tacho query' and 'tacho stats' print to files and pipes"
        }));
    }
    view.interval = arguments.interval.or(view.interval);
    view.points = arguments.points.or(view.points);
    let theme = theme(arguments.theme());
    if watched.files.is_empty() {
        this_machine(watched.paths, view, theme)
    } else {
        let is_asked = !watched.paths.is_empty();
        add(&mut view, watched.paths);
        let files = LogQuery { reading: watched.reading, ..LogQuery::new(watched.files) };
        logs(files, watched.bounds, is_asked, view, theme)
    }
}

/// The default counters of this machine.
pub(crate) fn run_default() -> Result<ExitCode, Failure> {
    this_machine(Vec::new(), View::default(), theme(ThemeChoice::Detect))
}

fn theme(choice: ThemeChoice) -> Theme {
    Theme::detect(choice, |name| std::env::var(name).ok())
}

fn add(view: &mut View, paths: Vec<PathPattern>) {
    view.counters.extend(paths.into_iter().map(Chosen::new));
}

fn this_machine(paths: Vec<PathPattern>, mut view: View, theme: Theme) -> Result<ExitCode, Failure> {
    let machine = Machine::of_this_machine().map_err(Failure::work)?;
    let registry = machine.registry();
    let paths = paths.into_iter().map(|path| live::here(&registry, path));
    add(&mut view, paths.collect::<Result<_, _>>()?);
    if view.counters.is_empty() {
        add(&mut view, live::default_counters(&registry)?);
    }
    let paths: Vec<_> = view.counters.iter().map(|chosen| chosen.path.clone()).collect();
    let zone = live::zone_of_now();
    let options = LiveOptions {
        bias_minutes: zone.bias_minutes,
        boot_time: tachograph_system::boot_time(&Roots::of_this_machine()).unwrap_or_default(),
        ..LiveOptions::default()
    };
    let points = view.points.unwrap_or(DEFAULT_POINTS);
    let (mut board, selection) =
        LiveBoard::open(&registry, &paths, points, options).map_err(Failure::work)?;
    let complaints = live::complaints(&selection);
    if complaints.len() == paths.len() {
        return Err(Failure::usages(complaints));
    }
    board.follow(Box::new(move || machine.refresh()));
    let name = registry.machine().to_string();
    let source = Live { board, complaints: live::complaints, name, zone, frequency: FREQUENCY };
    show(Source::Live(Box::new(source)), view, theme, complaints)
}

fn logs(
    query: LogQuery,
    bounds: WindowBounds,
    is_asked: bool,
    mut view: View,
    theme: Theme,
) -> Result<ExitCode, Failure> {
    refuse_sets(&query.paths)?;
    // What cannot be opened is told before the screen opens.
    drop(query.samples()?);
    view.begin = bounds.begin.or(view.begin);
    view.end = bounds.end.or(view.end);
    let logs = Logs {
        files: query.paths,
        reading: query.reading,
        is_asked,
        complaints: log_complaints,
        problems: |board| problem_lines(board.reports()),
    };
    show(Source::Logs(logs), view, theme, Vec::new())
}

/// Refuses the names of counter sets: a name without a backslash is a log.
fn refuse_sets(files: &[PathBuf]) -> Result<(), Failure> {
    let mut missing = files.iter().filter(|file| !file.exists()).filter_map(|file| file.to_str()).peekable();
    if missing.peek().is_none() {
        return Ok(());
    }
    let registry = live::this_machine()?;
    match missing.find_map(|name| Some((name, registry.find(name)?))) {
        Some((name, set)) => Err(Failure::usage(live::is_a_set(name, set))),
        None => Ok(()),
    }
}

fn show(source: Source, view: View, theme: Theme, notices: Vec<String>) -> Result<ExitCode, Failure> {
    let ends = signals::not_ignored(&[SIGTERM, SIGHUP, SIGINT]);
    let End { signal, said } = match tachograph_screen::run(source, view, theme, notices, &ends) {
        Err(ScreenError::Recording { said, error }) => {
            say(&said);
            return Err((*error).into());
        }
        ended => ended?,
    };
    said.iter().for_each(say);
    // What shells give for a signal.
    Ok(signal.and_then(|signal| u8::try_from(128 + signal).ok()).map_or(ExitCode::SUCCESS, ExitCode::from))
}

impl From<ScreenError> for Failure {
    fn from(error: ScreenError) -> Self {
        match error {
            ScreenError::Flow(error) => error.into(),
            ScreenError::Usage(lines) => Self::usages(lines),
            error => Self::work(error),
        }
    }
}
