//! Long-running tasks on a bounded number of threads, and their cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tachograph_counters::sample::Sample;
use tachograph_flow::{FlowError, Source};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::response::ApiError;

/// How long a request waits for a thread.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Time limit of a task.
const MAX_DURATION: Duration = Duration::from_secs(600);

/// Runs tasks on a bounded number of threads.
#[derive(Clone)]
pub(crate) struct Workers {
    threads: Arc<Semaphore>,
    /// Notified when a task has ended and freed its memory.
    pub(crate) freed: Arc<Notify>,
}

/// Reports whether a task is cancelled: its client has disconnected, or it has exceeded [`MAX_DURATION`].
#[derive(Clone)]
pub(crate) struct Cancel {
    /// Set when the client has disconnected.
    flag: Arc<AtomicBool>,
    deadline: Instant,
}

struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Cancel {
    /// The task is cancelled when the flag is set.
    pub(crate) fn new(flag: Arc<AtomicBool>) -> Self {
        Self { flag, deadline: Instant::now() + MAX_DURATION }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }

    pub(crate) fn error() -> ApiError {
        ApiError::unavailable("the request took too long; select fewer counters or a shorter time range")
    }
}

impl Workers {
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads: Arc::new(Semaphore::new(threads)), freed: Arc::default() }
    }

    /// Runs a task as soon as a thread is free. The task is cancelled when the returned future is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = tokio::time::timeout(MAX_WAIT, Arc::clone(&self.threads).acquire_owned()).await;
        let Ok(Ok(permit)) = turn else {
            return Err(ApiError::too_many_requests("the server is busy; try again"));
        };
        self.start(permit, task).await
    }

    /// Like [`run`](Self::run), but waits for a thread without a time limit.
    pub(crate) async fn run_long<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let Ok(permit) = Arc::clone(&self.threads).acquire_owned().await else {
            return Err(ApiError::unavailable("the server is shutting down"));
        };
        self.start(permit, task).await
    }

    async fn start<T: Send + 'static>(
        &self,
        permit: OwnedSemaphorePermit,
        task: impl FnOnce(&Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let guard = CancelOnDrop(Arc::default());
        let cancel = Cancel::new(Arc::clone(&guard.0));
        let freed = Arc::clone(&self.freed);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let outcome = task(&cancel);
            freed.notify_one();
            outcome
        });
        done.await.unwrap_or_else(|_| Err(ApiError::unavailable("the request was aborted; try again")))
    }
}

/// Checks for cancellation after every few samples.
pub(crate) struct CancelCheck {
    cancel: Cancel,
    /// The number of samples since the last check, plus one for every 100 values in them.
    passed: usize,
}

impl CancelCheck {
    pub(crate) fn new(cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), passed: 0 }
    }

    /// Counts a sample with this number of values, and checks for cancellation if enough have passed since the last check.
    ///
    /// # Errors
    ///
    /// [`FlowError::Stopped`] if the task is cancelled.
    pub(crate) fn check(&mut self, values: usize) -> Result<(), FlowError> {
        self.passed += 1 + values / 100;
        if self.passed < 64 {
            return Ok(());
        }
        self.passed = 0;
        if self.cancel.is_cancelled() { Err(FlowError::Stopped) } else { Ok(()) }
    }
}

/// A source that ends with an error when its task is cancelled.
pub(crate) struct Cancellable<S> {
    source: S,
    check: CancelCheck,
}

impl<S: Source> Cancellable<S> {
    pub(crate) fn new(source: S, cancel: &Cancel) -> Self {
        Self { source, check: CancelCheck::new(cancel) }
    }
}

impl<S: Source> Source for Cancellable<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let has_more = self.source.next(sample)?;
        self.check.check(sample.len())?;
        Ok(has_more)
    }
}
