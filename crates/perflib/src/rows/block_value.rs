//! Converts values to the form that raw data blocks use.

use tachograph_counters::{RawValue, Status};

use super::Rows;
use crate::FREQUENCY;

impl Rows {
    /// Whether a counter has no value because its provider has not set one yet (a counter by reference).
    pub(crate) fn has_no_data(&self, row: usize, id: u32) -> bool {
        self.column(id).is_some_and(|column| self.values(row)[column].status == Status::NO_DATA)
    }

    /// The value of a counter in a raw data block; `None` if it cannot be read now. The value of a companion is taken
    /// from the raw value of the counter that it belongs to.
    pub fn block_value(&self, row: usize, id: u32) -> Option<u64> {
        let valid_value = |column: usize| {
            let raw = self.values(row)[column];
            raw.status.is_good().then_some(raw)
        };
        // If another selected counter has this counter as a companion, both values in the block are taken from that
        // counter's raw value, so that they are consistent.
        if let Some(column) = self.column(id).filter(|_| !self.selection.is_selected_companion(id)) {
            return valid_value(column).map(|raw| raw.first as u64);
        }
        (0..self.width()).find_map(|column| {
            let owner = self.counter(column);
            let number: fn(RawValue) -> u64 = if owner.base_id == Some(id) || owner.time_id == Some(id) {
                |raw| raw.second as u64
            } else if owner.frequency_id == Some(id) {
                |_| FREQUENCY as u64
            } else if owner.multiplier_id == Some(id) {
                |raw| raw.multi_count.into()
            } else {
                return None;
            };
            valid_value(column).map(number)
        })
    }
}
