//! Exchanges with an agent: failures, the pauses after them, and the open queries.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::block::decode_instances;
use tachograph_perflib::{ErrorCode, Failure, Guid, InstanceKey, SetSelection, Timestamps};

use super::link::not_collected;
use super::open_query::{OpenQuery, Results};
use super::transport::{ExchangeError, Method, Transport};
use crate::frame::Frame;
use crate::limits::{MAX_BASE_BYTES, MAX_IDLE_BUFFER, MAX_TEXT_BYTES};
use crate::message::{CollectReply, CollectRequest, InstanceReply, OpenReply, encode_selections};

/// The pause after a connection failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(250);
/// The pause after an answer that cannot be used.
const PAUSE_AFTER_INVALID_ANSWER: Duration = Duration::from_secs(1);
/// The pause after the agent has refused this consumer, because agents throttle wrong tokens.
const PAUSE_AFTER_DENIAL: Duration = Duration::from_secs(5);
/// After an exchange that timed out sooner than this, the next one continues to wait for the answer without a pause. After a
/// longer wait, there is a pause, so that not every call waits this long.
const MAX_WAIT_WITHOUT_PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of queries that are kept open; the least recently used one is closed for a new one.
const MAX_OPEN_QUERIES: usize = 16;
/// Maximum time for closing the queries of a link that is no longer used, or of many such links together.
pub(super) const MAX_CLOSING_TIME: Duration = Duration::from_millis(200);

/// The instances of a set, or why they cannot be read.
type InstanceList = Result<Vec<Arc<InstanceKey>>, Failure>;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) transport: Box<dyn Transport>,
    /// The id of the process that uses the connection and the queries. A forked child must not share them with its parent.
    pub(super) process_id: u32,
    /// When the agent last replied.
    pub(super) last_reply: Option<Instant>,
    /// The agent's id and its generation of the counter sets, from its last reply; `None` before the first.
    pub(super) version: Option<(u64, u64)>,
    /// The open queries, the most recently used one last.
    pub(super) queries: Vec<OpenQuery>,
    /// The path of a query that is being closed by [`poll_close`](Self::poll_close).
    pub(super) closing_path: Option<String>,
    /// The number of the last collection.
    pub(super) last_number: u64,
    /// After a failure: when to try again, and the failure.
    pub(super) last_failure: Option<(Instant, Failure)>,
    /// Whether the last exchange succeeded. It can be read during an exchange.
    pub(super) is_connected: Arc<AtomicBool>,
    /// The body of the last response.
    pub(super) body: Vec<u8>,
    /// A frame that is no longer used. The next frame reuses its memory.
    spare_frame: Option<Arc<Frame>>,
    /// Buffers for the selections and the lists of instances that a collection requests.
    pub(super) selection_buffer: Vec<Arc<SetSelection>>,
    pub(super) set_buffer: Vec<Guid>,
}

impl Session {
    pub(super) fn new(transport: Box<dyn Transport>) -> Self {
        Self {
            transport,
            process_id: std::process::id(),
            last_reply: None,
            version: None,
            queries: Vec::new(),
            closing_path: None,
            last_number: 0,
            last_failure: None,
            is_connected: Arc::default(),
            body: Vec::new(),
            spare_frame: None,
            selection_buffer: Vec::new(),
            set_buffer: Vec::new(),
        }
    }

    /// In a forked child, closes the child's copy of the parent's connection.
    pub(super) fn reset_after_fork(&mut self) {
        let process_id = std::process::id();
        if self.process_id != process_id {
            self.process_id = process_id;
            self.queries.clear();
            self.transport.close();
        }
    }

    /// Whether the last exchange failed.
    pub(super) fn has_failed(&self) -> bool {
        self.last_failure.is_some()
    }

    /// Keeps a frame to reuse its memory, unless there are other references to it.
    pub(super) fn reuse_frame(&mut self, mut frame: Arc<Frame>) {
        if Arc::get_mut(&mut frame).is_some() {
            self.spare_frame = Some(frame);
        }
    }

    /// Releases the memory of a large response, because the next responses are small.
    pub(super) fn shrink_body(&mut self) {
        if self.body.capacity() > MAX_IDLE_BUFFER {
            self.body = Vec::new();
        }
    }

    /// Sends a request. The body of the response is in `self.body`.
    pub(super) fn call(
        &mut self,
        method: Method,
        path: &str,
        request: &[u8],
        deadline: Instant,
    ) -> Result<(), Failure> {
        match self.exchange(method, path, request, deadline)? {
            200 => Ok(()),
            status => Err(self.fail_with_status(status)),
        }
    }

    /// Sends a request. Returns the HTTP status if it is 200 or 404.
    fn exchange(
        &mut self,
        method: Method,
        path: &str,
        request: &[u8],
        deadline: Instant,
    ) -> Result<u16, Failure> {
        let start = Instant::now();
        self.closing_path = None;
        if let Some((until, failure)) = &self.last_failure
            && start < *until
        {
            return Err(failure.clone());
        }
        match self.transport.exchange(method, path, request, &mut self.body, deadline) {
            Ok(response) => match response.status {
                status @ (200 | 404) => {
                    self.last_failure = None;
                    self.is_connected.store(true, Ordering::Relaxed);
                    self.last_reply = Some(Instant::now());
                    Ok(status)
                }
                status => Err(self.fail_with_status(status)),
            },
            Err(error) => {
                let reason = error.describe(self.transport.peer(), self.last_reply.is_some());
                let failure = Failure::new(error.code(), reason);
                let pause = match error {
                    ExchangeError::TimedOut(_)
                        if self.transport.is_connected() && start.elapsed() < MAX_WAIT_WITHOUT_PAUSE =>
                    {
                        Duration::ZERO
                    }
                    ExchangeError::NotTrusted(_) => PAUSE_AFTER_DENIAL,
                    ExchangeError::Invalid(_) => PAUSE_AFTER_INVALID_ANSWER,
                    _ => PAUSE_AFTER_FAILURE,
                };
                Err(self.fail(failure, pause))
            }
        }
    }

    /// Stores a failure, which all exchanges return until the pause is over.
    fn fail(&mut self, failure: Failure, pause: Duration) -> Failure {
        self.is_connected.store(false, Ordering::Relaxed);
        self.last_failure = Some((Instant::now() + pause, failure.clone()));
        failure
    }

    /// The failure for a response with an error status. Stores it like [`fail`](Self::fail).
    fn fail_with_status(&mut self, status: u16) -> Failure {
        let peer = self.transport.peer();
        let message = error_text(&self.body);
        let address = &peer.address;
        let (code, reason, pause) = match status {
            401 if !self.transport.has_token() => (
                ErrorCode::ACCESS_DENIED,
                format!(
                    "the agent at {address} requires a token, and '{}' has none in machines.toml; copy the line that \
                     'tacho agent setup' prints on that machine",
                    peer.machine
                ),
                PAUSE_AFTER_DENIAL,
            ),
            401 | 403 => (
                ErrorCode::ACCESS_DENIED,
                format!(
                    "the agent at {address} refuses the token of '{}'; copy the line that 'tacho agent setup' prints on that \
                     machine to machines.toml",
                    peer.machine
                ),
                PAUSE_AFTER_DENIAL,
            ),
            404 => (
                ErrorCode::NOT_SUPPORTED,
                format!(
                    "the server at {address} is not an agent, or uses another version of the protocol; check the port, and \
                     that both machines have the same version of tacho"
                ),
                PAUSE_AFTER_INVALID_ANSWER,
            ),
            408 | 503 | 504 => (
                ErrorCode::TIMEOUT,
                format!(
                    "the agent at {address} did not answer in time ({message}); if this persists, query fewer counters or \
                     less often"
                ),
                PAUSE_AFTER_FAILURE,
            ),
            413 | 429 => (
                ErrorCode::NO_SYSTEM_RESOURCES,
                format!(
                    "the agent at {address} refuses the request ({message}); its limits are per client address: query fewer \
                     counters, or from fewer programs, and look for wrong tokens in machines.toml"
                ),
                PAUSE_AFTER_INVALID_ANSWER,
            ),
            _ => (
                ErrorCode::INVALID_DATA,
                format!(
                    "the agent at {address} returned HTTP status {status} ({message}); its log ('tacho agent -v') may show \
                     why"
                ),
                PAUSE_AFTER_INVALID_ANSWER,
            ),
        };
        self.fail(Failure::new(code, reason), pause)
    }

    /// The failure for an invalid message. Stores it like [`fail`](Self::fail), and closes the connection.
    pub(super) fn fail_with_invalid_message(&mut self, error: impl fmt::Display) -> Failure {
        self.transport.close();
        let error = ExchangeError::Invalid(error.to_string());
        let failure = Failure::new(error.code(), error.describe(self.transport.peer(), false));
        self.fail(failure, PAUSE_AFTER_INVALID_ANSWER)
    }

    /// Collects with the query that has these selections.
    pub(super) fn collect(
        &mut self,
        selections: &[Arc<SetSelection>],
        deadline: Instant,
    ) -> Result<(Arc<Frame>, Results), Failure> {
        let index = self.find_or_open_query(selections, deadline)?;
        if let Some(collected) = self.collect_query(index, deadline)? {
            return Ok(collected);
        }
        // The agent has closed the query, or was restarted.
        let closed = self.queries.remove(index);
        let index = self.find_or_open_query(selections, deadline)?;
        if self.queries[index].agent_id != closed.agent_id {
            return Err(self.restart_failure());
        }
        self.collect_query(index, deadline)?.ok_or_else(not_collected)
    }

    /// The index of the query with these selections, which is opened if necessary.
    fn find_or_open_query(
        &mut self,
        selections: &[Arc<SetSelection>],
        deadline: Instant,
    ) -> Result<usize, Failure> {
        if let Some(index) = self.queries.iter().position(|query| query.has_selections(selections)) {
            if !self.queries[index].is_outdated(self.version) {
                self.queries[index..].rotate_left(1);
                return Ok(self.queries.len() - 1);
            }
            let query = self.queries.remove(index);
            self.close_query(&query, deadline)?;
        }
        while self.queries.len() >= MAX_OPEN_QUERIES {
            let old = self.queries.remove(0);
            self.close_query(&old, deadline)?;
        }
        let request = encode_selections(selections.iter().map(|selection| &**selection));
        self.call(Method::Post, "/agent/v1/queries", &request, deadline)?;
        let reply = OpenReply::decode(&self.body, selections.len())
            .map_err(|error| self.fail_with_invalid_message(error))?;
        self.version = Some((reply.agent_id, reply.generation));
        self.queries.push(OpenQuery::new(selections, &reply));
        Ok(self.queries.len() - 1)
    }

    fn close_query(&mut self, query: &OpenQuery, deadline: Instant) -> Result<u16, Failure> {
        self.exchange(Method::Delete, &query.path, &[], deadline)
    }

    /// The failure of the first collection after a restart of the agent. The totals that the agent's process keeps were reset.
    /// One sample without values ensures that they are not paired with totals from before the restart.
    fn restart_failure(&self) -> Failure {
        let address = &self.transport.peer().address;
        Failure::new(
            ErrorCode::NO_DATA,
            format!("the agent at {address} was restarted: no interval spans the restart"),
        )
    }

    /// Collects a query; `None` if the agent does not have it.
    fn collect_query(
        &mut self,
        index: usize,
        deadline: Instant,
    ) -> Result<Option<(Arc<Frame>, Results)>, Failure> {
        self.last_number += 1;
        let query = &mut self.queries[index];
        let request = CollectRequest { number: self.last_number, held: query.held_number() };
        // Taken out, because the exchange borrows the whole session.
        let path = std::mem::take(&mut query.collect_path);
        let status = self.exchange(Method::Post, &path, &request.encode(), deadline);
        self.queries[index].collect_path = path;
        if status? == 404 {
            return Ok(None);
        }
        let body = std::mem::take(&mut self.body);
        let outcome = self.decode_frame(index, request, &body);
        self.body = body;
        let frame = outcome.map_err(|error| self.fail_with_invalid_message(error))?;
        let query = &mut self.queries[index];
        let results = Arc::clone(&query.results);
        if let Some((_, old)) = query.held.replace((self.last_number, Arc::clone(&frame))) {
            self.reuse_frame(old);
        }
        self.limit_bases();
        Ok(Some((frame, results)))
    }

    /// Decodes the reply to a request for a collection.
    fn decode_frame(
        &mut self,
        index: usize,
        request: CollectRequest,
        body: &[u8],
    ) -> Result<Arc<Frame>, String> {
        let reply = CollectReply::decode(body).map_err(|error| error.to_string())?;
        let query = &self.queries[index];
        if reply.number != request.number || query.agent_id != reply.agent_id {
            return Err("the answer belongs to another request".to_owned());
        }
        let base: &[u8] = match (reply.base, &query.held) {
            (0, _) => &[],
            (base, Some((number, frame))) if base == *number && base == request.held => frame.bytes(),
            _ => return Err("the answer refers to an unknown base frame".to_owned()),
        };
        let mut frame = self.spare_frame.take().unwrap_or_default();
        if Arc::get_mut(&mut frame).is_none() {
            frame = Arc::default();
        }
        if let Some(frame) = Arc::get_mut(&mut frame) {
            frame.decode(base, &reply, query.accepted_selections()).map_err(|error| error.to_string())?;
        }
        self.version = Some((reply.agent_id, reply.generation));
        Ok(frame)
    }

    /// Drops the frames of the least recently used queries while the total size exceeds [`MAX_BASE_BYTES`]. The agent then
    /// sends complete frames for these queries.
    fn limit_bases(&mut self) {
        let size = |query: &OpenQuery| query.held.as_ref().map_or(0, |(_, frame)| frame.bytes().len());
        let mut total: usize = self.queries.iter().map(size).sum();
        let last = self.queries.len().saturating_sub(1);
        for query in &mut self.queries[..last] {
            if total <= MAX_BASE_BYTES {
                break;
            }
            total -= size(query);
            query.held = None;
        }
    }

    /// The instances of a set, without their values.
    pub(super) fn instances(
        &mut self,
        set: Guid,
        deadline: Instant,
    ) -> Result<(Timestamps, InstanceList), Failure> {
        self.call(Method::Post, "/agent/v1/instances", &set.to_bytes(), deadline)?;
        let reply =
            InstanceReply::decode(&self.body).map_err(|error| self.fail_with_invalid_message(error))?;
        self.shrink_body();
        let [ticks, system_time, wall] = reply.times;
        let at = Timestamps { ticks, system_time: FileTime(system_time), wall: FileTime(wall) };
        let (list, attributes) = match reply.outcome {
            Ok(found) => found,
            Err((code, reason)) => return Ok((at, Err(Failure::new(code, reason)))),
        };
        let instances = decode_instances(&list).map_err(|error| self.fail_with_invalid_message(error))?;
        let mut keys = Vec::with_capacity(attributes.len());
        let mut attributes = attributes.into_iter();
        for instance in instances {
            let Some(attributes) = attributes.next() else {
                return Err(self.fail_with_invalid_message("the list has more instances than attributes"));
            };
            keys.push(Arc::new(attributes.key(&instance.name.to_string(), instance.id)));
        }
        match attributes.next() {
            Some(_) => Err(self.fail_with_invalid_message("the list has fewer instances than attributes")),
            None => Ok((at, Ok(keys))),
        }
    }
}

/// The text of an error response: TEXT if the body is `{"error":"TEXT"}`, otherwise the body.
fn error_text(body: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_TEXT_BYTES)]);
    let inner = text.strip_prefix("{\"error\":\"").and_then(|rest| rest.strip_suffix("\"}"));
    match inner {
        Some(inner) => Cow::Owned(inner.to_owned()),
        None => text,
    }
}

impl Drop for Session {
    /// Closes the queries, because the agent limits their number; but not if that would require a new connection.
    fn drop(&mut self) {
        let deadline = Instant::now() + MAX_CLOSING_TIME;
        for query in std::mem::take(&mut self.queries) {
            if !self.transport.is_open() || self.close_query(&query, deadline).is_err() {
                break;
            }
        }
    }
}
