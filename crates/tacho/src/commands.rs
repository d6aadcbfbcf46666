//! The commands. Most run a `flow` pipeline with their own sink.

#[cfg(feature = "web")]
pub(crate) mod agent;
mod append;
pub(crate) mod archive;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod cpi;
mod database;
pub(crate) mod list;
pub(crate) mod manifest;
#[cfg(feature = "screen")]
pub(crate) mod monitor;
mod output_format;
pub(crate) mod overview;
pub(crate) mod query;
pub(crate) mod record;
pub(crate) mod relog;
mod row_output;
#[cfg(feature = "web")]
mod sampled_export;
#[cfg(feature = "web")]
pub(crate) mod serve;
pub(crate) mod sql;
pub(crate) mod stats;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{Selection, WindowBounds};
use tachograph_monitor::{View, damage_notice};

use crate::failure::{Failure, notify};

/// Checks each file. The exit status is 0 if all are intact, otherwise 1. If a file cannot be read, reports why and
/// continues with the next.
fn check_each(
    files: &[PathBuf],
    mut check: impl FnMut(&Path) -> Result<bool, Failure>,
) -> Result<ExitCode, Failure> {
    let mut has_errors = false;
    for file in files {
        match check(file) {
            Ok(is_intact) => has_errors |= !is_intact,
            Err(failure) if failure.is_broken_pipe() => return Err(failure),
            Err(failure) => {
                failure.report();
                has_errors = true;
            }
        }
    }
    Ok(ExitCode::from(u8::from(has_errors)))
}

/// Opens a saved view; returns an empty view if `file` is `None`.
fn open_view(file: Option<&Path>) -> Result<View, Failure> {
    file.map_or_else(|| Ok(View::default()), |file| View::find(file).map_err(Failure::usage))
}

/// Reports damage and guessed encodings of logs on standard error.
fn notify_problems(reports: &[LogReport]) {
    guessed_encoding_messages(reports).chain(problem_messages(reports)).for_each(notify);
}

fn guessed_encoding_messages(reports: &[LogReport]) -> impl Iterator<Item = String> {
    reports.iter().filter_map(|report| {
        let encoding = report.guessed_encoding()?;
        let path = report.path().display();
        Some(format!("{path}: read as {encoding}, guessed from its bytes; use --encoding to choose another"))
    })
}

fn problem_messages(reports: &[LogReport]) -> Vec<String> {
    reports.iter().filter_map(damage_notice).collect()
}

/// A message for each path that matches nothing in the logs.
fn unmatched_in_logs(selection: &Selection) -> Vec<String> {
    let message = |(path, advice): &(String, Option<String>)| match advice {
        Some(advice) => format!("'{path}' is not in the log: {advice}"),
        None => format!("'{path}' is not in the log; 'tacho list FILE' lists its counters"),
    };
    selection.unmatched().iter().map(message).collect()
}

/// Reports counter paths that match nothing in the logs; fails if no path matches.
fn notify_unmatched(query: &LogQuery) -> Result<(), Failure> {
    // If no sample was read, no path can match; `no_sample` reports that instead.
    if query.selection.has_seen_no_set() {
        return Ok(());
    }
    let lines = unmatched_in_logs(&query.selection);
    if !query.selection.is_everything() && lines.len() == query.selection.len() {
        return Err(Failure::usage_messages(lines));
    }
    lines.iter().for_each(notify);
    Ok(())
}

/// The failure if no sample is in the time range, or in the logs.
fn no_sample(query: &LogQuery) -> Failure {
    let files = files_of(query);
    if query.bounds == WindowBounds::default() {
        return Failure::runtime(format!("{files}: no samples"));
    }
    Failure::runtime(match covered(query) {
        Some((first, last)) => {
            format!(
                "{files}: no samples in this time range; {} samples are from {} to {}",
                if query.paths.len() == 1 { "its" } else { "their" },
                list::local(first),
                list::local(last)
            )
        }
        None => format!("{files}: no samples, in this time range or any other"),
    })
}

/// The times of the first and the last sample of the logs, ignoring the query's time range. `None` if there are no samples, or
/// if they cannot be read.
fn covered(query: &LogQuery) -> Option<(Moment, Moment)> {
    let all = LogQuery { bounds: WindowBounds::default(), ..query.clone() };
    let mut pipeline = all.samples().ok()?;
    let mut sample = Sample::default();
    let mut covered: Option<(Moment, Moment)> = None;
    while pipeline.source.next(&mut sample).ok()? {
        covered = Some((covered.map_or(sample.at, |(first, _)| first), sample.at));
    }
    covered
}

/// The failure if the logs have samples without values, because no counter set ever had an instance.
fn no_value(query: &LogQuery) -> Failure {
    let what = "no values in its samples: no counter set had an instance";
    Failure::runtime(format!("{}: {what}; 'tacho list FILE' lists its counters", files_of(query)))
}

fn files_of(query: &LogQuery) -> String {
    let files: Vec<_> = query.paths.iter().map(|path| path.display().to_string()).collect();
    files.join(", ")
}
