//! From raw samples to columns.

use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Sink};

use crate::reduced::Reduction;
use crate::series::{SeriesId, SeriesTable};

/// Takes the samples of a stretch in the order of time, and adds each interval to the column in which it ends.
///
/// Which values make a pair is decided by the one sink that `tacho stats` has, which is cut where a column ends.
pub struct Reducer {
    sink: StatisticsSink,
    /// By the sink's number: that of the board.
    ids: Vec<SeriesId>,
    /// The column of the samples since the last cut.
    current: Option<usize>,
}

impl Default for Reducer {
    fn default() -> Self {
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        Self { sink: StatisticsSink::new(options), ids: Vec::new(), current: None }
    }
}

impl Reducer {
    /// Takes the next sample: a [baseline](Sample::is_baseline), or one of the reduction's span. Others are left out.
    ///
    /// # Errors
    ///
    /// When there are more counters than statistics are kept of.
    pub fn take(
        &mut self,
        sample: &Sample,
        reduction: &mut Reduction,
        table: &mut SeriesTable,
    ) -> Result<(), FlowError> {
        if !sample.is_baseline {
            let column = reduction.span().column_of(sample.at.utc, reduction.columns());
            let Some(column) = column else { return Ok(()) };
            if self.current != Some(column) {
                self.cut(reduction, table);
                self.current = Some(column);
            }
        }
        self.sink.take(sample)
    }

    /// Adds what was taken since the last cut.
    pub fn cut(&mut self, reduction: &mut Reduction, table: &mut SeriesTable) {
        let Some(column) = self.current else {
            // Only baselines so far, which have covered a moment but counted nothing.
            self.sink.cut(|_, _| {});
            return;
        };
        let mut states = Vec::new();
        self.sink.cut(|number, state| states.push((number, state)));
        for (number, state) in states {
            while self.ids.len() <= number {
                let Some(row) = self.sink.row(self.ids.len()) else { return };
                self.ids.push(table.number(&row));
            }
            reduction.add(self.ids[number], column, state);
        }
    }
}
