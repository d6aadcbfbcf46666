//! The providers of the sets of graphics processors.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows, SharedReading};

use super::adapters::Adapter;
use super::clients::Clients;
use super::nvidia::{Nvidia, User};
use super::tables::*;
use crate::error_texts::LastReason;
use crate::number_file::SmallFile;

/// `GPU Engine`
pub(super) struct EngineSet {
    info: Arc<CounterSetInfo>,
    clients: SharedReading<Clients>,
    user: Option<User>,
}

/// `GPU Process Memory`
pub(super) struct ProcessMemory {
    info: Arc<CounterSetInfo>,
    clients: SharedReading<Clients>,
    user: Option<User>,
}

/// `GPU Adapter Memory`
pub(super) struct AdapterMemory {
    info: Arc<CounterSetInfo>,
    clients: SharedReading<Clients>,
    nvidia: Option<SharedReading<Nvidia>>,
    user: Option<User>,
    adapters: Vec<MemoryFiles>,
}

/// `GPU Adapter`
pub(super) struct Adapters {
    info: Arc<CounterSetInfo>,
    nvidia: Option<SharedReading<Nvidia>>,
    user: Option<User>,
    adapters: Vec<LoadFiles>,
}

/// The files with the load of an adapter.
struct LoadFiles {
    key: Arc<InstanceKey>,
    /// The address, if the library of NVIDIA's driver reports about the adapter.
    nvidia: Option<Box<str>>,
    /// By counter id.
    files: Vec<(u32, DeviceFile)>,
}

/// The files with the memory of an adapter.
struct MemoryFiles {
    key: Arc<InstanceKey>,
    /// The index of the adapter in [`MemoryUse::adapter`](super::clients::MemoryUse::adapter).
    index: usize,
    /// The address, if the library of NVIDIA's driver reports about the adapter.
    nvidia: Option<Box<str>>,
    /// Used dedicated memory and used shared memory.
    used: Option<[DeviceFile; 2]>,
    /// The files with the limits, by counter id.
    limits: Vec<(u32, DeviceFile)>,
}

/// A file of a device with one number.
struct DeviceFile {
    file: SmallFile,
    reason: LastReason,
}

impl DeviceFile {
    /// The file of an adapter, if it can be read now.
    fn open(adapter: &Adapter, name: &str) -> Option<Self> {
        let file = SmallFile::new(adapter.device.join(name));
        file.has_number().then(|| Self { file, reason: LastReason::default() })
    }

    fn read(&mut self) -> Result<u64, Arc<str>> {
        self.file.read_number().map_err(|text| Arc::clone(self.reason.intern(&text)))
    }

    fn close(&mut self) {
        self.file.close();
    }
}

fn set_or_fail(row: &mut Row<'_>, id: u32, value: &Result<u64, Arc<str>>) {
    match value {
        Ok(value) => row.set(id, *value),
        Err(reason) => row.fail(id, reason),
    }
}

/// The counters of `GPU Adapter`.
const LOADS: [u32; 4] = [BUSY, MEMORY_BUSY, TEMPERATURE, POWER];

/// The address of an adapter, if the library of NVIDIA's driver reports about it.
fn nvidia_address(adapter: &Adapter) -> Option<Box<str>> {
    adapter.is_in_nvml.then(|| adapter.pci.as_str().into())
}

impl EngineSet {
    pub(super) fn new(clients: SharedReading<Clients>, user: Option<User>) -> Self {
        Self { info: ENGINE.info(), clients, user }
    }
}

impl Provider for EngineSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.user.iter_mut().for_each(User::activate);
        self.clients.at(rows.timestamps(), |clients| {
            for used in &clients.engines {
                if rows.wants_instance(used.key.name(), used.key.id()) {
                    let mut row = rows.push(&used.key);
                    row.set(UTILIZATION, used.busy);
                    row.set(RUNNING_TIME, used.busy);
                }
            }
        })
    }

    fn idle(&mut self) {
        self.user.iter_mut().for_each(User::idle);
    }
}

impl ProcessMemory {
    pub(super) fn new(clients: SharedReading<Clients>, user: Option<User>) -> Self {
        Self { info: PROCESS_MEMORY.info_of(|_| true), clients, user }
    }
}

impl Provider for ProcessMemory {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.user.iter_mut().for_each(User::activate);
        self.clients.at(rows.timestamps(), |clients| {
            for used in &clients.memories {
                if rows.wants_instance(used.key.name(), used.key.id()) {
                    let mut row = rows.push(&used.key);
                    row.set(DEDICATED, used.dedicated);
                    row.set(SHARED, used.shared);
                    row.set(COMMITTED, used.committed);
                }
            }
        })
    }

    fn idle(&mut self) {
        self.user.iter_mut().for_each(User::idle);
    }
}

impl AdapterMemory {
    pub(super) fn new(
        adapters: &[Adapter],
        clients: SharedReading<Clients>,
        nvidia: Option<SharedReading<Nvidia>>,
        user: Option<User>,
    ) -> Self {
        let files = |(index, adapter): (usize, &Adapter)| {
            let file = |name| DeviceFile::open(adapter, name);
            let limits = [(DEDICATED_LIMIT, "mem_info_vram_total"), (SHARED_LIMIT, "mem_info_gtt_total")];
            adapter.has_clients().then(|| MemoryFiles {
                key: Arc::new(InstanceKey::new(adapter.luid.as_str(), 0, 0)),
                index,
                nvidia: nvidia_address(adapter),
                used: file("mem_info_vram_used")
                    .zip(file("mem_info_gtt_used"))
                    .map(|(vram, gtt)| [vram, gtt]),
                limits: limits.into_iter().filter_map(|(id, name)| Some((id, file(name)?))).collect(),
            })
        };
        let adapters: Vec<_> = adapters.iter().enumerate().filter_map(files).collect();
        let has_counter = |files: &MemoryFiles, id| {
            id == DEDICATED_LIMIT && files.nvidia.is_some()
                || files.limits.iter().any(|(limit, _)| *limit == id)
        };
        let info = ADAPTER_MEMORY.info_of(|id| {
            ![DEDICATED_LIMIT, SHARED_LIMIT].contains(&id)
                || adapters.iter().any(|files| has_counter(files, id))
        });
        Self { info, clients, nvidia, user, adapters }
    }
}

impl Provider for AdapterMemory {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.user.iter_mut().for_each(User::activate);
        for files in &mut self.adapters {
            if !rows.wants_instance(files.key.name(), 0) {
                continue;
            }
            if let (Some(address), Some(nvidia)) = (&files.nvidia, &self.nvidia) {
                let memory = nvidia.at(rows.timestamps(), |nvidia| nvidia.card(address)?.memory);
                let mut row = rows.push(&files.key);
                match memory {
                    Ok(Some([used, all])) => {
                        [DEDICATED, COMMITTED].into_iter().for_each(|id| row.set(id, used));
                        row.set(DEDICATED_LIMIT, all);
                    }
                    Ok(None) => {
                        [DEDICATED, COMMITTED, DEDICATED_LIMIT].into_iter().for_each(|id| row.omit(id))
                    }
                    Err(failure) => row.fail_all([DEDICATED, COMMITTED, DEDICATED_LIMIT], &failure.reason),
                }
                [SHARED, SHARED_LIMIT].into_iter().for_each(|id| row.omit(id));
                continue;
            }
            let used = match &mut files.used {
                Some([vram, gtt]) => [vram.read(), gtt.read()],
                None => self.clients.at(rows.timestamps(), |clients| {
                    let used = clients.memories.iter().filter(|used| used.adapter == files.index);
                    used.fold([Ok(0), Ok(0)], |[dedicated, shared], used| {
                        [
                            dedicated.map(|sum: u64| sum.saturating_add(used.dedicated)),
                            shared.map(|sum: u64| sum.saturating_add(used.shared)),
                        ]
                    })
                })?,
            };
            let mut row = rows.push(&files.key);
            let [dedicated, shared] = &used;
            set_or_fail(&mut row, DEDICATED, dedicated);
            set_or_fail(&mut row, SHARED, shared);
            match (dedicated, shared) {
                (Ok(dedicated), Ok(shared)) => row.set(COMMITTED, dedicated.saturating_add(*shared)),
                (Err(reason), _) | (_, Err(reason)) => row.fail(COMMITTED, reason),
            }
            for id in [DEDICATED_LIMIT, SHARED_LIMIT] {
                match files.limits.iter_mut().find(|(limit, _)| *limit == id) {
                    Some((_, file)) => set_or_fail(&mut row, id, &file.read()),
                    None => row.omit(id),
                }
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.user.iter_mut().for_each(User::idle);
        for files in &mut self.adapters {
            let used = files.used.iter_mut().flatten();
            used.chain(files.limits.iter_mut().map(|(_, file)| file)).for_each(DeviceFile::close);
        }
    }
}

impl Adapters {
    /// The set, if a driver reports the load.
    pub(super) fn new(
        adapters: &[Adapter],
        nvidia: Option<SharedReading<Nvidia>>,
        user: Option<User>,
    ) -> Option<Self> {
        let files = [(BUSY, "gpu_busy_percent"), (MEMORY_BUSY, "mem_busy_percent")];
        let adapter = |adapter: &Adapter| {
            let files: Vec<_> =
                files.iter().filter_map(|(id, name)| Some((*id, DeviceFile::open(adapter, name)?))).collect();
            let key = Arc::new(InstanceKey::new(adapter.label.as_str(), 0, 0));
            let nvidia = nvidia_address(adapter);
            (nvidia.is_some() || !files.is_empty()).then_some(LoadFiles { key, nvidia, files })
        };
        let adapters: Vec<_> = adapters.iter().filter_map(adapter).collect();
        let has_counter = |adapter: &LoadFiles, id| {
            adapter.nvidia.is_some() || adapter.files.iter().any(|(known, _)| *known == id)
        };
        let info = ADAPTER.info_of(|id| adapters.iter().any(|adapter| has_counter(adapter, id)));
        (!adapters.is_empty()).then_some(Self { info, nvidia, user, adapters })
    }
}

impl Provider for Adapters {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.user.iter_mut().for_each(User::activate);
        for LoadFiles { key, nvidia, files } in &mut self.adapters {
            if !rows.wants_instance(key.name(), 0) {
                continue;
            }
            if let (Some(address), Some(nvidia)) = (nvidia, &self.nvidia) {
                let values = nvidia.at(rows.timestamps(), |nvidia| {
                    let card = nvidia.card(address);
                    LOADS.map(|id| card.and_then(|card| card.value(id)))
                });
                let mut row = rows.push(key);
                match values {
                    Ok(values) => {
                        for (id, value) in LOADS.into_iter().zip(values) {
                            match value {
                                Some(value) => row.set(id, value),
                                None => row.omit(id),
                            }
                        }
                    }
                    Err(failure) => row.fail_all(LOADS, &failure.reason),
                }
                continue;
            }
            let mut row = rows.push(key);
            for id in LOADS {
                match files.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, file)) => set_or_fail(&mut row, id, &file.read()),
                    None => row.omit(id),
                }
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.user.iter_mut().for_each(User::idle);
        let files = self.adapters.iter_mut().flat_map(|adapter| &mut adapter.files);
        files.for_each(|(_, file)| file.close());
    }
}
