//! A registered counter set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tachograph_schema::IgnorePoison;

use crate::clock::Clock;
use crate::host::Host;
use crate::provider::{CollectionId, MAX_PREPARE_TIME};
use crate::published::group::MemberGroup;
use crate::registration::CounterSetInfo;
use crate::{Failure, InstanceFilter, InstanceKey, Rows};

/// A registered counter set with its provider. Several registries can share an entry.
pub(crate) struct Entry {
    pub(crate) info: Arc<CounterSetInfo>,
    host: Mutex<Host>,
    /// The number of queries that use the set.
    users: AtomicUsize,
    /// The processes that publish the set; `None` if it is not a published set.
    pub(super) published: Option<Arc<MemberGroup>>,
}

impl Entry {
    pub(super) fn new(info: Arc<CounterSetInfo>, host: Host, published: Option<Arc<MemberGroup>>) -> Self {
        Self { info, host: Mutex::new(host), users: AtomicUsize::new(0), published }
    }

    pub(crate) fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().ignore_poison()
    }

    /// Adds a user of the set. Each call must be matched by a call to [`release`](Self::release).
    pub(crate) fn acquire(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
    }

    /// Removes a user. When the last user is removed, the provider becomes idle.
    pub(crate) fn release(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            // A user that is added in the meantime makes the provider reopen its files, which is harmless.
            self.host().idle();
        }
    }

    /// Whether the provider is notified of the counters that queries request.
    pub(crate) fn has_listener(&self) -> bool {
        self.published.is_some()
    }

    /// Notifies the provider that a query has added or removed these counters.
    pub(crate) fn update_requested(&self, added: &[u32], removed: &[u32]) {
        if let Some(group) = &self.published
            && !(added.is_empty() && removed.is_empty())
        {
            group.update_requested(added, removed);
        }
    }

    /// The current instances. No counters are selected, so that the provider does not have to read values.
    pub(crate) fn instances(&self, clock: &Clock) -> Result<Vec<Arc<InstanceKey>>, Failure> {
        let mut rows = Rows::new(Arc::clone(&self.info));
        rows.select([], vec![InstanceFilter::all()]);
        self.acquire();
        let collection = CollectionId::next();
        self.host().request(&rows, collection);
        self.host().prepare(&rows, collection, Instant::now() + MAX_PREPARE_TIME);
        rows.clear(clock.timestamps_of(collection));
        let outcome = self.host().collect(&mut rows);
        self.release();
        outcome.map(|()| rows.instances().to_vec())
    }
}
