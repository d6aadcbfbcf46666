//! `tacho stats`: the figures of every counter.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use tachograph_counters::{AverageKind, Intervals};
use tachograph_flow::sinks::{
    StatisticsOptions, StatisticsRow, StatisticsSink, write_statistics_csv, write_statistics_json,
};

use super::{no_sample, notice_problems, notice_unmatched};
use crate::arguments::{Across, StatsArguments, StatsFormat};
use crate::failure::{Failure, say};
use crate::progress::Progress;
use crate::table::{counted, grouped, value, write_table};

pub(crate) fn run(arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let query = arguments.selection.query(&arguments.files, None)?;
    let mut sink = StatisticsSink::new(StatisticsOptions {
        intervals: if arguments.only_active { Intervals::Active } else { Intervals::All },
        across_machines: arguments.across == Some(Across::Machines),
        ..StatisticsOptions::default()
    });
    let mut pipeline = query.samples()?;
    let mut progress = Progress::new();
    let reports = pipeline.reports.clone();
    tachograph_flow::run(&mut *pipeline.source, &mut sink, || progress.update(&reports))?;
    drop(progress);
    notice_problems(&reports);
    let rows = sink.rows();
    notice_unmatched(&query)?;
    let renumbered = pipeline.renumbered();
    if renumbered > 0 {
        let times = counted(renumbered, "time", "times");
        say(format_args!(
            "{times} a name passed to another process (its ID Process changed); no value was made across"
        ));
    }
    if rows.is_empty() {
        return Err(no_sample(&query));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.format {
        StatsFormat::Json => write_statistics_json(&rows, &mut out)?,
        StatsFormat::Csv => write_statistics_csv(&rows, &mut out)?,
        StatsFormat::Table => {
            write_table(&mut out, HEADER, 2, &rows, cells)?;
            if rows.iter().any(|row| row.summary.average_kind == AverageKind::Arithmetic) {
                out.write_all(ARITHMETIC.as_bytes())?;
            }
            if arguments.only_active {
                out.write_all(b"\nOver intervals with activity only; averages are the same either way.\n")?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

const ARITHMETIC: &str = "\n* arithmetic: the log holds displayed values only, so this is their mean, not the average by the \
counter's type.\n  The .blg of the same time gives the right one.\n";

const HEADER: [&str; 11] =
    ["counter", "unit", "last", "average", "minimum", "maximum", "p50", "p95", "p99", "values", "errors"];

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
