//! The arguments of `tacho stats`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tachograph_flow::sinks::ExtraFigures;

use super::interval::parse_length;
use super::{NumberArguments, ReportFormat, RowArguments, SelectionArguments, log_name};

/// Show last, average, minimum, maximum and percentiles of each counter.
///
/// Averages are computed from raw values by the formula of the counter type, never from displayed values. Several logs
/// of one machine are read as one; each machine has its own rows.
#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// Logs: .blg, .csv, .tsv or .json (from relog and query), recognised by their content, and folders of archives. An argument
    /// that starts with a backslash is a counter path, as after -c.
    #[arg(required_unless_present = "counters", value_name = "FILE", value_parser = log_name())]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Output format; CSV and JSON have full precision.
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) numbers: NumberArguments,
    /// Merge counters with the same path on several machines.
    #[arg(long, value_name = "WHAT", value_parser = ["machines"])]
    pub(crate) across: Option<String>,
    /// Compute minimum, maximum, percentiles and the number of values only over intervals with activity. Ignores zeros
    /// of averages per operation that mean "no operation".
    #[arg(long)]
    pub(crate) only_active: bool,
    /// Show a row per counter for each time range of this length: 30s, 5m, 1h, 1d, or as `[[hh:]mm:]ss`. Time ranges
    /// begin at multiples of their length in the log's local time. As with -b and -e, an interval belongs to the time
    /// range in which it ends.
    #[arg(long, value_name = "TIME", value_parser = parse_length, conflicts_with = "across")]
    pub(crate) every: Option<Duration>,
    /// Show additional percentiles, each from 0 to 100: --percentile 1,5,99.9.
    #[arg(long, value_name = "P", value_delimiter = ',', value_parser = parse_percentage)]
    pub(crate) percentile: Vec<f64>,
    /// Show the standard deviation of the values of the intervals.
    #[arg(long)]
    pub(crate) deviation: bool,
    /// Show the trend per hour: the slope of a linear regression (least squares) over the values of the intervals.
    #[arg(long)]
    pub(crate) slope: bool,
    /// Show the time of the maximum: the end of its interval; of the first one if there are several.
    #[arg(long)]
    pub(crate) maximum_time: bool,
    /// Sort the rows of each counter by a figure (last, average, minimum, maximum, p50, p95, values, errors, ...),
    /// largest first; or sort instances by the average of the named counter and keep the rows of an instance together.
    /// For sorting, averages are multiplied by their numbers of values, so that an instance that was busy for a second
    /// does not precede one that was busy for an hour.
    #[arg(long, value_name = "FIGURE|COUNTER")]
    pub(crate) sort: Option<String>,
    #[command(flatten)]
    pub(crate) rows: RowArguments,
    /// Also show the causes of errors: counter, status, count, and the times of the first and the last one. Below the
    /// table; with csv and json, on standard error.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl StatsArguments {
    /// The requested figures.
    pub(crate) fn extra_figures(&self) -> ExtraFigures {
        let mut percentiles: Vec<f64> = Vec::new();
        for &percentage in &self.percentile {
            if !percentiles.contains(&percentage) {
                percentiles.push(percentage);
            }
        }
        ExtraFigures {
            percentiles: Arc::from(percentiles),
            standard_deviation: self.deviation,
            slope_per_hour: self.slope,
            maximum_time: self.maximum_time,
        }
    }
}

fn parse_percentage(text: &str) -> Result<f64, String> {
    let percentage = text.parse().ok().filter(|percentage| (0.0..=100.0).contains(percentage));
    // Adding 0 turns -0 into 0.
    percentage
        .map(|percentage: f64| percentage + 0.0)
        .ok_or_else(|| "must be a number from 0 to 100".to_owned())
}
