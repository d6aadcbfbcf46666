//! The sessions of browsers that have sent the token.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq;
use tachograph_counters::IgnorePoison;
use tokio::sync::Notify;

/// The open sessions. When a session ends, the connections of its streams are closed.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Vec<Session>>);

struct Session {
    /// The value of the cookie.
    value: String,
    began: Instant,
    last_used: Instant,
    /// Notified to close the connections of the session's streams.
    streams: Vec<Weak<Notify>>,
}

impl Session {
    /// Whether the session has not expired. An open stream counts as use.
    fn is_open(&mut self, now: Instant) -> bool {
        self.streams.retain(|stream| stream.strong_count() > 0);
        if !self.streams.is_empty() {
            self.last_used = now;
        }
        now.saturating_duration_since(self.last_used) < Sessions::MAX_IDLE
            && now.saturating_duration_since(self.began) < Sessions::MAX_AGE
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.streams.iter().filter_map(Weak::upgrade).for_each(|stream| stream.notify_one());
    }
}

impl Sessions {
    /// A session ends when it has not been used for this long.
    const MAX_IDLE: Duration = Duration::from_secs(12 * 3600);
    /// A session ends at this age, even if it is used.
    const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
    /// The maximum number of sessions; a new one beyond it replaces the least recently used one.
    const MAX: usize = 1000;

    pub(crate) fn add(&self, value: String, now: Instant) {
        let mut sessions = self.0.lock().ignore_poison();
        sessions.retain_mut(|session| session.is_open(now));
        if sessions.len() >= Self::MAX
            && let Some(oldest) = (0..sessions.len()).min_by_key(|&index| sessions[index].last_used)
        {
            sessions.swap_remove(oldest);
        }
        sessions.push(Session { value, began: now, last_used: now, streams: Vec::new() });
    }

    /// Whether a session with this cookie is open. The call counts as use of the session.
    pub(crate) fn is_open(&self, value: &str, now: Instant) -> bool {
        self.find(value, now, |_| ())
    }

    /// Closes the connection of a stream at the end of its session. Returns false if the session has ended.
    pub(crate) fn add_stream(&self, value: &str, connection: &Arc<Notify>, now: Instant) -> bool {
        self.find(value, now, |session| {
            let connection = Arc::downgrade(connection);
            // A connection can have several streams, one after another.
            if !session.streams.iter().any(|known| known.ptr_eq(&connection)) {
                session.streams.push(connection);
            }
        })
    }

    /// Calls `act` with the session of this cookie if the session is open; returns whether it is.
    fn find(&self, value: &str, now: Instant, act: impl FnOnce(&mut Session)) -> bool {
        let mut sessions = self.0.lock().ignore_poison();
        let has_value = |session: &&mut Session| is_same(value.as_bytes(), session.value.as_bytes());
        let Some(session) = sessions.iter_mut().find(has_value) else { return false };
        if !session.is_open(now) {
            return false;
        }
        session.last_used = now;
        act(session);
        true
    }

    /// Ends the session with this cookie.
    pub(crate) fn remove(&self, value: &str) {
        let mut sessions = self.0.lock().ignore_poison();
        sessions.retain(|session| !is_same(value.as_bytes(), session.value.as_bytes()));
    }

    /// Ends the sessions that have expired.
    pub(crate) fn remove_expired(&self, now: Instant) {
        self.0.lock().ignore_poison().retain_mut(|session| session.is_open(now));
    }
}

/// Compares secrets in a time that depends only on their length.
pub(crate) fn is_same(given: &[u8], right: &[u8]) -> bool {
    given.ct_eq(right).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_end_when_they_are_idle_or_too_many() {
        let sessions = Sessions::default();
        let start = Instant::now();
        sessions.add("one".to_owned(), start);
        let later = start + Sessions::MAX_IDLE - Duration::from_secs(1);
        assert!(sessions.is_open("one", later) && !sessions.is_open("other", later));
        assert!(sessions.is_open("one", later + Duration::from_secs(3600)), "use extends a session");
        assert!(!sessions.is_open("one", later + Duration::from_secs(3600) + Sessions::MAX_IDLE));
        let again = start + 3 * Sessions::MAX_IDLE;
        for index in 0..=Sessions::MAX {
            sessions.add(index.to_string(), again + Duration::from_millis(index as u64));
        }
        let now = again + Duration::from_secs(10);
        assert!(!sessions.is_open("0", now) && sessions.is_open("1", now), "the oldest session ends");
        sessions.remove("1");
        assert!(!sessions.is_open("1", now));
    }

    /// Whether a connection was notified to close.
    fn is_closed(connection: &Notify) -> bool {
        let mut notified = std::pin::pin!(connection.notified());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        notified.as_mut().poll(&mut context).is_ready()
    }

    #[test]
    fn streams_end_with_their_session() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let connections: [Arc<Notify>; 4] = Default::default();
        for (name, connection) in ["one", "two", "three", "four"].iter().zip(&connections) {
            sessions.add((*name).to_owned(), start);
            assert!(sessions.add_stream(name, connection, start));
        }
        assert!(!sessions.add_stream("five", &connections[0], start), "no such session");
        assert!(sessions.add_stream("one", &connections[0], start));
        assert_eq!(Arc::weak_count(&connections[0]), 1, "a connection counts once");
        sessions.remove("one");
        assert!(is_closed(&connections[0]) && !is_closed(&connections[1]), "log-out ends its own streams");
        // An open stream counts as use, so the session does not become idle.
        sessions.remove_expired(start + 2 * Sessions::MAX_IDLE);
        assert!(!is_closed(&connections[1]) && !is_closed(&connections[2]));
        let [_, second, third, fourth] = connections;
        // When the connection of the stream ends, the session has been idle since the last check.
        drop(fourth);
        sessions.remove_expired(start + 3 * Sessions::MAX_IDLE);
        assert!(!sessions.is_open("four", start + 3 * Sessions::MAX_IDLE));
        assert!(sessions.is_open("two", start + Sessions::MAX_AGE - Duration::from_secs(1)));
        assert!(!is_closed(&second));
        sessions.remove_expired(start + Sessions::MAX_AGE);
        assert!(is_closed(&second) && is_closed(&third), "an expired session ends its streams");
        assert!(!sessions.add_stream("two", &second, start + Sessions::MAX_AGE));
    }
}
