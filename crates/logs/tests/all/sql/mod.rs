//! Logs in databases: write-then-read equality, foreign databases, damage.

mod foreign;
mod hostile;
mod laws;
mod python;
mod samples;

use std::path::PathBuf;

use samples::{
    assert_equal, assert_starts, expected, extremes, open_writer, plain, read, sample, try_read, try_write,
    values_of, write,
};

use crate::archive::generated::TempFolder;

/// The name of a log in the database `file` of a folder.
fn name_in(folder: &TempFolder, file: &str, log: &str) -> PathBuf {
    PathBuf::from(format!("SQL:{}!{log}", folder.0.join(file).display()))
}
