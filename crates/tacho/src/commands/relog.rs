//! `tacho relog`: convert, select, cut, thin out, merge.

use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;
use std::process::ExitCode;

use tachograph_flow::logs::LogReport;
use tachograph_flow::query::{LogQuery, Pipeline};
use tachograph_flow::sinks::{JsonSink, LogSink, TextForm, TextSink};
use tachograph_flow::{FlowError, Sink, UnionScan};
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::{Format, Grouping, LogError};

use super::{list, no_sample, notice_problems, notice_unmatched};
use crate::arguments::{RelogArguments, RelogFormat, check_append};
use crate::failure::{Failure, say};
use crate::output::OutputFile;
use crate::progress::Progress;
use crate::table::{counted, line};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Blg,
    Text(Format),
    Json,
}

impl Target {
    /// The format that a file name's extension asks for.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "blg" => Some(Self::Blg),
            "csv" => Some(Self::Text(Format::Csv)),
            "tsv" => Some(Self::Text(Format::Tsv)),
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            _ => None,
        }
    }

    /// The format of a log.
    pub(crate) fn of_log(format: Format) -> Self {
        match format {
            Format::Blg => Self::Blg,
            Format::Json => Self::Json,
            text @ (Format::Csv | Format::Tsv) => Self::Text(text),
        }
    }

    /// The format of an output for which none was given: by the extension of its name, `plain` for a name without one, CSV
    /// on standard output. Another extension is refused.
    pub(crate) fn of_output(output: &Path, plain: Self) -> Result<Self, Failure> {
        match Self::of_path(output) {
            Some(by_name) => Ok(by_name),
            None if is_standard_output(output) => Ok(Self::Text(Format::Csv)),
            None if output.extension().is_none() => Ok(plain),
            None => Err(Failure::usage(format!(
                "{}: give -f bin, csv, tsv or json, or a name that ends in .blg, .csv, .tsv or .json",
                output.display()
            ))),
        }
    }

    fn of_arguments(arguments: &RelogArguments, output: &Path) -> Result<Self, Failure> {
        match arguments.format {
            Some(RelogFormat::Bin) => Ok(Self::Blg),
            Some(RelogFormat::Csv) => Ok(Self::Text(Format::Csv)),
            Some(RelogFormat::Tsv) => Ok(Self::Text(Format::Tsv)),
            Some(RelogFormat::Json) => Ok(Self::Json),
            // The log itself says its format.
            None if arguments.append && Self::of_path(output).is_none() && output.is_file() => {
                Ok(Self::of_log(tachograph_logs::open(output)?.facts().format))
            }
            // A name without an extension is a BLG, as on Windows.
            None => Self::of_output(output, Self::Blg),
        }
    }
}

fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
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
        // A format is one of an output.
        (None, Some(_)) => Path::new("-"),
        (None, None) => return summarise(&query),
    };
    let target = Target::of_arguments(arguments, output)?;
    let is_text = matches!(target, Target::Text(_));
    arguments.digits.check(arguments.output_encoding, "--output-encoding", is_text)?;
    if query.paths.len() == 1 && target != Target::Blg {
        // Its columns have to fit together with no other log's.
        query.reading.grouping = Grouping::Neighbours;
    }
    let form = |reports: &[LogReport]| arguments.digits.form(arguments.output_encoding, reports[0].digits());
    if is_standard_output(output) {
        if target == Target::Blg {
            return Err(Failure::usage(
                "a BLG cannot be written to standard output (its header is completed at the end): give -o a file, or -f csv",
            ));
        }
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let (scan, pipeline) = scanned(&query)?;
        let reports = pipeline.reports.clone();
        let named = |error| at_output(error, Path::new("standard output"));
        write_text(&mut out, target, form(&reports), &scan, pipeline).map_err(named)?;
        notice_problems(&reports);
        return Ok(ExitCode::SUCCESS);
    }
    let count = if arguments.append && output.exists() {
        super::append::append(&mut query, output, target, &form)?
    } else {
        if target == Target::Blg {
            query.selection = query.selection.with_identities();
        }
        let mut file = OutputFile::create(output, arguments.yes)?;
        let count = write_all(&query, &mut file, target, &form, output)?;
        file.finish()?;
        count
    };
    let kept = query.selection.kept_identities();
    if !kept.is_empty() {
        say(format_args!(
            "{}: also has {}, without which values of different processes of one name would be paired",
            output.display(),
            kept.join(", ")
        ));
    }
    say(format_args!("{}: {} written", output.display(), counted(count, "sample", "samples")));
    Ok(ExitCode::SUCCESS)
}

/// Reads the logs once for what they hold, and leaves when that is nothing.
pub(crate) fn scanned(query: &LogQuery) -> Result<(UnionScan, Pipeline), Failure> {
    let mut progress = Progress::new();
    let (scan, pipeline) = query.table(|reports| {
        progress.update(reports);
        Ok(())
    })?;
    drop(progress);
    notice_unmatched(query)?;
    if scan.samples() == 0 {
        notice_problems(&pipeline.reports);
        return Err(no_sample(query));
    }
    Ok((scan, pipeline))
}

/// Writes what the query asks for; gives the number of samples.
fn write_all(
    query: &LogQuery,
    file: &mut OutputFile,
    target: Target,
    form: &dyn Fn(&[LogReport]) -> TextForm,
    output: &Path,
) -> Result<u64, Failure> {
    if target == Target::Blg
        && query.paths.len() == 1
        && let Some(count) = copy_log(query, file, output)?
    {
        return Ok(count);
    }
    let (scan, pipeline) = scanned(query)?;
    let reports = pipeline.reports.clone();
    let samples = write_table(file, target, form(&reports), &scan, pipeline, output)?;
    notice_problems(&reports);
    Ok(samples)
}

/// Copies one log into a BLG in one pass. `None` where its counters change on the way, so that a scan is needed.
fn copy_log(query: &LogQuery, file: &mut OutputFile, output: &Path) -> Result<Option<u64>, Failure> {
    let pipeline = query.copy()?;
    let options = blg_options(&pipeline.reports, output);
    let writer = BlgWriter::new(&mut *file, options).map_err(|error| at_output(error.into(), output))?;
    let reports = pipeline.reports.clone();
    let samples = match pump(pipeline, &mut LogSink::new(writer)) {
        Ok(samples) => samples,
        Err(FlowError::NewGroups) => {
            file.restart().map_err(|error| at_output(FlowError::Output(error), output))?;
            return Ok(None);
        }
        Err(error) => return Err(at_output(error, output)),
    };
    notice_problems(&reports);
    notice_unmatched(query)?;
    if samples == 0 {
        return Err(no_sample(query));
    }
    Ok(Some(samples))
}

/// A sink that counts what passes, baselines left out.
pub(crate) struct Counted<S> {
    pub(crate) sink: S,
    pub(crate) samples: u64,
}

impl<S: Sink> Sink for Counted<S> {
    fn take(&mut self, sample: &tachograph_counters::sample::Sample) -> Result<(), FlowError> {
        self.samples += u64::from(!sample.is_baseline);
        self.sink.take(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.sink.finish()
    }
}

/// Writes a scanned table of samples to a file; returns how many.
pub(crate) fn write_table<W: Write + Seek>(
    file: &mut W,
    target: Target,
    form: TextForm,
    scan: &UnionScan,
    pipeline: Pipeline,
    output: &Path,
) -> Result<u64, Failure> {
    if target != Target::Blg {
        return write_text(file, target, form, scan, pipeline).map_err(|error| at_output(error, output));
    }
    let options = blg_options(&pipeline.reports, output);
    let writer = BlgWriter::new(file, options).map_err(|error| at_output(error.into(), output))?;
    pump(pipeline, &mut LogSink::new(writer)).map_err(|error| at_output(error, output))
}

/// Writes a scanned table of samples as text.
fn write_text(
    out: &mut impl Write,
    target: Target,
    form: TextForm,
    scan: &UnionScan,
    pipeline: Pipeline,
) -> Result<u64, FlowError> {
    let zone = pipeline.reports[0].facts().zone.clone();
    match target {
        Target::Text(format) => pump(pipeline, &mut TextSink::new(out, format, zone, scan)?.with_form(form)?),
        _ => pump(pipeline, &mut JsonSink::new(out, scan)),
    }
}

/// Runs a pipeline to its end; returns how many samples passed, baselines left out.
pub(crate) fn pump(mut pipeline: Pipeline, sink: &mut dyn Sink) -> Result<u64, FlowError> {
    let mut progress = Progress::new();
    let reports = pipeline.reports.clone();
    let mut sink = Counted { sink, samples: 0 };
    tachograph_flow::run(&mut *pipeline.source, &mut sink, || progress.update(&reports))?;
    drop(progress);
    let left_out = pipeline.left_out();
    if left_out > 0 {
        say(format_args!(
            "{} of the other machines left out: rows go by the first log's clock, and take samples of at most half an \
             interval before; --all-times keeps all",
            counted(left_out, "sample", "samples")
        ));
    }
    Ok(sink.samples)
}

/// Names the output file in errors of writing it; errors of reading name their own file.
pub(crate) fn at_output(error: FlowError, output: &Path) -> Failure {
    match error {
        FlowError::Log(error) => {
            let is_of_output = error.path().is_none_or(|path| path == output);
            let error = FlowError::Log(error.at_path(output));
            if is_of_output { Failure::writing(error) } else { error.into() }
        }
        FlowError::Output(error) => Failure::writing(LogError::io(error).at_path(output).into()),
        error => error.into(),
    }
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

/// What relog shows without an output.
fn summarise(query: &LogQuery) -> Result<ExitCode, Failure> {
    for path in &query.paths {
        let (report, scan) = list::scan(path, &query.reading)?;
        notice_problems(std::slice::from_ref(&report));
        io::stdout().lock().write_all(list::summary(&report, &scan).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `-q`: what the inputs hold and their counter paths; with `-o` only the paths, as `-cf` takes them.
fn list_counters(query: &LogQuery, arguments: &RelogArguments) -> Result<ExitCode, Failure> {
    let mut text = String::new();
    let mut file = match arguments.output.as_deref().filter(|output| !is_standard_output(output)) {
        Some(output) => Some((OutputFile::create(output, arguments.yes)?, output)),
        None => None,
    };
    for path in &query.paths {
        let (report, scan) = list::scan(path, &query.reading)?;
        notice_problems(std::slice::from_ref(&report));
        if arguments.output.is_none() {
            text.push_str(&list::summary(&report, &scan));
        }
        for path in list::paths(&scan) {
            // A file has the names as they are.
            text += &if arguments.output.is_none() { line(path) } else { path + "\n" };
        }
    }
    match &mut file {
        Some((file, output)) => {
            file.write_all(text.as_bytes()).map_err(|error| at_output(FlowError::Output(error), output))?;
        }
        None => io::stdout().lock().write_all(text.as_bytes())?,
    }
    if let Some((file, _)) = file {
        file.finish()?;
    }
    Ok(ExitCode::SUCCESS)
}
