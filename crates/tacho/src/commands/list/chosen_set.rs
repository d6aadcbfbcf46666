//! Selects and describes counter sets of this machine.

use std::borrow::Cow;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::set::Instances;
use tachograph_counters::wildcard::{Pattern, closest, eq_ignore_case, fold_case};
use tachograph_flow::live::{LiveOptions, LiveSource};
use tachograph_monitor::{known_paths, similar_word};
use tachograph_perflib::published::Publisher;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, counter_of};
use tachograph_perflib::{Numbering, Registry, Timestamps};
use unicode_width::UnicodeWidthStr;

use super::processes::{self, ListedProcess};
use super::{Form, found, local};
use crate::failure::{Failure, notify};
use crate::table::{counted, escape_controls, line, push_padded, push_wrapped};
use crate::this_machine;

/// A counter set of this machine, or the part that a path selects.
pub(super) struct ChosenSet {
    machine: Arc<str>,
    info: Arc<CounterSetInfo>,
    /// Indexes of the displayed counters.
    counters: Vec<usize>,
    /// The current instances, if requested and if the set has instances.
    instances: Option<Instances>,
    /// The properties of the instances, if they are processes that a path selected.
    processes: Option<Vec<ListedProcess>>,
    /// Whether a path selected the set. If so, only paths are listed by default.
    is_from_path: bool,
    /// The processes that publish the set; `None` for a set that programs do not publish.
    publishers: Option<Vec<Publisher>>,
    /// When `publishers` was read.
    at: Timestamps,
}

/// Whether an operand can refer to a set with this name.
pub(super) fn is_about(word: &std::path::Path, set: &str) -> bool {
    let word = word.to_string_lossy();
    match PathPattern::parse(&word) {
        Ok(path) => path.matches_set_name(set) || path.matches_set(set, false),
        Err(_) => Pattern::new(word.trim_start_matches(['\\', '/'])).matches(set),
    }
}

/// Whether the operands are search words: none is a path, and at least one is not the name of a set.
pub(super) fn are_words(registry: &Registry, names: &[Cow<'_, str>]) -> bool {
    let is_set = |name: &str| {
        let pattern = Pattern::new(name);
        registry.counter_sets().any(|info| pattern.matches(&info.name))
    };
    let is_path = |name: &str| name.starts_with(['\\', '/']) || incomplete_path(registry, name).is_some();
    !names.iter().any(|name| is_path(name)) && !names.iter().all(|name| is_set(name))
}

/// All counter sets, sorted by name.
pub(super) fn every_set(registry: &Registry, form: Form) -> Vec<ChosenSet> {
    let mut sets: Vec<_> = registry.counter_sets().map(|info| ChosenSet::whole(registry, info)).collect();
    sets.sort_by_key(|set| fold_case(&set.info.name));
    // Reading the instances of all sets is slow (one set lists all processes), so it is done only if needed.
    if matches!(form, Form::PathsWithInstances | Form::Json { has_instances: true }) {
        sets.iter_mut().for_each(|set| set.read_instances(registry));
    }
    sets
}

/// The counter sets that a path or a name selects.
pub(super) fn choose(registry: &Arc<Registry>, word: &str, form: Form) -> Result<Vec<ChosenSet>, Failure> {
    let needs_instances = !matches!(form, Form::Paths | Form::Json { has_instances: false });
    if !word.starts_with(['\\', '/']) {
        return choose_by_name(registry, word, needs_instances);
    }
    // `\Memory` is also accepted as the name of a set.
    let name = &word[1..];
    if !name.contains(['\\', '/']) {
        return choose_by_name(registry, name, needs_instances);
    }
    choose_by_path(registry, &this_machine::parse_path(registry, word)?, form)
}

fn choose_by_name(
    registry: &Arc<Registry>,
    name: &str,
    needs_instances: bool,
) -> Result<Vec<ChosenSet>, Failure> {
    let pattern = Pattern::new(name);
    let mut sets: Vec<_> = registry
        .counter_sets()
        .filter(|info| pattern.matches(&info.name))
        .map(|info| ChosenSet::whole(registry, info))
        .collect();
    if sets.is_empty() {
        if let Some(message) = incomplete_path(registry, name) {
            return Err(Failure::usage(message));
        }
        // The set may be missing because its folder or file could not be read.
        this_machine::notify_of_sets(registry, |set| set.is_none());
        if let Some(reason) = this_machine::absence_of_set(name) {
            return Err(Failure::usage(format!("'{name}' is not available on this machine: {reason}")));
        }
        let mut absent = found::absent_messages(name);
        let is_missing = |path: &&str| {
            let parsed = PathPattern::parse(path);
            parsed.is_ok_and(|path| !registry.counter_sets().any(|info| path.matches_set_name(&info.name)))
        };
        let missing = known_paths(name).into_iter().find(is_missing);
        absent.extend(missing.map(|path| format!("'{name}': this machine has no '{path}'")));
        if !absent.is_empty() {
            return Err(Failure::usage_messages(absent));
        }
        let similar = similar_word(name).map(|word| format!("did you mean '{word}'?"));
        return Err(Failure::usage(match suggestion(registry, name)?.or(similar) {
            Some(question) => {
                format!("'{name}' is neither a counter set of this machine nor a file: {question}")
            }
            None => format!(
                "'{name}' is neither a counter set of this machine nor a file; 'tacho list' lists the sets"
            ),
        }));
    }
    sets.sort_by_key(|set| fold_case(&set.info.name));
    if needs_instances {
        sets.iter_mut().for_each(|set| set.read_instances(registry));
    }
    Ok(sets)
}

/// Suggests a counter set with a similar name.
fn suggestion(registry: &Arc<Registry>, name: &str) -> Result<Option<String>, Failure> {
    let path = CounterPath { machine: None, set: name.to_owned(), instance: None, counter: "*".to_owned() };
    let (_, selection) =
        LiveSource::open(registry, &[path.into()], LiveOptions::default()).map_err(Failure::runtime)?;
    Ok(selection.unmatched().into_iter().find_map(|(_, question)| question))
}

/// The error message for a name that looks like an incomplete path to a counter of an existing set.
fn incomplete_path(registry: &Registry, name: &str) -> Option<String> {
    let end = name.find(['\\', '/', '('])?;
    let set = registry.counter_sets().find(|info| eq_ignore_case(&info.name, &name[..end]))?;
    let rest = &name[end..];
    Some(if rest.contains(['\\', '/']) {
        format!(r"'{name}': a path starts with '\': write '\{name}'")
    } else if rest.ends_with(')') {
        format!(r"'{name}': a path ends with a counter: write '\{name}\*'")
    } else {
        format!("'{name}': the ')' is missing: write '{}'", this_machine::all_counters(set))
    })
}

fn choose_by_path(
    registry: &Arc<Registry>,
    path: &PathPattern,
    form: Form,
) -> Result<Vec<ChosenSet>, Failure> {
    let selects = |counter: &CounterInfo| counter.is_displayable() && path.matches_counter(&counter.name);
    let mut sets = Vec::new();
    for info in registry.counter_sets() {
        let is_match = path.matches_set(&info.name, info.has_instances());
        let counters: Vec<_> =
            (0..info.counters.len()).filter(|&index| selects(&info.counters[index])).collect();
        if is_match && !counters.is_empty() {
            sets.push(ChosenSet { counters, is_from_path: true, ..ChosenSet::whole(registry, info) });
        }
    }
    if sets.is_empty() {
        // The source is opened only for its suggestions; nothing is read from it.
        let paths = std::slice::from_ref(path);
        let opened = LiveSource::open(registry, paths, LiveOptions::default());
        let (_, selection) = opened.map_err(Failure::runtime)?;
        return Err(Failure::usage_messages(this_machine::unmatched_here(&selection)));
    }
    if form == Form::Paths {
        return Ok(sets);
    }
    for set in &mut sets {
        set.read_instances(registry);
        let Some(all) = set.instances.take() else { continue };
        let selected: Instances =
            all.iter().filter(|instance| path.matches_instance(Some(instance.label()))).cloned().collect();
        if selected.is_empty() {
            let wanted = path.instance().map_or("", |instance| instance.as_str());
            let near = closest(wanted, all.iter().map(|instance| instance.label()));
            let advice = near.map(|near| format!(": did you mean '{near}'?")).unwrap_or_default();
            notify(format_args!("'{}' has no instance '{wanted}' now{advice}", set.info.name));
        }
        if let Some(processes) = &mut set.processes {
            processes.retain(|process| path.matches_instance(Some(process.instance())));
        }
        set.instances = Some(selected);
    }
    Ok(sets)
}

impl ChosenSet {
    pub(super) fn whole(registry: &Registry, info: &Arc<CounterSetInfo>) -> Self {
        let is_shown = |&index: &usize| info.counters[index].is_displayable();
        Self {
            machine: Arc::clone(registry.machine()),
            info: Arc::clone(info),
            counters: (0..info.counters.len()).filter(is_shown).collect(),
            instances: None,
            processes: None,
            is_from_path: false,
            publishers: registry.is_published(info.guid).then(|| registry.publishers(info.guid)),
            at: registry.clock().now(),
        }
    }

    /// Keeps only the counter with this name.
    pub(super) fn with_counter(mut self, name: &str) -> Self {
        self.counters.retain(|&index| &*self.info.counters[index].name == name);
        self
    }

    /// Adds the counters of `other`; returns false without effect if `other` is not a part of the same set.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let is_same = self.info.guid == other.info.guid;
        if is_same {
            let known = self.counters.len();
            let new = other.counters.iter().filter(|index| !self.counters[..known].contains(index));
            self.counters.extend(new.copied().collect::<Vec<_>>());
        }
        is_same
    }

    /// The unit and the description of the first counter.
    pub(super) fn unit_and_help(&self) -> (String, String) {
        let first = self.counters().next();
        first.map_or_else(Default::default, |counter| (unit_of(counter), counter.help.to_string()))
    }

    /// Reads the current instances. On failure, reports why and leaves the list empty.
    pub(super) fn read_instances(&mut self, registry: &Registry) {
        if !self.info.has_instances() {
            return;
        }
        let keys = registry.instances(self.info.guid).unwrap_or_else(|failure| {
            notify(format_args!("{}: {}", self.info.name, failure.reason));
            Vec::new()
        });
        let instances = Arc::clone(Numbering::default().assign(&keys));
        if self.is_from_path {
            let labels = instances.iter().map(|instance| instance.label());
            self.processes = processes::read(&self.info.name, labels.zip(keys.iter().map(|key| &**key)));
        }
        self.instances = Some(instances);
    }

    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    pub(super) fn info(&self) -> &CounterSetInfo {
        &self.info
    }

    pub(super) fn counters(&self) -> impl Iterator<Item = &CounterInfo> {
        self.counters.iter().map(|&index| &self.info.counters[index])
    }

    /// The processes that publish the set, with their start times; `None` for a set that programs do not publish.
    pub(super) fn publishers(&self) -> Option<impl Iterator<Item = (&Publisher, Moment)>> {
        let bias_minutes = this_machine::current_zone().bias_minutes;
        let started = move |publisher: &Publisher| {
            let units = i64::try_from(publisher.started_ns / 100).unwrap_or(i64::MAX);
            let age = self.at.ticks.saturating_sub(units).max(0);
            Moment { utc: FileTime(self.at.wall.0.saturating_sub(age)), bias_minutes }
        };
        let publishers = self.publishers.as_ref()?;
        Some(publishers.iter().map(move |publisher| (publisher, started(publisher))))
    }

    /// The properties of the instances; `None` unless they are processes that a path selected.
    pub(super) fn processes(&self) -> Option<&[ListedProcess]> {
        self.processes.as_deref()
    }

    pub(super) fn instances(&self) -> Option<&Instances> {
        self.instances.as_ref()
    }

    /// The paths of the set's counters. They omit the machine, so they can be used on any machine.
    pub(super) fn paths(&self, has_instances: bool) -> Vec<String> {
        let name = &self.info.name;
        let prefixes = match &self.instances {
            Some(instances) if has_instances => {
                instances.iter().map(|instance| format!(r"\{name}({})\", instance.label())).collect()
            }
            _ if self.info.has_instances() => vec![format!(r"\{name}(*)\")],
            _ => vec![format!(r"\{name}\")],
        };
        let with_counters = |prefix: &String| {
            self.counters().map(|counter| format!("{prefix}{}", counter.name)).collect::<Vec<_>>()
        };
        prefixes.iter().flat_map(with_counters).collect()
    }
}

/// The unit of a counter's values.
pub(super) fn unit_of(counter: &CounterInfo) -> String {
    match &*counter.unit {
        "" => counter_of(counter).unit().into_owned(),
        unit => unit.to_owned(),
    }
}

/// Lists the counter sets, one per line: first those of the machine, then those that programs publish. Lines are
/// wrapped to `width`.
pub(super) fn overview(sets: &[ChosenSet], width: usize) -> String {
    let of_machine: Vec<_> = sets.iter().filter(|set| set.publishers.is_none()).collect();
    let of_programs: Vec<_> = sets.iter().filter(|set| set.publishers.is_some()).collect();
    let mut text = overview_of(&of_machine, "counter set", width);
    if !of_programs.is_empty() {
        text.push('\n');
        text += &overview_of(&of_programs, "published by programs", width);
    }
    text
}

fn overview_of(sets: &[&ChosenSet], title: &str, width: usize) -> String {
    let rows = sets.iter().map(|set| {
        let instances = match &set.publishers {
            Some(publishers) if publishers.is_empty() => "none now",
            _ if set.info.has_instances() => "yes",
            _ => "-",
        };
        [
            escape_controls(&set.info.name).into_owned(),
            instances.to_owned(),
            set.counters.len().to_string(),
            escape_controls(&set.info.help).into_owned(),
        ]
    });
    let header = [title, "instances", "counters", ""].map(str::to_owned);
    columns(std::iter::once(header).chain(rows).collect(), 2, width)
}

/// Describes each counter set: help, instances and counters. Sets selected by a path are listed as paths, unless verbose.
pub(super) fn description(sets: &[ChosenSet], is_verbose: bool, width: usize) -> String {
    let mut texts = Vec::new();
    let mut paths = String::new();
    for set in sets {
        if set.is_from_path && !is_verbose {
            set.paths(true).into_iter().for_each(|path| paths += &line(path));
        } else {
            texts.push(describe(set, is_verbose, width));
        }
    }
    paths + &texts.join("\n")
}

pub(super) fn describe(set: &ChosenSet, is_verbose: bool, width: usize) -> String {
    let info = &set.info;
    let mut text = line(format_args!(r"\\{}\{}", set.machine, info.name));
    push_wrapped(&mut text, "  ", &escape_controls(&info.help), width);
    if let Some(publishers) = set.publishers() {
        let lines: Vec<_> =
            publishers.map(|(publisher, started)| publisher_line(publisher, started)).collect();
        if lines.is_empty() {
            text += &line("  published by: none now");
        }
        lines.iter().for_each(|one| text += &line(one));
    }
    if let Some(instances) = &set.instances {
        let names: Vec<_> = instances.iter().map(|instance| instance.label()).collect();
        let names = if names.is_empty() { "none now".to_owned() } else { names.join(" | ") };
        text += &line(format_args!("  instances: {names}"));
    }
    for process in set.processes().unwrap_or_default() {
        push_wrapped(&mut text, "    ", &process.text(), width);
    }
    if is_verbose {
        if !info.instances_help.is_empty() {
            push_wrapped(&mut text, "  ", &info.instances_help, width);
        }
        for counter in set.counters() {
            text.push('\n');
            text += &line(format_args!("  {}", counter.name));
            for (name, value) in [
                ("type", counter.counter_type.to_string()),
                ("unit", unit_of(counter)),
                ("scale", format!("10^{}", counter.default_scale)),
                ("source", counter.source.to_string()),
                ("help", counter.help.to_string()),
            ] {
                if !value.is_empty() {
                    push_wrapped(&mut text, &format!("    {name:6}  "), &value, width);
                }
            }
        }
        return text;
    }
    let rows = set.counters().map(|counter| {
        [
            format!("  {}", escape_controls(&counter.name)),
            unit_of(counter),
            escape_controls(&counter.help).into_owned(),
        ]
    });
    text + &columns(rows.collect(), usize::MAX, width)
}

fn publisher_line(publisher: &Publisher, started: Moment) -> String {
    let Publisher { process, program, user, instances, .. } = publisher;
    let instances = counted(*instances as u64, "instance", "instances");
    let since = local(started);
    let since = since.get(..19).unwrap_or(&since);
    format!("  published by: {program} (process {process}, uid {user}) since {since}, {instances}")
}

/// Formats a table. Column `right` is right-aligned, and the last column is wrapped.
pub(super) fn columns<const COLUMNS: usize>(
    rows: Vec<[String; COLUMNS]>,
    right: usize,
    width: usize,
) -> String {
    let mut widths = [0; COLUMNS];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut shown = String::new();
        let Some((last, cells)) = row.split_last() else { continue };
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            push_padded(&mut shown, cell, width, index == right);
            shown.push_str("  ");
        }
        push_wrapped(&mut text, &shown, last, width);
    }
    text
}
