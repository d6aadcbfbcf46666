//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::failure::Failure;

/// The formats of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable, as wide as the terminal.
    Table,
    /// CSV with a header line.
    Csv,
    /// JSON lines: an object per row.
    Json,
    /// A Parquet file; needs -o.
    Parquet,
}

/// The programs of a cluster have commands of their own.
const CLUSTER_HELP: &str = "\
Commands for --cluster:
  tacho-sql scheduler  Divide queries into tasks for executors
  tacho-sql executor   Run the tasks of queries";

/// Query logs with SQL.
///
/// Tables: 'samples' (a row per value), 'averages' (a row per counter of each instance), 'counters' and 'machines'. In a query over
/// samples, average(*) is the average of the rows by the counter's own formula:
///
/// tacho sql "SELECT instance, average(*) FROM samples WHERE \"set\" = 'PhysicalDisk' AND counter = 'Avg. Disk sec/Read' GROUP BY instance" LOG
///
/// docs/sql.md describes the tables.
#[derive(Clone, Debug, Parser)]
#[command(name = "tacho sql", version, max_term_width = 100, args_override_self = true, after_help = CLUSTER_HELP)]
pub struct Arguments {
    /// The query. DESCRIBE samples lists the columns of a table; EXPLAIN shows the plan of a query.
    #[arg(value_name = "SQL")]
    pub query: String,
    /// Logs (.blg, .csv, .tsv, .json, SQL:DSN!NAME), files of archives, and folders of archives, also in S3 (s3://BUCKET/PREFIX)
    /// if the program was built with the feature s3.
    #[arg(required = true, value_name = "LOG|FOLDER")]
    pub inputs: Vec<PathBuf>,
    /// Format of the result. Default: from the extension of -o, else table.
    #[arg(short, long)]
    pub format: Option<Format>,
    /// Write the result to a file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub yes: bool,
    /// Memory for sorting, grouping and joining, such as 512M or 2G. A query that needs more uses temporary files.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_bytes)]
    pub memory: usize,
    /// Folder for temporary files. Default: $TMPDIR, or /tmp.
    #[arg(long, value_name = "FOLDER")]
    pub temp_folder: Option<PathBuf>,
    /// Number of threads; with --cluster, number of tasks of each step. Default: one per processor; 16 tasks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Run the query on the executors of a scheduler ('tacho-sql scheduler'), such as http://127.0.0.1:50050. They read the
    /// files themselves.
    #[arg(long, value_name = "URL", conflicts_with_all = ["memory", "temp_folder"])]
    pub cluster: Option<String>,
}

/// What the command should do.
#[derive(Debug)]
pub enum Outcome<T = Arguments> {
    /// Run a command, such as a query.
    Run(T),
    /// Print a help text.
    Text(String),
}

/// Parses the arguments of the process.
///
/// # Errors
///
/// When they are invalid.
pub(crate) fn parse<T: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<Outcome<T>, Failure> {
    use clap::error::ErrorKind;
    match T::try_parse_from(words.into_iter().map(after_blank)) {
        Ok(arguments) => Ok(Outcome::Run(arguments)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Outcome::Text(error.to_string())),
            ErrorKind::MissingRequiredArgument => {
                let usage = T::command().render_usage();
                Err(Failure::usage(format!("a query and a log are required\n\n{usage}")))
            }
            _ => {
                let text = error.to_string();
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                Err(Failure::usage(text.split("\n\n").next().unwrap_or(text)))
            }
        },
    }
}

/// Puts a blank before a query that begins with a comment, which would look like an option.
fn after_blank(word: OsString) -> OsString {
    let text = word.to_string_lossy();
    let is_comment = text
        .strip_prefix("--")
        .is_some_and(|rest| rest.starts_with(char::is_whitespace) || rest.lines().nth(1).is_some());
    if is_comment { OsString::from(format!(" {text}")) } else { word }
}

/// Parses a number of bytes with an optional unit: K, M or G (powers of 1024).
///
/// # Errors
///
/// When the text is not a size, or the size is below 16 MiB.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
    let (number, shift) = match upper.as_bytes().last() {
        Some(b'K') => (&upper[..upper.len() - 1], 10),
        Some(b'M') => (&upper[..upper.len() - 1], 20),
        Some(b'G') => (&upper[..upper.len() - 1], 30),
        _ => (upper, 0),
    };
    let bytes = number.trim().parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if bytes >= MIN_MEMORY => Ok(bytes),
        Some(_) => Err("must be at least 16M".to_owned()),
        None => Err("not a size: use a number with M or G, such as 512M".to_owned()),
    }
}

/// Minimum memory of a query.
const MIN_MEMORY: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clap_definition_is_valid() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        let sizes = ["16M", "512m", "1G", "2GiB", "64 MB", "16777216"].map(|text| parse_bytes(text).ok());
        let expected = [16usize << 20, 512 << 20, 1 << 30, 2 << 30, 64 << 20, 16 << 20].map(Some);
        assert_eq!(sizes, expected);
        for wrong in ["", "15M", "x", "1T", "99999999999999999999", "-8M", "99999999999999999G"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
