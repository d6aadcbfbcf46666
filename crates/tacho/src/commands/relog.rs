//! `tacho relog`: converts, selects, cuts, thins and merges logs.

use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;
use std::process::ExitCode;

use tachograph_flow::logs::LogReport;
use tachograph_flow::query::{LogQuery, Pipeline};
use tachograph_flow::sinks::{JsonSink, LogSink, TextForm, TextSink};
use tachograph_flow::{FlowError, Sink, UnionScan};
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::output_file::OutputFile;
use tachograph_logs::{Format, Grouping};

use super::list::ScannedLog;
use super::output_format::{
    blg_on_standard_output, format_of_output, is_standard_output, is_text, output_file, refuse_blg_in_pipe,
};
use super::{archive, database};
use super::{list, no_sample, notify_problems, notify_unmatched};
use crate::arguments::{RelogArguments, check_append, is_sql_log};
use crate::failure::{Failure, notify};
use crate::output::{create_output, finish_with};
use crate::progress::Progress;
use crate::table::{counted, line};

/// The format of the output. `-a` without a known extension keeps the format of the log.
fn format_of(arguments: &RelogArguments, output: &Path) -> Result<Format, Failure> {
    if let Some(format) = database::format_of(arguments.format, output)? {
        return Ok(format);
    }
    match arguments.format {
        Some(format) => Ok(format),
        None if arguments.append && Format::of_extension(output).is_none() && output.is_file() => {
            Ok(tachograph_logs::open(output)?.facts().format)
        }
        // Without an extension: BLG, as on Windows.
        None => format_of_output(output, Format::Blg),
    }
}

pub(crate) fn run(arguments: &RelogArguments) -> Result<ExitCode, Failure> {
    check_append(arguments.append, arguments.yes)?;
    let mut query = arguments.selection.query(&arguments.files, arguments.every)?;
    query.all_times = arguments.all_times;
    if arguments.query {
        return list_counters(&query, arguments);
    }
    let output = match (&arguments.output, arguments.format) {
        (Some(output), _) => output.as_path(),
        (None, Some(_)) => Path::new("-"),
        (None, None) => return summarise(&query),
    };
    let format = format_of(arguments, output)?;
    arguments.digits.check(arguments.output_encoding, "--output-encoding", is_text(format))?;
    if query.paths.len() == 1 && format != Format::Blg {
        // The groups of a single log need not match those of other logs.
        query.reading.grouping = Grouping::Neighbours;
    }
    let form =
        |reports: &[LogReport]| arguments.digits.form(arguments.output_encoding, TextForm::of_logs(reports));
    if format == Format::Archive {
        return archive::write(&mut query, output, arguments.append);
    }
    if format == Format::Sql {
        return database::write(&mut query, output, arguments);
    }
    if is_standard_output(output) {
        if format == Format::Blg {
            return Err(blg_on_standard_output());
        }
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let (scan, pipeline) = scanned(&query)?;
        let reports = pipeline.reports.clone();
        let failed = |error| Failure::of_output(error, Path::new("standard output"));
        write_text(&mut out, format, form(&reports), &scan, pipeline).map_err(failed)?;
        notify_problems(&reports);
        return Ok(ExitCode::SUCCESS);
    }
    refuse_blg_in_pipe(output, format)?;
    let count = if arguments.append && output.exists() {
        super::append::append(&mut query, output, format, &form)?
    } else {
        if format == Format::Blg {
            query.selection = query.selection.with_identities();
        }
        let mut file = create_output(output, arguments.yes)?;
        let count = write_all(&query, &mut file, format, &form, output)?;
        file.finish()?;
        count
    };
    notify_written(&query, output, count);
    Ok(ExitCode::SUCCESS)
}

/// Reports the number of samples, and the counters that were added to the selected ones.
pub(crate) fn notify_written(query: &LogQuery, output: &Path, samples: u64) {
    let added = query.selection.added_identities();
    if !added.is_empty() {
        notify(format_args!(
            "{}: also contains {}, which distinguish processes with the same name",
            output.display(),
            added.join(", ")
        ));
    }
    notify(format_args!("{}: {} written", output.display(), counted(samples, "sample", "samples")));
}

/// Reads the logs once to collect their columns. Returns an error if they have no samples.
pub(crate) fn scanned(query: &LogQuery) -> Result<(UnionScan, Pipeline), Failure> {
    let mut progress = Progress::new();
    let (scan, pipeline) = query.table(|reports| {
        progress.update(reports);
        Ok(())
    })?;
    drop(progress);
    notify_unmatched(query)?;
    if scan.samples() == 0 {
        notify_problems(&pipeline.reports);
        return Err(no_sample(query));
    }
    Ok((scan, pipeline))
}

/// Writes the result of the query; returns the number of samples.
fn write_all(
    query: &LogQuery,
    file: &mut OutputFile,
    format: Format,
    form: &dyn Fn(&[LogReport]) -> TextForm,
    output: &Path,
) -> Result<u64, Failure> {
    if format == Format::Blg
        && query.paths.len() == 1
        && let Some(count) = copy_log(query, file, output)?
    {
        return Ok(count);
    }
    let (scan, pipeline) = scanned(query)?;
    let reports = pipeline.reports.clone();
    let samples = write_table(file, format, form(&reports), &scan, pipeline, output)?;
    notify_problems(&reports);
    Ok(samples)
}

/// Copies one log to a BLG in one pass. Returns `None` if its counters change, which requires a scan first.
fn copy_log(query: &LogQuery, file: &mut OutputFile, output: &Path) -> Result<Option<u64>, Failure> {
    let pipeline = query.copy()?;
    let options = blg_options(&pipeline.reports, output);
    let writer =
        BlgWriter::new(&mut *file, options).map_err(|error| Failure::of_output(error.into(), output))?;
    let reports = pipeline.reports.clone();
    let samples = match run_pipeline(pipeline, &mut LogSink::new(writer)) {
        Ok(samples) => samples,
        Err(FlowError::NewGroups) => {
            file.restart().map_err(|error| Failure::of_output(FlowError::Output(error), output))?;
            return Ok(None);
        }
        Err(error) => return Err(Failure::of_output(error, output)),
    };
    notify_problems(&reports);
    notify_unmatched(query)?;
    if samples == 0 {
        return Err(no_sample(query));
    }
    Ok(Some(samples))
}

/// A sink that counts samples, except baselines.
pub(crate) struct CountingSink<S> {
    pub(crate) sink: S,
    pub(crate) samples: u64,
}

impl<S: Sink> Sink for CountingSink<S> {
    fn push(&mut self, sample: &tachograph_counters::sample::Sample) -> Result<(), FlowError> {
        self.samples += u64::from(!sample.is_baseline);
        self.sink.push(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.sink.finish()
    }
}

/// Writes scanned samples to a file; returns their number.
pub(crate) fn write_table<W: Write + Seek>(
    file: &mut W,
    format: Format,
    form: TextForm,
    scan: &UnionScan,
    pipeline: Pipeline,
    output: &Path,
) -> Result<u64, Failure> {
    let written = match format {
        // Archives and databases do not reach this function: they have writers of their own.
        Format::Blg | Format::Archive | Format::Sql => {
            let options = blg_options(&pipeline.reports, output);
            let writer = BlgWriter::new(file, options).map_err(FlowError::from);
            writer.and_then(|writer| run_pipeline(pipeline, &mut LogSink::new(writer)))
        }
        Format::Csv | Format::Tsv | Format::Json => write_text(file, format, form, scan, pipeline),
    };
    written.map_err(|error| Failure::of_output(error, output))
}

fn write_text(
    out: &mut impl Write,
    format: Format,
    form: TextForm,
    scan: &UnionScan,
    pipeline: Pipeline,
) -> Result<u64, FlowError> {
    if !is_text(format) {
        return run_pipeline(pipeline, &mut JsonSink::new(out, scan));
    }
    let zone = pipeline.reports[0].facts().zone.clone();
    run_pipeline(pipeline, &mut TextSink::new(out, format, zone, scan)?.with_form(form)?)
}

/// Runs a pipeline to its end; returns the number of samples, except baselines.
pub(crate) fn run_pipeline(mut pipeline: Pipeline, sink: &mut dyn Sink) -> Result<u64, FlowError> {
    let mut progress = Progress::new();
    let reports = pipeline.reports.clone();
    let mut sink = CountingSink { sink, samples: 0 };
    tachograph_flow::run(&mut *pipeline.source, &mut sink, || progress.update(&reports))?;
    drop(progress);
    let dropped = pipeline.dropped_samples();
    if dropped > 0 {
        notify(format_args!(
            "{} of other machines skipped: rows have the times of the first log's machine, and include samples of the \
             others that are at most half an interval older; --all-times keeps all",
            counted(dropped, "sample", "samples")
        ));
    }
    Ok(sink.samples)
}

pub(crate) fn blg_options(reports: &[LogReport], output: &Path) -> BlgWriterOptions {
    let facts = reports[0].facts();
    let mut options = BlgWriterOptions::new(facts.zone.clone());
    options.boot_time = facts.boot_time;
    if let Some(frequency) = facts.performance_frequency {
        options.performance_frequency = frequency;
    }
    options.file_name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    options
}

/// Without an output: prints a summary of the selected samples and counters of each input.
fn summarise(query: &LogQuery) -> Result<ExitCode, Failure> {
    let mut text = String::new();
    for path in &query.paths {
        let log = ScannedLog::read_part(path, query)?;
        notify_problems(&log.reports);
        text += &list::summary(&log);
    }
    notify_unmatched(query)?;
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// `-q`: prints a summary of each input and the selected counter paths; with `-o` writes only the paths, for `-cf`.
fn list_counters(query: &LogQuery, arguments: &RelogArguments) -> Result<ExitCode, Failure> {
    if arguments.output.as_deref().is_some_and(is_sql_log) {
        return Err(Failure::usage("-q writes counter paths to a file, not to a database: use -o FILE"));
    }
    let output = output_file(arguments.output.as_deref());
    let file = match output {
        Some(path) => Some((create_output(path, arguments.yes)?, path)),
        None => None,
    };
    let mut text = String::new();
    for path in &query.paths {
        let log = ScannedLog::read_part(path, query)?;
        notify_problems(&log.reports);
        if arguments.output.is_none() {
            text.push_str(&list::summary(&log));
        }
        for path in list::paths(&log.scan) {
            // Names are escaped for display, but not in files for -cf.
            text += &if arguments.output.is_none() { line(path) } else { path + "\n" };
        }
    }
    notify_unmatched(query)?;
    match file {
        Some((file, path)) => finish_with(file, path, &text)?,
        None => io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}
