//! The arguments that `query` and `record` share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use tachograph_perflib::Registry;

use super::{parse_count, parse_interval};
use crate::failure::Failure;
use crate::machines::{self, Target};
use crate::this_machine;

/// Counters of this machine, and when to sample them.
#[derive(Debug, Args)]
pub(crate) struct LiveArguments {
    /// Quoted counter paths such as '\Processor Information(*)\% Processor Time'. The wildcards `*` and `?` are allowed in
    /// every part. A missing instance is included as soon as it appears. Default: six counters of
    /// processor, memory, disk and network.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Counter paths, in the form of relog and logman.
    #[arg(short = 'c', long = "counter", num_args = 1.., value_name = "PATH")]
    pub(crate) counters: Vec<String>,
    /// Read counter paths from a file, one per line (-cf); `-` is standard input. Lines that start with `#` or `;` are
    /// comments.
    #[arg(long = "counter-file", visible_alias = "cf", value_name = "FILE")]
    pub(crate) counter_files: Vec<PathBuf>,
    /// All counters of this machine, with all instances; instead of paths.
    #[arg(long, conflicts_with_all = ["paths", "counters", "counter_files"])]
    all: bool,
    /// All counters except those of this counter set; wildcards are allowed, and the option can be repeated. Counter
    /// sets that are published later are not included.
    #[arg(long, value_name = "SET", conflicts_with_all = ["paths", "counters", "counter_files"])]
    all_but: Vec<String>,
    /// Time between samples (-si): seconds (also 0.1), mm:ss or hh:mm:ss. Sample k is due at start + k * interval;
    /// delays do not add up. [default: 1]
    #[arg(long, visible_alias = "si", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    interval: Option<Duration>,
    /// Stop after N samples (-sc). Default: until Ctrl-C.
    #[arg(long, visible_alias = "sc", value_name = "N", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) samples: Option<u64>,
    /// The machine for paths that do not name one: a name of machines.toml, @GROUP, @all, or a pattern with `*` and `?`.
    /// Several are separated by commas. 'tacho agent' runs on the other machine.
    #[arg(short = 's', long = "machine", value_name = "MACHINE", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) machine: Option<String>,
    /// Read options from a file: a line `[option]`, then a line with its value (-config). The command line takes
    /// precedence.
    #[arg(long = "config", value_name = "FILE")]
    _config: Option<PathBuf>,
}

const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// The paths of all counters: of sets without and with instances.
const ALL: [&str; 2] = [r"\*\*", r"\*(*)\*"];

impl LiveArguments {
    /// The time between samples.
    pub(crate) fn interval(&self) -> Duration {
        self.interval_or(None)
    }

    /// The time between samples: -si, or else the saved view's interval, or else the default.
    pub(crate) fn interval_or(&self, view_interval: Option<Duration>) -> Duration {
        self.interval.or(view_interval).unwrap_or(DEFAULT_INTERVAL)
    }

    /// The machines that the paths and -s name, with the requested paths of each. A machine has no paths if none are
    /// requested.
    pub(crate) fn targets(&self, local: &Arc<Registry>) -> Result<Vec<Target>, Failure> {
        if !self.all_but.is_empty() {
            let mut targets = machines::named(local, self.machine.as_deref())?;
            for target in &mut targets {
                target.paths = this_machine::all_but(&target.registry, &self.all_but)?;
            }
            return Ok(targets);
        }
        let (texts, files) = match self.all {
            true => (ALL.map(str::to_owned).to_vec(), &[][..]),
            false => (self.paths.iter().chain(&self.counters).cloned().collect(), &self.counter_files[..]),
        };
        let paths = this_machine::parse_any_paths(local, &texts, files)?;
        machines::of_paths(local, self.machine.as_deref(), &paths)
    }
}
