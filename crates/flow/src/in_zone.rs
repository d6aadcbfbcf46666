//! Converting samples of several time zones to one zone.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::{FlowError, Source};

/// Converts the local times of samples to a single time zone, since a log stores only one for all of its samples.
pub struct InZone<S> {
    source: S,
    zone: TimeZone,
}

impl<S: Source> InZone<S> {
    /// A stage over `source`.
    pub fn new(source: S, zone: TimeZone) -> Self {
        Self { source, zone }
    }
}

impl<S: Source> Source for InZone<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.source.next(sample)? {
            return Ok(false);
        }
        let moment = self.zone.utc_to_moment(sample.at.utc);
        let shift = i64::from(sample.at.bias_minutes) - i64::from(moment.bias_minutes);
        if shift != 0 {
            for group in sample.groups.iter_mut().filter(|group| group.read_at.0 != 0) {
                group.read_at = group.read_at.saturating_add(shift.saturating_mul(FileTime::PER_MINUTE));
            }
            sample.at = moment;
        }
        Ok(true)
    }
}
