//! Delays and errors of a live source.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison;
use tachograph_perflib::{Guid, QueriedSet};

/// The values of one counter set that could not be read, or are incomplete, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionError {
    /// The path of the first counter that failed, or of the counter set if the whole set failed first.
    pub path: String,
    /// The ids of the counters that failed; empty if the whole set failed.
    pub counters: Vec<u32>,
    /// Why the values could not be read.
    pub reason: Arc<str>,
    /// Number of values that could not be read or are incomplete; if the whole set failed, number of samples.
    pub count: u64,
    /// Whether the machine did not answer for a sample, and answered the next one.
    pub is_of_machine: bool,
}

/// A machine that cannot be read now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The machine.
    pub machine: Arc<str>,
    /// Why it cannot be read.
    pub reason: Arc<str>,
}

/// Delays and errors of a live source. Clones share the counts, so they can be read while the source is in use
/// elsewhere.
#[derive(Clone, Debug, Default)]
pub struct LiveReport(Arc<Mutex<State>>);

/// The counts and errors so far; see [`LiveCounts`].
#[derive(Debug, Default)]
struct State {
    samples: u64,
    late: u64,
    missed: u64,
    clock_steps: u64,
    errors: Vec<CollectionError>,
    /// Indexes in `errors`, keyed by counter set and reason. The GUID stays the same if another process publishes the
    /// set again.
    indexes: HashMap<(Guid, Arc<str>), usize>,
    /// Number of errors that `new_errors` has already returned.
    reported: usize,
    /// The machines that cannot be read now, each with the reason.
    outages: BTreeMap<Arc<str>, Arc<str>>,
    unread: u64,
    failed_sets: u64,
    /// Includes those during outages of machines.
    missing_samples: u64,
}

/// The numbers of delays and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Samples that were late by more than a tenth of the interval.
    pub late: u64,
    /// Samples that were skipped because the previous one took too long.
    pub missed: u64,
    /// Samples whose time is just 1 ms after the previous one because the wall clock was set back.
    pub clock_steps: u64,
    /// Values of counter sets that were read, but not completely.
    pub unread: u64,
    /// Reads of counter sets that failed as a whole: one per counter set and sample.
    pub failed_sets: u64,
    /// Samples of other machines that are missing: one per machine and sample.
    pub missing_samples: u64,
}

impl LiveCounts {
    /// The number of errors of all kinds. It increases with each sample that is incomplete.
    pub fn errors(&self) -> u64 {
        self.unread + self.failed_sets + self.missing_samples
    }
}

/// Maximum number of distinct errors that are recorded.
const MAX_ERRORS: usize = 1000;

impl LiveReport {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().ignore_poison()
    }

    /// Number of samples, not counting baselines.
    pub fn samples(&self) -> u64 {
        self.lock().samples
    }

    /// See [`LiveCounts::late`].
    pub fn late(&self) -> u64 {
        self.lock().late
    }

    /// See [`LiveCounts::missed`].
    pub fn missed(&self) -> u64 {
        self.lock().missed
    }

    /// See [`LiveCounts::clock_steps`].
    pub fn clock_steps(&self) -> u64 {
        self.lock().clock_steps
    }

    /// All counts.
    pub fn counts(&self) -> LiveCounts {
        let state = self.lock();
        LiveCounts {
            late: state.late,
            missed: state.missed,
            clock_steps: state.clock_steps,
            unread: state.unread,
            failed_sets: state.failed_sets,
            missing_samples: state.missing_samples,
        }
    }

    /// The machines that cannot be read now, by name.
    pub fn outages(&self) -> Vec<Outage> {
        let outage =
            |(machine, reason): (&_, &_)| Outage { machine: Arc::clone(machine), reason: Arc::clone(reason) };
        self.lock().outages.iter().map(outage).collect()
    }

    pub(super) fn begin_outage(&self, machine: &Arc<str>, reason: &Arc<str>) {
        self.lock().outages.insert(Arc::clone(machine), Arc::clone(reason));
    }

    pub(super) fn end_outage(&self, machine: &Arc<str>) {
        self.lock().outages.remove(machine);
    }

    /// Counts a sample of a machine during its outage.
    pub(super) fn count_silent(&self) {
        self.lock().missing_samples += 1;
    }

    /// All errors so far, except outages of machines.
    pub fn errors(&self) -> Vec<CollectionError> {
        self.lock().errors.clone()
    }

    /// The errors that first occurred after the previous call.
    pub fn new_errors(&self) -> Vec<CollectionError> {
        let mut state = self.lock();
        let all = state.errors.len();
        let from = std::mem::replace(&mut state.reported, all);
        state.errors[from..].to_vec()
    }

    pub(super) fn add_sample(&self, late: u64, missed: u64, is_clock_behind: bool, is_baseline: bool) {
        let mut state = self.lock();
        state.samples += u64::from(!is_baseline);
        state.late = late;
        state.missed = missed;
        state.clock_steps += u64::from(is_clock_behind);
    }

    /// Counts a sample in which a machine has no values.
    pub(super) fn add_machine_error(&self, machine: &str, reason: &Arc<str>) {
        let mut state = self.lock();
        state.missing_samples += 1;
        state.add((Guid::default(), Arc::clone(reason)), None, 1, || format!(r"\\{machine}"));
    }

    pub(super) fn add_errors(&self, machine: &str, sets: &[QueriedSet]) {
        // Failures of machines are outages.
        let is_read = |set: &QueriedSet| match set.outcome() {
            Ok(_) => true,
            Err(failure) => failure.is_of_machine,
        };
        let is_clean = |set: &QueriedSet| is_read(set) && set.rows().errors().is_empty();
        if sets.iter().all(is_clean) {
            return;
        }
        let mut state = self.lock();
        for set in sets {
            let info = set.rows().info();
            let name = &info.name;
            if let Err(failure) = set.outcome()
                && !failure.is_of_machine
            {
                state.failed_sets += 1;
                let key = (info.guid, Arc::clone(&failure.reason));
                state.add(key, None, 1, || format!(r"\\{machine}\{name}"));
            }
            for error in set.rows().errors() {
                state.unread += error.count;
                let key = (info.guid, Arc::clone(&error.reason));
                state.add(key, Some(error.counter_id), error.count, || {
                    let counter = info.position(error.counter_id);
                    let counter = counter.map_or("", |position| &info.counters[position].name);
                    let instance = match error.instance.full_name() {
                        "" => String::new(),
                        name => format!("({name})"),
                    };
                    format!(r"\\{machine}\{name}{instance}\{counter}")
                });
            }
        }
    }
}

impl State {
    /// Counts values that could not be read. `key` is the counter set and the reason; `path` returns the path for a
    /// new error.
    fn add(
        &mut self,
        key: (Guid, Arc<str>),
        counter: Option<u32>,
        count: u64,
        path: impl FnOnce() -> String,
    ) {
        if let Some(&index) = self.indexes.get(&key) {
            let error = &mut self.errors[index];
            error.count += count;
            // A linear search is fine, since a set has a few dozen counters.
            if let Some(id) = counter
                && !error.counters.contains(&id)
            {
                error.counters.push(id);
            }
        } else if self.errors.len() < MAX_ERRORS {
            let counters = counter.into_iter().collect();
            let is_of_machine = key.0 == Guid::default();
            let reason = Arc::clone(&key.1);
            self.errors.push(CollectionError { path: path(), counters, reason, count, is_of_machine });
            self.indexes.insert(key, self.errors.len() - 1);
        }
    }
}
