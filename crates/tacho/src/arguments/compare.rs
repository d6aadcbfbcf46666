//! The arguments of `tacho compare`.

use std::path::PathBuf;

use clap::Args;

use tachograph_flow::sinks::ComparisonOrder;

use super::{NumberArguments, ReportFormat, RowArguments, SelectionArguments, Word, log_name, words};

/// Show what changed between two logs: both averages of each counter, the most important change first.
///
/// Averages are computed from raw values by the formula of the counter type, as in 'tacho stats'. Doubling counts as
/// much as halving; changes of very small values count little. The rates and shares of an instance that is in only one log
/// count as 0 in the other; those of an instance that was present for a part of a log are multiplied by that part. Other values
/// of an instance that is in only one log, such as its memory, are listed last, and so are counters that are in only one log
/// and the ages of processes. Counters that are identifiers, such as ID Process, are omitted; so are sets that repeat others,
/// such as Process V2 and Thread, unless they are selected.
///
/// If the ids of processes show that numbers such as bash#3 mean other processes in the second log, or if the logs do not
/// have as many instances of a name, the sums over the instances of the name are compared: bash#*.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Two logs, the earlier one first: .blg, .csv, .tsv or .json (from relog and query), or folders of archives or of their machines. Arguments that
    /// start with a backslash are counter paths, as after -c.
    #[arg(required_unless_present = "counters", num_args = 1.., value_names = ["BEFORE", "AFTER"], value_parser = log_name())]
    pub(crate) files: Vec<PathBuf>,
    /// Selects counters and a time range of both logs; a time without a date is on the first day of each log.
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Output format; CSV and JSON have full precision (docs/json.md).
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) numbers: NumberArguments,
    /// Sort by weight, ratio, difference (its magnitude), before, after or path.
    #[arg(long, value_name = "FIGURE", ignore_case = true, default_value = "weight", value_parser = words(ORDERS))]
    pub(crate) sort: ComparisonOrder,
    /// Show a row for each counter of an instance. By default, the table shows only the first one in the order of --sort,
    /// and how many further counters of the instance changed (more), unless all rows are of one instance or sorted by path.
    /// CSV and JSON always have all counters.
    #[arg(long)]
    pub(crate) all_counters: bool,
    #[command(flatten)]
    pub(crate) rows: RowArguments,
}

/// The words of `--sort`.
const ORDERS: &[Word<ComparisonOrder>] = &[
    (
        "weight",
        ComparisonOrder::Weight,
        "Relative change; values below a noticeable size (1 %, 1 ms, 16 MiB, 100 kB/s, 10 /s) count little",
    ),
    ("ratio", ComparisonOrder::Ratio, "Relative change; changes from 0 and to 0 first"),
    ("difference", ComparisonOrder::Difference, "Magnitude of the difference in the unit of each counter"),
    ("before", ComparisonOrder::Before, "Average in the first log"),
    ("after", ComparisonOrder::After, "Average in the second log"),
    ("path", ComparisonOrder::Path, "Counter path"),
];
