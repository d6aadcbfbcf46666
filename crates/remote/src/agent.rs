//! The agent: answers the requests of consumers, within limits. It does no I/O itself.

mod query;
mod rate_limiter;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::{ErrorCode, Guid, IgnorePoison, Registry};

use crate::frame::Attributes;
use crate::limits::{MAX_QUERIES, MAX_QUERIES_PER_CLIENT, MIN_IDLE_TO_REPLACE};
use crate::message::{
    CollectRequest, Greeting, InstanceReply, ListedSet, OpenReply, Sets, decode_selections,
};
use crate::wire::{MessageError, Reader};
use query::AgentQuery;
use rate_limiter::RateLimiter;

/// Returns the current counter sets of the machine; the same object as before if nothing changed.
pub type RegistryNow = Arc<dyn Fn() -> Arc<Registry> + Send + Sync>;

/// The time between two checks for new counter sets.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

/// The options of an agent.
#[derive(Clone)]
pub struct AgentOptions {
    /// The machine's counter sets.
    pub registry: RegistryNow,
    /// When the machine booted, in UTC; 0 if unknown.
    pub boot_time: FileTime,
    /// A random number, different each time the agent starts.
    pub id: u64,
    /// The program, with its version.
    pub software: String,
    /// Returns unpredictable random numbers, for the ids of queries.
    pub random: fn() -> u64,
}

/// Why a request is refused. The message is for people, and contains no details of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentError {
    /// The message is invalid.
    Message(MessageError),
    /// No query with this id: it expired, or belongs to another client or to an earlier run of the agent.
    NoQuery,
    /// The client has reached this limit.
    Limit(&'static str),
    /// The query is still collecting for an earlier request.
    Busy,
    /// The collection failed as a whole.
    Failed(ErrorCode),
}

impl AgentError {
    /// The HTTP status of the response (docs/remote.md).
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Message(_) => 400,
            Self::NoQuery => 404,
            Self::Limit(_) => 429,
            Self::Failed(_) => 500,
            Self::Busy => 503,
        }
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => write!(f, "invalid message: {error}"),
            Self::NoQuery => f.write_str("no such query: it was closed, or the agent was restarted"),
            Self::Limit(limit) => write!(f, "limit of this client: {limit}"),
            Self::Busy => f.write_str("busy: the query is still collecting for an earlier request"),
            Self::Failed(code) => code.fmt(f),
        }
    }
}

impl std::error::Error for AgentError {}

impl From<MessageError> for AgentError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

/// The agent of a machine. All methods can be called from several threads at once; they block while providers collect.
///
/// `client` identifies a consumer, for example by its address. Limits are per client, and a query belongs to the client that
/// opened it.
pub struct Agent {
    options: AgentOptions,
    state: Mutex<State>,
    rate_limiter: Mutex<RateLimiter>,
}

struct State {
    registry: Arc<Registry>,
    /// Incremented whenever the registry changes.
    generation: u64,
    /// When the registry was last checked for changes.
    last_check: Instant,
    queries: HashMap<u64, Arc<AgentQuery>>,
}

impl Agent {
    /// An agent without queries.
    pub fn new(options: AgentOptions) -> Self {
        let registry = (options.registry)();
        let state = State { registry, generation: 1, last_check: Instant::now(), queries: HashMap::new() };
        Self { options, state: Mutex::new(state), rate_limiter: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Counts a request of a client against its limit.
    fn admit(&self, client: &str) -> Result<(), AgentError> {
        match self.rate_limiter.lock().ignore_poison().admit(client, Instant::now()) {
            true => Ok(()),
            false => Err(AgentError::Limit("too many requests per second")),
        }
    }

    /// The current registry and its generation. Checks for new sets at most once in [`REFRESH_INTERVAL`].
    fn current_registry(&self) -> (Arc<Registry>, u64) {
        let is_due = {
            let mut state = self.state();
            let is_due = state.last_check.elapsed() >= REFRESH_INTERVAL;
            if is_due {
                state.last_check = Instant::now();
            }
            is_due
        };
        // Without the lock, because a check reads folders.
        let updated = is_due.then(|| (self.options.registry)());
        let mut state = self.state();
        if let Some(updated) = updated
            && !Arc::ptr_eq(&updated, &state.registry)
        {
            state.registry = updated;
            state.generation += 1;
        }
        (Arc::clone(&state.registry), state.generation)
    }

    /// Answers `GET /agent/v1`.
    ///
    /// # Errors
    ///
    /// [`AgentError::Limit`].
    pub fn greet(&self, client: &str) -> Result<Vec<u8>, AgentError> {
        self.admit(client)?;
        let (registry, generation) = self.current_registry();
        let greeting = Greeting {
            agent_id: self.options.id,
            generation,
            boot_time: self.options.boot_time,
            wall: registry.clock().now().wall,
            machine: registry.machine().to_string(),
            software: self.options.software.clone(),
        };
        Ok(greeting.encode())
    }

    /// Answers `GET /agent/v1/sets`.
    ///
    /// # Errors
    ///
    /// [`AgentError::Limit`].
    pub fn sets(&self, client: &str) -> Result<Vec<u8>, AgentError> {
        self.admit(client)?;
        let (registry, generation) = self.current_registry();
        let sets = registry
            .counter_sets()
            .map(|info| ListedSet { info: Arc::clone(info), is_published: registry.is_published(info.guid) });
        Ok(Sets { agent_id: self.options.id, generation, sets: sets.collect() }.encode())
    }

    /// Answers `POST /agent/v1/instances`.
    ///
    /// # Errors
    ///
    /// [`AgentError::Limit`], [`AgentError::Message`].
    pub fn instances(&self, client: &str, body: &[u8]) -> Result<Vec<u8>, AgentError> {
        self.admit(client)?;
        let mut reader = Reader::new(body);
        let set: Guid = reader.guid()?;
        reader.end()?;
        let (registry, _) = self.current_registry();
        let outcome = registry
            .instances(set)
            .map_err(|failure| (failure.code, failure.reason.to_string()))
            .and_then(|instances| {
                let mut list = Vec::new();
                for instance in &instances {
                    tachograph_perflib::block::push_instance(&mut list, instance.full_name(), instance.id())
                        .map_err(|error| (error.code(), error.to_string()))?;
                }
                Ok((list, instances.iter().map(|instance| Attributes::from_key(instance)).collect()))
            });
        let now = registry.clock().now();
        let times = [now.ticks, now.system_time.0, now.wall.0];
        Ok(InstanceReply { times, outcome }.encode())
    }

    /// Answers `POST /agent/v1/queries`: opens a query.
    ///
    /// # Errors
    ///
    /// [`AgentError::Limit`], [`AgentError::Message`].
    pub fn open(&self, client: &str, body: &[u8]) -> Result<Vec<u8>, AgentError> {
        self.admit(client)?;
        let selections = decode_selections(body)?;
        let (registry, generation) = self.current_registry();
        self.close_idle();
        self.make_room(client, Instant::now());
        Self::check_query_limits(&self.state(), client)?;
        let (query, statuses) = AgentQuery::open(client, &registry, selections);
        let mut state = self.state();
        // Another request may have opened queries in the meantime.
        Self::check_query_limits(&state, client)?;
        let mut ids = (0..MAX_QUERIES).map(|_| (self.options.random)());
        let id = ids.find(|id| *id != 0 && !state.queries.contains_key(id));
        let id = id.ok_or(AgentError::Failed(ErrorCode::INTERNAL_ERROR))?;
        state.queries.insert(id, Arc::new(query));
        Ok(OpenReply { agent_id: self.options.id, generation, query: id, statuses }.encode())
    }

    /// If a client has the maximum number of queries, closes the one that has been idle longest, because consumers that ended
    /// without closing their queries must not block others.
    fn make_room(&self, client: &str, now: Instant) {
        let closed = {
            let mut state = self.state();
            let client_queries = || state.queries.iter().filter(|(_, query)| query.client() == client);
            let is_full = client_queries().count() >= MAX_QUERIES_PER_CLIENT;
            let longest_idle = client_queries().map(|(id, query)| (query.idle_time(now), *id)).max();
            let replaced = longest_idle.filter(|(idle_time, _)| is_full && *idle_time >= MIN_IDLE_TO_REPLACE);
            replaced.and_then(|(_, id)| state.queries.remove(&id))
        };
        drop(closed);
    }

    fn check_query_limits(state: &State, client: &str) -> Result<(), AgentError> {
        let client_queries = state.queries.values().filter(|query| query.client() == client).count();
        match client_queries < MAX_QUERIES_PER_CLIENT && state.queries.len() < MAX_QUERIES {
            true => Ok(()),
            false => Err(AgentError::Limit("too many open queries")),
        }
    }

    /// Answers `POST /agent/v1/queries/ID/collect`.
    ///
    /// # Errors
    ///
    /// [`AgentError::Limit`], [`AgentError::Message`], [`AgentError::NoQuery`], [`AgentError::Busy`],
    /// [`AgentError::Failed`].
    pub fn collect(&self, client: &str, id: u64, body: &[u8]) -> Result<Vec<u8>, AgentError> {
        self.admit(client)?;
        let request = CollectRequest::decode(body)?;
        let query = self.query(client, id)?;
        let (_, generation) = self.current_registry();
        let (client_bytes, all_bytes) = self.kept_bytes(client);
        query.collect(request, &self.options, generation, client_bytes, all_bytes)
    }

    /// The total sizes in bytes of the frames that are kept for a client and for all clients.
    fn kept_bytes(&self, client: &str) -> (usize, usize) {
        let state = self.state();
        let sum = |is_of_client: bool| {
            let queries = state.queries.values();
            queries
                .filter(|query| !is_of_client || query.client() == client)
                .map(|query| query.kept_bytes())
                .sum()
        };
        (sum(true), sum(false))
    }

    fn query(&self, client: &str, id: u64) -> Result<Arc<AgentQuery>, AgentError> {
        let state = self.state();
        let query = state.queries.get(&id).filter(|query| query.client() == client);
        query.cloned().ok_or(AgentError::NoQuery)
    }

    /// Answers `DELETE /agent/v1/queries/ID`.
    ///
    /// # Errors
    ///
    /// [`AgentError::Limit`], [`AgentError::NoQuery`].
    pub fn close(&self, client: &str, id: u64) -> Result<(), AgentError> {
        self.admit(client)?;
        self.query(client, id)?;
        let closed = self.state().queries.remove(&id);
        // Dropping a query can close files, so the lock is not held.
        drop(closed);
        Ok(())
    }

    /// Closes the queries that have not been collected for [`MAX_IDLE`](crate::limits::MAX_IDLE).
    pub fn close_idle(&self) {
        let now = Instant::now();
        let closed: Vec<_> = {
            let mut state = self.state();
            state.queries.extract_if(|_, query| query.is_idle(now)).collect()
        };
        drop(closed);
    }

    /// The number of open queries.
    pub fn open_queries(&self) -> usize {
        self.state().queries.len()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("queries", &self.open_queries()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tachograph_perflib::Clock;

    use super::*;
    use crate::limits::MIN_IDLE_TO_REPLACE;
    use crate::message::OpenReply;

    #[test]
    fn the_longest_idle_query_is_closed_for_a_new_one() {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let registry = Arc::new(Registry::new("web1", Clock::of_this_machine()));
        let agent = Agent::new(AgentOptions {
            registry: Arc::new(move || Arc::clone(&registry)),
            boot_time: FileTime(0),
            id: 1,
            software: String::new(),
            random: || NEXT_ID.fetch_add(1, Ordering::Relaxed),
        });
        let no_selections = 0_u32.to_le_bytes();
        let opened: Vec<u64> = (0..MAX_QUERIES_PER_CLIENT)
            .map(|_| agent.open("a", &no_selections).expect("a query"))
            .map(|reply| OpenReply::decode(&reply, 0).expect("a reply").query)
            .collect();
        let collect = |query, number| agent.collect("a", query, &CollectRequest { number, held: 0 }.encode());
        assert!(collect(opened[0], 1).is_ok());
        let now = Instant::now();
        agent.make_room("a", now);
        assert!(agent.open("a", &no_selections).is_err(), "all queries are in use");
        agent.make_room("b", now + MIN_IDLE_TO_REPLACE);
        assert_eq!(agent.open_queries(), MAX_QUERIES_PER_CLIENT, "queries of other clients stay open");
        agent.make_room("a", now + MIN_IDLE_TO_REPLACE);
        assert_eq!(agent.open_queries(), MAX_QUERIES_PER_CLIENT - 1);
        assert_eq!(collect(opened[1], 1), Err(AgentError::NoQuery), "it was used longest ago");
        assert!(collect(opened[0], 2).is_ok());
        agent.make_room("a", now + 2 * MIN_IDLE_TO_REPLACE);
        assert_eq!(agent.open_queries(), MAX_QUERIES_PER_CLIENT - 1, "there is room");
    }
}
