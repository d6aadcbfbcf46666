//! The UTC time of a sample.

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::blg::clock::system_times;

/// Maximum difference between the system time of a value and the sample's time.
const TOLERANCE: i64 = 10 * FileTime::PER_MINUTE;

/// Returns the moment of a sample whose local time is `local`.
///
/// One hour of local time occurs twice when daylight saving time ends. In that hour, UTC is determined by a system
/// time among the values or, without one, by the time of the previous sample ([`TimeZone::local_to_moment`]).
pub(super) fn resolve(
    sample: &Sample,
    local: FileTime,
    zone: &TimeZone,
    previous_utc: Option<FileTime>,
) -> Moment {
    let first = zone.local_to_moment(local, None);
    let second = zone.local_to_moment(local, Some(first.utc));
    if first == second {
        return first;
    }
    let is_near = |moment: &Moment, utc: FileTime| moment.utc.since(utc).saturating_abs() <= TOLERANCE;
    sample
        .groups
        .iter()
        .filter_map(|group| system_times(group, 0).next())
        .map(|(_, utc)| utc)
        .find_map(|utc| [first, second].into_iter().find(|moment| is_near(moment, utc)))
        .unwrap_or_else(|| zone.local_to_moment(local, previous_utc))
}
