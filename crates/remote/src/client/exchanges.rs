//! Exchanging messages with many agents at once, without a thread for each.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use super::RemoteMachine;
use super::transport::Received;

/// Maximum number of events that are read at once.
const MAX_EVENTS: usize = 128;
/// How often answers are looked for without an event: another thread can have received one.
const RECHECK: Duration = Duration::from_millis(50);

/// Sends the next request to many agents, and waits for all answers on one thread.
///
/// An exchange is only begun if it is the repetition of the last one over an open connection. Connecting, opening queries and
/// reading counter sets are left to the machine's own exchanges, which wait.
pub struct ExchangePoll {
    epoll: OwnedFd,
    machines: Vec<Polled>,
}

struct Polled {
    /// `None` if the machine has no connection, such as this machine.
    machine: Option<Arc<RemoteMachine>>,
    is_awaited: bool,
}

impl ExchangePoll {
    /// Exchanges with these machines, which are named by their indexes.
    ///
    /// # Errors
    ///
    /// If the process has too many open files.
    pub fn new(machines: Vec<Option<Arc<RemoteMachine>>>) -> io::Result<Self> {
        let machines = machines.into_iter().map(|machine| Polled { machine, is_awaited: false });
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, machines: machines.collect() })
    }

    /// Sends the request for the next collection of a machine. Returns false if that would have to wait for something.
    pub fn begin(&mut self, index: usize) -> bool {
        let Some(polled) = self.machines.get_mut(index) else { return false };
        polled.is_awaited = false;
        let Some(machine) = &polled.machine else { return false };
        if !machine.send_ahead() {
            return false;
        }
        // If the connection cannot be watched, the next exchange still receives the answer.
        polled.is_awaited = watch(&self.epoll, machine, index);
        polled.is_awaited
    }

    /// Waits until answers arrive, at most until `until`. Calls `arrived` with the index of each machine, and whether its
    /// answer is complete: otherwise the connection was closed, or the agent refused the request.
    pub fn wait(&mut self, until: Instant, mut arrived: impl FnMut(usize, bool)) {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left.min(RECHECK)).ok();
            let mut buffer = [const { MaybeUninit::uninit() }; MAX_EVENTS];
            let events = match epoll::wait(&self.epoll, &mut buffer, timeout.as_ref()) {
                Ok((events, _)) => events,
                // Interrupted.
                Err(_) => &mut [],
            };
            let mut found = false;
            for event in &*events {
                let data = event.data;
                let index = usize::try_from(data.u64()).unwrap_or(usize::MAX);
                found |= self.check(index, &mut arrived);
            }
            if events.is_empty() {
                for index in 0..self.machines.len() {
                    found |= self.check(index, &mut arrived);
                }
            }
            if found || left.is_zero() {
                return;
            }
        }
    }

    /// Receives what has arrived from a machine. Returns whether that ends its exchange.
    fn check(&mut self, index: usize, arrived: &mut impl FnMut(usize, bool)) -> bool {
        let Some(polled) = self.machines.get_mut(index).filter(|polled| polled.is_awaited) else {
            return false;
        };
        let Some(machine) = &polled.machine else { return false };
        let received = match machine.receive_ahead() {
            Received::Part if watch(&self.epoll, machine, index) => return false,
            received => received,
        };
        polled.is_awaited = false;
        arrived(index, received == Received::Complete);
        true
    }
}

/// Watches a machine's connection for one event. Returns false if it cannot be watched.
fn watch(epoll: &OwnedFd, machine: &RemoteMachine, index: usize) -> bool {
    let (data, flags) =
        (epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN | epoll::EventFlags::ONESHOT);
    let watch = |socket: BorrowedFd<'_>| {
        // A connection that was opened since the last exchange is not known yet. The kernel forgets those that are closed.
        epoll::modify(epoll, socket, data, flags).or_else(|_| epoll::add(epoll, socket, data, flags)).is_ok()
    };
    // Another thread may be using the connection: then it is looked at later.
    machine.with_descriptor(watch).unwrap_or(true)
}
