//! The timestamp of a block.

use tachograph_counters::civil::FileTime;
use zerocopy::little_endian::U16;

use super::raw::DataHeader;

/// The time of a collection, by both clocks that counters use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The performance counter, in ticks (`PerfTimeStamp`).
    #[doc(alias = "PerfTimeStamp")]
    pub ticks: i64,
    /// Ticks of the performance counter per second, above 0 (`PerfFreq`).
    #[doc(alias = "PerfFreq")]
    pub frequency: i64,
    /// The time in UTC (`PerfTime100NSec`).
    #[doc(alias = "PerfTime100NSec")]
    pub system_time: FileTime,
}

impl Stamp {
    /// The stamp of a header. The header's calendar time is redundant, so it is ignored.
    pub(super) fn from_header(header: &DataHeader) -> Self {
        Self {
            ticks: header.ticks.get(),
            frequency: header.frequency.get(),
            system_time: FileTime(header.system_time_100ns.get()),
        }
    }

    /// A header with this stamp. Its size and number of results are still 0.
    pub(super) fn header(&self) -> DataHeader {
        DataHeader {
            ticks: self.ticks.into(),
            system_time_100ns: self.system_time.0.into(),
            frequency: self.frequency.into(),
            system_time: calendar(self.system_time),
            ..DataHeader::default()
        }
    }
}

/// A time as SYSTEMTIME: year, month, day of the week (Sunday 0), day, hour, minute, second, millisecond. All 0 if the
/// year does not have four digits.
fn calendar(time: FileTime) -> [U16; 8] {
    let Some(civil) = time.to_civil() else { return Default::default() };
    [
        civil.year(),
        civil.month().into(),
        civil.weekday().to_sunday_zero_offset().into(),
        civil.day().into(),
        civil.hour().into(),
        civil.minute().into(),
        civil.second().into(),
        civil.millisecond(),
    ]
    .map(|part| U16::new(u16::try_from(part).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::{FileTime, calendar};

    fn parts(time: i64) -> [u16; 8] {
        calendar(FileTime(time)).map(|part| part.get())
    }

    #[test]
    fn file_times_become_calendar_times() {
        assert_eq!(parts(131_246_703_908_743_382), [2016, 11, 6, 26, 21, 46, 30, 874]);
        assert_eq!(parts(FileTime::UNIX_EPOCH.0), [1970, 1, 4, 1, 0, 0, 0, 0]);
        // 1601-01-01 was a Monday.
        assert_eq!(parts(0), [1601, 1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(parts(6 * FileTime::PER_DAY)[2], 0);
        assert_eq!(parts(-1), [1600, 12, 0, 31, 23, 59, 59, 999]);
        assert_eq!(parts(i64::MAX), [0; 8]);
        assert_eq!(parts(i64::MIN), [0; 8]);
    }
}
