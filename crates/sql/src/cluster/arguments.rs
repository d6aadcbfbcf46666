//! The command lines of `tacho-sql scheduler` and `tacho-sql executor`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;

use super::address;
use crate::arguments::parse_bytes;

/// Divide queries into tasks for executors.
///
/// Start a scheduler and executors, and query with: tacho sql --cluster http://127.0.0.1:50050 SQL FOLDER
#[derive(Clone, Debug, Parser)]
#[command(name = "tacho-sql scheduler", bin_name = "tacho-sql scheduler", version, max_term_width = 100)]
pub(super) struct SchedulerArguments {
    /// Address to listen on: a loopback address. Port 0 selects a free port, which is printed.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50050", value_parser = address::parse)]
    pub(super) listen: SocketAddr,
    /// Print what the scheduler does.
    #[arg(short, long)]
    pub(super) verbose: bool,
}

/// Run the tasks of queries.
#[derive(Clone, Debug, Parser)]
#[command(name = "tacho-sql executor", bin_name = "tacho-sql executor", version, max_term_width = 100)]
pub(super) struct ExecutorArguments {
    /// The scheduler.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:50050", value_parser = address::parse)]
    pub(super) scheduler: SocketAddr,
    /// Number of tasks that run at the same time. Default: one per processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) tasks: Option<u16>,
    /// Memory for sorting, grouping and joining, such as 512M or 2G, of all tasks. Beyond it, temporary files are used.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_bytes)]
    pub(super) memory: usize,
    /// Folder for results and temporary files. Default: $TMPDIR, or /tmp.
    #[arg(long, value_name = "FOLDER")]
    pub(super) temp_folder: Option<PathBuf>,
    /// Print what the executor does.
    #[arg(short, long)]
    pub(super) verbose: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_clap_definitions_are_valid() {
        SchedulerArguments::command().debug_assert();
        ExecutorArguments::command().debug_assert();
    }
}
