//! Which connections are open: how many of all clients and of each, and which of them wait for a request.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long a connection may wait for a request before it can be closed in favour of others. The handshake and the header
/// of an honest client are there long before that.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// A client, as limits count it: an IPv4 address, or the /64 network of an IPv6 address, all of which one host can use.
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

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Of all clients.
    open: usize,
    /// Of one client.
    of_client: usize,
    /// Of one client, that wait for a request for more than [`MIN_WAIT`].
    waiting: usize,
}

/// The open connections.
pub(crate) struct Admission {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: usize,
    clients: HashMap<Client, Connections>,
    /// The number of the last connection that began to wait.
    last: u64,
}

/// The connections of one client.
#[derive(Default)]
struct Connections {
    open: usize,
    /// Those that wait for a request, the one that waits longest first.
    waiting: BTreeMap<u64, Waiting>,
}

struct Waiting {
    since: Instant,
    close: Arc<Notify>,
}

/// An open connection; it is counted until this is dropped.
pub(crate) struct Seat {
    admission: Arc<Admission>,
    client: Client,
    close: Arc<Notify>,
    /// Its number among those that wait, unless it has a request.
    waits: Mutex<Option<u64>>,
}

/// A request that is answered on a connection. When this is dropped, after the answer was flushed, the connection waits for the
/// next one.
pub(crate) struct Turn(Arc<Seat>);

impl Admission {
    /// Room for `open` connections: a client has at most three quarters of it, and an eighth for connections that only wait.
    pub(crate) fn new(open: usize) -> Arc<Self> {
        let limits = Limits { open, of_client: (open - open / 4).max(1), waiting: (open / 8).max(1) };
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Counts a connection that a client has opened; `None` where it is to be closed at once. Others that wait for a request
    /// without sending one are closed in its favour.
    pub(crate) fn enter(self: &Arc<Self>, client: Client) -> Option<Arc<Seat>> {
        let close = Arc::default();
        let waits = self.lock().enter(self.limits, client, &close, Instant::now())?;
        Some(Arc::new(Seat { admission: Arc::clone(self), client, close, waits: Mutex::new(Some(waits)) }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The number under which the new connection waits, where there is room for it.
    fn enter(&mut self, limits: Limits, client: Client, close: &Arc<Notify>, now: Instant) -> Option<u64> {
        let Connections { open, waiting } = self.clients.entry(client).or_default();
        // What is closed is counted until it has ended: only its waiting ends at once.
        let (mut own, mut all) = (*open, self.open);
        while waiting.len() >= limits.waiting || own >= limits.of_client {
            if !close_oldest(waiting, now) {
                break;
            }
            own = own.saturating_sub(1);
            all = all.saturating_sub(1);
        }
        if own >= limits.of_client {
            return None;
        }
        if all >= limits.open {
            // A client whose connections are all fresh must not shield those of others that have waited for long.
            let has_waited = |connections: &&mut Connections| {
                let oldest = connections.waiting.first_key_value();
                oldest.is_some_and(|(_, waiting)| now.saturating_duration_since(waiting.since) >= MIN_WAIT)
            };
            let most = self.clients.values_mut().filter(has_waited);
            let most = most.max_by_key(|connections| connections.waiting.len());
            if !most.is_some_and(|connections| close_oldest(&mut connections.waiting, now)) {
                self.forget(client);
                return None;
            }
        }
        self.open += 1;
        self.clients.entry(client).or_default().open += 1;
        Some(self.wait(client, close, now))
    }

    fn wait(&mut self, client: Client, close: &Arc<Notify>, now: Instant) -> u64 {
        self.last += 1;
        let waiting = Waiting { since: now, close: Arc::clone(close) };
        self.clients.entry(client).or_default().waiting.insert(self.last, waiting);
        self.last
    }

    fn stop_waiting(&mut self, client: Client, number: u64) {
        if let Some(connections) = self.clients.get_mut(&client) {
            connections.waiting.remove(&number);
        }
    }

    fn leave(&mut self, client: Client) {
        self.open = self.open.saturating_sub(1);
        if let Some(connections) = self.clients.get_mut(&client) {
            connections.open = connections.open.saturating_sub(1);
        }
        self.forget(client);
    }

    /// Forgets a client without connections.
    fn forget(&mut self, client: Client) {
        if self.clients.get(&client).is_some_and(|connections| connections.open == 0) {
            self.clients.remove(&client);
        }
    }
}

/// Closes the connection that has waited longest, if it has waited for long enough.
fn close_oldest(waiting: &mut BTreeMap<u64, Waiting>, now: Instant) -> bool {
    let Some(oldest) = waiting.first_entry() else { return false };
    if now.saturating_duration_since(oldest.get().since) < MIN_WAIT {
        return false;
    }
    oldest.remove().close.notify_one();
    true
}

impl Seat {
    pub(crate) fn client(&self) -> Client {
        self.client
    }

    /// Returns when the connection is to be closed in favour of others.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }

    /// A request has come.
    pub(crate) fn begin(self: &Arc<Self>) -> Turn {
        let number = self.waits().take();
        if let Some(number) = number {
            self.admission.lock().stop_waiting(self.client, number);
        }
        Turn(Arc::clone(self))
    }

    fn waits(&self) -> MutexGuard<'_, Option<u64>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Seat { admission, client, close, .. } = &*self.0;
        let number = admission.lock().wait(*client, close, Instant::now());
        *self.0.waits() = Some(number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let number = self.waits().take();
        let mut state = self.admission.lock();
        if let Some(number) = number {
            state.stop_waiting(self.client, number);
        }
        state.leave(self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { open: 100, of_client: 75, waiting: 10 };

    fn client(number: u8) -> Client {
        IpAddr::from([192, 0, 2, number]).into()
    }

    /// A connection that only waits.
    fn enter(state: &mut State, from: u8, now: Instant) -> Option<u64> {
        state.enter(LIMITS, client(from), &Arc::default(), now)
    }

    #[test]
    fn one_address_leaves_places_to_others() {
        let (mut state, now) = (State::default(), Instant::now());
        assert_eq!((0..200).filter(|_| enter(&mut state, 1, now).is_some()).count(), LIMITS.of_client);
        let others = (2..200).filter(|&from| enter(&mut state, from, now).is_some()).count();
        assert_eq!(others, LIMITS.open - LIMITS.of_client);
        // Nobody is kept out for longer than the others may wait.
        for from in 200..=255 {
            assert!(enter(&mut state, from, now + MIN_WAIT).is_some(), "address {from}");
        }
    }

    #[test]
    fn those_that_wait_longest_are_closed_first() {
        let (mut state, now) = (State::default(), Instant::now());
        let closes: Vec<Arc<Notify>> = (0..LIMITS.waiting).map(|_| Arc::default()).collect();
        for close in &closes {
            assert!(state.enter(LIMITS, client(1), close, now).is_some());
        }
        // An honest client sends its request at once, however many of its connections come at the same time.
        assert!(enter(&mut state, 1, now).is_some());
        let is_closed = |close: &Arc<Notify>| {
            let notified = std::pin::pin!(close.notified());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            notified.poll(&mut context).is_ready()
        };
        assert!(!closes.iter().any(is_closed));
        assert!(enter(&mut state, 1, now + MIN_WAIT).is_some());
        assert!(is_closed(&closes[0]) && is_closed(&closes[1]) && !is_closed(&closes[2]));
        // Another address is of no concern to it.
        assert!(enter(&mut state, 2, now + MIN_WAIT).is_some());
        assert!(!is_closed(&closes[2]));
    }

    #[test]
    fn a_connection_with_a_request_is_never_closed_and_all_are_forgotten() {
        let admission = Admission::new(8);
        let seats: Vec<_> = (0..6).map(|_| admission.enter(client(1)).expect("a place")).collect();
        let turns: Vec<_> = seats.iter().map(Seat::begin).collect();
        assert!(admission.enter(client(1)).is_none(), "three quarters of all places");
        assert_eq!(admission.lock().clients[&client(1)].waiting.len(), 0);
        drop(turns);
        assert_eq!(admission.lock().clients[&client(1)].waiting.len(), 6);
        drop(seats);
        let state = admission.lock();
        assert_eq!((state.open, state.clients.len()), (0, 0));
    }

    #[test]
    fn a_host_is_one_client_at_all_of_its_addresses() {
        let of = |text: &str| Client::from(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("2001:db8:0:1::1").to_string(), "2001:db8:0:1::/64");
    }
}
