//! Finds the rows of the same instances in two samples.

use std::collections::HashMap;
use std::sync::Arc;

use super::Instance;

/// For each instance in `now`, returns the row of the instance with the same label in `before`, or `None` if `before`
/// does not contain it. Labels must be distinct within a list.
///
/// This is used to move state that is stored per row to the rows of the next sample. The size of such state depends
/// only on the current instances; state indexed by [`Instance::id`] would grow with every process that ever ran.
///
/// ```
/// use tachograph_counters::set::{InstanceTable, rows_before};
///
/// let mut table = InstanceTable::default();
/// let [a, b, c] = ["a", "b", "c"].map(|name| table.intern(None, name, 0));
/// assert_eq!(rows_before(&[a.clone(), b.clone()], &[b, c, a]), [Some(1), None, Some(0)]);
/// ```
pub fn rows_before(before: &[Arc<Instance>], now: &[Arc<Instance>]) -> Vec<Option<usize>> {
    // Instances usually keep their order, so the next row is tried first. Labels are hashed only if that fails.
    let mut next = 0;
    let mut by_label: Option<HashMap<&str, usize>> = None;
    now.iter()
        .map(|instance| {
            let row = match before.get(next) {
                Some(known) if Arc::ptr_eq(known, instance) => Some(next),
                _ => {
                    let by_label = by_label.get_or_insert_with(|| {
                        before.iter().enumerate().map(|(row, known)| (known.label(), row)).collect()
                    });
                    by_label.get(instance.label()).copied()
                }
            };
            next = row.map_or(next, |row| row + 1);
            row
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::InstanceTable;
    use super::*;

    #[test]
    fn rows_are_found_by_label_in_any_order() {
        let mut table = InstanceTable::default();
        let mut list =
            |names: &[&str]| -> Vec<_> { names.iter().map(|name| table.intern(None, name, 0)).collect() };
        let before = list(&["a", "b", "c", "d"]);
        assert_eq!(rows_before(&before, &before), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(rows_before(&before, &list(&["b", "d", "e"])), [Some(1), Some(3), None]);
        assert_eq!(rows_before(&before, &list(&["d", "x", "a", "b"])), [Some(3), None, Some(0), Some(1)]);
        assert_eq!(rows_before(&[], &before), [None; 4]);
        assert_eq!(rows_before(&before, &[]), []);
        // Another table has different objects for the same names.
        let mut other = InstanceTable::default();
        let moved = ["c", "A", "a"].map(|name| other.intern(None, name, 0));
        assert_eq!(rows_before(&before, &moved), [Some(2), None, Some(0)]);
    }
}
