//! Exchanging messages with many agents at the same time, without a thread for each.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::RemoteMachine;
use super::session::MAX_CLOSING_TIME;
use super::transport::Received;

/// Maximum number of events that are read at once.
const MAX_EVENTS: usize = 128;
/// Interval at which machines are checked even without an event, since another thread may have received the answer.
const RECHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Sends the next request to many agents, and waits for all answers on one thread.
///
/// An exchange is begun only if it repeats the last one over an open connection. Connecting, opening queries and reading
/// counter sets are left to the machine's own exchanges, which block.
pub struct ExchangePoll {
    epoll: OwnedFd,
    machines: Vec<PolledMachine>,
    /// Machines from which more data may have arrived without a further event.
    with_more_data: Vec<usize>,
    /// Spare buffer, swapped with `with_more_data`.
    spare_list: Vec<usize>,
}

struct PolledMachine {
    /// `None` for a machine that is read without a connection, such as the local one.
    machine: Option<Arc<RemoteMachine>>,
    /// Whether an answer is outstanding.
    is_awaited: bool,
}

impl ExchangePoll {
    /// Prepares exchanges with these machines; the other functions identify them by index.
    ///
    /// # Errors
    ///
    /// If the process has too many open files.
    pub fn new(machines: Vec<Option<Arc<RemoteMachine>>>) -> io::Result<Self> {
        let machines = machines.into_iter().map(|machine| PolledMachine { machine, is_awaited: false });
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            machines: machines.collect(),
            with_more_data: Vec::new(),
            spare_list: Vec::new(),
        })
    }

    /// Sends the request for the next collection of a machine. Returns whether [`wait`](Self::wait) will report the answer;
    /// otherwise the machine's own exchange must send the request, or receive the answer if the request was sent.
    pub fn begin(&mut self, index: usize) -> bool {
        let Some(polled) = self.machines.get_mut(index) else { return false };
        polled.is_awaited = false;
        let Some(machine) = &polled.machine else { return false };
        if !machine.start_collection() {
            return false;
        }
        // If the connection cannot be watched, the next exchange still receives the answer.
        polled.is_awaited = watch(&self.epoll, machine, index);
        polled.is_awaited
    }

    /// Waits until answers arrive, at most until `until`. Calls `on_ended` for each machine whose exchange has ended, with its
    /// index and whether the answer is complete. It is incomplete if the connection failed, was closed or cannot be watched, if
    /// the agent refused the request, or if the answer is so large that a separate thread must receive it.
    ///
    /// Receives a limited number of bytes from each machine in turn.
    pub fn wait(&mut self, until: Instant, mut on_ended: impl FnMut(usize, bool)) {
        let mut last_recheck = Instant::now();
        loop {
            let now = Instant::now();
            let remaining = until.saturating_duration_since(now);
            let wait =
                if self.with_more_data.is_empty() { remaining.min(RECHECK_INTERVAL) } else { Duration::ZERO };
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
            let mut has_ended = false;
            for event in &*events {
                let data = event.data;
                let index = usize::try_from(data.u64()).unwrap_or(usize::MAX);
                has_ended |= self.check(index, &mut on_ended);
            }
            let mut list = std::mem::replace(&mut self.with_more_data, std::mem::take(&mut self.spare_list));
            for index in list.drain(..) {
                has_ended |= self.check(index, &mut on_ended);
            }
            self.spare_list = list;
            if remaining.is_zero() || now.saturating_duration_since(last_recheck) >= RECHECK_INTERVAL {
                last_recheck = now;
                for index in 0..self.machines.len() {
                    has_ended |= self.check(index, &mut on_ended);
                }
            }
            if has_ended || remaining.is_zero() {
                return;
            }
        }
    }

    /// Receives what has arrived from a machine. Returns whether its exchange has ended.
    fn check(&mut self, index: usize, on_ended: &mut impl FnMut(usize, bool)) -> bool {
        let Some(polled) = self.machines.get_mut(index).filter(|polled| polled.is_awaited) else {
            return false;
        };
        let Some(machine) = &polled.machine else { return false };
        let received = match machine.poll_answer() {
            Received::Part if watch(&self.epoll, machine, index) => return false,
            Received::More => {
                if !self.with_more_data.contains(&index) {
                    self.with_more_data.push(index);
                }
                return false;
            }
            received => received,
        };
        polled.is_awaited = false;
        on_ended(index, received == Received::Complete);
        true
    }
}

impl Drop for ExchangePoll {
    /// Closes the queries of all machines at the same time. Otherwise each would be closed when its machine is dropped, one
    /// after another.
    fn drop(&mut self) {
        let until = Instant::now() + MAX_CLOSING_TIME;
        loop {
            let mut is_awaited = false;
            for (index, polled) in self.machines.iter_mut().enumerate() {
                let Some(machine) = &polled.machine else { continue };
                if machine.poll_close() {
                    is_awaited = true;
                    // If it cannot be watched, the time limit ends the wait.
                    let _ = watch(&self.epoll, machine, index);
                } else {
                    polled.machine = None;
                }
            }
            let remaining = until.saturating_duration_since(Instant::now());
            if !is_awaited || remaining.is_zero() {
                return;
            }
            let timeout = Timespec::try_from(remaining.min(RECHECK_INTERVAL)).ok();
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
        // A connection opened since the last exchange is not in the epoll set yet, so it is added. The kernel removes closed
        // connections.
        epoll::modify(epoll, socket, data, flags).or_else(|_| epoll::add(epoll, socket, data, flags)).is_ok()
    };
    // If another thread is using the connection, or has closed it, the machine is checked later.
    machine.with_descriptor(register).unwrap_or(true)
}
