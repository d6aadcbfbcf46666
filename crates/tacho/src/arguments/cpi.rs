//! The arguments of `tacho cpi`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};

use super::parse_interval;

/// Cycles per instruction (CPI) of a command, of a running process (-p), or of this machine until Ctrl-C.
///
/// Shows CPI, CPI while busy (cpi_wb), idle and busy share of the system and of each processor; for a command or a process
/// also its own instructions, cycles and CPI, children included. Where there are no hardware counters, as in most virtual
/// machines, the shares are still shown, and standard error says why there is no CPI.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
pub(crate) struct CpiArguments {
    /// The command to run and to measure, with its arguments; behind `--`. Its results go to standard error.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "command_text")]
    pub(crate) command: Vec<OsString>,
    /// The command as one text, which is given to `sh -c`.
    #[arg(short = 'c', long = "command", value_name = "TEXT")]
    pub(crate) command_text: Option<OsString>,
    /// Measure a running process, with all its threads and what they start, until it ends or Ctrl-C.
    #[arg(short, long, value_name = "PID", conflicts_with_all = ["command", "command_text"], allow_negative_numbers = true, value_parser = parse_pid)]
    pub(crate) pid: Option<u32>,
    /// Begin to measure after this time: seconds, mm:ss or hh:mm:ss. A command runs from the start.
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) start_after: Option<Duration>,
    /// Measure for this time. A command is not ended by it, and runs on uncounted.
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) run: Option<Duration>,
    /// A result for each interval of this length, and one for what is left at the end. Short intervals disturb the CPI
    /// that they measure.
    #[arg(short = 't', long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) interval: Option<Duration>,
    /// A time stamp on each sample of a table (-ts). CSV and JSON always have it.
    #[arg(long, visible_alias = "ts")]
    pub(crate) timestamp: bool,
    /// The system without its processors, in one line per sample (-ds).
    #[arg(long, visible_alias = "ds")]
    pub(crate) system_only: bool,
    /// Do not measure utilization: no idle, busy and cpi_wb (-noai).
    #[arg(long, visible_alias = "noai")]
    pub(crate) no_utilization: bool,
    /// Count user code only, without the kernel's work.
    #[arg(long = "user")]
    pub(crate) user_only: bool,
    /// Format: a table for people, or CSV or JSON in full precision. (The old tool's -f named the file; that is -o here.)
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: CpiFormat,
    /// Where to write; every sample is in the file as soon as it was taken. `-` is standard output. Default: standard
    /// output, and standard error when a command runs.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write trace hooks into FILE at each result.
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(trace_file))]
    pub(crate) trace: Option<PathBuf>,
    /// The label of the hooks.
    #[arg(long, value_name = "TEXT", requires = "trace")]
    pub(crate) label: Option<String>,
    /// The minor code of the hooks, 0 to 255.
    #[arg(long, value_name = "N", requires = "trace", default_value = "0", allow_negative_numbers = true)]
    pub(crate) minor: u8,
    /// Write the summary hook. Without this and --detailed: both kinds.
    #[arg(long, requires = "trace")]
    pub(crate) summary: bool,
    /// Write the detailed hooks: system, processors.
    #[arg(long, requires = "trace")]
    pub(crate) detailed: bool,
    /// Show the hooks of a trace instead of measuring.
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(trace_file), conflicts_with_all = [
        "command", "command_text", "pid", "start_after", "run", "interval", "timestamp", "system_only", "no_utilization",
        "user_only", "trace", "label", "minor", "summary", "detailed",
    ])]
    pub(crate) read: Option<PathBuf>,
    /// Overwrite the output or the trace if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Formats of `cpi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CpiFormat {
    /// For people.
    Table,
    /// With a header line; a row per sample and scope.
    Csv,
    /// One object per sample and line.
    Json,
}

fn parse_pid(text: &str) -> Result<u32, String> {
    // Process numbers are positive integers of 32 bits with sign.
    let number: Option<u32> = text.parse().ok();
    number
        .filter(|&pid| pid > 0 && i32::try_from(pid).is_ok())
        .ok_or_else(|| "the number of a process: 1 or more".to_owned())
}

/// A stream cannot be read again, nor its header be completed.
fn trace_file(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.as_os_str() == "-" {
        true => Err("a trace needs a file ('./-' is one of that name)"),
        false => Ok(path),
    }
}

const AFTER_HELP: &str = r"Examples:
  tacho cpi -- make -j4                   a command with its children
  tacho cpi -c 'sort big.txt | uniq -c'   the same, by a shell
  tacho cpi -r 10 -t 1 -ds                the system, ten lines, a second each
  tacho cpi -p 4242 -f json -o cpi.json   a process until it ends
  tacho cpi --trace cpi.nrm2 -r 5; tacho cpi --read cpi.nrm2
'--help' says more about the values, exit status and signals.";

const AFTER_LONG_HELP: &str = concat!(
    r"Examples:
  A command with its children; the same, by a shell:
    tacho cpi -- make -j4
    tacho cpi -c 'sort big.txt | uniq -c'
  The system, ten lines, a second each:
    tacho cpi -r 10 -t 1 -ds
  A process until it ends:
    tacho cpi -p 4242 -f json -o cpi.json
  Trace hooks, written and shown:
    tacho cpi --trace cpi.nrm2 -r 5
    tacho cpi --read cpi.nrm2

",
    "Values: cpi is elapsed cycles per instruction, so that idle time counts; cpi_wb is CPI while busy; idle% and busy% are \
     shares of the time. Those of the system are made from sums over the processors. For a command, cpi is of reference \
     cycles while it ran, where the machine can count them, and core cpi of the core's own clock: what 'perf stat' shows. \
     A value that is not known is '-'.\n\n",
    "Commands: counting begins when the command's own code does. Its exit status is passed on: 126 when it could not be \
     executed, 127 when it was not found, 128 and the signal's number when a signal ended it. Ctrl-C goes to the command \
     alone, and results are shown after its end; SIGTERM and SIGHUP are passed on to it. A command also runs where it cannot \
     be counted.\n\n",
    "Without a command: Ctrl-C and SIGTERM end the measuring with its result and exit status 0; a second one ends it at once. \
     Exit status: 0 done; 1 nothing could be measured, or not be written, or a trace is damaged; 2 called wrongly."
);

#[cfg(test)]
mod tests {
    use super::parse_pid;

    #[test]
    fn numbers_of_processes() {
        assert_eq!(parse_pid("1"), Ok(1));
        assert_eq!(parse_pid("2147483647"), Ok(2_147_483_647));
        for text in ["", "0", "-1", "2147483648", "x", "1.5"] {
            assert!(parse_pid(text).is_err(), "{text}");
        }
    }
}
