//! `tacho query`: values of this machine's counters as they come.

mod table;

use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::Status;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{LiveOptions, Schedule, Stop};
use tachograph_flow::record::{Existing, RecordOptions, Recorder};
use tachograph_flow::sinks::{LateInstances, LiveJsonSink, TextSink};
use tachograph_flow::{FlowError, Sink, Source, UnionScan};
use tachograph_logs::{Digits, Format};
use tachograph_machine::Machine;
use tachograph_perflib::{FREQUENCY, Registry};

use super::list;
use super::relog::{Target, at_output};
use super::row_output::{RowOutput, refuse_existing};
use crate::arguments::{QueryArguments, QueryFormat};
use crate::failure::{Failure, say};
use crate::live::{self, Live};
use crate::signals;
use crate::table::counted;
use table::TableSink;

/// The name of standard output as a file.
const STANDARD_OUTPUT: &str = "-";

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Table,
    Text(Format),
    Json,
    Blg,
}

impl Shown {
    fn of_arguments(arguments: &QueryArguments) -> Result<Self, Failure> {
        Ok(match (arguments.format, arguments.output.as_deref()) {
            (Some(QueryFormat::Table), _) => Self::Table,
            (Some(QueryFormat::Csv), _) => Self::Text(Format::Csv),
            (Some(QueryFormat::Tsv), _) => Self::Text(Format::Tsv),
            (Some(QueryFormat::Json), _) => Self::Json,
            (Some(QueryFormat::Bin), _) => Self::Blg,
            (None, None) => Self::Table,
            // A name without an extension is a CSV, as typeperf writes it.
            (None, Some(output)) => match Target::of_output(output, Target::Text(Format::Csv))? {
                Target::Blg => Self::Blg,
                Target::Text(format) => Self::Text(format),
                Target::Json => Self::Json,
            },
        })
    }

    /// Whether counters may come later; else the first sample says which there are.
    fn takes_new_columns(self) -> bool {
        matches!(self, Self::Table | Self::Json)
    }
}

pub(crate) fn run(arguments: &QueryArguments) -> Result<ExitCode, Failure> {
    let machine = Machine::of_this_machine().map_err(Failure::work)?;
    let registry = machine.registry();
    arguments.live.check_machine(&registry)?;
    if arguments.query || arguments.query_instances {
        return list::paths_of_this_machine(&registry, arguments);
    }
    let paths = paths(&registry, arguments)?;
    let shown = Shown::of_arguments(arguments)?;
    let output = arguments.output.as_deref().filter(|output| output.as_os_str() != STANDARD_OUTPUT);
    if shown == Shown::Blg && output.is_none() {
        return Err(Failure::usage(
            "a BLG cannot be written to standard output (its header is completed at the end): give -o a file, or -f csv",
        ));
    }
    arguments.digits.check(arguments.encoding, "--encoding", matches!(shown, Shown::Text(_)))?;
    let stop = Stop::default();
    let options = LiveOptions { pairs_by_identity: shown != Shown::Blg, ..LiveOptions::default() };
    let schedule = Schedule {
        interval: arguments.live.interval(),
        samples: arguments.live.samples,
        has_baseline: true,
        stop: stop.clone(),
        ..Schedule::default()
    };
    let mut live = live::open(&registry, &paths, options, schedule)?;
    if shown.takes_new_columns() {
        live.source.live_mut().follow(Box::new(move || machine.refresh()));
    }
    if let Some(output) = output {
        refuse_existing(output, arguments.yes)?;
    }
    signals::stop_on_signals(&stop)?;
    // The sample that opens the first interval; it also says which instances there are.
    let mut first = Sample::default();
    if !live.source.next(&mut first)? {
        return Ok(ExitCode::SUCCESS);
    }
    live::say_news(&live.report);
    notice_missing(&live);
    let (mut sink, late) = sink(shown, output, arguments, &live, &first)?;
    let outcome = pump(&mut live, &first, &mut *sink, &late);
    live::say_summary(&live.report);
    say_late(&late);
    match outcome {
        // A recorder names its file itself.
        Err(error) if shown == Shown::Blg => Err(Failure::writing(error)),
        Err(error) => Err(at_output(error, output.unwrap_or(Path::new("standard output")))),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// The end of the pipeline, and the instances that will have no place in it.
fn sink(
    shown: Shown,
    output: Option<&Path>,
    arguments: &QueryArguments,
    live: &Live,
    first: &Sample,
) -> Result<(Box<dyn Sink>, LateInstances), Failure> {
    if let (Shown::Blg, Some(path)) = (shown, output) {
        let mut options = RecordOptions::new(path, arguments.live.interval());
        options.existing = if arguments.yes { Existing::Overwrite } else { Existing::Refuse };
        options.zone = live.zone.clone();
        options.performance_frequency = FREQUENCY;
        let mut recorder = Recorder::create(options, first.at).map_err(Failure::writing)?;
        recorder.on_moved(|moved| say(moved));
        return Ok((Box::new(recorder), LateInstances::default()));
    }
    let scan = columns(first, shown)?;
    let out = match output {
        Some(path) => RowOutput::file(path, arguments.yes)?,
        None => RowOutput::standard(),
    };
    Ok(match shown {
        Shown::Text(format) => {
            let form = arguments.digits.form(arguments.encoding, Digits::Seventeen);
            let sink = TextSink::new(out, format, live.zone.clone(), &scan)?.with_form(form)?;
            let (sink, late) = sink.live();
            (Box::new(sink), late)
        }
        Shown::Json => (Box::new(LiveJsonSink::new(out)), LateInstances::default()),
        _ => (Box::new(TableSink::new(out, table::screen_width())), LateInstances::default()),
    })
}

/// The paths that are asked for, or the default counters.
fn paths(registry: &Registry, arguments: &QueryArguments) -> Result<Vec<PathPattern>, Failure> {
    let paths = arguments.live.patterns(registry)?;
    if paths.is_empty() { live::default_counters(registry) } else { Ok(paths) }
}

/// The columns of a text. One without any can never show a value.
fn columns(first: &Sample, shown: Shown) -> Result<UnionScan, Failure> {
    let mut scan = UnionScan::default();
    scan.take(first)?;
    let has_columns = scan.groups().iter().any(|group| !group.instances.is_empty());
    if matches!(shown, Shown::Text(_)) && !has_columns {
        // Why was said already; it may have instances.
        if first.groups.iter().any(|group| group.status == Status::NO_DATA) {
            return Err(Failure::work(
                "no instance could be read, and so there is no column; -f json and -f table go on until one can be",
            ));
        }
        return Err(Failure::usage(
            "there is no instance now, and so no column; -f json and -f table follow instances that come later",
        ));
    }
    Ok(scan)
}

/// Runs the samples that follow the first into the sink.
fn pump(live: &mut Live, first: &Sample, sink: &mut dyn Sink, late: &LateInstances) -> Result<(), FlowError> {
    sink.take(first)?;
    let report = live.report.clone();
    let mut has_said_late = false;
    tachograph_flow::feed(&mut live.source, sink, || {
        live::say_news(&report);
        if !has_said_late && let Some(instance) = late.first() {
            has_said_late = true;
            say(format_args!(
                "'{instance}' came after the start, so it has no column; -f json and -f table follow such instances"
            ));
        }
    })?;
    sink.finish()
}

/// Says at the end how many instances had no column, beside the one that was told.
fn say_late(late: &LateInstances) {
    let more = late.count().saturating_sub(1);
    if more > 0 {
        let instances = counted(more, "more instance", "more instances");
        say(format_args!("{instances} came after the start and had no column"));
    }
}

/// Says which instances that were asked for are not there (yet).
fn notice_missing(live: &Live) {
    let missing = live.source.live().missing_instances();
    live::say_some(&missing, "such paths", |path| {
        format!("'{path}': there is no such instance now; it is blank until it comes")
    });
}
