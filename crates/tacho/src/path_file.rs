//! Files of counter paths (`-cf`), as typeperf, relog and logman take them.

use std::path::Path;

use tachograph_counters::path::PathPattern;

use crate::failure::Failure;

/// The paths of a file: one a line, in quotes or not, blank lines left out. UTF-8 or UTF-16 with mark, LF or CR LF.
pub(crate) fn read(file: &Path) -> Result<Vec<PathPattern>, Failure> {
    let text = read_text(file)?;
    let mut patterns = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = unquoted(line.trim());
        if line.is_empty() {
            continue;
        }
        let pattern = PathPattern::parse(line)
            .map_err(|error| Failure::usage(format!("{}, line {}: {error}", file.display(), number + 1)))?;
        patterns.push(pattern);
    }
    if patterns.is_empty() {
        return Err(Failure::usage(format!("{}: no counter path in it", file.display())));
    }
    Ok(patterns)
}

/// The text of a file in UTF-8, or in UTF-16 with a mark.
pub(crate) fn read_text(file: &Path) -> Result<String, Failure> {
    let bytes =
        std::fs::read(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    // Decodes by the mark where there is one, and takes it off.
    let (text, _, is_broken) = encoding_rs::UTF_8.decode(&bytes);
    if is_broken {
        return Err(Failure::usage(format!(
            "{}: neither UTF-8 nor UTF-16 with a mark; save it as UTF-8",
            file.display()
        )));
    }
    Ok(text.into_owned())
}

/// The text between the quotes that it stands in, or the text.
pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
