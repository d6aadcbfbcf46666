//! `tacho`: performance counters and their logs on the command line.

mod allocator;
mod arguments;
mod commands;
mod exports;
mod failure;
mod file_limit;
mod machines;
mod output;
mod pager;
mod path_file;
#[cfg(feature = "screen")]
mod process_properties;
mod progress;
mod ranking;
mod settings;
mod signals;
mod table;
mod this_machine;

use std::process::ExitCode;

use arguments::Command;

fn main() -> ExitCode {
    signals::survive_file_limit();
    let arguments = match arguments::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(failure) => return failure.report(),
    };
    file_limit::raise();
    let outcome = match arguments.command {
        None => commands::overview::run(),
        Some(Command::List(list)) => commands::list::run(&list),
        Some(Command::Query(query)) => commands::query::run(&query),
        Some(Command::Record(record)) => commands::record::run(&record),
        #[cfg(feature = "screen")]
        Some(Command::Monitor(monitor)) => commands::monitor::run(&monitor),
        Some(Command::Stats(stats)) => commands::stats::run(&stats),
        Some(Command::Compare(compare)) => commands::compare::run(&compare),
        Some(Command::Relog(relog)) => commands::relog::run(&relog),
        Some(Command::Check(check)) => commands::check::run(&check),
        Some(Command::Archive(archive)) => commands::archive::run(&archive),
        Some(Command::Cpi(cpi)) => commands::cpi::run(&cpi),
        #[cfg(feature = "web")]
        Some(Command::Serve(serve)) => commands::serve::run(&serve),
        #[cfg(feature = "web")]
        Some(Command::Agent(agent)) => commands::agent::run(&agent),
        Some(Command::Sql(sql)) => commands::sql::run(&sql),
        Some(Command::Manifest(manifest)) => commands::manifest::run(&manifest),
    };
    match outcome {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
