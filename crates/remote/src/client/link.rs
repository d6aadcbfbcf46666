//! A link to one agent. The providers of the sets of the agent's machine share the link. The transport does the I/O.

mod ahead;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::{
    Clock, CollectionId, ErrorCode, Failure, Guid, IgnorePoison, InstanceKey, SetSelection, Timestamps,
};

use super::answers::{Answer, Answers, Collection, Content};
use super::session::Session;
use super::transport::{Method, Transport};
use crate::frame::Frame;
use crate::message::{Greeting, Sets};

/// A link to one agent. The providers of the machine's sets share it. Exchanges run one after another.
pub struct Link {
    /// Locked only briefly.
    answers: Mutex<Answers>,
    /// Locked during an exchange.
    session: Mutex<Session>,
    /// Shared with the session, so that it can be read while the session is locked for an exchange.
    is_connected: Arc<AtomicBool>,
}

impl Link {
    /// A link that is not connected yet. `now` is used as the machine's time until it answers.
    pub fn new(transport: Box<dyn Transport>, now: Timestamps) -> Self {
        let session = Session::new(transport);
        let is_connected = Arc::clone(&session.is_connected);
        Self { answers: Mutex::new(Answers::new(now)), session: Mutex::new(session), is_connected }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().ignore_poison()
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        let mut session = self.session.lock().ignore_poison();
        session.check_process();
        session
    }

    /// The machine's clock, whose times are those of the agent's answers.
    pub fn clock(self: &Arc<Self>) -> Clock {
        let (link, other) = (Arc::clone(self), Arc::clone(self));
        let times = move |collection: Option<CollectionId>| {
            let answers = link.answers();
            let answer = collection.and_then(|id| answers.known(id)).and_then(|known| known.answer.as_ref());
            answer.map_or_else(|| answers.estimate(), |answer| answer.timestamps)
        };
        Clock::of_collections(times, move || other.boot_time())
    }

    /// When the machine booted, in UTC, from its last frame or greeting; 0 before the first.
    pub fn boot_time(&self) -> FileTime {
        self.answers().boot_time
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
        self.answers().boot_time = greeting.boot_time;
        Ok(greeting)
    }

    /// The agent's counter sets. Problems of individual sets are added to `problems`.
    ///
    /// # Errors
    ///
    /// Same as [`greet`](Self::greet).
    pub fn sets(&self, deadline: Instant, problems: &mut Vec<String>) -> Result<Sets, Failure> {
        let session = &mut *self.session();
        session.call(Method::Get, "/agent/v1/sets", &[], deadline)?;
        let sets = Sets::decode(&session.body, problems).map_err(|error| session.invalid(error))?;
        session.version = Some((sets.agent_id, sets.generation));
        session.shrink();
        Ok(sets)
    }

    /// The agent's id and its generation of the counter sets, from its last reply; `None` before the first.
    pub fn version(&self) -> Option<(u64, u64)> {
        self.session().version
    }

    /// Whether the last exchange succeeded. Does not wait for one in progress.
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }

    /// Whether the last exchange failed. Waits for one in progress.
    pub(super) fn has_failed(&self) -> bool {
        self.session().has_failed()
    }

    /// Whether the last exchange succeeded, and is not older than `max_age`.
    pub(super) fn has_replied_within(&self, max_age: Duration) -> bool {
        let session = self.session();
        !session.has_failed() && session.replied.is_some_and(|at| at.elapsed() <= max_age)
    }

    /// Adds a set's selection to a collection.
    pub(super) fn request(&self, collection: CollectionId, selection: &Arc<SetSelection>) {
        self.answers().collection(collection).selections.push(Arc::clone(selection));
    }

    /// Adds a request for the list of a set's instances to a collection.
    pub(super) fn request_instances(&self, collection: CollectionId, set: Guid) {
        self.answers().collection(collection).listed.push(set);
    }

    /// Requests the values or instance lists of a collection from the agent and stores the answer, unless another provider of
    /// the collection has already done so.
    pub(super) fn prepare(&self, collection: CollectionId, deadline: Instant) {
        if self.answers().collection(collection).answer.is_some() {
            return;
        }
        let session = &mut *self.session();
        // Copied to buffers, because `answers` must not be locked during the exchange.
        let mut wanted = std::mem::take(&mut session.wanted);
        let mut listed = std::mem::take(&mut session.listed);
        {
            let mut answers = self.answers();
            let known = answers.collection(collection);
            wanted.extend(known.selections.iter().cloned());
            listed.extend_from_slice(&known.listed);
        }
        let outcome = match listed.is_empty() {
            true => self.collect(session, &wanted, deadline),
            false => self.list(session, &listed, deadline),
        };
        wanted.clear();
        listed.clear();
        (session.wanted, session.listed) = (wanted, listed);
        let mut answers = self.answers();
        let answer = match outcome {
            Ok((timestamps, content)) => {
                // The times of lists of instances are not those of a collection.
                if matches!(content, Content::Values(..)) {
                    answers.set_times(timestamps);
                }
                Answer { timestamps, outcome: Ok(content) }
            }
            Err(failure) => Answer { timestamps: answers.estimate(), outcome: Err(failure.of_machine()) },
        };
        answers.collection(collection).answer = Some(answer);
        if let Some(frame) = answers.forget_frames() {
            session.reuse(frame);
        }
    }

    /// Finds the frame that answers the collection with these times and this selection. Calls `then` with the frame and the index
    /// of the selection's result in the frame.
    pub(super) fn with_values<R>(
        &self,
        at: Timestamps,
        selection: &Arc<SetSelection>,
        then: impl FnOnce(&Frame, usize) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let position =
            |known: &Collection| known.selections.iter().position(|one| Arc::ptr_eq(one, selection));
        let found = {
            let answers = self.answers();
            let found = answers.find(at, |known| position(known).is_some());
            found.and_then(|known| Some((known.id, known.answer.clone()?, position(known)?)))
        };
        let Some((id, Answer { outcome, .. }, index)) = found else { return Err(not_collected()) };
        let read = match outcome {
            Ok(Content::Values(frame, results)) => match results.get(index) {
                Some(Ok(result)) => then(&frame, *result),
                Some(Err(failure)) => Err(failure.clone()),
                None => Err(not_collected()),
            },
            Ok(_) => Err(not_collected()),
            Err(failure) => Err(failure),
        };
        self.answers().set_read(id);
        read
    }

    /// The instances of a set in the collection that has these times.
    pub(super) fn instances(&self, at: Timestamps, set: Guid) -> Result<Vec<Arc<InstanceKey>>, Failure> {
        let mut answers = self.answers();
        let position = |known: &Collection| known.listed.iter().position(|one| *one == set);
        let found = answers.find(at, |known| position(known).is_some());
        let answer = found.and_then(|known| Some((known.id, known.answer.as_ref()?, position(known)?)));
        let Some((id, Answer { outcome, .. }, index)) = answer else { return Err(not_collected()) };
        let read = match outcome {
            Ok(Content::Instances(lists)) => {
                lists.get(index).cloned().unwrap_or_else(|| Err(not_collected()))
            }
            Ok(_) => Err(not_collected()),
            Err(failure) => Err(failure.clone()),
        };
        answers.set_read(id);
        read
    }

    fn collect(
        &self,
        session: &mut Session,
        selections: &[Arc<SetSelection>],
        deadline: Instant,
    ) -> Result<(Timestamps, Content), Failure> {
        let (frame, results) = session.collect(selections, deadline)?;
        let timestamps = frame.timestamps();
        let mut answers = self.answers();
        answers.boot_time = frame.boot_time();
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

pub(super) fn not_collected() -> Failure {
    Failure::new(ErrorCode::NO_DATA, "not collected from the agent")
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}
