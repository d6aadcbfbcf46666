//! Samples of this machine, as they come.

mod lookout;
mod report;
mod stop;
mod timed;
mod views;

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent};
use tachograph_perflib::registration::{CounterSetInfo, counter_of};
use tachograph_perflib::{ErrorCode, Moments, Query, Registry};

pub use lookout::Refresh;
pub use report::{LiveCounts, LiveReport, LiveTrouble};
pub use stop::Stop;
pub use timed::{Schedule, TimedSource};

use crate::Selection;
use lookout::Lookout;
use views::{LiveGroup, NamedSet};

/// Properties of the samples; by default in UTC.
#[derive(Clone, Debug, Default)]
pub struct LiveOptions {
    /// Whether whatever takes the samples pairs values by [identities](tachograph_counters::sample::Group::identities) too, as
    /// the sinks of this crate do. Then a process that replaces another has its name in the next sample; else it has
    /// another name for one sample, since logs are paired by names alone.
    pub pairs_by_identity: bool,
    /// Minutes to add to local time to get UTC, for the whole run: local times then rise, also where daylight time ends.
    pub bias_minutes: i32,
    /// When the machine was started, UTC; 0 where unknown.
    pub boot_time: FileTime,
}

/// Takes samples of a machine's counters, one group per counter that a path selects: [`Extent::Column`] where the
/// instance has wildcards, else [`Extent::Value`].
///
/// A sample is taken whenever [`collect`](Self::collect) is called; a [`TimedSource`] calls it on time. Sample times are those of the wall clock in the bias of the start, cut
/// to milliseconds, and rise always: where the clock goes back, each is 1 ms after the one before until the clock is
/// there again. Intervals are measured by a clock that knows no steps, whatever the sample times say.
pub struct LiveSource {
    query: Query,
    named: Vec<NamedSet>,
    groups: Vec<LiveGroup>,
    /// The paths as they were given.
    paths: Vec<PathPattern>,
    lookout: Option<Lookout>,
    /// The paths as they mean on this machine, with the groups that they select.
    asked: Vec<(String, Vec<usize>)>,
    options: LiveOptions,
    report: LiveReport,
    last: Option<FileTime>,
    last_wall: Option<FileTime>,
    /// Whether the wall clock was set back, and is not yet where it had been.
    is_clock_behind: bool,
}

impl LiveSource {
    /// A source of what the paths select, in their order; what a path selects again is left out.
    ///
    /// Gives also the selection, which knows the paths that select no counter of this machine, and what there is instead.
    /// An instance need not be there (yet).
    ///
    /// # Errors
    ///
    /// The code of [`Query::open`].
    pub fn open(
        registry: &Arc<Registry>,
        paths: &[PathPattern],
        options: LiveOptions,
    ) -> Result<(Self, Selection), ErrorCode> {
        let mut source = Self {
            query: Query::open(registry, None)?,
            named: Vec::new(),
            groups: Vec::new(),
            paths: Vec::new(),
            lookout: None,
            asked: Vec::new(),
            report: LiveReport::default(),
            last: None,
            last_wall: None,
            is_clock_behind: false,
            options,
        };
        let selection = source.set_paths(paths);
        Ok((source, selection))
    }

    /// Takes samples of what these paths select from now on, as [`open`](Self::open) does. The groups of samples change;
    /// what was there before goes on undisturbed: the numbers of its instances stay, and its pairs are not broken.
    pub fn set_paths(&mut self, paths: &[PathPattern]) -> Selection {
        self.paths = paths.to_vec();
        self.select(paths)
    }

    fn select(&mut self, paths: &[PathPattern]) -> Selection {
        let registry = Arc::clone(self.query.registry());
        let selection = Selection::new(paths.to_vec());
        registry
            .counter_sets()
            .for_each(|info| selection.note_set(&description_of(registry.machine(), info)));
        let matches = self.query.set_paths(paths);
        let mut before = std::mem::take(&mut self.groups);
        for (place, set) in self.query.sets().iter().enumerate() {
            match self.named.get_mut(place) {
                None => self.named.push(NamedSet::new(set, self.options.pairs_by_identity)),
                Some(named) if named.is_of(set) => {}
                Some(named) => {
                    *named = NamedSet::new(set, self.options.pairs_by_identity);
                    before.retain(|group| group.set() != place);
                }
            }
        }
        self.asked = paths.iter().map(|path| (path.to_string(), Vec::new())).collect();
        for (number, (path, found)) in paths.iter().zip(&matches).enumerate() {
            for found in found {
                selection.note_match(number);
                let info = self.query.sets()[found.set].rows().info();
                let set = &mut self.named[found.set];
                let Some(group) = LiveGroup::new(registry.machine(), info, found, path, set) else {
                    continue;
                };
                let known = self.groups.iter().position(|known| known.is_same(&group));
                self.asked[number].1.push(known.unwrap_or(self.groups.len()));
                if known.is_none() {
                    // The same description as before: who pairs values knows the group by it.
                    let same = before.iter().find(|known| known.is_same(&group)).cloned();
                    self.groups.push(same.unwrap_or(group));
                }
            }
        }
        for (number, named) in self.named.iter_mut().enumerate() {
            named.keep_views(self.groups.iter_mut().filter(|group| group.set() == number));
        }
        selection
    }

    /// Looks up what is asked for from now on in this registry, which is that of a later moment
    /// ([`set_paths`](Self::set_paths) does so).
    pub fn adopt(&mut self, registry: &Arc<Registry>) {
        self.query.adopt(registry);
    }

    /// Follows counter sets that come and go from now on: now and then, before a sample, `refresh` is asked for the sets that
    /// there are, and where they are others the paths select anew. What stays goes on undisturbed; a set that has gone is in
    /// no sample any more.
    pub fn follow(&mut self, refresh: Refresh) {
        self.lookout = Some(Lookout::new(refresh));
    }

    fn look(&mut self) {
        let Some(lookout) = &mut self.lookout else { return };
        let Some(registry) = lookout.look(self.query.registry()) else { return };
        self.query.adopt(&registry);
        // What a path means may depend on the set that has come.
        let paths: Vec<_> = self.paths.iter().map(|path| registry.path_here(path)).collect();
        self.select(&paths);
    }

    /// The registry that paths are looked up in.
    pub fn registry(&self) -> &Arc<Registry> {
        self.query.registry()
    }

    /// What happens beside the samples; readable while the source is consumed elsewhere.
    pub fn report(&self) -> LiveReport {
        self.report.clone()
    }

    /// The descriptions of the groups that samples will have.
    pub fn descriptions(&self) -> impl Iterator<Item = &Arc<CounterSet>> {
        self.groups.iter().map(LiveGroup::description)
    }

    /// The paths, as they were given, that select a counter but had no instance in the last sample.
    pub fn missing_instances(&self) -> Vec<String> {
        let is_missing = |groups: &[usize]| {
            !groups.is_empty() && groups.iter().all(|&group| self.groups[group].misses_instance(&self.named))
        };
        let missing = self.asked.iter().filter(|(_, groups)| is_missing(groups));
        missing.map(|(path, _)| path.clone()).collect()
    }

    /// Takes a sample now.
    pub fn collect(&mut self, sample: &mut Sample) {
        self.look();
        let at = self.query.collect();
        for (named, set) in self.named.iter_mut().zip(self.query.sets()) {
            named.take(set);
        }
        sample.groups.truncate(self.groups.len());
        while sample.groups.len() < self.groups.len() {
            let description = self.groups[sample.groups.len()].description();
            sample.groups.push(Group::new(Arc::clone(description)));
        }
        for (live, group) in self.groups.iter().zip(&mut sample.groups) {
            live.fill(group, &self.query.sets()[live.set()], &self.named[live.set()], at);
        }
        sample.is_baseline = false;
        sample.log = 0;
        sample.boot_time = self.options.boot_time;
        sample.at = self.rising(at);
        self.report.note_troubles(self.query.registry().machine(), self.query.sets());
    }

    /// The sample's time: the wall clock's, but after that of the sample before.
    fn rising(&mut self, at: Moments) -> Moment {
        let wall = FileTime(at.wall.0 - at.wall.0.rem_euclid(FileTime::PER_MILLISECOND));
        let went_back = self.last_wall.replace(at.wall).is_some_and(|last| at.wall < last);
        let utc = match self.last {
            Some(last) if wall <= last => {
                // Two samples of one millisecond are no sign of a clock that was set.
                self.is_clock_behind |= went_back;
                last.saturating_add(FileTime::PER_MILLISECOND)
            }
            _ => {
                self.is_clock_behind = false;
                wall
            }
        };
        self.last = Some(utc);
        Moment { utc, bias_minutes: self.options.bias_minutes }
    }
}

/// A registered set as samples and logs describe it, with the counters that are shown.
pub fn description_of(machine: &Arc<str>, info: &CounterSetInfo) -> CounterSet {
    let mut set = CounterSet::new(Arc::clone(machine), &*info.name, Extent::Table);
    set.has_instances = info.has_instances();
    set.counters = info.counters.iter().filter(|counter| counter.is_displayable()).map(counter_of).collect();
    set
}
