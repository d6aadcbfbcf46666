//! The files of a counter set that have the same owner.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_schema::IgnorePoison;

use super::member::{GroupKey, Member};
use super::requested_counters::RequestedCounters;

/// The processes of one user that publish a set. The catalog adds and removes members.
#[derive(Debug)]
pub(crate) struct MemberGroup {
    key: GroupKey,
    members: Mutex<Vec<Arc<Member>>>,
    /// Increases when a member is added or removed.
    generation: AtomicU64,
    /// The counters that queries request.
    requested: RequestedCounters,
}

impl MemberGroup {
    pub(super) fn new(key: GroupKey) -> Self {
        Self {
            key,
            members: Mutex::default(),
            generation: AtomicU64::new(1),
            requested: RequestedCounters::default(),
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arc<Member>>> {
        self.members.lock().ignore_poison()
    }

    pub(super) fn key(&self) -> GroupKey {
        self.key
    }

    /// The members, ordered by start time.
    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        self.list().clone()
    }

    /// Increases when a member is added or removed.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, member: Arc<Member>) {
        let mut members = self.list();
        let index = members.partition_point(|known| known.order() <= member.order());
        members.insert(index, member);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Removes a member; returns whether it was in the group.
    pub(super) fn remove(&self, member: &Arc<Member>) -> bool {
        let mut members = self.list();
        let index = members.iter().position(|known| Arc::ptr_eq(known, member));
        if let Some(index) = index {
            members.remove(index);
            self.generation.fetch_add(1, Ordering::Release);
        }
        index.is_some()
    }

    /// The counters that queries request, to notify providers with a control callback.
    pub(super) fn requested(&self) -> &RequestedCounters {
        &self.requested
    }

    /// Records that a query has added or removed these counters.
    pub(crate) fn update_requested(&self, added: &[u32], removed: &[u32]) {
        self.requested.update(added, removed);
        if self.requested.is_empty() {
            // Notify the providers now, because there may be no later collection.
            for member in self.members().iter().filter(|member| member.has_control) {
                member.connection().remove_counters(member, &self.requested);
            }
        }
    }
}
