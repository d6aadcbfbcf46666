//! `tacho cpi --read`: the hooks of a trace.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::ExitCode;

use tachograph_cpi::trace::{TraceProblem, TraceReader};

use super::hook_rows::HookRecord;
use super::output::{Output, file_of};
use crate::arguments::{CpiArguments, CpiFormat};
use crate::commands::row_output::is_same_file;
use crate::failure::{Failure, cannot, say};
use crate::table::grouped;

/// Output is handed on when so many bytes are there: a trace may hold millions of hooks.
const CHUNK: usize = 1 << 16;

/// Shows a trace. What is damaged is left out with a notice and exit status 1.
pub(super) fn show(arguments: &CpiArguments, path: &Path) -> Result<ExitCode, Failure> {
    let at = |error: std::io::Error| cannot("read", path, &error);
    let file = File::open(path).map_err(at)?;
    if file.metadata().map_err(at)?.is_dir() {
        return Err(Failure::work(format!("{}: this is a folder, not a trace", path.display())));
    }
    // It would be gone before it is read.
    if file_of(arguments).is_some_and(|output| is_same_file(output, path)) {
        return Err(Failure::usage(format!("-o and --read both name {}", path.display())));
    }
    let mut output = Output::open(arguments, Output::standard())?;
    let damage = write(BufReader::new(file), arguments.format, &mut output)?;
    let Some((first, count)) = damage else { return Ok(ExitCode::SUCCESS) };
    let path = path.display();
    match count {
        1 => say(format_args!("{path}: {first}")),
        _ => {
            say(format_args!("{path}: {} damaged places, the first at {first}", grouped(&count.to_string())))
        }
    }
    Ok(ExitCode::from(1))
}

/// Writes all hooks; gives the first problem and how many there are, if any.
fn write(
    input: impl Read,
    format: CpiFormat,
    output: &mut Output,
) -> Result<Option<(TraceProblem, u64)>, Failure> {
    let mut text = match format {
        CpiFormat::Csv => HookRecord::CSV_HEADER.to_owned(),
        _ => String::new(),
    };
    let mut damage: Option<(TraceProblem, u64)> = None;
    let mut has_hooks = false;
    for hook in TraceReader::new(input) {
        match hook {
            Ok(hook) => {
                has_hooks = true;
                let record = HookRecord::of(&hook);
                match format {
                    CpiFormat::Table => record.push_text(&mut text),
                    CpiFormat::Csv => record.push_csv(&mut text),
                    CpiFormat::Json => record.push_json(&mut text),
                }
            }
            Err(problem) => match &mut damage {
                None => damage = Some((problem, 1)),
                Some((_, count)) => *count += 1,
            },
        }
        if text.len() >= CHUNK {
            output.write(&text)?;
            text.clear();
        }
    }
    // Of what is no trace at all not even a header is shown.
    if has_hooks || damage.is_none() {
        output.write(&text)?;
    }
    Ok(damage)
}
