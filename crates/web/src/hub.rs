//! The one collection of this machine for all who look.
//!
//! A thread takes a sample at `start + k * interval` of everything that any stream or lease wants, and keeps the last
//! ones. A sample never changes once it was taken, so that whoever reads the ring holds up neither the collection nor
//! each other. Each group of streams that want the same gets its text made once. Nobody is waited for: a stream whose
//! queue is full is closed. When nobody wants anything, nothing is collected.

mod collector;
mod layout;
mod ring;
mod streams;
mod wanted;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::Sample;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::live::LiveReport;
use tachograph_perflib::Registry;
use tokio::sync::{Notify, mpsc, watch};

use crate::answer::Refusal;
use crate::options::{LiveOptions, ServeError};
pub(crate) use layout::Layout;
pub(crate) use ring::{RingSource, RingWindow};
use streams::{Arriving, queue_of};
use wanted::{Held, Wanted};

/// Most streams at a time.
pub(crate) const MAX_STREAMS: usize = 512;
/// How long a counter is collected after it was last asked for.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// How old what is known of the machine's counter sets may be.
const REGISTRY_AGE: Duration = Duration::from_secs(1);

/// The collection of this machine.
pub(crate) struct Hub {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread and the handlers share.
struct Shared {
    options: LiveOptions,
    state: Mutex<State>,
    changed: Condvar,
    /// The state's progress, for handlers that wait.
    progress: watch::Sender<Progress>,
    streams: AtomicUsize,
    registry: Mutex<Option<(Instant, Arc<Registry>)>>,
}

/// How far the thread is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The number of the last change of wants that was taken in.
    wants: u64,
    /// How many samples were taken so far.
    samples: u64,
    is_over: bool,
}

#[derive(Default)]
struct State {
    is_stopped: bool,
    /// Goes up with every change of what is wanted.
    wants: u64,
    wanted: Wanted,
    arriving: Vec<Arriving>,
    live: Live,
}

/// What is known of the last samples.
#[derive(Clone, Default)]
pub(crate) struct Live {
    /// The last samples, oldest first.
    pub(crate) samples: Vec<Arc<Sample>>,
    /// For each path that is collected, by its text: how many samples had been taken when it was taken in, and why it
    /// selects nothing.
    paths: Arc<HashMap<String, PathState>>,
    /// How many samples were taken so far.
    count: u64,
    /// What could not be read.
    pub(crate) report: LiveReport,
    /// How many intervals are kept.
    pub(crate) points: usize,
}

#[derive(Clone, Debug)]
struct PathState {
    since: u64,
    missing: Option<String>,
}

/// The reading end of a stream.
pub(crate) struct Reader {
    pub(crate) events: mpsc::Receiver<Bytes>,
    _place: Place,
}

/// A place among the streams and the paths that it holds, given back when it is dropped. Not to be dropped where the state is
/// locked.
struct Place {
    shared: Arc<Shared>,
    held: Option<Held>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.streams.fetch_sub(1, Ordering::AcqRel);
        let Some(held) = self.held.take() else { return };
        let mut state = self.shared.lock();
        state.wanted.release(held);
        state.wants += 1;
        self.shared.changed.notify_all();
    }
}

impl Hub {
    pub(crate) fn start(options: LiveOptions) -> Result<Self, ServeError> {
        let shared = Arc::new(Shared {
            options,
            state: Mutex::default(),
            changed: Condvar::new(),
            progress: watch::Sender::new(Progress::default()),
            streams: AtomicUsize::new(0),
            registry: Mutex::default(),
        });
        let mine = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("collect".to_owned())
            .spawn(move || collector::run(&mine))
            .map_err(|error| ServeError::work(format!("no thread can be had: {error}")))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn options(&self) -> &LiveOptions {
        &self.shared.options
    }

    /// The counter sets of the machine; at most a second old.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.shared.registry()
    }

    /// What a path means on this machine.
    fn here(&self, path: &PathPattern) -> PathPattern {
        let registry = self.registry();
        let names_it = |machine: &String| eq_ignore_case(machine, registry.machine());
        match path.path().machine.as_ref().is_some_and(names_it) {
            true => registry.path_here(&CounterPath { machine: None, ..path.path().clone() }.into()),
            false => registry.path_here(path),
        }
    }

    /// What these paths mean on this machine. May look at the machine: not for threads of the runtime.
    pub(crate) fn paths_here(&self, paths: &[PathPattern]) -> Vec<PathPattern> {
        paths.iter().map(|path| self.here(path)).collect()
    }

    /// Has these paths collected for a while.
    pub(crate) fn lease(&self, paths: &[PathPattern]) -> Result<u64, Refusal> {
        let mut state = self.shared.lock();
        if state.is_stopped {
            return Err(ended());
        }
        if state.wanted.lease(paths, Instant::now() + LEASE)? {
            state.wants += 1;
            self.shared.changed.notify_all();
        }
        Ok(state.wants)
    }

    /// Waits until what was wanted is looked up, so that it is known what selects nothing; not for long.
    pub(crate) async fn looked_up(&self, wants: u64) -> Result<(), Refusal> {
        let mut progress = self.shared.progress.subscribe();
        let waited = progress.wait_for(|progress| progress.wants >= wants || progress.is_over);
        match tokio::time::timeout(Duration::from_secs(20), waited).await {
            Ok(Ok(progress)) if !progress.is_over => Ok(()),
            Ok(_) => Err(ended()),
            Err(_) => Err(Refusal::busy("this machine's counters are not collected in time; try again")),
        }
    }

    /// Waits until every one of the paths has two samples, from which any value can be made.
    pub(crate) async fn collected(&self, paths: &[PathPattern]) -> Result<Live, Refusal> {
        let since = {
            let state = self.shared.lock();
            let since = |path: &PathPattern| Some(state.live.paths.get(&path.to_string())?.since);
            paths.iter().filter_map(since).max().unwrap_or(state.live.count)
        };
        let mut progress = self.shared.progress.subscribe();
        let waited = progress.wait_for(|progress| progress.samples >= since + 2 || progress.is_over);
        let patience = self.options().interval.saturating_mul(3) + Duration::from_secs(20);
        match tokio::time::timeout(patience, waited).await {
            Ok(Ok(progress)) if !progress.is_over => Ok(self.live()),
            Ok(_) => Err(ended()),
            Err(_) => Err(Refusal::busy("this machine's counters are not collected in time; try again")),
        }
    }

    /// The last samples.
    pub(crate) fn live(&self) -> Live {
        let mut live = self.shared.lock().live.clone();
        if live.points == 0 {
            live.points = self.options().points;
        }
        live
    }

    /// A stream of what these paths select, every n-th collection. `overrun` is told when the reader is too slow.
    pub(crate) fn subscribe(
        &self,
        paths: Vec<PathPattern>,
        every: usize,
        overrun: Arc<Notify>,
    ) -> Result<Reader, Refusal> {
        let shared = &self.shared;
        if shared.streams.fetch_add(1, Ordering::AcqRel) >= MAX_STREAMS {
            shared.streams.fetch_sub(1, Ordering::AcqRel);
            return Err(Refusal::too_many(format!("there are {MAX_STREAMS} streams already")));
        }
        // Before the lock: where this fails, the lock goes first.
        let mut place = Place { shared: Arc::clone(shared), held: None };
        let (sender, events) = mpsc::channel(queue_of(every, self.options().interval));
        let mut state = shared.lock();
        if state.is_stopped {
            return Err(ended());
        }
        place.held = Some(state.wanted.hold(&paths)?);
        state.wants += 1;
        state.arriving.push(Arriving { paths, every, sender, overrun });
        shared.changed.notify_all();
        drop(state);
        Ok(Reader { events, _place: place })
    }

    /// Ends the collection and every stream.
    pub(crate) fn stop(&self) {
        self.shared.lock().is_stopped = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A provider may hold the thread up: who ends the server does not wait for it.
        drop(thread);
    }
}

impl Live {
    /// Why each of these paths selects nothing, where that is known.
    pub(crate) fn missing(&self, paths: &[PathPattern]) -> Vec<(String, String)> {
        let missing = |path: &PathPattern| {
            let text = path.to_string();
            let why = self.paths.get(&text)?.missing.clone()?;
            Some((text, why))
        };
        paths.iter().filter_map(missing).collect()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registry(&self) -> Arc<Registry> {
        let mut known = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((at, registry)) if at.elapsed() < REGISTRY_AGE => Arc::clone(registry),
            _ => {
                let registry = (self.options.registry)();
                *known = Some((Instant::now(), Arc::clone(&registry)));
                registry
            }
        }
    }
}

fn ended() -> Refusal {
    Refusal::busy("the server ends")
}
