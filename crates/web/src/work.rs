//! Work that takes a while, on threads of which there are only so many.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tachograph_counters::sample::Sample;
use tachograph_flow::{FlowError, Source};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::answer::Refusal;

/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a piece of work may take.
const LONGEST: Duration = Duration::from_secs(600);

/// A number of threads.
#[derive(Clone)]
pub(crate) struct Work {
    threads: Arc<Semaphore>,
    /// Notified when a piece of work has ended, and what it needed is freed.
    pub(crate) freed: Arc<Notify>,
}

/// A number of places, of which one is had at once or not at all.
pub(crate) struct Places(Arc<Semaphore>);

/// One of some [`Places`], given back when it is dropped.
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub(crate) fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count)))
    }

    pub(crate) fn take(&self) -> Option<Place> {
        Arc::clone(&self.0).try_acquire_owned().ok().map(|_permit| Place { _permit })
    }
}

/// Says when work is of no use any more: nobody waits for it, or it took too long.
#[derive(Clone)]
pub(crate) struct Cancel {
    flag: Arc<AtomicBool>,
    deadline: Instant,
}

/// Cancels when it is dropped.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Cancel {
    /// Work that ends with this flag.
    pub(crate) fn by(flag: Arc<AtomicBool>) -> Self {
        Self { flag, deadline: Instant::now() + LONGEST }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }

    /// What is answered then, if anybody still listens.
    pub(crate) fn refusal() -> Refusal {
        Refusal::busy("this takes too long; ask for less")
    }
}

impl Work {
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads: Arc::new(Semaphore::new(threads)), freed: Arc::default() }
    }

    /// Runs a piece of work when its turn comes. It is cancelled when nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.threads).acquire_owned()).await;
        let Ok(Ok(place)) = turn else {
            return Err(Refusal::too_many("the server has too much to do; try again"));
        };
        self.start(place, work).await
    }

    /// As [`run`](Self::run), with all the time that it takes to wait for the turn.
    pub(crate) async fn run_long<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let Ok(place) = Arc::clone(&self.threads).acquire_owned().await else {
            return Err(Refusal::busy("the server ends"));
        };
        self.start(place, work).await
    }

    async fn start<T: Send + 'static>(
        &self,
        place: OwnedSemaphorePermit,
        work: impl FnOnce(&Cancel) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let guard = Guard(Arc::default());
        let cancel = Cancel::by(Arc::clone(&guard.0));
        let freed = Arc::clone(&self.freed);
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            let outcome = work(&cancel);
            freed.notify_one();
            outcome
        });
        done.await.unwrap_or_else(|_| Err(Refusal::busy("the work was ended; try again")))
    }
}

/// Looks now and then, while samples are taken, whether the work is of use still.
pub(crate) struct Watch {
    cancel: Cancel,
    /// What was taken since it was last looked: samples, and values by the hundred.
    taken: usize,
}

impl Watch {
    pub(crate) fn new(cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), taken: 0 }
    }

    /// Takes note of a sample of so many values.
    ///
    /// # Errors
    ///
    /// [`FlowError::Stopped`] where the work is of no use any more.
    pub(crate) fn note(&mut self, values: usize) -> Result<(), FlowError> {
        self.taken += 1 + values / 100;
        if self.taken < 64 {
            return Ok(());
        }
        self.taken = 0;
        if self.cancel.is_over() { Err(FlowError::Stopped) } else { Ok(()) }
    }
}

/// A source that ends with an error when its work is of no use any more.
pub(crate) struct Cancellable<S> {
    source: S,
    watch: Watch,
}

impl<S: Source> Cancellable<S> {
    pub(crate) fn new(source: S, cancel: &Cancel) -> Self {
        Self { source, watch: Watch::new(cancel) }
    }
}

impl<S: Source> Source for Cancellable<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let has_more = self.source.next(sample)?;
        self.watch.note(sample.len())?;
        Ok(has_more)
    }
}
