//! The arguments of `tacho sql`, which `tacho-sql` parses.

use std::ffi::OsString;

use clap::Args;

/// Query logs and archives with SQL (with the separate program tacho-sql).
///
/// There are tables of samples, averages, counters and machines. Runs the program tacho-sql, which 'cargo build --release -p tachograph-sql' builds. 'tacho sql --help' lists its options.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SqlArguments {
    /// The query, the logs and the options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SQL LOG|FOLDER...")]
    pub(crate) arguments: Vec<OsString>,
}
