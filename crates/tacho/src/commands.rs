//! The commands: each a pipeline of `flow` with its own end.

mod append;
pub(crate) mod check;
pub(crate) mod list;
pub(crate) mod relog;
pub(crate) mod stats;

use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;

use crate::failure::Failure;
use crate::table::grouped;

/// Says on standard error what was left out of damaged logs.
fn notice_problems(reports: &[LogReport]) {
    for report in reports {
        let problems = report.problems();
        let Some(first) = problems.list().first() else { continue };
        let path = report.path().display();
        let places = match problems.count() {
            1 => "1 damaged place was".to_owned(),
            count => format!("{} damaged places were", grouped(&count.to_string())),
        };
        eprintln!("tacho: {path}: {places} left out, the first at {first}; 'tacho check {path}' lists them");
    }
}

/// Says on standard error which counter paths are in none of the logs. An error when that holds for all of them.
fn notice_unmatched(query: &LogQuery) -> Result<(), Failure> {
    let unmatched = query.selection.unmatched();
    let message = |(path, advice): &(String, Option<String>)| match advice {
        Some(advice) => format!("'{path}' is not in the log: {advice}"),
        None => format!("'{path}' is not in the log; 'tacho list FILE' shows what is"),
    };
    let lines: Vec<_> = unmatched.iter().map(message).collect();
    if !query.selection.is_everything() && unmatched.len() == query.selection.len() {
        return Err(Failure::usage(lines.join("\n")));
    }
    for line in lines {
        eprintln!("tacho: {line}");
    }
    Ok(())
}
