//! The clients of the graphics drivers, and the engines and memory that each process uses through them.

use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::{FREQUENCY, Failure, InstanceKey, Reading, SharedReading, Timestamps};

use super::adapters::Adapter;
use super::fdinfo::{Busy, Client, windows_type};
use super::files::ProcessFiles;
use super::nvidia::{Card, ENGINES, Nvidia};
use crate::error_texts::unreadable_failure;
use crate::roots::Roots;

/// A process without graphics files is examined again after this number of samples.
const RESCAN_SAMPLES: u64 = 10;

/// The maximum number of clients.
const MAX_CLIENTS: usize = 1_024;

/// A load is used for this long if the library of NVIDIA's driver has no newer samples, in ticks of the performance clock.
const MAX_LOAD_AGE: i64 = FREQUENCY;

/// The clients of all adapters, read once per collection.
pub(super) struct Clients {
    files: ProcessFiles,
    /// The addresses and names of the adapters.
    adapters: Vec<AdapterName>,
    /// Sorted by id.
    processes: Vec<GraphicsProcess>,
    /// The last known work of each engine for each client.
    works: Vec<Work>,
    /// Sorted by process, adapter and engine.
    pub(super) engines: Vec<EngineUse>,
    /// Sorted by process and adapter.
    pub(super) memories: Vec<MemoryUse>,
    /// The ids of the processes in `/proc`, sorted.
    listed: Vec<u32>,
    /// The descriptors of the process that is being read.
    descriptors: Vec<u32>,
    /// The clients of this sample: adapter and id.
    seen: Vec<(usize, u64)>,
    /// The number of samples so far.
    sample: u64,
    /// The time of the last sample, in ticks of the performance clock.
    last_ticks: i64,
    nvidia: Option<SharedReading<Nvidia>>,
}

struct AdapterName {
    pci: String,
    luid: String,
    /// The engines in the order in which they were found.
    engines: Vec<Box<[u8]>>,
}

/// A process whose files are examined for graphics drivers.
#[derive(Debug)]
struct GraphicsProcess {
    id: u32,
    /// Whether the process had files of graphics drivers when it was last examined.
    has_files: bool,
    /// The start time of the process in ticks; 0 if it is unknown.
    start: u64,
}

/// The work of an engine for a client.
struct Work {
    /// The index of the adapter.
    adapter: usize,
    /// The id of the client.
    client: u64,
    /// The index of the engine.
    engine: usize,
    /// The work at the last sample.
    last: Busy,
    /// The number of the last sample that found the client.
    sample: u64,
}

/// The use of an engine by a process.
pub(super) struct EngineUse {
    pub(super) key: Arc<InstanceKey>,
    /// The id of the process.
    process: u32,
    /// The start time of the process in ticks.
    start: u64,
    /// The index of the adapter.
    adapter: usize,
    /// The index of the engine.
    engine: usize,
    /// The busy time: a running total in units of 100 ns, and the remaining nanoseconds.
    pub(super) busy: u64,
    rest_ns: u64,
    /// How busy the process keeps the engine; `None` unless the engine is on a card of NVIDIA's.
    load: Option<Load>,
    /// The number of the last sample that found the use.
    sample: u64,
}

/// How busy a process keeps an engine.
#[derive(Clone, Copy)]
struct Load {
    percent: u32,
    /// The time of the sample in which it was read.
    ticks: i64,
}

/// The use of an adapter's memory by a process, in bytes.
pub(super) struct MemoryUse {
    pub(super) key: Arc<InstanceKey>,
    /// The id of the process.
    process: u32,
    /// The start time of the process in ticks.
    start: u64,
    /// The index of the adapter.
    pub(super) adapter: usize,
    pub(super) dedicated: u64,
    pub(super) shared: u64,
    pub(super) committed: u64,
    /// The number of the last sample that found the use.
    sample: u64,
}

impl Clients {
    pub(super) fn new(
        roots: &Roots,
        adapters: &[Adapter],
        nvidia: Option<SharedReading<Nvidia>>,
    ) -> Result<Self, Errno> {
        let name = |adapter: &Adapter| AdapterName {
            pci: adapter.pci.clone(),
            luid: adapter.luid.clone(),
            engines: Vec::new(),
        };
        Ok(Self {
            files: ProcessFiles::new(&roots.proc)?,
            adapters: adapters.iter().map(name).collect(),
            processes: Vec::new(),
            works: Vec::new(),
            engines: Vec::new(),
            memories: Vec::new(),
            listed: Vec::new(),
            descriptors: Vec::new(),
            seen: Vec::new(),
            sample: 0,
            last_ticks: 0,
            nvidia,
        })
    }

    /// Updates the list of processes, sorted by id.
    fn list(&mut self) -> Result<(), Errno> {
        self.files.processes(&mut self.listed)?;
        let Self { processes, listed, .. } = self;
        processes.retain(|process| listed.binary_search(&process.id).is_ok());
        let known = processes.len();
        for &id in &*listed {
            if processes[..known].binary_search_by_key(&id, |process| process.id).is_err() {
                // A new process is examined immediately.
                processes.push(GraphicsProcess { id, has_files: true, start: 0 });
            }
        }
        processes.sort_unstable_by_key(|process| process.id);
        Ok(())
    }

    /// Reads the clients of a process.
    fn read_process(&mut self, index: usize, interval_ns: u64) {
        let process = &mut self.processes[index];
        let id = process.id;
        // The processes without files are examined in turn.
        let is_due = process.has_files || (self.sample + u64::from(id)).is_multiple_of(RESCAN_SAMPLES);
        if !is_due {
            return;
        }
        let mut descriptors = std::mem::take(&mut self.descriptors);
        self.files.graphics_files(id, &mut descriptors);
        process.has_files = !descriptors.is_empty();
        if process.has_files {
            let start = self.files.read(id, format_args!("stat")).ok().and_then(start_time);
            process.start = start.unwrap_or_default();
            let start = process.start;
            for &descriptor in &descriptors {
                let Self { files, adapters, seen, works, engines, memories, sample, .. } = self;
                let Ok(text) = files.read(id, format_args!("fdinfo/{descriptor}")) else { continue };
                let Some(client) = Client::parse(text) else { continue };
                let Some(adapter) = adapters.iter().position(|known| known.pci.as_bytes() == client.pci)
                else {
                    continue;
                };
                // Copies of a descriptor, also in other processes, are the same client.
                if seen.contains(&(adapter, client.id)) || seen.len() >= MAX_CLIENTS {
                    continue;
                }
                seen.push((adapter, client.id));
                let owner = Owner { process: id, start, adapter, sample: *sample };
                add_engines(&client, owner, &mut adapters[adapter], works, engines, interval_ns);
                add_memory(&client, owner, &adapters[adapter], memories);
            }
        }
        self.descriptors = descriptors;
    }
}

impl Clients {
    /// Sets the memory and the loads of processes on a card of NVIDIA's.
    fn update_card(&mut self, card: &Card, ticks: i64) {
        // An empty address would match devices that are not on a PCI bus.
        if card.pci.is_empty() {
            return;
        }
        let Self { files, adapters, engines, memories, sample, .. } = self;
        let Some(adapter) = adapters.iter().position(|known| known.pci == card.pci) else { return };
        let mut owner = |process| {
            let start = files.read(process, format_args!("stat")).ok().and_then(start_time);
            Owner { process, start: start.unwrap_or_default(), adapter, sample: *sample }
        };
        for &(process, bytes) in &card.processes {
            let used = memory_use(owner(process), &adapters[adapter], memories);
            (used.dedicated, used.committed) = (bytes, bytes);
        }
        if card.work.is_empty() {
            return;
        }
        // The library has no samples of idle processes.
        for used in engines.iter_mut().filter(|used| used.adapter == adapter) {
            if !card.work.iter().any(|(process, _)| *process == used.process) {
                used.load = used.load.map(|_| Load { percent: 0, ticks });
            }
        }
        for &(process, work) in &card.work {
            let owner = owner(process);
            for (engine, percent) in ENGINES.into_iter().zip(work) {
                let index = adapters[adapter].engine(engine);
                let used = engine_use(owner, &adapters[adapter], engine, index, engines);
                let percent = percent.map(|percent| Load { percent, ticks });
                used.load = percent.or(used.load).or(Some(Load { percent: 0, ticks }));
            }
        }
    }

    /// Adds the busy time of the engines of NVIDIA's cards from `last_ticks` to `ticks`, and keeps the engines of processes that
    /// still exist.
    fn add_loads(&mut self, last_ticks: i64, ticks: i64) {
        for used in &mut self.engines {
            let Some(load) = used.load else { continue };
            let start = self.files.read(used.process, format_args!("stat")).ok().and_then(start_time);
            if start == Some(used.start) {
                used.sample = self.sample;
            }
            let end = ticks.min(load.ticks.saturating_add(MAX_LOAD_AGE));
            let interval = end.saturating_sub(last_ticks).max(0) as u64;
            // 1 % of 100 ns is 1 ns.
            used.add(interval.saturating_mul(load.percent.into()));
        }
    }
}

impl AdapterName {
    /// The index of an engine, which is added if it is new.
    fn engine(&mut self, name: &[u8]) -> usize {
        let known = self.engines.iter().position(|engine| **engine == *name);
        known.unwrap_or_else(|| {
            self.engines.push(name.into());
            self.engines.len() - 1
        })
    }
}

impl EngineUse {
    /// Adds busy time.
    fn add(&mut self, busy_ns: u64) {
        let ns = self.rest_ns.saturating_add(busy_ns);
        self.busy = self.busy.wrapping_add(ns / 100);
        self.rest_ns = ns % 100;
    }
}

impl Reading for Clients {
    fn read(&mut self, at: Timestamps) -> Result<(), Failure> {
        self.list().map_err(|error| unreadable_failure("/proc", &error.into()))?;
        self.sample += 1;
        let last_ticks = std::mem::replace(&mut self.last_ticks, at.ticks);
        let interval = at.ticks.saturating_sub(last_ticks).max(0) as u64;
        self.seen.clear();
        for index in 0..self.processes.len() {
            self.read_process(index, interval.saturating_mul(100));
        }
        if let Some(nvidia) = self.nvidia.clone() {
            // If the library does not answer, GPU Adapter reports the error.
            let is_new = nvidia.at(at, |nvidia| {
                nvidia.cards.iter().for_each(|card| self.update_card(card, at.ticks));
                nvidia.is_new
            });
            // The loads before the library was loaded are unknown.
            let is_new = is_new.unwrap_or_default() || self.sample == 1;
            self.add_loads(if is_new { at.ticks } else { last_ticks }, at.ticks);
        }
        let sample = self.sample;
        self.works.retain(|work| work.sample == sample);
        self.engines.retain(|used| used.sample == sample);
        self.memories.retain(|used| used.sample == sample);
        self.engines.sort_unstable_by_key(|used| (used.process, used.adapter, used.engine));
        self.memories.sort_unstable_by_key(|used| (used.process, used.adapter));
        Ok(())
    }
}

/// The process that has a client, and the client's adapter.
#[derive(Clone, Copy)]
struct Owner {
    process: u32,
    start: u64,
    adapter: usize,
    sample: u64,
}

fn add_engines(
    client: &Client<'_>,
    owner: Owner,
    adapter: &mut AdapterName,
    works: &mut Vec<Work>,
    engines: &mut Vec<EngineUse>,
    interval_ns: u64,
) {
    for engine in client.engines() {
        let index = adapter.engine(engine.name);
        let is_work = |work: &&mut Work| {
            work.adapter == owner.adapter && work.client == client.id && work.engine == index
        };
        let last = match works.iter_mut().find(is_work) {
            Some(work) => {
                work.sample = owner.sample;
                Some(std::mem::replace(&mut work.last, engine.busy))
            }
            None => {
                let (adapter, sample) = (owner.adapter, owner.sample);
                works.push(Work { adapter, client: client.id, engine: index, last: engine.busy, sample });
                None
            }
        };
        let growth_ns = growth(last, engine.busy, interval_ns);
        engine_use(owner, adapter, engine.name, index, engines).add(growth_ns);
    }
}

/// The entry for a process's use of an engine, which is added if it is new. `name` and `index` are those of the engine.
fn engine_use<'a>(
    owner: Owner,
    adapter: &AdapterName,
    name: &[u8],
    index: usize,
    engines: &'a mut Vec<EngineUse>,
) -> &'a mut EngineUse {
    let is_used = |used: &EngineUse| {
        (used.process, used.start, used.adapter, used.engine)
            == (owner.process, owner.start, owner.adapter, index)
    };
    let known = engines.iter().position(is_used).unwrap_or_else(|| {
        let engine_type = windows_type(name);
        let name = format!("pid_{}_{}_eng_{index}_engtype_{engine_type}", owner.process, adapter.luid);
        engines.push(EngineUse {
            key: owner.key(name),
            process: owner.process,
            start: owner.start,
            adapter: owner.adapter,
            engine: index,
            busy: 0,
            rest_ns: 0,
            load: None,
            sample: owner.sample,
        });
        engines.len() - 1
    });
    let used = &mut engines[known];
    used.sample = owner.sample;
    used
}

/// The nanoseconds of work since the last sample; for a new client, since it was created.
fn growth(last: Option<Busy>, now: Busy, interval_ns: u64) -> u64 {
    match (last, now) {
        (None, Busy::Time(now)) => now,
        (Some(Busy::Time(last)), Busy::Time(now)) => now.saturating_sub(last),
        (Some(Busy::Cycles { used: last_used, total: last_total }), Busy::Cycles { used, total }) => {
            let (used, total) = (used.saturating_sub(last_used), total.saturating_sub(last_total));
            match total {
                0 => 0,
                _ => (u128::from(interval_ns) * u128::from(used) / u128::from(total)) as u64,
            }
        }
        // Cycles before the first sample cannot be converted to time, because their frequency is unknown.
        _ => 0,
    }
}

fn add_memory(client: &Client<'_>, owner: Owner, adapter: &AdapterName, memories: &mut Vec<MemoryUse>) {
    let used = memory_use(owner, adapter, memories);
    for region in client.regions() {
        let resident = region.resident.unwrap_or_default();
        let part = if region.is_dedicated() { &mut used.dedicated } else { &mut used.shared };
        *part = part.saturating_add(resident);
        used.committed = used.committed.saturating_add(region.total.unwrap_or(resident));
    }
}

/// The entry for a process's use of an adapter's memory, which is added if it is new. The first call in a sample resets its
/// sizes to 0.
fn memory_use<'a>(
    owner: Owner,
    adapter: &AdapterName,
    memories: &'a mut Vec<MemoryUse>,
) -> &'a mut MemoryUse {
    let is_used = |used: &MemoryUse| {
        (used.process, used.start, used.adapter) == (owner.process, owner.start, owner.adapter)
    };
    let known = memories.iter().position(is_used).unwrap_or_else(|| {
        memories.push(MemoryUse {
            key: owner.key(format!("pid_{}_{}", owner.process, adapter.luid)),
            process: owner.process,
            start: owner.start,
            adapter: owner.adapter,
            dedicated: 0,
            shared: 0,
            committed: 0,
            sample: 0,
        });
        memories.len() - 1
    });
    let used = &mut memories[known];
    if std::mem::replace(&mut used.sample, owner.sample) != owner.sample {
        (used.dedicated, used.shared, used.committed) = (0, 0, 0);
    }
    used
}

impl Owner {
    fn key(&self, name: String) -> Arc<InstanceKey> {
        // The start time distinguishes processes that reuse an id.
        Arc::new(InstanceKey::new(name, self.process, self.start << 22 | u64::from(self.process)))
    }
}

/// The start time of a process, from its stat file.
fn start_time(text: &[u8]) -> Option<u64> {
    let end = text.iter().rposition(|&byte| byte == b')')?;
    crate::scan::parse_number(crate::scan::words(&text[end + 1..]).nth(19)?)
}
