//! Recording the displayed samples.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_flow::record::{Existing, RecordOptions, Recorder};
use tachograph_flow::{FlowError, Sink as _};
use tachograph_logs::Format;

use crate::app::Recording;

pub(super) struct ActiveRecording {
    recorder: Recorder,
    /// Messages that the log was renamed or deleted.
    moved: Receiver<String>,
    path: PathBuf,
    paths: Vec<PathPattern>,
    counters: RecordedCounters,
}

/// The counters of a log: those of its first sample. Each is in a separate group, because later samples can group the
/// same counters differently: after a set was absent, or after paths changed.
#[derive(Default)]
struct RecordedCounters {
    sets: Vec<Arc<CounterSet>>,
    /// The sets of the last sample's groups, to which `locations` applies.
    known_sets: Vec<Arc<CounterSet>>,
    /// For each counter: the index of its group and of its column there; `None` if the counter is absent. Valid for
    /// samples whose groups have the sets in `known`.
    locations: Vec<Option<(usize, usize)>>,
}

/// Identifies a counter independently of the group that contains it: machine, set, extent, fixed instance, name, type and
/// time base.
type CounterKey<'a> = (&'a str, &'a str, Extent, Option<&'a str>, &'a str, CounterType, i64);

fn key_of<'a>(set: &'a CounterSet, counter: &'a Counter) -> CounterKey<'a> {
    let instance = set.instance.as_ref().map(|instance| instance.label());
    (&set.machine, &set.name, set.extent, instance, &counter.name, counter.counter_type, counter.time_base)
}

/// All columns of a sample: the index of the group, and of the counter in the group.
fn columns_of(sample: &Sample) -> impl Iterator<Item = (usize, usize)> {
    let groups = sample.groups.iter().enumerate();
    groups.flat_map(|(index, group)| (0..group.set.counters.len()).map(move |column| (index, column)))
}

impl RecordedCounters {
    fn new(first: &Sample) -> Self {
        let sets = columns_of(first).map(|(group, column)| first.groups[group].set.of_counter(column));
        Self { sets: sets.collect(), ..Self::default() }
    }

    /// Finds the counters in a sample. Groups that different wildcard paths select can contain counters with the same
    /// key; such counters are matched in order.
    fn find(&mut self, sample: &Sample) {
        let mut found: HashMap<CounterKey<'_>, VecDeque<(usize, usize)>> = HashMap::new();
        for (group, column) in columns_of(sample) {
            let set = &sample.groups[group].set;
            found.entry(key_of(set, &set.counters[column])).or_default().push_back((group, column));
        }
        let sets = self.sets.iter();
        self.locations = sets.map(|set| found.get_mut(&key_of(set, &set.counters[0]))?.pop_front()).collect();
        self.known_sets = sample.groups.iter().map(|group| Arc::clone(&group.set)).collect();
    }

    fn groups(&mut self, sample: &Sample) -> Vec<Group> {
        if !sample.has_sets(self.known_sets.iter()) {
            self.find(sample);
        }
        let group = |(set, location): (&Arc<CounterSet>, &Option<(usize, usize)>)| match *location {
            Some((group, column)) => sample.groups[group].with_columns(set, &[column]),
            None => absent_group(set),
        };
        self.sets.iter().zip(&self.locations).map(group).collect()
    }
}

/// A group for a set that is absent from a sample. It has no instances; if the set has a fixed instance, it has that
/// instance, with an error for each value.
fn absent_group(set: &Arc<CounterSet>) -> Group {
    let mut group = Group::new(Arc::clone(set));
    if let Some(instance) = &set.instance {
        group.instances = [Arc::clone(instance)].into();
        group.values.resize(set.counters.len(), RawValue::error(Status::NO_INSTANCE));
        group.identities.push(0);
    }
    group
}

impl ActiveRecording {
    /// Starts a recording. The extension of the name selects the format; without an extension, the format is BLG.
    pub(super) fn begin(
        path: &Path,
        may_overwrite: bool,
        interval: Duration,
        zone: &TimeZone,
        frequency: i64,
        paths: &[PathPattern],
    ) -> Result<Self, FlowError> {
        let format = match Format::of_extension(path) {
            Some(format @ (Format::Blg | Format::Csv | Format::Tsv)) => format,
            None if path.extension().is_none() => Format::Blg,
            Some(Format::Json | Format::Archive | Format::Sql) | None => {
                let text =
                    format!("{}: unknown format: use a name that ends in .blg, .csv or .tsv", path.display());
                return Err(FlowError::Output(io::Error::new(io::ErrorKind::InvalidInput, text)));
            }
        };
        let mut options = RecordOptions::new(path, interval);
        options.format = format;
        options.existing = if may_overwrite { Existing::Overwrite } else { Existing::Refuse };
        options.zone = zone.clone();
        options.performance_frequency = frequency;
        let utc = FileTime::from_system_time(SystemTime::now());
        let mut recorder = Recorder::create(options, Moment { utc, bias_minutes: zone.bias_minutes })?;
        let (sender, moved) = channel();
        recorder.on_moved(move |log| {
            // Fails only if the recording has ended and the receiver is gone.
            let _ = sender.send(log.to_string());
        });
        let (path, paths) = (path.to_path_buf(), paths.to_vec());
        Ok(Self { recorder, moved, path, paths, counters: RecordedCounters::default() })
    }

    /// Writes a sample; returns a message, if any. A log has the counters of its first sample: counters that appear later
    /// are omitted, and counters that disappear are absent until they return. Instances that appear later are recorded in
    /// a .blg, but not in a .csv or .tsv.
    pub(super) fn push(&mut self, sample: &Sample) -> Result<Option<String>, FlowError> {
        let mut notice = None;
        if self.recorder.summary().samples == 0 {
            self.counters = RecordedCounters::new(sample);
        }
        if sample.has_sets(self.counters.sets.iter()) {
            self.recorder.push(sample)?;
        } else {
            let mut kept = Sample::default();
            kept.copy_head(sample);
            kept.groups = self.counters.groups(sample);
            self.recorder.push(&kept)?;
        }
        if let Some(late) = self.recorder.without_column() {
            let text = format!(
                "instance '{late}' appeared after the first row, so it has no column; record to a .blg to include such instances"
            );
            notice = Some(text);
        }
        Ok(self.moved.try_recv().ok().or(notice))
    }

    /// The recorded paths: their counters must be collected as long as the recording runs.
    pub(super) fn paths(&self) -> &[PathPattern] {
        &self.paths
    }

    pub(super) fn state(&self) -> Recording {
        let summary = self.recorder.summary();
        let file = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned();
        Recording { file, samples: summary.samples, bytes: summary.bytes }
    }

    /// Finishes the log; returns a message.
    pub(super) fn finish(mut self) -> Result<String, FlowError> {
        self.recorder.finish()?;
        Ok(format!("{}: {} samples recorded", self.path.display(), self.recorder.summary().samples))
    }
}

#[cfg(test)]
mod tests;
