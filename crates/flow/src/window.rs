//! A window of time cut out of a source.

use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::sample::Sample;

use crate::{Baselines, FlowError, Source};

/// From when to when. Local times are those of each sample's own time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowBounds {
    /// The first moment that belongs to the window.
    pub begin: Option<TimeArgument>,
    /// The first moment after the window.
    pub end: Option<TimeArgument>,
}

impl WindowBounds {
    /// Whether no time is left between them, as far as they can be compared: a local time and one in UTC compare only by the
    /// zone of a log.
    pub fn are_empty(&self) -> bool {
        match (self.begin, self.end) {
            (Some(TimeArgument::Local(begin)), Some(TimeArgument::Local(end)))
            | (Some(TimeArgument::Utc(begin)), Some(TimeArgument::Utc(end))) => begin >= end,
            _ => false,
        }
    }

    fn has_begun(&self, sample: &Sample) -> bool {
        self.begin.is_none_or(|begin| !is_before(sample, begin))
    }

    fn has_ended(&self, sample: &Sample) -> bool {
        self.end.is_some_and(|end| !is_before(sample, end))
    }
}

fn is_before(sample: &Sample, bound: TimeArgument) -> bool {
    let cut = |moment: FileTime| moment.0;
    match bound {
        TimeArgument::Local(local) => cut(sample.at.local()) < local.0,
        TimeArgument::Utc(utc) => cut(sample.at.utc) < utc.0,
    }
}

/// Passes on the samples of a window, and before them the last sample before it of each list of counters, as a baseline: it
/// opens the first interval and is counted by no statistic.
pub struct Window<S> {
    source: S,
    bounds: WindowBounds,
    /// The last samples before the window, to be given out from the end; the earliest one last.
    baselines: Vec<Sample>,
    /// The window's first sample, while the baselines before it are given out.
    first: Option<Sample>,
    begun: bool,
}

impl<S: Source> Window<S> {
    /// A stage over `source`.
    pub fn new(source: S, bounds: WindowBounds) -> Self {
        Self { source, begun: bounds.begin.is_none(), bounds, baselines: Vec::new(), first: None }
    }

    /// Reads up to the first sample of the window and keeps the baselines before it. Returns false if the window has no sample.
    fn seek(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let mut baselines = Baselines::default();
        while self.source.next(sample)? {
            if self.bounds.has_begun(sample) {
                self.baselines = baselines.into_latest_first();
                return Ok(true);
            }
            baselines.hold(signature_of(sample), sample);
        }
        Ok(false)
    }
}

/// A number that is the same for samples with the same groups.
pub(crate) fn signature_of(sample: &Sample) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for group in &sample.groups {
        let set = &group.set;
        (&set.machine, &set.name, set.extent).hash(&mut hasher);
        set.instance.as_ref().map(|instance| instance.label()).hash(&mut hasher);
        set.counters.first().map(|counter| (&counter.name, counter.counter_type)).hash(&mut hasher);
    }
    hasher.finish()
}

impl<S: Source> Source for Window<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.begun {
            self.begun = true;
            if !self.seek(sample)? {
                return Ok(false);
            }
            if self.bounds.has_ended(sample) {
                return Ok(false);
            }
            self.first = Some(std::mem::take(sample));
        }
        if let Some(baseline) = self.baselines.pop() {
            *sample = baseline;
            return Ok(true);
        }
        if let Some(first) = self.first.take() {
            *sample = first;
            return Ok(true);
        }
        Ok(self.source.next(sample)? && !self.bounds.has_ended(sample))
    }
}
