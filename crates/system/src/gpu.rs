//! Graphics processors: `GPU Engine`, `GPU Process Memory`, `GPU Adapter Memory` and `GPU Adapter`, from sysfs and from
//! the fdinfo files of the processes that use a graphics driver.
//!
//! Sources: the kernel's documents "DRM client usage stats" and "amdgpu: gpu_busy_percent, mem_info_*".

mod adapters;
mod clients;
mod fdinfo;
mod files;
mod sets;
mod tables;
#[cfg(test)]
mod tests;

use tachograph_perflib::{Provider, SharedReading};

use crate::absence::Requirement;
use crate::roots::Roots;
use crate::table::SetTable;
use adapters::Adapter;
use clients::Clients;
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
];

/// The providers of the sets that this machine has.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    let adapters = adapters::list(roots);
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    if adapters.iter().any(Adapter::has_clients)
        && let Ok(clients) = Clients::new(roots, &adapters)
    {
        let clients = SharedReading::new(clients);
        providers.push(Box::new(EngineSet::new(clients.clone())));
        providers.push(Box::new(AdapterMemory::new(&adapters, clients.clone())));
        providers.push(Box::new(ProcessMemory::new(clients)));
    }
    providers.extend(Adapters::new(adapters).map(|set| Box::new(set) as Box<dyn Provider>));
    providers
}

fn check_clients(roots: &Roots) -> Result<(), String> {
    let adapters = adapters::list(roots);
    if adapters.iter().any(Adapter::has_clients) {
        return Ok(());
    }
    let known: Vec<_> = adapters.iter().map(|adapter| adapter.label.as_str()).collect();
    Err(match known.as_slice() {
        [] => "the kernel shows no graphics card in /sys/class/drm".to_owned(),
        known => format!(
            "the drivers of the graphics cards ({}) do not report what processes use; those of AMD (amdgpu) and Intel \
             (i915, xe) do; NVIDIA's own driver is not supported",
            known.join(", ")
        ),
    })
}

fn check_adapter(roots: &Roots) -> Result<(), String> {
    match Adapters::new(adapters::list(roots)) {
        Some(_) => Ok(()),
        None => Err("no graphics driver shows gpu_busy_percent in /sys/class/drm (amdgpu does)".to_owned()),
    }
}
