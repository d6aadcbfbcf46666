//! This machine as a source: its counter sets, and what the paths of the command line mean on it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use jiff::Zoned;
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::Selection;
use tachograph_flow::live::{LiveOptions, LiveReport, LiveSource, LiveTrouble, Schedule, TimedSource};
use tachograph_monitor::first_paths;
use tachograph_perflib::Registry;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo};
use tachograph_system::Roots;

use crate::failure::{Failure, say};
use crate::table::counted;

/// The variable that names the folder where programs publish first.
const RUNTIME_FOLDER: &str = "TACHO_RUNTIME_DIR";

/// The default counters, as far as this machine has them.
pub(crate) fn default_counters(registry: &Registry) -> Result<Vec<PathPattern>, Failure> {
    let paths = first_paths(|path| has_counter(registry, path));
    match paths.is_empty() {
        true => Err(Failure::work(
            "this machine has none of the default counters; 'tacho list' shows what it has",
        )),
        false => Ok(paths),
    }
}

fn has_counter(registry: &Registry, path: &PathPattern) -> bool {
    let has_it = |counter: &CounterInfo| counter.is_displayable() && path.matches_counter(&counter.name);
    registry
        .counter_sets()
        .any(|set| path.matches_set(&set.name, set.has_instances()) && set.counters.iter().any(has_it))
}

/// Whether a name means this machine.
fn is_here(registry: &Registry, machine: &str) -> bool {
    let name = machine.trim_start_matches(['\\', '/']);
    [registry.machine(), ".", "localhost"].iter().any(|here| eq_ignore_case(name, here))
}

/// Refuses the name of another machine.
pub(crate) fn check_machine(registry: &Registry, machine: &str) -> Result<(), Failure> {
    if is_here(registry, machine) {
        return Ok(());
    }
    let here = registry.machine();
    Err(Failure::usage(format!(
        r"'{machine}' is another machine: only this machine, \\{here}, can be asked so far"
    )))
}

/// Reads a path of this machine.
pub(crate) fn parse_path(registry: &Registry, text: &str) -> Result<PathPattern, Failure> {
    let path = PathPattern::parse(text).map_err(|error| {
        let name = text.trim_start_matches(['\\', '/']);
        Failure::usage(match registry.counter_sets().find(|set| eq_ignore_case(&set.name, name)) {
            Some(set) => is_a_set(text, set),
            None => format!("'{text}': {error}"),
        })
    })?;
    here(registry, path)
}

/// What to say of a name that is a counter set where a path is wanted.
pub(crate) fn is_a_set(name: &str, set: &CounterSetInfo) -> String {
    format!("'{name}' is a counter set: write '{}' for its counters", all_of(set))
}

/// The path of all counters of a set.
pub(crate) fn all_of(set: &CounterSetInfo) -> String {
    format!(r"\{}{}\*", set.name, if set.has_instances() { "(*)" } else { "" })
}

/// What a path means on this machine, without its name; an error where it names another one.
pub(crate) fn here(registry: &Registry, path: PathPattern) -> Result<PathPattern, Failure> {
    let Some(machine) = &path.path().machine else { return Ok(registry.path_here(&path)) };
    check_machine(registry, &format!(r"\\{machine}"))?;
    Ok(registry.path_here(&CounterPath { machine: None, ..path.path().clone() }.into()))
}

/// A live source and what belongs to it.
pub(crate) struct Live {
    pub(crate) source: TimedSource,
    pub(crate) report: LiveReport,
    /// The time zone of this machine with the bias of now, which holds for the whole run.
    pub(crate) zone: TimeZone,
}

/// All counter sets of this machine.
pub(crate) fn this_machine() -> Result<Arc<Registry>, Failure> {
    tachograph_machine::registry().map(Arc::new).map_err(Failure::work)
}

/// A source of what the paths select. Paths that select nothing are named on standard error; an error when that holds
/// for all of them.
pub(crate) fn open(
    registry: &Arc<Registry>,
    paths: &[PathPattern],
    mut options: LiveOptions,
    schedule: Schedule,
) -> Result<Live, Failure> {
    let zone = zone_of_now();
    options.bias_minutes = zone.bias_minutes;
    options.boot_time = tachograph_system::boot_time(&Roots::of_this_machine()).unwrap_or_default();
    let (source, selection) = LiveSource::open(registry, paths, options).map_err(Failure::work)?;
    let lines = say_around(registry, paths, &selection);
    if !paths.is_empty() && lines.len() == paths.len() {
        return Err(Failure::usages(lines));
    }
    lines.iter().for_each(say);
    Ok(Live { report: source.report(), source: TimedSource::new(source, schedule), zone })
}

/// Says what there is to tell of the sets of these paths; gives what is to be said of those that are not on this machine.
fn say_around(registry: &Registry, paths: &[PathPattern], selection: &Selection) -> Vec<String> {
    let lines = complaints(selection);
    // Where something is missing, what cannot be read may be the cause.
    let is_of_paths = |set: &str| paths.iter().any(|path| path.matches_set_name(set));
    say_notices(registry, |set| !lines.is_empty() || set.is_some_and(is_of_paths));
    say_unpublished(registry, paths);
    lines
}

/// Says which of these paths are not on this machine (yet), and goes on.
pub(crate) fn say_missing(registry: &Arc<Registry>, paths: &[PathPattern]) -> Result<(), Failure> {
    let (_, selection) = LiveSource::open(registry, paths, LiveOptions::default()).map_err(Failure::work)?;
    say_around(registry, paths, &selection).iter().for_each(say);
    Ok(())
}

/// Says what there is to tell of sets that programs publish, as far as it is about what is wanted: a set, or nothing where
/// it is about a folder or a file.
pub(crate) fn say_notices(registry: &Registry, is_wanted: impl Fn(Option<&str>) -> bool) {
    let notices: Vec<_> = registry.notices().iter().filter(|notice| is_wanted(notice.set())).collect();
    let others =
        "other notices of counter sets of programs, MMV files and registrations (tacho list -v tells all)";
    say_some(&notices, others, ToString::to_string);
    if is_wanted(None) {
        say_missing_folder();
    }
}

/// As [`say_notices`], with all that there is to tell.
pub(crate) fn say_every_notice(registry: &Registry) {
    registry.notices().iter().for_each(say);
    say_missing_folder();
}

/// Says that the folder for published sets that was asked for is not there: its name may be wrong.
fn say_missing_folder() {
    let Some(folder) = std::env::var_os(RUNTIME_FOLDER).filter(|folder| !folder.is_empty()) else { return };
    let found = std::fs::symlink_metadata(&folder);
    if found.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        let folder = Path::new(&folder).display();
        say(format_args!(
            "{folder}: there is no such folder ({RUNTIME_FOLDER}), so no program publishes there"
        ));
    }
}

/// Says of which sets values come only when a program publishes them.
fn say_unpublished(registry: &Registry, paths: &[PathPattern]) {
    for info in registry.counter_sets() {
        if registry.is_published(info.guid)
            && paths
                .iter()
                .any(|path| path.matches_set(&info.name, info.has_instances()) && path.set().is_literal())
            && registry.publishers(info.guid).is_empty()
        {
            let name = &info.name;
            say(format_args!("no program publishes '{name}' now; its values come when one does"));
        }
    }
}

/// What to say of paths that are not on this machine.
pub(crate) fn complaints(selection: &Selection) -> Vec<String> {
    let message = |(path, advice): (String, Option<String>)| {
        if let Some(why) = why_not_here(&path) {
            return format!("'{path}': {why}");
        }
        match advice {
            Some(advice) => format!("'{path}' is not on this machine: {advice}"),
            None => format!("'{path}' is not on this machine; 'tacho list' shows what is"),
        }
    };
    selection.unmatched().into_iter().map(message).collect()
}

/// Why this machine does not have a counter that others have: the cause, or else where it would come from.
fn why_not_here(path: &str) -> Option<String> {
    let path = PathPattern::parse(path).ok()?;
    if known_counter(&path, tachograph_cpi::counters::known_sets()).is_some() {
        let cause = tachograph_cpi::counters::provider(&Roots::of_this_machine()).err()?;
        return Some(cause.to_string());
    }
    known_counter(&path, tachograph_system::known_sets())
        .map(|source| format!("this machine does not tell it ({source})"))
}

/// The source of a counter that is among these sets.
fn known_counter(
    path: &PathPattern,
    mut sets: impl Iterator<Item = Arc<CounterSetInfo>>,
) -> Option<Arc<str>> {
    let set = sets.find(|set| path.matches_set(&set.name, set.has_instances()))?;
    let counter = set.counters.iter().find(|counter| path.matches_counter(&counter.name));
    counter.filter(|counter| counter.is_displayable()).map(|counter| Arc::from(&*counter.source))
}

/// The zone of this machine with the bias of now (minutes to add to local time to get UTC) and no daylight rule: local
/// times of a recording rise always.
pub(crate) fn zone_of_now() -> TimeZone {
    let now = Zoned::now();
    let name = now.time_zone().iana_name().unwrap_or("local time");
    TimeZone::fixed(name, -(now.offset().seconds() / 60))
}

/// Says what went wrong since the last time, each cause once, with the first counter that it concerns.
pub(crate) fn say_news(report: &LiveReport) {
    for trouble in report.news() {
        say(format_args!("{}: {}", counters_of(&trouble), trouble.reason));
    }
}

/// The first counter that something went wrong with, and how many others it concerns.
fn counters_of(trouble: &LiveTrouble) -> String {
    match trouble.counters.len().saturating_sub(1) {
        0 => trouble.path.clone(),
        others => {
            format!("{} and {}", trouble.path, counted(others as u64, "other counter", "other counters"))
        }
    }
}

/// How many lines of a kind are said; the others are counted.
const MOST_LINES: usize = 10;

/// Says at the end how often what went wrong did so, where that was more than once, and what was missed.
pub(crate) fn say_summary(report: &LiveReport) {
    let mut troubles = report.troubles();
    troubles.retain(|trouble| trouble.count > 1);
    say_some(&troubles, "other causes", |trouble| {
        let values = counted(trouble.count, "value", "values");
        format!("{}: in all {values} could not be read: {}", counters_of(trouble), trouble.reason)
    });
    let missed = report.missed();
    if missed > 0 {
        let moments = counted(missed, "moment", "moments");
        say(format_args!("{moments} went by without a sample, since the one before took too long"));
    }
    let steps = report.clock_steps();
    if steps > 0 {
        let samples = counted(steps, "sample", "samples");
        say(format_args!("the clock went back: {samples} got a time 1 ms after the one before"));
    }
}

/// Says a line for each of the first few items, and how many more there are.
pub(crate) fn say_some<T>(items: &[T], others: &str, line: impl Fn(&T) -> String) {
    items.iter().take(MOST_LINES).for_each(|item| say(line(item)));
    if items.len() > MOST_LINES {
        say(format_args!("... and {} {others}", items.len() - MOST_LINES));
    }
}
