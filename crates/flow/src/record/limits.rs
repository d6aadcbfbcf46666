//! The limits of a log file.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;

use super::RecordOptions;

/// Limits on the size and duration of a file.
pub(super) struct Limits {
    max_bytes: Option<u64>,
    /// The duration of a segment and a tolerance of half a sample interval, both in units of 100 ns.
    segment: Option<(i64, i64)>,
    /// The time of the recording's first sample, as [`sample_time`] returns it.
    start: Option<i64>,
    /// The time from which samples belong to the next segment, as [`sample_time`] returns it.
    end: i64,
}

impl Limits {
    pub(super) fn new(options: &RecordOptions) -> Self {
        let filetime_units = |nanoseconds: u128| i64::try_from(nanoseconds / 100).unwrap_or(i64::MAX);
        let segment = options.segment_time.map(|time| {
            (filetime_units(time.as_nanos()).max(1), filetime_units(options.interval.as_nanos()) / 2)
        });
        Self { max_bytes: options.max_bytes, segment, start: None, end: 0 }
    }

    /// Starts a new file, whose first sample is `sample`.
    pub(super) fn begin(&mut self, sample: &Sample) {
        let Some((length, tolerance)) = self.segment else { return };
        let now = sample_time(sample);
        let start = *self.start.get_or_insert(now);
        // Segments end at multiples of their duration, so delays do not accumulate. If a file reaches its maximum size
        // earlier, the next file ends when the full file would have ended.
        let completed_segments = now.saturating_sub(start).saturating_add(tolerance) / length;
        self.end = start.saturating_add(length.saturating_mul(completed_segments + 1));
        self.end = self.end.saturating_sub(tolerance);
    }

    /// Whether the time of a sample is past the end of the segment.
    pub(super) fn is_over(&self, sample: &Sample) -> bool {
        self.segment.is_some() && sample_time(sample) >= self.end
    }

    /// Whether a file of this size is within the limit.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.max_bytes.is_none_or(|max_bytes| bytes <= max_bytes)
    }
}

/// The time of a sample in units of 100 ns: of the monotonic clock if the sample has its ticks, otherwise UTC.
fn sample_time(sample: &Sample) -> i64 {
    match sample.groups.first().map(|group| group.clocks) {
        Some(clocks) if clocks.frequency > 0 => {
            let units = i128::from(clocks.ticks) * i128::from(FileTime::PER_SECOND);
            i64::try_from(units / i128::from(clocks.frequency)).unwrap_or(i64::MAX)
        }
        _ => sample.at.utc.0,
    }
}
