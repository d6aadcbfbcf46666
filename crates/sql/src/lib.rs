//! SQL over performance logs and archives, on DataFusion: `tacho-sql`, which `tacho sql` runs.
//!
//! The table `samples` has one row per value (docs/archive.md), for archives and other logs alike. The aggregate
//! function `average(*)` averages rows as `tacho stats` does.

#![forbid(unsafe_code)]

mod archive_scan;
mod arguments;
mod average;
mod batches;
mod failure;
mod filters;
mod inputs;
mod inventory;
mod log_scan;
mod memory;
mod output;
mod progress;
mod query;
mod samples;
mod statement;

pub use arguments::{Arguments, Format, Outcome, parse_bytes};
pub use failure::Failure;
pub use inputs::Inputs;
pub use query::{Engine, EngineOptions};

use std::process::ExitCode;

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    match arguments::parse(std::env::args_os()) {
        Ok(Outcome::Run(arguments)) => match query::run(&arguments) {
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
