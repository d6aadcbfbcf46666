//! The files of one counter set of one owner.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_shm::Guid;

use super::member::Member;
use super::wanted::Wanted;

/// What belongs together: a set, and the user who publishes it. Sets of two users are never one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    pub(crate) set: Guid,
    pub(crate) owner: u32,
}

/// The processes that publish a set for one owner. The catalog adds and removes them; providers follow.
#[derive(Debug)]
pub(crate) struct Group {
    key: GroupKey,
    members: Mutex<Vec<Arc<Member>>>,
    /// Another number when members came or went.
    generation: AtomicU64,
    /// The counters that queries want.
    wanted: Wanted,
}

impl Group {
    pub(super) fn new(key: GroupKey) -> Self {
        Self { key, members: Mutex::default(), generation: AtomicU64::new(1), wanted: Wanted::default() }
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn key(&self) -> GroupKey {
        self.key
    }

    /// The members, in the order of their start.
    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        self.list().clone()
    }

    /// Another number when members came or went.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, member: Arc<Member>) {
        let mut members = self.list();
        let place = members.partition_point(|known| known.order() <= member.order());
        members.insert(place, member);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Takes a member out; whether it was there.
    pub(super) fn remove(&self, member: &Arc<Member>) -> bool {
        let mut members = self.list();
        let place = members.iter().position(|known| Arc::ptr_eq(known, member));
        if let Some(place) = place {
            members.remove(place);
            self.generation.fetch_add(1, Ordering::Release);
        }
        place.is_some()
    }

    /// The counters that queries want, for providers with a control callback.
    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// A query wants other counters than before.
    pub(crate) fn tell(&self, added: &[u32], removed: &[u32]) {
        self.wanted.change(added, removed);
        if self.wanted.is_nothing() {
            // Nobody collects any more, so this is the last moment to say it.
            super::control::say_removed(self);
        }
    }
}

impl fmt::Debug for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of user {}", self.set, self.owner)
    }
}
