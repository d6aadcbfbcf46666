//! The arguments for the rows of a report.

use clap::Args;

use super::interval::parse_top;

/// Which rows of a report are shown, and how wide.
#[derive(Debug, Args)]
pub(crate) struct RowArguments {
    /// Show only the first N rows in the order of --sort. 'tacho stats' shows N rows per counter, or N instances if
    /// sorted by a counter; without --sort, those with the highest averages. 'tacho stats' omits Totals, Idle,
    /// _Exited and _Unattributed.
    #[arg(long, value_name = "N", value_parser = parse_top)]
    pub(crate) top: Option<usize>,
    /// Sum the instances of each name: svchost, svchost#1, ... become svchost; so do svchost:1234, ... in Process V2.
    /// Counters that are averages per operation are not summed, but averaged over all operations. Useful to compare
    /// logs, in which the number of a process (#1) can differ.
    #[arg(long, value_name = "WHAT", value_parser = ["name"])]
    pub(crate) group_by: Option<String>,
    /// Show all columns and full paths, even if they do not fit into the terminal. By default, the common part of all
    /// paths is shown once, and columns that do not fit are omitted. 'tacho stats' omits, in this order: errors (if
    /// there are none), values, p50, p99, p95, minimum, last, unit, maximum; never the column of --sort. Output to a
    /// file or a pipe is always complete.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Do not show a long table in the pager of the environment variable PAGER (by default less).
    #[arg(long)]
    pub(crate) no_pager: bool,
}
