//! Selecting the samples in a time range.

use tachograph_counters::civil::TimeArgument;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;

use crate::{Baselines, FlowError, Source};

/// A time range. A local time is compared with a sample's time in the sample's own time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowBounds {
    /// The first moment in the range.
    pub begin: Option<TimeArgument>,
    /// The first moment after the range.
    pub end: Option<TimeArgument>,
}

impl WindowBounds {
    /// Whether the range is empty. Returns false if one bound is local and the other UTC, since they can be compared
    /// only in the time zone of a log.
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
    match bound {
        TimeArgument::Local(local) => sample.at.local().0 < local.0,
        TimeArgument::Utc(utc) => sample.at.utc.0 < utc.0,
    }
}

/// Passes the samples of a window. Before them, it passes a baseline for each distinct list of counters: the last earlier sample
/// that has this list. The first interval begins with the baseline, but statistics do not count it.
pub struct Window<S> {
    source: S,
    bounds: WindowBounds,
    /// The baselines that have not been passed yet, latest first.
    baselines: Vec<Sample>,
    /// The window's first sample, while baselines are passed.
    first_sample: Option<Sample>,
    has_begun: bool,
}

impl<S: Source> Window<S> {
    /// A stage over `source`.
    pub fn new(source: S, bounds: WindowBounds) -> Self {
        Self { source, has_begun: bounds.begin.is_none(), bounds, baselines: Vec::new(), first_sample: None }
    }

    /// Reads up to the first sample of the window, and collects the baselines. Returns false if there is no such
    /// sample.
    fn seek(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let mut baselines = Baselines::default();
        while self.source.next(sample)? {
            if self.bounds.has_begun(sample) {
                self.baselines = baselines.into_latest_first();
                return Ok(true);
            }
            baselines.keep(signature_of(sample), sample);
        }
        Ok(false)
    }
}

/// A hash of a sample's list of counters: for each group, its machine, set, instance and counters.
pub(crate) fn signature_of(sample: &Sample) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for group in &sample.groups {
        let set = &group.set;
        (&set.machine, &set.name, set.extent).hash(&mut hasher);
        set.instance.as_ref().map(|instance| instance.label()).hash(&mut hasher);
        let described = if set.extent == Extent::Table { 1 } else { set.counters.len() };
        for counter in set.counters.iter().take(described) {
            (&counter.name, counter.counter_type).hash(&mut hasher);
        }
    }
    hasher.finish()
}

impl<S: Source> Source for Window<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.has_begun {
            self.has_begun = true;
            if !self.seek(sample)? {
                return Ok(false);
            }
            if self.bounds.has_ended(sample) {
                return Ok(false);
            }
            self.first_sample = Some(std::mem::take(sample));
        }
        if let Some(baseline) = self.baselines.pop() {
            *sample = baseline;
            return Ok(true);
        }
        if let Some(first) = self.first_sample.take() {
            *sample = first;
            return Ok(true);
        }
        Ok(self.source.next(sample)? && !self.bounds.has_ended(sample))
    }
}
