//! The commands: each a pipeline of `flow` with its own end.

mod append;
pub(crate) mod check;
pub(crate) mod cpi;
pub(crate) mod list;
pub(crate) mod manifest;
#[cfg(feature = "screen")]
pub(crate) mod monitor;
pub(crate) mod overview;
pub(crate) mod query;
pub(crate) mod record;
pub(crate) mod relog;
mod row_output;
#[cfg(feature = "web")]
pub(crate) mod serve;
pub(crate) mod stats;

use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{Selection, WindowBounds};

use crate::failure::{Failure, say};
use crate::table::counted;

/// Says on standard error what is damaged in logs, and what had to be guessed.
fn notice_problems(reports: &[LogReport]) {
    guess_lines(reports).chain(problem_lines(reports)).for_each(say);
}

/// Which encodings of text logs were guessed, a line for each.
fn guess_lines(reports: &[LogReport]) -> impl Iterator<Item = String> {
    reports.iter().filter_map(|report| {
        let encoding = report.guessed_encoding()?;
        let path = report.path().display();
        Some(format!("{path}: read as {encoding}, guessed from its bytes; give --encoding to choose"))
    })
}

/// What is damaged in logs, a line for each.
fn problem_lines(reports: &[LogReport]) -> Vec<String> {
    let line = |report: &LogReport| {
        let problems = report.problems();
        let first = problems.list().iter().find(|problem| !problem.is_note)?;
        let path = report.path().display();
        let places = counted(problems.count() - problems.notes(), "place", "places");
        Some(format!("{path}: damaged in {places}, the first at {first}; 'tacho check {path}' lists them"))
    };
    reports.iter().filter_map(line).collect()
}

/// What to say of paths that are in none of the logs.
fn log_complaints(selection: &Selection) -> Vec<String> {
    let message = |(path, advice): &(String, Option<String>)| match advice {
        Some(advice) => format!("'{path}' is not in the log: {advice}"),
        None => format!("'{path}' is not in the log; 'tacho list FILE' shows what is"),
    };
    selection.unmatched().iter().map(message).collect()
}

/// Says on standard error which counter paths are in none of the logs. An error when that holds for all of them.
fn notice_unmatched(query: &LogQuery) -> Result<(), Failure> {
    // Where no sample came by, no path could match: that is another message.
    if query.selection.met_nothing() {
        return Ok(());
    }
    let lines = log_complaints(&query.selection);
    if !query.selection.is_everything() && lines.len() == query.selection.len() {
        return Err(Failure::usages(lines));
    }
    lines.iter().for_each(say);
    Ok(())
}

/// There is nothing to show: no sample was in the window, or none in the logs at all.
fn no_sample(query: &LogQuery) -> Failure {
    let what = if query.bounds == WindowBounds::default() {
        "no sample in it"
    } else {
        "no sample in this window of time"
    };
    Failure::work(format!("{}: {what}; 'tacho list FILE' shows what a log covers", files_of(query)))
}

/// There are samples, and nothing in them: all counters are of instances that never were there.
fn no_value(query: &LogQuery) -> Failure {
    let what = "no value in its samples: none of its counter sets had an instance";
    Failure::work(format!("{}: {what}; 'tacho list FILE' shows its counters", files_of(query)))
}

fn files_of(query: &LogQuery) -> String {
    let files: Vec<_> = query.paths.iter().map(|path| path.display().to_string()).collect();
    files.join(", ")
}
