//! What handles of pdh.h refer to: queries, counters, logs and data sources.

use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_pdh::{Collector, CounterId, DataSource, LogHandle, PdhStatus, Query, Result};

use super::boundary::{Plain, Text};
use super::character::Character;
use crate::handles::{HANDLES, HandleError, HandleKind};

/// `PDH_HQUERY`, `PDH_HCOUNTER` or `PDH_HLOG`, or an event: to C a pointer, here the number in its place.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub(super) usize);

impl Handle {
    /// `H_REALTIME_DATASOURCE`; where a handle is handed out, none.
    pub(super) const REALTIME: Self = Self(0);

    /// As the table takes it.
    fn pointer(self) -> *mut c_void {
        without_provenance_mut(self.0)
    }
}

/// An open query.
pub(super) struct QueryObject {
    query: Arc<Mutex<Query>>,
    /// The thread of `PdhCollectQueryDataEx`.
    collector: Mutex<Option<Collector>>,
    /// The handles of its counters; `None` once the query is closed.
    counters: Mutex<Option<Vec<Handle>>>,
}

impl QueryObject {
    /// The query, for this thread alone.
    pub(super) fn query(&self) -> MutexGuard<'_, Query> {
        lock(&self.query)
    }

    /// Has the query collected by a thread, in place of one that did before.
    pub(super) fn collect_by(
        &self,
        start: impl FnOnce(&Arc<Mutex<Query>>) -> Result<Collector>,
    ) -> Result<()> {
        let mut collector = lock(&self.collector);
        // One that is at work gets done first.
        *collector = None;
        // A query that was closed meanwhile has no thread started that nobody would end.
        if lock(&self.counters).is_none() {
            return Err(PdhStatus::INVALID_HANDLE);
        }
        *collector = Some(start(&self.query)?);
        Ok(())
    }
}

/// A counter of a query.
pub(super) struct CounterObject {
    of: Arc<QueryObject>,
    pub(super) id: CounterId,
}

impl CounterObject {
    /// Its query, for this thread alone.
    pub(super) fn query(&self) -> MutexGuard<'_, Query> {
        self.of.query()
    }
}

/// A log that was opened, or a data source that was bound.
pub(super) struct LogObject {
    /// What can be read.
    pub(super) source: Option<DataSource>,
    /// The log of `PdhOpenLog`, until it is closed.
    pub(super) log: Mutex<Option<LogHandle>>,
    /// The query whose samples are written.
    pub(super) query: Option<Handle>,
}

impl HandleKind for QueryObject {
    const NAME: &'static str = "a PDH query handle";
    const FUNCTIONS: [&'static str; 2] = ["PdhOpenQuery", "PdhCloseQuery"];
}

impl HandleKind for CounterObject {
    const NAME: &'static str = "a PDH counter handle";
    const FUNCTIONS: [&'static str; 2] = ["PdhAddCounter", "PdhRemoveCounter"];
}

impl HandleKind for LogObject {
    const NAME: &'static str = "a handle of a PDH log or data source";
    const FUNCTIONS: [&'static str; 2] = ["PdhOpenLog or PdhBindInputDataSource", "PdhCloseLog"];
}

/// Locks. That another thread panicked in the midst of its work is no reason to refuse what comes after.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn status(error: HandleError) -> PdhStatus {
    match error {
        HandleError::Exhausted => PdhStatus::MEMORY_ALLOCATION_FAILURE,
        _ => PdhStatus::INVALID_HANDLE,
    }
}

fn add<K: HandleKind>(object: K) -> Result<Handle> {
    HANDLES.add(object).map(|handle| Handle(handle.addr())).map_err(status)
}

fn remove<K: HandleKind>(handle: Handle) -> Result<Arc<K>> {
    HANDLES.remove(handle.pointer()).map_err(status)
}

/// The query of a handle.
pub(super) fn query(handle: Handle) -> Result<Arc<QueryObject>> {
    HANDLES.find(handle.pointer()).map_err(status)
}

/// The counter of a handle.
pub(super) fn counter(handle: Handle) -> Result<Arc<CounterObject>> {
    HANDLES.find(handle.pointer()).map_err(status)
}

/// The log or data source of a handle.
pub(super) fn log(handle: Handle) -> Result<Arc<LogObject>> {
    HANDLES.find(handle.pointer()).map_err(status)
}

/// A handle for a new query.
pub(super) fn add_query(query: Query) -> Result<Handle> {
    add(QueryObject {
        query: Arc::new(Mutex::new(query)),
        collector: Mutex::new(None),
        counters: Mutex::new(Some(Vec::new())),
    })
}

/// A handle for a counter that was added to a query.
pub(super) fn add_counter(query: &Arc<QueryObject>, id: CounterId) -> Result<Handle> {
    let mut counters = lock(&query.counters);
    let handles = counters.as_mut().ok_or(PdhStatus::INVALID_HANDLE)?;
    let handle = add(CounterObject { of: Arc::clone(query), id })?;
    handles.push(handle);
    Ok(handle)
}

/// A handle for a log or data source.
pub(super) fn add_log(log: LogObject) -> Result<Handle> {
    add(log)
}

/// Ends the handle of a counter, and the counter.
pub(super) fn remove_counter(handle: Handle) -> Result<()> {
    let counter: Arc<CounterObject> = remove(handle)?;
    if let Some(handles) = lock(&counter.of.counters).as_mut() {
        handles.retain(|of_query| *of_query != handle);
    }
    counter.query().remove_counter(counter.id)
}

/// Ends a query with its thread and its counters.
pub(super) fn remove_query(handle: Handle) -> Result<()> {
    let query: Arc<QueryObject> = remove(handle)?;
    let counters = lock(&query.counters).take();
    for counter in counters.into_iter().flatten() {
        // One that another thread is just removing is gone.
        let _ = remove::<CounterObject>(counter);
    }
    let collector = lock(&query.collector).take();
    drop(collector);
    Ok(())
}

/// Ends the handle of a log or data source, and returns it.
pub(super) fn remove_log(handle: Handle) -> Result<Arc<LogObject>> {
    remove(handle)
}

/// A data source as functions name it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<C> {
    /// The name of a log; null for this machine.
    Name(Text<C>),
    /// Logs that were bound, or a log that is read; `H_REALTIME_DATASOURCE` for this machine.
    Handle(Handle),
}

impl<C: Character + Plain> Source<C> {
    /// This machine.
    pub(super) const MACHINE: Self = Self::Handle(Handle::REALTIME);

    /// The data source.
    pub(super) fn open(self) -> Result<DataSource> {
        match self {
            Self::Name(name) => match name.optional_path()? {
                Some(path) => DataSource::of_logs(vec![path]),
                None => of_machine(),
            },
            Self::Handle(Handle::REALTIME) => of_machine(),
            Self::Handle(handle) => log(handle)?.source.clone().ok_or(PdhStatus::INVALID_HANDLE),
        }
    }
}

/// The counters of this machine, with those that programs publish now or later.
fn of_machine() -> Result<DataSource> {
    let machine = crate::perflib::machine::machine().map_err(|_| PdhStatus::CANNOT_READ_NAME_STRINGS)?;
    Ok(DataSource::of_changing_machine(move || machine.refresh()))
}
