//! Live counters of this machine: parses counter paths, opens sources, and reports their problems.

mod absent;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use indexmap::IndexMap;
use jiff::Zoned;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::wildcard::{Pattern, closest, eq_ignore_case};
use tachograph_flow::Selection;
use tachograph_flow::live::{CollectionError, LiveOptions, LiveReport, LiveSource, Schedule, TimedSource};
use tachograph_monitor::{View, ViewKind, first_paths, ready_made_columns};
use tachograph_perflib::Registry;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo};
use tachograph_system::Roots;

use absent::missing_reason;
pub(crate) use absent::{
    absence_of_counter, absence_of_set, better_matches, notify_of_absences, unmatched_here,
};

use crate::failure::{Failure, notify};
use crate::machines::LiveMachines;
use crate::path_file;
use crate::table::counted;

/// The environment variable with the first folder that is searched for published sets.
const RUNTIME_FOLDER: &str = "TACHO_RUNTIME_DIR";

/// The sets whose counters another set has too, each with the English name of the other.
pub(crate) fn repeating_sets() -> impl Iterator<Item = (&'static str, &'static str)> {
    tachograph_system::tables().filter_map(|table| Some((table.name, table.repeats?)))
}

/// The default counters that this machine has.
pub(crate) fn default_counters(registry: &Registry) -> Result<Vec<PathPattern>, Failure> {
    let paths = first_paths(|path| has_counter(registry, path));
    match paths.is_empty() {
        true => Err(Failure::runtime(
            "this machine has none of the default counters; 'tacho list' lists its counters",
        )),
        false => Ok(paths),
    }
}

/// Resolves a view for this machine: chooses among alternative paths, and omits optional counters that the machine lacks.
/// Returns a message for each reason, including for table columns that a setting would enable. Returns an error if
/// nothing remains.
pub(crate) fn resolve_view(registry: &Registry, view: &mut View) -> Result<Vec<String>, Failure> {
    resolve_with_reasons(registry, view, true)
}

/// Like [`resolve_view`], for another machine: the reasons why this machine lacks counters do not apply to it.
pub(crate) fn resolve_view_there(registry: &Registry, view: &mut View) -> Result<Vec<String>, Failure> {
    resolve_with_reasons(registry, view, false)
}

fn resolve_with_reasons(
    registry: &Registry,
    view: &mut View,
    is_this_machine: bool,
) -> Result<Vec<String>, Failure> {
    let was_empty = view.panels.is_empty();
    let missing = view.resolve(|path| has_counter(registry, path));
    let mut reasons: IndexMap<String, Vec<String>> = IndexMap::new();
    for path in missing {
        let why = match is_this_machine {
            true => missing_reason(&path).unwrap_or_else(|| "not available on this machine".to_owned()),
            false => "not available there".to_owned(),
        };
        reasons.entry(why).or_default().push(path);
    }
    if view.panels.is_empty() && !was_empty {
        let title = view.title.as_deref().unwrap_or_default();
        let reasons: Vec<_> = reasons.into_keys().collect();
        return Err(Failure::runtime(format!(
            "nothing to show in the view '{title}': {}",
            reasons.join("; ")
        )));
    }
    let message = |(why, paths): (String, Vec<String>)| match &paths[..] {
        [path] => format!("the view omits '{path}': {why}"),
        paths => format!("the view omits '{}' and {} more: {why}", paths[0], paths.len() - 1),
    };
    let tables = view.panels.iter().filter(|panel| panel.kind == ViewKind::Table);
    let columns = tables
        .filter(|panel| is_this_machine && panel.table.columns.is_empty())
        .filter_map(|panel| panel.table.set.as_deref());
    Ok(columns
        .flat_map(|set| absent_columns(registry, set))
        .chain(reasons.into_iter().map(message))
        .collect())
}

/// A message for each ready-made column of a set's table that this machine lacks for a known reason.
fn absent_columns(registry: &Registry, set: &str) -> Vec<String> {
    let Some(found) = registry.find(set) else { return Vec::new() };
    let has = |name: &&str| found.counters.iter().any(|counter| eq_ignore_case(&counter.name, name));
    let absent: Vec<_> = ready_made_columns(set).filter(|(_, names)| !names.iter().any(&has)).collect();
    if absent.is_empty() {
        return Vec::new();
    }
    let absences = tachograph_system::absences(&Roots::of_this_machine());
    let reason = |names: &[&str]| {
        let explains = |absence: &&tachograph_system::Absence| {
            names.iter().any(|name| absence.explains(&found.name, name))
        };
        absences.iter().find(explains).map(|absence| absence.reason.as_str())
    };
    let message = |(heading, names): (&str, &[&str])| Some(format!("{heading}: {}", reason(names)?));
    absent.into_iter().filter_map(message).collect()
}

fn has_counter(registry: &Registry, path: &PathPattern) -> bool {
    let is_match = |counter: &CounterInfo| counter.is_displayable() && path.matches_counter(&counter.name);
    registry
        .counter_sets()
        .any(|set| path.matches_set(&set.name, set.has_instances()) && set.counters.iter().any(is_match))
}

/// Whether a name refers to this machine.
pub(crate) fn is_this_machine(registry: &Registry, machine: &str) -> bool {
    // Slashes are accepted, because they need no quotes on a command line.
    let name = machine.trim_start_matches(['\\', '/']);
    !name.is_empty() && registry.is_machine(name)
}

/// Returns an error for the name of another machine.
pub(crate) fn check_machine(registry: &Registry, machine: &str) -> Result<(), Failure> {
    if is_this_machine(registry, machine) {
        return Ok(());
    }
    let here = registry.machine();
    Err(Failure::usage(format!(
        r"'{machine}' is another machine, but this command supports only this machine, \\{here}; use list, query or record"
    )))
}

/// Parses the paths on the command line and in files (`-cf`).
pub(crate) fn parse_paths<'a>(
    registry: &Registry,
    texts: impl IntoIterator<Item = &'a String>,
    files: &[PathBuf],
) -> Result<Vec<PathPattern>, Failure> {
    let paths = parse_any_paths(registry, texts, files)?;
    paths.into_iter().map(|path| local_path(registry, path)).collect()
}

/// Parses a counter path, which must be on this machine.
pub(crate) fn parse_path(registry: &Registry, text: &str) -> Result<PathPattern, Failure> {
    local_path(registry, parse_any_path(registry, text)?)
}

/// Parses the paths on the command line and in files (`-cf`), which can be on any machine.
pub(crate) fn parse_any_paths<'a>(
    registry: &Registry,
    texts: impl IntoIterator<Item = &'a String>,
    files: &[PathBuf],
) -> Result<Vec<PathPattern>, Failure> {
    let mut paths = Vec::new();
    for text in texts {
        paths.push(parse_any_path(registry, text)?);
    }
    for file in files {
        paths.extend(path_file::read(file)?);
    }
    Ok(paths)
}

/// Parses a counter path of any machine.
fn parse_any_path(registry: &Registry, text: &str) -> Result<PathPattern, Failure> {
    PathPattern::parse(text).map_err(|error| {
        let name = text.trim_start_matches(['\\', '/']);
        Failure::usage(match registry.counter_sets().find(|set| eq_ignore_case(&set.name, name)) {
            Some(set) => set_in_place_of_path(text, set),
            None => format!("'{text}': {error}"),
        })
    })
}

/// The message if the name of a counter set is used instead of a path.
pub(crate) fn set_in_place_of_path(name: &str, set: &CounterSetInfo) -> String {
    format!("'{name}' is a counter set: write '{}' for its counters", all_counters(set))
}

/// The paths of all counters except those of the named sets.
pub(crate) fn all_but(registry: &Registry, names: &[String]) -> Result<Vec<PathPattern>, Failure> {
    let excluded: Vec<_> =
        names.iter().map(|name| Pattern::new(name.trim_start_matches(['\\', '/']))).collect();
    for (name, pattern) in names.iter().zip(&excluded) {
        let sets = || registry.counter_sets().map(|set| &*set.name);
        if !sets().any(|set| pattern.matches(set)) {
            let advice = match closest(name, sets()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "'tacho list' lists the sets".to_owned(),
            };
            return Err(Failure::usage(format!(
                "--all-but: '{name}' is not a counter set of this machine: {advice}"
            )));
        }
    }
    let mut paths = Vec::new();
    for set in registry.counter_sets() {
        if !excluded.iter().any(|pattern| pattern.matches(&set.name)) {
            paths.push(parse_path(registry, &all_counters(set))?);
        }
    }
    match paths.is_empty() {
        true => Err(Failure::usage("--all-but excludes all counter sets of this machine")),
        false => Ok(paths),
    }
}

/// A path that selects all counters of a set.
pub(crate) fn all_counters(set: &CounterSetInfo) -> String {
    format!(r"\{}{}\*", set.name, if set.has_instances() { "(*)" } else { "" })
}

/// Removes the name of this machine from a path; fails for other machines.
pub(crate) fn local_path(registry: &Registry, path: PathPattern) -> Result<PathPattern, Failure> {
    let Some(machine) = &path.path().machine else { return Ok(registry.resolve_path(&path)) };
    check_machine(registry, &format!(r"\\{machine}"))?;
    Ok(registry.resolve_path(&path.without_machine()))
}

/// A live source with its report and time zone.
pub(crate) struct Live {
    pub(crate) source: LiveMachines,
    pub(crate) report: LiveReport,
    /// The time zone of this machine, fixed at the UTC offset in force when the source was opened.
    pub(crate) zone: TimeZone,
}

/// All counter sets of this machine.
pub(crate) fn registry() -> Result<Arc<Registry>, Failure> {
    tachograph_machine::registry().map(Arc::new).map_err(Failure::runtime)
}

/// Opens the counters that the paths select. Reports paths that match nothing; fails if no path matches.
pub(crate) fn open(
    registry: &Arc<Registry>,
    paths: &[PathPattern],
    mut options: LiveOptions,
    schedule: Schedule,
) -> Result<Live, Failure> {
    let zone = current_zone();
    options.bias_minutes = zone.bias_minutes;
    options.boot_time = boot_time();
    let (source, selection) = LiveSource::open(registry, paths, options).map_err(Failure::runtime)?;
    let lines = notify_about_paths(registry, paths, &selection);
    if !paths.is_empty() && lines.len() == paths.len() {
        return Err(Failure::usage_messages(lines));
    }
    lines.iter().for_each(notify);
    let report = source.report();
    Ok(Live { report, source: LiveMachines::This(Box::new(TimedSource::new(source, schedule))), zone })
}

/// Prints notices about the sets that these paths select; returns messages for paths that match nothing.
fn notify_about_paths(registry: &Registry, paths: &[PathPattern], selection: &Selection) -> Vec<String> {
    let lines = unmatched_here(selection);
    // A counter may be missing because a folder or file is unreadable, so in that case all notices are printed.
    let is_of_paths = |set: &str| paths.iter().any(|path| path.matches_set_name(set));
    notify_of_sets(registry, |set| !lines.is_empty() || set.is_some_and(is_of_paths));
    notify_empty_sets(registry, paths);
    lines
}

/// Reports the paths that do not match anything on this machine yet.
#[cfg(feature = "web")]
pub(crate) fn notify_missing_paths(registry: &Arc<Registry>, paths: &[PathPattern]) -> Result<(), Failure> {
    let (_, selection) =
        LiveSource::open(registry, paths, LiveOptions::default()).map_err(Failure::runtime)?;
    notify_about_paths(registry, paths, &selection).iter().for_each(notify);
    Ok(())
}

/// Prints notices about published sets. `is_wanted` selects notices by set name, or `None` for a notice about a folder or
/// file.
pub(crate) fn notify_of_sets(registry: &Registry, is_wanted: impl Fn(Option<&str>) -> bool) {
    let notices: Vec<_> = registry.notices().iter().filter(|notice| is_wanted(notice.set())).collect();
    let others =
        "other notices about published counter sets, MMV files and registrations ('tacho list -v' shows all)";
    notify_first(&notices, others, ToString::to_string);
    if is_wanted(None) {
        notify_missing_folder();
    }
}

/// Prints all notices about published sets.
pub(crate) fn notify_of_all_sets(registry: &Registry) {
    registry.notices().iter().for_each(notify);
    notify_missing_folder();
}

/// Reports if the folder set by `TACHO_RUNTIME_DIR` does not exist, because that may be a typo.
fn notify_missing_folder() {
    let Some(folder) = std::env::var_os(RUNTIME_FOLDER).filter(|folder| !folder.is_empty()) else { return };
    let found = std::fs::symlink_metadata(&folder);
    if found.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        let folder = Path::new(&folder).display();
        notify(format_args!(
            "{folder}: no such folder (set by {RUNTIME_FOLDER}): no program publishes there"
        ));
    }
}

/// Reports sets that these paths name but that have no instances now, for example because no program publishes them.
fn notify_empty_sets(registry: &Registry, paths: &[PathPattern]) {
    let is_named = |info: &CounterSetInfo| {
        let mut paths = paths.iter().filter(|path| path.set().is_literal());
        paths.any(|path| path.matches_set(&info.name, info.has_instances()))
    };
    for info in registry.counter_sets().filter(|info| is_named(info)) {
        let name = &info.name;
        if registry.is_published(info.guid) {
            if registry.publishers(info.guid).is_empty() {
                notify(format_args!("no program publishes '{name}' now; values appear as soon as one does"));
            }
        } else if info.has_instances() && registry.instances(info.guid).is_ok_and(|keys| keys.is_empty()) {
            notify(format_args!("'{name}' has no instances now; values appear as soon as it has one"));
        }
    }
}

/// When this machine was booted.
pub(crate) fn boot_time() -> FileTime {
    tachograph_system::boot_time(&Roots::of_this_machine()).unwrap_or_default()
}

/// The time zone of this machine, fixed at its current UTC offset. Without daylight saving time, the local times of a
/// recording never go backwards. Reports a time zone that cannot be read; UTC is used instead.
pub(crate) fn current_zone() -> TimeZone {
    let now = Zoned::now();
    if now.time_zone().is_unknown() {
        notify_unknown_zone();
        return TimeZone::utc();
    }
    let name = now.time_zone().iana_name().unwrap_or("local time");
    TimeZone::fixed(name, -(now.offset().seconds() / 60))
}

/// Reports once that the time zone is unknown, unless it is UTC or none is set.
fn notify_unknown_zone() {
    static NOTICE: Once = Once::new();
    const LOCAL_TIME: &str = "/etc/localtime";
    let zone = match std::env::var_os("TZ") {
        Some(zone) => format!("TZ={}", zone.display()),
        None if std::fs::symlink_metadata(LOCAL_TIME).is_err() => return,
        None => match std::fs::read_link(LOCAL_TIME) {
            Ok(target) => format!("{LOCAL_TIME} -> {}", target.display()),
            Err(_) => LOCAL_TIME.to_owned(),
        },
    };
    // Small containers have UTC without its data.
    if zone.ends_with("UTC") {
        return;
    }
    NOTICE.call_once(|| {
        notify(format_args!(
            "{zone}: unknown time zone, or its data is not installed (package tzdata): times are in UTC"
        ));
    });
}

/// Reports problems that are new since the last call: each cause once, with the first affected counter.
pub(crate) fn notify_new_problems(report: &LiveReport) {
    for error in report.new_errors() {
        notify(format_args!("{}: {}", counters_of(&error), error.reason));
    }
}

/// The first affected counter, and the number of others.
fn counters_of(error: &CollectionError) -> String {
    match error.counters.len().saturating_sub(1) {
        0 => error.path.clone(),
        others => {
            format!("{} and {}", error.path, counted(others as u64, "other counter", "other counters"))
        }
    }
}

/// The maximum number of lines that [`notify_first`] prints.
const MAX_LINES: usize = 10;

/// Reports, at the end, the machines that have not answered again.
pub(crate) fn notify_silent_machines(report: &LiveReport) {
    let outages = report.outages();
    if outages.is_empty() {
        return;
    }
    let first = outages.iter().take(MAX_LINES).map(|outage| format!(r"\\{}", outage.machine));
    let mut names: Vec<_> = first.collect();
    if outages.len() > MAX_LINES {
        names.push("...".to_owned());
    }
    let machines = counted(outages.len() as u64, "machine", "machines");
    notify(format_args!("no answer from {machines}: {}", names.join(", ")));
}

/// Reports, at the end, how often repeated problems occurred, how many samples were missed, clock changes, and machines
/// without an answer.
pub(crate) fn notify_problem_totals(report: &LiveReport) {
    let mut errors = report.errors();
    errors.retain(|error| error.count > 1);
    notify_first(&errors, "other causes", |error| {
        let values = match error.counters.is_empty() {
            true => counted(error.count, "sample", "samples"),
            false => counted(error.count, "value", "values"),
        };
        format!(
            "{}: {values} in total could not be read or are incomplete: {}",
            counters_of(error),
            error.reason
        )
    });
    let missed = report.missed();
    if missed > 0 {
        let samples = counted(missed, "sample was", "samples were");
        notify(format_args!("{samples} missed because the previous one took too long"));
    }
    let steps = report.clock_steps();
    if steps > 0 {
        let samples = counted(steps, "sample", "samples");
        notify(format_args!(
            "the clock was set back: the time of {samples} was set to 1 ms after the previous one"
        ));
    }
    notify_silent_machines(report);
}

/// Prints a line for each of the first items, and the number of the others.
pub(crate) fn notify_first<T>(items: &[T], others: &str, line: impl Fn(&T) -> String) {
    items.iter().take(MAX_LINES).for_each(|item| notify(line(item)));
    if items.len() > MAX_LINES {
        notify(format_args!("... and {} {others}", items.len() - MAX_LINES));
    }
}
