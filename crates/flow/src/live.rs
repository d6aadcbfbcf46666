//! Live samples of this machine.

mod groups;
mod machines;
mod report;
mod sample_times;
mod set_watcher;
mod stop;
mod timed;

use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Extent};
use tachograph_perflib::registration::{CounterSetInfo, counter_of};
use tachograph_perflib::{ErrorCode, Query, Registry};

pub use machines::{Arrival, Exchanges, MachineEvent, MachineMember, MachinesSource, OnMachineEvents};
pub use report::{CollectionError, LiveCounts, LiveReport, Outage};
pub use set_watcher::Refresh;
pub use stop::Stop;
pub use timed::{Collect, Schedule, TimedSource};

use crate::Selection;
use groups::LiveGroups;
use sample_times::SampleTimes;
use set_watcher::SetWatcher;

/// Options of a [`LiveSource`]. By default, times are in UTC.
#[derive(Clone, Debug, Default)]
pub struct LiveOptions {
    /// Whether the sink pairs values by [identity](tachograph_counters::sample::Group::identities) too, as the sinks of
    /// this crate do for live sources. If so, a new process can take the name of a process that ended since the
    /// previous sample. If not, values are paired by name alone, so for one sample the new process gets a different
    /// name, and its first interval is lost. Logs with `ID Process` of all processes need no such name, because their
    /// readers compare the ids.
    pub pairs_by_identity: bool,
    /// Minutes to add to local time to get UTC. Fixed for all samples, so that local times never go backwards.
    pub bias_minutes: i32,
    /// The boot time of the machine, in UTC; 0 if unknown.
    pub boot_time: FileTime,
}

/// Takes samples of a machine's counters. A group consists of consecutive counters of a set that the paths select for
/// the same instances. Its extent is [`Extent::Row`] for a single instance or a set without instances, and
/// [`Extent::Columns`] if the instances are selected with wildcards.
///
/// [`collect`](Self::collect) takes a sample; a [`TimedSource`] calls it on a schedule. The time of a sample is that of
/// the wall clock, truncated to milliseconds, with the UTC offset in [`LiveOptions::bias_minutes`]. It never goes
/// backwards: after the clock was set back, each sample is 1 ms after the previous one until the clock has caught up.
/// Intervals are measured with a monotonic clock.
pub struct LiveSource {
    query: Query,
    groups: LiveGroups,
    /// The paths as the caller gave them.
    paths: Vec<PathPattern>,
    watcher: Option<SetWatcher>,
    options: LiveOptions,
    report: LiveReport,
    times: SampleTimes,
}

impl LiveSource {
    /// Opens the counters that the paths select, each once, in the order of the paths. An instance need not exist yet.
    ///
    /// Also returns the selection, which reports the paths that select no counter of this machine, with suggestions.
    ///
    /// # Errors
    ///
    /// See [`Query::open`].
    pub fn open(
        registry: &Arc<Registry>,
        paths: &[PathPattern],
        options: LiveOptions,
    ) -> Result<(Self, Selection), ErrorCode> {
        let mut source = Self {
            query: Query::open(registry, None)?,
            groups: LiveGroups::new(options.pairs_by_identity),
            paths: Vec::new(),
            watcher: None,
            report: LiveReport::default(),
            times: SampleTimes::default(),
            options,
        };
        let selection = source.set_paths(paths);
        Ok((source, selection))
    }

    /// Replaces the paths, which changes the groups of the next samples. For counters that remain selected, the `#n`
    /// numbers of instances are kept, and values are still paired with those of the previous sample.
    pub fn set_paths(&mut self, paths: &[PathPattern]) -> Selection {
        self.paths = paths.to_vec();
        self.select(paths)
    }

    /// Like [`set_paths`](Self::set_paths), but only returns whether each path selects a counter, without suggestions.
    pub fn select_paths(&mut self, paths: &[PathPattern]) -> Vec<bool> {
        self.paths = paths.to_vec();
        let selection = Selection::new(paths.to_vec());
        self.groups.select(&mut self.query, paths, &selection);
        selection.matched_paths()
    }

    fn select(&mut self, paths: &[PathPattern]) -> Selection {
        let selection = Selection::new(paths.to_vec());
        let registry = self.query.registry();
        for info in registry.counter_sets() {
            selection.record_set(&description_of(registry.machine(), info));
        }
        self.groups.select(&mut self.query, paths, &selection);
        selection
    }

    /// Replaces the registry. Takes effect at the next [`set_paths`](Self::set_paths).
    pub fn set_registry(&mut self, registry: &Arc<Registry>) {
        self.query.adopt(registry);
    }

    /// Watches for counter sets that appear and disappear. `refresh` is called every few seconds, before a sample; if
    /// the sets have changed, the paths are resolved again. Sets that remain are not affected.
    pub fn follow(&mut self, refresh: Refresh) {
        self.watcher = Some(SetWatcher::new(refresh));
    }

    fn check_sets(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let Some(registry) = watcher.check(self.query.registry()) else { return };
        self.query.adopt(&registry);
        // A path can resolve differently if there is a new set.
        let paths: Vec<_> = self.paths.iter().map(|path| registry.resolve_path(path)).collect();
        self.select(&paths);
    }

    /// The registry of the counter sets that paths can select.
    pub fn registry(&self) -> &Arc<Registry> {
        self.query.registry()
    }

    /// The query with the last collection, for consumers that need ids of instances and counters.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Replaces the report, so that several sources can share one.
    pub fn set_report(&mut self, report: LiveReport) {
        self.report = report;
    }

    /// Delays and errors. The report is shared, so it can be read while the source is in use elsewhere.
    pub fn report(&self) -> LiveReport {
        self.report.clone()
    }

    /// Limits the time that a sample waits for providers; see [`Query::limit_wait`].
    pub fn limit_wait(&mut self, max: Duration) {
        self.query.limit_wait(max);
    }

    /// The descriptions of the groups of the next sample.
    pub fn descriptions(&self) -> impl Iterator<Item = &Arc<CounterSet>> {
        self.groups.descriptions()
    }

    /// The paths that name instances and select a counter, but had no matching instance in the last sample.
    pub fn missing_instances(&self) -> Vec<String> {
        self.groups.missing_instances()
    }

    /// Takes a sample and overwrites `sample` with it.
    pub fn collect(&mut self, sample: &mut Sample) {
        self.check_sets();
        let at = self.query.collect();
        self.groups.fill(&mut sample.groups, &self.query, at);
        sample.is_baseline = false;
        sample.log = 0;
        sample.boot_time = self.options.boot_time;
        let utc = self.times.next(at.wall);
        sample.at = Moment { utc, bias_minutes: self.options.bias_minutes };
        self.report.add_errors(self.query.registry().machine(), self.query.sets());
    }
}

/// Describes a registered set with the type that samples and logs use. The description has only the counters that can
/// be displayed.
pub fn description_of(machine: &Arc<str>, info: &CounterSetInfo) -> CounterSet {
    let mut set = CounterSet::new(Arc::clone(machine), &*info.name, Extent::Table);
    set.has_instances = info.has_instances();
    set.counters = info.counters.iter().filter(|counter| counter.is_displayable()).map(counter_of).collect();
    set
}
