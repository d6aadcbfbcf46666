//! Settings files (`-config`) in Windows' form: a line `[option]`, then a line with its value.

use std::path::Path;

use tachograph_counters::wildcard::Pattern;

use crate::arguments::windows::{Takes, takes, with_hyphens};
use crate::failure::Failure;
use crate::path_file::{read_text, unquoted};

/// The options of a settings file as arguments. `[-i]` holds input files.
pub(crate) fn read(file: &Path) -> Result<Vec<String>, Failure> {
    let text = read_text(file)?;
    let mut arguments = Vec::new();
    let mut option: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let name = name.trim().trim_start_matches(['-', '/']).to_ascii_lowercase();
            if name != "i" && takes(&name) != Takes::Value {
                arguments.push(with_hyphens(&name));
            }
            option = Some(name);
            continue;
        }
        let value = unquoted(line).to_owned();
        match option.as_deref() {
            Some("i") => inputs(&value, &mut arguments),
            // As one word, since what follows a bare -c are further paths.
            Some("c" | "counter") => arguments.push(format!("--counter={value}")),
            Some(name) if takes(name) == Takes::Value => {
                arguments.push(with_hyphens(name));
                arguments.push(value);
            }
            Some(name) if takes(name) != Takes::Nothing => arguments.push(value),
            Some(name) => {
                return Err(Failure::usage(format!(
                    "{}, line {}: [{name}] takes no value",
                    file.display(),
                    number + 1
                )));
            }
            None => {
                return Err(Failure::usage(format!(
                    "{}, line {}: a value before any [option]",
                    file.display(),
                    number + 1
                )));
            }
        }
    }
    Ok(arguments)
}

/// The files that an input means. Windows' tools expand `*` and `?` in its last part themselves.
fn inputs(value: &str, arguments: &mut Vec<String>) {
    let path = Path::new(value);
    let pattern = path.file_name().and_then(|name| name.to_str()).map(Pattern::new);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    if let Some(pattern) = pattern.filter(|pattern| !pattern.is_literal())
        && let Ok(entries) = std::fs::read_dir(folder)
    {
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        found = names.filter(|name| pattern.matches(name)).collect();
        found.sort();
    }
    if found.is_empty() {
        // Opening it says what is wrong.
        arguments.push(value.to_owned());
    }
    arguments.extend(found.iter().map(|name| path.with_file_name(name).to_string_lossy().into_owned()));
}
