//! Graphics processors: `GPU Engine`, `GPU Process Memory`, `GPU Adapter Memory` and `GPU Adapter`, from sysfs, from the
//! fdinfo files of the processes that use a graphics driver, and from the library of NVIDIA's driver (NVML).
//!
//! Sources: the kernel's documents "DRM client usage stats" and "amdgpu: gpu_busy_percent, mem_info_*".

mod adapters;
mod clients;
mod fdinfo;
mod files;
mod nvidia;
mod sets;
mod tables;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;

use tachograph_perflib::{Provider, SharedReading};

use crate::absence::Requirement;
use crate::roots::Roots;
use crate::table::SetTable;
use adapters::Adapter;
use clients::Clients;
use nvidia::{LIBRARY, Nvidia};
use sets::{AdapterMemory, Adapters, EngineSet, ProcessMemory};

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] =
    &[&tables::ENGINE, &tables::ADAPTER_MEMORY, &tables::PROCESS_MEMORY, &tables::ADAPTER];

/// What these sets require.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement { table: &tables::ENGINE, ids: &[], check: check_clients },
    Requirement { table: &tables::PROCESS_MEMORY, ids: &[], check: check_clients },
    Requirement { table: &tables::ADAPTER_MEMORY, ids: &[], check: check_clients },
    Requirement { table: &tables::ADAPTER, ids: &[], check: check_adapter },
    Requirement { table: &tables::ADAPTER, ids: &[tables::TEMPERATURE, tables::POWER], check: check_nvidia },
];

/// The providers of the sets that this machine has.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    providers_with(roots, LIBRARY.as_ref())
}

fn providers_with(roots: &Roots, library: &OsStr) -> Vec<Box<dyn Provider>> {
    let GraphicsCards { adapters, nvidia } = GraphicsCards::list(roots, library);
    let nvidia = nvidia.ok().map(|()| Nvidia::new(library));
    let user = || nvidia.as_ref().map(Nvidia::user);
    let users = [user(), user(), user(), user()];
    let nvidia = nvidia.map(SharedReading::new);
    let [engine_user, memory_user, process_user, adapter_user] = users;
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    if adapters.iter().any(Adapter::has_clients)
        && let Ok(clients) = Clients::new(roots, &adapters, nvidia.clone())
    {
        let clients = SharedReading::new(clients);
        providers.push(Box::new(EngineSet::new(clients.clone(), engine_user)));
        let memory = AdapterMemory::new(&adapters, clients.clone(), nvidia.clone(), memory_user);
        providers.push(Box::new(memory));
        providers.push(Box::new(ProcessMemory::new(clients, process_user)));
    }
    providers
        .extend(Adapters::new(&adapters, nvidia, adapter_user).map(|set| Box::new(set) as Box<dyn Provider>));
    providers
}

/// The graphics cards of a machine.
struct GraphicsCards {
    adapters: Vec<Adapter>,
    /// The reason if NVIDIA's cards, or the library that reads them, are missing.
    nvidia: Result<(), String>,
}

impl GraphicsCards {
    fn list(roots: &Roots, library: &OsStr) -> Self {
        let mut adapters = adapters::list(roots);
        let addresses = nvidia::addresses(roots, library);
        let nvidia = addresses.map(|addresses| adapters::add_nvidia(&mut adapters, addresses));
        Self { adapters, nvidia }
    }
}

fn check_clients(roots: &Roots) -> Result<(), String> {
    let GraphicsCards { adapters, nvidia } = GraphicsCards::list(roots, LIBRARY.as_ref());
    if adapters.iter().any(Adapter::has_clients) {
        return Ok(());
    }
    let known: Vec<_> = adapters.iter().map(|adapter| adapter.label.as_str()).collect();
    let nvidia = nvidia.err().unwrap_or_default();
    Err(match known.as_slice() {
        [] => format!("the kernel shows no graphics card in /sys/class/drm; {nvidia}"),
        known => format!(
            "the drivers of the graphics cards ({}) do not report what processes use; those of AMD (amdgpu), Intel \
             (i915, xe) and NVIDIA do; {nvidia}",
            known.join(", ")
        ),
    })
}

fn check_nvidia(roots: &Roots) -> Result<(), String> {
    let of_others =
        "other drivers report temperature and power as sensors (Temperature Sensor, Power Sensor)";
    nvidia::addresses(roots, LIBRARY.as_ref()).map(drop).map_err(|reason| format!("{reason}; {of_others}"))
}

fn check_adapter(roots: &Roots) -> Result<(), String> {
    let GraphicsCards { adapters, nvidia } = GraphicsCards::list(roots, LIBRARY.as_ref());
    match (nvidia, Adapters::new(&adapters, None, None)) {
        (Err(reason), None) => Err(format!(
            "no graphics driver shows gpu_busy_percent in /sys/class/drm (amdgpu does); {reason}"
        )),
        _ => Ok(()),
    }
}
