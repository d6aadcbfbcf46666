//! Functions for consumers: registrations, instances, queries.

use std::sync::{Mutex, MutexGuard};

use tachograph_perflib::block::{Identifier, decode_identifiers, write_statuses};
use tachograph_perflib::registration::Request;
use tachograph_perflib::{ErrorCode, Guid, Query};

use super::{ApiError, machine};

/// The GUIDs of all counter sets, 16 bytes each.
pub(super) fn enumerate(machine: Option<&str>) -> Result<Vec<u8>, ApiError> {
    let registry = machine::registry_of(machine)?;
    Ok(registry.enumerate().flat_map(Guid::to_bytes).collect())
}

/// The part of a set's registration that `request` selects, as PerfLib's bytes.
pub(super) fn registration(
    machine: Option<&str>,
    set: Guid,
    request: u32,
    argument: u32,
) -> Result<Vec<u8>, ApiError> {
    let registry = machine::registry_of(machine)?;
    let request = Request::from_number(request, argument)
        .ok_or_else(|| ApiError::argument(format!("The request code {request} is invalid: pass 1 to 10.")))?;
    let mut bytes = Vec::new();
    registry.registration_info(set, request, &mut bytes)?;
    Ok(bytes)
}

/// The instances that a set currently has, as PerfLib's bytes.
pub(super) fn instances(machine: Option<&str>, set: Guid) -> Result<Vec<u8>, ApiError> {
    let registry = machine::registry_of(machine)?;
    let mut bytes = Vec::new();
    registry.instance_list(set, &mut bytes)?;
    Ok(bytes)
}

/// Whether identifiers are added or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Add,
    Delete,
}

/// The object of a query handle. Concurrent calls for one handle run one after the other.
#[derive(Debug)]
pub(super) struct OpenQuery {
    /// The name of the machine; `None` means this machine.
    machine: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    query: Query,
    /// The result of the last collection.
    block: Vec<u8>,
    /// Whether the block has not been returned yet, because the caller's buffer was too small.
    is_pending: bool,
}

impl OpenQuery {
    pub(super) fn new(machine: Option<&str>) -> Result<Self, ApiError> {
        let query = Query::open(&machine::registry_of(machine)?, None)?;
        let state = State { query, block: Vec::new(), is_pending: false };
        Ok(Self { machine: machine.map(str::to_owned), state: Mutex::new(state) })
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, ApiError> {
        self.state.lock().map_err(|_| {
            ApiError::new(
                ErrorCode::INTERNAL_ERROR,
                "An earlier call for this handle failed (ERROR_INTERNAL_ERROR): close the handle.",
            )
        })
    }

    /// Adds or deletes identifiers, and writes the status of each.
    pub(super) fn change(&self, bytes: &mut [u8], change: Change) -> Result<(), ApiError> {
        let decoded =
            decode_identifiers(bytes).map_err(|error| ApiError::new(error.code(), error.to_string()))?;
        if bytes.is_empty() {
            return Err(ApiError::argument("No identifiers were passed: cbCounters is 0."));
        }
        let mut statuses = Vec::new();
        let mut valid: Vec<Identifier> = Vec::new();
        for identifier in decoded {
            match identifier {
                Ok(identifier) => {
                    valid.push(identifier);
                    statuses.push(None);
                }
                Err(error) => statuses.push(Some(error.code().0)),
            }
        }
        let mut state = self.state()?;
        // A pending block belongs to the previous identifiers.
        state.is_pending = false;
        match change {
            Change::Add => {
                // The newer registry has sets that appeared since the query was opened. If another machine does not answer now,
                // its known sets are added, because it may answer when they are collected.
                if let Ok(newer) = machine::registry_of(self.machine.as_deref()) {
                    state.query.adopt(&newer);
                }
                state.query.add(&mut valid);
            }
            Change::Delete => state.query.delete(&mut valid),
        }
        let mut valid_statuses = valid.iter().map(|identifier| identifier.status);
        let statuses = statuses
            .into_iter()
            .map(|decode_error| decode_error.or_else(|| valid_statuses.next()).unwrap_or_default())
            .collect::<Vec<_>>();
        write_statuses(bytes, statuses).map_err(|error| ApiError::new(error.code(), error.to_string()))
    }

    /// The identifiers of the query, each with the index of its result.
    pub(super) fn identifiers(&self) -> Result<Vec<u8>, ApiError> {
        let mut bytes = Vec::new();
        for identifier in self.state()?.query.identifiers() {
            identifier.push(&mut bytes).map_err(|error| ApiError::new(error.code(), error.to_string()))?;
        }
        Ok(bytes)
    }

    /// Collects, and passes the block to `fill`, which fails if the caller's buffer is too small. The next call then passes the
    /// same block: discarding it would lose events between two collections, such as the absence of an instance.
    pub(super) fn collect(&self, fill: impl FnOnce(&[u8]) -> Result<(), ApiError>) -> Result<(), ApiError> {
        let mut state = self.state()?;
        let State { query, block, is_pending } = &mut *state;
        if !*is_pending {
            query.collect();
            query.data(block)?;
        }
        let filled = fill(block);
        *is_pending = filled.as_ref().is_err_and(|error| error.code == ErrorCode::NOT_ENOUGH_MEMORY);
        filled
    }
}
