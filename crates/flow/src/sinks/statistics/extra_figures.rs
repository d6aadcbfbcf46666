//! Statistics that are computed only on request.

use std::sync::Arc;

use tachograph_counters::Statistics;

/// The statistics to compute in addition to those of a [`Summary`](tachograph_counters::Summary).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtraFigures {
    /// Percentiles, as percentages from 0 to 100.
    pub percentiles: Arc<[f64]>,
    /// [`Statistics::standard_deviation`].
    pub standard_deviation: bool,
    /// [`Statistics::slope_per_hour`].
    pub slope_per_hour: bool,
    /// [`Statistics::maximum_time`]. It is not a number, so [`StatisticsRow`](super::StatisticsRow) has a field of its own for it.
    pub maximum_time: bool,
}

impl ExtraFigures {
    /// The names of these statistics that are numbers, which are also their JSON keys and CSV columns.
    pub fn names(&self) -> Vec<String> {
        let percentiles = self.percentiles.iter().map(|percentage| format!("p{percentage}"));
        let others =
            [("standard_deviation", self.standard_deviation), ("slope_per_hour", self.slope_per_hour)];
        let others = others.into_iter().filter(|(_, is_requested)| *is_requested);
        percentiles.chain(others.map(|(name, _)| name.to_owned())).collect()
    }

    /// Whether one of these statistics needs sums that [`Statistics`] do not have by default.
    pub(super) fn need_regression(&self) -> bool {
        self.standard_deviation || self.slope_per_hour
    }

    /// The requested numbers, in the order of [`names`](Self::names); `None` if there are not enough values.
    pub(super) fn compute(&self, statistics: &Statistics) -> Box<[Option<f64>]> {
        let percentiles = match statistics.percentiles(&self.percentiles) {
            Some(values) => values.into_iter().map(Some).collect(),
            None => vec![None; self.percentiles.len()],
        };
        let deviation = self.standard_deviation.then(|| statistics.standard_deviation());
        let slope = self.slope_per_hour.then(|| statistics.slope_per_hour());
        percentiles.into_iter().chain(deviation).chain(slope).collect()
    }
}
