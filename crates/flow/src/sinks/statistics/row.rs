//! The rows of the result, one per counter and instance.

use std::sync::Arc;

use tachograph_counters::civil::Moment;
use tachograph_counters::set::{Counter, CounterSet, Instance};
use tachograph_counters::{Statistics, Summary};

use super::ExtraFigures;

/// The time range that a row covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticsSpan {
    /// The first moment in the range.
    pub begin: Moment,
    /// The first moment after the range.
    pub end: Moment,
}

/// The statistics of one counter of one instance.
#[derive(Clone, Debug)]
pub struct StatisticsRow {
    /// The full path, without a machine if machines were merged.
    pub path: String,
    /// The machine; `None` if machines were merged, or if the log does not name one.
    pub machine: Option<Arc<str>>,
    /// The counter set.
    pub set: Arc<CounterSet>,
    /// The counter.
    pub counter: Counter,
    /// The instance; `None` for a set without instances.
    pub instance: Option<Arc<Instance>>,
    /// The statistics.
    pub summary: Summary,
    /// The requested [`ExtraFigures`], in the order of their names.
    pub extra: Box<[Option<f64>]>,
    /// The end of the interval with the maximum, if [requested](ExtraFigures::maximum_time).
    pub maximum_time: Option<Moment>,
}

impl StatisticsRow {
    pub(super) fn new(
        set: &Arc<CounterSet>,
        counter: &Counter,
        instance: &Arc<Instance>,
        statistics: &Statistics,
        extra: &ExtraFigures,
    ) -> Self {
        Self {
            path: set.path(instance, counter),
            machine: (!set.machine.is_empty()).then(|| Arc::clone(&set.machine)),
            set: Arc::clone(set),
            counter: counter.clone(),
            instance: set.has_instances.then(|| Arc::clone(instance)),
            summary: statistics.summary(),
            extra: extra.compute(statistics),
            maximum_time: statistics.maximum_time(),
        }
    }
}
