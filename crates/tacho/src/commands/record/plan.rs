//! What the arguments of `record` ask for together.

use std::path::Path;
use std::time::Duration;

use tachograph_flow::record::{AtMax, Existing, RecordOptions, Suffix};
use tachograph_logs::{Digits, Format};
use tachograph_perflib::FREQUENCY;

use crate::arguments::{RecordArguments, RecordFormat, SegmentLimit, SuffixForm, check_append};
use crate::commands::relog::Target;
use crate::failure::Failure;

/// When one file ends and what follows.
struct Files {
    segment_time: Option<Duration>,
    max_bytes: Option<u64>,
    at_max: AtMax,
}

/// Puts the arguments together, and refuses what contradicts itself.
pub(super) fn of(arguments: &RecordArguments, interval: Duration) -> Result<RecordOptions, Failure> {
    check_append(arguments.append, arguments.yes)?;
    let output = &arguments.output;
    if output.as_os_str() == "-" {
        return Err(Failure::usage(
            "a recording needs a file, since each sample is kept as it comes; 'tacho query' prints to standard output",
        ));
    }
    if output.file_name().is_none() {
        return Err(Failure::usage(format!("{}: this is a folder", output.display())));
    }
    let files = files_of(arguments, interval)?;
    let has_segments = files.segment_time.is_some() || files.at_max == AtMax::NewSegment;
    let suffix = match arguments.suffix {
        Some(SuffixForm::Nnnnnn) => Suffix::Number,
        Some(SuffixForm::Mmddhhmm) => Suffix::Date,
        None if has_segments => Suffix::Number,
        None => Suffix::None,
    };
    let existing = existing_of(arguments, &files, suffix)?;
    let format = format_of(arguments, existing)?;
    if files.at_max == AtMax::Circular && format != Format::Blg {
        return Err(Failure::usage(format!(
            "-circular: a {} cannot be circular; give -f bin, or a name that ends in .blg",
            format.name()
        )));
    }
    let mut options = RecordOptions::new(output, interval);
    options.suffix = suffix;
    options.format = format;
    options.existing = existing;
    options.performance_frequency = FREQUENCY;
    options.segment_time = files.segment_time;
    options.max_bytes = files.max_bytes;
    options.at_max = files.at_max;
    options.is_synced = arguments.sync;
    arguments.digits.check(arguments.encoding, "--encoding", format != Format::Blg)?;
    options.text = arguments.digits.form(arguments.encoding, Digits::Seventeen);
    Ok(options)
}

fn files_of(arguments: &RecordArguments, interval: Duration) -> Result<Files, Failure> {
    let max_bytes = arguments.max_size.map(|mb| mb << 20);
    let is_circular = arguments.circular || arguments.format == Some(RecordFormat::Bincirc);
    let refused = |why: &str| Err(Failure::usage(why));
    if is_circular && arguments.segment.is_some() {
        return refused(
            "-circular keeps one file of -max MB, and -segment and -cnf begin new ones: give one of them",
        );
    }
    if is_circular && max_bytes.is_none() {
        return refused("-circular needs the size of the file: give -max MB");
    }
    let (segment_time, max_bytes, at_max) = match arguments.segment {
        Some(Some(SegmentLimit::Bytes(_))) if max_bytes.is_some() => {
            return refused("-segment SIZE and -max are both the size of a file: give one of them");
        }
        Some(Some(SegmentLimit::Bytes(bytes))) => (None, Some(bytes), AtMax::NewSegment),
        Some(Some(SegmentLimit::Time(time))) if time < interval => {
            return refused("-segment: a file cannot be shorter than the interval (-si)");
        }
        Some(Some(SegmentLimit::Time(time))) => (Some(time), max_bytes, AtMax::NewSegment),
        Some(None) if max_bytes.is_none() => {
            return refused(
                "-segment and -cnf need a time or a size: give -segment 1:00:00, -segment 100MB, or -max MB with -cnf",
            );
        }
        Some(None) => (None, max_bytes, AtMax::NewSegment),
        None if is_circular => (None, max_bytes, AtMax::Circular),
        None => (None, max_bytes, AtMax::End),
    };
    Ok(Files { segment_time, max_bytes, at_max })
}

fn existing_of(arguments: &RecordArguments, files: &Files, suffix: Suffix) -> Result<Existing, Failure> {
    if !arguments.append {
        return Ok(if arguments.yes { Existing::Overwrite } else { Existing::Refuse });
    }
    if suffix != Suffix::None {
        return Err(Failure::usage(
            "-a: files with -v, -segment or -cnf are always new ones, numbered on behind those that are there: leave -a out",
        ));
    }
    if files.at_max == AtMax::Circular {
        return Err(Failure::usage("-a: nothing can be appended to a circular log, its end is in its midst"));
    }
    Ok(Existing::Append)
}

fn format_of(arguments: &RecordArguments, existing: Existing) -> Result<Format, Failure> {
    let output = arguments.output.as_path();
    let asked = match arguments.format {
        Some(RecordFormat::Bin | RecordFormat::Bincirc) => Some(Format::Blg),
        Some(RecordFormat::Csv) => Some(Format::Csv),
        Some(RecordFormat::Tsv) => Some(Format::Tsv),
        None => None,
    };
    if existing == Existing::Append && has_content(output) {
        let there = tachograph_logs::open(output)?.facts().format;
        return match asked {
            Some(asked) if asked != there => Err(Failure::usage(format!(
                "{}: cannot append: it is a {}; give -f the same format",
                output.display(),
                there.name()
            ))),
            _ => Ok(there),
        };
    }
    let by_name = Target::of_path(output);
    if arguments.format == Some(RecordFormat::Bincirc) && !matches!(by_name, None | Some(Target::Blg)) {
        return Err(Failure::usage(format!(
            "{}: -f bincirc writes a BLG: give a name that ends in .blg",
            output.display()
        )));
    }
    match (asked, by_name) {
        (Some(asked), _) => Ok(asked),
        (None, Some(Target::Text(format))) => Ok(format),
        (None, Some(Target::Json)) => Err(Failure::usage(format!(
            "{}: JSON is no format of recordings: give -f bin, csv or tsv ('tacho query -f json' prints it)",
            output.display()
        ))),
        (None, None) if output.extension().is_some() => Err(Failure::usage(format!(
            "{}: give -f bin, csv or tsv, or a name that ends in .blg, .csv or .tsv",
            output.display()
        ))),
        (None, _) => Ok(Format::Blg),
    }
}

fn has_content(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}
