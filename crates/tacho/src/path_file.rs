//! Files of counter paths (`-cf`), in the format of typeperf, relog and logman.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use tachograph_counters::path::{PathError, PathPattern};
use tachograph_flow::read_limited;

use crate::failure::{Failure, io_message};

/// Reads counter paths, one per line, quoted or not. Blank lines and comments are skipped. The file can be UTF-8, or
/// UTF-16 with a byte order mark, and have LF or CR LF line endings. `-` is standard input.
pub(crate) fn read(file: &Path) -> Result<Vec<PathPattern>, Failure> {
    let text = read_text(file)?;
    let name = display_name(file);
    let mut patterns = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = unquoted(line.trim());
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let pattern = PathPattern::parse(line).map_err(|error| {
            let why = path_error(&error);
            Failure::usage(format!("{name}, line {}: '{line}' is not a counter path: {why}", index + 1))
        })?;
        patterns.push(pattern);
    }
    if patterns.is_empty() {
        return Err(Failure::usage(format!("{name}: contains no counter path")));
    }
    Ok(patterns)
}

/// The text of an error. Unlike [`PathError`]'s own text, it does not suggest quoting the path for a shell.
fn path_error(error: &PathError) -> String {
    let advice = |suggestion: &Option<String>| match suggestion {
        Some(suggestion) => format!("; write {suggestion}"),
        None => String::new(),
    };
    match error {
        PathError::NoLeadingSeparator { .. } => r"a path begins with '\'".to_owned(),
        PathError::MissingCounter { meant: path, .. } => {
            format!(r"the '\' and the name of a counter are missing at the end{}", advice(path))
        }
        PathError::Unbalanced { offset, meant: path } => {
            format!("the parenthesis at offset {offset} is not matched{}", advice(path))
        }
        error => error.to_string(),
    }
}

fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn display_name(file: &Path) -> Cow<'_, str> {
    if is_standard_input(file) { "standard input".into() } else { file.to_string_lossy() }
}

const MAX_MEBIBYTES: u64 = 16;

/// Reads a file in UTF-8, or in UTF-16 with a byte order mark.
pub(crate) fn read_text(file: &Path) -> Result<String, Failure> {
    let name = display_name(file);
    let bytes = if is_standard_input(file) {
        read_limited(std::io::stdin().lock(), MAX_MEBIBYTES)
    } else {
        File::open(file).and_then(|file| read_limited(file, MAX_MEBIBYTES))
    };
    let bytes = bytes.map_err(|error| Failure::usage(io_message("read", &name, &error)))?;
    // Detects and removes a byte order mark.
    let (text, _, is_broken) = encoding_rs::UTF_8.decode(&bytes);
    if is_broken {
        return Err(Failure::usage(format!(
            "{name}: neither UTF-8 nor UTF-16 with a byte order mark; save it as UTF-8"
        )));
    }
    Ok(text.into_owned())
}

/// Removes enclosing quotes.
pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
