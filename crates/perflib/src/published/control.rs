//! Asking providers that have a control callback: which counters are wanted, and that values are about to be read.
//!
//! A consumer waits for the providers of a collection for a second at most. One that does not answer in time is late: it is not asked
//! again, and nobody waits for it, before its answers have come.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with, sockopt::socket_peercred,
};
use tachograph_shm::control::{ANSWER, Kind, Request};

use super::group::Group;
use super::member::Member;
use crate::provider::TIME_TO_PREPARE;
use crate::{ErrorCode, Failure};

/// How long a set waits also where those before it used the time up, so that a provider that answers at once is not lost
/// to another that does not.
pub(super) const LEAST_WAIT: Duration = Duration::from_millis(20);

/// The instance of a request that is about all of them, as its id is.
const ALL_INSTANCES: &str = "*";

/// The name of this machine, which is the only one that consumers ask.
fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The counters of a set that queries want, with how many want each.
#[derive(Debug, Default)]
pub(crate) struct Wanted(Mutex<BTreeMap<u32, usize>>);

impl Wanted {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A query wants these counters, too, and those no more.
    pub(super) fn change(&self, added: &[u32], removed: &[u32]) {
        let mut wanted = self.lock();
        added.iter().for_each(|id| *wanted.entry(*id).or_default() += 1);
        for id in removed {
            if let Some(count) = wanted.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    wanted.remove(id);
                }
            }
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.lock().is_empty()
    }
}

/// The connection to a provider.
#[derive(Debug, Default)]
pub(super) struct Connection {
    socket: Option<OwnedFd>,
    /// The counters that it was told of.
    told: BTreeSet<u32>,
    /// The requests whose answers have to come, in their order.
    awaited: VecDeque<Kind>,
    /// Bytes that have to be sent.
    output: Vec<u8>,
    /// The beginning of an answer.
    input: Vec<u8>,
    /// The first error among the answers of this collection.
    error: Option<u32>,
}

impl Connection {
    /// Begins to ask: what changed in what is wanted, then `kind`. The answers are waited for in [`wait`](Self::wait).
    pub(super) fn ask(&mut self, member: &Member, wanted: &Wanted, kind: Kind) -> Result<(), Failure> {
        self.read_answers().map_err(|error| self.broken(member, error))?;
        if self.awaits_what_counts() {
            return Err(late(member));
        }
        self.error = None;
        if self.socket.is_none() {
            self.socket = Some(connected(member).map_err(|error| self.broken(member, error))?);
        }
        self.tell_changes(member, wanted);
        self.push(member, kind, u32::MAX);
        self.send().map_err(|error| self.broken(member, error))
    }

    fn tell_changes(&mut self, member: &Member, wanted: &Wanted) {
        let wanted = wanted.lock();
        let is_same = wanted.len() == self.told.len() && wanted.keys().eq(self.told.iter());
        if is_same {
            return;
        }
        let removed: Vec<u32> = self.told.iter().filter(|id| !wanted.contains_key(id)).copied().collect();
        let added: Vec<u32> = wanted.keys().filter(|id| !self.told.contains(id)).copied().collect();
        drop(wanted);
        removed.iter().for_each(|&id| self.push(member, Kind::RemoveCounter, id));
        added.iter().for_each(|&id| self.push(member, Kind::AddCounter, id));
        self.told.retain(|id| !removed.contains(id));
        self.told.extend(added);
    }

    /// Whether an answer has to come on which something depends.
    fn awaits_what_counts(&self) -> bool {
        self.awaited.iter().any(|&kind| counts(kind))
    }

    fn push(&mut self, member: &Member, kind: Kind, counter_id: u32) {
        let request = Request {
            counter_id,
            instance: ALL_INSTANCES.into(),
            machine: machine_name(),
            ..Request::new(kind, member.key().set)
        };
        request.encode(&mut self.output);
        self.awaited.push_back(kind);
    }

    /// Waits for the answers until the deadline.
    ///
    /// # Errors
    ///
    /// The code that the provider answered to what counts, or that it is late or gone.
    pub(super) fn wait(&mut self, member: &Member, deadline: Instant) -> Result<(), Failure> {
        while self.awaits_what_counts() {
            let left = deadline.saturating_duration_since(Instant::now());
            let is_ready = self.poll(left).map_err(|error| self.broken(member, error))?;
            if !is_ready {
                return Err(late(member));
            }
            self.send().and_then(|()| self.read_answers()).map_err(|error| self.broken(member, error))?;
        }
        match self.error {
            None => Ok(()),
            Some(code) => {
                let code = ErrorCode(code);
                Err(Failure::new(code, format!("{} answered: {code}", who(member))))
            }
        }
    }

    /// Says that the values were read. Nobody waits for the answer.
    pub(super) fn end(&mut self, member: &Member) {
        self.push(member, Kind::CollectEnd, u32::MAX);
        if let Err(error) = self.send() {
            self.broken(member, error);
        }
    }

    /// Says that nothing is wanted any more. Nobody waits for the answers.
    fn say_removed(&mut self, member: &Member) {
        if self.socket.is_none() {
            return;
        }
        for id in std::mem::take(&mut self.told) {
            self.push(member, Kind::RemoveCounter, id);
        }
        if let Err(error) = self.send() {
            self.broken(member, error);
        }
    }

    /// Waits until there is something to read, or room to write where something has to be written.
    fn poll(&self, timeout: Duration) -> io::Result<bool> {
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut events = PollFlags::IN;
        if !self.output.is_empty() {
            events |= PollFlags::OUT;
        }
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut [PollFd::new(socket, events)], Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            // A signal: the deadline is looked at again.
            Err(rustix::io::Errno::INTR) => Ok(!timeout_is_over(&timeout)),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what can be sent at once.
    fn send(&mut self) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        while !self.output.is_empty() {
            match send(socket, &self.output, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads the answers that came.
    fn read_answers(&mut self) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let mut bytes = [0; 256];
        loop {
            let count = match recv(socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(io::ErrorKind::ConnectionReset.into()),
                Ok((count, _)) => count,
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for &byte in &bytes[..count] {
                self.input.push(byte);
                if let Ok(answer) = <[u8; ANSWER]>::try_from(&self.input[..]) {
                    self.input.clear();
                    let kind = self.awaited.pop_front();
                    let counts = kind.is_some_and(counts);
                    let code = u32::from_le_bytes(answer);
                    if kind.is_none() {
                        return Err(io::Error::other("an answer that nobody asked for"));
                    }
                    if counts && code != 0 {
                        self.error.get_or_insert(code);
                    }
                }
            }
        }
    }

    /// Ends a connection that is of no use any more; the next collection makes another.
    fn broken(&mut self, member: &Member, error: io::Error) -> Failure {
        *self = Self::default();
        Failure::new(ErrorCode::INTERNAL_ERROR, format!("{} cannot be asked: {error}", who(member)))
    }
}

/// Tells the members of a group that nothing of the set is wanted any more.
pub(super) fn say_removed(group: &Group) {
    for member in group.members().iter().filter(|member| member.has_control()) {
        member.connection().say_removed(member);
    }
}

/// A connection to the socket beside a file, made without waiting; whoever answers must be the owner of the file.
fn connected(member: &Member) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let path = member.folder().socket_path(member.file_name());
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let peer = socket_peercred(&socket)?;
    if peer.uid.as_raw() != member.key().owner {
        return Err(io::Error::other("the socket beside its file is another user's"));
    }
    Ok(socket)
}

/// Whether an error in the answer reaches the consumer. Others are ignored, and not waited for.
///
/// Source: perflib.h, "PERFLIBREQUEST callback function".
fn counts(kind: Kind) -> bool {
    matches!(kind, Kind::AddCounter | Kind::EnumInstances | Kind::CollectStart)
}

fn who(member: &Member) -> String {
    format!("{} (process {})", member.program(), member.process())
}

fn late(member: &Member) -> Failure {
    let milliseconds = TIME_TO_PREPARE.as_millis();
    let reason =
        format!("{} did not answer in time ({milliseconds} ms for all of a collection)", who(member));
    Failure::new(ErrorCode::TIMEOUT, Arc::<str>::from(reason))
}

fn timeout_is_over(timeout: &Timespec) -> bool {
    timeout.tv_sec == 0 && timeout.tv_nsec == 0
}
