//! Finds the rows of the same instances in two samples.

use std::collections::HashMap;
use std::sync::Arc;

use super::Instance;

/// The number of rows in which [`rows_before`] looks for an instance before it compares labels.
const MAX_AHEAD: usize = 16;

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
    // Instances usually keep their order, so each is looked for among the next few rows, which is enough if some before it
    // are gone. Labels are hashed only for the instances that this does not find.
    let mut rows = vec![None; now.len()];
    let mut is_found = vec![false; before.len()];
    let mut next = 0;
    for (row, instance) in rows.iter_mut().zip(now) {
        let mut ahead = before[next..].iter().take(MAX_AHEAD);
        if let Some(gone) = ahead.position(|known| Arc::ptr_eq(known, instance)) {
            *row = Some(next + gone);
            is_found[next + gone] = true;
            next += gone + 1;
        }
    }
    if is_found.contains(&false) && rows.iter().any(Option::is_none) {
        let rest = before.iter().enumerate().filter(|(row, _)| !is_found[*row]);
        let by_label: HashMap<&str, usize> = rest.map(|(row, known)| (known.label(), row)).collect();
        let unknown = rows.iter_mut().zip(now).filter(|(row, _)| row.is_none());
        unknown.for_each(|(row, instance)| *row = by_label.get(instance.label()).copied());
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn rows_are_those_of_the_labels(before in orders(), now in orders(), are_shared in any::<bool>()) {
            let mut tables = [InstanceTable::default(), InstanceTable::default()];
            let mut list = |table: usize, names: &[u32]| -> Vec<_> {
                names.iter().map(|name| tables[table].intern(None, &name.to_string(), 0)).collect()
            };
            let expected: Vec<_> = now.iter().map(|name| before.iter().position(|other| other == name)).collect();
            let (before, now) = (list(0, &before), list(usize::from(!are_shared), &now));
            prop_assert_eq!(rows_before(&before, &now), expected);
        }
    }

    /// Up to 60 numbers, ascending except for a few that are moved.
    fn orders() -> impl Strategy<Value = Vec<u32>> {
        let numbers: Vec<u32> = (0..60).collect();
        (prop::sample::subsequence(numbers, 0..60), prop::collection::vec(any::<prop::sample::Index>(), 0..4))
            .prop_map(|(mut numbers, moved)| {
                for index in moved.into_iter().take(numbers.len()) {
                    let number = numbers.remove(index.index(numbers.len()));
                    numbers.push(number);
                }
                numbers
            })
    }
}
