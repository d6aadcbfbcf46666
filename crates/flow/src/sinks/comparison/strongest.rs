//! One row per instance: that of the counter that changed most.

use std::collections::HashMap;

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
