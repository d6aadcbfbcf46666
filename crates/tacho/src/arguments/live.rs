//! What `query` and `record` have in common: which counters of this machine, and when.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::Registry;

use super::{parse_count, parse_interval};
use crate::failure::Failure;
use crate::{live, path_file};

/// Counters of this machine, and when they are read.
#[derive(Debug, Args)]
pub(crate) struct LiveArguments {
    /// Counter paths such as '\Processor Information(*)\% Processor Time'; quote them. `*` and `?` stand for any text and
    /// any character in every part but the machine. An instance that is not there is taken in when it comes. Default: six
    /// counters of processor, memory, disk and network.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Counter paths, as relog and logman take them.
    #[arg(short = 'c', long = "counter", num_args = 1.., value_name = "PATH")]
    pub(crate) counters: Vec<String>,
    /// Counter paths from a file, one a line (-cf); `-` is standard input. Lines that begin with `#` or `;` are left out.
    #[arg(long = "counter-file", visible_alias = "cf", value_name = "FILE")]
    pub(crate) counter_files: Vec<PathBuf>,
    /// Time from one sample to the next (-si): seconds, of which there may be a fraction (0.1), mm:ss or hh:mm:ss. Sample k is taken at the start plus
    /// k intervals; delays do not add up. [default: 1]
    #[arg(long, visible_alias = "si", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    interval: Option<Duration>,
    /// End after so many samples (-sc). Default: until Ctrl-C.
    #[arg(long, visible_alias = "sc", value_name = "N", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) samples: Option<u64>,
    /// The machine of paths that name none. Only this one can be asked so far.
    #[arg(short = 's', long = "machine", value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Options from a file: a line `[option]`, then its value (-config). Those of the command line hold before them.
    #[arg(long = "config", value_name = "FILE")]
    _config: Option<PathBuf>,
}

/// From one sample to the next where nothing else is asked for.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);

impl LiveArguments {
    /// From one sample to the next.
    pub(crate) fn interval(&self) -> Duration {
        self.interval_or(None)
    }

    /// From one sample to the next, where a saved view may say it too.
    pub(crate) fn interval_or(&self, of_view: Option<Duration>) -> Duration {
        self.interval.or(of_view).unwrap_or(USUAL_INTERVAL)
    }

    /// Refuses the name of another machine.
    pub(crate) fn check_machine(&self, registry: &Registry) -> Result<(), Failure> {
        self.machine.as_deref().map_or(Ok(()), |machine| live::check_machine(registry, machine))
    }

    /// The paths that are asked for; none where nothing is.
    pub(crate) fn patterns(&self, registry: &Registry) -> Result<Vec<PathPattern>, Failure> {
        let mut paths = Vec::new();
        for text in self.paths.iter().chain(&self.counters) {
            paths.push(live::parse_path(registry, text)?);
        }
        for file in &self.counter_files {
            for path in path_file::read(file)? {
                paths.push(live::here(registry, path)?);
            }
        }
        Ok(paths)
    }
}
