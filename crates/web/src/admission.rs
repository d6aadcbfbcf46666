//! Limits of open connections: in total, per client, and per client without a request.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::IgnorePoison;
use tokio::sync::Notify;

/// Connections that have been idle for this long can be closed in favour of others. Honest clients finish the handshake and
/// send a header much sooner.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// A client, to which limits apply: an IPv4 address, or an IPv6 /64 network, because one host can use all its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Client(IpAddr);

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::from(u64::MAX) << 64)))
            }
            address => address,
        })
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

/// Maximum numbers of connections.
#[derive(Clone, Copy, Debug)]
struct Limits {
    total: usize,
    per_client: usize,
    /// Maximum connections of one client that have been idle for more than [`MIN_IDLE`].
    idle_per_client: usize,
}

pub(crate) struct Admission {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: usize,
    clients: HashMap<Client, Connections>,
    /// The id that was last given to an idle connection.
    last_id: u64,
}

#[derive(Default)]
struct Connections {
    open: usize,
    /// Connections without a request, by id, so the longest idle ones come first.
    idle: BTreeMap<u64, IdleConnection>,
}

struct IdleConnection {
    since: Instant,
    /// Notified to close the connection.
    close: Arc<Notify>,
}

/// An open connection. It counts toward the limits until this is dropped.
pub(crate) struct ConnectionPermit {
    admission: Arc<Admission>,
    client: Client,
    close: Arc<Notify>,
    /// The connection's id among the idle ones; `None` during a request.
    idle_id: Mutex<Option<u64>>,
}

/// A request in progress. When this is dropped, after the response is flushed, the connection becomes idle.
pub(crate) struct ActiveRequest(Arc<ConnectionPermit>);

impl Admission {
    /// Admits up to `total` connections. One client can have up to three quarters of them, and up to an eighth of them
    /// idle.
    pub(crate) fn new(total: usize) -> Arc<Self> {
        let limits =
            Limits { total, per_client: (total - total / 4).max(1), idle_per_client: (total / 8).max(1) };
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Counts a new connection of a client; `None` if it must be closed immediately. Connections that have been idle for
    /// [`MIN_IDLE`] are closed to make room.
    pub(crate) fn admit(self: &Arc<Self>, client: Client) -> Option<Arc<ConnectionPermit>> {
        let close = Arc::default();
        let id = self.lock().admit(self.limits, client, &close, Instant::now())?;
        Some(Arc::new(ConnectionPermit {
            admission: Arc::clone(self),
            client,
            close,
            idle_id: Mutex::new(Some(id)),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }
}

impl State {
    /// The idle id of the new connection; `None` if it exceeds a limit.
    fn admit(&mut self, limits: Limits, client: Client, close: &Arc<Notify>, now: Instant) -> Option<u64> {
        let Connections { open, idle } = self.clients.entry(client).or_default();
        // Connections that are being closed still count as open.
        let (mut own, mut all) = (*open, self.open);
        while idle.len() >= limits.idle_per_client || own >= limits.per_client {
            if !close_oldest(idle, now) {
                break;
            }
            own = own.saturating_sub(1);
            all = all.saturating_sub(1);
        }
        if own >= limits.per_client {
            return None;
        }
        if all >= limits.total {
            // Considers only clients with a connection that has been idle for `MIN_IDLE`. Otherwise a client with many
            // recent connections would be chosen, and none could be closed.
            let has_old = |connections: &&mut Connections| {
                let oldest = connections.idle.first_key_value();
                oldest.is_some_and(|(_, idle)| now.saturating_duration_since(idle.since) >= MIN_IDLE)
            };
            let candidates = self.clients.values_mut().filter(has_old);
            let longest = candidates.max_by_key(|connections| connections.idle.len());
            if !longest.is_some_and(|connections| close_oldest(&mut connections.idle, now)) {
                self.forget_unconnected(client);
                return None;
            }
        }
        self.open += 1;
        self.clients.entry(client).or_default().open += 1;
        Some(self.add_idle(client, close, now))
    }

    fn add_idle(&mut self, client: Client, close: &Arc<Notify>, now: Instant) -> u64 {
        self.last_id += 1;
        let idle = IdleConnection { since: now, close: Arc::clone(close) };
        self.clients.entry(client).or_default().idle.insert(self.last_id, idle);
        self.last_id
    }

    fn remove_idle(&mut self, client: Client, id: u64) {
        if let Some(connections) = self.clients.get_mut(&client) {
            connections.idle.remove(&id);
        }
    }

    fn release(&mut self, client: Client) {
        self.open = self.open.saturating_sub(1);
        if let Some(connections) = self.clients.get_mut(&client) {
            connections.open = connections.open.saturating_sub(1);
        }
        self.forget_unconnected(client);
    }

    fn forget_unconnected(&mut self, client: Client) {
        if self.clients.get(&client).is_some_and(|connections| connections.open == 0) {
            self.clients.remove(&client);
        }
    }
}

/// Closes the longest idle connection, if it has been idle for [`MIN_IDLE`].
fn close_oldest(idle: &mut BTreeMap<u64, IdleConnection>, now: Instant) -> bool {
    let Some(oldest) = idle.first_entry() else { return false };
    if now.saturating_duration_since(oldest.get().since) < MIN_IDLE {
        return false;
    }
    oldest.remove().close.notify_one();
    true
}

impl ConnectionPermit {
    pub(crate) fn client(&self) -> Client {
        self.client
    }

    /// Returns when the connection must be closed in favour of others.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }

    /// Marks the connection as busy with a request.
    pub(crate) fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        let id = self.idle_id().take();
        if let Some(id) = id {
            self.admission.lock().remove_idle(self.client, id);
        }
        ActiveRequest(Arc::clone(self))
    }

    fn idle_id(&self) -> MutexGuard<'_, Option<u64>> {
        self.idle_id.lock().ignore_poison()
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let ConnectionPermit { admission, client, close, .. } = &*self.0;
        let id = admission.lock().add_idle(*client, close, Instant::now());
        *self.0.idle_id() = Some(id);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let id = self.idle_id().take();
        let mut state = self.admission.lock();
        if let Some(id) = id {
            state.remove_idle(self.client, id);
        }
        state.release(self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { total: 100, per_client: 75, idle_per_client: 10 };

    fn client(last: u8) -> Client {
        IpAddr::from([192, 0, 2, last]).into()
    }

    fn admit(state: &mut State, from: u8, now: Instant) -> Option<u64> {
        state.admit(LIMITS, client(from), &Arc::default(), now)
    }

    #[test]
    fn one_address_cannot_use_all_connections() {
        let (mut state, now) = (State::default(), Instant::now());
        assert_eq!((0..200).filter(|_| admit(&mut state, 1, now).is_some()).count(), LIMITS.per_client);
        let others = (2..200).filter(|&from| admit(&mut state, from, now).is_some()).count();
        assert_eq!(others, LIMITS.total - LIMITS.per_client);
        // After MIN_IDLE, new clients are admitted.
        for from in 200..=255 {
            assert!(admit(&mut state, from, now + MIN_IDLE).is_some(), "address {from}");
        }
    }

    #[test]
    fn the_longest_idle_connections_are_closed_first() {
        let (mut state, now) = (State::default(), Instant::now());
        let closes: Vec<Arc<Notify>> = (0..LIMITS.idle_per_client).map(|_| Arc::default()).collect();
        for close in &closes {
            assert!(state.admit(LIMITS, client(1), close, now).is_some());
        }
        // Fresh connections are not closed, because an honest client may open many at the same time.
        assert!(admit(&mut state, 1, now).is_some());
        let is_closed = |close: &Arc<Notify>| {
            let notified = std::pin::pin!(close.notified());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            notified.poll(&mut context).is_ready()
        };
        assert!(!closes.iter().any(is_closed));
        assert!(admit(&mut state, 1, now + MIN_IDLE).is_some());
        assert!(is_closed(&closes[0]) && is_closed(&closes[1]) && !is_closed(&closes[2]));
        // Connections of other addresses are not closed.
        assert!(admit(&mut state, 2, now + MIN_IDLE).is_some());
        assert!(!is_closed(&closes[2]));
    }

    #[test]
    fn connections_with_a_request_are_never_closed_and_clients_are_forgotten() {
        let admission = Admission::new(8);
        let permits: Vec<_> = (0..6).map(|_| admission.admit(client(1)).expect("a connection")).collect();
        let requests: Vec<_> = permits.iter().map(ConnectionPermit::begin_request).collect();
        assert!(admission.admit(client(1)).is_none(), "three quarters of all connections");
        assert_eq!(admission.lock().clients[&client(1)].idle.len(), 0);
        drop(requests);
        assert_eq!(admission.lock().clients[&client(1)].idle.len(), 6);
        drop(permits);
        let state = admission.lock();
        assert_eq!((state.open, state.clients.len()), (0, 0));
    }

    #[test]
    fn all_addresses_of_an_ipv6_network_are_one_client() {
        let client_at = |text: &str| Client::from(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(client_at("::ffff:192.0.2.1"), client_at("192.0.2.1"));
        assert_eq!(client_at("2001:db8:0:1::1"), client_at("2001:db8:0:1:ffff::2"));
        assert_ne!(client_at("2001:db8:0:1::1"), client_at("2001:db8:0:2::1"));
        assert_ne!(client_at("192.0.2.1"), client_at("192.0.2.2"));
        assert_eq!(client_at("2001:db8:0:1::1").to_string(), "2001:db8:0:1::/64");
    }
}
