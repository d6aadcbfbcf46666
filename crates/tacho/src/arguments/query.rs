//! The arguments of `tacho query`.

use std::path::PathBuf;

use clap::Args;
use tachograph_logs::{Format, TextEncoding};

use super::interval::parse_top;
use super::{DigitsArguments, LiveArguments, NumberArguments, Word, parse_output_encoding, words};

/// Print values of this machine's counters at each interval.
///
/// Accepts all options of Windows' typeperf. The first values appear after one interval, because most counters measure the
/// time between two samples. Without a path: the default counters. Stops after -sc samples, or on Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tacho query '\Processor Information(_Total)\% Processor Time' '\Memory\Available Bytes'
  tacho query '\Process(*)\% Processor Time' '\Process(*)\ID Process' --sort '% Processor Time' --top 10
  tacho query '\Process(*)\% Processor Time' -si 5 -sc 12 -o processes.csv
  tacho query -cf counters.txt -si 0.1 -f json | jq .
  tacho query -qx PhysicalDisk -o counters.txt

Quote paths, because shells interpret backslashes. 'tacho list' lists the counters.

Intervals below 1 s are allowed, but the kernel updates some counters less often: processor times
advance in steps of 10 ms on most kernels (at 0.1 s, % Processor Time has steps of 10), pressure
stall averages every 2 s, and some counters of memory and paging once a second.")]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    /// Output format. Default: by the extension of the output, csv without an extension and for `-o -`; without -o, table.
    #[arg(short, long, ignore_case = true, value_parser = words(FORMATS))]
    pub(crate) format: Option<QueryFormat>,
    /// Output file; each sample is written as soon as it is taken. `-` is standard output.
    #[arg(short, long, value_name = "FILE", value_parser = super::file_name())]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) digits: DigitsArguments,
    #[command(flatten)]
    pub(crate) numbers: NumberArguments,
    /// Encoding of CSV and TSV: utf-8, utf-8-bom (with a byte order mark), or a Windows code page (1250 to 1258, 932, 936,
    /// 949, 950). Default: utf-8.
    #[arg(long, value_name = "NAME", value_parser = parse_output_encoding)]
    pub(crate) encoding: Option<TextEncoding>,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Show a table of instances for each sample, sorted by the value of the named counter, largest first. Only as a table.
    #[arg(long, value_name = "COUNTER")]
    pub(crate) sort: Option<String>,
    /// With --sort: show only the first N instances. Totals, Idle, _Exited and _Unattributed are omitted.
    #[arg(long, value_name = "N", value_parser = parse_top, requires = "sort")]
    pub(crate) top: Option<usize>,
    /// Sum the instances of each name: svchost, svchost#1, ... become svchost. Counters that are averages per operation
    /// are not summed, but averaged over all operations.
    #[arg(long, value_name = "WHAT", value_parser = ["name"])]
    pub(crate) group_by: Option<String>,
    /// With --sort: show all columns, even those that do not fit into the terminal.
    #[arg(long)]
    pub(crate) wide: bool,
    /// List counter paths instead, without instances: of the named counter sets, or of all. With -o: to a file, for -cf.
    #[arg(short, long, conflicts_with_all = ["query_instances", "samples"])]
    pub(crate) query: bool,
    /// List counter paths with instances instead (-qx).
    #[arg(long = "query-instances", visible_alias = "qx", conflicts_with = "samples")]
    pub(crate) query_instances: bool,
}

/// The format of the output; `None` is the table.
pub(crate) type QueryFormat = Option<Format>;

const FORMATS: &[Word<QueryFormat>] = &[
    ("table", None, "Human-readable. Includes instances and published counter sets that appear later"),
    ("csv", Some(Format::Csv), "PDH comma-separated text. Columns: the instances that exist at the start"),
    ("tsv", Some(Format::Tsv), "PDH tab-separated text, otherwise as csv"),
    (
        "json",
        Some(Format::Json),
        "JSON lines: an object per sample. Includes later instances and counter sets, as table",
    ),
    ("bin", Some(Format::Blg), "Windows binary log with raw values, as written by `tacho record`"),
    ("blg", Some(Format::Blg), ""),
];
