//! The rows of groups whose instances changed.

use std::sync::Arc;

use tachograph_counters::set::{Instances, rows_before};

/// The last change of instances. Groups of one set usually have the same lists of instances, one group per counter, so the rows
/// are found once for all of them.
#[derive(Default)]
pub(super) struct InstanceChange {
    before: Instances,
    now: Instances,
    rows: Arc<[Option<usize>]>,
}

impl InstanceChange {
    /// See [`rows_before`].
    pub(super) fn rows_before(&mut self, before: &Instances, now: &Instances) -> Arc<[Option<usize>]> {
        if !Arc::ptr_eq(&self.before, before) || !Arc::ptr_eq(&self.now, now) {
            self.rows = rows_before(before, now).into();
            (self.before, self.now) = (Arc::clone(before), Arc::clone(now));
        }
        Arc::clone(&self.rows)
    }
}
