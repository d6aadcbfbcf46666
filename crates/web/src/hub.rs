//! Collects the counters of this machine, or of several machines, once for all clients.
//!
//! A thread samples all counters that any stream or lease requests, at `start + k * interval`, and keeps the last
//! samples in a ring. Samples are immutable, so readers of the ring block neither the collection nor each other.
//! Streams with the same selection share the text of their events. A stream whose queue is full is closed. Without
//! requests, nothing is collected.

mod averages;
mod collector;
mod input;
mod layout;
mod machine_sets;
mod requested_paths;
mod ring;
mod stream_selection;
mod streams;
mod window;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tachograph_counters::IgnorePoison;
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::Sample;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::live::LiveReport;
use tachograph_perflib::Registry;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};

use crate::options::{LiveOptions, ServeError};
use crate::response::ApiError;
pub(crate) use layout::Layout;
pub(crate) use machine_sets::MachineSets;
use requested_paths::RequestedPaths;
pub(crate) use ring::RingSource;
pub(crate) use streams::{GZIP_HEADER, StreamRequest, comment, event};
use streams::{NewSubscriber, queue_length};

/// Maximum number of open streams.
pub(crate) const MAX_STREAMS: usize = 512;
/// How long a counter is collected after the last request for it.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// How long a registry is used before it is replaced by the current one.
const MAX_REGISTRY_AGE: Duration = Duration::from_secs(1);

pub(crate) struct Hub {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The state that the thread and the handlers share.
struct Shared {
    options: LiveOptions,
    state: Mutex<State>,
    /// Wakes the thread when `state` has changed.
    changed: Condvar,
    /// Notifies handlers that wait for the thread.
    progress: watch::Sender<Progress>,
    /// The number of open streams.
    streams: AtomicUsize,
    /// The runtime whose tasks send events; empty until the server runs.
    runtime: OnceLock<Handle>,
    /// The registry in use, and when it was obtained.
    registry: Mutex<Option<(Instant, Arc<Registry>)>>,
    /// With several machines: the registry of one of them, from the collection; `None` before one was reached.
    machine_registry: Mutex<Option<Arc<Registry>>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The last version of the requested paths that the thread has applied.
    requests_version: u64,
    /// The number of samples since the collection began.
    samples: u64,
    /// Whether the thread has ended.
    has_ended: bool,
}

#[derive(Default)]
struct State {
    is_stopped: bool,
    /// Incremented with every change of `requested`.
    requests_version: u64,
    requested: RequestedPaths,
    new_subscribers: Vec<NewSubscriber>,
    live: LiveSnapshot,
    /// The event with the state of the recording, which all streams get when the state changes; empty if the server allows no
    /// recordings.
    recording: Bytes,
}

/// The last samples, and the state of each path.
#[derive(Clone, Default)]
pub(crate) struct LiveSnapshot {
    /// The last samples, oldest first.
    pub(crate) samples: Vec<Arc<Sample>>,
    /// The state of each collected path, by its string form.
    paths: Arc<HashMap<String, PathState>>,
    /// The number of samples since the collection began.
    count: u64,
    /// Counters that could not be read.
    pub(crate) report: LiveReport,
    /// The number of intervals that the ring keeps.
    pub(crate) points: usize,
}

#[derive(Clone, Debug)]
struct PathState {
    /// The number of samples that were taken before the path was added.
    since: u64,
    /// Why the path selects nothing; `None` if it selects something.
    missing: Option<String>,
}

pub(crate) struct StreamReader {
    pub(crate) events: mpsc::Receiver<Bytes>,
    /// Whether the events are compressed.
    pub(crate) is_gzip: bool,
    _subscription: Subscription,
}

/// Counts a stream and holds its paths until it is dropped. Dropping locks the state, so it must not happen under the
/// lock.
struct Subscription {
    shared: Arc<Shared>,
    /// The string forms of the held paths.
    held: Option<Vec<String>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.streams.fetch_sub(1, Ordering::AcqRel);
        let Some(held) = &self.held else { return };
        let mut state = self.shared.lock();
        state.requested.release(held);
        state.requests_version += 1;
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
            runtime: OnceLock::new(),
            registry: Mutex::default(),
            machine_registry: Mutex::default(),
        });
        if !shared.options.history.is_empty() {
            let mut state = shared.lock();
            let held = state.requested.hold(&shared.options.history);
            held.map_err(|error| ServeError::usage(error.message))?;
            state.requests_version += 1;
        }
        let thread_shared = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("collect".to_owned())
            .spawn(move || collector::run(&thread_shared))
            .map_err(|error| ServeError::io("cannot start a thread", &error))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn options(&self) -> &LiveOptions {
        &self.shared.options
    }

    /// The counter sets of the machine, at most a second old.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.shared.registry()
    }

    /// The counter sets of a machine. This can connect to another machine and wait for its answer: see [`MachineSets`].
    fn registry_of(&self, machine: &str) -> Result<Arc<Registry>, ApiError> {
        let registry = match &self.options().machines {
            Some(machines) => machines.registry(machine),
            None if self.registry().is_machine(machine) => return Ok(self.registry()),
            None => return Err(ApiError::not_found(format!("no such machine: '{machine}'"))),
        };
        registry.map_err(|failure| ApiError::not_found(failure.to_string()))
    }

    /// The known counter sets of one of the machines: from the collection, or, before a machine was reached, those known at the
    /// start. Does not wait for a machine.
    pub(crate) fn any_registry(&self) -> Arc<Registry> {
        let Some(machines) = &self.options().machines else { return self.registry() };
        let collected = self.shared.machine_registry.lock().ignore_poison().clone();
        collected.unwrap_or_else(|| machines.known_registry())
    }

    /// The names of the machines that are collected.
    pub(crate) fn machines(&self) -> Vec<String> {
        match &self.options().machines {
            Some(machines) => machines.names().iter().map(ToString::to_string).collect(),
            None => vec![self.registry().machine().to_string()],
        }
    }

    fn resolve_path(&self, path: &PathPattern) -> PathPattern {
        if self.options().machines.is_some() {
            // Each machine resolves its paths.
            return path.clone();
        }
        let registry = self.registry();
        let is_this_machine = |machine: &String| eq_ignore_case(machine, registry.machine());
        match path.path().machine.as_ref().is_some_and(is_this_machine) {
            true => registry.resolve_path(&CounterPath { machine: None, ..path.path().clone() }.into()),
            false => registry.resolve_path(path),
        }
    }

    /// Resolves paths for this machine ([`Registry::resolve_path`]), and removes its name from them. This may read the
    /// machine's counter sets, so it must not run on a thread of the runtime.
    pub(crate) fn resolve_paths(&self, paths: &[PathPattern]) -> Vec<PathPattern> {
        paths.iter().map(|path| self.resolve_path(path)).collect()
    }

    /// Requests the collection of paths for [`LEASE`]; returns the version for [`wait_until_applied`](Self::wait_until_applied).
    pub(crate) fn lease(&self, paths: &[PathPattern]) -> Result<u64, ApiError> {
        let mut state = self.shared.lock();
        if state.is_stopped {
            return Err(shutting_down());
        }
        if state.requested.lease(paths, Instant::now() + LEASE)? {
            state.requests_version += 1;
            self.shared.changed.notify_all();
        }
        Ok(state.requests_version)
    }

    /// Waits until the thread has applied this version of the requested paths. Then the paths that select nothing are
    /// known.
    pub(crate) async fn wait_until_applied(&self, version: u64) -> Result<(), ApiError> {
        let mut progress = self.shared.progress.subscribe();
        let waited = progress.wait_for(|progress| progress.requests_version >= version || progress.has_ended);
        self.finish_wait(Duration::from_secs(20), waited).await
    }

    /// Waits until all paths have two samples, which is enough to compute any value.
    pub(crate) async fn wait_for_values(&self, paths: &[PathPattern]) -> Result<LiveSnapshot, ApiError> {
        let since = {
            let state = self.shared.lock();
            let since = |path: &PathPattern| Some(state.live.paths.get(&path.to_string())?.since);
            paths.iter().filter_map(since).max().unwrap_or(state.live.count)
        };
        let mut progress = self.shared.progress.subscribe();
        let waited = progress.wait_for(|progress| progress.samples >= since + 2 || progress.has_ended);
        let limit = self.options().interval.saturating_mul(3) + Duration::from_secs(20);
        self.finish_wait(limit, waited).await?;
        Ok(self.live())
    }

    async fn finish_wait(
        &self,
        limit: Duration,
        waited: impl Future<Output = Result<watch::Ref<'_, Progress>, watch::error::RecvError>>,
    ) -> Result<(), ApiError> {
        match tokio::time::timeout(limit, waited).await {
            Ok(Ok(progress)) if !progress.has_ended => Ok(()),
            Ok(_) => Err(shutting_down()),
            Err(_) => Err(ApiError::unavailable("timeout while collecting counters; try again")),
        }
    }

    /// The number of samples since the collection began; 0 while nothing is collected.
    pub(crate) fn samples(&self) -> u64 {
        self.shared.progress.borrow().samples
    }

    /// The samples in the ring, and the state of each path.
    pub(crate) fn live(&self) -> LiveSnapshot {
        let mut live = self.shared.lock().live.clone();
        if live.points == 0 {
            live.points = self.options().points;
        }
        live
    }

    /// Opens a stream. `closing` is notified if the reader is too slow.
    pub(crate) fn subscribe(
        &self,
        request: StreamRequest,
        closing: Arc<Notify>,
    ) -> Result<StreamReader, ApiError> {
        let shared = &self.shared;
        if shared.streams.fetch_add(1, Ordering::AcqRel) >= MAX_STREAMS {
            shared.streams.fetch_sub(1, Ordering::AcqRel);
            return Err(ApiError::too_many_requests(format!(
                "the limit of {MAX_STREAMS} streams is reached"
            )));
        }
        // Created before locking, so that an early return releases the lock first.
        let mut subscription = Subscription { shared: Arc::clone(shared), held: None };
        let (sender, events) = mpsc::channel(queue_length(request.every, self.options().interval));
        let mut state = shared.lock();
        if state.is_stopped {
            return Err(shutting_down());
        }
        let is_gzip = request.is_gzip;
        subscription.held = Some(state.requested.hold(&request.paths)?);
        state.requests_version += 1;
        state.new_subscribers.push(NewSubscriber { request, sender, closing });
        shared.changed.notify_all();
        drop(state);
        Ok(StreamReader { events, is_gzip, _subscription: subscription })
    }

    /// Sets the runtime whose tasks send events.
    pub(crate) fn set_runtime(&self, runtime: Handle) {
        // Only the first call has an effect, because a server runs once.
        let _ = self.shared.runtime.set(runtime);
    }

    /// Sets the event about the recording. Streams get it with their next events.
    pub(crate) fn set_recording(&self, event: Bytes) {
        self.shared.lock().recording = event;
    }

    pub(crate) fn stop(&self) {
        self.shared.lock().is_stopped = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().ignore_poison().take();
        // The thread is not joined, because a provider can block it.
        drop(thread);
    }
}

impl LiveSnapshot {
    /// The paths that select nothing, each with the reason.
    pub(crate) fn missing(&self, paths: &[PathPattern]) -> Vec<(String, String)> {
        let missing = |path: &PathPattern| {
            let text = path.to_string();
            let reason = self.paths.get(&text)?.missing.clone()?;
            Some((text, reason))
        };
        paths.iter().filter_map(missing).collect()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    fn registry(&self) -> Arc<Registry> {
        let mut known = self.registry.lock().ignore_poison();
        match &*known {
            Some((at, registry)) if at.elapsed() < MAX_REGISTRY_AGE => Arc::clone(registry),
            _ => {
                let registry = (self.options.registry)();
                *known = Some((Instant::now(), Arc::clone(&registry)));
                registry
            }
        }
    }
}

fn shutting_down() -> ApiError {
    ApiError::unavailable("the server is shutting down")
}
