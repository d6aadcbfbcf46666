//! `tacho record`: records counters of this machine to a log.

mod record_options;
mod shared_recorder;
mod summary;

use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use signal_hook::consts::{SIGINT, SIGTERM};
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{LiveCounts, LiveOptions, Schedule, Stop};
use tachograph_flow::record::Recorder;
use tachograph_flow::{FlowError, Sink, Source};
use tachograph_monitor::{Catalogue as _, MachineCatalogue, View};
use tachograph_perflib::Registry;

use crate::arguments::RecordArguments;
use crate::failure::{Failure, cannot_create, is_a_folder, notify};
use crate::signals;
use crate::table::counted;
use crate::this_machine::{self, Live};
use shared_recorder::{Recording, SharedRecorder};
use summary::End;

pub(crate) fn run(arguments: &RecordArguments) -> Result<ExitCode, Failure> {
    let mut view = super::open_view(arguments.view.as_deref())?;
    let interval = arguments.live.interval_or(view.interval);
    let mut log = record_options::record_options(arguments, interval)?;
    let registry = this_machine::registry()?;
    arguments.live.check_machine(&registry)?;
    this_machine::resolve_view(&registry, &mut view)?.iter().for_each(notify);
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
    let mut live = this_machine::open(&registry, &paths, options, schedule)?;
    signals::stop_on(&stop, &[SIGINT, SIGTERM])?;
    let shared = SharedRecorder::default();
    shared.handle_hangups(&stop)?;
    let max = log.max_bytes;
    log.zone = live.zone.clone();
    let utc = FileTime::from_system_time(SystemTime::now());
    let now = Moment { utc, bias_minutes: log.zone.bias_minutes };
    let mut recorder = Recorder::create(log, now).map_err(start_failure)?;
    recorder.on_moved(|moved| notify(moved));
    shared.lock().recorder = Some(recorder);
    let mut counts = LiveCounts::default();
    let outcome = record(&mut live, &shared, &mut counts);
    this_machine::notify_new_problems(&live.report);
    let Recording { recorder: Some(recorder), .. } = std::mem::take(&mut *shared.lock()) else {
        return outcome.map(|()| ExitCode::SUCCESS).map_err(Failure::of_writing);
    };
    let is_begun = recorder.summary().samples > 0;
    if is_begun || outcome.is_ok() {
        let end = match max.filter(|_| recorder.is_full()) {
            _ if outcome.is_err() => End::Failed,
            Some(bytes) => End::Full(bytes),
            None => End::Requested,
        };
        notify(summary::line(recorder.summary(), counts, end));
    }
    match outcome {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // Nothing was written: the log cannot store these counters, or cannot be written.
        Err(error) if !is_begun => Err(start_failure(error)),
        Err(error) => Err(Failure::of_writing(error)),
    }
}

/// Records all samples. Sets `counts` to the problems up to the last sample that was written.
fn record(live: &mut Live, shared: &SharedRecorder, counts: &mut LiveCounts) -> Result<(), FlowError> {
    let mut sample = Sample::default();
    let mut is_late_notified = false;
    while live.source.next(&mut sample)? {
        // The SIGHUP handler can end the recording with an error, which is returned below.
        let Recording { recorder: Some(recorder), error: None } = &mut *shared.lock() else { break };
        recorder.push(&sample)?;
        *counts = live.report.counts();
        this_machine::notify_new_problems(&live.report);
        if recorder.summary().samples == 1 {
            notify_cut_row(recorder);
            this_machine::notify_first(&live.source.live().missing_instances(), "such paths", |path| {
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
        (None, Some(recorder)) => recorder.finish(),
        (None, None) => Ok(()),
    }
}

/// Reports a partial row that was removed from the end of the log before appending.
fn notify_cut_row(recorder: &Recorder) {
    let summary = recorder.summary();
    if summary.cut_bytes > 0 {
        let bytes = counted(summary.cut_bytes, "byte", "bytes");
        let file = summary.first_file.display();
        notify(format_args!("{file}: removed a partial row at the end ({bytes})"));
    }
}

/// The requested paths and those of the view. If both are empty, reports and returns the default counters.
fn paths(
    registry: &Arc<Registry>,
    arguments: &RecordArguments,
    view: &View,
) -> Result<Vec<PathPattern>, Failure> {
    let mut paths = arguments.live.patterns(registry)?;
    for path in view.paths() {
        paths.push(this_machine::local_path(registry, path)?);
    }
    // The log also has the counters of the view's tables.
    let of_tables = view.table_paths(&MachineCatalogue(Arc::clone(registry)).sets());
    paths.extend(of_tables.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
    if paths.is_empty() {
        paths = this_machine::default_counters(registry)?;
        let names: Vec<_> = paths.iter().map(|path| format!(r"'\\{}{path}'", registry.machine())).collect();
        notify(format_args!(
            "recording only {} totals: {}; '--view overview' records more, '--view processes' also the processes, '--all' everything",
            names.len(),
            names.join(", ")
        ));
    }
    Ok(paths)
}

/// Converts an error from starting a recording to a message with advice.
fn start_failure(error: FlowError) -> Failure {
    let FlowError::Log(log) = &error else { return error.into() };
    if log.is_unsupported() {
        return Failure::usage(error);
    }
    let (Some(io), Some(file)) = (log.io_error(), log.path()) else { return error.into() };
    let named = |what: &str| format!("{}{what}", file.display());
    match io.kind() {
        ErrorKind::AlreadyExists => {
            Failure::usage(named(" exists: use -y to overwrite it, -a to append to it, or another name"))
        }
        ErrorKind::ResourceBusy => {
            Failure::usage(named(": another recorder is writing it; use another name, or stop that recorder"))
        }
        ErrorKind::IsADirectory => is_a_folder(file),
        ErrorKind::NotFound => cannot_create(file),
        _ => Failure::of_writing(error),
    }
}
