//! Sending the request for the next collection before it is awaited.

use std::os::fd::BorrowedFd;
use std::sync::TryLockError;

use super::{Link, Session};
use crate::client::transport::{Method, Received};
use crate::message::CollectRequest;

impl Link {
    /// Sends the request for the next collection without waiting, if the last query can be collected again over the open
    /// connection. The next collection of the same selections then only receives the answer. `version` is that of the
    /// machine's counter sets: if the agent has others by now, they have to be read first.
    pub(in crate::client) fn send_ahead(&self, version: (u64, u64)) -> bool {
        let send = |session: &mut Session| session.version == Some(version) && session.send_ahead();
        self.with_free_session(send).unwrap_or(false)
    }

    /// How much of the answer to [`send_ahead`](Self::send_ahead) has arrived. Does not wait.
    pub(in crate::client) fn receive_ahead(&self) -> Received {
        self.with_free_session(|session| session.transport.receive_ahead()).unwrap_or(Received::Part)
    }

    /// Calls `then` with the socket of the open connection, if there is one.
    pub(in crate::client) fn with_descriptor<R>(&self, then: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.with_free_session(|session| session.transport.descriptor().map(then)).flatten()
    }

    /// Calls `then`, unless another thread exchanges messages, or the process was forked: then the session is reset by an exchange.
    fn with_free_session<R>(&self, then: impl FnOnce(&mut Session) -> R) -> Option<R> {
        let mut session = match self.session.try_lock() {
            Ok(session) => session,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (session.process == std::process::id()).then(|| then(&mut session))
    }
}

impl Session {
    fn send_ahead(&mut self) -> bool {
        let version = self.version;
        let Some(query) = self.queries.last().filter(|query| !query.is_outdated(version)) else {
            return false;
        };
        if self.failed.is_some() {
            return false;
        }
        let request = CollectRequest { number: self.number + 1, held: query.held_number() };
        self.transport.send_ahead(Method::Post, &query.collect_path, &request.encode())
    }
}
