//! `tacho check`: reports damage in logs, and saves intact samples.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::TextForm;
use tachograph_logs::{Format, ReadOptions};

use super::list::{ScannedLog, UNKNOWN_ZONE, duration, local, machine_names, values};
use super::output_format::refuse_blg_in_pipe;
use super::relog::write_table;
use crate::arguments::CheckArguments;
use crate::failure::{Failure, notify};
use crate::output::create_output;
use crate::table::{counted, grouped, line};

pub(crate) fn run(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    if let Some(target) = &arguments.salvage
        && Format::of_extension(target) == Some(Format::Archive)
    {
        return Err(Failure::usage(format!(
            "{}: --salvage does not write archives: use a name that ends in .blg, .csv, .tsv or .json",
            target.display()
        )));
    }
    if let [file] = arguments.files.as_slice() {
        return Ok(ExitCode::from(u8::from(!check(file, arguments)?)));
    }
    if arguments.salvage.is_some() {
        return Err(Failure::usage("--salvage accepts only one log: run 'tacho check --salvage' for each"));
    }
    super::check_each(&arguments.files, |file| check(file, arguments))
}

fn check(file: &Path, arguments: &CheckArguments) -> Result<bool, Failure> {
    let reading = ReadOptions { skips_damaged_row_groups: true, ..arguments.reading.options() };
    let log = ScannedLog::read(file, &reading)?;
    let scan = &log.scan;
    super::guessed_encoding_messages(&log.reports).for_each(notify);
    let mut out = io::stdout().lock();
    let mut write_line = |text: std::fmt::Arguments<'_>| out.write_all(line(text).as_bytes());
    let samples = counted(scan.samples(), "sample", "samples");
    let range = match scan.time_range() {
        Some((first, last)) => {
            let length = duration(last.utc.since(first.utc));
            if log.facts().is_zone_known() {
                format!("from {} to {} ({length})", first.rfc3339(), last.rfc3339())
            } else {
                format!("from {} to {} ({length}; {UNKNOWN_ZONE})", local(first), local(last))
            }
        }
        None => "none readable".to_owned(),
    };
    let mut facts = format!("{samples} {range}, {}", values(&log));
    let machines = machine_names(scan);
    if !machines.is_empty() {
        facts.push_str(&format!(
            ", {} {}",
            if machines.len() == 1 { "machine" } else { "machines" },
            machines.join(", ")
        ));
    }
    // An archive has a report for each of its machines.
    let problems: Vec<_> = log.reports.iter().map(|report| (report.path(), report.problems())).collect();
    let is_intact = problems.iter().all(|(_, problems)| problems.is_empty());
    if is_intact {
        write_line(format_args!("{}: intact: {}, {facts}", file.display(), log.facts().format.name()))?;
    } else {
        for (path, problems) in &problems {
            for problem in problems.list() {
                write_line(format_args!("{}: {problem}", path.display()))?;
            }
            let unlisted = problems.count() - problems.list().len() as u64;
            if unlisted > 0 {
                write_line(format_args!("{}: and {} more", path.display(), grouped(&unlisted.to_string())))?;
            }
        }
        write_line(format_args!(
            "{}: {}; intact: {facts}",
            file.display(),
            counted(problems.iter().map(|(_, problems)| problems.count()).sum(), "problem", "problems")
        ))?;
    }
    if let Some(target) = &arguments.salvage {
        let count = salvage(file, target, arguments.yes, reading)?;
        write_line(format_args!("{}: {} written", target.display(), counted(count, "sample", "samples")))?;
    } else if !is_intact && scan.samples() > 0 {
        write_line(format_args!("'tacho check {} --salvage OUT' saves the intact samples", file.display()))?;
    }
    Ok(is_intact)
}

fn salvage(file: &Path, target: &Path, overwrite: bool, reading: ReadOptions) -> Result<u64, Failure> {
    let query = LogQuery { reading, ..LogQuery::new(vec![file.to_path_buf()]) };
    let (scan, pipeline) = query.table(|_| Ok(()))?;
    if scan.samples() == 0 {
        return Err(Failure::runtime(format!("{}: no intact samples to save", file.display())));
    }
    let format = match pipeline.reports[0].facts().format {
        // An archive is a folder, and a database is not a file of this log alone, so a BLG is written instead.
        Format::Archive | Format::Sql => Format::Blg,
        format => format,
    };
    let format = Format::of_extension(target).unwrap_or(format);
    refuse_blg_in_pipe(target, format)?;
    let mut output = create_output(target, overwrite)?;
    let samples = scan.samples();
    let form = TextForm::of_logs(&pipeline.reports);
    write_table(&mut output, format, form, &scan, pipeline, target)?;
    output.finish()?;
    Ok(samples)
}
