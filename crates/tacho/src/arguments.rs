//! The clap definition of the command line. [Options in Windows' form](mod@windows_form) are rewritten before clap parses
//! them.

#[cfg(feature = "web")]
mod agent;
mod archive;
#[cfg(feature = "web")]
mod clients;
mod compare;
mod cpi;
mod export;
mod implied_monitor;
mod interval;
mod list;
mod live;
mod manifest;
#[cfg(feature = "screen")]
mod monitor;
mod query;
mod record;
mod rows;
#[cfg(feature = "web")]
mod serve;
mod sql;
mod stats;
mod text;
mod time_range;
mod usage;
pub(crate) mod windows_form;

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tachograph_counters::path::PathPattern;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{Selection, WindowBounds};
use tachograph_logs::sql::SqlLogName;
use tachograph_logs::{Format, ReadOptions, TextEncoding};

#[cfg(feature = "web")]
pub(crate) use agent::{AgentAction, AgentArguments, AgentFolder};
pub(crate) use archive::{ArchiveArguments, ArchiveCommand, CompactArguments};
#[cfg(feature = "web")]
pub(crate) use clients::ClientArguments;
pub(crate) use compare::CompareArguments;
pub(crate) use cpi::CpiArguments;
pub(crate) use export::ExportArguments;
#[cfg(feature = "web")]
pub(crate) use export::SampledExportArguments;
pub(crate) use interval::{parse_count, parse_interval};
pub(crate) use list::{ListArguments, ListFormat};
pub(crate) use live::LiveArguments;
pub(crate) use manifest::{CodeOutput, ManifestAction, ManifestArguments};
#[cfg(feature = "screen")]
pub(crate) use monitor::MonitorArguments;
pub(crate) use query::QueryArguments;
pub(crate) use record::{RecordArguments, RecordFormat, SegmentLimit};
pub(crate) use rows::RowArguments;
#[cfg(feature = "web")]
pub(crate) use serve::ServeArguments;
pub(crate) use sql::SqlArguments;
pub(crate) use stats::StatsArguments;
pub(crate) use text::{DigitsArguments, NumberArguments, ReadingArguments, parse_output_encoding};
use time_range::{SpanOfLogs, window_bounds};
pub(crate) use usage::parse;
use windows_form::{WindowsForm, windows_form};

use crate::failure::Failure;
use crate::path_file;

/// Performance counters as defined by Windows: shows and records the counters of this machine, and reads Windows'
/// performance logs (.blg) and PDH's CSV and TSV.
///
/// Without a command: shows the default counters, on a terminal as 'tacho monitor', otherwise as a table of five samples
/// taken one second apart. A log, or options of 'tacho monitor', without a command open the monitor.
#[derive(Debug, Parser)]
#[command(name = "tacho", version, max_term_width = 100, args_override_self = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXAMPLES: &str = r"Examples:
  tacho                                              # an overview of this machine; ? lists its keys
  tacho record --view processes -o server.blg        # record the processes until Ctrl-C
  tacho monitor server.blg                           # the overview of a log; t jumps to a time
  tacho stats server.blg -b 14:04 -e 14:05 '\Process(*)\% Processor Time' --top 5
  tacho compare before.blg after.blg
'tacho COMMAND --help' has more examples.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Query(QueryArguments),
    Record(RecordArguments),
    #[cfg(feature = "screen")]
    Monitor(MonitorArguments),
    Stats(StatsArguments),
    Compare(CompareArguments),
    Relog(RelogArguments),
    Check(CheckArguments),
    Archive(ArchiveArguments),
    Cpi(CpiArguments),
    #[cfg(feature = "web")]
    Serve(ServeArguments),
    #[cfg(feature = "web")]
    Agent(AgentArguments),
    Sql(SqlArguments),
    Manifest(ManifestArguments),
}

/// Formats of `stats` and `cpi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Human-readable.
    Table,
    /// CSV with a header line (docs/json.md).
    Csv,
    /// JSON: an array with one object per line (docs/json.md). 'tacho cpi' writes the lines without an array.
    Json,
}

/// Convert, cut and merge logs.
///
/// Selects counters (-c, -cf) and a time range (-b, -e), and keeps every N-th sample (-t). Without -o: writes to
/// standard output in the format of -f; without -f, prints a summary of the inputs.
#[derive(Debug, Args)]
pub(crate) struct RelogArguments {
    /// Logs: .blg, .csv, .tsv or .json (from relog and query), recognised by their content, folders of archives, and logs
    /// in databases (SQL:FILE.db!NAME).
    #[arg(required_unless_present = "counters", value_name = "FILE", value_parser = log_name())]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Output file, folder of an archive, or log in a database (SQL:FILE.db!NAME); `-` is standard output.
    #[arg(short, long, value_name = "FILE", value_parser = log_name())]
    pub(crate) output: Option<PathBuf>,
    /// Output format. Default: by the extension of the output; bin without an extension, csv for `-o -`.
    #[arg(short, long, ignore_case = true, value_parser = words(RELOG_FORMATS))]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) digits: DigitsArguments,
    /// Encoding of the CSV or TSV output: utf-8, utf-8-bom (with a byte order mark), or a Windows code page (1250 to 1258,
    /// 932, 936, 949, 950). Default: utf-8. For the inputs, see --encoding.
    #[arg(long, value_name = "NAME", value_parser = parse_output_encoding)]
    pub(crate) output_encoding: Option<TextEncoding>,
    /// Keep every N-th sample.
    #[arg(short = 't', long = "every", value_name = "N", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) every: Option<u64>,
    /// With logs of several machines: write a row for each sample of each machine. Default: rows at the times of the
    /// machine of the first log, with the latest sample of the other machines that is at most half an interval older.
    #[arg(long)]
    pub(crate) all_times: bool,
    /// Append to the output, which must have the same counters and end before the inputs start. Adds files to an archive. A log
    /// in a database may have other counters.
    #[arg(short, long)]
    pub(crate) append: bool,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Only show a summary of the inputs and the path of each selected counter. With -o: write the paths to that file, for -cf.
    #[arg(short, long)]
    pub(crate) query: bool,
}

/// The formats that `relog` writes.
const RELOG_FORMATS: &[Word<Format>] = &[
    ("bin", Format::Blg, "Windows binary log"),
    ("blg", Format::Blg, ""),
    ("csv", Format::Csv, "PDH comma-separated text"),
    ("tsv", Format::Tsv, "PDH tab-separated text"),
    ("json", Format::Json, "JSON lines: an object per sample"),
    (
        "archive",
        Format::Archive,
        "Parquet files with raw values in a folder, for SQL and for years of samples",
    ),
    ("sql", Format::Sql, "PDH's tables in a database, with -o SQL:FILE.db!NAME"),
];

/// A word that an option accepts, its value, and its help. A word with empty help is hidden.
pub(crate) type Word<T> = (&'static str, T, &'static str);

/// A parser that accepts one of several words.
pub(crate) fn words<T: Clone + Send + Sync>(table: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    let words =
        table.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help).hide(help.is_empty()));
    PossibleValuesParser::new(words).try_map(|text| {
        let found = table.iter().find(|(word, ..)| word.eq_ignore_ascii_case(&text));
        found.map(|(_, value, _)| value.clone()).ok_or("unknown word")
    })
}

/// Check logs for damage, and save intact samples.
///
/// Exit status: 0 if all logs are intact, otherwise 1, with a list of problems.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Logs.
    #[arg(required = true, value_name = "FILE", value_parser = log_name())]
    pub(crate) files: Vec<PathBuf>,
    /// Write the intact samples of the log into a new log.
    #[arg(long, value_name = "OUT", value_parser = file_name())]
    pub(crate) salvage: Option<PathBuf>,
    /// Overwrite OUT if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// Selection of counters and of a time range.
#[derive(Debug, Args)]
pub(crate) struct SelectionArguments {
    /// Only these counters: quoted paths such as '\Processor(*)\% Processor Time'. The wildcards `*` and `?` are
    /// allowed in every part, also in a machine: '\\web*\System\Processes'.
    #[arg(short = 'c', long = "counter", num_args = 1.., value_name = "PATH")]
    counters: Vec<String>,
    /// Read counter paths from a file, one per line (-cf); `-` is standard input. Lines that start with `#` or `;` are
    /// comments.
    #[arg(long = "counter-file", visible_alias = "cf", value_name = "FILE")]
    counter_files: Vec<PathBuf>,
    /// Start of the time range: M/D/YYYY HH:MM:SS [AM|PM] or ISO 8601, in the local time of the log unless it has a UTC
    /// offset; a time without a date is on the day on which the logs start. -10m, -1h, -2d: this long before the last
    /// sample; +30s: this long after the first one. The first interval begins with the sample before it.
    #[arg(short, long, value_name = "TIME")]
    begin: Option<String>,
    /// End of the time range, exclusive. As -b, but +30s is this long after -b if -b is given.
    #[arg(short, long, value_name = "TIME")]
    end: Option<String>,
    #[command(flatten)]
    reading: ReadingArguments,
    /// Read options from a file: a line `[option]`, then a line with its value (-config). The command line takes
    /// precedence.
    #[arg(long = "config", value_name = "FILE")]
    _config: Option<PathBuf>,
}

impl SelectionArguments {
    /// The query that these arguments describe.
    pub(crate) fn query(&self, files: &[PathBuf], every: Option<u64>) -> Result<LogQuery, Failure> {
        let (logs, patterns) = self.logs_and_paths(files)?;
        if logs.is_empty() {
            return Err(Failure::usage("no log: name one before -c, as in 'tacho stats FILE -c PATH'"));
        }
        let mut query = self.query_of(logs, patterns)?;
        query.every = every.unwrap_or_default();
        Ok(query)
    }

    /// A separate query of each log.
    pub(crate) fn queries(&self, files: &[PathBuf]) -> Result<Vec<LogQuery>, Failure> {
        let (logs, patterns) = self.logs_and_paths(files)?;
        logs.into_iter().map(|log| self.query_of(vec![log], patterns.clone())).collect()
    }

    fn query_of(&self, logs: Vec<PathBuf>, patterns: Vec<PathPattern>) -> Result<LogQuery, Failure> {
        let mut query = LogQuery::new(logs);
        query.selection = Selection::new(patterns);
        query.reading = self.reading.options();
        query.bounds = self.bounds(&query.paths, &query.reading)?;
        Ok(query)
    }

    /// The logs, including those after `-c`, and the counter paths, including those among the logs (they start with a
    /// backslash).
    fn logs_and_paths(&self, files: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<PathPattern>), Failure> {
        let (mut logs, mut patterns) = (Vec::new(), Vec::new());
        for file in files {
            match file.to_str().filter(|text| text.starts_with('\\')) {
                Some(text) => push_log_or_path(text, "", &mut logs, &mut patterns)?,
                None => logs.push(file.clone()),
            }
        }
        for path in &self.counters {
            push_log_or_path(path, "-c ", &mut logs, &mut patterns)?;
        }
        for file in &self.counter_files {
            patterns.extend(path_file::read(file)?);
        }
        Ok((logs, patterns))
    }

    /// The time range of -b and -e. If a time depends on the logs, they are read to find their first or last sample.
    fn bounds(&self, logs: &[PathBuf], reading: &ReadOptions) -> Result<WindowBounds, Failure> {
        window_bounds(self.begin.as_deref(), self.end.as_deref(), &mut SpanOfLogs::new(logs, reading))
    }
}

/// Adds a value of `option` to the logs or to the counter paths. `-c` accepts several values, so clap assigns a log that
/// follows them to `-c` as well.
pub(crate) fn push_log_or_path(
    text: &str,
    option: &str,
    logs: &mut Vec<PathBuf>,
    paths: &mut Vec<PathPattern>,
) -> Result<(), Failure> {
    let as_file = Path::new(text);
    match PathPattern::parse(text) {
        _ if is_sql_log(as_file) => logs.push(as_file.to_path_buf()),
        _ if as_file.is_file() => logs.push(as_file.to_path_buf()),
        Err(_) if as_file.is_dir() => logs.push(as_file.to_path_buf()),
        Ok(path) => paths.push(path),
        Err(_) if has_log_extension(as_file) => logs.push(as_file.to_path_buf()),
        Err(error) => return Err(Failure::usage(format!("{option}'{text}': {error}"))),
    }
    Ok(())
}

/// Returns an error if -a and -y are used together.
pub(crate) fn check_append(append: bool, yes: bool) -> Result<(), Failure> {
    match append && yes {
        true => Err(Failure::usage("-a appends and -y overwrites: use one of them")),
        false => Ok(()),
    }
}

/// Whether a name has the extension of a log.
pub(crate) fn has_log_extension(file: &Path) -> bool {
    file.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
        ["blg", "csv", "tsv", "json", "jsonl", "ndjson", "parquet"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Whether a name is that of a log in a database: it begins with `SQL:`.
pub(crate) fn is_sql_log(name: &Path) -> bool {
    SqlLogName::parse(name).is_some()
}

/// Parses the name of a log: a file, a folder, or `SQL:DSN!NAME`.
pub(crate) fn log_name() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match SqlLogName::parse(&path) {
        Some(Err(error)) => Err(error.to_string()),
        Some(Ok(_)) | None => Ok(path),
    })
}

/// Parses the name of a file that is written. Rejects logs in databases.
pub(crate) fn file_name() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match is_sql_log(&path) {
        true => Err("must be a file, not a log in a database (write './SQL:...' if it is a file)"),
        false => Ok(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clap_definition_is_valid() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
