//! Live samples that are taken on a schedule.

use std::time::{Duration, Instant};

use tachograph_counters::sample::Sample;

use super::{LiveReport, LiveSource, Stop};
use crate::{Cadence, FlowError, Source};

/// When samples are taken, and how many.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Time between two samples.
    pub interval: Duration,
    /// The number of samples after which the source ends, not counting the baseline.
    pub samples: Option<u64>,
    /// The time after which the source ends.
    pub duration: Option<Duration>,
    /// Whether the first sample is a [baseline](Sample::is_baseline).
    pub has_baseline: bool,
    /// Stops the source from another thread.
    pub stop: Stop,
}

impl Default for Schedule {
    /// A sample every second until stopped, without a baseline.
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            samples: None,
            duration: None,
            has_baseline: false,
            stop: Stop::default(),
        }
    }
}

/// Takes samples on request.
pub trait Collect: Send {
    /// Takes a sample and overwrites `sample` with it.
    fn collect(&mut self, sample: &mut Sample);

    /// Delays and errors.
    fn report(&self) -> LiveReport;

    /// Whether the wall clock was set back and has not caught up yet.
    fn is_clock_behind(&self) -> bool;
}

impl Collect for LiveSource {
    fn collect(&mut self, sample: &mut Sample) {
        Self::collect(self, sample);
    }

    fn report(&self) -> LiveReport {
        Self::report(self)
    }

    fn is_clock_behind(&self) -> bool {
        self.times.is_clock_behind
    }
}

/// A source that takes its samples on a [`Schedule`]. The first one is due immediately.
pub struct TimedSource<C = LiveSource> {
    source: C,
    schedule: Schedule,
    /// The number of samples that remain to be taken; `None` without a limit.
    samples_left: Option<u64>,
    /// `None` before the first sample.
    cadence: Option<Cadence>,
}

impl<C: Collect> TimedSource<C> {
    /// A source that has not taken a sample yet.
    pub fn new(source: C, schedule: Schedule) -> Self {
        Self { source, samples_left: schedule.samples, schedule, cadence: None }
    }

    /// The underlying source.
    pub fn live(&self) -> &C {
        &self.source
    }

    /// The underlying source, for example to change its paths.
    pub fn live_mut(&mut self) -> &mut C {
        &mut self.source
    }

    /// Whether the duration is over: the next sample would be further from its end than the last sample was.
    fn is_over(&self) -> bool {
        let Some((cadence, duration)) = self.cadence.as_ref().zip(self.schedule.duration) else {
            return false;
        };
        cadence.start().elapsed() + self.schedule.interval / 2 > duration
    }

    /// Waits until the next sample is due. Returns false if stopped before then.
    fn wait(&mut self) -> bool {
        let stop = &self.schedule.stop;
        match &self.cadence {
            Some(cadence) => stop.wait_until(cadence.due()),
            None => !stop.is_stopped(),
        }
    }
}

impl<C: Collect> Source for TimedSource<C> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let is_baseline = self.schedule.has_baseline && self.cadence.is_none();
        if (self.samples_left == Some(0) && !is_baseline) || self.is_over() || !self.wait() {
            return Ok(false);
        }
        let now = Instant::now();
        let cadence = self.cadence.get_or_insert_with(|| Cadence::new(now, self.schedule.interval));
        cadence.advance(now);
        self.source.collect(sample);
        sample.is_baseline = is_baseline;
        if !is_baseline && let Some(left) = &mut self.samples_left {
            *left -= 1;
        }
        let is_clock_behind = self.source.is_clock_behind();
        self.source.report().add_sample(cadence.late(), cadence.missed(), is_clock_behind, is_baseline);
        Ok(true)
    }
}
