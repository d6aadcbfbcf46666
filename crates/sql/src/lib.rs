//! SQL over performance logs and archives, on DataFusion: `tacho-sql`, which `tacho sql` runs.
//!
//! The table `samples` has one row per value (docs/archive.md), for archives and other logs alike. The aggregate
//! function `average(*)` averages rows as `tacho stats` does.

#![forbid(unsafe_code)]

mod archive_scan;
mod arguments;
mod average;
mod batches;
mod cluster;
mod damage;
mod date_trunc;
mod failure;
mod file_limit;
mod filters;
mod inputs;
mod inventory;
mod location;
mod log_scan;
mod memory;
mod output;
mod overlap;
mod progress;
mod query;
mod s3;
mod samples;
mod statement;
mod time_literals;

pub use arguments::{Arguments, Format, Outcome, parse_bytes};
pub use failure::Failure;
pub use inputs::Inputs;
pub use query::{Engine, EngineOptions};

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    cluster::run(&words).unwrap_or_else(|| run_command(&words, query::run))
}

/// Parses the words of a command, of which the first is its name, and runs it.
fn run_command<T: Parser>(words: &[OsString], run: fn(&T) -> Result<(), Failure>) -> ExitCode {
    match arguments::parse(words.iter().cloned()) {
        Ok(Outcome::Run(arguments)) => match run(&arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        },
        Ok(Outcome::Text(text)) => {
            use std::io::Write as _;
            // Printing a help text to a closed pipe is not an error.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(failure) => failure.report(),
    }
}
