//! Exchanging messages with many agents at once, without a thread for each.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::RemoteMachine;
use super::session::MAX_CLOSING;
use super::transport::Received;

/// Maximum number of events that are read at once.
const MAX_EVENTS: usize = 128;
/// How often answers are checked for without an event, because another thread can have received one.
const RECHECK: Duration = Duration::from_millis(50);

/// Sends the next request to many agents, and waits for all answers on one thread.
///
/// An exchange is begun only if it repeats the last one over an open connection. Connecting, opening queries and reading
/// counter sets are left to the machine's own exchanges, which block.
pub struct ExchangePoll {
    epoll: OwnedFd,
    machines: Vec<Polled>,
    /// The machines from which more can have arrived without another event, and a buffer for the next list.
    more: Vec<usize>,
    checking: Vec<usize>,
}

struct Polled {
    /// `None` for a machine that is read without a connection, such as this one.
    machine: Option<Arc<RemoteMachine>>,
    /// Whether an answer is outstanding.
    is_awaited: bool,
}

impl ExchangePoll {
    /// Exchanges with these machines, which are identified by their indexes.
    ///
    /// # Errors
    ///
    /// If the process has too many open files.
    pub fn new(machines: Vec<Option<Arc<RemoteMachine>>>) -> io::Result<Self> {
        let machines = machines.into_iter().map(|machine| Polled { machine, is_awaited: false });
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            machines: machines.collect(),
            more: Vec::new(),
            checking: Vec::new(),
        })
    }

    /// Sends the request for the next collection of a machine. Returns false if that would block.
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
    /// answer is complete: otherwise the connection was closed, the agent refused the request, or the answer is so large that a
    /// thread of its own must receive it.
    ///
    /// Receives a limited number of bytes of each machine before those of the next one.
    pub fn wait(&mut self, until: Instant, mut arrived: impl FnMut(usize, bool)) {
        let mut rechecked = Instant::now();
        loop {
            let now = Instant::now();
            let left = until.saturating_duration_since(now);
            let wait = if self.more.is_empty() { left.min(RECHECK) } else { Duration::ZERO };
            let timeout = Timespec::try_from(wait).ok();
            let mut buffer = [const { MaybeUninit::uninit() }; MAX_EVENTS];
            let events = match epoll::wait(&self.epoll, &mut buffer, timeout.as_ref()) {
                Ok((events, _)) => events,
                Err(Errno::INTR) => &mut [],
                Err(_) => {
                    // Without events, all machines are checked at intervals.
                    std::thread::sleep(wait);
                    &mut []
                }
            };
            let mut found = false;
            for event in &*events {
                let data = event.data;
                let index = usize::try_from(data.u64()).unwrap_or(usize::MAX);
                found |= self.check(index, &mut arrived);
            }
            let mut more = std::mem::replace(&mut self.more, std::mem::take(&mut self.checking));
            for index in more.drain(..) {
                found |= self.check(index, &mut arrived);
            }
            self.checking = more;
            if left.is_zero() || now.saturating_duration_since(rechecked) >= RECHECK {
                rechecked = now;
                for index in 0..self.machines.len() {
                    found |= self.check(index, &mut arrived);
                }
            }
            if found || left.is_zero() {
                return;
            }
        }
    }

    /// Receives what has arrived from a machine. Returns whether its exchange has ended.
    fn check(&mut self, index: usize, arrived: &mut impl FnMut(usize, bool)) -> bool {
        let Some(polled) = self.machines.get_mut(index).filter(|polled| polled.is_awaited) else {
            return false;
        };
        let Some(machine) = &polled.machine else { return false };
        let received = match machine.receive_ahead() {
            Received::Part if watch(&self.epoll, machine, index) => return false,
            Received::More => {
                if !self.more.contains(&index) {
                    self.more.push(index);
                }
                return false;
            }
            received => received,
        };
        polled.is_awaited = false;
        arrived(index, received == Received::Complete);
        true
    }
}

impl Drop for ExchangePoll {
    /// Closes the queries of all machines at the same time. Otherwise each would be closed when its machine is dropped, one
    /// after another.
    fn drop(&mut self) {
        let until = Instant::now() + MAX_CLOSING;
        loop {
            let mut is_awaited = false;
            for (index, polled) in self.machines.iter_mut().enumerate() {
                let Some(machine) = &polled.machine else { continue };
                if machine.close_ahead() {
                    is_awaited = true;
                    let _ = watch(&self.epoll, machine, index);
                } else {
                    polled.machine = None;
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if !is_awaited || left.is_zero() {
                return;
            }
            let timeout = Timespec::try_from(left.min(RECHECK)).ok();
            let mut buffer = [const { MaybeUninit::uninit() }; MAX_EVENTS];
            if epoll::wait(&self.epoll, &mut buffer, timeout.as_ref()).is_err() {
                return;
            }
        }
    }
}

/// Watches a machine's connection for one event. Returns false if it cannot be watched.
fn watch(epoll: &OwnedFd, machine: &RemoteMachine, index: usize) -> bool {
    let (data, flags) =
        (epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN | epoll::EventFlags::ONESHOT);
    let register = |socket: BorrowedFd<'_>| {
        // A connection that was opened since the last exchange is not known yet. The kernel removes those that are closed.
        epoll::modify(epoll, socket, data, flags).or_else(|_| epoll::add(epoll, socket, data, flags)).is_ok()
    };
    // If another thread is using the connection, or has closed it, the machine is checked later.
    machine.with_descriptor(register).unwrap_or(true)
}
