//! Sends requests to the control callbacks of providers. Requests notify a provider of the counters that queries
//! request, and of the start and the end of each collection.
//!
//! A collection sends its requests to all providers and then waits up to a second for all answers. A provider that does
//! not answer in time is late, and is skipped until its answers have arrived. Several queries can collect at the same
//! time; each waits for the answers to its own requests.
//!
//! A provider with too many connections closes some of them, possibly one that is about to be used. The collection then
//! reconnects and sends its requests again, up to [`MAX_RECONNECTS`] times.

mod wire;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_shm::control::{Kind, Request};

use super::member::Member;
use super::requested_counters::RequestedCounters;
use crate::block::WILDCARD_ID;
use crate::provider::{CollectionId, MAX_PREPARE_TIME};
use crate::{ErrorCode, Failure};
use wire::Wire;

/// The instance name in a request for all instances.
const ALL_INSTANCES: &str = "*";

/// Maximum number of reconnections per collection. If there are many more consumers than the provider accepts, even a new
/// connection can be closed before it is used.
const MAX_RECONNECTS: u8 = 3;

/// Maximum time to wait for a process to exit after it closed its connections. An exiting process loses its sockets
/// before its locks, so it still seems to be alive for a moment.
const MAX_EXIT_TIME: Duration = Duration::from_millis(50);

/// The connection to the control callback of one process, and the requests that it has not answered.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// The socket; `None` while there is no connection.
    wire: Option<Wire>,
    /// The counters that the provider was last notified about.
    notified: BTreeSet<u32>,
    /// The requests that have not been answered yet, in order.
    pending_requests: VecDeque<Pending>,
    /// The first failure of each collection, until `wait` returns it.
    failures: Vec<CollectionFailure>,
}

/// A request that has not been answered yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    kind: Kind,
    /// The collection that waits for the answer; `None` if the answer is not needed or is late.
    collection: Option<CollectionId>,
    /// How many times the request was sent again because the connection was closed.
    reconnects: u8,
}

/// The reason that a provider is not read in a collection.
#[derive(Debug)]
struct CollectionFailure {
    /// The collection that this failure concerns.
    collection: CollectionId,
    failure: Failure,
    /// Whether the provider closed the connection.
    is_closed: bool,
}

impl Connection {
    /// Sends any changes of the requested counters, then a request of this kind. [`wait`](Self::wait) waits for the
    /// answers.
    pub(super) fn start(
        &mut self,
        member: &Member,
        requested: &RequestedCounters,
        kind: Kind,
        collection: CollectionId,
    ) {
        self.exchange(member, requested);
        if self.is_late() {
            self.fail(collection, timeout(member), false);
            return;
        }
        let pending = Pending { kind, collection: Some(collection), reconnects: 0 };
        match self.send(member, requested, &[pending]) {
            Ok(()) => self.exchange(member, requested),
            Err(error) => self.fail_all(member, &[pending], &error),
        }
    }

    /// Waits until the deadline for the answers that this collection needs.
    ///
    /// # Errors
    ///
    /// An answer has an error code, the provider is late, or the connection failed.
    pub(super) fn wait(
        &mut self,
        member: &Member,
        requested: &RequestedCounters,
        collection: CollectionId,
        deadline: Instant,
    ) -> Result<(), Failure> {
        while let Some(wire) = self.wire.as_ref().filter(|_| self.is_pending(collection)) {
            match wire.poll(deadline.saturating_duration_since(Instant::now())) {
                Ok(true) => self.exchange(member, requested),
                Ok(false) => {
                    self.abandon(collection);
                    self.fail(collection, timeout(member), false);
                }
                Err(error) => self.recover(member, requested, error),
            }
        }
        let Some(index) = self.failures.iter().position(|failure| failure.collection == collection) else {
            return Ok(());
        };
        let failed = self.failures.swap_remove(index);
        if failed.is_closed {
            wait_for_exit(member, deadline);
        }
        Err(failed.failure)
    }

    /// Notifies the provider that its values have been read. Ignores the answer.
    pub(super) fn finish(&mut self, member: &Member, requested: &RequestedCounters) {
        self.push(member, Kind::CollectEnd, WILDCARD_ID, None);
        self.exchange(member, requested);
    }

    /// Notifies the provider that counters are no longer requested. Ignores the answers.
    pub(super) fn remove_counters(&mut self, member: &Member, requested: &RequestedCounters) {
        for id in std::mem::take(&mut self.notified) {
            self.push(member, Kind::RemoveCounter, id, None);
        }
        self.exchange(member, requested);
    }

    /// Connects if necessary, and queues any changes of the requested counters and then these requests.
    fn send(
        &mut self,
        member: &Member,
        requested: &RequestedCounters,
        requests: &[Pending],
    ) -> io::Result<()> {
        if self.wire.is_none() {
            let path = member.folder.socket_path(&member.file_name);
            self.wire = Some(Wire::connect(&path, member.key.owner)?);
        }
        let Some(first) = requests.first() else { return Ok(()) };
        self.push_changes(member, requested, first);
        requests.iter().for_each(|request| self.push(member, request.kind, WILDCARD_ID, Some(request)));
        Ok(())
    }

    /// Queues any changes of the requested counters. The collection of `request` waits for the answers.
    fn push_changes(&mut self, member: &Member, requested: &RequestedCounters, request: &Pending) {
        let requested = requested.lock();
        // The wildcard replaces all other ids. They are added again when no query requests the wildcard any more.
        let has_wildcard = requested.contains_key(&WILDCARD_ID);
        let is_sent = |id: &u32| requested.contains_key(id) && (!has_wildcard || *id == WILDCARD_ID);
        let ids = || requested.keys().copied().filter(is_sent);
        if ids().eq(self.notified.iter().copied()) {
            return;
        }
        let removed: Vec<u32> = self.notified.iter().copied().filter(|id| !is_sent(id)).collect();
        let added: Vec<u32> = ids().filter(|id| !self.notified.contains(id)).collect();
        drop(requested);
        removed.iter().for_each(|&id| self.push(member, Kind::RemoveCounter, id, Some(request)));
        added.iter().for_each(|&id| self.push(member, Kind::AddCounter, id, Some(request)));
        self.notified.retain(|id| !removed.contains(id));
        self.notified.extend(added);
    }

    /// Queues a request. If the answer is [relevant](has_relevant_answer), the collection of `cause` waits for it. Does
    /// nothing without a connection.
    fn push(&mut self, member: &Member, kind: Kind, counter_id: u32, cause: Option<&Pending>) {
        let Some(wire) = &mut self.wire else { return };
        wire.push(&Request {
            counter_id,
            instance: ALL_INSTANCES.into(),
            machine: machine_name(),
            ..Request::new(kind, member.key.set)
        });
        let cause = cause.filter(|_| has_relevant_answer(kind));
        self.pending_requests.push_back(Pending {
            kind,
            collection: cause.and_then(|request| request.collection),
            reconnects: cause.map_or(0, |request| request.reconnects),
        });
    }

    fn is_pending(&self, collection: CollectionId) -> bool {
        self.pending_requests.iter().any(|pending| pending.collection == Some(collection))
    }

    /// Whether a relevant answer is overdue: it has not arrived, and no collection waits for it any more.
    fn is_late(&self) -> bool {
        self.pending_requests
            .iter()
            .any(|pending| has_relevant_answer(pending.kind) && pending.collection.is_none())
    }

    /// Records that a collection no longer waits for answers.
    fn abandon(&mut self, collection: CollectionId) {
        let abandoned =
            self.pending_requests.iter_mut().filter(|pending| pending.collection == Some(collection));
        abandoned.for_each(|pending| pending.collection = None);
    }

    /// Records a failure of a collection, unless it already has one.
    fn fail(&mut self, collection: CollectionId, failure: Failure, is_closed: bool) {
        if self.failures.iter().all(|failure| failure.collection != collection) {
            self.failures.push(CollectionFailure { collection, failure, is_closed });
        }
    }

    /// Records a failure for each collection that waits for one of these requests.
    fn fail_all(&mut self, member: &Member, requests: &[Pending], error: &io::Error) {
        let failure = Failure::new(ErrorCode::NO_DATA, format!("cannot query {}: {error}", describe(member)));
        let is_closed = is_closed(error) || requests.iter().any(|request| request.reconnects > 0);
        for collection in requests.iter().filter_map(|request| request.collection) {
            self.fail(collection, failure.clone(), is_closed);
        }
    }

    /// Sends and receives without blocking.
    fn exchange(&mut self, member: &Member, requested: &RequestedCounters) {
        if let Err(error) = self.send_and_receive(member) {
            self.recover(member, requested, error);
        }
    }

    fn send_and_receive(&mut self, member: &Member) -> io::Result<()> {
        let Some(mut wire) = self.wire.take() else { return Ok(()) };
        // Receive even if sending fails: answers may have arrived before the connection was closed.
        let sent = wire.send();
        let received = wire.receive(|code| self.handle_answer(member, code));
        self.wire = Some(wire);
        received.and(sent)
    }

    fn handle_answer(&mut self, member: &Member, code: u32) -> io::Result<()> {
        let request = self.pending_requests.pop_front();
        let request = request.ok_or_else(|| io::Error::other("received an answer without a request"))?;
        if let Some(collection) = request.collection
            && code != 0
        {
            let code = ErrorCode(code);
            self.fail(
                collection,
                Failure::new(code, format!("{} answered: {code}", describe(member))),
                false,
            );
        }
        Ok(())
    }

    /// Drops a broken connection. If a collection waits for an answer and the provider closed the connection,
    /// reconnects and sends the pending requests again. Otherwise, the next collection reconnects.
    fn recover(&mut self, member: &Member, requested: &RequestedCounters, error: io::Error) {
        self.wire = None;
        self.notified.clear();
        let mut lost: Vec<Pending> = self.pending_requests.drain(..).collect();
        // Drop requests that add counters: `push_changes` queues them again.
        lost.retain(|pending| pending.collection.is_some() && pending.kind != Kind::AddCounter);
        if lost.is_empty() {
            return;
        }
        if !is_closed(&error) || lost.iter().any(|pending| pending.reconnects >= MAX_RECONNECTS) {
            self.fail_all(member, &lost, &error);
            return;
        }
        lost.iter_mut().for_each(|pending| pending.reconnects += 1);
        match self.send(member, requested, &lost) {
            Ok(()) => self.exchange(member, requested),
            Err(error) => self.fail_all(member, &lost, &error),
        }
    }
}

/// Whether a collection waits for the answers to requests of this kind, and fails if an answer has an error code. Other
/// answers are ignored.
///
/// Source: perflib.h, "PERFLIBREQUEST callback function".
fn has_relevant_answer(kind: Kind) -> bool {
    matches!(kind, Kind::AddCounter | Kind::EnumInstances | Kind::CollectStart)
}

/// Whether the error means that the provider closed the connection, possibly because its process is exiting.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset)
}

/// Waits briefly for a process to exit, in case it closed its connections because it is exiting.
fn wait_for_exit(member: &Member, deadline: Instant) {
    let until = deadline.min(Instant::now() + MAX_EXIT_TIME);
    while member.is_alive() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The name of this machine, for use in requests.
fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Names the process in messages.
fn describe(member: &Member) -> String {
    format!("{} (process {})", member.program, member.process)
}

fn timeout(member: &Member) -> Failure {
    let reason = format!(
        "{} did not answer in time ({} ms for all providers of a collection)",
        describe(member),
        MAX_PREPARE_TIME.as_millis()
    );
    Failure::new(ErrorCode::TIMEOUT, Arc::<str>::from(reason))
}
