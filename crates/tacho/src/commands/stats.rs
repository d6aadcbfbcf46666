//! `tacho stats`: statistics of each counter.

mod output;
mod row_order;
mod statistics_table;

use std::mem::ManuallyDrop;
use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::Intervals;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::Pipeline;
use tachograph_flow::sinks::{PeriodicStatistics, StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, NameSumsSink, Sink};
use tachograph_logs::{Grouping, LogError};

use super::relog::CountingSink;
use super::{no_sample, no_value, notify_problems, notify_unmatched};
use crate::arguments::StatsArguments;
use crate::failure::{Failure, notify};
use crate::progress::Progress;
use crate::table::counted;
use output::Output;
use row_order::RowOrder;

pub(crate) fn run(arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let mut query = arguments.selection.query(&arguments.files, None)?;
    query.reading.grouping = Grouping::Neighbours;
    let extra = arguments.extra_figures();
    let options = StatisticsOptions {
        intervals: if arguments.only_active { Intervals::Active } else { Intervals::All },
        across_machines: arguments.across.is_some(),
        with_causes: arguments.verbose,
        extra: extra.clone(),
        ..StatisticsOptions::default()
    };
    let order = RowOrder::new(arguments, &extra, query.selection.clone())?;
    let mut output = Output::new(arguments, extra, order);
    let sums_names = arguments.rows.sums_names();
    let mut pipeline = query.samples()?;
    let has_formatted_log = pipeline.reports.iter().any(|report| report.facts().format.is_formatted());
    let memory = match has_formatted_log {
        true => Some(query.reading.budget.reserve(0).map_err(LogError::over_budget)?),
        false => None,
    };
    let (errors, samples) = match arguments.every {
        Some(length) => {
            let each = |span, rows| output.push(span, rows);
            let length = i64::try_from(length.as_nanos() / 100).unwrap_or(i64::MAX);
            let mut sink = PeriodicStatistics::new(options, length, each);
            memory.into_iter().for_each(|memory| sink.count_memory(memory));
            let (sink, samples) = read(&mut pipeline, sink, sums_names)?;
            (sink.errors(), samples)
        }
        None => {
            let mut sink = StatisticsSink::new(options);
            memory.into_iter().for_each(|memory| sink.count_memory(memory));
            let (sink, samples) = read(&mut pipeline, sink, sums_names)?;
            // Freeing the series one by one takes time, and the process ends soon.
            let sink = ManuallyDrop::new(sink);
            output.push_all(sink.rows())?;
            (sink.errors(), samples)
        }
    };
    notify_problems(&pipeline.reports);
    notify_unmatched(&query)?;
    let renumbered = pipeline.renumbered();
    if renumbered > 0 {
        let times = counted(renumbered, "time", "times");
        notify(format_args!(
            "{times} an instance name passed to another process (ID Process changed); no interval spans the change"
        ));
    }
    output.check_top()?;
    if output.is_empty() {
        return Err(if samples > 0 { no_value(&query) } else { no_sample(&query) });
    }
    output.check_order()?;
    output.notify_omitted();
    output.finish(&errors, has_formatted_log)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the logs into a sink; with `sums_names`, the instances of each name are summed. Returns the sink and the
/// number of samples.
pub(super) fn read<S: Sink>(pipeline: &mut Pipeline, sink: S, sums_names: bool) -> Result<(S, u64), Failure> {
    let mut sink = CountingSink { sink, samples: 0 };
    let reports = &pipeline.reports;
    let mut progress = Progress::new();
    let mut run = |sink: &mut dyn Sink| {
        tachograph_flow::run(&mut *pipeline.source, sink, || progress.update(reports))
            .map_err(|error| with_log_names(error, reports))
    };
    match sums_names {
        true => run(&mut NameSumsSink::new(&mut sink))?,
        false => run(&mut sink)?,
    }
    Ok((sink.sink, sink.samples))
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
