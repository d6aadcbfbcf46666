//! Python's sqlite3 module, as an independent reader, finds the same raw values.

use std::fs;

use super::{name_in, values_of, write};
use crate::archive::generated::{TempFolder, recording};
use crate::fixture::python::output_of;

#[test]
fn python_finds_the_same_raw_values() {
    let folder = TempFolder::new();
    let samples = recording(5, 60);
    write(&name_in(&folder, "a.db", "log"), &samples);
    let file = fs::read(folder.0.join("a.db")).expect("the file");
    let Some(output) = output_of("sql_rows.py", &file, "sql.db", &["log".to_owned()]) else { return };
    let mut expected = Vec::new();
    for (milliseconds, values) in samples.iter().map(values_of) {
        expected.extend(values.into_iter().map(|(key, value)| format!("{milliseconds} {key}={value}")));
    }
    let mut found: Vec<_> = output.lines().collect();
    found.sort_unstable();
    expected.sort_unstable();
    let difference = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    assert!(found == expected, "{difference:#?}, {} and {} rows", found.len(), expected.len());
    assert!(found.len() > 1000);
}
