//! The arguments of `tacho record`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tachograph_flow::record::Suffix;
use tachograph_logs::{Format, TextEncoding};

use super::interval::is_whole_number;
use super::{
    DigitsArguments, ExportArguments, LiveArguments, Word, parse_interval, parse_output_encoding, words,
};

/// Record counters of this machine to a log.
///
/// A BLG stores raw values, from which any average can be computed later ('tacho stats', 'tacho relog', Windows'
/// Performance Monitor). Each sample is written as soon as it is taken: if the recorder is killed, at most the sample
/// being written is lost. The counters of a log are fixed at its start; a BLG includes instances that appear later, but
/// not counter sets that are published later. Ctrl-C or SIGTERM completes the log and exits with status 0; a second
/// Ctrl-C exits immediately.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
pub(crate) struct RecordArguments {
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    /// Also record the counters of a view: overview, cpu, memory, disk, network, processes, cgroups, pressure, gpu,
    /// applications, sensors, or else a file (docs/views.md). The sampling interval is then that of the view, unless -si is given.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) view: Option<PathBuf>,
    /// The log to write, the folder of an archive, or a log in a database (SQL:FILE.db!NAME). An existing log is only
    /// overwritten with -y; an archive is continued.
    #[arg(short, long, value_name = "LOG", value_parser = super::log_name())]
    pub(crate) output: PathBuf,
    /// Format of the log: bin and bincirc are BLG with raw values; csv and tsv store displayed values of the instances
    /// in the first sample; archive is a folder of Parquet files with raw values; sql is PDH's tables in a database. Default: chosen by the
    /// extension of LOG.
    #[arg(short, long, value_enum, ignore_case = true)]
    pub(crate) format: Option<RecordFormat>,
    /// Stop after this time: seconds, mm:ss or hh:mm:ss (-d, -rf).
    #[arg(short, long, visible_alias = "rf", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) duration: Option<Duration>,
    /// Maximum size of a file in MB of 1,048,576 bytes (-max). At this size the recording ends, or continues in a new file
    /// (-cnf, -segment TIME), or new samples replace the oldest (-circular).
    #[arg(long, visible_alias = "max", value_name = "MB", allow_negative_numbers = true, value_parser = parse_megabytes)]
    pub(crate) max_size: Option<u64>,
    /// Start a new file after a time (in the form of -d) or at a size (64KB, 100MB, 1GB); without a value, at the size of
    /// -max. Also -segment, -cnf. Each file is a complete log. Default for an archive: every 10 minutes, counted from
    /// midnight UTC.
    #[arg(long, value_name = "TIME|SIZE", num_args = 0..=1, require_equals = true, value_parser = parse_segment)]
    pub(crate) segment: Option<Option<SegmentLimit>>,
    /// Replace the oldest samples when the file has reached -max MB (BLG only).
    #[arg(long)]
    pub(crate) circular: bool,
    /// Append to LOG if it exists; it must have the same counters and earlier times.
    #[arg(short, long)]
    pub(crate) append: bool,
    /// Suffix of file names: a number (one above the highest existing number), or the date as month, day, hour and minute.
    /// Default for segments: a number.
    #[arg(short = 'v', long = "suffix", ignore_case = true, value_name = "nnnnnn|mmddhhmm", value_parser = words(SUFFIXES))]
    pub(crate) suffix: Option<Suffix>,
    /// Overwrite LOG if it exists (also -ow).
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) digits: DigitsArguments,
    /// Encoding of CSV and TSV: utf-8, utf-8-bom (with a byte order mark), or a Windows code page (1250 to 1258, 932, 936,
    /// 949, 950). Default: utf-8.
    #[arg(long, value_name = "NAME", value_parser = parse_output_encoding)]
    pub(crate) encoding: Option<TextEncoding>,
    /// Wait after each sample until it is on disk: even a power failure loses at most the sample being written.
    #[arg(long)]
    pub(crate) sync: bool,
    /// Archive: remove files older than this (30d, 12h, 8w, 1y). Default: keep all.
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) keep: Option<Duration>,
    /// Archive: remove the oldest files of this machine while their total size is larger than this (500MB, 20GB).
    #[arg(long, value_name = "SIZE", value_parser = parse_kept_size)]
    pub(crate) keep_size: Option<u64>,
    /// Archive: pause while less than this is free on the disk; 0 disables this. [default: 200MB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) min_free: Option<u64>,
    /// Print the time of each sample, in units of 100 ns since 1601, after it was written. For tests.
    #[arg(long, hide = true)]
    pub(crate) print_times: bool,
    #[command(flatten)]
    pub(crate) export: ExportArguments,
}

/// The maximum for limits in MB. In bytes, limits must fit into 63 bits.
const MAX_MB: u64 = 1 << 40;

const AFTER_HELP: &str = r"Examples:
  tacho record '\Processor Information(*)\*' '\Memory\*' -o server.blg
  tacho record -cf counters.txt -si 15 -segment 1:00:00 -o /var/log/perf/web.blg
'--help' explains segments, short intervals, clocks and full disks.";

const AFTER_LONG_HELP: &str = concat!(
    r"Examples:
  Every second, until Ctrl-C:
    tacho record '\Processor Information(*)\*' '\Memory\*' -o server.blg
  Ten times a second, for a minute:
    tacho record '\Process(*)\*' -si 0.1 -d 1:00 -o burst.blg
  web_000001.blg, web_000002.blg, ... of one hour each; then statistics over all of them:
    tacho record -cf counters.txt -si 15 -segment 1:00:00 -o web.blg
    tacho stats web_*.blg
  A new file every 100 MB; only the latest 50 MB:
    tacho record '\PhysicalDisk(*)\*' -cnf -max 100 -v mmddhhmm -o disk.blg
    tacho record '\System\*' -f bincirc -max 50 -o flight.blg
  An archive of the last 30 days, which 'stats' and SQL engines read:
    tacho record '\Process(*)\*' -f archive -o processes --keep 30d
  A log in an SQLite database, in the tables that Windows' tools write:
    tacho record '\Memory\*' -o 'SQL:counters.db!memory'
  Sixty rows of text:
    tacho record '\Memory\Available Bytes' -sc 60 -f csv -o memory.csv

",
    "Segments: each file is a complete log. No sample is in two files; 'stats' and 'relog' pair the last sample of one file \
     with the first of the next, so no interval is lost if you pass them together. Numbering continues after the highest \
     existing number, also after a restart, so segments are never overwritten.\n\n",
    "Archives: -f archive writes each sample into an open segment, a BLG, which becomes a Parquet file every 10 minutes (-segment). \
     If the recorder is killed, no sample is lost or duplicated: the next recorder continues the archive. All commands also read the open segment. \
     Small files of past days are merged. If the disk is almost full, the recording pauses (--min-free).\n\n",
    "Intervals below one second: the kernel updates some counters less often. Times of processors and processes advance in \
     steps of 10 ms, counts of memory pages about once a second, pressure averages every two seconds.\n\n",
    "Clocks: intervals are measured by a clock that cannot be set and that continues during suspend. Sample times are local \
     times with the UTC offset at the start, even if daylight saving time ends during the recording. If the clock is set back, sample \
     times advance by 1 ms until the clock has caught up: no sample is lost, and times never go backwards.\n\n",
    "Errors: a value that cannot be read is stored as an error, reported once with its cause, and counted at the end. A \
     missing instance is recorded as soon as it appears. If none of the counters exists, recording does not start. A full \
     disk ends the recording with exit status 1; the log is intact up to the last sample. Exit status: 0 success, also \
     with Ctrl-C; 1 failure; 2 invalid arguments."
);

/// Formats that `record` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    /// Windows binary log.
    #[value(alias = "blg")]
    Bin,
    /// Windows binary log, with -circular.
    Bincirc,
    /// PDH comma-separated text.
    Csv,
    /// PDH tab-separated text.
    Tsv,
    /// Parquet files in a folder, for SQL and for months of samples.
    Archive,
    /// PDH's tables in a database, with -o SQL:FILE.db!NAME.
    Sql,
}

impl RecordFormat {
    /// The format of the log.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Bin | Self::Bincirc => Format::Blg,
            Self::Csv => Format::Csv,
            Self::Tsv => Format::Tsv,
            Self::Archive => Format::Archive,
            Self::Sql => Format::Sql,
        }
    }
}

const SUFFIXES: &[Word<Suffix>] = &[
    ("nnnnnn", Suffix::Number, "A number of six digits"),
    ("mmddhhmm", Suffix::Date, "Month, day, hour, minute"),
];

/// When a new file starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentLimit {
    /// After this time.
    Time(Duration),
    /// At this number of bytes.
    Bytes(u64),
}

fn parse_megabytes(text: &str) -> Result<u64, String> {
    let is_size =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(|c: char| c.is_ascii_alphabetic());
    match text.parse() {
        Err(_) if is_whole_number(text) => Err("too large".to_owned()),
        Ok(0) | Err(_) if is_size => Err("must be a whole number of MB, without a unit".to_owned()),
        Ok(0) | Err(_) => Err("must be a whole number of MB, 1 or more".to_owned()),
        Ok(megabytes) if megabytes > MAX_MB => Err("too large".to_owned()),
        Ok(megabytes) => Ok(megabytes),
    }
}

/// The minimum size of a segment in bytes. In smaller files, the headers would be larger than the samples.
const MIN_SEGMENT: u64 = 64 << 10;

fn parse_segment(text: &str) -> Result<SegmentLimit, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 && !text.starts_with('.') {
        return Err("must be a time such as 1:00:00, or a size such as 100MB".to_owned());
    }
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1_u64 << 30,
        unit if !unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            return Err("not a size: write a whole number with KB, MB or GB, such as 100MB".to_owned());
        }
        _ => return parse_interval(text).map(SegmentLimit::Time),
    };
    let wrong = match is_whole_number(number) {
        true => "too large",
        false => "not a size: write a whole number, such as 100MB",
    };
    let number: u64 = number.parse().map_err(|_| wrong.to_owned())?;
    match number.checked_mul(factor).filter(|&bytes| bytes <= MAX_MB << 20) {
        None => Err("too large".to_owned()),
        Some(bytes) if bytes < MIN_SEGMENT => Err("must be at least 64KB".to_owned()),
        Some(bytes) => Ok(SegmentLimit::Bytes(bytes)),
    }
}

/// The maximum age of files: a hundred years.
const MAX_DAYS: u32 = 36_525;

/// Parses an age with a unit: hours, days, weeks or years.
fn parse_age(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u32); 4] = [("h", 1), ("d", 24), ("w", 7 * 24), ("y", 365 * 24)];
    let number = |(unit, hours): (&str, u32)| Some((text.trim().strip_suffix(unit)?, hours));
    let wrong = || "not an age: write a whole number with h, d, w or y, such as 30d".to_owned();
    let (number, unit) = UNITS.into_iter().find_map(number).ok_or_else(wrong)?;
    let number = number.trim();
    let number: u32 = match number.parse() {
        Err(_) if is_whole_number(number) => u32::MAX,
        parsed => parsed.map_err(|_| wrong())?,
    };
    match number.checked_mul(unit) {
        Some(0) => Err("must be longer than 0".to_owned()),
        Some(hours) if hours <= MAX_DAYS * 24 => Ok(Duration::from_secs(u64::from(hours) * 3600)),
        _ => Err("must be at most a hundred years".to_owned()),
    }
}

/// Parses a size with a unit, or 0.
fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let wrong = || "not a size: write a whole number with KB, MB, GB or TB, such as 20GB".to_owned();
    let factor = match unit.trim().trim_end_matches('B') {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1_u64 << 40,
        "" if number == "0" => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = match number.parse() {
        Err(_) if is_whole_number(number) => return Err("too large".to_owned()),
        parsed => parsed.map_err(|_| wrong())?,
    };
    number.checked_mul(factor).filter(|&bytes| bytes <= MAX_MB << 20).ok_or_else(|| "too large".to_owned())
}

/// Parses the size of `--keep-size`. With 0, each file would be removed.
fn parse_kept_size(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        0 => Err("must be larger than 0".to_owned()),
        size => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_are_parsed() {
        let hours = |hours: u64| Ok(Duration::from_secs(hours * 3600));
        for (text, age) in
            [("30d", hours(720)), ("12h", hours(12)), ("8w", hours(8 * 168)), ("1y", hours(8760))]
        {
            assert_eq!(parse_age(text), age, "{text}");
        }
        for text in ["", "d", "0d", "30", "-1d", "1.5d", "101y", "9999999999d", "1m"] {
            assert!(parse_age(text).is_err(), "{text}");
        }
        for (text, size) in
            [("20G", 20 << 30), ("500MB", 500 << 20), ("1 tb", 1 << 40), ("0", 0), ("7k", 7168)]
        {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for text in ["", "5", "G", "-1G", "1.5G", "99999999999999G", "5X"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn segment_limits_are_times_or_sizes() {
        for (text, limit) in [
            ("1:00:00", SegmentLimit::Time(Duration::from_secs(3600))),
            ("90", SegmentLimit::Time(Duration::from_secs(90))),
            ("0.5", SegmentLimit::Time(Duration::from_millis(500))),
            ("100MB", SegmentLimit::Bytes(100 << 20)),
            ("64 kb", SegmentLimit::Bytes(64 << 10)),
            ("2GB", SegmentLimit::Bytes(2 << 30)),
        ] {
            assert_eq!(parse_segment(text), Ok(limit), "{text}");
        }
        for text in ["", "0", "MB", "1KB", "0MB", "10TB", "1.5MB", "-1MB", "99999999999999GB", "x"] {
            assert!(parse_segment(text).is_err(), "{text}");
        }
    }
}
