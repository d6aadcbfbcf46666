//! When a sample was taken: its local time, and what else it tells.

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::blg::clock::system_times;

/// How far a clock read with a value may be from the sample's.
const NEAR: i64 = 10 * FileTime::PER_MINUTE;

/// The moment of a sample with this local time.
///
/// In the hour that occurs twice, UTC among the values says which of the two it is. Without one, the sample before does, as
/// [`TimeZone::local_to_moment`] has it.
pub(super) fn of(
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
    let is_near = |moment: &Moment, utc: FileTime| moment.utc.since(utc).saturating_abs() <= NEAR;
    sample
        .groups
        .iter()
        .filter_map(|group| system_times(group).next())
        .map(|(_, utc)| utc)
        .find_map(|utc| [first, second].into_iter().find(|moment| is_near(moment, utc)))
        .unwrap_or_else(|| zone.local_to_moment(local, previous_utc))
}
