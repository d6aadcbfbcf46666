//! Sums of the rows below a heading, such as the processes of a control group.

use tachograph_counters::Formula;

use super::{TableLine, TableModel};
use crate::figures::NumberForm;

impl TableModel {
    /// The sum of a column over the rows below a heading; `None` for other lines, and for columns whose sums mean nothing, such
    /// as ids, latencies, and [memory that processes share](super::TableColumn::counts_shared_memory).
    ///
    /// Each value is multiplied by the fraction of the time range in which its row had values, so the sum is the average that a
    /// counter of the whole group would have.
    pub fn group_sum(&self, line: usize, column: usize) -> Option<f64> {
        let TableLine::Group { rows, .. } = self.lines.get(line)? else { return None };
        let shown_column = self.layout.columns.get(column)?;
        let is_sum = !shown_column.is_id() && !shown_column.counts_shared_memory();
        let counter = shown_column.counter().filter(|_| is_sum)?;
        let is_additive = matches!(
            counter.counter_type.formula(),
            Some(Formula::Value | Formula::Rate | Formula::Percent | Formula::MultiPercent)
        );
        let members = self.lines.iter().skip(line + 1).take(*rows);
        let values = members.filter_map(|member| match member {
            TableLine::Row { row, .. } => {
                let share = self.rows.rows.get(*row)?.intervals as f64 / self.intervals.max(1) as f64;
                Some(self.value(*row, column)? * share)
            }
            TableLine::Group { .. } => None,
        });
        is_additive.then(|| values.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value)))?
    }

    /// The text of a [sum](Self::group_sum).
    pub fn group_text(&self, line: usize, column: usize, form: NumberForm) -> Option<String> {
        Some(self.layout.columns.get(column)?.text(self.group_sum(line, column)?, form))
    }
}
