//! Compares system times with the sample's time. A system time is the UTC time at which a value was read. For some counter
//! types, it is the second number of a raw value; a block record has one system time for all of its values.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Group;
use tachograph_counters::set::{Counter, Extent};
use tachograph_counters::{Class, CounterType, Subtype, TimeBase};

/// Maximum change, in 100 ns units, of the difference between system times and sample times while the clock is not set.
/// It allows a millisecond, because sample times are truncated to milliseconds, and a tenth of a millisecond, because
/// the two clocks are not read at the same moment.
pub(super) const MAX_DRIFT: i64 = 11_000;

/// Whether the second number of a raw value of this type is system time (UTC).
fn is_system_time(counter_type: CounterType) -> bool {
    counter_type.class() == Class::Counter
        && counter_type.time_base() == TimeBase::HundredNs
        && counter_type.subtype() != Subtype::Precision
}

/// Returns the system times in a column of a group, each with its row. A table has one system time for all columns and
/// rows.
pub(super) fn system_times(group: &Group, column: usize) -> impl Iterator<Item = (usize, FileTime)> {
    let block =
        Some(group.clocks.system_time).filter(|time| group.set.extent == Extent::Table && time.0 != 0);
    let has_times = |counter: &&Counter| is_system_time(counter.counter_type);
    let timed =
        group.set.counters.get(column).filter(has_times).filter(|_| group.set.extent != Extent::Table);
    let values = timed.into_iter().flat_map(move |_| group.column(column).enumerate());
    let times = values.filter(|(_, raw)| raw.status.is_good()).map(|(row, raw)| (row, FileTime(raw.second)));
    block.map(|time| (0, time)).into_iter().chain(times)
}

/// Tracks, for each entry of the counter list, the difference between system time and the records' local time.
///
/// While the clock is not set, the differences stay within [`MAX_DRIFT`]. The writer uses this type to detect when the
/// clock was set, and marks that sample. The reader decodes the same values, so it expects a change only at a marked
/// sample.
#[derive(Default)]
pub(super) struct SystemClocks {
    entries: Vec<Differences>,
}

/// The differences of one entry.
#[derive(Clone, Copy, Default)]
struct Differences {
    /// The minimum and maximum so far.
    range: Option<(i64, i64)>,
    /// A difference outside the range. It replaces the range if the next difference is near it.
    outlier: Option<i64>,
}

impl SystemClocks {
    /// Resets all differences, because the clock was set.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Compares an entry's record, whose local time is `local`, with its previous records. Returns the index and
    /// difference of the first value that deviates, and the expected difference.
    pub(super) fn observe(
        &mut self,
        entry: usize,
        group: &Group,
        column: usize,
        local: FileTime,
    ) -> Option<(usize, i64, i64)> {
        let differences = || system_times(group, column).map(|(index, time)| (index, time.since(local)));
        let mut all = differences().map(|(_, difference)| difference);
        let first = all.next()?;
        let range = all.fold((first, first), |(low, high), next| (low.min(next), high.max(next)));
        if entry >= self.entries.len() {
            self.entries.resize(entry + 1, Differences::default());
        }
        let entry = &mut self.entries[entry];
        if entry.extend_to(range) {
            return None;
        }
        let mut deviation = None;
        for (index, difference) in differences() {
            if let Err(expected) = entry.push(difference) {
                deviation.get_or_insert((index, difference, expected));
            }
        }
        deviation
    }
}

impl Differences {
    /// Extends the range to include another one. Returns false and changes nothing if the range would become too large.
    fn extend_to(&mut self, (low, high): (i64, i64)) -> bool {
        let (min, max) = self.range.map_or((low, high), |(min, max)| (min.min(low), max.max(high)));
        let is_steady = max.saturating_sub(min) <= MAX_DRIFT;
        if is_steady {
            (self.range, self.outlier) = (Some((min, max)), None);
        }
        is_steady
    }

    /// Adds a difference. If it deviates, returns the expected difference as an error.
    fn push(&mut self, difference: i64) -> Result<(), i64> {
        if self.extend_to((difference, difference)) {
            return Ok(());
        }
        // Two differences that agree replace the range: the earlier ones were wrong and have been reported.
        if let Some(other) = self.outlier.take()
            && other.abs_diff(difference) <= MAX_DRIFT.unsigned_abs()
        {
            self.range = Some((other.min(difference), other.max(difference)));
            return Ok(());
        }
        self.outlier = Some(difference);
        Err(self.range.map_or(difference, |(low, _)| low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_is_reported_once() {
        let mut differences = Differences::default();
        let accepted: Vec<_> = [0, 9_000, 20_000, 5_000, 11_000].map(|d| differences.push(d).is_ok()).into();
        assert_eq!(accepted, [true, true, false, true, true]);
    }

    #[test]
    fn an_outlier_at_the_start_is_replaced() {
        let mut differences = Differences::default();
        let accepted: Vec<_> = [i64::MAX, 3, 4, 5].map(|d| differences.push(d).is_ok()).into();
        assert_eq!(accepted, [true, false, true, true]);
    }
}
