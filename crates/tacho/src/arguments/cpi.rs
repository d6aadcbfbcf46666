//! The arguments of `tacho cpi`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};

use super::{ReportFormat, parse_interval};

/// Measure cycles per instruction (CPI) of a command, a process or this machine.
///
/// Measures a command or a running process (-p); without either, the machine until Ctrl-C. Shows CPI, CPI while busy
/// (cpi_wb), and the idle and busy shares of the system and of each processor; for a command or a process, also its
/// instructions, cycles and CPI, including its children. Without hardware counters, as in most virtual machines, only
/// the shares are shown, and a message on standard error says why.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
pub(crate) struct CpiArguments {
    /// The command to run and measure, with its arguments, after `--`. Results go to standard error.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "command_text")]
    pub(crate) command: Vec<OsString>,
    /// The command as one text, which is passed to `sh -c`.
    #[arg(short = 'c', long = "command", value_name = "TEXT")]
    pub(crate) command_text: Option<OsString>,
    /// Measure a running process with its threads and their children, until it ends or Ctrl-C.
    #[arg(short, long, value_name = "PID", conflicts_with_all = ["command", "command_text"], allow_negative_numbers = true, value_parser = parse_pid)]
    pub(crate) pid: Option<u32>,
    /// Start measuring after this delay: seconds, mm:ss or hh:mm:ss. A command starts immediately.
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) start_after: Option<Duration>,
    /// Measure for this long. After that, a command continues to run, but is not counted.
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) run: Option<Duration>,
    /// Show a result for each interval of this length, and one for the remainder. Short intervals distort the measured
    /// CPI.
    #[arg(short = 't', long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) interval: Option<Duration>,
    /// Show the time of each sample in a table (-ts). CSV and JSON always have it.
    #[arg(long, visible_alias = "ts")]
    pub(crate) timestamp: bool,
    /// Show only the system, one line per sample (-ds).
    #[arg(long, visible_alias = "ds")]
    pub(crate) system_only: bool,
    /// Do not measure utilization: omits idle, busy and cpi_wb (-noai).
    #[arg(long, visible_alias = "noai")]
    pub(crate) no_utilization: bool,
    /// Count user code only, not the kernel.
    #[arg(long = "user")]
    pub(crate) user_only: bool,
    /// Output format; CSV and JSON have full precision. (In Performance Inspector's cpi, -f named the output file; here, -o does.)
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: ReportFormat,
    /// Output file; each sample is written as soon as it is taken. `-` is standard output. Default: standard output;
    /// standard error with a command.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write each result as hooks (records of a CPI trace) to FILE.
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(trace_output))]
    pub(crate) trace: Option<PathBuf>,
    /// Label of the hooks.
    #[arg(long, value_name = "TEXT", requires = "trace")]
    pub(crate) label: Option<String>,
    /// Minor code of the hooks, 0 to 255.
    #[arg(long, value_name = "N", requires = "trace", default_value = "0", allow_negative_numbers = true)]
    pub(crate) minor: u8,
    /// Write only summary hooks. Default: both kinds.
    #[arg(long, requires = "trace")]
    pub(crate) summary: bool,
    /// Write only detailed hooks: system, processors. Default: both kinds.
    #[arg(long, requires = "trace")]
    pub(crate) detailed: bool,
    /// Show the hooks of a trace instead of measuring.
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(trace_input), conflicts_with_all = [
        "command", "command_text", "pid", "start_after", "run", "interval", "timestamp", "system_only", "no_utilization",
        "user_only", "trace", "label", "minor", "summary", "detailed",
    ])]
    pub(crate) read: Option<PathBuf>,
    /// Overwrite the output or the trace if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

fn parse_pid(text: &str) -> Result<u32, String> {
    let pid: Option<u32> = text.parse().ok();
    pid.filter(|&pid| pid > 0 && i32::try_from(pid).is_ok())
        .ok_or_else(|| "not a process id: must be a number, 1 or more".to_owned())
}

/// Rejects `-`: the header of a trace is rewritten at the end.
fn trace_output(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.as_os_str() == "-" {
        true => Err("a trace cannot be written to standard output (write './-' for a file of this name)"),
        false => Ok(path),
    }
}

/// Rejects `-`.
fn trace_input(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.as_os_str() == "-" {
        true => Err("a trace cannot be read from standard input (write './-' for a file of this name)"),
        false => Ok(path),
    }
}

const AFTER_HELP: &str = r"Examples:
  tacho cpi -- make -j4                   a command with its children
  tacho cpi -c 'sort big.txt | uniq -c'   the same, run by a shell
  tacho cpi -r 10 -t 1 -ds                the system, ten lines, one per second
  tacho cpi -p 4242 -f json -o cpi.json   a process until it ends
  tacho cpi --trace cpi.nrm2 -r 5; tacho cpi --read cpi.nrm2
'--help' explains values, exit status and signals.";

const AFTER_LONG_HELP: &str = concat!(
    r"Examples:
  A command with its children; the same, run by a shell:
    tacho cpi -- make -j4
    tacho cpi -c 'sort big.txt | uniq -c'
  The system, ten lines, one per second:
    tacho cpi -r 10 -t 1 -ds
  A process until it ends:
    tacho cpi -p 4242 -f json -o cpi.json
  Write trace hooks, and show them:
    tacho cpi --trace cpi.nrm2 -r 5
    tacho cpi --read cpi.nrm2

",
    "Values: cpi is elapsed cycles per instruction, including idle time; cpi_wb is CPI while busy; idle% and busy% are \
     shares of the time. Values of the system are computed from sums over the processors. For a command, cpi is based on \
     reference cycles while it ran, if the machine can count them, and core cpi on cycles of the core's clock, as in \
     'perf stat'. A missing value is '-'.\n\n",
    "Commands: counting starts when the command is executed. The exit status is that of the command; 126 if it could not be \
     executed, 127 if it was not found, 128 plus the signal number if a signal ended it. Ctrl-C only reaches the command, \
     and results are shown when it has ended; SIGTERM and SIGHUP are forwarded to it. The command runs even if it cannot \
     be counted.\n\n",
    "Without a command: Ctrl-C or SIGTERM ends the measurement, shows its result and exits with status 0; a second signal \
     exits immediately. Exit status: 0 success; 1 measuring or writing failed, or a trace is damaged; 2 invalid arguments."
);

#[cfg(test)]
mod tests {
    use super::parse_pid;

    #[test]
    fn process_ids_are_positive_numbers() {
        assert_eq!(parse_pid("1"), Ok(1));
        assert_eq!(parse_pid("2147483647"), Ok(2_147_483_647));
        for text in ["", "0", "-1", "2147483648", "x", "1.5"] {
            assert!(parse_pid(text).is_err(), "{text}");
        }
    }
}
