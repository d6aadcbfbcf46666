//! Periodic collection of a query on a background thread.

use std::sync::{Arc, Condvar, Mutex, TryLockError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tachograph_counters::IgnorePoison;

use crate::{PdhStatus, Query, Result};

/// How long to wait before retrying while another thread holds the query's lock.
const BUSY_WAIT: Duration = Duration::from_millis(1);

/// Collects a query periodically on a background thread, until the collector is dropped.
///
/// The first collection is one interval after the start; missed collections are skipped. Dropping the collector waits
/// for the thread to end, and is safe while the caller holds the query's lock. The thread also ends when the query is
/// dropped.
///
/// The thread does not exist in a forked child: nothing is collected there, and dropping the collector does not wait.
#[doc(alias = "PdhCollectQueryDataEx")]
pub struct Collector {
    /// The id of the process that started the thread.
    process: u32,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// The request to stop, which the thread waits for.
#[derive(Default)]
struct Stop {
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Waits until `moment` or until the thread should stop; returns whether it should stop.
    fn wait_until(&self, moment: Instant) -> bool {
        let mut is_stopped = self.is_stopped.lock().ignore_poison();
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if *is_stopped || left.is_zero() {
                return *is_stopped;
            }
            let waited = self.changed.wait_timeout(is_stopped, left);
            is_stopped = waited.ignore_poison().0;
        }
    }
}

impl Collector {
    /// Starts the thread. After every collection, it calls `after` with the status, without holding the query's lock.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an interval that is 0 or beyond the range of the clock;
    /// [`PdhStatus::MEMORY_ALLOCATION_FAILURE`] if no thread can be started.
    pub fn start(
        query: &Arc<Mutex<Query>>,
        interval: Duration,
        mut after: impl FnMut(PdhStatus) + Send + 'static,
    ) -> Result<Self> {
        let Some(first) = Instant::now().checked_add(interval).filter(|_| !interval.is_zero()) else {
            return Err(PdhStatus::INVALID_ARGUMENT);
        };
        let (stop, query) = (Arc::<Stop>::default(), Arc::downgrade(query));
        let thread_stop = Arc::clone(&stop);
        let run = move || {
            let mut next = first;
            while !thread_stop.wait_until(next) {
                let Some(status) = collect(&query, &thread_stop) else { return };
                after(status);
                let now = Instant::now();
                let planned = next.checked_add(interval).filter(|planned| *planned > now);
                let Some(later) = planned.or_else(|| now.checked_add(interval)) else { return };
                next = later;
            }
        };
        let thread = std::thread::Builder::new().name("pdh-collect".to_owned()).spawn(run);
        let thread = thread.map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
        Ok(Self { process: std::process::id(), stop, thread: Some(thread) })
    }
}

/// Collects once; `None` if the query was dropped or the thread should stop.
fn collect(query: &Weak<Mutex<Query>>, stop: &Stop) -> Option<PdhStatus> {
    let query = query.upgrade()?;
    loop {
        let mut locked = match query.try_lock() {
            Ok(locked) => locked,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread that holds the lock may be waiting for this one to end.
            Err(TryLockError::WouldBlock) => {
                if stop.wait_until(Instant::now() + BUSY_WAIT) {
                    return None;
                }
                continue;
            }
        };
        return Some(locked.collect().err().unwrap_or(PdhStatus::SUCCESS));
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The thread does not exist in this process, and it may have held the lock at the time of the fork.
            std::mem::forget(self.thread.take());
            return;
        }
        *self.stop.is_stopped.lock().ignore_poison() = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take()
            // `after` may drop the collector, on the collector's own thread.
            && thread.thread().id() != std::thread::current().id()
        {
            // If the thread panicked, the panic hook has already reported it.
            let _ = thread.join();
        }
    }
}
