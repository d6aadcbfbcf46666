//! The contents of a data source: counter sets with their counters and instances.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::set::{Counter, CounterSet, Instance, TitleIndexes};
use tachograph_counters::wildcard::{Pattern, eq_ignore_case, fold_case};
use tachograph_flow::UnionScan;
use tachograph_flow::live::description_of;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, Failure, Numbering, Registry};

use crate::source::{DataSource, Origin};
use crate::{PdhStatus, Result};

/// A counter set of a data source.
pub(crate) struct KnownSet {
    pub(crate) machine: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) english_name: Option<Arc<str>>,
    pub(crate) has_instances: bool,
    /// Whether the instances are processes. A path may then omit the instance.
    pub(crate) is_per_process: bool,
    pub(crate) detail_level: u32,
    /// For logs, one part per group of the [`UnionScan`]. For a machine, a single part, whose instances are read on
    /// demand.
    parts: Vec<Part>,
    /// The registration; `None` for logs.
    live: Option<LiveSet>,
}

/// A registered counter set.
#[derive(Clone)]
pub(crate) struct LiveSet {
    info: Arc<CounterSetInfo>,
    /// The counter sets of the machine.
    pub(crate) registry: Arc<Registry>,
}

/// Counters of a set, and the instances that have them.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) set: Arc<CounterSet>,
    pub(crate) instances: Vec<Arc<Instance>>,
}

impl KnownSet {
    /// Whether `name` is the set's name or English name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        is_named(&self.name, self.english_name.as_ref(), name)
    }

    /// Whether a pattern matches the set's name or English name.
    pub(crate) fn matches(&self, pattern: &Pattern) -> bool {
        pattern.matches(&self.name) || self.english_name.as_ref().is_some_and(|name| pattern.matches(name))
    }

    /// The counters in the order of the set, without duplicates.
    pub(crate) fn counters(&self) -> impl Iterator<Item = &Counter> {
        let mut known = HashSet::new();
        let is_single = self.parts.len() == 1;
        let counters = self.parts.iter().flat_map(|part| &part.set.counters);
        counters.filter(move |counter| is_single || known.insert(fold_case(&counter.name)))
    }

    /// The help text of a counter; empty if the source has none.
    pub(crate) fn help(&self, counter: &str) -> Arc<str> {
        let counters = self.live.iter().flat_map(|live| &live.info.counters);
        let info = counters.into_iter().find(|info| *info.name == *counter);
        info.map_or_else(Arc::default, |info| Arc::from(&*info.help))
    }

    /// The registration; `None` for logs.
    pub(crate) fn live(&self) -> Option<&LiveSet> {
        self.live.as_ref()
    }

    /// The title indexes (in PerfLib V1, the indexes of texts) of the set's name and help, if a log has them.
    pub(crate) fn indexes(&self) -> Option<TitleIndexes> {
        self.parts.first().and_then(|part| part.set.indexes)
    }

    /// The title index of the set's default counter, or 0.
    pub(crate) fn default_counter(&self) -> u32 {
        self.parts.first().map_or(0, |part| part.set.default_counter)
    }
}

/// Whether `name` is the counter's name or English name.
pub(crate) fn is_counter_named(counter: &Counter, name: &str) -> bool {
    is_named(&counter.name, counter.english_name.as_ref(), name)
}

/// Whether a pattern matches a counter's name or English name.
pub(crate) fn counter_matches(counter: &Counter, pattern: &PathPattern) -> bool {
    pattern.matches_counter(&counter.name)
        || counter.english_name.as_ref().is_some_and(|name| pattern.matches_counter(name))
}

fn is_named(own: &str, english: Option<&Arc<str>>, name: &str) -> bool {
    eq_ignore_case(own, name) || english.is_some_and(|english| eq_ignore_case(english, name))
}

/// The counter sets of scanned logs, with their instances.
pub(crate) fn sets_from_scan(scan: &UnionScan) -> Vec<KnownSet> {
    let mut sets: Vec<KnownSet> = Vec::new();
    let mut indexes = HashMap::new();
    for group in scan.groups() {
        let set = &group.set;
        let key = (fold_case(&set.machine), fold_case(&set.name), set.has_instances);
        let index = *indexes.entry(key).or_insert(sets.len());
        if index == sets.len() {
            sets.push(KnownSet {
                machine: Arc::clone(&set.machine),
                name: Arc::clone(&set.name),
                english_name: set.english_name.clone(),
                has_instances: set.has_instances,
                is_per_process: false,
                detail_level: 0,
                parts: Vec::new(),
                live: None,
            });
        }
        sets[index].parts.push(Part { set: Arc::clone(set), instances: group.instances.clone() });
    }
    sets
}

/// The counter sets of a machine, without their instances.
fn sets_from_registry(registry: &Arc<Registry>) -> Vec<KnownSet> {
    let entry = |info: &Arc<CounterSetInfo>| KnownSet {
        machine: Arc::clone(registry.machine()),
        name: Arc::from(&*info.name),
        english_name: None,
        has_instances: info.has_instances(),
        is_per_process: info.is_per_process,
        detail_level: info.detail_level,
        parts: vec![Part { set: Arc::new(description_of(registry.machine(), info)), instances: Vec::new() }],
        live: Some(LiveSet { info: Arc::clone(info), registry: Arc::clone(registry) }),
    };
    registry.counter_sets().map(entry).collect()
}

impl DataSource {
    /// The parts of a set with their instances. For a machine, this reads the current instances.
    pub(crate) fn parts<'a>(&self, set: &'a KnownSet) -> Result<Cow<'a, [Part]>> {
        let Some(LiveSet { info, registry }) = &set.live else {
            return Ok(Cow::Borrowed(&set.parts));
        };
        let mut parts = set.parts.clone();
        if let (Some(part), true) = (parts.first_mut(), info.has_instances()) {
            let keys = registry.instances(info.guid).map_err(|failure| status_of(&failure))?;
            part.instances = Numbering::default().assign(&keys).to_vec();
        }
        Ok(Cow::Owned(parts))
    }

    /// Connects to a machine, if the source is a machine and `machine` names another machine. For logs, checks that they
    /// contain the machine.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_MACHINE`] if the machine is unknown or does not answer, or if the logs do not contain it;
    /// [`PdhStatus::CANNOT_CONNECT_MACHINE`] if the machine refuses this program, or cannot be read. Errors of reading a log.
    #[doc(alias = "PdhConnectMachineW")]
    #[doc(alias = "PdhConnectMachineA")]
    pub fn connect_machine(&self, machine: Option<&str>) -> Result<()> {
        self.sets_of(machine).map(|_| ())
    }

    /// The counter sets of a machine. If `machine` is `None`, those of the local machine, or of all machines of a log.
    ///
    /// # Errors
    ///
    /// Same as [`connect_machine`](Self::connect_machine).
    pub(crate) fn sets_of(&self, machine: Option<&str>) -> Result<Vec<SetRef>> {
        let name = machine.unwrap_or_default().trim_start_matches('\\');
        let sets: Arc<[KnownSet]> = match self.origin() {
            Origin::Machine(registry) => {
                let registry = registry().of_machine(Some(name));
                sets_from_registry(&registry.map_err(|failure| status_of_machine(failure.code))?).into()
            }
            Origin::Logs(logs) => Arc::clone(&logs.scan()?.sets),
        };
        let is_selected = |set: &KnownSet| match self.origin() {
            Origin::Machine(_) => true,
            Origin::Logs(_) => name.is_empty() || eq_ignore_case(name, &set.machine),
        };
        let indexes = (0..sets.len()).filter(|&index| is_selected(&sets[index]));
        let selected: Vec<_> = indexes.map(|index| SetRef { sets: Arc::clone(&sets), index }).collect();
        match selected.is_empty() && !name.is_empty() && !self.is_real_time() {
            true => Err(PdhStatus::NO_MACHINE),
            false => Ok(selected),
        }
    }
}

/// A shared reference to one of the counter sets of a source.
pub(crate) struct SetRef {
    sets: Arc<[KnownSet]>,
    index: usize,
}

impl std::ops::Deref for SetRef {
    type Target = KnownSet;

    fn deref(&self) -> &KnownSet {
        &self.sets[self.index]
    }
}

/// The status of a set whose instances cannot be read.
fn status_of(failure: &Failure) -> PdhStatus {
    match failure.code {
        code if failure.is_of_machine => status_of_machine(code),
        ErrorCode::TIMEOUT => PdhStatus::QUERY_PERF_DATA_TIMEOUT,
        _ => PdhStatus::NO_DATA,
    }
}

/// The status of a machine that cannot be connected to.
fn status_of_machine(code: ErrorCode) -> PdhStatus {
    match code {
        // The machine is unknown, or switched off.
        ErrorCode::BAD_NETWORK_PATH | ErrorCode::SERVER_UNAVAILABLE | ErrorCode::TIMEOUT => {
            PdhStatus::NO_MACHINE
        }
        _ => PdhStatus::CANNOT_CONNECT_MACHINE,
    }
}
