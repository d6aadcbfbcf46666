//! `tacho record`: records counters of this machine to a log.

mod archive_options;
mod database_options;
mod log_output;
mod record_options;
mod shared_recorder;
mod summary;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use signal_hook::consts::{SIGINT, SIGTERM};
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_export::Export;
use tachograph_flow::live::{LiveCounts, LiveOptions, Schedule, Stop};
use tachograph_flow::{FlowError, Source};
use tachograph_logs::output_file::is_locked;
use tachograph_metrics::MetricsOptions;
use tachograph_monitor::{Catalogue as _, MachineCatalogue, View, damage_text};

use crate::arguments::RecordArguments;
use crate::failure::{Failure, cannot_open, notify};
use crate::machines::{self, Target};
use crate::table::counted;
use crate::this_machine::{self, Live};
use crate::{allocator, exports, signals};
use log_output::{LogOutput, LogTarget};
use shared_recorder::{Recording, SharedRecorder};
use summary::End;

pub(crate) fn run(arguments: &RecordArguments) -> Result<ExitCode, Failure> {
    allocator::prefer_small();
    let view = super::open_view(arguments.view.as_deref())?;
    let interval = arguments.live.interval_or(view.interval);
    let registry = this_machine::registry()?;
    let mut targets = arguments.live.targets(&registry)?;
    let is_this_machine = matches!(&targets[..], [target] if target.is_this_machine());
    let default_notice = add_paths(&mut targets, &view)?;
    let machines = targets.iter().map(|target| Arc::clone(target.registry.machine())).collect();
    let mut log = LogTarget::new(arguments, interval, machines)?;
    if !is_this_machine && !arguments.export.targets.is_empty() {
        return Err(Failure::usage("--to sends counters of this machine: run it on the other machine"));
    }
    let stop = Stop::default();
    let options = LiveOptions { pairs_by_identity: log.is_formatted(), ..LiveOptions::default() };
    let schedule = Schedule {
        interval,
        samples: arguments.live.samples,
        duration: arguments.duration,
        has_baseline: false,
        stop: stop.clone(),
    };
    let metrics = MetricsOptions {
        selection: targets[0].paths.clone(),
        mounts: Some(exports::mounts_now()),
        ..MetricsOptions::default()
    };
    let mut live = match is_this_machine {
        true => this_machine::open(&registry, &targets[0].paths, options, schedule)?,
        false => machines::open(targets, options, schedule, None)?,
    };
    let _pipe = log.wait_for_reader()?;
    signals::stop_on(&stop, &[SIGINT, SIGTERM])?;
    let shared = SharedRecorder::default();
    shared.handle_hangups(&stop)?;
    let max = log.max_bytes();
    log.set_zone(&live.zone);
    let utc = FileTime::from_system_time(SystemTime::now());
    let now = Moment { utc, bias_minutes: live.zone.bias_minutes };
    // Started before the log is created, so that a failure leaves no empty log.
    let mut export = exports::start(&arguments.export, &registry, metrics)?;
    let mut recorder = log.create(now).map_err(start_failure)?;
    default_notice.iter().for_each(notify);
    recorder.notify_events();
    shared.lock().recorder = Some(recorder);
    let mut counts = LiveCounts::default();
    let outcome = record(&mut live, &shared, &mut counts, export.as_mut(), arguments.print_times);
    export.into_iter().for_each(exports::finish);
    this_machine::notify_new_problems(&live.report);
    let Recording { recorder: Some(recorder), .. } = std::mem::take(&mut *shared.lock()) else {
        return outcome.map(|()| ExitCode::SUCCESS).map_err(Failure::of_writing);
    };
    let has_begun = recorder.summary().samples > 0;
    if has_begun || outcome.is_ok() {
        let end = match max.filter(|_| recorder.is_full()) {
            _ if outcome.is_err() => End::Failed,
            Some(bytes) => End::Full(bytes),
            None => End::Requested,
        };
        this_machine::notify_silent_machines(&live.report);
        notify(summary::line(recorder.summary(), counts, recorder.dropped(), end));
    }
    match outcome {
        // All samples were dropped.
        Ok(()) if !has_begun && recorder.dropped() > 0 => Ok(ExitCode::FAILURE),
        Ok(()) => Ok(ExitCode::SUCCESS),
        // Nothing was written: the log cannot store these counters, or cannot be written.
        Err(error) if !has_begun => Err(start_failure(error)),
        Err(error) => Err(Failure::of_writing(error)),
    }
}

/// Records all samples, and sends them. Sets `counts` to the numbers of problems up to the last sample that was
/// written.
fn record(
    live: &mut Live,
    shared: &SharedRecorder,
    counts: &mut LiveCounts,
    mut export: Option<&mut Export>,
    prints_times: bool,
) -> Result<(), FlowError> {
    let mut sample = Sample::default();
    let mut is_late_notified = false;
    let mut clock = ClockSetBack::default();
    while live.source.next(&mut sample)? {
        // The SIGHUP handler can end the recording with an error, which is returned below.
        let Recording { recorder: Some(recorder), error: None } = &mut *shared.lock() else { break };
        let before = recorder.summary().samples;
        recorder.push(&sample)?;
        if let (Some(export), Some(source)) = (&mut export, live.source.this_machine()) {
            export.push(source.query(), sample.at.utc);
        }
        recorder.notify_events();
        if prints_times && recorder.summary().samples > before {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}", sample.at.utc.0).and_then(|()| out.flush()).map_err(FlowError::Output)?;
        }
        *counts = live.report.counts();
        clock.notice(*counts, sample.at).into_iter().for_each(notify);
        this_machine::notify_new_problems(&live.report);
        if recorder.summary().samples == 1 {
            notify_existing_end(recorder);
            this_machine::notify_first(&live.source.missing_instances(), "such paths", |path| {
                format!("'{path}': no such instance now; it is recorded as soon as it appears")
            });
        }
        if !is_late_notified && let Some(late) = recorder.without_column() {
            notify(format_args!(
                "'{late}' appeared after the first row and has no column; a BLG (-f bin) includes such instances"
            ));
            is_late_notified = true;
        }
        if recorder.is_full() {
            break;
        }
    }
    let Recording { recorder, error } = &mut *shared.lock();
    match (error.take(), recorder) {
        (Some(error), _) => Err(error),
        (None, Some(recorder)) => {
            let finished = recorder.finish();
            recorder.notify_events();
            finished
        }
        (None, None) => Ok(()),
    }
}

/// Whether the clock was set back and has not caught up with the last sample.
#[derive(Default)]
struct ClockSetBack {
    /// [`LiveCounts::clock_steps`] after the last sample.
    steps: u64,
    is_behind: bool,
}

impl ClockSetBack {
    /// Returns a message for the first sample after the clock was set back.
    fn notice(&mut self, counts: LiveCounts, at: Moment) -> Option<String> {
        let is_behind = counts.clock_steps > std::mem::replace(&mut self.steps, counts.clock_steps);
        let was_behind = std::mem::replace(&mut self.is_behind, is_behind);
        (is_behind && !was_behind).then(|| {
            format!("the clock was set back: until it shows a later time than {at}, samples are 1 ms apart (rates stay correct)")
        })
    }
}

/// Reports what was wrong with the log before appending: a partial row that was removed from its end, or damage of a BLG.
fn notify_existing_end(recorder: &LogOutput) {
    let summary = recorder.summary();
    if let Some(damage) = damage_text(&summary.first_file, &summary.existing_problems) {
        let last = summary.appended_to.map(|last| format!("; the last intact sample is at {last}"));
        notify(damage + &last.unwrap_or_default());
    }
    if summary.cut_bytes > 0 {
        let bytes = counted(summary.cut_bytes, "byte", "bytes");
        let file = summary.first_file.display();
        notify(format_args!("{file}: removed a partial row at the end ({bytes})"));
    }
}

/// Adds the paths of the view, resolved for each machine, to the requested paths. If there are none of either, adds
/// the default counters of each machine, and returns the message about them.
fn add_paths(targets: &mut [Target], view: &View) -> Result<Option<String>, Failure> {
    let messages = add_view_paths(targets, view)?;
    match targets {
        [_] => messages.iter().for_each(notify),
        _ => this_machine::notify_first(&messages, "such messages", Clone::clone),
    }
    if targets.iter().any(|target| !target.paths.is_empty()) {
        return Ok(None);
    }
    let mut names = Vec::new();
    for target in targets {
        target.paths = this_machine::default_counters(&target.registry)?;
        let machine = target.registry.machine();
        names.extend(target.paths.iter().map(|path| format!(r"'\\{machine}{path}'")));
    }
    Ok(Some(format!(
        "recording only {} totals: {}; '--view overview' records more, '--view processes' also the processes, '--all' everything",
        names.len(),
        names.join(", ")
    )))
}

/// Adds the paths of the view, resolved for each machine. Returns messages about what is omitted, including machines that
/// have none of the view's counters. Returns an error if no machine has any.
fn add_view_paths(targets: &mut [Target], view: &View) -> Result<Vec<String>, Failure> {
    let is_only = targets.len() == 1;
    let mut messages = MachineMessages::default();
    let mut failures: Vec<Failure> = Vec::new();
    for target in &mut *targets {
        let mut view = view.clone();
        let resolved = match target.is_this_machine() {
            true => this_machine::resolve_view(&target.registry, &mut view),
            false => this_machine::resolve_view_there(&target.registry, &mut view),
        };
        match resolved {
            Ok(missing) => missing.into_iter().for_each(|message| messages.add(target.name(), message)),
            Err(failure) => {
                if !is_only {
                    let why = failure.messages().iter().cloned();
                    why.for_each(|why| messages.add(target.name(), why));
                }
                failures.push(failure);
                continue;
            }
        }
        for path in view.paths() {
            match is_only {
                true => target.paths.push(this_machine::local_path(&target.registry, path)?),
                false if path.matches_machine(target.registry.machine()) => target.add(&path),
                false => {}
            }
        }
        // The log also has the counters of the view's tables.
        let table_paths = view.table_paths(&MachineCatalogue(Arc::clone(&target.registry)).sets());
        let name = Arc::clone(target.name());
        for path in table_paths.iter().filter(|path| path.matches_machine(&name)) {
            let path = path.without_machine();
            if !target.paths.contains(&path) {
                target.paths.push(path);
            }
        }
    }
    if failures.len() == targets.len() {
        return Err(Failure::merge(failures));
    }
    Ok(messages.lines(is_only))
}

/// Messages about machines: the first machine, the number of other machines with an equal message, and the message.
#[derive(Default)]
struct MachineMessages(Vec<(Arc<str>, usize, String)>);

impl MachineMessages {
    fn add(&mut self, machine: &Arc<str>, message: String) {
        match self.0.iter_mut().find(|(_, _, known)| *known == message) {
            Some((_, others, _)) => *others += 1,
            None => self.0.push((Arc::clone(machine), 0, message)),
        }
    }

    /// The messages, with the name of the first machine unless there is only one.
    fn lines(self, is_only: bool) -> Vec<String> {
        let line = |(machine, others, message): (Arc<str>, usize, String)| match (is_only, others) {
            (true, _) => message,
            (false, 0) => format!(r"\\{machine}: {message}"),
            (false, 1) => format!(r"\\{machine} and another machine: {message}"),
            (false, others) => format!(r"\\{machine} and {others} other machines: {message}"),
        };
        self.0.into_iter().map(line).collect()
    }
}

/// Converts an error from starting a recording to a message with advice.
fn start_failure(error: FlowError) -> Failure {
    let FlowError::Log(log) = &error else { return error.into() };
    if log.is_unsupported() && !log.is_not_later() {
        return Failure::usage(error);
    }
    let (Some(io), Some(file)) = (log.io_error(), log.path()) else { return error.into() };
    let named = |what: &str| format!("{}{what}", file.display());
    match io.kind() {
        ErrorKind::AlreadyExists => {
            Failure::usage(named(" exists: use -y to overwrite it, -a to append to it, or another name"))
        }
        _ if is_locked(io) => cannot_open(file, ErrorKind::ResourceBusy),
        ErrorKind::IsADirectory => Failure::usage(named(
            ": this is a folder, not a file; -f archive records into the folder of an archive",
        )),
        ErrorKind::NotADirectory => match file.ancestors().skip(1).find(|folder| folder.is_file()) {
            Some(folder) => Failure::usage(format!("{}: this is a file, not a folder", folder.display())),
            None => Failure::usage(named(": this is a file; an archive is a folder: use another name")),
        },
        ErrorKind::NotFound => cannot_open(file, ErrorKind::NotFound),
        _ => Failure::of_writing(error),
    }
}

#[cfg(test)]
mod tests {
    use tachograph_perflib::{Clock, Registry};

    use super::*;

    #[test]
    fn each_time_that_the_clock_is_set_back_is_reported_once() {
        let mut clock = ClockSetBack::default();
        let at = Moment { utc: FileTime(133_540_992_000_000_000), bias_minutes: 0 };
        let notices = [0, 0, 1, 2, 2, 2, 3]
            .map(|clock_steps| clock.notice(LiveCounts { clock_steps, ..LiveCounts::default() }, at));
        let text = "the clock was set back: until it shows a later time than 2024-03-05T08:00:00.000+00:00, samples are 1 ms apart \
                    (rates stay correct)";
        let reported = Some(text.to_owned());
        assert_eq!(notices, [None, None, reported.clone(), None, None, None, reported]);
    }

    #[test]
    fn a_machine_without_the_counters_of_a_view_is_reported() {
        let known = this_machine::registry().expect("this machine");
        let empty = |name| Arc::new(Registry::new(name, Clock::of_this_machine()));
        let targets =
            |registries: &[Arc<Registry>]| -> Vec<_> { registries.iter().map(Target::of_registry).collect() };
        let view = View::ready_made("cpu").expect("a view");
        let mut some = targets(&[known, empty("empty"), empty("bare")]);
        let messages = add_view_paths(&mut some, &view).expect("one machine has the counters");
        let of_empty =
            |line: &&String| line.starts_with(r"\\empty and another machine: nothing to show in the view");
        assert_eq!(messages.iter().filter(of_empty).count(), 1, "{messages:?}");
        assert!(!some[0].paths.is_empty() && some[1].paths.is_empty());
        assert!(add_view_paths(&mut targets(&[empty("empty"), empty("bare")]), &view).is_err());
    }

    #[test]
    fn the_table_of_one_machine_is_recorded_on_that_machine() {
        let known = this_machine::registry().expect("this machine");
        let paths_of = |machine: &str| {
            let text = format!(
                "version = 2\n[[panel]]\nkind = 'table'\nset = 'Process'\nmachine = '{machine}'\ncolumns = ['ID Process']"
            );
            let mut targets = [Target::of_registry(&known)];
            add_view_paths(&mut targets, &View::parse(&text).expect("a view")).expect("resolved");
            targets[0].paths.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(paths_of("another"), Vec::<String>::new());
        let own = paths_of(known.machine());
        assert!(own.contains(&r"\Process(*)\ID Process".to_owned()), "{own:?}");
    }

    #[test]
    fn reasons_of_this_machine_are_not_given_for_others() {
        let registry = Arc::new(Registry::new("web1", Clock::of_this_machine()));
        let view = View::ready_made("cpu").expect("a view");
        let failure = this_machine::resolve_view_there(&registry, &mut view.clone());
        let failure = failure.expect_err("it has no sets");
        assert!(failure.messages()[0].ends_with(": not available there"), "{failure:?}");
    }
}
