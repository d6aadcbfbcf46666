//! The arguments of `tacho compare`.

use std::path::PathBuf;

use clap::Args;

use super::interval::parse_top;
use super::{NumberArguments, ReportFormat, SelectionArguments, log_name};

/// Show what changed between two logs: the averages of each counter in both, largest change first.
///
/// Averages are computed from raw values by the formula of the counter type, as in 'tacho stats'. A rise to the double is as large a
/// change as a fall to a half. Counters whose average is 0 in only one of the logs are first, and instances that only one of the logs
/// has are last. Counters that identify something, such as ID Process, are left out.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Two logs, the earlier one first: .blg, .csv, .tsv or .json (from relog and query), or folders of archives.
    #[arg(required_unless_present = "counters", num_args = 1..=2, value_names = ["BEFORE", "AFTER"], value_parser = log_name())]
    pub(crate) files: Vec<PathBuf>,
    /// Selects counters, and the same time range of both logs; a time without a date is on the first day of each log.
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Output format; CSV and JSON have full precision (docs/json.md).
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) numbers: NumberArguments,
    /// Show only the N largest changes.
    #[arg(long, value_name = "N", value_parser = parse_top)]
    pub(crate) top: Option<usize>,
    /// Sum the instances of each name: svchost, svchost#1, ... become svchost, and in Process V2 svchost:1234. Otherwise, the
    /// processes of one name are compared by their numbers, which can differ between the logs.
    #[arg(long, value_name = "WHAT", value_parser = ["name"])]
    pub(crate) group_by: Option<String>,
    /// Show all columns and full paths, also if they do not fit into the terminal.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Do not show a long table in the pager of the environment variable PAGER (by default less).
    #[arg(long)]
    pub(crate) no_pager: bool,
}
