//! `tacho list`: what logs hold.

mod json;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::set::{Counter, CounterSet};
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{FlowError, ScannedGroup, UnionScan};

use super::notice_problems;
use crate::arguments::{ListArguments, ListFormat};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::grouped;

pub(crate) fn run(arguments: &ListArguments) -> Result<ExitCode, Failure> {
    let mut scanned = Vec::new();
    for file in &arguments.files {
        let (report, scan) = scan(file)?;
        notice_problems(std::slice::from_ref(&report));
        scanned.push((report, scan));
    }
    let mut text = String::new();
    if arguments.format == ListFormat::Table {
        for (report, scan) in &scanned {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&summary(report, scan));
            for set in sets(scan) {
                text.push('\n');
                push_set(&mut text, &set);
            }
        }
    } else {
        let objects: Vec<_> =
            scanned.iter().map(|(report, scan)| json::ListedLog::new(report, scan)).collect();
        text = serde_json::to_string_pretty(&objects).map_err(Failure::work)? + "\n";
    }
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a whole log for what it holds.
pub(crate) fn scan(file: &Path) -> Result<(LogReport, UnionScan), FlowError> {
    let mut pipeline = LogQuery::new(vec![file.to_path_buf()]).samples()?;
    let mut scan = UnionScan::default();
    let mut progress = Progress::new();
    let reports = pipeline.reports.clone();
    tachograph_flow::run(&mut *pipeline.source, &mut scan, || progress.update(&reports))?;
    Ok((pipeline.reports.swap_remove(0), scan))
}

/// A counter set of a machine, gathered from all groups that hold a part of it.
struct ListedSet<'a> {
    set: &'a CounterSet,
    counters: Vec<&'a Counter>,
    instances: Vec<&'a str>,
}

fn sets(scan: &UnionScan) -> Vec<ListedSet<'_>> {
    let mut sets: Vec<ListedSet<'_>> = Vec::new();
    for ScannedGroup { set, instances, .. } in scan.groups() {
        let place = sets.iter().position(|known| {
            known.set.machine.eq_ignore_ascii_case(&set.machine)
                && known.set.name.eq_ignore_ascii_case(&set.name)
        });
        let place = place.unwrap_or_else(|| {
            sets.push(ListedSet { set, counters: Vec::new(), instances: Vec::new() });
            sets.len() - 1
        });
        let listed = &mut sets[place];
        for counter in &set.counters {
            if listed.counters.iter().all(|known| known.name != counter.name) {
                listed.counters.push(counter);
            }
        }
        if set.has_instances {
            let known: std::collections::HashSet<_> = listed.instances.iter().copied().collect();
            let new =
                instances.iter().map(|instance| instance.label()).filter(|label| !known.contains(label));
            listed.instances.extend(new);
        }
    }
    sets
}

/// The facts of a log in a few lines.
pub(crate) fn summary(report: &LogReport, scan: &UnionScan) -> String {
    let facts = report.facts();
    let mut text = String::new();
    let bytes = grouped(&facts.file_bytes.to_string());
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{}: {}, {bytes} bytes", report.path().display(), facts.format.name());
    let machines: Vec<_> = machines(scan).into_iter().map(|machine| format!(r"\\{machine}")).collect();
    if !machines.is_empty() {
        let _ = writeln!(text, "  machine   {}", machines.join(", "));
    }
    let Some((first, last)) = scan.time_range() else {
        let _ = writeln!(text, "  samples   none");
        return text;
    };
    let zone = facts.zone.name_at(&first);
    let _ = writeln!(
        text,
        "  time      {} to {} {zone} (UTC{}), {}",
        local(first),
        local(last),
        offset(first),
        duration(last.utc.since(first.utc))
    );
    let _ = writeln!(text, "  UTC       {} to {}", utc(first), utc(last));
    let interval = match scan.typical_interval() {
        Some(interval) => format!(", typically {} apart", duration(interval)),
        None => String::new(),
    };
    let _ = writeln!(text, "  samples   {}{interval}", grouped(&scan.samples().to_string()));
    let columns: usize =
        scan.groups().iter().map(|group| group.instances.len() * group.set.counters.len()).sum();
    let _ = writeln!(
        text,
        "  counters  {} in {} sets, {} raw values",
        grouped(&columns.to_string()),
        sets(scan).len(),
        grouped(&scan.values().to_string())
    );
    text
}

/// The path of every counter of every instance, a line each.
pub(crate) fn push_paths(text: &mut String, scan: &UnionScan) {
    for ScannedGroup { set, instances, .. } in scan.groups() {
        for instance in instances {
            for counter in &set.counters {
                text.push_str(&set.path(instance, counter));
                text.push('\n');
            }
        }
    }
}

pub(crate) fn machines(scan: &UnionScan) -> Vec<&str> {
    let mut machines: Vec<&str> = Vec::new();
    for group in scan.groups() {
        let machine = &*group.set.machine;
        if !machine.is_empty() && machines.iter().all(|known| !known.eq_ignore_ascii_case(machine)) {
            machines.push(machine);
        }
    }
    machines
}

fn push_set(text: &mut String, listed: &ListedSet<'_>) {
    let machine = match &*listed.set.machine {
        "" => String::new(),
        machine => format!(r"\\{machine}"),
    };
    let english = |name: &Option<std::sync::Arc<str>>| match name {
        Some(english) => format!("  ({english})"),
        None => String::new(),
    };
    let _ = writeln!(text, "{machine}\\{}{}", listed.set.name, english(&listed.set.english_name));
    if listed.set.has_instances {
        let _ = writeln!(text, "  instances: {}", listed.instances.join(" | "));
    }
    let width = listed.counters.iter().map(|counter| counter.name.chars().count()).max().unwrap_or(0);
    for counter in &listed.counters {
        let name = &counter.name;
        let unit = counter.unit();
        let line =
            format!("  {name:width$}  {:34}  {unit}{}", counter.counter_type, english(&counter.english_name));
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// `2013-02-19 18:50:17.844`.
fn local(moment: Moment) -> String {
    let text = moment.rfc3339();
    text.get(..23).map_or(text.clone(), |text| text.replace('T', " "))
}

/// `-08:00`.
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

/// A stretch of time as people read it: `1.000 s`, `9:59`, `26:03:10`; cut off, as Performance Monitor does.
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
