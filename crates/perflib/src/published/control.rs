//! Asking providers that have a control callback: which counters are wanted, and that values are about to be read.
//!
//! A consumer asks all providers of a collection, and then waits for them for a second at most. One that does not answer in
//! time is late: it is not asked again, and nobody waits for it, before its answers have come. Collections of several
//! queries may ask at the same time; each waits for the answers to its own requests.
//!
//! A provider ends connections when it has too many, also one over which it is about to be asked. So who is cut off connects
//! anew and asks again, a few times in a collection at most.

mod wire;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_shm::control::{Kind, Request};

use super::group::Group;
use super::member::Member;
use super::wanted::Wanted;
use crate::block::WILDCARD_ID;
use crate::provider::{CollectionId, TIME_TO_PREPARE};
use crate::{ErrorCode, Failure};
use wire::Wire;

/// The instance of a request that is about all of them, as its id is.
const ALL_INSTANCES: &str = "*";

/// How often a collection that is cut off connects anew. Another may be cut off before it is used, where there are many
/// more readers than the provider has room for.
const MAX_CUTS: u8 = 3;

/// How long a provider that ended its connections is looked at: a process that dies loses its sockets before its locks.
const TIME_TO_DIE: Duration = Duration::from_millis(50);

/// The name of this machine, which is the only one that consumers ask.
fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The connection to a provider.
#[derive(Debug, Default)]
pub(super) struct Connection {
    wire: Option<Wire>,
    /// The counters that it was told of.
    told: BTreeSet<u32>,
    /// The requests whose answers have to come, in their order.
    awaited: VecDeque<Awaited>,
    /// What went wrong for collections that have not asked for it yet: the first of each.
    troubles: Vec<Trouble>,
}

/// A request whose answer has to come.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    kind: Kind,
    /// Who waits for it; nobody where it does not matter, or came too late.
    collection: Option<CollectionId>,
    /// How many connections it was asked over that were closed.
    cuts: u8,
}

/// Why the values are not to be read in a collection.
#[derive(Debug)]
struct Trouble {
    collection: CollectionId,
    failure: Failure,
    /// Whether there is no connection any more.
    is_cut_off: bool,
}

impl Connection {
    /// Begins to ask: what changed in what is wanted, then `kind`. The answers are waited for in [`wait`](Self::wait).
    pub(super) fn ask(&mut self, member: &Member, wanted: &Wanted, kind: Kind, collection: CollectionId) {
        self.exchange(member, wanted);
        if self.is_late() {
            self.fail(collection, late(member), false);
            return;
        }
        let awaited = Awaited { kind, collection: Some(collection), cuts: 0 };
        if let Err(error) = self.request(member, wanted, &[awaited]) {
            self.lose(member, &[awaited], &error);
            return;
        }
        self.exchange(member, wanted);
    }

    /// Waits for the answers until the deadline.
    ///
    /// # Errors
    ///
    /// The code that the provider answered to what counts, or that it is late or gone.
    pub(super) fn wait(
        &mut self,
        member: &Member,
        wanted: &Wanted,
        collection: CollectionId,
        deadline: Instant,
    ) -> Result<(), Failure> {
        while let Some(wire) = self.wire.as_ref().filter(|_| self.is_awaited_by(collection)) {
            match wire.poll(deadline.saturating_duration_since(Instant::now())) {
                Ok(true) => self.exchange(member, wanted),
                Ok(false) => {
                    self.give_up(collection);
                    self.fail(collection, late(member), false);
                }
                Err(error) => self.recover(member, wanted, error),
            }
        }
        let Some(place) = self.troubles.iter().position(|trouble| trouble.collection == collection) else {
            return Ok(());
        };
        let trouble = self.troubles.swap_remove(place);
        if trouble.is_cut_off {
            see_it_die(member, deadline);
        }
        Err(trouble.failure)
    }

    /// Says that the values were read. Nobody waits for the answer.
    pub(super) fn end(&mut self, member: &Member, wanted: &Wanted) {
        self.push(member, Kind::CollectEnd, WILDCARD_ID, None);
        self.exchange(member, wanted);
    }

    /// Says that nothing is wanted any more. Nobody waits for the answers.
    fn say_removed(&mut self, member: &Member, wanted: &Wanted) {
        for id in std::mem::take(&mut self.told) {
            self.push(member, Kind::RemoveCounter, id, None);
        }
        self.exchange(member, wanted);
    }

    /// Sends what changed in what is wanted and some requests, over a new connection where there is none.
    fn request(&mut self, member: &Member, wanted: &Wanted, requests: &[Awaited]) -> io::Result<()> {
        if self.wire.is_none() {
            self.wire = Some(Wire::connect(member)?);
        }
        let Some(first) = requests.first() else { return Ok(()) };
        self.tell_changes(member, wanted, first);
        requests.iter().for_each(|request| self.push(member, request.kind, WILDCARD_ID, Some(request)));
        Ok(())
    }

    /// Says what changed in what is wanted, on behalf of a request.
    fn tell_changes(&mut self, member: &Member, wanted: &Wanted, request: &Awaited) {
        let wanted = wanted.lock();
        // All of them are told as one; the counters that others want besides are told again when it is not all any more.
        let is_all = wanted.contains_key(&WILDCARD_ID);
        let is_told = |id: &u32| wanted.contains_key(id) && (!is_all || *id == WILDCARD_ID);
        let ids = || wanted.keys().copied().filter(is_told);
        if ids().eq(self.told.iter().copied()) {
            return;
        }
        let removed: Vec<u32> = self.told.iter().copied().filter(|id| !is_told(id)).collect();
        let added: Vec<u32> = ids().filter(|id| !self.told.contains(id)).collect();
        drop(wanted);
        removed.iter().for_each(|&id| self.push(member, Kind::RemoveCounter, id, Some(request)));
        added.iter().for_each(|&id| self.push(member, Kind::AddCounter, id, Some(request)));
        self.told.retain(|id| !removed.contains(id));
        self.told.extend(added);
    }

    /// Adds a request to what is sent next, on behalf of another or of nobody. Without a connection nothing is said.
    fn push(&mut self, member: &Member, kind: Kind, counter_id: u32, behalf: Option<&Awaited>) {
        let Some(wire) = &mut self.wire else { return };
        wire.push(&Request {
            counter_id,
            instance: ALL_INSTANCES.into(),
            machine: machine_name(),
            ..Request::new(kind, member.key().set)
        });
        let behalf = behalf.filter(|_| counts(kind));
        self.awaited.push_back(Awaited {
            kind,
            collection: behalf.and_then(|request| request.collection),
            cuts: behalf.map_or(0, |request| request.cuts),
        });
    }

    fn is_awaited_by(&self, collection: CollectionId) -> bool {
        self.awaited.iter().any(|awaited| awaited.collection == Some(collection))
    }

    /// Whether an answer that counts has to come for which nobody waits any more.
    fn is_late(&self) -> bool {
        self.awaited.iter().any(|awaited| counts(awaited.kind) && awaited.collection.is_none())
    }

    /// A collection does not wait any longer.
    fn give_up(&mut self, collection: CollectionId) {
        let given_up = self.awaited.iter_mut().filter(|awaited| awaited.collection == Some(collection));
        given_up.for_each(|awaited| awaited.collection = None);
    }

    /// Notes what went wrong for a collection, where nothing did before.
    fn fail(&mut self, collection: CollectionId, failure: Failure, is_cut_off: bool) {
        if self.troubles.iter().all(|trouble| trouble.collection != collection) {
            self.troubles.push(Trouble { collection, failure, is_cut_off });
        }
    }

    /// Sends what can be sent at once, and takes the answers that came.
    fn exchange(&mut self, member: &Member, wanted: &Wanted) {
        if let Err(error) = self.send_and_receive(member) {
            self.recover(member, wanted, error);
        }
    }

    fn send_and_receive(&mut self, member: &Member) -> io::Result<()> {
        let Some(mut wire) = self.wire.take() else { return Ok(()) };
        // Answers that came before the end of a connection count also where nothing can be sent any more.
        let sent = wire.send();
        let received = wire.receive(|code| self.take_answer(member, code));
        self.wire = Some(wire);
        received.and(sent)
    }

    fn take_answer(&mut self, member: &Member, code: u32) -> io::Result<()> {
        let awaited = self.awaited.pop_front();
        let awaited = awaited.ok_or_else(|| io::Error::other("an answer that nobody asked for"))?;
        if let Some(collection) = awaited.collection
            && code != 0
        {
            let code = ErrorCode(code);
            self.fail(collection, Failure::new(code, format!("{} answered: {code}", who(member))), false);
        }
        Ok(())
    }

    /// Ends a connection that is of no use any more. Where the provider closed it, those who wait ask again over another;
    /// where nobody waits, the next collection makes another.
    fn recover(&mut self, member: &Member, wanted: &Wanted, error: io::Error) {
        self.wire = None;
        self.told.clear();
        let mut lost: Vec<Awaited> = self.awaited.drain(..).collect();
        // What changed is told anew.
        lost.retain(|awaited| awaited.collection.is_some() && awaited.kind != Kind::AddCounter);
        if lost.is_empty() {
            return;
        }
        if !is_closed(&error) || lost.iter().any(|awaited| awaited.cuts >= MAX_CUTS) {
            self.lose(member, &lost, &error);
            return;
        }
        lost.iter_mut().for_each(|awaited| awaited.cuts += 1);
        match self.request(member, wanted, &lost) {
            Ok(()) => self.exchange(member, wanted),
            Err(error) => self.lose(member, &lost, &error),
        }
    }

    /// Those who asked get no answer.
    fn lose(&mut self, member: &Member, lost: &[Awaited], error: &io::Error) {
        let failure = Failure::new(ErrorCode::NO_DATA, format!("{} cannot be asked: {error}", who(member)));
        let is_cut_off = is_closed(error) || lost.iter().any(|awaited| awaited.cuts > 0);
        for collection in lost.iter().filter_map(|awaited| awaited.collection) {
            self.fail(collection, failure.clone(), is_cut_off);
        }
    }
}

/// Tells the members of a group that nothing of the set is wanted any more.
pub(super) fn say_removed(group: &Group) {
    for member in group.members().iter().filter(|member| member.has_control()) {
        member.connection().say_removed(member, group.wanted());
    }
}

/// Whether an error in the answer reaches the consumer. Others are ignored, and not waited for.
///
/// Source: perflib.h, "PERFLIBREQUEST callback function".
fn counts(kind: Kind) -> bool {
    matches!(kind, Kind::AddCounter | Kind::EnumInstances | Kind::CollectStart)
}

/// Whether the other end of a connection closed it, or its process dies.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset)
}

/// Gives a provider that ended its connections a moment to be dead, where it is dying.
fn see_it_die(member: &Member, deadline: Instant) {
    let until = deadline.min(Instant::now() + TIME_TO_DIE);
    while member.is_alive() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
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
