//! Reduces raw samples to columns.

use tachograph_counters::Statistics;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Sink};

use crate::reduced::Reduction;
use crate::series::{SeriesId, SeriesTable};

/// Receives the samples of a span in chronological order, and adds each interval to the column in which the interval ends.
///
/// The sink of `tacho stats` computes the statistics, so intervals and values equal those of that command. The sink is cut
/// at the end of each column.
pub struct Reducer {
    sink: StatisticsSink,
    /// Maps the sink's series index to the board's id.
    ids: Vec<SeriesId>,
    /// The column of the samples since the last cut.
    current_column: Option<usize>,
    /// Whether series whose paths differ only in the machine are merged.
    is_across_machines: bool,
}

impl Default for Reducer {
    fn default() -> Self {
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        Self {
            sink: StatisticsSink::new(options),
            ids: Vec::new(),
            current_column: None,
            is_across_machines: false,
        }
    }
}

impl Reducer {
    /// A reducer that merges the statistics of series whose paths differ only in the machine: sums and averages of the merged
    /// series are those of all intervals of all machines.
    pub fn across_machines() -> Self {
        Self { is_across_machines: true, ..Self::default() }
    }

    /// Whether the series of machines are merged.
    pub fn is_across_machines(&self) -> bool {
        self.is_across_machines
    }

    /// Prepares for another reduction of the same board. Known series keep their ids.
    pub fn rewind(&mut self) {
        self.sink.rewind();
        self.current_column = None;
    }

    /// Adds the next sample: a [baseline](Sample::is_baseline), or a sample in the reduction's span. Ignores other samples.
    ///
    /// # Errors
    ///
    /// If there are more counters than statistics can hold.
    pub fn push(
        &mut self,
        sample: &Sample,
        reduction: &mut Reduction,
        table: &mut SeriesTable,
    ) -> Result<(), FlowError> {
        if !sample.is_baseline {
            let column = reduction.span().column_of(sample.at.utc, reduction.columns());
            let Some(column) = column else { return Ok(()) };
            if self.current_column != Some(column) {
                self.cut(reduction, table);
                self.current_column = Some(column);
            }
        }
        self.sink.push(sample)
    }

    /// The index in [`ids`](Self::ids) and the statistics of each series that had a value since the last cut.
    pub(crate) fn column_states(&mut self) -> impl Iterator<Item = (usize, &Statistics)> {
        // Without a column there were only baselines: they open intervals, but none has ended.
        let has_intervals = self.current_column.is_some();
        has_intervals.then(|| self.sink.states()).into_iter().flatten()
    }

    /// The ids of all series so far. Assigns ids to new series.
    pub(crate) fn ids(&mut self, table: &mut SeriesTable) -> &[SeriesId] {
        loop {
            let next = self.ids.len();
            let row = match self.is_across_machines {
                true => self.sink.row_across_machines(next),
                false => self.sink.row(next),
            };
            let Some(row) = row else { break };
            self.ids.push(table.id_of(&row));
        }
        &self.ids
    }

    /// Adds the statistics since the last cut to their column.
    pub fn cut(&mut self, reduction: &mut Reduction, table: &mut SeriesTable) {
        let Some(column) = self.current_column else {
            // Only baselines so far: they open intervals, but none has ended.
            self.sink.cut(|_, _| {});
            return;
        };
        self.ids(table);
        let ids = &self.ids;
        self.sink.cut(|number, state| {
            if let Some(id) = ids.get(number) {
                reduction.add(*id, column, state);
            }
        });
    }
}
