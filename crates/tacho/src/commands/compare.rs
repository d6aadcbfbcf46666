//! `tacho compare`: the averages of two logs side by side.

mod table;
mod totals;

use std::io::{self, BufWriter};
use std::process::ExitCode;
use std::sync::Arc;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{
    ComparedLog, ComparedRows, ComparisonOrder, ComparisonRow, ReportForm, compare, remove_equal_totals,
    remove_repeating_sets, sort_comparison, strongest_rows, write_comparison,
};
use tachograph_logs::Grouping;

use super::list::{duration, local};
use super::{files_of, no_sample, no_value, notify_problems, stats};
use crate::arguments::{CompareArguments, ReportFormat};
use crate::failure::{Failure, notify};
use crate::table::counted;
use crate::this_machine;
use table::{Frame, TableRow};

pub(crate) fn run(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    let mut queries = arguments.selection.queries(&arguments.files)?;
    let [before, after] = &mut queries[..] else {
        return Err(Failure::usage(format!(
            "name two logs, the earlier one first: 'tacho compare BEFORE AFTER'; {}",
            advice_for_one_log(&queries)
        )));
    };
    let (statistics_before, samples_before) = statistics_of(arguments, before)?;
    let (statistics_after, samples_after) = statistics_of(arguments, after)?;
    notify_unmatched(before, after)?;
    check_values([(before, &statistics_before), (after, &statistics_after)])?;
    let ranges = [statistics_before.range(), statistics_after.range()];
    let [rows_before, rows_after] = [statistics_before, statistics_after].map(ComparedRows::from);
    let machines = [rows_before.machine(), rows_after.machine()].map(Option::<&_>::cloned);
    let mut rows = compare(rows_before, rows_after);
    // The rows of two machines do not name them.
    let omits_machines = rows.iter().all(|row| row.machine.is_none());
    let [machine_before, machine_after] = machines.map(|machine| machine.filter(|_| omits_machines));
    let logs = [
        log_line("before", before, machine_before.as_deref(), ranges[0], samples_before),
        log_line("after", after, machine_after.as_deref(), ranges[1], samples_after),
    ];
    if let [Some((start, _)), Some((_, end))] = ranges
        && start.utc >= end.utc
    {
        notify(
            "the first log is the later one: name the earlier log first to see changes in the order of time",
        );
    }
    let is_everything = before.selection.is_everything();
    let omitted = match is_everything {
        true => remove_repeating_sets(&mut rows, this_machine::repeating_sets()),
        false => Vec::new(),
    };
    if arguments.sort != ComparisonOrder::Weight {
        sort_comparison(&mut rows, arguments.sort);
    }
    let top = arguments.rows.top.unwrap_or(usize::MAX);
    if arguments.format == ReportFormat::Table {
        let totals = if is_everything { totals::rows(&rows) } else { Vec::new() };
        if is_everything {
            remove_equal_totals(&mut rows);
        }
        let frame = Frame { logs, totals, all: rows.len(), omitted: &omitted };
        table::write(arguments, table_rows(arguments, rows), frame)?;
        return Ok(ExitCode::SUCCESS);
    }
    rows.truncate(top);
    match arguments.format {
        ReportFormat::Table => {}
        ReportFormat::Csv => {
            write_comparison(&rows, ReportForm::Csv, &mut BufWriter::new(io::stdout().lock()))?
        }
        ReportFormat::Json => {
            write_comparison(&rows, ReportForm::Json, &mut BufWriter::new(io::stdout().lock()))?
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The statistics of the selected counters in one log, and its number of samples.
fn statistics_of(arguments: &CompareArguments, query: &mut LogQuery) -> Result<(ComparedLog, u64), Failure> {
    query.reading.grouping = Grouping::Neighbours;
    let mut pipeline = query.samples()?;
    let mut sink = ComparedLog::new(arguments.rows.group_by.is_none());
    if pipeline.reports.iter().any(|report| report.facts().format.is_formatted()) {
        sink.count_memory(&query.reading)?;
    }
    let (sink, samples) = stats::read(&mut pipeline, sink, arguments.rows.sums_names())?;
    notify_problems(&pipeline.reports);
    if sink.is_empty() && samples == 0 {
        return Err(no_sample(query));
    }
    Ok((sink, samples))
}

/// Reports counter paths that match nothing in either log; fails if no path matches. A path that matches in one log selects
/// counters or instances that are new or have disappeared.
fn notify_unmatched(before: &LogQuery, after: &LogQuery) -> Result<(), Failure> {
    let after = after.selection.unmatched();
    let is_in_neither = |path: &str| after.iter().any(|(other, _)| other == path);
    let unmatched = before.selection.unmatched();
    let unmatched = unmatched.into_iter().filter(|(path, _)| is_in_neither(path));
    let message = |(path, advice_before): (String, Option<String>)| {
        let advice_after =
            after.iter().find(|(other, _)| *other == path).and_then(|(_, advice)| advice.clone());
        match advice_before.or(advice_after) {
            Some(advice) => format!("'{path}' is in neither log: {advice}"),
            None => format!("'{path}' is in neither log; 'tacho list FILE' lists its counters"),
        }
    };
    let lines: Vec<_> = unmatched.map(message).collect();
    if !before.selection.is_everything() && lines.len() == before.selection.len() {
        return Err(Failure::usage_messages(lines));
    }
    lines.iter().for_each(notify);
    Ok(())
}

/// Returns an error if a log has no values. If counters are selected, one of the logs can lack them.
fn check_values(logs: [(&LogQuery, &ComparedLog); 2]) -> Result<(), Failure> {
    let mut empty = logs.iter().filter(|(_, statistics)| statistics.is_empty());
    match empty.next() {
        Some((query, _)) if query.selection.is_everything() || empty.next().is_some() => Err(no_value(query)),
        _ => Ok(()),
    }
}

/// How to compare the machines of a single log.
fn advice_for_one_log(queries: &[LogQuery]) -> String {
    if let [query] = queries {
        if let [first, second, ..] = &query.paths[..] {
            let (first, second) = (first.display(), second.display());
            return format!("the folders of its machines are logs, as in 'tacho compare {first} {second}'");
        }
        if let [machine, _, ..] = &machines_of(query)[..] {
            return format!(
                r"'tacho relog {} -c '\\{machine}\*\*' '\\{machine}\*(*)\*' -o {machine}.blg' writes a log of one of its machines",
                files_of(query)
            );
        }
    }
    "'tacho relog' cuts and merges logs".to_owned()
}

/// The machines in the first sample of a log, as far as it can be read.
fn machines_of(query: &LogQuery) -> Vec<Arc<str>> {
    let mut sample = Sample::default();
    let has_sample = query.samples().is_ok_and(|mut pipeline| pipeline.source.next(&mut sample).is_ok());
    let mut machines: Vec<Arc<str>> = Vec::new();
    for group in sample.groups.iter().filter(|_| has_sample) {
        if !machines.contains(&group.set.machine) {
            machines.push(Arc::clone(&group.set.machine));
        }
    }
    machines
}

/// The line of a log above the table: its name, its machine if the rows do not name it, time range and number of samples.
fn log_line(
    name: &str,
    query: &LogQuery,
    machine: Option<&str>,
    range: Option<(Moment, Moment)>,
    samples: u64,
) -> String {
    let samples = counted(samples, "sample", "samples");
    let machine = machine.map_or_else(String::new, |machine| format!(r", \\{machine}"));
    let range = range.map_or_else(String::new, |(first, last)| {
        let length = duration(last.utc.0.saturating_sub(first.utc.0));
        format!(", {} to {}, {length}", local(first), local(last))
    });
    format!("{name}: {}{machine}{range}, {samples}", files_of(query))
}

/// The rows of the table, without `--top`.
fn table_rows(arguments: &CompareArguments, mut rows: Vec<ComparisonRow>) -> Vec<TableRow> {
    let has_one_instance = rows.windows(2).all(|pair| pair[0].is_of_same_instance(&pair[1]));
    if arguments.all_counters || has_one_instance || arguments.sort == ComparisonOrder::Path {
        return rows.into_iter().map(|row| (row, 0)).collect();
    }
    let others = strongest_rows(&mut rows);
    rows.into_iter().zip(others).collect()
}
