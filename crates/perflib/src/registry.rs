//! The counter sets of a machine: who registered what, and how it is asked for.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::wildcard::eq_ignore_case;

use crate::block::push_instance;
use crate::clock::Clock;
use crate::host::Host;
use crate::provider::{CollectionId, TIME_TO_PREPARE};
use crate::published::{Group, Notice, PublishedSet, Publisher, publishers_of};
use crate::registration::{CounterSetInfo, Request};
use crate::{ErrorCode, Failure, Guid, InstanceFilter, InstanceKey, Provider, Rows};

/// All counter sets of this machine with their providers.
///
/// ```
/// use tachograph_perflib::{Clock, Registry};
///
/// let registry = Registry::new("WEB1", Clock::of_this_machine());
/// assert_eq!(registry.enumerate().count(), 0);
/// assert!(registry.find("Memory").is_none());
/// ```
pub struct Registry {
    machine: Arc<str>,
    clock: Clock,
    entries: Vec<Arc<Entry>>,
    notices: Vec<Notice>,
}

/// A registered counter set.
pub(crate) struct Entry {
    pub(crate) info: Arc<CounterSetInfo>,
    host: Mutex<Host>,
    /// How many queries ask for it now.
    asking: AtomicUsize,
    /// The processes that publish it, where applications may do so.
    published: Option<Arc<Group>>,
}

impl Entry {
    pub(crate) fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody asks for the set from now on, until [`asks_no_more`](Self::asks_no_more).
    pub(crate) fn asks(&self) {
        self.asking.fetch_add(1, Ordering::AcqRel);
    }

    /// Somebody does not ask for it any more; after the last one its provider rests.
    pub(crate) fn asks_no_more(&self) {
        if self.asking.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Who asks again meanwhile only finds that files are to be opened anew.
            self.host().rest();
        }
    }

    /// Whether the provider is to be told which counters queries want.
    pub(crate) fn listens(&self) -> bool {
        self.published.is_some()
    }

    /// Tells the provider which counters a query wants from now on, and which no more.
    pub(crate) fn tell(&self, added: &[u32], removed: &[u32]) {
        if let Some(group) = &self.published
            && !(added.is_empty() && removed.is_empty())
        {
            group.tell(added, removed);
        }
    }
}

impl Registry {
    /// A registry of the machine of this name, without backslashes; its collections get their time stamps from `clock`.
    pub fn new(machine: impl Into<Arc<str>>, clock: Clock) -> Self {
        Self { machine: machine.into(), clock, entries: Vec::new(), notices: Vec::new() }
    }

    /// The machine's name without backslashes.
    pub fn machine(&self) -> &Arc<str> {
        &self.machine
    }

    /// The clocks of its collections.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Registers a provider that runs in the thread that collects: it must not wait for anybody.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::INVALID_REGISTRATION`] for a set that breaks the rules, [`ErrorCode::ALREADY_EXISTS`] for a GUID or
    /// name that is taken.
    pub fn register(&mut self, provider: Box<dyn Provider>) -> Result<(), ErrorCode> {
        let info = Arc::clone(provider.info());
        self.add(info, Host::Inline(provider), None)
    }

    /// Registers a published set.
    pub(crate) fn register_published(
        &mut self,
        set: PublishedSet,
        group: Arc<Group>,
    ) -> Result<(), ErrorCode> {
        let info = Arc::clone(set.info());
        self.add(info, Host::Inline(Box::new(set)), Some(group))
    }

    /// Takes over a set of the machine from another registry, where it has just this one; whether it had. The provider stays
    /// the same, with what it knows.
    pub fn share(&mut self, before: &Self, info: &CounterSetInfo) -> bool {
        let is_it = |entry: &&Arc<Entry>| entry.published.is_none() && *entry.info == *info;
        let Some(entry) = before.entries.iter().find(is_it) else { return false };
        if self.counter_sets().any(|known| known.guid == info.guid || eq_ignore_case(&known.name, &info.name))
        {
            return false;
        }
        self.entries.push(Arc::clone(entry));
        true
    }

    /// Takes over a published set from another registry, where it has just this one; whether it had.
    pub(crate) fn share_published(
        &mut self,
        before: &Self,
        info: &CounterSetInfo,
        group: &Arc<Group>,
    ) -> bool {
        let is_it = |entry: &&Arc<Entry>| {
            *entry.info == *info && entry.published.as_ref().is_some_and(|known| Arc::ptr_eq(known, group))
        };
        let Some(entry) = before.entries.iter().find(is_it) else { return false };
        self.entries.push(Arc::clone(entry));
        true
    }

    /// A registry with the sets of the machine only, which are the same providers: nothing that applications publish.
    #[must_use]
    pub fn without_published(&self) -> Self {
        let is_of_machine = |entry: &&Arc<Entry>| entry.published.is_none();
        Self {
            machine: Arc::clone(&self.machine),
            clock: self.clock.clone(),
            entries: self.entries.iter().filter(is_of_machine).cloned().collect(),
            notices: Vec::new(),
        }
    }

    /// Whether another registry has the same sets with the same providers, in the same order.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Arc<Entry>, &Arc<Entry>)| Arc::ptr_eq(one, other);
        self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(is_same)
            && self.notices == other.notices
    }

    /// What there is to tell of published sets: what cannot be read, what is not shown.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Adds something to tell.
    pub fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// The sets that applications do not publish.
    pub(crate) fn of_machine(&self) -> impl Iterator<Item = &Arc<CounterSetInfo>> {
        self.entries.iter().filter(|entry| entry.published.is_none()).map(|entry| &entry.info)
    }

    /// Whether a set is published by applications, or registered for that.
    pub fn is_published(&self, set: Guid) -> bool {
        self.entry(set).is_ok_and(|entry| entry.published.is_some())
    }

    /// The processes that publish a set now, in the order of their start; none for a set of the machine.
    pub fn publishers(&self, set: Guid) -> Vec<Publisher> {
        let group = self.entry(set).ok().and_then(|entry| entry.published.as_ref());
        group.map_or_else(Vec::new, |group| publishers_of(group))
    }

    /// What a path means on this machine: one without an instance, of a counter that each process has for itself
    /// ([`CounterSetInfo::is_per_process`]), means all processes; any other stays as it is.
    pub fn path_here(&self, path: &PathPattern) -> PathPattern {
        let means = |info: &CounterSetInfo| {
            path.matches_set_name(&info.name)
                && info.counters.iter().any(|counter| path.matches_counter(&counter.name))
        };
        let is_without_instance = path.instance().is_none() && path.matches_machine(&self.machine);
        let mut sets = self.counter_sets().filter(|info| means(info)).peekable();
        if !is_without_instance || sets.peek().is_none() || !sets.all(|info| info.is_per_process) {
            return path.clone();
        }
        CounterPath { instance: Some(InstanceName::from("*")), ..path.path().clone() }.into()
    }

    /// Registers a provider that may stall: it runs in a thread of its own. A collection waits for it until the deadline;
    /// then its identifiers answer with [`ErrorCode::TIMEOUT`], and it is not waited for again before it came back.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), and [`ErrorCode::NO_SYSTEM_RESOURCES`] when no thread can be had.
    pub fn register_on_worker(
        &mut self,
        provider: Box<dyn Provider>,
        deadline: Duration,
    ) -> Result<(), ErrorCode> {
        let info = Arc::clone(provider.info());
        let host = Host::on_worker(provider, deadline).map_err(|_| ErrorCode::NO_SYSTEM_RESOURCES)?;
        self.add(info, host, None)
    }

    fn add(
        &mut self,
        info: Arc<CounterSetInfo>,
        host: Host,
        published: Option<Arc<Group>>,
    ) -> Result<(), ErrorCode> {
        info.check()?;
        if self.counter_sets().any(|known| known.guid == info.guid || eq_ignore_case(&known.name, &info.name))
        {
            return Err(ErrorCode::ALREADY_EXISTS);
        }
        self.entries.push(Arc::new(Entry {
            info,
            host: Mutex::new(host),
            asking: AtomicUsize::new(0),
            published,
        }));
        Ok(())
    }

    /// The registered counter sets.
    pub fn counter_sets(&self) -> impl Iterator<Item = &Arc<CounterSetInfo>> {
        self.entries.iter().map(|entry| &entry.info)
    }

    /// The GUIDs of the registered counter sets.
    #[doc(alias = "PerfEnumerateCounterSet")]
    pub fn enumerate(&self) -> impl Iterator<Item = Guid> {
        self.counter_sets().map(|info| info.guid)
    }

    /// The counter set of this name, without regard to case.
    pub fn find(&self, name: &str) -> Option<&Arc<CounterSetInfo>> {
        self.counter_sets().find(|info| eq_ignore_case(&info.name, name))
    }

    /// Registration information of a counter set as bytes; `out` is cleared before.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::GUID_NOT_FOUND`] for an unknown set, and what the request itself can answer:
    /// [`ErrorCode::ITEM_ID_NOT_FOUND`], [`ErrorCode::RESOURCE_LANG_NOT_FOUND`].
    #[doc(alias = "PerfQueryCounterSetRegistrationInfo")]
    pub fn registration_info(&self, set: Guid, request: Request, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
        crate::registration::encode(&self.entry(set)?.info, request, out)
    }

    /// The instances that a counter set has now, in the provider's order.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::GUID_NOT_FOUND`] for an unknown set; what the provider fails with.
    pub fn instances(&self, set: Guid) -> Result<Vec<Arc<InstanceKey>>, Failure> {
        let entry = self.entry(set).map_err(|code| Failure::new(code, code.to_string()))?;
        instances_of(entry, &self.clock)
    }

    /// As [`instances`](Self::instances), as a list of `PERF_INSTANCE_HEADER`s; `out` is cleared before.
    ///
    /// # Errors
    ///
    /// As [`instances`](Self::instances); [`ErrorCode::INSTANCE_NOT_FOUND`] where there is none,
    /// [`ErrorCode::INVALID_REGISTRATION`] where several processes publish a set of a single instance.
    #[doc(alias = "PerfEnumerateCounterSetInstances")]
    pub fn instance_list(&self, set: Guid, out: &mut Vec<u8>) -> Result<(), Failure> {
        let instances = self.instances(set)?;
        let failure = |code: ErrorCode| Err(Failure::new(code, code.to_string()));
        let is_per_process = self.entry(set).is_ok_and(|entry| entry.info.is_per_process);
        if instances.is_empty() {
            return failure(ErrorCode::INSTANCE_NOT_FOUND);
        }
        if is_per_process && instances.len() > 1 {
            return failure(ErrorCode::INVALID_REGISTRATION);
        }
        out.clear();
        for instance in &instances {
            let name = if is_per_process { "" } else { instance.full_name() };
            push_instance(out, name, instance.id())
                .map_err(|error| Failure::new(error.code(), error.to_string()))?;
        }
        Ok(())
    }

    pub(crate) fn entry(&self, set: Guid) -> Result<&Arc<Entry>, ErrorCode> {
        self.entries.iter().find(|entry| entry.info.guid == set).ok_or(ErrorCode::GUID_NOT_FOUND)
    }
}

/// The instances of a set, read without any of its values.
pub(crate) fn instances_of(entry: &Entry, clock: &Clock) -> Result<Vec<Arc<InstanceKey>>, Failure> {
    let mut rows = Rows::new(Arc::clone(&entry.info));
    rows.want([], vec![InstanceFilter::everything()]);
    entry.asks();
    let collection = CollectionId::next();
    entry.host().ask(&rows, collection);
    entry.host().prepare(&rows, collection, Instant::now() + TIME_TO_PREPARE);
    rows.clear(clock.now());
    let outcome = entry.host().collect(&mut rows);
    entry.asks_no_more();
    outcome.map(|()| rows.instances().to_vec())
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.counter_sets().map(|info| &info.name).collect();
        f.debug_struct("Registry")
            .field("machine", &self.machine)
            .field("sets", &names)
            .finish_non_exhaustive()
    }
}
