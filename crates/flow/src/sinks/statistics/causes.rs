//! The causes of errors.

use tachograph_counters::Status;
use tachograph_counters::civil::Moment;

/// The errors of one counter of one instance that have the same status.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorCause {
    /// The status of the invalid value, or the reason why two valid values have no result. `None` for all statuses beyond
    /// the first [`MAX_CAUSES`] of a counter.
    pub status: Option<Status>,
    /// The number of intervals that ended with this status.
    pub count: u64,
    /// The end of the first such interval.
    pub first: Moment,
    /// The end of the last such interval.
    pub last: Moment,
}

/// An [`ErrorCause`] with the path of its counter.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterErrors {
    /// The counter's full path.
    pub path: String,
    /// The errors of the counter that have one status.
    pub cause: ErrorCause,
}

/// Maximum number of statuses counted separately per counter. Without a limit, a log could have a different status in
/// every sample.
pub const MAX_CAUSES: usize = 16;

/// The causes of one counter's errors, in the order of first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes(Vec<ErrorCause>);

impl Causes {
    pub(super) fn record(&mut self, status: Status, at: Moment) {
        let is_known = self.0.iter().any(|cause| cause.status == Some(status));
        let status = (is_known || self.0.len() < MAX_CAUSES).then_some(status);
        match self.0.iter_mut().find(|cause| cause.status == status) {
            Some(cause) => {
                cause.count += 1;
                cause.last = at;
            }
            None => self.0.push(ErrorCause { status, count: 1, first: at, last: at }),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ErrorCause> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_counted_separately_up_to_a_limit() {
        let at = |second: i64| Moment::from_local(tachograph_counters::civil::FileTime(second), 0);
        let mut causes = Causes::default();
        for second in 0..100 {
            causes.record(Status(0xC000_0000 + second % 20), at(second.into()));
        }
        let found: Vec<_> = causes.iter().map(|cause| (cause.status, cause.count)).collect();
        assert_eq!(found.len(), MAX_CAUSES + 1);
        assert_eq!(found[3], (Some(Status(0xC000_0003)), 5));
        assert_eq!(found[MAX_CAUSES], (None, 20));
        let first = causes.iter().next().expect("a cause");
        assert_eq!((first.first, first.last), (at(0), at(80)));
    }
}
