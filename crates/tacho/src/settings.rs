//! Settings files (`-config`) in Windows' form: a line `[option]`, then a line with its value.

use std::path::Path;

use crate::failure::Failure;
use crate::path_file::{read_text, unquoted};

/// Options whose value is a line each; every other one is a switch.
const WITH_VALUE: [&str; 9] = ["c", "cf", "b", "e", "f", "o", "t", "across", "config"];

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
            if name != "i" && !WITH_VALUE.contains(&name.as_str()) {
                let hyphens = if name.len() == 1 { "-" } else { "--" };
                arguments.push(format!("{hyphens}{name}"));
            }
            option = Some(name);
            continue;
        }
        let value = unquoted(line).to_owned();
        match option.as_deref() {
            Some("i") => arguments.push(value),
            Some(name) if WITH_VALUE.contains(&name) => {
                let hyphens =
                    if matches!(name.len(), 1) || matches!(name, "cf" | "config") { "-" } else { "--" };
                arguments.push(format!("{hyphens}{name}"));
                arguments.push(value);
            }
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
