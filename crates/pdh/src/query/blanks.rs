//! Blank cells in text logs.

use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Extent, Instance, Instances};
use tachograph_counters::{CounterType, RawValue, Status};

/// Restores the instances of blank cells. Each column of a text log belongs to one instance, and a blank cell does not
/// mean that the instance was absent.
#[derive(Default)]
pub(super) struct BlankCells {
    /// The instance list of each column, indexed by group.
    rows: Vec<Instances>,
}

impl BlankCells {
    /// Adds the instance and an invalid value for each blank cell.
    pub(super) fn fill(&mut self, sample: &mut Sample) {
        for (index, group) in sample.groups.iter_mut().enumerate() {
            if let Some(instance) = instance_of_blank(group) {
                let row = self.row(index, &instance);
                group.set_rows(row);
                group.values.push(RawValue::error(Status::CSTATUS_INVALID_DATA));
            }
        }
    }

    /// The instance list for a group. Returns the same list as long as the instance is the same.
    fn row(&mut self, group: usize, instance: &Arc<Instance>) -> &Instances {
        if self.rows.len() <= group {
            self.rows.resize_with(group + 1, Instances::default);
        }
        let row = &mut self.rows[group];
        if row.first().is_none_or(|known| !Arc::ptr_eq(known, instance)) {
            *row = Arc::new([Arc::clone(instance)]);
        }
        row
    }
}

/// The instance of a blank cell; `None` if the group is not a blank cell in a text log. `DOUBLE_RAW` identifies text
/// logs: no other source has this counter type.
fn instance_of_blank(group: &Group) -> Option<Arc<Instance>> {
    let is_text_log = group.set.extent == Extent::Row
        && group.set.counters.first().is_some_and(|counter| counter.counter_type == CounterType::DOUBLE_RAW);
    let is_blank = group.is_present() && group.instances.is_empty() && group.values.is_empty();
    group.set.instance.as_ref().filter(|_| is_text_log && is_blank).cloned()
}
