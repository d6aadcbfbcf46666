//! Live samples at the moments of a schedule.

use std::time::{Duration, Instant};

use tachograph_counters::sample::Sample;

use super::{LiveSource, Stop};
use crate::{Cadence, FlowError, Source};

/// When samples are taken, and how many.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// From one sample to the next.
    pub interval: Duration,
    /// The end after this number of samples, a baseline not counted.
    pub samples: Option<u64>,
    /// The end after this time.
    pub duration: Option<Duration>,
    /// Whether a first sample is taken at once that only opens the first interval ([`Sample::is_baseline`]).
    pub has_baseline: bool,
    /// Ends the samples from elsewhere.
    pub stop: Stop,
}

impl Default for Schedule {
    /// Every second until stopped, without a baseline.
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

/// The samples of a [`LiveSource`] at the moments of a [`Schedule`]: waits for each.
pub struct TimedSource {
    source: LiveSource,
    schedule: Schedule,
    left: Option<u64>,
    /// From the first sample on.
    cadence: Option<Cadence>,
}

impl TimedSource {
    /// Takes the first sample at once, when it is asked for.
    pub fn new(source: LiveSource, schedule: Schedule) -> Self {
        Self { source, left: schedule.samples, schedule, cadence: None }
    }

    /// The source that takes the samples.
    pub fn live(&self) -> &LiveSource {
        &self.source
    }

    /// The source that takes the samples.
    pub fn live_mut(&mut self) -> &mut LiveSource {
        &mut self.source
    }

    /// Whether the last sample is the one before: it was the nearest to the end of the time.
    fn is_over(&self) -> bool {
        let Some((cadence, duration)) = self.cadence.as_ref().zip(self.schedule.duration) else {
            return false;
        };
        cadence.start().elapsed() + self.schedule.interval / 2 > duration
    }

    /// Waits until the next sample is due; false when it was stopped.
    fn wait(&mut self) -> bool {
        let stop = &self.schedule.stop;
        match &self.cadence {
            Some(cadence) => stop.wait_until(cadence.due()),
            None => !stop.is_stopped(),
        }
    }
}

impl Source for TimedSource {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let is_baseline = self.schedule.has_baseline && self.cadence.is_none();
        if (self.left == Some(0) && !is_baseline) || self.is_over() || !self.wait() {
            return Ok(false);
        }
        let now = Instant::now();
        let cadence = self.cadence.get_or_insert_with(|| Cadence::new(now, self.schedule.interval));
        cadence.advance(now);
        self.source.collect(sample);
        sample.is_baseline = is_baseline;
        if !is_baseline && let Some(left) = &mut self.left {
            *left -= 1;
        }
        let is_clock_step = self.source.is_clock_behind;
        self.source.report.note_sample(cadence.late(), cadence.missed(), is_clock_step, is_baseline);
        Ok(true)
    }
}
