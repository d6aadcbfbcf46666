//! What consumers ask: registrations, instances, queries.

use std::sync::{Mutex, MutexGuard};

use tachograph_perflib::block::{Identifier, decode_identifiers, write_statuses};
use tachograph_perflib::registration::Request;
use tachograph_perflib::{ErrorCode, Guid, Query, Registry};

use super::{Refusal, machine};

/// Whether a machine of this name is the one that is asked.
///
/// # Errors
///
/// [`ErrorCode::BAD_NETWORK_PATH`] for another.
fn check_machine(registry: &std::sync::Arc<Registry>, machine: Option<&str>) -> Result<(), Refusal> {
    Query::open(registry, machine).map(drop).map_err(|code| {
        let name = machine.unwrap_or_default();
        Refusal::new(code, format!("The machine '{name}' cannot be asked: only this one can (pass null)."))
    })
}

/// The GUIDs of all counter sets, 16 bytes each.
pub(super) fn enumerate(machine: Option<&str>) -> Result<Vec<u8>, Refusal> {
    let registry = machine::registry()?;
    check_machine(&registry, machine)?;
    Ok(registry.enumerate().flat_map(Guid::to_bytes).collect())
}

/// What is registered of a set.
pub(super) fn registration(
    machine: Option<&str>,
    set: Guid,
    request: u32,
    argument: u32,
) -> Result<Vec<u8>, Refusal> {
    let registry = machine::registry()?;
    check_machine(&registry, machine)?;
    let request = Request::from_number(request, argument)
        .ok_or_else(|| Refusal::argument(format!("The request code is {request}, and there are 1 to 10.")))?;
    let mut bytes = Vec::new();
    registry.registration_info(set, request, &mut bytes)?;
    Ok(bytes)
}

/// The instances that a set has now.
pub(super) fn instances(machine: Option<&str>, set: Guid) -> Result<Vec<u8>, Refusal> {
    let registry = machine::registry()?;
    check_machine(&registry, machine)?;
    let mut bytes = Vec::new();
    registry.instance_list(set, &mut bytes)?;
    Ok(bytes)
}

/// What is done with identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Add,
    Delete,
}

/// A query handle. Calls for one handle wait for each other.
#[derive(Debug)]
pub(super) struct OpenQuery {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    query: Query,
    block: Vec<u8>,
    /// Whether the block was collected and not handed out yet, since the caller's buffer was too small for it.
    is_waiting: bool,
}

impl OpenQuery {
    pub(super) fn new(machine: Option<&str>) -> Result<Self, Refusal> {
        let registry = machine::registry()?;
        check_machine(&registry, machine)?;
        let query = Query::open(&registry, None)?;
        Ok(Self { state: Mutex::new(State { query, block: Vec::new(), is_waiting: false }) })
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, Refusal> {
        self.state.lock().map_err(|_| {
            Refusal::new(
                ErrorCode::INTERNAL_ERROR,
                "A call for this handle broke down (ERROR_INTERNAL_ERROR): close it.",
            )
        })
    }

    /// Adds or deletes identifiers, and writes the status of each into them.
    pub(super) fn change(&self, bytes: &mut [u8], change: Change) -> Result<(), Refusal> {
        let decoded =
            decode_identifiers(bytes).map_err(|error| Refusal::new(error.code(), error.to_string()))?;
        if bytes.is_empty() {
            return Err(Refusal::argument("There is no identifier: cbCounters is 0."));
        }
        let mut statuses = Vec::new();
        let mut good: Vec<Identifier> = Vec::new();
        for identifier in decoded {
            match identifier {
                Ok(identifier) => {
                    good.push(identifier);
                    statuses.push(None);
                }
                Err(error) => statuses.push(Some(error.code().0)),
            }
        }
        let mut state = self.state()?;
        // What was collected is of other queries.
        state.is_waiting = false;
        match change {
            Change::Add => {
                // Of sets that were published since, too.
                state.query.adopt(&machine::registry()?);
                state.query.add(&mut good);
            }
            Change::Delete => state.query.delete(&mut good),
        }
        let mut changed = good.iter().map(|identifier| identifier.status);
        let statuses = statuses
            .into_iter()
            .map(|bad| bad.or_else(|| changed.next()).unwrap_or_default())
            .collect::<Vec<_>>();
        write_statuses(bytes, statuses).map_err(|error| Refusal::new(error.code(), error.to_string()))
    }

    /// The identifiers of the handle, each with the place of its result.
    pub(super) fn identifiers(&self) -> Result<Vec<u8>, Refusal> {
        let mut bytes = Vec::new();
        for identifier in self.state()?.query.identifiers() {
            identifier.push(&mut bytes).map_err(|error| Refusal::new(error.code(), error.to_string()))?;
        }
        Ok(bytes)
    }

    /// Collects, and hands the block to `fill`. A block that did not fit is the next one that is handed out: what shows
    /// only between two collections that follow each other, as that an instance was absent, would be lost with it.
    pub(super) fn collect(&self, fill: impl FnOnce(&[u8]) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let mut state = self.state()?;
        let State { query, block, is_waiting } = &mut *state;
        if !*is_waiting {
            query.collect();
            query.data(block)?;
        }
        let filled = fill(block);
        *is_waiting = filled.as_ref().is_err_and(|refusal| refusal.code == ErrorCode::NOT_ENOUGH_MEMORY);
        filled
    }
}
