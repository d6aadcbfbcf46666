//! The objects of pdh.h handles: queries, counters, logs and data sources.

use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_counters::IgnorePoison;
use tachograph_pdh::{Collector, CounterId, DataSource, LogHandle, PdhStatus, Query, Result};

use super::boundary::{Plain, Text};
use super::character::Character;
use crate::handles::{HANDLES, HandleError, HandleKind};

/// `PDH_HQUERY`, `PDH_HCOUNTER`, `PDH_HLOG` or an event: a pointer in C, a number here.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub(super) usize);

impl Handle {
    /// A null handle. As a data source, it is `H_REALTIME_DATASOURCE`.
    pub(super) const NULL: Self = Self(0);

    /// The handle as the table expects it.
    fn pointer(self) -> *mut c_void {
        without_provenance_mut(self.0)
    }
}

/// The object of a query handle.
pub(super) struct QueryObject {
    query: Arc<Mutex<Query>>,
    /// The thread that `PdhCollectQueryDataEx` started.
    collector: Mutex<Option<Collector>>,
    /// The handles of the query's counters; `None` after the query is closed.
    counters: Mutex<Option<Vec<Handle>>>,
}

impl QueryObject {
    pub(super) fn query(&self) -> MutexGuard<'_, Query> {
        self.query.lock().ignore_poison()
    }

    /// Starts a thread that collects the query, and stops the previous one.
    pub(super) fn set_collector(
        &self,
        start: impl FnOnce(&Arc<Mutex<Query>>) -> Result<Collector>,
    ) -> Result<()> {
        let mut collector = self.collector.lock().ignore_poison();
        // Dropping the previous collector waits for its current collection.
        *collector = None;
        // If the query was closed meanwhile, nothing would stop a new thread.
        if self.counters.lock().ignore_poison().is_none() {
            return Err(PdhStatus::INVALID_HANDLE);
        }
        *collector = Some(start(&self.query)?);
        Ok(())
    }
}

/// The object of a counter handle.
pub(super) struct CounterObject {
    query: Arc<QueryObject>,
    pub(super) id: CounterId,
}

impl CounterObject {
    pub(super) fn query(&self) -> MutexGuard<'_, Query> {
        self.query.query()
    }
}

/// A log that was opened, or a data source that was bound.
pub(super) struct LogObject {
    /// The data source, if the log can be read.
    pub(super) source: Option<DataSource>,
    /// The log of `PdhOpenLog`, until it is closed.
    pub(super) log: Mutex<Option<LogHandle>>,
    /// The query that is written to the log.
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

fn status_of(error: HandleError) -> PdhStatus {
    match error {
        HandleError::Exhausted => PdhStatus::MEMORY_ALLOCATION_FAILURE,
        _ => PdhStatus::INVALID_HANDLE,
    }
}

fn add<K: HandleKind>(object: K) -> Result<Handle> {
    HANDLES.add(object).map(|handle| Handle(handle.addr())).map_err(status_of)
}

fn remove<K: HandleKind>(handle: Handle) -> Result<Arc<K>> {
    HANDLES.remove(handle.pointer()).map_err(status_of)
}

pub(super) fn query(handle: Handle) -> Result<Arc<QueryObject>> {
    HANDLES.find(handle.pointer()).map_err(status_of)
}

pub(super) fn counter(handle: Handle) -> Result<Arc<CounterObject>> {
    HANDLES.find(handle.pointer()).map_err(status_of)
}

pub(super) fn log(handle: Handle) -> Result<Arc<LogObject>> {
    HANDLES.find(handle.pointer()).map_err(status_of)
}

/// Creates a handle for a query.
pub(super) fn add_query(query: Query) -> Result<Handle> {
    add(QueryObject {
        query: Arc::new(Mutex::new(query)),
        collector: Mutex::new(None),
        counters: Mutex::new(Some(Vec::new())),
    })
}

/// Creates a handle for a counter that was added to a query.
pub(super) fn add_counter(query: &Arc<QueryObject>, id: CounterId) -> Result<Handle> {
    let mut counters = query.counters.lock().ignore_poison();
    let handles = counters.as_mut().ok_or(PdhStatus::INVALID_HANDLE)?;
    let handle = add(CounterObject { query: Arc::clone(query), id })?;
    handles.push(handle);
    Ok(handle)
}

/// Creates a handle for a log or data source.
pub(super) fn add_log(log: LogObject) -> Result<Handle> {
    add(log)
}

/// Removes a counter, and closes its handle.
pub(super) fn remove_counter(handle: Handle) -> Result<()> {
    let counter: Arc<CounterObject> = remove(handle)?;
    if let Some(handles) = counter.query.counters.lock().ignore_poison().as_mut() {
        handles.retain(|other| *other != handle);
    }
    counter.query().remove_counter(counter.id)
}

/// Closes a query, its counters and its thread.
pub(super) fn remove_query(handle: Handle) -> Result<()> {
    let query: Arc<QueryObject> = remove(handle)?;
    let counters = query.counters.lock().ignore_poison().take();
    for counter in counters.into_iter().flatten() {
        // Another thread may have just removed the counter.
        let _ = remove::<CounterObject>(counter);
    }
    let collector = query.collector.lock().ignore_poison().take();
    drop(collector);
    Ok(())
}

/// Closes the handle of a log or data source, and returns the object.
pub(super) fn remove_log(handle: Handle) -> Result<Arc<LogObject>> {
    remove(handle)
}

/// A data source, as an argument of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<C> {
    /// The file name of a log; null means this machine.
    Name(Text<C>),
    /// A handle of bound logs or of a log that is open for reading; `H_REALTIME_DATASOURCE` means this machine.
    Handle(Handle),
}

impl<C: Character + Plain> Source<C> {
    pub(super) const MACHINE: Self = Self::Handle(Handle::NULL);

    pub(super) fn open(self) -> Result<DataSource> {
        match self {
            Self::Name(name) => match name.optional_path()? {
                Some(path) => DataSource::of_logs(vec![path]),
                None => machine(),
            },
            Self::Handle(Handle::NULL) => machine(),
            Self::Handle(handle) => log(handle)?.source.clone().ok_or(PdhStatus::INVALID_HANDLE),
        }
    }
}

/// The counters of this machine, including those that programs publish now or later.
fn machine() -> Result<DataSource> {
    let machine = crate::perflib::machine::machine().map_err(|_| PdhStatus::CANNOT_READ_NAME_STRINGS)?;
    Ok(DataSource::of_changing_machine(move || machine.refresh()))
}
