//! A counter set of a query.

use std::fmt;
use std::sync::Arc;

use crate::block::WILDCARD_ID;
use crate::registry::Entry;
use crate::{ErrorCode, Failure, Rows};

/// A counter set of a query: everything that its identifiers and paths want of it, collected once.
///
/// It keeps its place among [`Query::sets`](super::Query::sets) for as long as anything of it is asked for, or it is in the registry. After that
/// a set that is new may get the place.
pub struct QueriedSet {
    pub(super) entry: Arc<Entry>,
    pub(super) rows: Rows,
    pub(super) outcome: Result<(), Failure>,
    /// Whether anything of it is asked for.
    pub(super) is_wanted: bool,
    /// The counters that the set's provider was told of.
    told: Vec<u32>,
}

impl QueriedSet {
    /// A set of which nothing is wanted yet.
    pub(super) fn new(entry: &Arc<Entry>) -> Self {
        Self {
            entry: Arc::clone(entry),
            rows: Rows::new(Arc::clone(&entry.info)),
            outcome: Err(not_collected()),
            is_wanted: false,
            told: Vec::new(),
        }
    }

    /// The instances and raw values of the collection; empty where it failed.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Whether the set could be collected.
    ///
    /// # Errors
    ///
    /// Why it could not.
    pub fn outcome(&self) -> Result<(), &Failure> {
        self.outcome.as_ref().copied()
    }

    /// Takes note of whether anything of it is asked for. What is not is let go: what a provider keeps for the next
    /// collection, and the rows of the last one.
    pub(super) fn ask(&mut self, is_wanted: bool) {
        match (std::mem::replace(&mut self.is_wanted, is_wanted), is_wanted) {
            (false, true) => self.entry.asks(),
            (true, false) => {
                self.rows = Rows::new(Arc::clone(&self.entry.info));
                self.entry.asks_no_more();
            }
            _ => {}
        }
    }

    /// Tells a provider that has to know which counters are asked for now: all by one number, where an identifier is for all.
    pub(super) fn tell(&mut self, wants: Wants) {
        if !self.entry.listens() {
            return;
        }
        let ids: Vec<u32> = match wants {
            Wants::Nothing => Vec::new(),
            Wants::EveryCounter => vec![WILDCARD_ID],
            Wants::Counters => {
                let positions = self.rows.positions().iter();
                positions.map(|&place| self.rows.info().counters[place].id).collect()
            }
        };
        let missing = |from: &[u32], other: &[u32]| -> Vec<u32> {
            from.iter().filter(|id| !other.contains(id)).copied().collect()
        };
        self.entry.tell(&missing(&ids, &self.told), &missing(&self.told, &ids));
        self.told = ids;
    }
}

/// What a query wants of a set.
pub(super) enum Wants {
    Nothing,
    /// Those that its rows want.
    Counters,
    /// Those that there are, as an identifier without a counter says.
    EveryCounter,
}

impl Drop for QueriedSet {
    fn drop(&mut self) {
        self.tell(Wants::Nothing);
        self.ask(false);
    }
}

/// Of a set whose identifiers changed since.
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
