//! `tacho stats`: the figures of every counter.

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

use super::relog::Counted;
use super::{no_sample, no_value, notice_problems, notice_unmatched};
use crate::arguments::{Across, StatsArguments, StatsFormat};
use crate::failure::{Failure, say};
use crate::progress::Progress;
use crate::table::{counted, grouped, value, write_table};
use tachograph_logs::{Grouping, LogError};

pub(crate) fn run(arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let mut query = arguments.selection.query(&arguments.files, None)?;
    // Statistics know counters by their paths.
    query.reading.grouping = Grouping::Neighbours;
    let sink = StatisticsSink::new(StatisticsOptions {
        intervals: if arguments.only_active { Intervals::Active } else { Intervals::All },
        across_machines: arguments.across == Some(Across::Machines),
        with_causes: arguments.verbose,
        ..StatisticsOptions::default()
    });
    let mut sink = Counted { sink, samples: 0 };
    let mut pipeline = query.samples()?;
    let reports = pipeline.reports.clone();
    if reports.iter().any(|report| report.facts().format.is_formatted()) {
        sink.sink.count_memory(query.reading.budget.reserve(0).map_err(LogError::over_budget)?);
    }
    let mut progress = Progress::new();
    tachograph_flow::run(&mut *pipeline.source, &mut sink, || progress.update(&reports))
        .map_err(|error| named(error, &reports))?;
    drop(progress);
    notice_problems(&reports);
    let rows = sink.sink.rows();
    notice_unmatched(&query)?;
    let renumbered = pipeline.renumbered();
    if renumbered > 0 {
        let times = counted(renumbered, "time", "times");
        say(format_args!(
            "{times} a name passed to another process (its ID Process changed); no value was made across"
        ));
    }
    if rows.is_empty() {
        return Err(if sink.samples > 0 { no_value(&query) } else { no_sample(&query) });
    }
    let errors = sink.sink.errors();
    if arguments.format != StatsFormat::Table {
        for error in &errors {
            let [path, status, count, first, last] = error_cells(error);
            say(format_args!("{path}: {status}, {count} times from {first} to {last}"));
        }
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.format {
        StatsFormat::Json => write_statistics_json(&rows, &mut out)?,
        StatsFormat::Csv => write_statistics_csv(&rows, &mut out)?,
        StatsFormat::Table => {
            write_table(&mut out, HEADER, 2, &rows, cells)?;
            if rows.iter().any(|row| row.summary.average_kind == AverageKind::Arithmetic) {
                out.write_all(ARITHMETIC.as_bytes())?;
                if reports.iter().any(|report| report.facts().format.is_formatted()) {
                    out.write_all(RECORDED.as_bytes())?;
                }
            }
            if arguments.only_active {
                out.write_all(b"\nOver intervals with activity only; averages are the same either way.\n")?;
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

/// Names the logs in an error of the statistics, which are kept of all of them.
fn named(error: FlowError, reports: &[LogReport]) -> FlowError {
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

const ARITHMETIC: &str = "\n* arithmetic: the log holds formatted values of this counter, so this is their mean, not the \
average by the counter's type.\n";

/// Not true of a BLG that was made from a text.
const RECORDED: &str = "  A .blg recorded at the same time gives the right one.\n";

const HEADER: [&str; 11] =
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

fn cells(row: &StatisticsRow) -> [String; 11] {
    let summary = &row.summary;
    let shown = |figure: Option<f64>| value(row.counter.counter_type, figure);
    let mut average = shown(summary.average);
    if summary.average_kind == AverageKind::Arithmetic {
        average.push('*');
    }
    let quantile = |place: usize| shown(summary.quantiles.map(|quantiles| quantiles[place]));
    [
        row.path.clone(),
        row.counter.unit().into_owned(),
        shown(summary.last),
        average,
        shown(summary.minimum),
        shown(summary.maximum),
        quantile(0),
        quantile(2),
        quantile(3),
        grouped(&summary.values.to_string()),
        grouped(&summary.errors.to_string()),
    ]
}
