//! System time among the values of samples, compared with the times of the samples.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Group;
use tachograph_counters::set::Extent;
use tachograph_counters::{Class, CounterType, Subtype, TimeBase};

/// How far, in 100 ns units, system times among the values may move against the samples' times without a step of the clock:
/// a millisecond, to which the samples' times are cut, and a tenth of one for reading both clocks.
pub(super) const STEADY: i64 = 11_000;

/// Whether the second number of a raw value of this type is system time, UTC.
fn is_system_time(counter_type: CounterType) -> bool {
    counter_type.class() == Class::Counter
        && counter_type.time_base() == TimeBase::HundredNs
        && counter_type.subtype() != Subtype::Precision
}

/// The system times, UTC, that were read with a group, each with the number of its value.
pub(super) fn system_times(group: &Group) -> impl Iterator<Item = (usize, FileTime)> {
    let block =
        Some(group.clocks.system_time).filter(|time| group.set.extent == Extent::Table && time.0 != 0);
    let values = match group.set.counters.first() {
        Some(counter) if group.set.extent != Extent::Table && is_system_time(counter.counter_type) => {
            group.values.as_slice()
        }
        _ => &[],
    };
    let values = values.iter().enumerate().filter(|(_, raw)| raw.status.is_good());
    block.map(|time| (0, time)).into_iter().chain(values.map(|(number, raw)| (number, FileTime(raw.second))))
}

/// Follows, for each entry of a log's counter list, the differences between system time and the records' local times.
///
/// Between two steps of the clock they lie within [`STEADY`]. The writer marks steps by what it finds here, and the reader
/// expects them only where they are marked: both look at the same numbers, those in the file.
#[derive(Default)]
pub(super) struct SystemClocks {
    entries: Vec<Differences>,
}

/// The differences of one entry.
#[derive(Clone, Copy, Default)]
struct Differences {
    /// The smallest and the largest one so far.
    range: Option<(i64, i64)>,
    /// A difference outside of it, which proves right where the next one is near it.
    other: Option<i64>,
}

impl SystemClocks {
    /// Forgets all differences: the clock was set.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Compares the record of entry `entry`, of this local time, with those before it; gives the number and the difference of
    /// the first value that is off, and what it should have been near.
    pub(super) fn observe(
        &mut self,
        entry: usize,
        group: &Group,
        local: FileTime,
    ) -> Option<(usize, i64, i64)> {
        let mut off = None;
        for (number, time) in system_times(group) {
            if entry >= self.entries.len() {
                self.entries.resize(entry + 1, Differences::default());
            }
            let difference = time.since(local);
            if let Err(expected) = self.entries[entry].take(difference) {
                off.get_or_insert((number, difference, expected));
            }
        }
        off
    }
}

impl Differences {
    fn take(&mut self, difference: i64) -> Result<(), i64> {
        let Some((low, high)) = self.range else {
            self.range = Some((difference, difference));
            return Ok(());
        };
        let (least, most) = (low.min(difference), high.max(difference));
        if most.saturating_sub(least) <= STEADY {
            (self.range, self.other) = (Some((least, most)), None);
            return Ok(());
        }
        // Two that agree against the ones before: those, or the first of them, were wrong, which was reported.
        if let Some(other) = self.other.take()
            && other.abs_diff(difference) <= STEADY.unsigned_abs()
        {
            self.range = Some((other.min(difference), other.max(difference)));
            return Ok(());
        }
        self.other = Some(difference);
        Err(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_difference_that_is_off_is_reported_once() {
        let mut differences = Differences::default();
        let taken: Vec<_> = [0, 9_000, 20_000, 5_000, 11_000].map(|d| differences.take(d).is_ok()).into();
        assert_eq!(taken, [true, true, false, true, true]);
    }

    #[test]
    fn the_first_difference_may_be_the_one_that_is_off() {
        let mut differences = Differences::default();
        let taken: Vec<_> = [i64::MAX, 3, 4, 5].map(|d| differences.take(d).is_ok()).into();
        assert_eq!(taken, [true, false, true, true]);
    }
}
