//! Exchanges that do not wait for the answer: sending the request for the next collection in advance, and closing queries.

use std::os::fd::BorrowedFd;
use std::sync::TryLockError;
use std::time::Instant;

use super::{Link, Session};
use crate::client::connection::MAX_POLLED_RESPONSE;
use crate::client::transport::{Method, Received};
use crate::message::CollectRequest;

impl Link {
    /// Sends the request for the next collection without waiting, if the last query can be collected again over the open
    /// connection. The next collection of the same selections then only receives the answer. `version` is the version of the
    /// counter sets that were read; nothing is sent if the agent has a newer version. Returns whether the request was sent.
    pub(in crate::client) fn start_collection(&self, version: (u64, u64)) -> bool {
        let send = |session: &mut Session| session.version == Some(version) && session.start_collection();
        self.with_free_session(send).unwrap_or(false)
    }

    /// How much of the answer to [`start_collection`](Self::start_collection) has arrived. Does not wait.
    pub(in crate::client) fn poll_answer(&self) -> Received {
        self.with_free_session(|session| session.transport.receive_ahead()).unwrap_or(Received::Part)
    }

    /// Calls `action` with the socket of the open connection; `None` without one, or while another thread uses it.
    pub(in crate::client) fn with_descriptor<R>(
        &self,
        action: impl FnOnce(BorrowedFd<'_>) -> R,
    ) -> Option<R> {
        self.with_free_session(|session| session.transport.descriptor().map(action)).flatten()
    }

    /// Closes the queries at the agent without waiting. Returns whether an answer is outstanding; if so, this must be called
    /// again when the answer has arrived.
    pub(in crate::client) fn poll_close(&self) -> bool {
        self.with_free_session(Session::poll_close).unwrap_or(false)
    }

    /// Calls `action`, unless another thread is exchanging messages, or the process was forked. After a fork, the next exchange
    /// resets the session.
    fn with_free_session<R>(&self, action: impl FnOnce(&mut Session) -> R) -> Option<R> {
        let mut session = match self.session.try_lock() {
            Ok(session) => session,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (session.process_id == std::process::id()).then(|| action(&mut session))
    }
}

impl Session {
    fn start_collection(&mut self) -> bool {
        let version = self.version;
        let Some(query) = self.queries.last().filter(|query| !query.is_outdated(version)) else {
            return false;
        };
        // Decoding a large frame would delay the other machines that this thread serves.
        let is_large =
            query.held.as_ref().is_some_and(|(_, frame)| frame.bytes().len() > MAX_POLLED_RESPONSE);
        if self.last_failure.is_some() || is_large {
            return false;
        }
        let request = CollectRequest { number: self.last_number + 1, held: query.held_number() };
        self.transport.send_ahead(Method::Post, &query.collect_path, &request.encode())
    }

    fn poll_close(&mut self) -> bool {
        if let Some(path) = self.closing_path.take() {
            match self.transport.receive_ahead() {
                Received::Part | Received::More => {
                    self.closing_path = Some(path);
                    return true;
                }
                // The answer has arrived, so this does not wait.
                Received::Complete if self.call(Method::Delete, &path, &[], Instant::now()).is_ok() => {}
                _ => {
                    self.queries.clear();
                    return false;
                }
            }
        }
        let Some(query) = self.queries.pop() else { return false };
        // The request is sent only over an open connection on which no earlier answer is outstanding.
        if self.last_failure.is_some() || !self.transport.send_ahead(Method::Delete, &query.path, &[]) {
            self.queries.clear();
            return false;
        }
        self.closing_path = Some(query.path);
        true
    }
}
