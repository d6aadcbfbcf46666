//! `tacho query`: prints the values of this machine's counters at each interval.

mod instance_table;
mod table_sink;

use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::Sample;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::live::{LiveOptions, Refresh, Schedule, Stop};
use tachograph_flow::record::{Existing, RecordOptions, Recorder};
use tachograph_flow::sinks::{LateInstances, LiveJsonSink, TextForm, TextSink};
use tachograph_flow::{FlowError, NameSums, NameSumsSink, Selection, Sink, Source, UnionScan};
use tachograph_logs::Format;
use tachograph_machine::Machine;
use tachograph_perflib::FREQUENCY;

use super::list;
use super::output_format::{
    blg_on_standard_output, format_of_output, is_text, output_file, refuse_blg_in_pipe, wait_for_reader,
};
use super::row_output::{RowOutput, refuse_existing};
use crate::arguments::QueryArguments;
use crate::failure::{Failure, notify};
use crate::machines;
use crate::ranking::counter_name;
use crate::signals;
use crate::table::{counted, terminal_width};
use crate::this_machine::{self, Live};
use instance_table::InstanceTableSink;
use table_sink::TableSink;

/// The format of the output; `None` for the table.
fn format_of(arguments: &QueryArguments) -> Result<Option<Format>, Failure> {
    Ok(match (arguments.format, arguments.output.as_deref()) {
        (Some(format), _) => format,
        (None, None) => None,
        // Without an extension: CSV, like typeperf.
        (None, Some(output)) => Some(format_of_output(output, Format::Csv)?),
    })
}

pub(crate) fn run(arguments: &QueryArguments) -> Result<ExitCode, Failure> {
    let machine = Machine::of_this_machine().map_err(Failure::runtime)?;
    let registry = machine.registry();
    if arguments.query || arguments.query_instances {
        let registry = machines::one(&registry, arguments.live.machine.as_deref())?;
        return list::paths_of_machine(&registry, arguments);
    }
    let mut targets = arguments.live.targets(&registry)?;
    if targets.iter().all(|target| target.paths.is_empty()) {
        for target in &mut targets {
            target.paths = this_machine::default_counters(&target.registry)?;
        }
    }
    let paths = targets.iter().flat_map(|target| target.paths.iter().cloned()).collect();
    let selection = Selection::new(paths);
    let format = format_of(arguments)?;
    if arguments.sort.is_some() && arguments.group_by.is_none() {
        for target in &mut targets {
            add_process_ids(&mut target.paths);
        }
    }
    let is_blg = format == Some(Format::Blg);
    let output = output_file(arguments.output.as_deref());
    if is_blg && output.is_none() {
        return Err(blg_on_standard_output());
    }
    if let (Some(output), Some(format)) = (output, format) {
        refuse_blg_in_pipe(output, format)?;
    }
    check_order(arguments, format)?;
    arguments.digits.check(arguments.encoding, "--encoding", format.is_some_and(is_text))?;
    let stop = Stop::default();
    let options = LiveOptions { pairs_by_identity: !is_blg, ..LiveOptions::default() };
    let schedule = Schedule {
        interval: arguments.live.interval(),
        samples: arguments.live.samples,
        has_baseline: true,
        stop: stop.clone(),
        ..Schedule::default()
    };
    // The first sample fixes the columns of a text file (CSV/TSV) and the counters of a BLG.
    let follows_sets = matches!(format, None | Some(Format::Json));
    let refresh = follows_sets.then(|| Box::new(move || machine.refresh()) as Refresh);
    let mut live = match &targets[..] {
        [target] if target.is_this_machine() => {
            let mut live = this_machine::open(&registry, &target.paths, options, schedule)?;
            if let Some(refresh) = refresh {
                live.source.follow(refresh);
            }
            live
        }
        _ => machines::open(targets, options, schedule, refresh)?,
    };
    if let Some(output) = output {
        refuse_existing(output, arguments.yes)?;
    }
    let _pipe = output.map(wait_for_reader).transpose()?;
    signals::stop_on_signals(&stop)?;
    // The first interval begins with this sample, which also determines the columns of a text file (CSV/TSV).
    let mut first = Sample::default();
    if !live.source.next(&mut first)? {
        return Ok(ExitCode::SUCCESS);
    }
    this_machine::notify_new_problems(&live.report);
    notify_missing_instances(&live, format.is_some_and(is_text));
    check_sort_counter(arguments, &first)?;
    let (mut sink, late) = sink(format, output, arguments, &live, &first, selection)?;
    let outcome = run_samples(&mut live, &first, &mut *sink, &late);
    notify_late_instances(&late);
    this_machine::notify_problem_totals(&live.report);
    match outcome {
        // The recorder's errors already name the file.
        Err(error) if is_blg => Err(Failure::of_writing(error)),
        Err(error) => Err(Failure::of_output(error, output.unwrap_or(Path::new("standard output")))),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// The sink, and the instances that appear too late to get a column in it.
fn sink(
    format: Option<Format>,
    output: Option<&Path>,
    arguments: &QueryArguments,
    live: &Live,
    first: &Sample,
    selection: Selection,
) -> Result<(Box<dyn Sink>, LateInstances), Failure> {
    if let (Some(Format::Blg), Some(path)) = (format, output) {
        let mut options = RecordOptions::new(path, arguments.live.interval());
        options.existing = if arguments.yes { Existing::Overwrite } else { Existing::Refuse };
        options.zone = live.zone.clone();
        options.performance_frequency = FREQUENCY;
        let mut recorder = Recorder::create(options, first.at).map_err(Failure::of_writing)?;
        recorder.on_moved(|moved| notify(moved));
        return Ok((Box::new(recorder), LateInstances::default()));
    }
    let mut sums = NameSums::default();
    let first = if arguments.group_by.is_some() { sums.push(first) } else { first };
    let scan = columns(first, format.is_some_and(is_text))?;
    let out = match output {
        Some(path) => RowOutput::file(path, arguments.yes)?,
        None => RowOutput::standard(),
    };
    let (sink, late): (Box<dyn Sink>, _) = match format {
        Some(format @ (Format::Csv | Format::Tsv)) => {
            let form = arguments.digits.form(arguments.encoding, TextForm::default());
            let sink = TextSink::new(out, format, live.zone.clone(), &scan)?.with_form(form)?;
            let (sink, late) = sink.live();
            (Box::new(sink), late)
        }
        Some(Format::Json) => (Box::new(LiveJsonSink::new(out)), LateInstances::default()),
        None | Some(Format::Blg | Format::Archive | Format::Sql) => {
            let form = arguments.numbers.form();
            let sink: Box<dyn Sink> = match &arguments.sort {
                Some(counter) => {
                    let max_width = terminal_width().filter(|_| output.is_none() && !arguments.wide);
                    let order = (counter_name(counter), arguments.top);
                    Box::new(InstanceTableSink::new(out, order, selection, max_width, form))
                }
                None => Box::new(TableSink::new(out, table_sink::screen_width(), form)),
            };
            (sink, LateInstances::default())
        }
    };
    Ok(match arguments.group_by {
        Some(_) => (Box::new(NameSumsSink::new(sink)), late),
        None => (sink, late),
    })
}

/// Returns an error if the format does not support the requested order or sums.
fn check_order(arguments: &QueryArguments, format: Option<Format>) -> Result<(), Failure> {
    if let (Some(_), Some(format)) = (&arguments.sort, format) {
        let reason = match format {
            Format::Json => "JSON objects have no order; sort their values with another tool, such as jq",
            _ => "its columns are fixed at the start; sort the log afterwards with 'tacho stats LOG --sort'",
        };
        return Err(Failure::usage(format!(
            "--sort works only with -f table, not with {}: {reason}",
            format.name()
        )));
    }
    if arguments.group_by.is_some() && format == Some(Format::Blg) {
        return Err(Failure::usage(
            "--group-by: a BLG stores the instances of the machine; omit --group-by and use 'tacho stats LOG --group-by name' later",
        ));
    }
    Ok(())
}

/// Adds the ids of the queried processes before their other counters, because names do not identify processes.
fn add_process_ids(paths: &mut Vec<PathPattern>) {
    let is_process =
        |path: &&PathPattern| path.set().is_literal() && eq_ignore_case(&path.path().set, "Process");
    let ids: Vec<_> = paths
        .iter()
        .filter(is_process)
        .map(|path| PathPattern::from(CounterPath { counter: "ID Process".into(), ..path.path().clone() }))
        .collect();
    for id in ids.into_iter().rev() {
        let first = paths.iter().position(|path| is_process(&path)).unwrap_or_default();
        if !paths.contains(&id) {
            paths.insert(first, id);
        }
    }
}

/// Returns an error if no counter has the name given with `--sort`.
fn check_sort_counter(arguments: &QueryArguments, first: &Sample) -> Result<(), Failure> {
    let Some(counter) = arguments.sort.as_deref().map(counter_name) else { return Ok(()) };
    let mut counters = first.groups.iter().flat_map(|group| &group.set.counters);
    if first.groups.is_empty() || counters.any(|known| eq_ignore_case(&known.name, &counter)) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--sort '{counter}': none of the queried counters has this name and is available; add its path to the command"
    )))
}

/// The columns of a text file (CSV/TSV); fails if there are none.
fn columns(first: &Sample, is_text: bool) -> Result<UnionScan, Failure> {
    let mut scan = UnionScan::default();
    scan.push(first)?;
    let has_columns = scan.groups().iter().any(|group| !group.instances.is_empty());
    if is_text && !has_columns {
        // The reason was already reported.
        if first.groups.iter().any(|group| group.status.is_error()) {
            return Err(Failure::runtime(
                "no column: no instance could be read; -f json and -f table wait until one can be",
            ));
        }
        return Err(Failure::usage(
            "no column: no instance exists now; -f json and -f table include instances that appear later",
        ));
    }
    Ok(scan)
}

/// Passes the first and all further samples to the sink.
fn run_samples(
    live: &mut Live,
    first: &Sample,
    sink: &mut dyn Sink,
    late: &LateInstances,
) -> Result<(), FlowError> {
    sink.push(first)?;
    let report = live.report.clone();
    let mut is_late_notified = false;
    tachograph_flow::feed(&mut live.source, sink, || {
        this_machine::notify_new_problems(&report);
        if !is_late_notified && let Some(instance) = late.first() {
            is_late_notified = true;
            notify(format_args!(
                "'{instance}' appeared after the start and has no column; -f json and -f table include such instances"
            ));
        }
    })?;
    sink.finish()
}

/// Reports at the end how many more instances had no column.
fn notify_late_instances(late: &LateInstances) {
    let more = late.count().saturating_sub(1);
    if more > 0 {
        let instances = counted(more, "more instance", "more instances");
        notify(format_args!("{instances} appeared after the start and had no column"));
    }
}

/// Reports requested instances that do not exist yet. A text file has the columns of its first sample, and one for each
/// path without a wildcard.
fn notify_missing_instances(live: &Live, is_text: bool) {
    let missing = live.source.missing_instances();
    this_machine::notify_first(&missing, "such paths", |path| {
        let consequence = match path.contains(['*', '?']) {
            _ if !is_text => "",
            true => "; instances that appear later have no column",
            false => "; its column is empty until it appears",
        };
        format!("'{path}': no such instance now{consequence}")
    });
}
