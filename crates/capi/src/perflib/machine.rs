//! The counter sets of this machine, shared by all handles, and those of other machines.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison;
use tachograph_machine::Machine;
use tachograph_perflib::{Connector, ErrorCode, Failure, Registry};
use tachograph_remote::Machines;

use super::ApiError;
use crate::environment;

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

/// The counter sets that a machine has now; `None` means this machine.
///
/// # Errors
///
/// Same as [`registry`], and those of [`Connector::registry`] for another machine.
pub(super) fn registry_of(machine: Option<&str>) -> Result<Arc<Registry>, ApiError> {
    Ok(registry()?.of_machine(machine)?)
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
    created.set_connector(Arc::new(OtherMachines::default()));
    Ok(Arc::clone(machine.insert(Arc::new(created))))
}

/// The machines of `machines.toml`, which is read when another machine is first named, so that an invalid file does not
/// affect programs that read only this machine.
#[derive(Debug, Default)]
struct OtherMachines {
    machines: Mutex<Option<Arc<Machines>>>,
}

impl OtherMachines {
    fn machines(&self) -> Result<Arc<Machines>, Failure> {
        let mut machines = self.machines.lock().ignore_poison();
        if let Some(machines) = &*machines {
            return Ok(Arc::clone(machines));
        }
        let loaded = match environment::has_more_rights_than_caller() {
            true => Machines::of_system(),
            false => Machines::of_user(),
        };
        let loaded = loaded.map_err(|error| Failure::new(ErrorCode::BAD_NETWORK_PATH, error.to_string()))?;
        Ok(Arc::clone(machines.insert(Arc::new(loaded))))
    }
}

thread_local! {
    /// Why the calling thread last failed to connect to another machine.
    static LAST_CONNECTION_FAILURE: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Takes the reason why the calling thread last failed to connect to another machine: what failed, and what to do.
pub(crate) fn take_connection_failure() -> Option<Arc<str>> {
    // While a thread ends, its thread-local variables may have been destroyed already.
    LAST_CONNECTION_FAILURE.try_with(RefCell::take).ok().flatten()
}

impl Connector for OtherMachines {
    fn registry(&self, machine: &str) -> Result<Arc<Registry>, Failure> {
        let outcome = self.machines().and_then(|machines| machines.registry(machine));
        if let Err(failure) = &outcome {
            let _ = LAST_CONNECTION_FAILURE.try_with(|last| last.replace(Some(Arc::clone(&failure.reason))));
        }
        outcome
    }

    fn connected(&self) -> Vec<Arc<str>> {
        let machines = self.machines.lock().ignore_poison();
        machines.as_ref().map(|machines| machines.connected()).unwrap_or_default()
    }
}
