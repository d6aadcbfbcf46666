//! `tacho record`: raw values of this machine's counters into a log.

mod hangup;
mod plan;
mod summary;

use std::io::ErrorKind;
use std::process::ExitCode;
use std::time::SystemTime;

use signal_hook::consts::{SIGINT, SIGTERM};
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{LiveCounts, LiveOptions, Schedule, Stop};
use tachograph_flow::record::Recorder;
use tachograph_flow::{FlowError, Sink, Source};
use tachograph_monitor::View;
use tachograph_perflib::Registry;

use crate::arguments::RecordArguments;
use crate::failure::{Failure, no_place, say};
use crate::live::{self, Live};
use crate::signals;
use crate::table::counted;
use hangup::{Recording, SharedRecorder};
use summary::End;

pub(crate) fn run(arguments: &RecordArguments) -> Result<ExitCode, Failure> {
    let view = match &arguments.view {
        Some(file) => View::open(file).map_err(Failure::usage)?,
        None => View::default(),
    };
    let interval = arguments.live.interval_or(view.interval);
    let mut log = plan::of(arguments, interval)?;
    let registry = live::this_machine()?;
    arguments.live.check_machine(&registry)?;
    let paths = paths(&registry, arguments, &view)?;
    let stop = Stop::default();
    let options = LiveOptions { pairs_by_identity: log.format.is_formatted(), ..LiveOptions::default() };
    let schedule = Schedule {
        interval,
        samples: arguments.live.samples,
        duration: arguments.duration,
        has_baseline: false,
        stop: stop.clone(),
    };
    let mut live = live::open(&registry, &paths, options, schedule)?;
    signals::stop_on(&stop, &[SIGINT, SIGTERM])?;
    let shared = SharedRecorder::default();
    shared.handle_hangups(&stop)?;
    let max = log.max_bytes;
    log.zone = live.zone.clone();
    let utc = FileTime::from_system_time(SystemTime::now());
    let now = Moment { utc, bias_minutes: log.zone.bias_minutes };
    let mut recorder = Recorder::create(log, now).map_err(refused)?;
    recorder.on_moved(|moved| say(moved));
    shared.lock().recorder = Some(recorder);
    let mut counts = LiveCounts::default();
    let outcome = record(&mut live, &shared, &mut counts);
    live::say_news(&live.report);
    let Recording { recorder: Some(recorder), .. } = std::mem::take(&mut *shared.lock()) else {
        return outcome.map(|()| ExitCode::SUCCESS).map_err(Failure::writing);
    };
    let is_begun = recorder.summary().samples > 0;
    if is_begun || outcome.is_ok() {
        let end = match max.filter(|_| recorder.is_full()) {
            _ if outcome.is_err() => End::Failed,
            Some(bytes) => End::Full(bytes),
            None => End::Asked,
        };
        say(summary::line(recorder.summary(), counts, end));
    }
    match outcome {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // Nothing was written: the log cannot take these counters, or not now.
        Err(error) if !is_begun => Err(refused(error)),
        Err(error) => Err(Failure::writing(error)),
    }
}

/// From the first sample to the last. `counts` is what went wrong up to the last one that was written.
fn record(live: &mut Live, shared: &SharedRecorder, counts: &mut LiveCounts) -> Result<(), FlowError> {
    let mut sample = Sample::default();
    let mut is_late_said = false;
    while live.source.next(&mut sample)? {
        // With an error, the handler of SIGHUP ended the recording: it is returned below.
        let Recording { recorder: Some(recorder), error: None } = &mut *shared.lock() else { break };
        recorder.take(&sample)?;
        *counts = live.report.counts();
        live::say_news(&live.report);
        if recorder.summary().samples == 1 {
            say_cut(recorder);
            live::say_some(&live.source.live().missing_instances(), "such paths", |path| {
                format!("'{path}': there is no such instance now; it is recorded when it comes")
            });
        }
        if !is_late_said && let Some(late) = recorder.without_column() {
            say(format_args!(
                "'{late}' came after the first row, so it has no column; a BLG (-f bin) takes in what comes later"
            ));
            is_late_said = true;
        }
        if recorder.is_full() {
            break;
        }
    }
    let Recording { recorder, error } = &mut *shared.lock();
    match (error.take(), recorder) {
        (Some(error), _) => Err(error),
        (None, Some(recorder)) => recorder.finish(),
        (None, None) => Ok(()),
    }
}

/// Says what was taken away from the log that is appended to.
fn say_cut(recorder: &Recorder) {
    let summary = recorder.summary();
    if summary.cut_bytes > 0 {
        let bytes = counted(summary.cut_bytes, "byte", "bytes");
        let file = summary.first_file.display();
        say(format_args!("{file}: its last row was cut short ({bytes}) and was removed"));
    }
}

/// The paths that are asked for, by themselves and by a view, or the default counters, which are named then.
fn paths(registry: &Registry, arguments: &RecordArguments, view: &View) -> Result<Vec<PathPattern>, Failure> {
    let mut paths = arguments.live.patterns(registry)?;
    for chosen in &view.counters {
        paths.push(live::here(registry, chosen.path.clone())?);
    }
    if paths.is_empty() {
        paths = live::default_counters(registry)?;
        let names: Vec<_> = paths.iter().map(|path| format!(r"'\\{}{path}'", registry.machine())).collect();
        say(format_args!("no counter is named, so these are recorded: {}", names.join(", ")));
    }
    Ok(paths)
}

/// Why a recording does not begin.
fn refused(error: FlowError) -> Failure {
    let FlowError::Log(log) = &error else { return error.into() };
    if log.is_unsupported() {
        return Failure::usage(error);
    }
    let (Some(io), Some(file)) = (log.io_error(), log.path()) else { return error.into() };
    let named = |what: &str| format!("{}{what}", file.display());
    match io.kind() {
        ErrorKind::AlreadyExists => {
            Failure::usage(named(" exists: give -y to overwrite it, -a to append to it, or another name"))
        }
        ErrorKind::ResourceBusy => {
            Failure::usage(named(": another recorder is writing it; give another name, or end that one"))
        }
        ErrorKind::IsADirectory => Failure::usage(named(": this is a folder")),
        ErrorKind::NotFound => no_place(file),
        _ => Failure::writing(error),
    }
}
