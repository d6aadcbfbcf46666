//! The counter sets of a machine: who registered what, and how it is asked for.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tachograph_counters::wildcard::eq_ignore_case;

use crate::block::push_instance;
use crate::clock::Clock;
use crate::host::Host;
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
}

/// A registered counter set.
pub(crate) struct Entry {
    pub(crate) info: Arc<CounterSetInfo>,
    host: Mutex<Host>,
}

impl Entry {
    pub(crate) fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// A registry of the machine of this name, without backslashes; its collections get their time stamps from `clock`.
    pub fn new(machine: impl Into<Arc<str>>, clock: Clock) -> Self {
        Self { machine: machine.into(), clock, entries: Vec::new() }
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
        self.add(info, Host::Inline(provider))
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
        self.add(info, host)
    }

    fn add(&mut self, info: Arc<CounterSetInfo>, host: Host) -> Result<(), ErrorCode> {
        info.check()?;
        if self.counter_sets().any(|known| known.guid == info.guid || eq_ignore_case(&known.name, &info.name))
        {
            return Err(ErrorCode::ALREADY_EXISTS);
        }
        self.entries.push(Arc::new(Entry { info, host: Mutex::new(host) }));
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
        instances_of(entry, self.clock.now())
    }

    /// As [`instances`](Self::instances), as a list of `PERF_INSTANCE_HEADER`s; `out` is cleared before.
    ///
    /// # Errors
    ///
    /// As [`instances`](Self::instances); [`ErrorCode::INSTANCE_NOT_FOUND`] where there is none.
    #[doc(alias = "PerfEnumerateCounterSetInstances")]
    pub fn instance_list(&self, set: Guid, out: &mut Vec<u8>) -> Result<(), Failure> {
        let instances = self.instances(set)?;
        if instances.is_empty() {
            let code = ErrorCode::INSTANCE_NOT_FOUND;
            return Err(Failure::new(code, code.to_string()));
        }
        out.clear();
        for instance in &instances {
            push_instance(out, instance.full_name(), instance.id())
                .map_err(|error| Failure::new(error.code(), error.to_string()))?;
        }
        Ok(())
    }

    pub(crate) fn entry(&self, set: Guid) -> Result<&Arc<Entry>, ErrorCode> {
        self.entries.iter().find(|entry| entry.info.guid == set).ok_or(ErrorCode::GUID_NOT_FOUND)
    }
}

/// The instances of a set, read without any of its values.
pub(crate) fn instances_of(entry: &Entry, at: crate::Moments) -> Result<Vec<Arc<InstanceKey>>, Failure> {
    let mut rows = Rows::new(Arc::clone(&entry.info));
    rows.want([], vec![InstanceFilter::everything()]);
    rows.clear(at);
    entry.host().collect(&mut rows)?;
    Ok(rows.instances().to_vec())
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
