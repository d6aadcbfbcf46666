//! The counter sets of this machine, which all handles share.

use std::sync::{Arc, Mutex, PoisonError};

use tachograph_machine::Machine;
use tachograph_perflib::{ErrorCode, Registry};

use super::Refusal;

/// The machine, from its first use on.
static MACHINE: Mutex<Option<Arc<Machine>>> = Mutex::new(None);

/// The counter sets that this machine has now, those that programs have published since included.
///
/// # Errors
///
/// When the machine's own sets contradict each other.
pub(crate) fn registry() -> Result<Arc<Registry>, Refusal> {
    Ok(machine()?.refresh())
}

/// The machine, whose sets may change.
///
/// # Errors
///
/// As [`registry`].
pub(crate) fn machine() -> Result<Arc<Machine>, Refusal> {
    let mut known = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(machine) = &*known {
        return Ok(Arc::clone(machine));
    }
    let made = Machine::of_this_machine()
        .map_err(|refused| Refusal::new(ErrorCode::INTERNAL_ERROR, refused.to_string()))?;
    Ok(Arc::clone(known.insert(Arc::new(made))))
}
