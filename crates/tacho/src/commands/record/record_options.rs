//! The options of a recording, from the arguments of `record`.

use std::path::Path;
use std::time::Duration;

use tachograph_flow::record::{AtMax, Existing, RecordOptions, Suffix};
use tachograph_flow::sinks::TextForm;
use tachograph_logs::Format;
use tachograph_logs::output_file::OutputError;
use tachograph_perflib::FREQUENCY;

use super::archive_options;
use crate::arguments::{RecordArguments, RecordFormat, SegmentLimit, check_append};
use crate::commands::output_format::{is_standard_output, refuse_blg_in_pipe};
use crate::failure::Failure;

/// When a file ends, and what happens then.
struct FileLimits {
    segment_time: Option<Duration>,
    max_bytes: Option<u64>,
    at_max: AtMax,
}

/// The options of a recording; rejects conflicting arguments.
pub(super) fn record_options(
    arguments: &RecordArguments,
    interval: Duration,
) -> Result<RecordOptions, Failure> {
    check_append(arguments.append, arguments.yes)?;
    let output = &arguments.output;
    if is_standard_output(output) {
        return Err(Failure::usage("a recording needs a file; 'tacho query' prints to standard output"));
    }
    if output.file_name().is_none() {
        return Err(OutputError::folder(output).into());
    }
    if let Some(option) = archive_options::archive_option(arguments) {
        return Err(Failure::usage(format!("{option} applies only to archives: add -f archive")));
    }
    let limits = file_limits(arguments, interval)?;
    let has_segments = limits.segment_time.is_some() || limits.at_max == AtMax::NewSegment;
    let suffix = arguments.suffix.unwrap_or(if has_segments { Suffix::Number } else { Suffix::None });
    let existing = existing_of(arguments, &limits, suffix)?;
    let format = format_of(arguments, existing)?;
    if limits.at_max == AtMax::Circular && format != Format::Blg {
        return Err(Failure::usage(format!(
            "-circular: a {} cannot be circular; use -f bin, or a name that ends in .blg",
            format.name()
        )));
    }
    if suffix == Suffix::None {
        refuse_blg_in_pipe(output, format)?;
    }
    let mut options = RecordOptions::new(output, interval);
    options.suffix = suffix;
    options.format = format;
    options.existing = existing;
    options.performance_frequency = FREQUENCY;
    options.segment_time = limits.segment_time;
    options.max_bytes = limits.max_bytes;
    options.at_max = limits.at_max;
    options.is_synced = arguments.sync;
    arguments.digits.check(arguments.encoding, "--encoding", format != Format::Blg)?;
    options.text = arguments.digits.form(arguments.encoding, TextForm::default());
    Ok(options)
}

fn file_limits(arguments: &RecordArguments, interval: Duration) -> Result<FileLimits, Failure> {
    let max_bytes = arguments.max_size.map(|mb| mb << 20);
    let is_circular = arguments.circular || arguments.format == Some(RecordFormat::Bincirc);
    let refuse = |why: &str| Err(Failure::usage(why));
    if is_circular && arguments.segment.is_some() {
        return refuse(
            "-circular writes one file of -max MB, but -segment and -cnf start new files: use one of them",
        );
    }
    if is_circular && max_bytes.is_none() {
        return refuse("-circular needs the size of the file: add -max MB");
    }
    let (segment_time, max_bytes, at_max) = match arguments.segment {
        Some(Some(SegmentLimit::Bytes(_))) if max_bytes.is_some() => {
            return refuse("-segment SIZE and -max both limit the size of a file: use one of them");
        }
        Some(Some(SegmentLimit::Bytes(bytes))) => (None, Some(bytes), AtMax::NewSegment),
        Some(Some(SegmentLimit::Time(time))) if time < interval => {
            return refuse("-segment: a file cannot be shorter than the interval (-si)");
        }
        Some(Some(SegmentLimit::Time(time))) => (Some(time), max_bytes, AtMax::NewSegment),
        Some(None) if max_bytes.is_none() => {
            return refuse(
                "-segment and -cnf need a time or a size: use -segment 1:00:00, -segment 100MB, or -cnf with -max MB",
            );
        }
        Some(None) => (None, max_bytes, AtMax::NewSegment),
        None if is_circular => (None, max_bytes, AtMax::Circular),
        None => (None, max_bytes, AtMax::End),
    };
    Ok(FileLimits { segment_time, max_bytes, at_max })
}

fn existing_of(
    arguments: &RecordArguments,
    limits: &FileLimits,
    suffix: Suffix,
) -> Result<Existing, Failure> {
    if !arguments.append {
        return Ok(if arguments.yes { Existing::Overwrite } else { Existing::Refuse });
    }
    if suffix != Suffix::None {
        return Err(Failure::usage(
            "-a: with -v, -segment or -cnf each recording starts a new file: omit -a",
        ));
    }
    if limits.at_max == AtMax::Circular {
        return Err(Failure::usage("-a: cannot append to a circular log"));
    }
    Ok(Existing::Append)
}

fn format_of(arguments: &RecordArguments, existing: Existing) -> Result<Format, Failure> {
    let output = arguments.output.as_path();
    let requested = arguments.format.map(RecordFormat::format);
    if existing == Existing::Append && has_content(output) {
        let existing_format = tachograph_logs::open(output)?.facts().format;
        return match requested {
            Some(requested) if requested != existing_format => Err(Failure::usage(format!(
                "{}: cannot append: its format is {}; use the same with -f",
                output.display(),
                existing_format.name()
            ))),
            _ => Ok(existing_format),
        };
    }
    let by_name = Format::of_extension(output);
    if arguments.format == Some(RecordFormat::Bincirc) && !matches!(by_name, None | Some(Format::Blg)) {
        return Err(Failure::usage(format!(
            "{}: -f bincirc writes a BLG: use a name that ends in .blg",
            output.display()
        )));
    }
    match (requested, by_name) {
        (Some(requested), _) => Ok(requested),
        (None, Some(format @ (Format::Csv | Format::Tsv))) => Ok(format),
        (None, Some(Format::Json)) => Err(Failure::usage(format!(
            "{}: cannot record JSON: use -f bin, csv or tsv ('tacho query -f json' prints JSON)",
            output.display()
        ))),
        (None, Some(Format::Archive)) => Err(Failure::usage(format!(
            "{}: an archive is a folder: use -f archive -o FOLDER",
            output.display()
        ))),
        (None, None) if output.extension().is_some() => Err(Failure::usage(format!(
            "{}: unknown format: use -f bin, csv or tsv, or a name that ends in .blg, .csv or .tsv",
            output.display()
        ))),
        // No extension stands for a database.
        (None, None | Some(Format::Blg | Format::Sql)) => Ok(Format::Blg),
    }
}

fn has_content(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}
