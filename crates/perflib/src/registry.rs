//! The counter sets of a machine, and the providers of these sets.

mod entry;
mod published;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::wildcard::eq_ignore_case;

use crate::block::push_instance;
use crate::clock::Clock;
use crate::host::Host;
use crate::published::group::MemberGroup;
use crate::published::notice::Notice;
use crate::registration::{CounterSetInfo, Request};
use crate::{Connector, ErrorCode, Failure, Guid, InstanceKey, Provider};

pub(crate) use entry::Entry;

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
    /// The machine's name, without backslashes.
    machine: Arc<str>,
    clock: Clock,
    /// The registered sets with their providers.
    entries: Vec<Arc<Entry>>,
    notices: Vec<Notice>,
    pub(crate) connector: Option<Arc<dyn Connector>>,
}

impl Registry {
    /// An empty registry for the machine with this name (without backslashes). `clock` timestamps the collections.
    pub fn new(machine: impl Into<Arc<str>>, clock: Clock) -> Self {
        Self { machine: machine.into(), clock, entries: Vec::new(), notices: Vec::new(), connector: None }
    }

    /// The machine's name without backslashes.
    pub fn machine(&self) -> &Arc<str> {
        &self.machine
    }

    /// The clock that timestamps collections.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Registers a provider that runs in the collecting thread and does not block.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::INVALID_REGISTRATION`] for an invalid set, [`ErrorCode::ALREADY_EXISTS`] if the GUID or name is in
    /// use.
    pub fn register(&mut self, provider: Box<dyn Provider>) -> Result<(), ErrorCode> {
        let info = Arc::clone(provider.info());
        self.add(info, Host::Inline(provider), None)
    }

    /// Adds the set with exactly this description from another registry, sharing its provider and state. Returns false
    /// and adds nothing if the other registry does not have it, if it is a published set, or if the GUID or name is in
    /// use.
    pub fn share_from(&mut self, other: &Self, info: &CounterSetInfo) -> bool {
        !self.has_guid_or_name_of(info)
            && self.share_entry(other, |entry| entry.published.is_none() && *entry.info == *info)
    }

    /// Adds the first matching set of another registry; returns whether one was found.
    fn share_entry(&mut self, other: &Self, is_match: impl Fn(&Entry) -> bool) -> bool {
        let entry = other.entries.iter().find(|entry| is_match(entry));
        self.entries.extend(entry.cloned());
        entry.is_some()
    }

    fn has_guid_or_name_of(&self, info: &CounterSetInfo) -> bool {
        self.counter_sets().any(|known| known.guid == info.guid || eq_ignore_case(&known.name, &info.name))
    }

    /// Whether another registry has the same sets with the same providers, in the same order, and equal notices.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Arc<Entry>, &Arc<Entry>)| Arc::ptr_eq(one, other);
        self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(is_same)
            && self.notices == other.notices
    }

    /// Adds `(*)` to a path without an instance if all sets that it selects are per-process sets
    /// ([`CounterSetInfo::is_per_process`]). Other paths are returned unchanged.
    pub fn resolve_path(&self, path: &PathPattern) -> PathPattern {
        let names = |info: &CounterSetInfo| {
            path.matches_set_name(&info.name)
                && info.counters.iter().any(|counter| path.matches_counter(&counter.name))
        };
        let is_without_instance = path.instance().is_none() && path.matches_machine(&self.machine);
        let mut sets = self.counter_sets().filter(|info| names(info)).peekable();
        if !is_without_instance || sets.peek().is_none() || !sets.all(|info| info.is_per_process) {
            return path.clone();
        }
        CounterPath { instance: Some(InstanceName::from("*")), ..path.path().clone() }.into()
    }

    /// Registers a provider that can stall, and runs it in its own thread. If the provider misses the deadline, the
    /// set's results are [`ErrorCode::TIMEOUT`], and the provider is not called again until it has finished.
    ///
    /// # Errors
    ///
    /// Same as [`register`](Self::register), and [`ErrorCode::NO_SYSTEM_RESOURCES`] if no thread can be started.
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
        published: Option<Arc<MemberGroup>>,
    ) -> Result<(), ErrorCode> {
        info.check()?;
        if self.has_guid_or_name_of(&info) {
            return Err(ErrorCode::ALREADY_EXISTS);
        }
        self.entries.push(Arc::new(Entry::new(info, host, published)));
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

    /// The counter set with this name, ignoring case.
    pub fn find(&self, name: &str) -> Option<&Arc<CounterSetInfo>> {
        self.counter_sets().find(|info| eq_ignore_case(&info.name, name))
    }

    /// Encodes registration information of a counter set; `out` is cleared first.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::GUID_NOT_FOUND`] for an unknown set; otherwise the same as
    /// [`registration::encode`](crate::registration::encode).
    #[doc(alias = "PerfQueryCounterSetRegistrationInfo")]
    pub fn registration_info(&self, set: Guid, request: Request, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
        crate::registration::encode(&self.entry(set)?.info, request, out)
    }

    /// The current instances of a counter set, in the provider's order.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::GUID_NOT_FOUND`] for an unknown set, or any failure of the provider.
    pub fn instances(&self, set: Guid) -> Result<Vec<Arc<InstanceKey>>, Failure> {
        let entry = self.entry(set).map_err(|code| Failure::new(code, code.to_string()))?;
        entry.instances(&self.clock)
    }

    /// Encodes [`instances`](Self::instances) as a list of `PERF_INSTANCE_HEADER`s, which replaces the contents of
    /// `out`.
    ///
    /// # Errors
    ///
    /// Same as [`instances`](Self::instances), and [`ErrorCode::INSTANCE_NOT_FOUND`] if there are no instances,
    /// [`ErrorCode::INVALID_REGISTRATION`] if several processes publish a single-instance set,
    /// [`ErrorCode::OUT_OF_MEMORY`].
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

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.counter_sets().map(|info| &info.name).collect();
        f.debug_struct("Registry")
            .field("machine", &self.machine)
            .field("sets", &names)
            .finish_non_exhaustive()
    }
}
