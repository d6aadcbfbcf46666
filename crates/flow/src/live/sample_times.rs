//! The times of live samples.

use tachograph_counters::civil::FileTime;

/// Gives samples times that never go backwards.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleTimes {
    /// The time of the last sample; the next one is later.
    last: Option<FileTime>,
    /// The wall clock at the last sample.
    last_wall: Option<FileTime>,
    /// Whether the wall clock was set back and has not caught up yet.
    pub(super) is_clock_behind: bool,
}

impl SampleTimes {
    /// The time of a sample taken when the wall clock was `wall`: `wall` truncated to milliseconds, but at least 1 ms after
    /// the previous sample.
    pub(super) fn next(&mut self, wall: FileTime) -> FileTime {
        let milliseconds = FileTime(wall.0 - wall.0.rem_euclid(FileTime::PER_MILLISECOND));
        let went_back = self.last_wall.replace(wall).is_some_and(|last| wall < last);
        let utc = match self.last {
            Some(last) if milliseconds <= last => {
                // Two samples within a millisecond do not mean that the clock was set back.
                self.is_clock_behind |= went_back;
                last.saturating_add(FileTime::PER_MILLISECOND)
            }
            _ => {
                self.is_clock_behind = false;
                milliseconds
            }
        };
        self.last = Some(utc);
        utc
    }
}
