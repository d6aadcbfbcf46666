//! The samples that are shown, in a log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{RawValue, Status};
use tachograph_flow::record::{Existing, RecordOptions, Recorder};
use tachograph_flow::{FlowError, Sink as _};
use tachograph_logs::Format;

use crate::app::Recording;

/// A recording that goes on.
pub(super) struct Recorded {
    recorder: Recorder,
    /// What the recorder reports of a log that was renamed or deleted.
    moved: Receiver<String>,
    path: PathBuf,
    paths: Vec<PathPattern>,
    /// What was in the first sample.
    sets: Vec<Arc<CounterSet>>,
}

/// The group of a set that has gone: the log goes on without instances of it.
fn absent(set: &Arc<CounterSet>) -> Group {
    let mut group = Group::new(Arc::clone(set));
    if let Some(instance) = &set.instance {
        group.instances = [Arc::clone(instance)].into();
        group.values.push(RawValue::error(Status::NO_INSTANCE));
        group.identities.push(0);
    }
    group
}

impl Recorded {
    /// Begins; the format is that of the name's extension, a BLG where it has none.
    pub(super) fn begin(
        path: &Path,
        is_overwritten: bool,
        interval: Duration,
        zone: &TimeZone,
        frequency: i64,
        paths: &[PathPattern],
    ) -> Result<Self, FlowError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let format = match extension.to_ascii_lowercase().as_str() {
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            _ => Format::Blg,
        };
        let mut options = RecordOptions::new(path, interval);
        options.format = format;
        options.existing = if is_overwritten { Existing::Overwrite } else { Existing::Refuse };
        options.zone = zone.clone();
        options.performance_frequency = frequency;
        let utc = FileTime::from_system_time(SystemTime::now());
        let mut recorder = Recorder::create(options, Moment { utc, bias_minutes: zone.bias_minutes })?;
        let (sender, moved) = channel();
        recorder.on_moved(move |log| {
            // Nobody receives at the end.
            let _ = sender.send(log.to_string());
        });
        let (path, paths) = (path.to_path_buf(), paths.to_vec());
        Ok(Self { recorder, moved, path, paths, sets: Vec::new() })
    }

    /// Writes a sample; also gives what is to be said. A log keeps the counters that it began with: what was chosen later is
    /// left out, and what has gone is absent until it comes again.
    pub(super) fn take(&mut self, sample: &Sample) -> Result<Option<String>, FlowError> {
        let mut notice = None;
        if self.recorder.summary().samples == 0 {
            self.sets = sample.groups.iter().map(|group| Arc::clone(&group.set)).collect();
        }
        let is_as_begun = sample.groups.len() == self.sets.len()
            && sample.groups.iter().zip(&self.sets).all(|(group, set)| Arc::ptr_eq(&group.set, set));
        if is_as_begun {
            self.recorder.take(sample)?;
        } else {
            let mut kept = Sample::default();
            kept.take_head(sample);
            for set in &self.sets {
                let is_it = |group: &&Group| Arc::ptr_eq(&group.set, set) || group.set == *set;
                kept.groups.push(sample.groups.iter().find(is_it).cloned().unwrap_or_else(|| absent(set)));
            }
            self.recorder.take(&kept)?;
        }
        if let Some(late) = self.recorder.without_column() {
            let text = format!("'{late}' came after the first row, so it has no column; a .blg takes it in");
            notice = Some(text);
        }
        Ok(self.moved.try_recv().ok().or(notice))
    }

    /// The paths that it began with, which samples must be taken of for as long as it goes on.
    pub(super) fn paths(&self) -> &[PathPattern] {
        &self.paths
    }

    /// What is shown of it.
    pub(super) fn shown(&self) -> Recording {
        let summary = self.recorder.summary();
        let file = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned();
        Recording { file, samples: summary.samples, bytes: summary.bytes }
    }

    /// Completes the log.
    pub(super) fn finish(mut self) -> Result<String, FlowError> {
        self.recorder.finish()?;
        Ok(format!("{}: {} samples recorded", self.path.display(), self.recorder.summary().samples))
    }
}
