//! Another machine; its counter sets form a registry.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::published::Notice;
use tachograph_perflib::{Clock, Failure, IgnorePoison, Registry};

use super::provider::RemoteSet;
use super::shared_attempts::SharedAttempts;
use super::transport::Received;
use super::{Link, Transport};
use crate::message::{Greeting, Sets};

/// Time limit for reading the counter sets.
const SETS_TIMEOUT: Duration = Duration::from_secs(5);
/// If the agent's last reply is older than this, [`RemoteMachine::recheck`] sends a request. Agents check for new sets at this interval.
const MAX_REPLY_AGE: Duration = Duration::from_secs(2);
/// Clocks that differ by less are not reported.
const MIN_CLOCK_DIFFERENCE: i64 = FileTime::PER_SECOND;

/// Another machine. Its registry has the sets that the agent had when they were last read.
///
/// Queries over the registry collect from the agent. If that fails, the sets have errors; the registry stays valid, and the
/// next collection connects again.
#[derive(Debug)]
pub struct RemoteMachine {
    name: Arc<str>,
    link: Arc<Link>,
    /// Locked only briefly.
    state: Mutex<State>,
    /// Locked while the counter sets are read. What was read is stored in `state`.
    read_lock: Mutex<()>,
    rechecks: SharedAttempts,
}

/// What is known of a machine.
#[derive(Debug)]
struct State {
    registry: Arc<Registry>,
    /// The agent's id and generation when the sets were read; `None` before that.
    version: Option<(u64, u64)>,
    greeting: Option<Greeting>,
    /// The machine's clock minus this machine's, in units of 100 ns.
    clock_difference: i64,
}

impl RemoteMachine {
    /// A machine that is not connected yet. `name` has no backslashes. It is the machine's name in paths and samples, even if
    /// the agent has another one.
    pub fn new(name: &str, transport: Box<dyn Transport>) -> Self {
        let link = Arc::new(Link::new(transport, Clock::of_this_machine().now()));
        let registry = Arc::new(Registry::new(name, link.clock()));
        let state = State { registry, version: None, greeting: None, clock_difference: 0 };
        Self {
            name: name.into(),
            link,
            state: Mutex::new(state),
            read_lock: Mutex::default(),
            rechecks: SharedAttempts::default(),
        }
    }

    /// The machine's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Whether the last exchange succeeded. Does not wait for one in progress.
    pub fn is_connected(&self) -> bool {
        self.link.is_connected()
    }

    /// The machine's counter sets as they were last read, without connecting; empty before the first
    /// [`refresh`](Self::refresh).
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.state().registry)
    }

    /// Reads the machine's counter sets, unless the agent's replies have shown that they are unchanged. Returns the same
    /// [`Arc`] until they change.
    ///
    /// If the last exchange failed, connects again. This waits longer than a collection, so that a machine that is far away
    /// can be connected.
    ///
    /// # Errors
    ///
    /// See [`Connector::registry`](tachograph_perflib::Connector::registry). The registry is not changed.
    pub fn refresh(&self) -> Result<Arc<Registry>, Failure> {
        self.refresh_within(SETS_TIMEOUT)
    }

    /// Like [`refresh`](Self::refresh), but waits only for `max_wait` until the machine answers. Once it has, reading its
    /// sets has the usual time limit. Attempts to connect continue in the next exchange.
    ///
    /// # Errors
    ///
    /// Same as [`refresh`](Self::refresh).
    pub fn refresh_within(&self, max_wait: Duration) -> Result<Arc<Registry>, Failure> {
        let _read_lock = self.read_lock.lock().ignore_poison();
        let start = Instant::now();
        self.read_sets(start + max_wait, start + SETS_TIMEOUT)
    }

    /// Like [`refresh`](Self::refresh), but sends a request to an agent that has not replied for two seconds, or whose last
    /// exchange failed. Callers with a query do not need this, because the replies to the query show changes.
    ///
    /// If another thread is doing the same, waits for its outcome, but at most a second. After a failure, no new attempt is
    /// made for as long as the failed one took, so an unreachable machine occupies one thread at most half of the time.
    ///
    /// # Errors
    ///
    /// Same as [`refresh`](Self::refresh).
    pub fn recheck(&self) -> Result<Arc<Registry>, Failure> {
        self.rechecks.run(|| {
            let _read_lock = self.read_lock.lock().ignore_poison();
            let deadline = Instant::now() + SETS_TIMEOUT;
            if !self.link.has_replied_within(MAX_REPLY_AGE) {
                self.greet(deadline)?;
            }
            self.read_sets(deadline, deadline)
        })
    }

    /// Reads the counter sets if they have changed.
    fn read_sets(
        &self,
        greeting_deadline: Instant,
        sets_deadline: Instant,
    ) -> Result<Arc<Registry>, Failure> {
        let known_version = self.state().version;
        if known_version.is_some() && self.link.has_failed() {
            self.greet(greeting_deadline)?;
        }
        let version = self.link.version();
        if known_version.is_some() && known_version == version {
            return Ok(self.registry());
        }
        let agent_id = self.state().greeting.as_ref().map(|greeting| greeting.agent_id);
        // The greeting has the boot time, which has changed if the machine was rebooted.
        if agent_id.is_none() || agent_id != version.map(|(agent_id, _)| agent_id) {
            self.greet(greeting_deadline)?;
        }
        let mut problems = Vec::new();
        let sets = self.link.sets(sets_deadline, &mut problems)?;
        let version = Some((sets.agent_id, sets.generation));
        let registry = self.build_registry(sets, problems, &self.registry());
        let mut state = self.state();
        state.version = version;
        if !registry.is_same(&state.registry) {
            state.registry = Arc::new(registry);
        }
        Ok(Arc::clone(&state.registry))
    }

    /// Whether the machine's counter sets have been read.
    pub fn has_sets(&self) -> bool {
        self.state().version.is_some()
    }

    /// Assumes that a machine that was never reached has the counter sets of another machine, except published ones. Consumers
    /// whose columns are fixed at the start then have columns for it. Once the machine is reached, its own sets replace the
    /// assumed ones; assumed sets that it has keep their providers. Has no effect on a machine that was reached. Returns the
    /// registry.
    pub fn assume_sets(&self, other: &Registry) -> Arc<Registry> {
        let mut state = self.state();
        if state.version.is_none() {
            let mut registry = Registry::new(Arc::clone(&self.name), self.link.clock());
            for info in other.counter_sets().filter(|info| !other.is_published(info.guid)) {
                let provider = RemoteSet::new(Arc::clone(info), Arc::clone(&self.link));
                // The sets of a registry differ in GUID and name, so each can be registered.
                let _ = registry.register(Box::new(provider));
            }
            state.registry = Arc::new(registry);
        }
        Arc::clone(&state.registry)
    }

    fn greet(&self, deadline: Instant) -> Result<(), Failure> {
        let greeting = self.link.greet(deadline)?;
        let now = Clock::of_this_machine().now().wall;
        let mut state = self.state();
        state.clock_difference = greeting.wall.0.saturating_sub(now.0);
        state.greeting = Some(greeting);
        Ok(())
    }

    /// Sends the request for the next collection without waiting; see [`Link::start_collection`]. Returns false if the sets must be
    /// read first.
    pub(super) fn start_collection(&self) -> bool {
        let version = self.state().version;
        version.is_some_and(|version| self.link.start_collection(version))
    }

    /// Closes the queries at the agent without waiting; see [`Link::poll_close`].
    pub(super) fn poll_close(&self) -> bool {
        self.link.poll_close()
    }

    /// How much of the answer to [`start_collection`](Self::start_collection) has arrived. Does not wait.
    pub(super) fn poll_answer(&self) -> Received {
        self.link.poll_answer()
    }

    /// Calls `action` with the socket of the open connection; `None` without a connection, or while another thread uses it.
    pub(super) fn with_descriptor<R>(&self, action: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.link.with_descriptor(action)
    }

    /// A registry of these sets, which shares the providers of unchanged sets with `previous`.
    fn build_registry(&self, sets: Sets, problems: Vec<String>, previous: &Registry) -> Registry {
        let mut registry = Registry::new(Arc::clone(&self.name), self.link.clock());
        for set in sets.sets {
            if registry.share_from(previous, &set.info) {
                continue;
            }
            let name = Arc::from(&*set.info.name);
            let provider = RemoteSet::new(set.info, Arc::clone(&self.link));
            if let Err(code) = registry.register(Box::new(provider)) {
                registry.add_notice(Notice::new(Some(name), format!(r"\\{}: skipped: {code}", self.name)));
            }
        }
        for problem in problems {
            registry.add_notice(Notice::new(None, format!(r"\\{}: skipped: {problem}", self.name)));
        }
        registry
    }

    /// When the machine booted, in UTC, from the agent's last message; 0 if unknown.
    pub fn boot_time(&self) -> FileTime {
        self.link.boot_time()
    }

    /// The name that the agent has for its machine, if it differs from the configured one.
    pub fn other_name(&self) -> Option<String> {
        let state = self.state();
        let name = &state.greeting.as_ref()?.machine;
        (!name.eq_ignore_ascii_case(&self.name)).then(|| name.clone())
    }

    /// The machine's clock minus this machine's when the agent was last greeted, in units of 100 ns, if they differ by a
    /// second or more.
    pub fn clock_difference(&self) -> Option<i64> {
        let difference = self.state().clock_difference;
        (difference.saturating_abs() >= MIN_CLOCK_DIFFERENCE).then_some(difference)
    }
}
