//! The arguments of `tacho query`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tachograph_logs::TextEncoding;

use super::{DigitsArguments, LiveArguments, parse_encoding};

/// Show values of this machine's counters as they come: all options of Windows' typeperf.
///
/// The first values come after one interval, since most counters measure what happens between two samples. Without a
/// path: the default counters. Ends after -sc samples, or with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tacho query '\Processor Information(_Total)\% Processor Time' '\Memory\Available Bytes'
  tacho query '\Process(*)\% Processor Time' -si 5 -sc 12 -o processes.csv
  tacho query -cf counters.txt -si 0.1 -f json | jq .
  tacho query -qx PhysicalDisk -o counters.txt

Quote paths: shells eat backslashes. 'tacho list' shows what there is.

Intervals below 1 s are allowed, but not everything moves so fast: processor times advance in
steps of 10 ms on most kernels (so 0.1 s shows % Processor Time in steps of 10), pressure stall
averages every 2 s, and some counters of memory and paging once a second.")]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    /// Format. Default: by the extension of the output's name, csv for a name without one; on standard output table (for
    /// `-o -`, csv).
    #[arg(short, long, value_enum, ignore_case = true)]
    pub(crate) format: Option<QueryFormat>,
    /// Where to write; every sample is in the file as soon as it was taken. `-` is standard output.
    #[arg(short, long, value_name = "FILE", value_parser = super::log_name())]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) digits: DigitsArguments,
    /// How the characters of names are encoded in CSV and TSV: utf-8, utf-8-bom (with a mark), or a code page of Windows
    /// (1250 to 1258, 932, 936, 949, 950). Default: utf-8.
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    pub(crate) encoding: Option<TextEncoding>,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// List counters instead, without instances: all, or those of the counter sets that are named. With -o: into a file,
    /// for -cf.
    #[arg(short, long)]
    pub(crate) query: bool,
    /// List counters with their instances instead (-qx).
    #[arg(long = "query-instances", visible_alias = "qx")]
    pub(crate) query_instances: bool,
}

/// Formats of `query`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryFormat {
    /// For people. Follows instances, and counter sets of programs, that come and go.
    Table,
    /// PDH's comma-separated text. Columns are those of the instances at the start.
    Csv,
    /// PDH's tab-separated text, as csv.
    Tsv,
    /// One JSON object per sample and line. Follows instances and counter sets as table.
    Json,
    /// Raw values in Windows' binary log, as `tacho record` writes it.
    #[value(alias = "blg")]
    Bin,
}
