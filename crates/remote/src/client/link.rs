//! A link to one agent: queries, retries, reconnecting. The transport does the I/O.

mod ahead;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::block::decode_instances;
use tachograph_perflib::{
    Clock, CollectionId, ErrorCode, Failure, Guid, IgnorePoison, InstanceKey, SetSelection, Timestamps,
};

use super::answers::{Answer, Answers, Collection, Content};
use super::transport::{ExchangeError, Method, Transport};
use crate::difference;
use crate::frame::Frame;
use crate::limits::MAX_TEXT_BYTES;
use crate::message::{
    CollectReply, CollectRequest, Greeting, InstanceReply, OpenReply, Sets, encode_selections,
};

/// The wait before the next attempt to connect, after the first and after later failures.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// The wait after the agent has refused this consumer: wrong tokens are throttled.
const DENIED_BACK_OFF: Duration = Duration::from_secs(5);
/// Maximum number of queries that are kept open; the one that was used longest ago is closed for a new one.
const MAX_QUERIES: usize = 16;

/// Maximum time for closing the queries when the link is no longer used.
const MAX_CLOSING: Duration = Duration::from_millis(200);

/// A link to one agent. The providers of the machine's sets share it. Exchanges run one after another.
pub struct Link {
    /// Is locked for a short time only.
    answers: Mutex<Answers>,
    /// Is locked during an exchange.
    session: Mutex<Session>,
}

#[derive(Debug)]
struct Session {
    transport: Box<dyn Transport>,
    /// The process that uses the connection and the queries: a forked child must not share those of its parent.
    process: u32,
    /// When the agent last replied.
    replied: Option<Instant>,
    /// The agent's id and its generation of the counter sets, from its last reply; `None` before the first.
    version: Option<(u64, u64)>,
    queries: Vec<OpenQuery>,
    /// The number of the last collection.
    number: u64,
    /// After a failure: when to try again, how long to wait after the next failure, and the failure.
    failed: Option<(Instant, Duration, Failure)>,
    /// Buffers of a response and of a frame.
    body: Vec<u8>,
    frame: Vec<u8>,
}

/// A query of the agent for certain selections.
#[derive(Debug)]
struct OpenQuery {
    id: u64,
    /// The agent that opened it.
    agent_id: u64,
    /// The agent's generation of the counter sets when it opened the query.
    generation: u64,
    selections: Vec<Arc<SetSelection>>,
    /// For each selection, the index of its result or the agent's error.
    results: Arc<[Result<usize, Failure>]>,
    /// The number and the frame of the last collection.
    held: Option<(u64, Arc<Frame>)>,
}

impl Link {
    /// A link that is not connected yet. `now` is used as the machine's time until it answers.
    pub fn new(transport: Box<dyn Transport>, now: Timestamps) -> Self {
        let session = Session {
            transport,
            process: std::process::id(),
            replied: None,
            version: None,
            queries: Vec::new(),
            number: 0,
            failed: None,
            body: Vec::new(),
            frame: Vec::new(),
        };
        Self { answers: Mutex::new(Answers::new(now)), session: Mutex::new(session) }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().ignore_poison()
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        let mut session = self.session.lock().ignore_poison();
        let process = std::process::id();
        if session.process != process {
            session.process = process;
            session.queries.clear();
            session.transport.close();
        }
        session
    }

    /// The clocks of the machine: the times of its answers.
    pub fn clock(self: &Arc<Self>) -> Clock {
        let link = Arc::clone(self);
        Clock::of_collections(move |collection| {
            let answers = link.answers();
            let answer = collection.and_then(|id| answers.known(id)).and_then(|known| known.answer.as_ref());
            answer.map_or_else(|| answers.estimate(), |answer| answer.timestamps)
        })
    }

    /// Greets the agent.
    ///
    /// # Errors
    ///
    /// See [`Connector::registry`](tachograph_perflib::Connector::registry). The message says what to do.
    pub fn greet(&self, deadline: Instant) -> Result<Greeting, Failure> {
        let session = &mut *self.session();
        session.call(Method::Get, "/agent/v1", &[], deadline)?;
        let greeting = Greeting::decode(&session.body).map_err(|error| session.invalid(error))?;
        session.version = Some((greeting.agent_id, greeting.generation));
        Ok(greeting)
    }

    /// The agent's counter sets. Problems of single sets are added to `problems`.
    ///
    /// # Errors
    ///
    /// Same as [`greet`](Self::greet).
    pub fn sets(&self, deadline: Instant, problems: &mut Vec<String>) -> Result<Sets, Failure> {
        let session = &mut *self.session();
        session.call(Method::Get, "/agent/v1/sets", &[], deadline)?;
        let sets = Sets::decode(&session.body, problems).map_err(|error| session.invalid(error))?;
        session.version = Some((sets.agent_id, sets.generation));
        Ok(sets)
    }

    /// The agent's id and its generation of the counter sets, from its last reply; `None` before the first.
    pub fn version(&self) -> Option<(u64, u64)> {
        self.session().version
    }

    /// Whether the last exchange succeeded.
    pub fn is_connected(&self) -> bool {
        let session = self.session();
        session.failed.is_none() && session.version.is_some()
    }

    /// Whether the last exchange succeeded, and is not older than `max_age`.
    pub(super) fn has_replied_within(&self, max_age: Duration) -> bool {
        let session = self.session();
        session.failed.is_none() && session.replied.is_some_and(|at| at.elapsed() <= max_age)
    }

    /// Adds a set's selection to a collection.
    pub(super) fn request(&self, collection: CollectionId, selection: &Arc<SetSelection>) {
        self.answers().collection(collection).selections.push(Arc::clone(selection));
    }

    /// Adds the list of a set's instances to a collection.
    pub(super) fn request_instances(&self, collection: CollectionId, set: Guid) {
        self.answers().collection(collection).listed.push(set);
    }

    /// Exchanges a collection with the agent, unless another provider of the collection has already done so.
    pub(super) fn prepare(&self, collection: CollectionId, deadline: Instant) {
        let (selections, listed) = {
            let mut answers = self.answers();
            let Collection { selections, listed, answer, .. } = answers.collection(collection);
            if answer.is_some() {
                return;
            }
            (selections.clone(), listed.clone())
        };
        let session = &mut *self.session();
        let outcome = match listed.is_empty() {
            true => self.collect(session, &selections, deadline),
            false => self.list(session, &listed, deadline),
        };
        let mut answers = self.answers();
        let answer = match outcome {
            Ok((timestamps, content)) => {
                // The times of lists of instances are not those of a collection.
                if matches!(content, Content::Values(..)) {
                    answers.set_times(timestamps);
                }
                Answer { timestamps, outcome: Ok(content) }
            }
            Err(failure) => Answer { timestamps: answers.estimate(), outcome: Err(failure) },
        };
        answers.collection(collection).answer = Some(answer);
        if let Some(frame) = answers.forget_frames()
            && let Ok(frame) = Arc::try_unwrap(frame)
        {
            session.frame = frame.into_bytes();
        }
    }

    /// Calls `then` with the answer to the collection that has these times and this selection, and the selection's index.
    pub(super) fn with_values<R>(
        &self,
        at: Timestamps,
        selection: &Arc<SetSelection>,
        then: impl FnOnce(&Frame, usize) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let position =
            |known: &Collection| known.selections.iter().position(|one| Arc::ptr_eq(one, selection));
        let answer = {
            let answers = self.answers();
            let found = answers.find(at, |known| position(known).is_some());
            found.and_then(|known| Some((known.answer.clone()?, position(known)?)))
        };
        match answer {
            Some((Answer { outcome: Ok(Content::Values(frame, results)), .. }, index)) => {
                match results.get(index) {
                    Some(Ok(result)) => then(&frame, *result),
                    Some(Err(failure)) => Err(failure.clone()),
                    None => Err(not_collected()),
                }
            }
            Some((Answer { outcome: Err(failure), .. }, _)) => Err(failure),
            _ => Err(not_collected()),
        }
    }

    /// The instances of a set in the collection that has these times.
    pub(super) fn instances(&self, at: Timestamps, set: Guid) -> Result<Vec<Arc<InstanceKey>>, Failure> {
        let answers = self.answers();
        let position = |known: &Collection| known.listed.iter().position(|one| *one == set);
        let found = answers.find(at, |known| position(known).is_some());
        let answer = found.and_then(|known| Some((known.answer.as_ref()?, position(known)?)));
        match answer {
            Some((Answer { outcome: Ok(Content::Instances(lists)), .. }, index)) => {
                lists.get(index).cloned().unwrap_or_else(|| Err(not_collected()))
            }
            Some((Answer { outcome: Err(failure), .. }, _)) => Err(failure.clone()),
            _ => Err(not_collected()),
        }
    }

    fn collect(
        &self,
        session: &mut Session,
        selections: &[Arc<SetSelection>],
        deadline: Instant,
    ) -> Result<(Timestamps, Content), Failure> {
        let index = session.query(selections, deadline)?;
        let (frame, results) = match session.collect(index, deadline)? {
            Some(collected) => collected,
            None => {
                // The agent has closed the query, or was restarted.
                let closed = session.queries.remove(index);
                let index = session.query(selections, deadline)?;
                if session.queries[index].agent_id != closed.agent_id {
                    return Err(session.restarted());
                }
                session.collect(index, deadline)?.ok_or_else(not_collected)?
            }
        };
        let timestamps = frame.timestamps();
        let mut answers = self.answers();
        if answers.has_answer && timestamps.ticks < answers.last_times().ticks {
            answers.set_times(timestamps);
            let reason = "the clock of the agent's machine went backwards: the machine was restarted, or its times are wrong";
            return Err(Failure::new(ErrorCode::INVALID_DATA, reason));
        }
        Ok((timestamps, Content::Values(frame, results)))
    }

    fn list(
        &self,
        session: &mut Session,
        sets: &[Guid],
        deadline: Instant,
    ) -> Result<(Timestamps, Content), Failure> {
        let mut lists = Vec::with_capacity(sets.len());
        let mut timestamps = None;
        for set in sets {
            let (at, list) = session.instances(*set, deadline)?;
            timestamps.get_or_insert(at);
            lists.push(list);
        }
        Ok((timestamps.unwrap_or_else(|| self.answers().estimate()), Content::Instances(lists)))
    }
}

impl Session {
    /// Sends a request. The body of the response is in `self.body`.
    fn call(&mut self, method: Method, path: &str, request: &[u8], deadline: Instant) -> Result<(), Failure> {
        match self.exchange(method, path, request, deadline)? {
            200 => Ok(()),
            status => Err(self.refused(status)),
        }
    }

    /// Sends a request; returns the HTTP status if the agent accepts or does not know it.
    fn exchange(
        &mut self,
        method: Method,
        path: &str,
        request: &[u8],
        deadline: Instant,
    ) -> Result<u16, Failure> {
        if let Some((until, _, failure)) = &self.failed
            && Instant::now() < *until
        {
            return Err(failure.clone());
        }
        match self.transport.exchange(method, path, request, &mut self.body, deadline) {
            Ok(response) => match response.status {
                status @ (200 | 404) => {
                    self.failed = None;
                    self.replied = Some(Instant::now());
                    Ok(status)
                }
                status => Err(self.refused(status)),
            },
            Err(error) => {
                let failure = Failure::new(error.code(), error.describe(self.transport.peer()));
                Err(self.fail(failure))
            }
        }
    }

    /// Remembers a failure, so that the next attempt waits.
    fn fail(&mut self, failure: Failure) -> Failure {
        self.transport.close();
        let wait = match &self.failed {
            _ if failure.code == ErrorCode::ACCESS_DENIED => DENIED_BACK_OFF,
            Some((_, wait, _)) => (*wait * 2).min(BACK_OFF[1]),
            None => BACK_OFF[0],
        };
        self.failed = Some((Instant::now() + wait, wait, failure.clone()));
        failure
    }

    /// The failure for a response whose status is an error.
    fn refused(&mut self, status: u16) -> Failure {
        let peer = self.transport.peer();
        let message = String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_TEXT_BYTES)]);
        let address = &peer.address;
        let failure = match status {
            401 | 403 => Failure::new(
                ErrorCode::ACCESS_DENIED,
                format!(
                    "the agent at {address} refuses the token of '{}'; copy the line that 'tacho agent setup' prints on that \
                     machine to machines.toml",
                    peer.machine
                ),
            ),
            404 => Failure::new(
                ErrorCode::NOT_SUPPORTED,
                format!("the server at {address} is no agent, or has another version of the protocol"),
            ),
            408 | 503 | 504 => Failure::new(
                ErrorCode::TIMEOUT,
                format!("the agent at {address} did not answer in time ({message})"),
            ),
            413 | 429 => Failure::new(
                ErrorCode::NO_SYSTEM_RESOURCES,
                format!("the agent at {address} refuses the request: {message}"),
            ),
            _ => Failure::new(
                ErrorCode::INVALID_DATA,
                format!("the agent at {address} answers with HTTP status {status}: {message}"),
            ),
        };
        self.fail(failure)
    }

    /// The failure for a message that breaks a rule. The connection is closed.
    fn invalid(&mut self, error: impl fmt::Display) -> Failure {
        let error = ExchangeError::Invalid(error.to_string());
        let failure = Failure::new(error.code(), error.describe(self.transport.peer()));
        self.fail(failure)
    }

    /// The index of the query with these selections, which is opened if necessary.
    fn query(&mut self, selections: &[Arc<SetSelection>], deadline: Instant) -> Result<usize, Failure> {
        let is_same = |query: &OpenQuery| {
            query.selections.len() == selections.len()
                && query.selections.iter().zip(selections).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some(known) = self.queries.iter().position(is_same) {
            let query = self.queries.remove(known);
            if !self.is_outdated(&query) {
                // The query that was used last is the last one.
                self.queries.push(query);
                return Ok(self.queries.len() - 1);
            }
            self.close(&query, deadline)?;
        }
        while self.queries.len() >= MAX_QUERIES {
            let old = self.queries.remove(0);
            self.close(&old, deadline)?;
        }
        let request = encode_selections(selections.iter().map(|selection| &**selection));
        self.call(Method::Post, "/agent/v1/queries", &request, deadline)?;
        let reply = OpenReply::decode(&self.body, selections.len()).map_err(|error| self.invalid(error))?;
        self.version = Some((reply.agent_id, reply.generation));
        let mut next = 0;
        let results = reply.statuses.iter().map(|&status| match status {
            0 => {
                next += 1;
                Ok(next - 1)
            }
            code => Err(Failure::new(ErrorCode(code), ErrorCode(code).to_string())),
        });
        let results = results.collect();
        self.queries.push(OpenQuery {
            id: reply.query,
            agent_id: reply.agent_id,
            generation: reply.generation,
            selections: selections.to_vec(),
            results,
            held: None,
        });
        Ok(self.queries.len() - 1)
    }

    /// Whether the agent has refused a selection of the query, and has other counter sets since then: it may accept the
    /// selection now. After a restart, it closes the query itself.
    fn is_outdated(&self, query: &OpenQuery) -> bool {
        let is_changed =
            self.version.is_some_and(|(agent_id, now)| agent_id == query.agent_id && now != query.generation);
        is_changed && query.results.iter().any(Result::is_err)
    }

    fn close(&mut self, query: &OpenQuery, deadline: Instant) -> Result<u16, Failure> {
        self.exchange(Method::Delete, &format!("/agent/v1/queries/{:016x}", query.id), &[], deadline)
    }

    /// The failure of the first collection after a restart of the agent. Totals that the agent's process keeps have begun
    /// again: one sample without values ensures that they are not paired with those from before.
    fn restarted(&self) -> Failure {
        let address = &self.transport.peer().address;
        Failure::new(ErrorCode::NO_DATA, format!("the agent at {address} was restarted: totals begin again"))
    }

    /// Collects a query; `None` if the agent does not have it.
    #[allow(clippy::type_complexity, reason = "the parts of one answer, used in one place")]
    fn collect(
        &mut self,
        index: usize,
        deadline: Instant,
    ) -> Result<Option<(Arc<Frame>, Arc<[Result<usize, Failure>]>)>, Failure> {
        self.number += 1;
        let OpenQuery { id, held, .. } = &self.queries[index];
        let path = collect_path(*id);
        let held = held.clone();
        let request =
            CollectRequest { number: self.number, held: held.as_ref().map_or(0, |(number, _)| *number) };
        if self.exchange(Method::Post, &path, &request.encode(), deadline)? == 404 {
            return Ok(None);
        }
        let body = std::mem::take(&mut self.body);
        let outcome = self.decode(index, request, held.as_ref().map(|(_, frame)| &**frame), &body);
        self.body = body;
        drop(held);
        let frame = outcome.map_err(|error| self.invalid(error))?;
        let query = &mut self.queries[index];
        let results = Arc::clone(&query.results);
        if let Some((_, old)) = query.held.replace((self.number, Arc::clone(&frame)))
            && let Ok(old) = Arc::try_unwrap(old)
        {
            self.frame = old.into_bytes();
        }
        Ok(Some((frame, results)))
    }

    /// Decodes the reply to a request for a collection.
    fn decode(
        &mut self,
        index: usize,
        request: CollectRequest,
        held: Option<&Frame>,
        body: &[u8],
    ) -> Result<Arc<Frame>, String> {
        let reply = CollectReply::decode(body).map_err(|error| error.to_string())?;
        if reply.number != request.number || self.queries[index].agent_id != reply.agent_id {
            return Err("the answer belongs to another request".to_owned());
        }
        let base = match (reply.base, held) {
            (0, _) => &[],
            (base, Some(held)) if base == request.held => held.bytes(),
            _ => return Err("the answer refers to a frame that was not sent".to_owned()),
        };
        let mut bytes = std::mem::take(&mut self.frame);
        difference::decode(base, reply.frame_bytes, reply.differences, &mut bytes)
            .map_err(|error| error.to_string())?;
        self.version = Some((reply.agent_id, reply.generation));
        let query = &self.queries[index];
        let added = query.selections.iter().zip(&*query.results).filter(|(_, result)| result.is_ok());
        let added: Vec<&SetSelection> = added.map(|(selection, _)| &**selection).collect();
        Frame::new(bytes, &added).map(Arc::new).map_err(|error| error.to_string())
    }

    #[allow(clippy::type_complexity, reason = "the parts of one answer, used in one place")]
    fn instances(
        &mut self,
        set: Guid,
        deadline: Instant,
    ) -> Result<(Timestamps, Result<Vec<Arc<InstanceKey>>, Failure>), Failure> {
        self.call(Method::Post, "/agent/v1/instances", &set.to_bytes(), deadline)?;
        let reply = InstanceReply::decode(&self.body).map_err(|error| self.invalid(error))?;
        let [ticks, system_time, wall] = reply.times;
        let at = Timestamps { ticks, system_time: FileTime(system_time), wall: FileTime(wall) };
        let (list, attributes) = match reply.outcome {
            Ok(found) => found,
            Err((code, reason)) => return Ok((at, Err(Failure::new(code, reason)))),
        };
        let instances = decode_instances(&list).map_err(|error| self.invalid(error))?;
        let mut keys = Vec::with_capacity(attributes.len());
        let mut attributes = attributes.into_iter();
        for instance in instances {
            let Some(attributes) = attributes.next() else {
                return Err(self.invalid("the list has more instances than attributes"));
            };
            keys.push(Arc::new(attributes.key(&instance.name.to_string(), instance.id)));
        }
        match attributes.next() {
            Some(_) => Err(self.invalid("the list has fewer instances than attributes")),
            None => Ok((at, Ok(keys))),
        }
    }
}

impl Drop for Session {
    /// Closes the queries at the agent, which limits them, if that takes no new connection.
    fn drop(&mut self) {
        let deadline = Instant::now() + MAX_CLOSING;
        for query in std::mem::take(&mut self.queries) {
            if !self.transport.is_open() || self.close(&query, deadline).is_err() {
                break;
            }
        }
    }
}

fn collect_path(query: u64) -> String {
    format!("/agent/v1/queries/{query:016x}/collect")
}

fn not_collected() -> Failure {
    Failure::new(ErrorCode::NO_DATA, "not collected from the agent")
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}
