//! Fewer rows: one per instance, that of the counter that changed most, and no totals that repeat an instance.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ComparisonRow;

/// A change of less than this [weight](ComparisonRow::weight) is not counted: a change by 10 % of a large value, or by a tenth of a
/// noticeable size.
const MIN_WEIGHT: f64 = 0.1;

/// Keeps the first row of each instance, and of each set without instances. Returns for each the number of further counters of
/// the instance that changed noticeably. So one event, such as the start of a process, is one row.
pub fn strongest_rows(rows: &mut Vec<ComparisonRow>) -> Vec<usize> {
    let mut others: Vec<usize> = Vec::new();
    let mut positions: HashMap<usize, usize> = HashMap::new();
    rows.retain(|row| match positions.get(&row.subject) {
        Some(&position) => {
            others[position] += usize::from(row.weight().is_some_and(|weight| weight >= MIN_WEIGHT));
            false
        }
        None => {
            positions.insert(row.subject, others.len());
            others.push(0);
            true
        }
    });
    others
}

/// Removes the rows of totals (`_Total`, `0,_Total`) whose averages equal those of an instance: that of the only disk of a machine
/// repeats the disk, and that of the only NUMA node repeats `_Total`.
pub fn remove_equal_totals(rows: &mut Vec<ComparisonRow>) {
    /// Machine, set, counter, and the bits of both averages.
    type Key = (Option<Arc<str>>, Arc<str>, Arc<str>, [Option<u64>; 2]);
    let key = |row: &ComparisonRow| -> Key {
        let averages = [row.average_before(), row.average_after()].map(|average| average.map(f64::to_bits));
        (row.machine.clone(), Arc::clone(&row.set.name), Arc::clone(&row.counter.name), averages)
    };
    let mut instances: HashSet<Key> = HashSet::new();
    let mut totals: HashSet<Key> = HashSet::new();
    for row in rows.iter() {
        match total_kind(row) {
            None => instances.insert(key(row)),
            Some(TotalKind::All) => totals.insert(key(row)),
            Some(TotalKind::Part) => false,
        };
    }
    rows.retain(|row| match total_kind(row) {
        None => true,
        Some(TotalKind::All) => !instances.contains(&key(row)),
        Some(TotalKind::Part) => !instances.contains(&key(row)) && !totals.contains(&key(row)),
    });
}

enum TotalKind {
    /// Of all instances: `_Total`.
    All,
    /// Of a part of them: `0,_Total`.
    Part,
}

/// `None` if the row is not that of a total.
fn total_kind(row: &ComparisonRow) -> Option<TotalKind> {
    let label = row.instance.as_ref()?.label();
    match label.rsplit_once([',', '/']) {
        _ if label.eq_ignore_ascii_case(TOTAL) => Some(TotalKind::All),
        Some((_, last)) if last.eq_ignore_ascii_case(TOTAL) => Some(TotalKind::Part),
        _ => None,
    }
}

const TOTAL: &str = "_Total";
