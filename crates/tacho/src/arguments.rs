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
mod text;
mod usage;
pub(crate) mod windows;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::logs::LogSource;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{Selection, Source as _, WindowBounds};
use tachograph_logs::{ReadOptions, TextEncoding};

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
pub(crate) use text::{DigitsArguments, ReadingArguments, parse_encoding};
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
    /// Logs: .blg, .csv, .tsv or .json (of relog and query), known by their content.
    #[arg(required_unless_present = "counters", value_name = "FILE", value_parser = log_name())]
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
    /// Also why values are errors: counter, status, number, and when the first and the last of them ended; after the table,
    /// with csv and json on standard error.
    #[arg(short, long)]
    pub(crate) verbose: bool,
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
/// Without -o: the result on standard output where -f gives its format, else a summary of the inputs.
#[derive(Debug, Args)]
pub(crate) struct RelogArguments {
    /// Logs: .blg, .csv, .tsv or .json (of relog and query), known by their content.
    #[arg(required_unless_present = "counters", value_name = "FILE", value_parser = log_name())]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Where to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", value_parser = log_name())]
    pub(crate) output: Option<PathBuf>,
    /// Format of the output. Default: by the extension of the output's name; bin for a name without one, csv for `-o -`.
    #[arg(short, long, value_enum, ignore_case = true)]
    pub(crate) format: Option<RelogFormat>,
    #[command(flatten)]
    pub(crate) digits: DigitsArguments,
    /// Encoding of the CSV or TSV that is written: utf-8, utf-8-bom (with a mark), or a code page of Windows (1250 to 1258,
    /// 932, 936, 949, 950). Default: utf-8. That of the inputs is `--encoding`.
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    pub(crate) output_encoding: Option<TextEncoding>,
    /// Keep every N-th sample.
    #[arg(short = 't', long = "every", value_name = "N", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) every: Option<u64>,
    /// Of several machines: write a row for every sample of each of them. Default: rows at the times of the first log's
    /// machine, with the nearest earlier sample of the others within half an interval.
    #[arg(long)]
    pub(crate) all_times: bool,
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
    #[arg(required = true, value_name = "FILE", value_parser = log_name())]
    pub(crate) files: Vec<PathBuf>,
    /// Write the samples of the log that are whole into a new one.
    #[arg(long, value_name = "OUT", value_parser = log_name())]
    pub(crate) salvage: Option<PathBuf>,
    /// Overwrite OUT if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
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
    /// From this time on: M/D/YYYY HH:MM:SS [AM|PM] or ISO 8601, in the log's local time unless a zone is given; a time of
    /// day alone is one of the day on which the logs begin. The sample before is used as the start of the first interval.
    #[arg(short, long, value_name = "TIME")]
    begin: Option<String>,
    /// Up to this time, which does not belong to the window any more.
    #[arg(short, long, value_name = "TIME")]
    end: Option<String>,
    #[command(flatten)]
    reading: ReadingArguments,
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
        query.reading = self.reading.options();
        query.bounds = self.bounds(&query.paths, &query.reading)?;
        Ok(query)
    }

    /// The window of -b and -e over logs, which are read with these options where a time of day needs their first day.
    fn bounds(&self, logs: &[PathBuf], reading: &ReadOptions) -> Result<WindowBounds, Failure> {
        self.bounds_from(|| first_day(logs, reading))
    }

    fn bounds_from(
        &self,
        mut first_day: impl FnMut() -> Result<Option<FileTime>, Failure>,
    ) -> Result<WindowBounds, Failure> {
        let mut known = None;
        let mut midnight = || match known {
            Some(midnight) => Ok(midnight),
            None => first_day().map(|midnight| *known.insert(midnight)),
        };
        let bounds = WindowBounds {
            begin: parse_time("-b", &self.begin, &mut midnight)?,
            end: parse_time("-e", &self.end, &mut midnight)?,
        };
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
        ["blg", "csv", "tsv", "json", "jsonl", "ndjson"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

fn parse_time(
    option: &str,
    text: &Option<String>,
    midnight: &mut dyn FnMut() -> Result<Option<FileTime>, Failure>,
) -> Result<Option<TimeArgument>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let refused = |error| Failure::usage(format!("{option}: {error}"));
    let time = match TimeArgument::parse_time_of_day(text) {
        Some(after_midnight) => {
            let midnight = midnight()?.ok_or_else(|| {
                Failure::usage(format!(
                    "{option} '{text}': a time of day refers to the first day of the logs, and they have no samples; give a date"
                ))
            })?;
            TimeArgument::Local(midnight.saturating_add(after_midnight.map_err(refused)?))
        }
        None => TimeArgument::parse(text).map_err(refused)?,
    };
    Ok(Some(time))
}

/// The midnight, local time, before the earliest first sample of the logs; `None` where none has a sample.
fn first_day(logs: &[PathBuf], reading: &ReadOptions) -> Result<Option<FileTime>, Failure> {
    let mut earliest: Option<Moment> = None;
    for log in logs {
        let mut sample = Sample::default();
        if LogSource::open_with(log, reading)?.next(&mut sample)? {
            let at =
                earliest.map_or(sample.at, |known| if sample.at.utc < known.utc { sample.at } else { known });
            earliest = Some(at);
        }
    }
    Ok(earliest.map(|at| at.local().midnight()))
}

/// Reads the name of a log, to be read or written. Windows' tools also take a table of a database there.
pub(crate) fn log_name() -> impl clap::builder::TypedValueParser<Value = PathBuf> {
    use clap::builder::{PathBufValueParser, TypedValueParser as _};
    PathBufValueParser::new().try_map(|path| {
        let is_sql =
            path.as_os_str().as_encoded_bytes().get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"SQL:"));
        match is_sql {
            true => Err("SQL logs are not supported yet: give the name of a file ('./SQL:...' is one)"),
            false => Ok(path),
        }
    })
}

#[cfg(test)]
mod tests {
    use tachograph_logs::Budget;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    fn selection_of(words: &[&str]) -> SelectionArguments {
        match Arguments::parse_from([&["tacho", "stats", "a.csv"], words].concat()).command {
            Some(Command::Stats(stats)) => stats.selection,
            command => panic!("{command:?}"),
        }
    }

    #[test]
    fn the_first_day_is_read_once_for_both_times_of_day() {
        let day = FileTime(130_000_000_000_000_000).midnight();
        let mut reads = 0;
        let bounds = selection_of(&["-b", "18:55", "-e", "19:00"]).bounds_from(|| {
            reads += 1;
            Ok(Some(day))
        });
        let local = |minutes: i64| TimeArgument::Local(FileTime(day.0 + minutes * 600_000_000));
        let expected = WindowBounds { begin: Some(local(18 * 60 + 55)), end: Some(local(19 * 60)) };
        assert_eq!((bounds.expect("a window"), reads), (expected, 1));
    }

    #[test]
    fn the_first_day_is_read_with_the_options_of_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("a.csv");
        let text =
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Memory\\Free\"\r\n\"01/02/2024 10:00:00.000\",\"1\"\r\n";
        std::fs::write(&log, text).expect("written");
        let bounds = |reading: &ReadOptions| {
            selection_of(&["-b", "10:00"]).bounds(std::slice::from_ref(&log), reading)
        };
        assert!(bounds(&ReadOptions::default()).is_ok());
        let options = ReadOptions { budget: Budget::new(16), ..ReadOptions::default() };
        assert!(bounds(&options).is_err(), "more memory than the options allow");
    }
}
