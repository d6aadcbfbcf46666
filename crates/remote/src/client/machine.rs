//! Another machine, whose counter sets are a registry.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::published::Notice;
use tachograph_perflib::{Clock, Failure, IgnorePoison, Registry};

use super::provider::RemoteSet;
use super::transport::Received;
use super::{Link, Transport};
use crate::message::{Greeting, Sets};

/// Time limit for reading the counter sets.
const SETS_TIMEOUT: Duration = Duration::from_secs(5);
/// The age of the agent's last reply from which [`RemoteMachine::recheck`] asks it again. Agents look for new sets as often.
const MAX_AGE: Duration = Duration::from_secs(2);
/// Clocks that differ by less are not reported.
const MIN_CLOCK_DIFFERENCE: i64 = FileTime::PER_SECOND;

/// Another machine. Its registry has the sets that the agent had when they were last read.
///
/// Queries over the registry collect from the agent. Failures are those of the sets: the registry stays valid, and the
/// next collection connects again.
#[derive(Debug)]
pub struct RemoteMachine {
    name: Arc<str>,
    link: Arc<Link>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    registry: Arc<Registry>,
    /// The agent's id and generation when the sets were read; `None` before that.
    version: Option<(u64, u64)>,
    greeting: Option<Greeting>,
    /// The machine's clock minus ours, in units of 100 ns.
    clock_difference: i64,
}

impl RemoteMachine {
    /// A machine that is not connected yet. `name` has no backslashes, and is the machine's name in paths and samples,
    /// whatever the agent says.
    pub fn new(name: &str, transport: Box<dyn Transport>) -> Self {
        let link = Arc::new(Link::new(transport, Clock::of_this_machine().now()));
        let registry = Arc::new(Registry::new(name, link.clock()));
        let state = State { registry, version: None, greeting: None, clock_difference: 0 };
        Self { name: name.into(), link, state: Mutex::new(state) }
    }

    /// The machine's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether the last exchange succeeded.
    pub fn is_connected(&self) -> bool {
        self.link.is_connected()
    }

    /// The machine's counter sets as they were last read, without connecting; empty before the first
    /// [`refresh`](Self::refresh).
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.state.lock().ignore_poison().registry)
    }

    /// Reads the machine's counter sets, unless the agent's replies have shown that they are unchanged. Returns the same
    /// [`Arc`] until they change.
    ///
    /// If the last exchange failed, connects again, which may take longer here than in a collection: so a machine that is far
    /// away is reached even if collections do not wait long enough.
    ///
    /// # Errors
    ///
    /// See [`Connector::registry`](tachograph_perflib::Connector::registry). The registry stays as it was.
    pub fn refresh(&self) -> Result<Arc<Registry>, Failure> {
        let mut state = self.state.lock().ignore_poison();
        let deadline = Instant::now() + SETS_TIMEOUT;
        if state.version.is_some() && !self.link.is_connected() {
            self.greet(&mut state, deadline)?;
        }
        let version = self.link.version();
        if state.version.is_some() && state.version == version {
            return Ok(Arc::clone(&state.registry));
        }
        let greeted = state.greeting.as_ref().map(|greeting| greeting.agent_id);
        // After a restart of the machine, its boot time is another.
        if greeted.is_none() || greeted != version.map(|(agent_id, _)| agent_id) {
            self.greet(&mut state, deadline)?;
        }
        let mut problems = Vec::new();
        let sets = self.link.sets(deadline, &mut problems)?;
        state.version = Some((sets.agent_id, sets.generation));
        let registry = self.registry_of(sets, problems, &state.registry);
        if !registry.is_same(&state.registry) {
            state.registry = Arc::new(registry);
        }
        Ok(Arc::clone(&state.registry))
    }

    /// Like [`refresh`](Self::refresh), but asks an agent that has not replied for two seconds, or whose last exchange failed:
    /// for callers that have no query whose replies show changes.
    ///
    /// # Errors
    ///
    /// Same as [`refresh`](Self::refresh).
    pub fn recheck(&self) -> Result<Arc<Registry>, Failure> {
        if !self.link.has_replied_within(MAX_AGE) {
            self.greet(&mut self.state.lock().ignore_poison(), Instant::now() + SETS_TIMEOUT)?;
        }
        self.refresh()
    }

    /// Whether the machine's counter sets have been read.
    pub fn has_sets(&self) -> bool {
        self.state.lock().ignore_poison().version.is_some()
    }

    /// Until the machine is reached for the first time, its registry has the sets of another machine, except published ones:
    /// consumers that fix their columns at the start have columns for it. Sets that the machine has too keep their
    /// providers when it is reached. Has no effect afterwards. Returns the registry.
    pub fn assume_sets(&self, other: &Registry) -> Arc<Registry> {
        let mut state = self.state.lock().ignore_poison();
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

    fn greet(&self, state: &mut State, deadline: Instant) -> Result<(), Failure> {
        let greeting = self.link.greet(deadline)?;
        let now = Clock::of_this_machine().now().wall;
        state.clock_difference = greeting.wall.0.saturating_sub(now.0);
        state.greeting = Some(greeting);
        Ok(())
    }

    /// Sends the request for the next collection without waiting; see [`Link::send_ahead`]. Not if the sets have to be read first.
    pub(super) fn send_ahead(&self) -> bool {
        // If another thread is reading the sets, the request waits for them.
        let version = self.state.try_lock().ok().and_then(|state| state.version);
        version.is_some_and(|version| self.link.send_ahead(version))
    }

    /// How much of the answer to [`send_ahead`](Self::send_ahead) has arrived. Does not wait.
    pub(super) fn receive_ahead(&self) -> Received {
        self.link.receive_ahead()
    }

    /// Calls `then` with the socket of the open connection; `None` without a connection, or while another thread uses it.
    pub(super) fn with_descriptor<R>(&self, then: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.link.with_descriptor(then)
    }

    /// A registry of these sets, which shares the providers of unchanged sets with `before`.
    fn registry_of(&self, sets: Sets, problems: Vec<String>, before: &Registry) -> Registry {
        let mut registry = Registry::new(Arc::clone(&self.name), self.link.clock());
        for set in sets.sets {
            if registry.share_from(before, &set.info) {
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

    /// When the machine was started, in UTC, as the agent said last; 0 if unknown.
    pub fn boot_time(&self) -> FileTime {
        self.link.boot_time()
    }

    /// The name that the agent has for its machine, if it differs from the configured one.
    pub fn other_name(&self) -> Option<String> {
        let state = self.state.lock().ignore_poison();
        let name = &state.greeting.as_ref()?.machine;
        (!name.eq_ignore_ascii_case(&self.name)).then(|| name.clone())
    }

    /// The machine's clock minus ours when it was first reached, in units of 100 ns, if they differ by a second or more.
    pub fn clock_difference(&self) -> Option<i64> {
        let difference = self.state.lock().ignore_poison().clock_difference;
        (difference.saturating_abs() >= MIN_CLOCK_DIFFERENCE).then_some(difference)
    }
}
