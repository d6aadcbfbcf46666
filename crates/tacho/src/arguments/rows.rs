//! The arguments for the rows of a report.

use clap::Args;

use super::interval::parse_top;
use super::{Word, words};

/// Which rows of a report are shown, and how wide.
#[derive(Debug, Args)]
pub(crate) struct RowArguments {
    /// Show only the first N rows in the order of --sort. 'tacho stats' shows N rows per counter, or N instances if
    /// sorted by a counter; without --sort, those with the highest averages. 'tacho stats' omits Totals, Idle,
    /// _Exited and _Unattributed, unless a path names them without wildcards.
    #[arg(long, value_name = "N", value_parser = parse_top)]
    pub(crate) top: Option<usize>,
    /// Sum the instances of each name: svchost, svchost#1, ... become svchost; so do svchost:1234, ... in Process V2.
    /// Counters that are averages per operation are not summed, but averaged over all operations. 'tacho compare' does this
    /// by itself for names whose numbers (#1) mean other processes in the second log; with 'instance', it compares them by
    /// number.
    #[arg(long, value_name = "WHAT", ignore_case = true, value_parser = words(GROUPINGS))]
    pub(crate) group_by: Option<RowGrouping>,
    /// Show all columns and full paths, even if they do not fit into the terminal. By default, the common part of all
    /// paths is shown once, and columns that do not fit are omitted. 'tacho stats' omits, in this order: errors (if
    /// there are none), p50, p99, p95, last, values, unit, minimum, maximum; never the column of --sort. For values,
    /// minimum and maximum, it first shows the set and the instance once above their counters, and then replaces the
    /// middle of names by an ellipsis. Output to a file or a pipe is always complete.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Do not show a long table in the pager of the environment variable PAGER (by default less).
    #[arg(long)]
    pub(crate) no_pager: bool,
}

/// What has rows of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowGrouping {
    /// The sum over the instances of each name.
    Name,
    /// Each instance.
    Instance,
}

/// The words of `--group-by`.
const GROUPINGS: &[Word<RowGrouping>] = &[
    ("name", RowGrouping::Name, "A row for the sum over the instances of each name"),
    ("instance", RowGrouping::Instance, "A row for each instance"),
];

impl RowArguments {
    /// Whether the instances of each name are summed.
    pub(crate) fn sums_names(&self) -> bool {
        self.group_by == Some(RowGrouping::Name)
    }
}
