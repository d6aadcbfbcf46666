//! One counter of one instance: its description, its statistics, and the origin of its last value.

use std::sync::Arc;

use tachograph_counters::set::{CounterSet, Instance};
use tachograph_counters::{Calculator, Formula, Origin, RawRun, RunBuffers, RunTimes, Series, Statistics};

use super::causes::{Causes, CounterErrors};
use super::{ExtraFigures, StatisticsOptions, StatisticsRow};

/// Identifies a series. Strings are shared: a log can have a million series.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    /// In lower case, like the names of the set and the counter.
    pub(super) machine: Arc<str>,
    pub(super) set: Arc<str>,
    /// Case-sensitive: on Linux, two names can differ in case only.
    pub(super) instance: Option<InstanceLabel>,
    pub(super) counter: Arc<str>,
    pub(super) formula: Option<Formula>,
}

/// An instance, compared by its label.
#[derive(Clone)]
pub(super) struct InstanceLabel(pub(super) Arc<Instance>);

impl PartialEq for InstanceLabel {
    fn eq(&self, other: &Self) -> bool {
        self.0.label() == other.0.label()
    }
}

impl Eq for InstanceLabel {}

impl std::hash::Hash for InstanceLabel {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.label().hash(state);
    }
}

/// A series and the origin of its last value.
pub(super) struct TrackedSeries {
    pub(super) series: Series,
    set: Arc<CounterSet>,
    column: usize,
    instance: Arc<Instance>,
    /// The log id of the previous value's sample.
    log: Option<u32>,
    /// The index of the sample of the previous value.
    pub(super) sample: u64,
    /// Whether the series was in a sample that is not a baseline.
    pub(super) is_counted: bool,
    /// Whether overlapping logs both contain the series. Then which of its values are paired depends on all earlier
    /// samples.
    pub(super) is_shared: bool,
    /// The group that supplies the values: the number of its list of groups, and its index in the list. A log can contain a counter
    /// twice, on its own and as part of a wildcard; only the first one counts.
    claimed_by: Option<(u64, usize)>,
    causes: Option<Box<Causes>>,
}

impl TrackedSeries {
    pub(super) fn new(
        set: &Arc<CounterSet>,
        column: usize,
        instance: &Arc<Instance>,
        options: &StatisticsOptions,
    ) -> Self {
        let formula = set.counters[column].counter_type.formula();
        let mut state = Statistics::new(formula, options.intervals, Some(Arc::clone(&set.machine)));
        if options.without_quantiles {
            state = state.without_quantiles();
        }
        if options.extra.need_regression() {
            state = state.with_regression();
        }
        if options.extra.maximum_time {
            state = state.with_maximum_time();
        }
        Self {
            series: Series::new(state),
            set: Arc::clone(set),
            column,
            instance: Arc::clone(instance),
            log: None,
            sample: 0,
            is_counted: false,
            is_shared: false,
            claimed_by: None,
            causes: options.with_causes.then(Box::default),
        }
    }

    /// Adds consecutive raw values that have the same origin.
    pub(super) fn add_run(
        &mut self,
        calculator: &Calculator,
        raws: &RawRun<'_>,
        times: RunTimes<'_>,
        buffers: &mut RunBuffers,
    ) {
        let Some(causes) = &mut self.causes else {
            return self.series.add_run(calculator, raws, times, buffers);
        };
        for (raw, at) in raws.iter().zip(times.as_slice()) {
            if let Some(status) = self.series.add(calculator, &raw, *at) {
                causes.record(status, *at);
            }
        }
    }

    /// Prefetches all cache lines of the series; see [`Series::load`].
    #[inline]
    pub(super) fn prefetch(&self) -> u64 {
        self.sample | u64::from(self.log.unwrap_or_default()) | self.series.load()
    }

    /// The errors by status; empty if causes are not recorded.
    pub(super) fn errors(&self) -> impl Iterator<Item = CounterErrors> {
        let causes = self.causes.iter().flat_map(|causes| causes.iter());
        causes.map(|&cause| CounterErrors {
            path: self.set.path(&self.instance, &self.set.counters[self.column]),
            cause,
        })
    }

    /// The row with the statistics of this series.
    pub(super) fn row(&self, extra: &ExtraFigures) -> StatisticsRow {
        let counter = &self.set.counters[self.column];
        StatisticsRow::new(&self.set, counter, &self.instance, self.series.statistics(), extra)
    }

    /// A row with `statistics`, which cover this counter on all machines.
    pub(super) fn row_across_machines(&self, statistics: &Statistics, extra: &ExtraFigures) -> StatisticsRow {
        let set = Arc::new(CounterSet { machine: "".into(), ..CounterSet::clone(&self.set) });
        StatisticsRow::new(&set, &set.counters[self.column], &self.instance, statistics, extra)
    }

    /// Claims the series for a group of a list of groups. Returns false if another group of the list already supplies its
    /// values.
    pub(super) fn claim(&mut self, layout: u64, group: usize) -> bool {
        if self.claimed_by.is_some_and(|(owner, other)| owner == layout && other != group) {
            return false;
        }
        self.claimed_by = Some((layout, group));
        true
    }

    /// Resets the statistics. The first interval of the window that begins here starts at the previous value.
    pub(super) fn begin_window(&mut self) {
        self.is_counted = false;
        self.series.begin_window();
    }

    /// Forgets all values, but not the group that supplies them.
    pub(super) fn rewind(&mut self) {
        (self.log, self.sample) = (None, 0);
        (self.is_counted, self.is_shared) = (false, false);
        self.series.interrupt();
        drop(self.series.cut());
    }

    /// Whether the series has had a value.
    pub(super) fn has_values(&self) -> bool {
        self.log.is_some()
    }

    /// The index of the last sample that contained the series, if that sample is from another log.
    pub(super) fn last_in_other_log(&self, log: u32) -> Option<u64> {
        self.log.is_some_and(|last| last != log).then_some(self.sample)
    }

    /// Interrupts the series, because its instance disappeared from a log.
    pub(super) fn leave(&mut self, log: u32) {
        self.is_shared |= self.log.is_some_and(|other| other != log);
        self.interrupt();
    }

    /// Forgets the previous value, because the instance was absent from a sample. If that value is from before the window, no
    /// interval starts at it, so the statistics' time range does not begin with it either.
    pub(super) fn interrupt(&mut self) {
        self.series.interrupt();
        if !self.is_counted {
            drop(self.series.cut());
        }
    }

    /// Sets the log and the origin of the next values.
    pub(super) fn set_origin(&mut self, log: u32, origin: Origin) {
        // Logs that follow one another have ascending ids.
        self.is_shared |= self.log.is_some_and(|previous| previous > log);
        self.log = Some(log);
        self.series.follow(origin);
    }
}
