//! Collecting again and again on a thread of its own.

use std::sync::{Arc, Condvar, Mutex, PoisonError, TryLockError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{PdhStatus, Query, Result};

/// How long the thread waits for a query that somebody else uses, before it looks whether it is to end.
const BUSY_WAIT: Duration = Duration::from_millis(1);

/// Collects a query at an interval, on a thread of its own, until it is dropped.
///
/// The first collection is one interval after the start; moments that were missed are not made up for. Dropping waits for
/// the thread's end, and may be done while the query is locked. The thread ends by itself when the query is gone.
///
/// A forked child has no such thread: nothing is collected there, and dropping waits for nobody.
#[doc(alias = "PdhCollectQueryDataEx")]
pub struct Collector {
    /// The process that the thread belongs to.
    process: u32,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Waits until a moment; whether it was stopped meanwhile.
    fn wait_until(&self, moment: Instant) -> bool {
        let mut is_stopped = self.is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if *is_stopped || left.is_zero() {
                return *is_stopped;
            }
            let waited = self.changed.wait_timeout(is_stopped, left);
            is_stopped = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Collector {
    /// Starts the thread. `after` is called after every collection with its status; the query is not locked then.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an interval of 0, or one that is too long for the clock;
    /// [`PdhStatus::MEMORY_ALLOCATION_FAILURE`] where no thread can be had.
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

/// Collects once; `None` when the query is gone, or the thread is to end.
fn collect(query: &Weak<Mutex<Query>>, stop: &Stop) -> Option<PdhStatus> {
    let query = query.upgrade()?;
    loop {
        let mut locked = match query.try_lock() {
            Ok(locked) => locked,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Whoever has the lock may be waiting for the end of this thread.
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
            // There is nobody to be told, who may even have taken the lock along; and what the system knew of the thread is gone.
            std::mem::forget(self.thread.take());
            return;
        }
        *self.stop.is_stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take()
            // What is called after a collection may drop the collector itself.
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the thread has been told already, and there is nothing to do about it.
            let _ = thread.join();
        }
    }
}
