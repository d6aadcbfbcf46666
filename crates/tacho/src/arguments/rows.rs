//! The arguments of reports about the rows of a table.

use clap::Args;

use super::interval::parse_top;

/// Which rows of a report are shown, and in which width.
#[derive(Debug, Args)]
pub(crate) struct RowArguments {
    /// Show only the first N rows in the order of --sort. Totals, Idle, _Exited and _Unattributed have no rank in 'tacho stats',
    /// where N is the number of rows of each counter, or of instances, by average without --sort.
    #[arg(long, value_name = "N", value_parser = parse_top)]
    pub(crate) top: Option<usize>,
    /// Sum the instances of each name: svchost, svchost#1, ... become svchost, and in Process V2 svchost:1234. Sums of averages per operation are averages
    /// over all operations. The numbers of processes (#1) can differ between two logs.
    #[arg(long, value_name = "WHAT", value_parser = ["name"])]
    pub(crate) group_by: Option<String>,
    /// Show all columns and full paths, also if they do not fit into the terminal. By default, a terminal shows once what all
    /// paths have in common, and columns that do not fit are left out. 'tacho stats' leaves out: errors (if there are none), values,
    /// p50, p99, p95, minimum, last, unit, maximum, in this order, but not the column of --sort. The output to a file or a pipe
    /// is always complete.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Do not show a long table in the pager of the environment variable PAGER (by default less).
    #[arg(long)]
    pub(crate) no_pager: bool,
}
