//! `tacho list`: lists the counters of this machine and of logs.

mod chosen_set;
mod found;
mod json;
mod listed_set;
mod processes;
mod scanned_log;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::set::{Counter, Instance};
use tachograph_counters::wildcard::fold_case;
use tachograph_flow::{ScannedGroup, UnionScan};
use tachograph_logs::ReadOptions;
use tachograph_perflib::Registry;
use unicode_width::UnicodeWidthStr;

use chosen_set::ChosenSet;
use found::Found;
pub(crate) use listed_set::machines as machine_names;
use listed_set::{ListedSet, sets};
pub(crate) use scanned_log::ScannedLog;

use super::notify_problems;
use super::output_format::output_file;
use crate::arguments::{ListArguments, ListFormat, QueryArguments, has_log_extension, is_sql_log};
use crate::failure::{Failure, notify};
use crate::machines;
use crate::output::write_text;
use crate::pager::PagedOutput;
use crate::table::{counted, escape_controls, grouped, line, push_padded, terminal_width};
use crate::this_machine;

/// The logs or counter sets to list, and how.
struct Request<'a> {
    names: Vec<&'a Path>,
    /// Whether a name can refer to a log.
    accepts_logs: bool,
    form: Form,
    is_verbose: bool,
    output: Option<&'a Path>,
    overwrite: bool,
    reading: ReadOptions,
    uses_pager: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Description,
    /// Counter paths, without instances.
    Paths,
    /// Counter paths for each instance.
    PathsWithInstances,
    Json {
        has_instances: bool,
    },
}

/// The log or the counter sets that a name refers to.
enum Listed {
    Log(Box<ScannedLog>),
    Sets(Vec<ChosenSet>),
    Found(Found),
}

pub(crate) fn run(arguments: &ListArguments) -> Result<ExitCode, Failure> {
    let form = match arguments.format {
        ListFormat::Json => Form::Json { has_instances: arguments.query_instances },
        ListFormat::Table if arguments.query => Form::Paths,
        ListFormat::Table if arguments.query_instances => Form::PathsWithInstances,
        ListFormat::Table => Form::Description,
    };
    // A path can also name the machine. Paths of different machines are rejected when they are parsed.
    let machine_of =
        |what: &PathBuf| PathPattern::parse(&what.to_string_lossy()).ok()?.path().machine.clone();
    let machine = arguments.machine.clone().or_else(|| arguments.what.iter().find_map(machine_of));
    let mut registry: Option<Arc<Registry>> = None;
    show(
        &Request {
            names: arguments.what.iter().map(PathBuf::as_path).collect(),
            accepts_logs: arguments.machine.is_none(),
            form,
            is_verbose: arguments.verbose,
            output: arguments.output.as_deref(),
            overwrite: arguments.yes,
            reading: arguments.reading.options(),
            uses_pager: !arguments.no_pager,
        },
        // The registry is opened on demand, because listing a log does not need it.
        || {
            let opened = match registry.take() {
                Some(opened) => opened,
                None => {
                    let opened = this_machine::registry()?;
                    if let Some(machine) = &machine
                        && !this_machine::is_this_machine(&opened, machine)
                    {
                        return Ok(Arc::clone(registry.insert(machines::one(&opened, Some(machine))?)));
                    }
                    let is_named =
                        |set: &str| arguments.what.iter().any(|word| chosen_set::is_about(word, set));
                    let is_everything = arguments.what.is_empty();
                    if is_everything && arguments.verbose {
                        this_machine::notify_of_all_sets(&opened);
                    } else {
                        this_machine::notify_of_sets(&opened, |set| {
                            is_everything || set.is_some_and(is_named)
                        });
                    }
                    if arguments.verbose {
                        this_machine::notify_of_absences(|set| is_everything || is_named(set));
                    }
                    opened
                }
            };
            Ok(Arc::clone(registry.insert(opened)))
        },
    )
}

/// Lists counter paths of a machine, for `query -q` and `query -qx`.
pub(super) fn paths_of_machine(
    registry: &Arc<Registry>,
    arguments: &QueryArguments,
) -> Result<ExitCode, Failure> {
    let request = Request {
        names: arguments.live.paths.iter().map(Path::new).collect(),
        accepts_logs: false,
        form: if arguments.query_instances { Form::PathsWithInstances } else { Form::Paths },
        is_verbose: false,
        output: arguments.output.as_deref(),
        overwrite: arguments.yes,
        reading: ReadOptions::default(),
        uses_pager: false,
    };
    show(&request, || Ok(Arc::clone(registry)))
}

fn show(
    request: &Request<'_>,
    mut registry: impl FnMut() -> Result<Arc<Registry>, Failure>,
) -> Result<ExitCode, Failure> {
    let mut listed = Vec::new();
    if request.names.is_empty() {
        listed.push(Listed::Sets(chosen_set::every_set(&*registry()?, request.form)));
    }
    let output = output_file(request.output);
    let mut failures = Vec::new();
    let found = search(request, &mut registry)?;
    let names: &[&Path] = if found.is_some() { &[] } else { &request.names[..] };
    listed.extend(found.map(Listed::Found));
    let (logs, operands): (Vec<&Path>, Vec<&Path>) =
        names.iter().partition(|name| request.accepts_logs && is_log(name));
    let operands: Vec<_> = operands.iter().map(|name| name.to_string_lossy()).collect();
    let operands: Vec<&str> = operands.iter().map(|name| &**name).collect();
    let of_log = |log: &Path| match operands.is_empty() {
        true => ScannedLog::read(log, &request.reading).map_err(Failure::from),
        false => ScannedLog::read_some(log, &request.reading, &operands),
    };
    // Next to logs, the other operands select counters of the logs.
    let of_logs = logs.iter().map(|log| {
        let log = of_log(log)?;
        notify_problems(&log.reports);
        Ok(Listed::Log(Box::new(log)))
    });
    let of_machine = operands.iter().filter(|_| logs.is_empty()).map(|operand| {
        let chosen = chosen_set::choose(&registry()?, operand, request.form);
        chosen.map(Listed::Sets).map_err(|failure| match Path::new(operand).exists() {
            true => Failure::usage(format!(
                "'{operand}' is a file, not a counter set: 'tacho list {operand}' lists its counters"
            )),
            false => failure,
        })
    });
    for one in of_logs.chain(of_machine) {
        match one {
            Ok(one) => listed.push(one),
            Err(failure) => failures.push(failure),
        }
    }
    // After a failure, the rest of the list is printed to standard output, but not written to a file.
    if !failures.is_empty() && (listed.is_empty() || output.is_some()) {
        return Err(Failure::merge(failures));
    }
    let text = match request.form {
        Form::Json { .. } => {
            let objects: Vec<_> = listed.iter().flat_map(json::objects).collect();
            serde_json::to_string_pretty(&objects).map_err(Failure::runtime)? + "\n"
        }
        Form::Description => {
            let width = terminal_width().filter(|_| output.is_none()).unwrap_or(usize::MAX);
            let is_overview = request.names.is_empty() && !request.is_verbose;
            listed
                .iter()
                .map(|listed| description(listed, is_overview, request.is_verbose, width))
                .collect::<Vec<_>>()
                .join("\n")
        }
        // Names are escaped for display, but not in files for -cf.
        form => listed
            .iter()
            .flat_map(|listed| all_paths(listed, form == Form::PathsWithInstances))
            .map(|path| if output.is_some() { path + "\n" } else { line(path) })
            .collect(),
    };
    match output {
        None => {
            let mut out = PagedOutput::new(request.uses_pager && !matches!(request.form, Form::Json { .. }));
            out.write_all(text.as_bytes())?;
            out.finish()?;
        }
        Some(_) => write_text(output, request.overwrite, &text)?,
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::merge(failures)) }
}

/// Searches for the operands as words. Returns `None` if they are not words (one of them is a log or a path, or all are names
/// of sets), or if a single operand is not found, because it may be a misspelt name.
fn search(
    request: &Request<'_>,
    mut registry: impl FnMut() -> Result<Arc<Registry>, Failure>,
) -> Result<Option<Found>, Failure> {
    if !request.accepts_logs || request.names.is_empty() || request.names.iter().any(|name| is_log(name)) {
        return Ok(None);
    }
    let registry = registry()?;
    let names: Vec<_> = request.names.iter().map(|name| name.to_string_lossy()).collect();
    if !chosen_set::are_words(&registry, &names) {
        return Ok(None);
    }
    let words = names.join(" ");
    let found = found::search(&registry, &words, request.form);
    if found.is_empty() && names.len() == 1 {
        return Ok(None);
    }
    let absent = found.better_matches(&registry);
    if found.is_empty() {
        if !absent.is_empty() {
            return Err(Failure::usage_messages(absent));
        }
        // With -o, a partial result is an error, because the file must be complete.
        let must_be_complete = request.output.is_some();
        return found::search_some(&registry, &words, request.form, must_be_complete).map(Some);
    }
    found::notify_absent(&words);
    absent.iter().for_each(notify);
    Ok(Some(found))
}

/// Whether a name refers to a log: it is an existing file, or has the extension of a log and is not a counter path.
fn is_log(name: &Path) -> bool {
    let is_path = name.to_string_lossy().starts_with('\\');
    is_sql_log(name) || name.exists() || !is_path && has_log_extension(name)
}

fn description(listed: &Listed, is_overview: bool, is_verbose: bool, width: usize) -> String {
    match listed {
        Listed::Log(log) => {
            let mut text = summary(log);
            for set in sets(&log.scan) {
                text.push('\n');
                text += &describe(&set);
            }
            text
        }
        Listed::Found(found) => found.description(is_verbose, width),
        Listed::Sets(sets) if is_overview => chosen_set::overview(sets, width),
        Listed::Sets(sets) => chosen_set::description(sets, is_verbose, width),
    }
}

fn all_paths(listed: &Listed, has_instances: bool) -> Vec<String> {
    match listed {
        Listed::Log(log) if has_instances => paths(&log.scan).collect(),
        Listed::Log(log) => {
            let mut seen = std::collections::HashSet::new();
            let all = Instance::new(None, "*", 0);
            let counters = log
                .scan
                .groups()
                .iter()
                .flat_map(|group| group.set.counters.iter().map(|counter| group.set.path(&all, counter)));
            counters.filter(|path| seen.insert(fold_case(path))).collect()
        }
        Listed::Sets(sets) => sets.iter().flat_map(|set| set.paths(has_instances)).collect(),
        Listed::Found(found) => found.parts().flat_map(|part| part.paths(has_instances)).collect(),
    }
}

pub(crate) fn summary(log: &ScannedLog) -> String {
    let (facts, scan) = (log.facts(), &log.scan);
    let mut text = String::new();
    // The size of a database on a server is unknown.
    let bytes = match log.bytes() {
        0 => String::new(),
        bytes => format!(", {} bytes", grouped(&bytes.to_string())),
    };
    text += &line(format_args!("{}: {}{bytes}", log.path.display(), facts.format.name()));
    let machines: Vec<_> = machine_names(scan).into_iter().map(|machine| format!(r"\\{machine}")).collect();
    if !machines.is_empty() {
        text += &line(format_args!("  machine   {}", machines.join(", ")));
    }
    let Some((first, last)) = scan.time_range() else {
        text += &line("  samples   none");
        return text;
    };
    let length = duration(last.utc.since(first.utc));
    if facts.is_zone_known() {
        let zone = format!("{} (UTC{})", facts.zone.name_at(&first), offset(first));
        text += &line(format_args!("  time      {} to {} {zone}, {length}", local(first), local(last)));
        text += &line(format_args!("  UTC       {} to {}", utc(first), utc(last)));
    } else {
        text += &line(format_args!("  time      {} to {}, {length}", local(first), local(last)));
        text += &line(format_args!("            {UNKNOWN_ZONE}"));
    }
    let interval = match scan.typical_interval() {
        Some(interval) => format!(", typical interval {}", duration(interval)),
        None => String::new(),
    };
    text += &line(format_args!("  samples   {}{interval}", grouped(&scan.samples().to_string())));
    let columns: usize =
        scan.groups().iter().map(|group| group.instances.len() * group.set.counters.len()).sum();
    text += &line(format_args!(
        "  counters  {} in {}, {}",
        grouped(&columns.to_string()),
        counted(sets(scan).len() as u64, "set", "sets"),
        values(log)
    ));
    text
}

/// The number and kind of values: `18,164 raw values`. Values that were converted from a text log to BLG are formatted.
pub(crate) fn values(log: &ScannedLog) -> String {
    let counters = || log.scan.groups().iter().flat_map(|group| &group.set.counters);
    let is_formatted = |counter: &Counter| counter.counter_type == CounterType::DOUBLE_RAW;
    let kind = match (counters().any(is_formatted), counters().all(is_formatted)) {
        (true, true) => "formatted",
        (true, false) => "raw and formatted",
        (false, _) if log.facts().format.is_formatted() => "formatted",
        (false, _) => "raw",
    };
    counted(log.scan.values(), &format!("{kind} value"), &format!("{kind} values"))
}

pub(crate) fn paths(scan: &UnionScan) -> impl Iterator<Item = String> {
    scan.groups().iter().flat_map(|ScannedGroup { set, instances, .. }| {
        instances.iter().flat_map(|instance| set.counters.iter().map(|counter| set.path(instance, counter)))
    })
}

fn describe(listed: &ListedSet<'_>) -> String {
    let machine = match &*listed.set.machine {
        "" => String::new(),
        machine => format!(r"\\{machine}"),
    };
    let english = |name: &Option<Arc<str>>| match name {
        Some(english) => format!("  ({english})"),
        None => String::new(),
    };
    let mut text = line(format_args!("{machine}\\{}{}", listed.set.name, english(&listed.set.english_name)));
    if listed.set.has_instances {
        text += &line(format_args!("  instances: {}", listed.instances.join(" | ")));
    }
    let names: Vec<_> = listed.counters.iter().map(|counter| escape_controls(&counter.name)).collect();
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    for (counter, name) in listed.counters.iter().zip(&names) {
        let mut shown = String::from("  ");
        push_padded(&mut shown, name, width, false);
        let unit = counter.unit();
        let kind = match counter.counter_type {
            CounterType::DOUBLE_RAW => "formatted value".to_owned(),
            kind => kind.to_string(),
        };
        shown += &format!("  {kind:34}  {unit}{}", english(&counter.english_name));
        text += &line(shown.trim_end());
    }
    text
}

/// The remark for a log without a time zone.
pub(crate) const UNKNOWN_ZONE: &str = "unknown time zone: times are as written in the log";

/// Formats a local time: `2013-02-19 18:50:17.844`.
pub(crate) fn local(moment: Moment) -> String {
    let text = moment.rfc3339();
    text.get(..23).map_or(text.clone(), |text| text.replace('T', " "))
}

/// Formats a UTC offset: `-08:00`.
fn offset(moment: Moment) -> String {
    let text = moment.rfc3339();
    match text.get(23..) {
        Some("Z") | None => "+00:00".to_owned(),
        Some(offset) => offset.to_owned(),
    }
}

fn utc(moment: Moment) -> String {
    Moment { bias_minutes: 0, ..moment }.rfc3339().replace("+00:00", "Z")
}

/// Formats a duration: `1.000 s`, `9:59`, `26:03:10`. It is truncated, as in Performance Monitor.
pub(crate) fn duration(units: i64) -> String {
    let seconds = units / FileTime::PER_SECOND;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    if seconds.abs() < 60 {
        let milliseconds = units / FileTime::PER_MILLISECOND;
        return format!("{}.{:03} s", milliseconds / 1000, (milliseconds % 1000).abs());
    }
    if hours == 0 {
        return format!("{minutes}:{:02}", seconds % 60);
    }
    format!("{hours}:{:02}:{:02}", minutes.abs(), (seconds % 60).abs())
}
