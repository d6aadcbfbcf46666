//! Establishing a TCP connection to a host, which can have several addresses.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use tachograph_counters::io_error_text;

use super::transport::ExchangeError;

/// The delay before the next address is tried in parallel, as recommended by RFC 8305.
const NEXT_ADDRESS_DELAY: Duration = Duration::from_millis(250);
/// The delay before another attempt to the same address. The kernel repeats the SYN of an attempt at growing intervals, so
/// after an outage the first attempt would succeed late.
const SAME_ADDRESS_DELAY: Duration = Duration::from_millis(500);
/// Attempts older than this are abandoned, because an agent closes connections that stay silent.
pub(super) const MAX_ATTEMPT_AGE: Duration = Duration::from_secs(3);
/// Maximum number of addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;
/// If resolving the host name takes longer, the addresses of the last resolution are reused.
const MAX_RESOLUTION_WAIT: Duration = Duration::from_millis(250);

/// Resolves a host name, and connects to its addresses. When a call returns at its deadline, its attempts continue in the
/// kernel, and the next call resumes them.
#[derive(Debug, Default)]
pub(super) struct Dialer {
    /// The addresses of the host, in the order in which they are tried.
    candidates: Vec<Candidate>,
    /// A resolution in progress. It runs on a thread, the only one of this crate, because the system's resolver has no timeout.
    resolution: Option<Receiver<io::Result<Vec<SocketAddr>>>>,
    attempts: Vec<Attempt>,
    /// When the first attempt of the connection in progress was started; `None` if none is in progress.
    started: Option<Instant>,
    /// Why the last attempt failed.
    failure: Option<ExchangeError>,
}

#[derive(Debug)]
struct Candidate {
    address: SocketAddr,
    /// When it was last tried.
    last_tried: Option<Instant>,
    /// Whether an attempt to connect to it has failed.
    has_failed: bool,
}

#[derive(Debug)]
struct Attempt {
    candidate: usize,
    started: Instant,
    socket: OwnedFd,
}

impl Dialer {
    /// Abandons all attempts.
    pub(super) fn reset(&mut self) {
        self.attempts.clear();
        self.resolution = None;
        self.started = None;
    }

    /// Connects, or continues to connect.
    pub(super) fn connect(
        &mut self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<TcpStream, ExchangeError> {
        let now = Instant::now();
        if self.started.is_none_or(|started| now.saturating_duration_since(started) >= MAX_ATTEMPT_AGE) {
            self.attempts.clear();
            self.candidates
                .iter_mut()
                .for_each(|candidate| (candidate.last_tried, candidate.has_failed) = (None, false));
            self.started = Some(now);
            self.failure = None;
            self.resolve(host, port, deadline)?;
        } else if self.candidates.is_empty() {
            self.resolve(host, port, deadline)?;
        }
        let outcome = self.race(deadline);
        if !matches!(outcome, Err(ExchangeError::TimedOut(_))) {
            self.attempts.clear();
            self.started = None;
        }
        outcome
    }

    /// Finds the addresses of the host.
    fn resolve(&mut self, host: &str, port: u16, deadline: Instant) -> Result<(), ExchangeError> {
        if let Ok(address) = host.parse() {
            self.set_candidates(vec![SocketAddr::new(address, port)]);
            return Ok(());
        }
        let receiver = match self.resolution.take() {
            Some(receiver) => receiver,
            None => {
                let (sender, receiver) = sync_channel(1);
                let host = host.to_owned();
                let resolve = move || {
                    let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
                    // The receiver is gone if the link was closed.
                    let _ = sender.send(addresses);
                };
                let thread = std::thread::Builder::new().name("resolve".to_owned()).spawn(resolve);
                thread.map_err(|error| ExchangeError::Unreachable(io_error_text(&error)))?;
                receiver
            }
        };
        let remaining = deadline.saturating_duration_since(Instant::now());
        let max_wait =
            if self.candidates.is_empty() { remaining } else { remaining.min(MAX_RESOLUTION_WAIT) };
        match receiver.recv_timeout(max_wait) {
            Ok(Ok(addresses)) if !addresses.is_empty() => self.set_candidates(addresses),
            // The last addresses may still be valid while the resolver fails.
            Ok(_) if !self.candidates.is_empty() => {}
            Ok(Ok(_)) => {
                self.started = None;
                return Err(ExchangeError::Unreachable("the host name has no address".to_owned()));
            }
            Ok(Err(error)) => {
                self.started = None;
                return Err(ExchangeError::Unreachable(io_error_text(&error)));
            }
            Err(_) => {
                self.resolution = Some(receiver);
                if self.candidates.is_empty() {
                    return Err(ExchangeError::TimedOut("resolving the host name"));
                }
            }
        }
        Ok(())
    }

    fn set_candidates(&mut self, addresses: Vec<SocketAddr>) {
        let candidate = |address| Candidate { address, last_tried: None, has_failed: false };
        self.candidates = addresses.into_iter().take(MAX_ADDRESSES).map(candidate).collect();
    }

    /// Waits for the first address that answers. Starts attempts when they are due.
    fn race(&mut self, deadline: Instant) -> Result<TcpStream, ExchangeError> {
        loop {
            let now = Instant::now();
            self.attempts.retain(|attempt| now.saturating_duration_since(attempt.started) < MAX_ATTEMPT_AGE);
            let due = loop {
                match self.next_due(now) {
                    Some((index, due)) if due <= now => {
                        if let Some(stream) = self.start_attempt(index, now) {
                            return Ok(stream);
                        }
                    }
                    next => break next.map(|(_, due)| due),
                }
            };
            if self.attempts.is_empty() && due.is_none() {
                let failure = self.failure.take();
                return Err(failure.unwrap_or(ExchangeError::TimedOut("connecting")));
            }
            let until = due.map_or(deadline, |due| due.min(deadline));
            if let Some(stream) = self.wait_for_attempts(until)? {
                return Ok(stream);
            }
            if Instant::now() >= deadline {
                return Err(ExchangeError::TimedOut("connecting"));
            }
        }
    }

    /// The index of the address to try next, and when; `None` if all have failed.
    fn next_due(&self, now: Instant) -> Option<(usize, Instant)> {
        let last_start = self.candidates.iter().filter_map(|candidate| candidate.last_tried).max();
        let untried = self.candidates.iter().position(|candidate| candidate.last_tried.is_none());
        if let Some(index) = untried {
            let due = last_start
                .filter(|_| !self.attempts.is_empty())
                .map_or(now, |last| last + NEXT_ADDRESS_DELAY);
            return Some((index, due));
        }
        let remaining = self.candidates.iter().enumerate().filter(|(_, candidate)| !candidate.has_failed);
        let due = remaining
            .filter_map(|(index, candidate)| Some((index, candidate.last_tried? + SAME_ADDRESS_DELAY)));
        due.min_by_key(|(_, due)| *due)
    }

    /// Starts an attempt. Returns the connection if it is established immediately.
    fn start_attempt(&mut self, index: usize, now: Instant) -> Option<TcpStream> {
        let candidate = &mut self.candidates[index];
        candidate.last_tried = Some(now);
        let family = if candidate.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let started = socket_with(family, SocketType::STREAM, flags, None).and_then(|socket| {
            match connect(&socket, &candidate.address) {
                Ok(()) => Ok((socket, true)),
                Err(Errno::INPROGRESS) => Ok((socket, false)),
                Err(error) => Err(error),
            }
        });
        match started {
            Ok((socket, true)) => blocking_stream(socket).ok(),
            Ok((socket, false)) => {
                self.attempts.push(Attempt { candidate: index, started: now, socket });
                None
            }
            Err(error) => {
                self.record_failure(index, error);
                None
            }
        }
    }

    /// Records a failed attempt.
    fn record_failure(&mut self, index: usize, error: Errno) {
        self.failure = Some(match error {
            // The kernel has given up.
            Errno::TIMEDOUT => ExchangeError::TimedOut("connecting"),
            _ => ExchangeError::Unreachable(io_error_text(&error.into())),
        });
        if let Some(candidate) = self.candidates.get_mut(index) {
            candidate.has_failed = true;
        }
    }

    /// Waits until an attempt has an outcome, or until `until`. Returns the connection if one was established.
    fn wait_for_attempts(&mut self, until: Instant) -> Result<Option<TcpStream>, ExchangeError> {
        let remaining = until.saturating_duration_since(Instant::now());
        let timeout =
            Timespec { tv_sec: remaining.as_secs() as i64, tv_nsec: remaining.subsec_nanos().into() };
        let mut polled: Vec<PollFd<'_>> =
            self.attempts.iter().map(|attempt| PollFd::new(&attempt.socket, PollFlags::OUT)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(ExchangeError::Unreachable(io_error_text(&error.into()))),
        }
        let ready: Vec<bool> = polled.iter().map(|poll_fd| !poll_fd.revents().is_empty()).collect();
        drop(polled);
        for index in (0..ready.len()).rev().filter(|&index| ready[index]) {
            let Attempt { candidate, socket, .. } = self.attempts.remove(index);
            match sockopt::socket_error(&socket) {
                Ok(Ok(())) => match blocking_stream(socket) {
                    Ok(stream) => return Ok(Some(stream)),
                    Err(error) => self.record_failure(candidate, error),
                },
                Ok(Err(error)) | Err(error) => self.record_failure(candidate, error),
            }
        }
        Ok(None)
    }
}

/// Makes the socket of an established connection block.
fn blocking_stream(socket: OwnedFd) -> Result<TcpStream, Errno> {
    let stream = TcpStream::from(socket);
    let outcome = stream.set_nonblocking(false).and_then(|()| stream.peer_addr());
    outcome.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    // With Nagle's algorithm, a small request would wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn deadline() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        (listener, address)
    }

    /// A listener whose backlog is full, so that the kernel drops further attempts, as a broken link does.
    fn silent() -> (TcpListener, SocketAddr, Vec<OwnedFd>) {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        rustix::net::listen(&socket, 0).expect("a listener");
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().expect("its address");
        let fill = |_| {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).expect("a socket");
            let _ = connect(&socket, &address);
            socket
        };
        let full = (0..4).map(fill).collect();
        (listener, address, full)
    }

    fn dialer(addresses: &[SocketAddr]) -> Dialer {
        let mut dialer = Dialer { started: Some(Instant::now()), ..Dialer::default() };
        dialer.set_candidates(addresses.to_vec());
        dialer
    }

    #[test]
    fn the_next_address_is_tried_while_one_does_not_answer() {
        let ((_silent, silent, _full), (_listener, good)) = (silent(), listener());
        let mut dialer = dialer(&[silent, good]);
        let stream = dialer.connect("host", 1, deadline()).expect("the second address answers");
        assert_eq!(stream.peer_addr().expect("connected"), good);
    }

    #[test]
    fn refusals_are_reported_at_once_and_other_addresses_are_tried() {
        let closed = listener().1;
        let started = Instant::now();
        let refused = dialer(&[closed, closed]).connect("host", 1, deadline());
        assert!(matches!(refused, Err(ExchangeError::Unreachable(_))), "{refused:?}");
        assert!(started.elapsed() < Duration::from_secs(5));
        let (_listener, good) = listener();
        assert!(dialer(&[closed, good]).connect("host", 1, deadline()).is_ok());
    }

    #[test]
    fn an_attempt_continues_after_its_deadline_and_succeeds_once_the_host_answers() {
        let (listener, address, full) = silent();
        let mut dialer = dialer(&[address]);
        let mut started = Vec::new();
        for _ in 0..3 {
            let outcome = dialer.connect("host", 1, Instant::now() + Duration::from_millis(20));
            assert!(matches!(outcome, Err(ExchangeError::TimedOut("connecting"))), "{outcome:?}");
            started.push(dialer.attempts[0].started);
        }
        assert!(started.iter().all(|other| *other == started[0]), "the same attempt");
        // Empties the backlog.
        drop(full);
        listener.set_nonblocking(true).expect("an option");
        let until = deadline();
        let stream = loop {
            while listener.accept().is_ok() {}
            match dialer.connect("host", 1, Instant::now() + Duration::from_millis(100)) {
                Ok(stream) => break stream,
                Err(ExchangeError::TimedOut(_)) if Instant::now() < until => {}
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(stream.peer_addr().expect("connected"), address);
    }

    #[test]
    fn a_slow_resolution_ends_at_the_deadline_and_is_used_later() {
        let (_listener, good) = listener();
        let (sender, receiver) = sync_channel(1);
        let mut dialer = Dialer { resolution: Some(receiver), ..Dialer::default() };
        let outcome = dialer.connect("host.example", 1, Instant::now() + Duration::from_millis(20));
        assert!(matches!(outcome, Err(ExchangeError::TimedOut("resolving the host name"))), "{outcome:?}");
        sender.send(Ok(vec![good])).expect("the dialer waits for it");
        assert!(dialer.connect("host.example", 1, deadline()).is_ok());
        // A later failure of the resolver does not matter while the addresses are known.
        let (sender, receiver) = sync_channel(1);
        dialer.resolution = Some(receiver);
        sender.send(Err(io::ErrorKind::NotFound.into())).expect("the dialer waits for it");
        assert!(dialer.connect("host.example", 1, deadline()).is_ok());
    }
}
