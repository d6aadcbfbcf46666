//! The counter sets of this machine, shared by all handles.

use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison;
use tachograph_machine::Machine;
use tachograph_perflib::{ErrorCode, Registry};

use super::ApiError;

/// The machine, created at its first use.
static MACHINE: Mutex<Option<Arc<Machine>>> = Mutex::new(None);

/// The counter sets that this machine has now, including published ones.
///
/// # Errors
///
/// [`ErrorCode::INTERNAL_ERROR`] if two of the machine's own sets have the same name or GUID.
pub(crate) fn registry() -> Result<Arc<Registry>, ApiError> {
    Ok(machine()?.refresh())
}

/// The machine, whose sets may change.
///
/// # Errors
///
/// Same as [`registry`].
pub(crate) fn machine() -> Result<Arc<Machine>, ApiError> {
    let mut machine = MACHINE.lock().ignore_poison();
    if let Some(machine) = &*machine {
        return Ok(Arc::clone(machine));
    }
    let created = Machine::of_this_machine()
        .map_err(|error| ApiError::new(ErrorCode::INTERNAL_ERROR, error.to_string()))?;
    Ok(Arc::clone(machine.insert(Arc::new(created))))
}
