//! `tacho monitor`: the terminal monitor.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use tachograph_counters::path::PathPattern;
use tachograph_flow::Selection;
use tachograph_flow::live::LiveOptions;
use tachograph_flow::query::LogQuery;
use tachograph_machine::Machine;
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{Chosen, LiveBoard, View};
use tachograph_perflib::FREQUENCY;
use tachograph_screen::{DEFAULT_POINTS, End, Live, Logs, ScreenError, Source, Theme, ThemeChoice};
use tachograph_system::{OnlineProcessors, Roots};

use super::{problem_messages, unmatched_in_logs};
use crate::arguments::{MonitorArguments, is_sql_log};
use crate::failure::{Failure, notify};
use crate::process_properties::MachineProperties;
use crate::table::counted;
use crate::{allocator, machines, signals, this_machine};

/// Whether standard input and output are a terminal that supports a full-screen display.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb()
}

/// Whether the terminal does not support cursor movement, such as a shell inside an editor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

pub(crate) fn run(arguments: &MonitorArguments) -> Result<ExitCode, Failure> {
    allocator::return_large_blocks();
    let (query, paths) = arguments.query()?;
    let mut view = super::open_view(arguments.view.as_deref())?;
    if !has_terminal() {
        return Err(Failure::usage(if is_dumb() {
            "the monitor cannot use a dumb terminal (TERM=dumb); 'tacho query' and 'tacho stats' print lines"
        } else {
            "the monitor needs a terminal as standard input and output; 'tacho query' and 'tacho stats' print to files and pipes"
        }));
    }
    view.interval = arguments.interval.or(view.interval);
    view.points = arguments.points.or(view.points);
    let is_default_view = arguments.view.is_none() && paths.is_empty();
    if is_default_view {
        view = with_overview(view);
    }
    let look = Look { theme: theme(arguments.theme()), numbers: arguments.numbers.form(), is_default_view };
    if let Some(name) = &arguments.machine {
        machines(name, paths, view, look)
    } else if query.paths.is_empty() {
        this_machine(paths, view, look)
    } else {
        let are_paths_required = !paths.is_empty();
        view.add_counters(paths.into_iter().map(Chosen::new));
        logs(query, are_paths_required, view, look)
    }
}

/// Shows an overview of this machine.
pub(crate) fn run_default() -> Result<ExitCode, Failure> {
    allocator::return_large_blocks();
    let look =
        Look { theme: theme(ThemeChoice::Detect), numbers: NumberForm::default(), is_default_view: true };
    this_machine(Vec::new(), with_overview(View::default()), look)
}

/// The overview, with the interval and the number of points of `view`.
fn with_overview(view: View) -> View {
    let overview = View::ready_made("overview").unwrap_or_default();
    View { interval: view.interval, points: view.points, ..overview }
}

/// How the monitor opens.
struct Look {
    theme: Theme,
    numbers: NumberForm,
    /// Whether the user has chosen neither a view nor paths.
    is_default_view: bool,
}

fn theme(choice: ThemeChoice) -> Theme {
    Theme::detect(choice, |name| std::env::var(name).ok())
}

fn this_machine(paths: Vec<PathPattern>, mut view: View, look: Look) -> Result<ExitCode, Failure> {
    let machine = Machine::of_this_machine().map_err(Failure::runtime)?;
    let registry = machine.registry();
    let missing = this_machine::resolve_view(&registry, &mut view)?;
    let paths = paths.into_iter().map(|path| this_machine::local_path(&registry, path));
    view.add_counters(paths.collect::<Result<Vec<_>, _>>()?.into_iter().map(Chosen::new));
    if view.counters().next().is_none() && !view.has_table() {
        view.add_counters(this_machine::default_counters(&registry)?.into_iter().map(Chosen::new));
    }
    let paths = view.paths();
    let zone = this_machine::current_zone();
    let options = LiveOptions {
        bias_minutes: zone.bias_minutes,
        boot_time: this_machine::boot_time(),
        ..LiveOptions::default()
    };
    let points = view.points.unwrap_or(DEFAULT_POINTS);
    let (mut board, selection) =
        LiveBoard::open(&registry, &paths, points, options).map_err(Failure::runtime)?;
    let mut messages = this_machine::unmatched_here(&selection);
    if !paths.is_empty() && messages.len() == paths.len() {
        return Err(Failure::usage_messages(messages));
    }
    // Missing counters are not reported for the default view, which the user did not choose.
    if !look.is_default_view {
        messages.extend(missing);
    }
    board.follow(Box::new(move || machine.refresh()));
    let name = registry.machine().to_string();
    let source = Live {
        board,
        unmatched: this_machine::unmatched_here,
        reason: this_machine::absence_of_counter,
        name,
        about: about_this_machine(),
        zone,
        frequency: FREQUENCY,
        properties: Some(Box::new(MachineProperties::new(&Roots::of_this_machine()))),
    };
    show(Source::Live(Box::new(source)), view, look, messages)
}

/// A sample waits for other machines for a share of the interval. The share of a longer interval than this one is that of this
/// one, because the screen does not respond to keys during the wait.
const MAX_WAITED_INTERVAL: Duration = Duration::from_millis(400);

/// The advice about machines that are late for the screen.
const WAIT_LONGER: &str = "'tacho query -s' and 'tacho record -s' wait longer";

/// Shows the machines that a name selects.
fn machines(name: &str, paths: Vec<PathPattern>, mut view: View, look: Look) -> Result<ExitCode, Failure> {
    let machine = Machine::of_this_machine().map_err(Failure::runtime)?;
    let targets = machines::named(&machine.registry(), Some(name))?;
    // The view is resolved for one of the machines, because agents of a fleet usually have similar sets.
    let known = targets.iter().find(|target| target.registry.counter_sets().next().is_some());
    let registry = known.map_or_else(|| machine.registry(), |target| Arc::clone(&target.registry));
    let missing = this_machine::resolve_view_there(&registry, &mut view)?;
    view.add_counters(paths.into_iter().map(Chosen::new));
    if view.counters().next().is_none() && !view.has_table() {
        view.add_counters(this_machine::default_counters(&registry)?.into_iter().map(Chosen::new));
    }
    let paths = view.paths();
    let zone = this_machine::current_zone();
    let options = LiveOptions { bias_minutes: zone.bias_minutes, ..LiveOptions::default() };
    let (shown, about) = match &targets[..] {
        [target] => (target.name().to_string(), String::new()),
        targets => (name.to_owned(), counted(targets.len() as u64, "machine", "machines")),
    };
    let waited = view.interval.unwrap_or(MAX_WAITED_INTERVAL).min(MAX_WAITED_INTERVAL);
    let follow = Box::new(move || machine.refresh());
    let (source, _) =
        machines::source(targets, &options, waited, Some(follow), WAIT_LONGER).map_err(Failure::runtime)?;
    let points = view.points.unwrap_or(DEFAULT_POINTS);
    let (board, selection) = LiveBoard::of_machines(source, registry, &paths, points);
    let mut messages = unmatched_on_machines(&selection);
    if !paths.is_empty() && messages.len() == paths.len() {
        return Err(Failure::usage_messages(messages));
    }
    if !look.is_default_view {
        messages.extend(missing);
    }
    let source = Live {
        board,
        unmatched: unmatched_on_machines,
        // The reasons of this machine do not apply to others.
        reason: |_, _| None,
        name: shown,
        about,
        zone,
        frequency: FREQUENCY,
        // Properties are read from files of this machine, so other machines have none.
        properties: None,
    };
    show(Source::Live(Box::new(source)), view, look, messages)
}

/// A message for each path that matches nothing on any of several machines.
fn unmatched_on_machines(selection: &Selection) -> Vec<String> {
    let message = |(path, advice): (String, Option<String>)| match advice {
        Some(advice) => format!("'{path}' is on none of the machines: {advice}"),
        None => format!("'{path}' is on none of the machines; 'tacho list -s MACHINE' lists their counters"),
    };
    selection.unmatched().into_iter().map(message).collect()
}

/// Describes this machine: its number of online processors.
fn about_this_machine() -> String {
    let mut online = OnlineProcessors::new(&Roots::of_this_machine());
    online.read().map_or_else(|_| String::new(), |ids| counted(ids.len() as u64, "processor", "processors"))
}

fn logs(query: LogQuery, are_paths_required: bool, mut view: View, look: Look) -> Result<ExitCode, Failure> {
    refuse_sets(&query.paths)?;
    // Open the logs once, to report errors before the screen opens.
    drop(query.samples()?);
    view.begin = query.bounds.begin.or(view.begin);
    view.end = query.bounds.end.or(view.end);
    let logs = Logs {
        files: query.paths,
        reading: query.reading,
        are_paths_required,
        is_default_view: look.is_default_view,
        unmatched: unmatched_in_logs,
        problems: |board| problem_messages(board.reports()),
    };
    show(Source::Logs(logs), view, look, Vec::new())
}

/// Rejects the name of a counter set, which would otherwise be treated as the name of a log.
fn refuse_sets(files: &[PathBuf]) -> Result<(), Failure> {
    let is_missing = |file: &&PathBuf| !is_sql_log(file) && !file.exists();
    let mut missing = files.iter().filter(is_missing).filter_map(|file| file.to_str()).peekable();
    if missing.peek().is_none() {
        return Ok(());
    }
    let registry = this_machine::registry()?;
    match missing.find_map(|name| Some((name, registry.find(name)?))) {
        Some((name, set)) => Err(Failure::usage(this_machine::set_in_place_of_path(name, set))),
        None => Ok(()),
    }
}

fn show(source: Source, view: View, look: Look, notices: Vec<String>) -> Result<ExitCode, Failure> {
    let Look { theme, numbers, .. } = look;
    let ends = signals::not_ignored(&[SIGTERM, SIGHUP, SIGINT, SIGQUIT]);
    let End { signal, notice } = match tachograph_screen::run(source, view, theme, numbers, notices, &ends) {
        Err(ScreenError::Recording { outcome, error }) => {
            notify(&outcome);
            return Err((*error).into());
        }
        ended => ended?,
    };
    notice.iter().for_each(notify);
    // Exit with the status that shells report for a signal.
    Ok(signal.and_then(|signal| u8::try_from(128 + signal).ok()).map_or(ExitCode::SUCCESS, ExitCode::from))
}

impl From<ScreenError> for Failure {
    fn from(error: ScreenError) -> Self {
        match error {
            ScreenError::Flow(error) => error.into(),
            ScreenError::Usage(lines) => Self::usage_messages(lines),
            error => Self::runtime(error),
        }
    }
}
