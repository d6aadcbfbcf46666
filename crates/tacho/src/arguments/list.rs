//! The arguments of `tacho list`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ReadingArguments;

macro_rules! examples {
    () => {
        r"Examples:
  tacho list                                   all counter sets of this machine
  tacho list Memory 'Network*'                 their counters
  tacho list process cpu                       search: words of names, descriptions and other tools, best match first
  tacho list -v '\PhysicalDisk(*)\Avg. *'      types, units and sources of these counters
  tacho list -qx PhysicalDisk -o counters.txt  paths for -cf
  tacho list server.blg                        the counters of a log
  tacho list server.blg Process                a counter set of a log
  tacho list -s web1 PhysicalDisk              counters of another machine"
    };
}

/// List the counter sets, counters and instances of this machine or of logs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_HELP)]
pub(crate) struct ListArguments {
    /// A log (.blg, .csv, .tsv or .json, recognised by its content), a counter path of this machine (starts with `\`), or
    /// the name of a counter set; the wildcards `*` and `?` are allowed. Beside a log, paths and names select counters of
    /// the log. Otherwise, all operands together are words to
    /// search for in names, descriptions and the names of other tools (docs/linux.md). Default: all counter sets of this
    /// machine.
    #[arg(value_name = "WHAT", value_parser = super::log_name())]
    pub(crate) what: Vec<PathBuf>,
    /// List the counters of another machine: a name of machines.toml. 'tacho agent' runs on that machine.
    #[arg(short = 's', long = "machine", value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: ListFormat,
    /// List only counter paths, without instances.
    #[arg(short, long)]
    pub(crate) query: bool,
    /// List only counter paths, for each existing instance (-qx).
    #[arg(long = "query-instances", visible_alias = "qx", conflicts_with = "query")]
    pub(crate) query_instances: bool,
    /// Also show type, unit, default scale, source and description of each counter.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Write the list to a file, for -cf.
    #[arg(short, long, value_name = "FILE", value_parser = super::file_name())]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Do not show a long list in the pager of the environment variable PAGER (by default less).
    #[arg(long)]
    pub(crate) no_pager: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// Formats of `list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Human-readable.
    Table,
    /// An array with an object per counter set or log.
    Json,
}

const EXAMPLES: &str = examples!();

const LONG_HELP: &str = concat!(
    examples!(),
    "\n\n",
    "Published counter sets are searched for in the folder of TACHO_RUNTIME_DIR, in /run/tachograph, and in \
     $XDG_RUNTIME_DIR/tachograph. MMV files are searched for in the folders of TACHO_MMV_DIR (separated by ':'; empty for \
     none), or, if it is not set, in /var/lib/pcp/tmp/mmv and $PCP_TMP_DIR/mmv. Registered manifests are searched for in the \
     folder of TACHO_MANIFEST_DIR, in /etc/tachograph/manifests, in /usr/share/tachograph/manifests, and, except for root, in \
     $XDG_DATA_HOME/tachograph/manifests. A registered set that no program publishes is shown with the instances 'none now'.",
);
