//! One counter of one instance: what it is, and where its last value is from.

use std::sync::Arc;

use tachograph_counters::civil::Moment;
use tachograph_counters::set::{CounterSet, Instance};
use tachograph_counters::{Calculator, Formula, Origin, RawValue, Series, Statistics, Summary};

use super::causes::{Causes, CounterErrors};
use super::{StatisticsOptions, StatisticsRow};

/// What tells one series from another. Strings are shared: a log can have a million series.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    /// Without case, as the set's and the counter's names.
    pub(super) machine: Arc<str>,
    pub(super) set: Arc<str>,
    /// With case: two names on Linux may differ in case alone.
    pub(super) instance: Option<Label>,
    pub(super) counter: Arc<str>,
    pub(super) formula: Option<Formula>,
}

/// An instance, compared by its label.
#[derive(Clone)]
pub(super) struct Label(pub(super) Arc<Instance>);

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        self.0.label() == other.0.label()
    }
}

impl Eq for Label {}

impl std::hash::Hash for Label {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.label().hash(state);
    }
}

/// A series, and what its last value is from.
pub(super) struct Tracked {
    pub(super) series: Series,
    pub(super) set: Arc<CounterSet>,
    column: usize,
    pub(super) instance: Arc<Instance>,
    /// The log that the value before is from.
    log: Option<u32>,
    /// The number of the sample that the value before is from.
    pub(super) sample: u64,
    /// Whether it was in a sample that is no baseline.
    pub(super) is_counted: bool,
    /// Whether logs that lie side by side both have it: which of its values make a pair hangs on all that came before.
    pub(super) is_shared: bool,
    /// The log and its group that values come from. A log can hold a counter twice, by itself and within a wildcard:
    /// the first one counts.
    pub(super) claimed_log: Option<u32>,
    slot: usize,
    /// Why its intervals were errors, where that is kept.
    causes: Option<Box<Causes>>,
}

impl Tracked {
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
        Self {
            series: Series::new(state),
            set: Arc::clone(set),
            column,
            instance: Arc::clone(instance),
            log: None,
            sample: 0,
            is_counted: false,
            is_shared: false,
            claimed_log: None,
            slot: 0,
            causes: options.with_causes.then(Box::default),
        }
    }

    /// Adds consecutive raw values of one origin.
    pub(super) fn add_run<'a>(
        &mut self,
        calculator: &Calculator,
        run: impl Iterator<Item = (&'a RawValue, Moment)>,
    ) {
        let Some(causes) = &mut self.causes else {
            return self.series.add_run(calculator, run);
        };
        for (raw, at) in run {
            if let Some(status) = self.series.add(calculator, raw, at) {
                causes.note(status, at);
            }
        }
    }

    /// The errors by status, as far as their causes are kept.
    pub(super) fn errors(&self) -> impl Iterator<Item = CounterErrors> {
        let causes = self.causes.iter().flat_map(|causes| causes.iter());
        causes.map(|&cause| CounterErrors {
            path: self.set.path(&self.instance, &self.set.counters[self.column]),
            cause,
        })
    }

    pub(super) fn row(&self, summary: Summary, across_machines: bool) -> StatisticsRow {
        let counter = self.set.counters[self.column].clone();
        let mut set = Arc::clone(&self.set);
        if across_machines {
            let mut nameless = CounterSet::clone(&set);
            nameless.machine = "".into();
            set = Arc::new(nameless);
        }
        StatisticsRow {
            path: set.path(&self.instance, &counter),
            machine: (!set.machine.is_empty()).then(|| Arc::clone(&set.machine)),
            instance: set.has_instances.then(|| Arc::clone(&self.instance)),
            counter,
            set,
            summary,
        }
    }

    /// Whether the values of this slot count for the series; not so when another group of the same log has it already.
    pub(super) fn claim(&mut self, log: u32, slot: usize) -> bool {
        if self.claimed_log == Some(log) && self.slot != slot {
            return false;
        }
        self.claimed_log = Some(log);
        self.slot = slot;
        true
    }

    /// Whether it had a value before.
    pub(super) fn was_seen(&self) -> bool {
        self.log.is_some()
    }

    /// The number of the last sample that it was in, where that is of another log than this one.
    pub(super) fn last_in_other_log(&self, log: u32) -> Option<u64> {
        self.log.is_some_and(|last| last != log).then_some(self.sample)
    }

    /// It is gone from a log.
    pub(super) fn leave(&mut self, log: u32) {
        self.is_shared |= self.log.is_some_and(|other| other != log);
        self.series.interrupt();
    }

    /// Says which log and origin the next values are of.
    pub(super) fn follow(&mut self, log: u32, origin: Origin) {
        // The numbers of logs that follow one another rise.
        self.is_shared |= self.log.is_some_and(|before| before > log);
        self.log = Some(log);
        self.series.follow(origin);
    }
}
