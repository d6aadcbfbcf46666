//! A counter set of a query.

use std::fmt;
use std::sync::Arc;

use crate::registry::Entry;
use crate::{ErrorCode, Failure, Rows};

/// A counter set of a query. All its counters and instances that identifiers and paths select are collected together.
///
/// The set's index in [`Query::sets`](super::Query::sets) is stable while the registry has the set or any of its
/// counters is selected. After that, another set can reuse the index.
pub struct QueriedSet {
    /// The set in the registry.
    pub(super) entry: Arc<Entry>,
    /// The values of the last collection.
    pub(super) rows: Rows,
    /// Whether the last collection succeeded.
    pub(super) outcome: Result<(), Failure>,
    /// Whether any of the set's counters is selected.
    pub(super) is_in_use: bool,
    /// The counters that the provider was last notified about.
    notified: Vec<u32>,
}

impl QueriedSet {
    /// A set without any selected counters.
    pub(super) fn new(entry: &Arc<Entry>) -> Self {
        Self {
            entry: Arc::clone(entry),
            rows: Rows::new(Arc::clone(&entry.info)),
            outcome: Err(not_collected()),
            is_in_use: false,
            notified: Vec::new(),
        }
    }

    /// The instances and raw values of the last collection; empty if the collection failed.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The outcome of the last collection.
    ///
    /// # Errors
    ///
    /// The reason that the set could not be collected.
    pub fn outcome(&self) -> Result<(), &Failure> {
        self.outcome.as_ref().copied()
    }

    /// Acquires or releases the set. Releasing drops the rows of the last collection.
    pub(super) fn set_in_use(&mut self, is_in_use: bool) {
        match (std::mem::replace(&mut self.is_in_use, is_in_use), is_in_use) {
            (false, true) => self.entry.acquire(),
            (true, false) => {
                self.rows = Rows::new(Arc::clone(&self.entry.info));
                self.entry.release();
            }
            _ => {}
        }
    }

    /// Notifies the processes that publish the set of the counters that the query now requests. The wildcard means all
    /// counters.
    pub(super) fn notify(&mut self, ids: Vec<u32>) {
        if !self.entry.has_listener() {
            return;
        }
        let ids_only_in = |from: &[u32], other: &[u32]| -> Vec<u32> {
            from.iter().filter(|id| !other.contains(id)).copied().collect()
        };
        self.entry.update_requested(&ids_only_in(&ids, &self.notified), &ids_only_in(&self.notified, &ids));
        self.notified = ids;
    }
}

impl Drop for QueriedSet {
    fn drop(&mut self) {
        self.notify(Vec::new());
        self.set_in_use(false);
    }
}

/// The outcome of a set whose selection changed after the last collection.
pub(super) fn not_collected() -> Failure {
    Failure::new(ErrorCode::NO_DATA, "not collected since it was added or changed")
}

impl fmt::Debug for QueriedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueriedSet")
            .field("set", &self.entry.info.name)
            .field("rows", &self.rows.instances().len())
            .field("outcome", &self.outcome)
            .finish()
    }
}
