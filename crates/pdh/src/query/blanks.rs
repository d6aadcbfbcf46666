//! Blank cells of text logs.

use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Extent, Instance, Instances};
use tachograph_counters::{CounterType, RawValue, Status};

/// Gives blank cells their instance: a column of a text log is of one instance, whether or not a row has a value of it, and
/// nothing in the log says that the instance was gone.
#[derive(Default)]
pub(super) struct BlankCells {
    /// The one row of a column, by the number of its group.
    rows: Vec<Instances>,
}

impl BlankCells {
    /// Puts an invalid value where a column of a text has none.
    pub(super) fn fill(&mut self, sample: &mut Sample) {
        for (number, group) in sample.groups.iter_mut().enumerate() {
            if let Some(instance) = instance_of_blank(group) {
                let row = self.row(number, &instance);
                group.set_rows(row);
                group.values.push(RawValue::error(Status::CSTATUS_INVALID_DATA));
            }
        }
    }

    /// The row of a group, the same object each time.
    fn row(&mut self, number: usize, instance: &Arc<Instance>) -> &Instances {
        if self.rows.len() <= number {
            self.rows.resize_with(number + 1, Instances::default);
        }
        let row = &mut self.rows[number];
        if row.first().is_none_or(|known| !Arc::ptr_eq(known, instance)) {
            *row = Arc::new([Arc::clone(instance)]);
        }
        row
    }
}

/// The instance of a column of a text whose cell is blank. Only texts have values of this type: no other log can hold it.
fn instance_of_blank(group: &Group) -> Option<Arc<Instance>> {
    let is_of_text = group.set.extent == Extent::Value
        && group.set.counters.first().is_some_and(|counter| counter.counter_type == CounterType::DOUBLE_RAW);
    let is_blank = group.is_present() && group.instances.is_empty() && group.values.is_empty();
    group.set.instance.as_ref().filter(|_| is_of_text && is_blank).cloned()
}
