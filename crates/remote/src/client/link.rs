//! A link to one agent. The providers of the sets of the agent's machine share the link. The transport does the I/O.

mod polling;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::{
    Clock, CollectionId, ErrorCode, Failure, Guid, IgnorePoison, InstanceKey, SetSelection, Timestamps,
};

use super::recent_collections::{Answer, Collection, Content, RecentCollections};
use super::session::Session;
use super::transport::{Method, Transport};
use crate::frame::Frame;
use crate::message::{Greeting, Sets};

/// A link to one agent. The providers of the machine's sets share it. Exchanges run one after another.
pub struct Link {
    /// Locked only briefly.
    collections: Mutex<RecentCollections>,
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
        Self {
            collections: Mutex::new(RecentCollections::new(now)),
            session: Mutex::new(session),
            is_connected,
        }
    }

    fn collections(&self) -> MutexGuard<'_, RecentCollections> {
        self.collections.lock().ignore_poison()
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        let mut session = self.session.lock().ignore_poison();
        session.reset_after_fork();
        session
    }

    /// The machine's clock, whose times are those of the agent's answers.
    pub fn clock(self: &Arc<Self>) -> Clock {
        let (link, other) = (Arc::clone(self), Arc::clone(self));
        let times = move |collection: Option<CollectionId>| {
            let collections = link.collections();
            let answer =
                collection.and_then(|id| collections.get(id)).and_then(|known| known.answer.as_ref());
            answer.map_or_else(|| collections.estimated_times(), |answer| answer.timestamps)
        };
        Clock::of_collections(times, move || other.boot_time())
    }

    /// When the machine booted, in UTC, from its last frame or greeting; 0 before the first.
    pub fn boot_time(&self) -> FileTime {
        self.collections().boot_time
    }

    /// Greets the agent.
    ///
    /// # Errors
    ///
    /// See [`Connector::registry`](tachograph_perflib::Connector::registry). The message says what to do.
    pub fn greet(&self, deadline: Instant) -> Result<Greeting, Failure> {
        let session = &mut *self.session();
        session.call(Method::Get, "/agent/v1", &[], deadline)?;
        let greeting =
            Greeting::decode(&session.body).map_err(|error| session.fail_with_invalid_message(error))?;
        session.version = Some((greeting.agent_id, greeting.generation));
        self.collections().boot_time = greeting.boot_time;
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
        let sets = Sets::decode(&session.body, problems)
            .map_err(|error| session.fail_with_invalid_message(error))?;
        session.version = Some((sets.agent_id, sets.generation));
        session.shrink_body();
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
        !session.has_failed() && session.last_reply.is_some_and(|at| at.elapsed() <= max_age)
    }

    /// Adds a set's selection to a collection.
    pub(super) fn add_selection(&self, collection: CollectionId, selection: &Arc<SetSelection>) {
        self.collections().get_or_add(collection).selections.push(Arc::clone(selection));
    }

    /// Adds a request for the list of a set's instances to a collection.
    pub(super) fn add_instance_list(&self, collection: CollectionId, set: Guid) {
        self.collections().get_or_add(collection).listed_sets.push(set);
    }

    /// Requests the values or instance lists of a collection from the agent and stores the answer, unless another provider of
    /// the collection has already done so.
    pub(super) fn prepare(&self, collection: CollectionId, deadline: Instant) {
        if self.collections().get_or_add(collection).answer.is_some() {
            return;
        }
        let session = &mut *self.session();
        // Copied to buffers, because the collections must not be locked during the exchange.
        let mut selections = std::mem::take(&mut session.selection_buffer);
        let mut listed_sets = std::mem::take(&mut session.set_buffer);
        {
            let mut collections = self.collections();
            let known = collections.get_or_add(collection);
            selections.extend(known.selections.iter().cloned());
            listed_sets.extend_from_slice(&known.listed_sets);
        }
        let outcome = match listed_sets.is_empty() {
            true => self.collect(session, &selections, deadline),
            false => self.list_instances(session, &listed_sets, deadline),
        };
        selections.clear();
        listed_sets.clear();
        (session.selection_buffer, session.set_buffer) = (selections, listed_sets);
        let mut collections = self.collections();
        let answer = match outcome {
            Ok((timestamps, content)) => {
                // The times of lists of instances are not those of a collection.
                if matches!(content, Content::Values(..)) {
                    collections.set_times(timestamps);
                }
                Answer { timestamps, outcome: Ok(content) }
            }
            Err(failure) => {
                Answer { timestamps: collections.estimated_times(), outcome: Err(failure.of_machine()) }
            }
        };
        collections.get_or_add(collection).answer = Some(answer);
        if let Some(frame) = collections.drop_old_frames() {
            session.reuse_frame(frame);
        }
    }

    /// Finds the frame that answers the collection with these times and this selection. Calls `read` with the frame and the index
    /// of the selection's result in the frame.
    pub(super) fn with_values<R>(
        &self,
        at: Timestamps,
        selection: &Arc<SetSelection>,
        read: impl FnOnce(&Frame, usize) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let position =
            |known: &Collection| known.selections.iter().position(|one| Arc::ptr_eq(one, selection));
        let found = {
            let collections = self.collections();
            let found = collections.find(at, |known| position(known).is_some());
            found.and_then(|known| Some((known.id, known.answer.clone()?, position(known)?)))
        };
        let Some((id, Answer { outcome, .. }, index)) = found else { return Err(not_collected()) };
        let result = match outcome {
            Ok(Content::Values(frame, results)) => match results.get(index) {
                Some(Ok(index)) => read(&frame, *index),
                Some(Err(failure)) => Err(failure.clone()),
                None => Err(not_collected()),
            },
            Ok(_) => Err(not_collected()),
            Err(failure) => Err(failure),
        };
        self.collections().mark_read(id);
        result
    }

    /// The instances of a set in the collection that has these times.
    pub(super) fn instances(&self, at: Timestamps, set: Guid) -> Result<Vec<Arc<InstanceKey>>, Failure> {
        let mut collections = self.collections();
        let position = |known: &Collection| known.listed_sets.iter().position(|one| *one == set);
        let found = collections.find(at, |known| position(known).is_some());
        let answer = found.and_then(|known| Some((known.id, known.answer.as_ref()?, position(known)?)));
        let Some((id, Answer { outcome, .. }, index)) = answer else { return Err(not_collected()) };
        let result = match outcome {
            Ok(Content::Instances(lists)) => {
                lists.get(index).cloned().unwrap_or_else(|| Err(not_collected()))
            }
            Ok(_) => Err(not_collected()),
            Err(failure) => Err(failure.clone()),
        };
        collections.mark_read(id);
        result
    }

    fn collect(
        &self,
        session: &mut Session,
        selections: &[Arc<SetSelection>],
        deadline: Instant,
    ) -> Result<(Timestamps, Content), Failure> {
        let (frame, results) = session.collect(selections, deadline)?;
        let timestamps = frame.timestamps();
        let mut collections = self.collections();
        collections.boot_time = frame.boot_time();
        if collections.has_frame_times && timestamps.ticks < collections.last_times().ticks {
            collections.set_times(timestamps);
            let reason = "the clock of the agent's machine went backwards: the machine was restarted, or its times are wrong";
            return Err(Failure::new(ErrorCode::INVALID_DATA, reason));
        }
        Ok((timestamps, Content::Values(frame, results)))
    }

    fn list_instances(
        &self,
        session: &mut Session,
        sets: &[Guid],
        deadline: Instant,
    ) -> Result<(Timestamps, Content), Failure> {
        let mut lists = Vec::with_capacity(sets.len());
        let mut timestamps = None;
        for set in sets {
            let (at, list_instances) = session.instances(*set, deadline)?;
            timestamps.get_or_insert(at);
            lists.push(list_instances);
        }
        Ok((timestamps.unwrap_or_else(|| self.collections().estimated_times()), Content::Instances(lists)))
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
