//! The command line: clap's definition, and the [step before it](windows_form) that understands Windows' form of options.

mod cpi;
mod interval;
mod list;
mod live;
mod manifest;
#[cfg(feature = "screen")]
mod monitor;
mod query;
mod record;
#[cfg(feature = "web")]
mod serve;
mod usage;
pub(crate) mod windows;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use tachograph_counters::civil::TimeArgument;
use tachograph_counters::path::PathPattern;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{Selection, WindowBounds};

pub(crate) use cpi::{CpiArguments, CpiFormat};
pub(crate) use interval::{parse_count, parse_interval};
pub(crate) use list::{ListArguments, ListFormat};
pub(crate) use live::LiveArguments;
pub(crate) use manifest::{CodeOutput, ManifestAction, ManifestArguments};
#[cfg(feature = "screen")]
pub(crate) use monitor::MonitorArguments;
pub(crate) use query::{QueryArguments, QueryFormat};
pub(crate) use record::{RecordArguments, RecordFormat, SegmentLimit, SuffixForm};
#[cfg(feature = "web")]
pub(crate) use serve::ServeArguments;
pub(crate) use usage::parse;
use windows::{WindowsForm, windows_form};

use crate::failure::Failure;
use crate::path_file;

/// Performance counters as Windows defines them: shows and records those of this machine, and opens Windows'
/// performance logs (.blg) and PDH's CSV and TSV on any machine.
///
/// Without a command: the default counters, watched on a terminal ('tacho monitor'); else five samples of them, a second
/// apart.
#[derive(Debug, Parser)]
#[command(name = "tacho", version, max_term_width = 100, args_override_self = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Query(QueryArguments),
    Record(RecordArguments),
    #[cfg(feature = "screen")]
    Monitor(MonitorArguments),
    Stats(StatsArguments),
    Relog(RelogArguments),
    Check(CheckArguments),
    Cpi(CpiArguments),
    #[cfg(feature = "web")]
    Serve(ServeArguments),
    Manifest(ManifestArguments),
}

/// Last, average, minimum, maximum and percentiles of every counter. Averages are made from raw values by each counter
/// type's own formula, never from displayed values.
///
/// Several logs of one machine are one stretch of time; logs of several machines give rows for each.
#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// Logs: .blg, .csv or .tsv, told by their content.
    #[arg(required_unless_present = "counters", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Output: a table for people, or CSV or JSON in full precision.
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: StatsFormat,
    /// Merge counters of equal path over machines.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) across: Option<Across>,
    /// Take minimum, maximum, percentiles and the number of values only over intervals with activity: leaves out the
    /// zeros that stand for "no operation" in averages per operation.
    #[arg(long)]
    pub(crate) only_active: bool,
}

/// Formats of `stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsFormat {
    /// For people.
    Table,
    /// With a header line.
    Csv,
    /// One array, an object per counter.
    Json,
}

/// What statistics are merged over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Across {
    /// Instances of equal path on all machines.
    Machines,
}

/// Convert logs, select counters (-c, -cf) and a window (-b, -e), thin out (-t), merge.
///
/// Without -o: a summary of the inputs.
#[derive(Debug, Args)]
pub(crate) struct RelogArguments {
    /// Logs: .blg, .csv or .tsv, told by their content.
    #[arg(required_unless_present = "counters", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Where to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Format of the output. Default: by the extension of the output's name, else bin (for `-o -`, csv).
    #[arg(short, long, value_enum, ignore_case = true)]
    pub(crate) format: Option<RelogFormat>,
    /// Keep every N-th sample.
    #[arg(short = 't', long = "every", value_name = "N", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) every: Option<u64>,
    /// Append to the output, which must have the same counters and end before the inputs begin.
    #[arg(short, long)]
    pub(crate) append: bool,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Only show what the inputs hold, and the path of every counter. With -o: write the paths there, for -cf.
    #[arg(short, long)]
    pub(crate) query: bool,
}

/// Formats that `relog` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RelogFormat {
    /// Windows' binary log.
    #[value(alias = "blg")]
    Bin,
    /// PDH's comma-separated text.
    Csv,
    /// PDH's tab-separated text.
    Tsv,
    /// One JSON object per sample and line.
    Json,
}

/// Verify logs: exit status 0 when all are whole; else 1, with a list of what is damaged and where.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Logs.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the samples of the log that are whole into a new one.
    #[arg(long, value_name = "OUT")]
    pub(crate) salvage: Option<PathBuf>,
    /// Overwrite OUT if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Which counters, and when.
#[derive(Debug, Args)]
pub(crate) struct SelectionArguments {
    /// Only these counters: paths such as '\Processor(*)\% Processor Time'. `*` and `?` stand for any text and any
    /// character in every part but the machine. Quote them.
    #[arg(short = 'c', long = "counter", num_args = 1.., value_name = "PATH")]
    counters: Vec<String>,
    /// Counter paths from a file, one a line (-cf); `-` is standard input. Lines that begin with `#` or `;` are left out.
    #[arg(long = "counter-file", visible_alias = "cf", value_name = "FILE")]
    counter_files: Vec<PathBuf>,
    /// From this time on: M/D/YYYY HH:MM:SS [AM|PM] or ISO 8601, in the log's local time unless a zone is given. The
    /// sample before is used as the start of the first interval.
    #[arg(short, long, value_name = "TIME")]
    begin: Option<String>,
    /// Up to this time, which does not belong to the window any more.
    #[arg(short, long, value_name = "TIME")]
    end: Option<String>,
    /// Options from a file: a line `[option]`, then its value (-config). Those of the command line hold before them.
    #[arg(long = "config", value_name = "FILE")]
    _config: Option<PathBuf>,
}

impl SelectionArguments {
    /// The question that these arguments ask of `files`.
    pub(crate) fn query(&self, files: &[PathBuf], every: Option<u64>) -> Result<LogQuery, Failure> {
        let mut query = LogQuery::new(files.to_vec());
        let mut patterns = Vec::new();
        for path in &self.counters {
            let as_file = Path::new(path);
            // `-c` takes all that follows it, also the log's name where that stands last.
            if as_file.is_file() {
                query.paths.push(as_file.to_path_buf());
                continue;
            }
            match PathPattern::parse(path) {
                Ok(pattern) => patterns.push(pattern),
                Err(_) if has_log_extension(as_file) => query.paths.push(as_file.to_path_buf()),
                Err(error) => return Err(Failure::usage(format!("-c '{path}': {error}"))),
            }
        }
        if query.paths.is_empty() {
            return Err(Failure::usage(
                "no log is given: name it before -c, as in 'tacho stats FILE -c PATH'",
            ));
        }
        for file in &self.counter_files {
            patterns.extend(path_file::read(file)?);
        }
        query.selection = Selection::new(patterns);
        query.every = every.unwrap_or_default();
        query.bounds = self.bounds()?;
        Ok(query)
    }

    fn bounds(&self) -> Result<WindowBounds, Failure> {
        let bounds =
            WindowBounds { begin: parse_time("-b", &self.begin)?, end: parse_time("-e", &self.end)? };
        if bounds.are_empty() {
            let [begin, end] = [&self.begin, &self.end].map(|time| time.as_deref().unwrap_or_default());
            return Err(Failure::usage(format!(
                "-b '{begin}' is not before -e '{end}', so that no time is left between them"
            )));
        }
        Ok(bounds)
    }
}

/// Refuses options that contradict each other.
pub(crate) fn check_append(append: bool, yes: bool) -> Result<(), Failure> {
    match append && yes {
        true => Err(Failure::usage("-a appends and -y overwrites: give one of them")),
        false => Ok(()),
    }
}

/// Whether a name is that of a log, by its extension.
pub(crate) fn has_log_extension(file: &Path) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
        ["blg", "csv", "tsv"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

fn parse_time(option: &str, text: &Option<String>) -> Result<Option<TimeArgument>, Failure> {
    text.as_deref()
        .map(|text| TimeArgument::parse(text).map_err(|error| Failure::usage(format!("{option}: {error}"))))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
