//! `tacho cpi --read`: shows the hooks of a trace.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::ExitCode;

use tachograph_cpi::trace::{Problem, TraceReader};

use super::hook_record::HookRecord;
use super::report::open_output;
use crate::arguments::{CpiArguments, ReportFormat};
use crate::commands::output_format::output_file;
use crate::commands::row_output::{RowOutput, is_same_file};
use crate::failure::{Failure, cannot, notify};
use crate::table::grouped;

/// Output is written in chunks of this size: a trace can have millions of hooks.
const CHUNK: usize = 1 << 16;

/// Shows a trace. Damaged parts are skipped and reported; the exit status is then 1.
pub(super) fn show(arguments: &CpiArguments, path: &Path) -> Result<ExitCode, Failure> {
    let read_error = |error: std::io::Error| cannot("read", path, &error);
    let file = File::open(path).map_err(read_error)?;
    if file.metadata().map_err(read_error)?.is_dir() {
        return Err(Failure::runtime(format!("{}: this is a folder, not a trace", path.display())));
    }
    // Otherwise, the output would overwrite the trace before it is read.
    if output_file(arguments.output.as_deref()).is_some_and(|output| is_same_file(output, path)) {
        return Err(Failure::usage(format!("-o and --read both name {}", path.display())));
    }
    let mut output = open_output(arguments, RowOutput::standard())?;
    let damage = write(BufReader::new(file), arguments.format, &mut output)?;
    let Some((first, count)) = damage else { return Ok(ExitCode::SUCCESS) };
    let path = path.display();
    match count {
        1 => notify(format_args!("{path}: {first}")),
        _ => notify(format_args!("{path}: {} problems, the first at {first}", grouped(&count.to_string()))),
    }
    Ok(ExitCode::from(1))
}

/// Writes all hooks; returns the first problem and the number of problems, if any.
fn write(
    input: impl Read,
    format: ReportFormat,
    output: &mut RowOutput,
) -> Result<Option<(Problem, u64)>, Failure> {
    let mut text = match format {
        ReportFormat::Csv => HookRecord::CSV_HEADER.to_owned(),
        _ => String::new(),
    };
    let mut damage: Option<(Problem, u64)> = None;
    let mut has_hooks = false;
    for hook in TraceReader::new(input) {
        match hook {
            Ok(hook) => {
                has_hooks = true;
                let record = HookRecord::from_hook(&hook);
                match format {
                    ReportFormat::Table => record.push_text(&mut text),
                    ReportFormat::Csv => record.push_csv(&mut text),
                    ReportFormat::Json => record.push_json(&mut text),
                }
            }
            Err(problem) => match &mut damage {
                None => damage = Some((problem, 1)),
                Some((_, count)) => *count += 1,
            },
        }
        if text.len() >= CHUNK {
            output.write_text(&text)?;
            text.clear();
        }
    }
    // If the file is not a trace, do not even write the CSV header.
    if has_hooks || damage.is_none() {
        output.write_text(&text)?;
    }
    Ok(damage)
}
