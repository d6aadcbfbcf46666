//! Generates a log for benchmarks: `generate_log multi|block MEGABYTES FILE`. Prints the log's number of raw values.

#[path = "../benches/generate/mod.rs"]
mod generate;

use std::fs::File;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (records, megabytes, path) = match arguments.as_slice() {
        [records, megabytes, path] => (records.as_str(), megabytes.parse::<u64>(), path),
        _ => return usage(),
    };
    let records = match records {
        "multi" => generate::Records::Multi,
        "block" => generate::Records::Block,
        _ => return usage(),
    };
    let Ok(megabytes) = megabytes else { return usage() };
    match File::create(path) {
        Ok(file) => {
            println!("{}", generate::write_log(file, records, 200, megabytes << 20));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: generate_log multi|block MEGABYTES FILE");
    ExitCode::from(2)
}
