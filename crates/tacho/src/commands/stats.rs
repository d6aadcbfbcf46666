//! `tacho stats`: statistics of each counter.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::{AverageKind, Intervals};
use tachograph_flow::FlowError;
use tachograph_flow::logs::LogReport;
use tachograph_flow::sinks::{
    CounterErrors, ErrorCause, StatisticsOptions, StatisticsRow, StatisticsSink, write_statistics_csv,
    write_statistics_json,
};
use tachograph_monitor::figures::NumberForm;

use super::relog::CountingSink;
use super::{no_sample, no_value, notify_problems, notify_unmatched, overview};
use crate::arguments::{ReportFormat, StatsArguments};
use crate::failure::{Failure, notify};
use crate::progress::Progress;
use crate::table::{counted, figure, grouped, write_table};
use tachograph_logs::{Grouping, LogError};

pub(crate) fn run(arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let mut query = arguments.selection.query(&arguments.files, None)?;
    query.reading.grouping = Grouping::Neighbours;
    let sink = StatisticsSink::new(StatisticsOptions {
        intervals: if arguments.only_active { Intervals::Active } else { Intervals::All },
        across_machines: arguments.across.is_some(),
        with_causes: arguments.verbose,
        ..StatisticsOptions::default()
    });
    let mut sink = CountingSink { sink, samples: 0 };
    let mut pipeline = query.samples()?;
    let reports = pipeline.reports.clone();
    if reports.iter().any(|report| report.facts().format.is_formatted()) {
        sink.sink.count_memory(query.reading.budget.reserve(0).map_err(LogError::over_budget)?);
    }
    let mut progress = Progress::new();
    tachograph_flow::run(&mut *pipeline.source, &mut sink, || progress.update(&reports))
        .map_err(|error| with_log_names(error, &reports))?;
    drop(progress);
    notify_problems(&reports);
    let rows = sink.sink.rows();
    notify_unmatched(&query)?;
    let renumbered = pipeline.renumbered();
    if renumbered > 0 {
        let times = counted(renumbered, "time", "times");
        notify(format_args!(
            "{times} an instance name passed to another process (ID Process changed); no interval spans the change"
        ));
    }
    if rows.is_empty() {
        return Err(if sink.samples > 0 { no_value(&query) } else { no_sample(&query) });
    }
    let errors = sink.sink.errors();
    if arguments.format != ReportFormat::Table {
        for error in &errors {
            let [path, status, count, first, last] = error_cells(error);
            notify(format_args!("{path}: {status}, {count} times between {first} and {last}"));
        }
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.format {
        ReportFormat::Json => write_statistics_json(&rows, &mut out)?,
        ReportFormat::Csv => write_statistics_csv(&rows, &mut out)?,
        ReportFormat::Table => {
            match arguments.numbers.form() {
                NumberForm::Units => write_table(&mut out, HEADER, 1, &rows, cells)?,
                NumberForm::Raw => write_table(&mut out, RAW_HEADER, 2, &rows, raw_cells)?,
            }
            if rows.iter().any(|row| row.summary.average_kind == AverageKind::Arithmetic) {
                out.write_all(ARITHMETIC.as_bytes())?;
                if reports.iter().any(|report| report.facts().format.is_formatted()) {
                    out.write_all(RECORDED.as_bytes())?;
                }
            }
            if arguments.only_active {
                out.write_all(b"\nOnly intervals with activity; averages are the same either way.\n")?;
            }
            if !errors.is_empty() {
                out.write_all(b"\n")?;
                write_table(&mut out, ERROR_HEADER, 2, &errors, error_cells)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn with_log_names(error: FlowError, reports: &[LogReport]) -> FlowError {
    match (error, reports) {
        (FlowError::Log(error), [log]) => error.at_path(log.path()).into(),
        (FlowError::Log(error), [first, others @ ..]) => {
            let names = format!(
                "{} and {}",
                first.path().display(),
                counted(others.len() as u64, "more log", "more logs")
            );
            error.at_path(Path::new(&names)).into()
        }
        (error, _) => error,
    }
}

const ARITHMETIC: &str = "\n* arithmetic mean: the log has only formatted values of this counter, so the average by the \
counter's type cannot be computed.\n";

/// Shown only for text logs, not for a BLG that was converted from one.
const RECORDED: &str = "  A .blg recorded at the same time has the correct average.\n";

const HEADER: [&str; 10] =
    ["counter", "last", "average", "minimum", "maximum", "p50", "p95", "p99", "values", "errors"];

/// With a column for the unit, which raw numbers do not have.
const RAW_HEADER: [&str; 11] =
    ["counter", "unit", "last", "average", "minimum", "maximum", "p50", "p95", "p99", "values", "errors"];

const ERROR_HEADER: [&str; 5] = ["errors of", "status", "number", "first", "last"];

fn error_cells(error: &CounterErrors) -> [String; 5] {
    let ErrorCause { status, count, first, last } = &error.cause;
    [
        error.path.clone(),
        match status.map(|status| (status, status.meaning())) {
            Some((status, Some(meaning))) => format!("{status} ({meaning})"),
            Some((status, None)) => status.to_string(),
            None => "others".to_owned(),
        },
        grouped(&count.to_string()),
        first.rfc3339(),
        last.rfc3339(),
    ]
}

fn cells(row: &StatisticsRow) -> [String; 10] {
    cells_in(row, NumberForm::Units)
}

fn raw_cells(row: &StatisticsRow) -> [String; 11] {
    let [path, last, average, minimum, maximum, p50, p95, p99, values, errors] =
        cells_in(row, NumberForm::Raw);
    let unit = row.counter.unit().into_owned();
    [path, unit, last, average, minimum, maximum, p50, p95, p99, values, errors]
}

fn cells_in(row: &StatisticsRow, form: NumberForm) -> [String; 10] {
    let summary = &row.summary;
    let [path, last, mut average, minimum, maximum] = overview::cells(row, form);
    if summary.average_kind == AverageKind::Arithmetic {
        average.push('*');
    }
    let quantile = |index: usize| summary.quantiles.map(|quantiles| quantiles[index]);
    let [p50, p95, p99] = [0, 2, 3].map(|index| figure(&row.counter, quantile(index), form));
    let [values, errors] = [summary.values, summary.errors].map(|count| grouped(&count.to_string()));
    [path, last, average, minimum, maximum, p50, p95, p99, values, errors]
}
