//! Files of counter paths (`-cf`), as typeperf, relog and logman take them.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use tachograph_counters::path::{PathError, PathPattern};
use tachograph_flow::read_at_most;

use crate::failure::{Failure, cannot_text};

/// The paths of a file: one a line, in quotes or not; blank lines and comments left out. UTF-8 or UTF-16 with mark, LF or
/// CR LF. `-` is standard input.
pub(crate) fn read(file: &Path) -> Result<Vec<PathPattern>, Failure> {
    let text = read_text(file)?;
    let name = shown(file);
    let mut patterns = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = unquoted(line.trim());
        // No path begins like a comment.
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let pattern = PathPattern::parse(line).map_err(|error| {
            let why = in_a_file(&error);
            Failure::usage(format!("{name}, line {}: '{line}' is no counter path: {why}", number + 1))
        })?;
        patterns.push(pattern);
    }
    if patterns.is_empty() {
        return Err(Failure::usage(format!("{name}: no counter path in it")));
    }
    Ok(patterns)
}

/// What is wrong, without the advice of [`PathError`] to quote for a shell.
fn in_a_file(error: &PathError) -> String {
    let meant = |meant: &Option<String>| match meant {
        Some(meant) => format!("; write {meant}"),
        None => String::new(),
    };
    match error {
        PathError::NoLeadingSeparator { .. } => r"it begins with '\'".to_owned(),
        PathError::MissingCounter { meant: path, .. } => {
            format!(r"it ends before a '\' and the name of a counter{}", meant(path))
        }
        PathError::Unbalanced { offset, meant: path } => {
            format!("the parenthesis at offset {offset} has no partner{}", meant(path))
        }
        error => error.to_string(),
    }
}

fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The name of a file in messages.
fn shown(file: &Path) -> Cow<'_, str> {
    if is_standard_input(file) { "standard input".into() } else { file.to_string_lossy() }
}

/// A larger file is no list of paths.
const MOST_MEBIBYTES: u64 = 16;

/// The text of a file in UTF-8, or in UTF-16 with a mark.
pub(crate) fn read_text(file: &Path) -> Result<String, Failure> {
    let name = shown(file);
    let bytes = if is_standard_input(file) {
        read_at_most(std::io::stdin().lock(), MOST_MEBIBYTES)
    } else {
        File::open(file).and_then(|file| read_at_most(file, MOST_MEBIBYTES))
    };
    let bytes = bytes.map_err(|error| Failure::usage(cannot_text("read", &name, &error)))?;
    // Decodes by the mark where there is one, and takes it off.
    let (text, _, is_broken) = encoding_rs::UTF_8.decode(&bytes);
    if is_broken {
        return Err(Failure::usage(format!(
            "{name}: neither UTF-8 nor UTF-16 with a mark; save it as UTF-8"
        )));
    }
    Ok(text.into_owned())
}

/// The text between the quotes that it stands in, or the text.
pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
