//! Statistics of consecutive time ranges of equal length.

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_logs::Reservation;

use super::statistics::{CounterErrors, StatisticsOptions, StatisticsRow, StatisticsSink, StatisticsSpan};
use crate::{FlowError, Sink};

/// A sink that computes the statistics of consecutive time ranges of equal length. Their bounds are aligned to the local
/// time of the log: a length of five minutes gives 10:00, 10:05, and so on.
///
/// An interval between two samples belongs to the time range in which it ends. The statistics of a time range equal
/// those of a window with the same bounds ([`WindowBounds`](crate::WindowBounds)). Time ranges without a sample have no
/// rows.
pub struct PeriodicStatistics<F> {
    sink: StatisticsSink,
    /// The length of a time range, in units of 100 ns.
    length: i64,
    current_period: Option<Period>,
    on_rows: F,
}

/// The time range of the samples since rows were last reported.
#[derive(Clone, Copy)]
struct Period {
    begin: Moment,
    /// The UTC offset of the last sample, as a bias. It differs from that of `begin` if the clocks were changed in between.
    last_bias: i32,
}

impl<F: FnMut(StatisticsSpan, Vec<StatisticsRow>) -> Result<(), FlowError>> PeriodicStatistics<F> {
    /// A sink that calls `on_rows` with the rows of every time range of `length` units of 100 ns that has samples,
    /// sorted by path.
    pub fn new(options: StatisticsOptions, length: i64, on_rows: F) -> Self {
        Self { sink: StatisticsSink::new(options), length: length.max(1), current_period: None, on_rows }
    }

    /// See [`StatisticsSink::count_memory`].
    pub fn count_memory(&mut self, memory: Reservation) {
        self.sink.count_memory(memory);
    }

    /// See [`StatisticsSink::errors`]; over all time ranges.
    pub fn errors(&self) -> Vec<CounterErrors> {
        self.sink.errors()
    }

    /// The time range that contains `at`: the current one, or another.
    fn period_of(&self, at: Moment) -> Period {
        let local = at.local();
        let begin =
            Moment::from_local(local.saturating_sub(local.0.rem_euclid(self.length)), at.bias_minutes);
        let is_current = |current: &Period| {
            // When the clocks are turned back, local times occur twice. A time range that begins at the same local time after
            // the current one has ended is a different one.
            current.begin.local() == begin.local() && begin.utc.since(current.begin.utc) < self.length
        };
        let begin = self.current_period.filter(is_current).map_or(begin, |current| current.begin);
        Period { begin, last_bias: at.bias_minutes }
    }

    /// Ends the current time range and reports its rows.
    fn end_period(&mut self) -> Result<(), FlowError> {
        let Some(Period { begin, last_bias }) = self.current_period.take() else { return Ok(()) };
        let end = Moment::from_local(begin.local().saturating_add(self.length), last_bias);
        let rows = self.sink.take_rows();
        if rows.is_empty() { Ok(()) } else { (self.on_rows)(StatisticsSpan { begin, end }, rows) }
    }
}

impl<F: FnMut(StatisticsSpan, Vec<StatisticsRow>) -> Result<(), FlowError>> Sink for PeriodicStatistics<F> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        if !sample.is_baseline {
            let period = self.period_of(sample.at);
            if self.current_period.is_some_and(|current| current.begin != period.begin) {
                self.end_period()?;
            }
            self.current_period = Some(period);
        }
        self.sink.push(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.sink.finish()?;
        self.end_period()
    }
}
