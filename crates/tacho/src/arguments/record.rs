//! The arguments of `tacho record`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tachograph_logs::TextEncoding;

use super::{DigitsArguments, LiveArguments, parse_encoding, parse_interval};

/// Record raw values of this machine's counters into a log.
///
/// A BLG keeps raw values, so that every average can be made from it later ('tacho stats', 'tacho relog', Windows'
/// Performance Monitor). Each sample is written as soon as it is taken: a recorder that is killed loses at most the sample
/// that it was writing. A log keeps the counters that it began with; instances that come later are taken in by a BLG,
/// counter sets of programs that start later are not. Ctrl-C and SIGTERM end it with a complete log and exit status 0; a
/// second Ctrl-C ends it at once.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
pub(crate) struct RecordArguments {
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    /// Record the counters of a saved view too (docs/views.md), at its interval unless -si says another one.
    #[arg(long, value_name = "FILE")]
    pub(crate) view: Option<PathBuf>,
    /// The log to write. It is never overwritten without -y.
    #[arg(short, long, value_name = "LOG", value_parser = super::log_name())]
    pub(crate) output: PathBuf,
    /// Format of the log: bin and bincirc are BLG, raw; csv and tsv hold displayed values, of the instances that the first
    /// sample has. Default: by the extension of LOG, else bin.
    #[arg(short, long, value_enum, ignore_case = true)]
    pub(crate) format: Option<RecordFormat>,
    /// End after this time: seconds, mm:ss or hh:mm:ss (-d, -rf).
    #[arg(short, long, visible_alias = "rf", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) duration: Option<Duration>,
    /// Most size of a file in MB of 1,048,576 bytes (-max). Then the recording ends, or goes on in a new file (-cnf,
    /// -segment TIME), or new samples take the place of the oldest (-circular).
    #[arg(long, visible_alias = "max", value_name = "MB", allow_negative_numbers = true, value_parser = parse_megabytes)]
    pub(crate) max_size: Option<u64>,
    /// Begin a new file after a time (as -d) or at a size (100MB, 64KB, 1GB); without either, when -max is reached
    /// (-segment, -cnf). Each file is a complete log.
    #[arg(long, value_name = "TIME|SIZE", num_args = 0..=1, require_equals = true, value_parser = parse_segment)]
    pub(crate) segment: Option<Option<SegmentLimit>>,
    /// Let new samples take the place of the oldest when the file has -max MB (BLG only).
    #[arg(long)]
    pub(crate) circular: bool,
    /// Append to LOG if it exists: it must have the same counters, and earlier times.
    #[arg(short, long)]
    pub(crate) append: bool,
    /// What stands behind the names of files: a number, counted on from the highest that is there, or the month, day, hour
    /// and minute. Segments have a number by default.
    #[arg(short = 'v', long = "suffix", value_enum, ignore_case = true, value_name = "nnnnnn|mmddhhmm")]
    pub(crate) suffix: Option<SuffixForm>,
    /// Overwrite LOG if it exists (-y, -ow).
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) digits: DigitsArguments,
    /// How the characters of names are encoded in CSV and TSV: utf-8, utf-8-bom (with a mark), or a code page of Windows
    /// (1250 to 1258, 932, 936, 949, 950). Default: utf-8.
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    pub(crate) encoding: Option<TextEncoding>,
    /// Wait after each sample until the disk has it: not even a power failure loses more than the sample being written.
    #[arg(long)]
    pub(crate) sync: bool,
}

/// More would not fit into 63 bits.
const MOST_MB: u64 = 1 << 40;

const AFTER_HELP: &str = r"Examples:
  tacho record '\Processor Information(*)\*' '\Memory\*' -o server.blg
  tacho record -cf counters.txt -si 15 -segment 1:00:00 -o /var/log/perf/web.blg
'--help' says more about segments, short intervals, clocks and full disks.";

const AFTER_LONG_HELP: &str = concat!(
    r"Examples:
  Until Ctrl-C, every second; ten times a second, for a minute:
    tacho record '\Processor Information(*)\*' '\Memory\*' -o server.blg
    tacho record '\Process(*)\*' -si 0.1 -d 1:00 -o burst.blg
  web_000001.blg, web_000002.blg, ... of an hour each; then statistics over all of them:
    tacho record -cf counters.txt -si 15 -segment 1:00:00 -o web.blg
    tacho stats web_*.blg
  A new file whenever 100 MB are full; always the last 50 MB:
    tacho record '\PhysicalDisk(*)\*' -cnf -max 100 -v mmddhhmm -o disk.blg
    tacho record '\System\*' -f bincirc -max 50 -o flight.blg
  Sixty rows of text:
    tacho record '\Memory\Available Bytes' -sc 60 -f csv -o memory.csv

",
    "Segments: each file is a complete log. No sample stands in two of them; 'stats' and 'relog' pair the last sample of one \
     with the first of the next: give them together, and no interval is lost. Numbers go on behind the highest that is \
     there, also after a restart, so that no segment is ever overwritten.\n\n",
    "Intervals below a second: the kernel renews some counters more slowly than that. Times of processors and processes come \
     in steps of 10 ms, counts of memory pages about once a second, averages of pressure every two seconds.\n\n",
    "Clocks: intervals are measured by a clock that goes on while the machine sleeps and that nobody sets. Sample times are \
     the local time in the offset of the start, also over the end of daylight time; where the clock is set back, each is \
     1 ms after the one before until the clock is there again. Nothing is left out, and no time goes back.\n\n",
    "What goes wrong: a value that cannot be read is an error in the log, said once with its cause, and counted at the end. \
     An instance that is not there is recorded when it comes; a set or counter that does not exist is an error before the \
     first sample, unless others do. A full disk ends the recording with exit status 1; the log is whole up to the last \
     sample. Exit status: 0 done, also by Ctrl-C; 1 not done; 2 called wrongly."
);

/// Formats that `record` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    /// Windows' binary log.
    #[value(alias = "blg")]
    Bin,
    /// The same with -circular.
    Bincirc,
    /// PDH's comma-separated text.
    Csv,
    /// PDH's tab-separated text.
    Tsv,
}

/// What stands behind the name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SuffixForm {
    /// A number of six digits.
    Nnnnnn,
    /// Month, day, hour, minute.
    Mmddhhmm,
}

/// When a segment is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentLimit {
    /// After this time.
    Time(Duration),
    /// At so many bytes.
    Bytes(u64),
}

fn parse_megabytes(text: &str) -> Result<u64, String> {
    let is_size =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(|c: char| c.is_ascii_alphabetic());
    match text.parse() {
        Ok(0) | Err(_) if is_size => Err("a whole number of MB, without a unit".to_owned()),
        Ok(0) | Err(_) => Err("a whole number of MB, 1 or more".to_owned()),
        Ok(number) if number > MOST_MB => Err("too large".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Smaller files would hold more of headers than of samples.
const LEAST_SEGMENT: u64 = 64 << 10;

fn parse_segment(text: &str) -> Result<SegmentLimit, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
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
    let number: u64 = number.parse().map_err(|_| "not a size: write 100MB".to_owned())?;
    match number.checked_mul(factor).filter(|&bytes| bytes <= MOST_MB << 20) {
        None => Err("too large".to_owned()),
        Some(bytes) if bytes < LEAST_SEGMENT => Err("a file has at least 64KB".to_owned()),
        Some(bytes) => Ok(SegmentLimit::Bytes(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_by_time_and_size() {
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
