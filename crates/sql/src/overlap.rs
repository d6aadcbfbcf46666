//! Finds samples that two inputs contain. Every row would then be counted twice.
//!
//! Logs that are not archives are merged while they are read, which finds such samples. The rows of an archive are read file
//! by file, so its samples are compared before the query, by the same rule. In almost all queries, the names of the files show
//! that no times overlap, and nothing is read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;
use tachograph_flow::logs::LogSource;
use tachograph_flow::{FlowError, Source as _, have_common_counter, machines_of};
use tachograph_logs::LogError;
use tachograph_logs::archive::{ListedSamples, PathFacts};

use crate::archive_scan::is_excluded;
use crate::filters::{Filters, TimeRange};
use crate::location::ArchiveLocation;
use crate::log_scan::log_query;

/// A file of an archive.
struct Dated<'a> {
    location: &'a ArchiveLocation,
    /// The times of the first and the last sample, possibly rounded outwards to seconds.
    first: FileTime,
    last: FileTime,
}

/// Returns an error if two inputs have a sample of the same machine and time that a query with these filters reads, and that
/// have a counter in common. On an asynchronous runtime, the check runs on a thread that may block.
///
/// # Errors
///
/// When there is such a sample, or a file cannot be read.
pub(crate) async fn check(
    files: &[ArchiveLocation],
    logs: &[Vec<PathBuf>],
    filters: &Arc<Filters>,
) -> Result<()> {
    if files.is_empty() || (files.len() == 1 && logs.is_empty()) {
        return Ok(());
    }
    let (files, logs, filters) = (files.to_vec(), logs.to_vec(), Arc::clone(filters));
    let checked = tokio::task::spawn_blocking(move || {
        let mut included = Vec::with_capacity(files.len());
        for file in &files {
            if !is_excluded(&filters, file)? {
                included.push(file);
            }
        }
        check_times(included, &logs, filters.time).map_err(|error| DataFusionError::External(Box::new(error)))
    });
    checked.await.map_err(|error| DataFusionError::External(Box::new(error)))?
}

/// Like [`check`], for the samples in a time range.
///
/// # Errors
///
/// See [`check`].
pub(crate) fn check_times<'a>(
    files: impl IntoIterator<Item = &'a ArchiveLocation>,
    logs: &[Vec<PathBuf>],
    time: TimeRange,
) -> Result<(), FlowError> {
    let machines = by_machine(files);
    for files in machines.values() {
        let mut overlapping: Vec<&Dated<'_>> = Vec::new();
        for file in files {
            overlapping.retain(|earlier| earlier.last >= file.first);
            for earlier in &overlapping {
                compare(earlier, file, time)?;
            }
            overlapping.push(file);
        }
    }
    if machines.is_empty() {
        return Ok(());
    }
    logs.iter().flatten().try_for_each(|log| compare_log(log, &machines, time))
}

/// The files of each machine, in order of their first samples. Keys are in lower case, as machines are compared everywhere.
fn by_machine<'a>(files: impl IntoIterator<Item = &'a ArchiveLocation>) -> BTreeMap<String, Vec<Dated<'a>>> {
    let mut machines: BTreeMap<String, Vec<Dated<'a>>> = BTreeMap::new();
    for location in files {
        let facts = PathFacts::of(location.path());
        let (machine, times) = match (facts.machine, facts.times) {
            (Some(machine), Some(times)) => (machine, times),
            _ => match location.open() {
                Ok(file) => (file.facts().machine.clone(), file.times()),
                // The query reports the error if it reads the file.
                Err(_) => continue,
            },
        };
        let dated = Dated { location, first: times.first, last: times.last };
        machines.entry(machine.to_lowercase()).or_default().push(dated);
    }
    machines.values_mut().for_each(|files| files.sort_by_key(|file| file.first));
    machines
}

/// Compares two files of a machine.
fn compare(one: &Dated<'_>, other: &Dated<'_>, time: TimeRange) -> Result<(), FlowError> {
    let (Ok(mut first), Ok(mut second)) = (one.location.open(), other.location.open()) else {
        // The query reports the error if it reads the file.
        return Ok(());
    };
    // Times in names are rounded to seconds.
    let (times, others) = (first.times(), second.times());
    let (begin, end) = (times.first.max(others.first), times.last.min(others.last));
    if begin > end || !time.overlaps(begin, end) || !have_common_counter(first.sets(), second.sets()) {
        return Ok(());
    }
    let known = Times::read(&mut first, begin, end, time)?;
    let new = Times::read(&mut second, begin, end, time)?;
    let mut compared: HashMap<[usize; 2], bool> = HashMap::new();
    for (utc, (at, list)) in &new.by_time {
        let Some((_, earlier)) = known.by_time.get(utc) else { continue };
        let is_common = *compared
            .entry([*earlier, *list])
            .or_insert_with(|| have_common_counter(&known.lists[*earlier], &new.lists[*list]));
        if is_common {
            return Err(same_moment(one.location.path(), other.location.path(), *at));
        }
    }
    Ok(())
}

fn same_moment(first: &Path, second: &Path, at: Moment) -> FlowError {
    FlowError::SameMoment { first: first.to_path_buf(), second: second.to_path_buf(), at: at.rfc3339() }
}

/// The times of samples, without those that only open the first intervals.
#[derive(Default)]
struct Times {
    /// For each UTC time: the moment, and the index of the sample's list of descriptions.
    by_time: BTreeMap<i64, (Moment, usize)>,
    lists: Vec<Vec<Arc<CounterSet>>>,
}

impl Times {
    /// The samples of a file from `begin` to `end` that are in the range `time`.
    fn read(
        file: &mut crate::location::ArchiveFile,
        begin: FileTime,
        end: FileTime,
        time: TimeRange,
    ) -> Result<Self, LogError> {
        let mut times = Self::default();
        let groups: Vec<_> = file.row_groups().map(|group| (group.first, group.last)).collect();
        for (index, (first, last)) in groups.into_iter().enumerate() {
            if last < begin || first > end || !time.overlaps(first, last) {
                continue;
            }
            let group = file.row_group(index)?;
            let ListedSamples { samples, lists } = file.samples(&group);
            let base = times.lists.len();
            times.lists.extend(lists);
            for sample in samples {
                let utc = sample.at.utc;
                if !sample.is_baseline && utc >= begin && utc <= end && time.overlaps(utc, utc) {
                    times.by_time.insert(utc.0, (sample.at, base + sample.list));
                }
            }
        }
        Ok(times)
    }
}

/// Compares a log with the archives of its machines.
fn compare_log(
    path: &Path,
    machines: &BTreeMap<String, Vec<Dated<'_>>>,
    time: TimeRange,
) -> Result<(), FlowError> {
    let mut sample = Sample::default();
    if !LogSource::open(path)?.next(&mut sample)? {
        return Ok(());
    }
    let of_log: BTreeSet<String> = machines_of(&sample);
    let start = sample.at.utc;
    let mut files: Vec<&Dated<'_>> = machines
        .iter()
        .filter(|(machine, _)| of_log.contains(*machine))
        .flat_map(|(_, files)| files)
        .filter(|file| file.last >= start && time.overlaps(file.first, file.last))
        .collect();
    files.sort_by_key(|file| file.first);
    let (Some(first), Some(last)) = (files.first(), files.iter().map(|file| file.last).max()) else {
        return Ok(());
    };
    let mut query = log_query(vec![path.to_path_buf()]);
    query.bounds = time.bounds();
    if query.bounds.begin.is_none() {
        query.bounds.begin = Some(TimeArgument::Utc(first.first));
    }
    if query.bounds.are_empty() {
        return Ok(());
    }
    let mut pipeline = query.samples()?;
    let mut files = files.into_iter().peekable();
    let mut open: Vec<(&Dated<'_>, Times)> = Vec::new();
    while pipeline.source.next(&mut sample)? {
        let utc = sample.at.utc;
        if utc > last {
            break;
        }
        if sample.is_baseline {
            continue;
        }
        open.retain(|(file, _)| file.last >= utc);
        while let Some(file) = files.next_if(|file| file.first <= utc) {
            // The query reports the error if it reads the file.
            if file.last >= utc
                && let Ok(mut opened) = file.location.open()
            {
                open.push((file, Times::read(&mut opened, utc, file.last, time)?));
            }
        }
        for (file, times) in &open {
            let Some((_, list)) = times.by_time.get(&utc.0) else { continue };
            let sets: Vec<_> = sample.groups.iter().map(|group| Arc::clone(&group.set)).collect();
            if have_common_counter(&times.lists[*list], &sets) {
                return Err(same_moment(file.location.path(), path, sample.at));
            }
        }
    }
    Ok(())
}
