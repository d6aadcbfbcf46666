//! When a file has enough.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;

use super::RecordOptions;

/// The limits of a file, in bytes and in time.
pub(super) struct Limits {
    max_bytes: Option<u64>,
    /// Length of a segment and half an interval, in 100 ns.
    segment: Option<(i64, i64)>,
    /// The clock when the first sample came.
    start: Option<i64>,
    /// When the segment is over.
    end: i64,
}

impl Limits {
    pub(super) fn new(options: &RecordOptions) -> Self {
        let units = |nanoseconds: u128| i64::try_from(nanoseconds / 100).unwrap_or(i64::MAX);
        let segment = options
            .segment_time
            .map(|time| (units(time.as_nanos()).max(1), units(options.interval.as_nanos()) / 2));
        Self { max_bytes: options.max_bytes, segment, start: None, end: 0 }
    }

    /// Notes the first sample of a file.
    pub(super) fn begin(&mut self, sample: &Sample) {
        let Some((length, tolerance)) = self.segment else { return };
        let now = clock(sample);
        let start = *self.start.get_or_insert(now);
        // Segments end at whole multiples after the start, so that delays do not add up. What a file that is full before
        // leaves of its time is the next one's.
        let passed = now.saturating_sub(start).saturating_add(tolerance) / length;
        self.end = start.saturating_add(length.saturating_mul(passed + 1));
        self.end = self.end.saturating_sub(tolerance);
    }

    /// Whether a sample belongs to the next segment by its time.
    pub(super) fn is_over(&self, sample: &Sample) -> bool {
        self.segment.is_some() && clock(sample) >= self.end
    }

    /// Whether a file may have so many bytes.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.max_bytes.is_none_or(|max_bytes| bytes <= max_bytes)
    }
}

/// A clock that no step of the wall clock moves, where the sample has one.
fn clock(sample: &Sample) -> i64 {
    match sample.groups.first().map(|group| group.clocks) {
        Some(clocks) if clocks.frequency > 0 => {
            let units = i128::from(clocks.ticks) * i128::from(FileTime::PER_SECOND);
            i64::try_from(units / i128::from(clocks.frequency)).unwrap_or(i64::MAX)
        }
        _ => sample.at.utc.0,
    }
}
