//! The arguments of `tacho list`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ReadingArguments;

macro_rules! examples {
    () => {
        r"Examples:
  tacho list                                   all counter sets of this machine
  tacho list Memory 'Network*'                 their counters
  tacho list -v '\PhysicalDisk(*)\Avg. *'      types, units and sources of some counters
  tacho list -qx PhysicalDisk -o counters.txt  paths for -cf
  tacho list server.blg                        what a log holds"
    };
}

/// Show what there is: counter sets, counters and instances of this machine, or what logs hold.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_HELP)]
pub(crate) struct ListArguments {
    /// What to show: a file is a log (.blg, .csv, .tsv or .json, known by its content); what begins with `\` is a path of this
    /// machine; else the name of a counter set, in which `*` and `?` stand for any text and any character. Without it: the
    /// counter sets of this machine.
    #[arg(value_name = "WHAT", value_parser = super::log_name())]
    pub(crate) what: Vec<PathBuf>,
    /// Output: text for people, or JSON.
    #[arg(short, long, value_enum, ignore_case = true, default_value = "table")]
    pub(crate) format: ListFormat,
    /// Only the paths of counters, without instances.
    #[arg(short, long)]
    pub(crate) query: bool,
    /// Only the paths of counters, for each instance that there is (-qx).
    #[arg(long = "query-instances", visible_alias = "qx", conflicts_with = "query")]
    pub(crate) query_instances: bool,
    /// Also type, unit, default scale, source and help of each counter.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Write the list into a file, for -cf.
    #[arg(short, long, value_name = "FILE", value_parser = super::log_name())]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// Formats of `list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people.
    Table,
    /// One array, an object per counter set or log.
    Json,
}

const EXAMPLES: &str = examples!();

const LONG_HELP: &str = concat!(
    examples!(),
    "\n\n",
    "Counter sets of programs are looked for in the folder of TACHO_RUNTIME_DIR, in /run/tachograph, and in \
     $XDG_RUNTIME_DIR/tachograph; those of MMV files in the folders of TACHO_MMV_DIR (separated by ':'; empty for none), else \
     in /var/lib/pcp/tmp/mmv and $PCP_TMP_DIR/mmv; registered manifests in the folder of TACHO_MANIFEST_DIR, in \
     /etc/tachograph/manifests, in /usr/share/tachograph/manifests, and, but for root, in \
     $XDG_DATA_HOME/tachograph/manifests. Registered sets that no program publishes have 'none now' for instances.",
);
