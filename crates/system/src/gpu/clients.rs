//! The clients of the graphics drivers, and what each process uses.

use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::{Failure, InstanceKey, Reading, Timestamps};

use super::adapters::Adapter;
use super::fdinfo::{Busy, Client, windows_type};
use super::files::ProcessFiles;
use crate::error_texts::unreadable;
use crate::roots::Roots;

/// A process without graphics files is examined again after this number of samples.
const RESCAN_SAMPLES: u64 = 10;

/// The maximum number of clients.
const MAX_CLIENTS: usize = 1_024;

/// The clients of all adapters, read once per collection.
pub(super) struct Clients {
    files: ProcessFiles,
    /// The addresses and names of the adapters.
    adapters: Vec<AdapterName>,
    /// By id.
    processes: Vec<GraphicsProcess>,
    /// The work of the engines for each client.
    works: Vec<Work>,
    /// Sorted by process, adapter and engine.
    pub(super) engines: Vec<EngineUse>,
    /// Sorted by process and adapter.
    pub(super) memories: Vec<MemoryUse>,
    listed: Vec<u32>,
    descriptors: Vec<u32>,
    /// The clients of this sample: adapter and id.
    seen: Vec<(usize, u64)>,
    sample: u64,
    last_ticks: i64,
}

struct AdapterName {
    pci: String,
    luid: String,
    /// The engines in the order in which they were found.
    engines: Vec<Box<[u8]>>,
}

#[derive(Debug)]
struct GraphicsProcess {
    id: u32,
    has_files: bool,
    /// The start time in ticks; 0 if it is unknown.
    start: u64,
}

/// The work of an engine for a client.
struct Work {
    adapter: usize,
    client: u64,
    engine: usize,
    last: Busy,
    sample: u64,
}

/// What a process uses of an engine.
pub(super) struct EngineUse {
    pub(super) key: Arc<InstanceKey>,
    process: u32,
    start: u64,
    adapter: usize,
    engine: usize,
    /// A running total in units of 100 ns, and the nanoseconds below one.
    pub(super) busy: u64,
    rest_ns: u64,
    sample: u64,
}

/// What a process uses of the memory of an adapter, in bytes.
pub(super) struct MemoryUse {
    pub(super) key: Arc<InstanceKey>,
    process: u32,
    start: u64,
    pub(super) adapter: usize,
    pub(super) dedicated: u64,
    pub(super) shared: u64,
    pub(super) committed: u64,
    sample: u64,
}

impl Clients {
    pub(super) fn new(roots: &Roots, adapters: &[Adapter]) -> Result<Self, Errno> {
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
                // A new process is examined at once.
                processes.push(GraphicsProcess { id, has_files: true, start: 0 });
            }
        }
        processes.sort_unstable_by_key(|process| process.id);
        Ok(())
    }

    /// Reads the clients of a process.
    fn process(&mut self, index: usize, interval_ns: u64) {
        let process = &mut self.processes[index];
        let id = process.id;
        // The processes without files are examined in turns.
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

impl Reading for Clients {
    fn read(&mut self, at: Timestamps) -> Result<(), Failure> {
        self.list().map_err(|error| unreadable("/proc", &error.into()))?;
        self.sample += 1;
        let interval = at.ticks.saturating_sub(self.last_ticks).max(0) as u64;
        self.last_ticks = at.ticks;
        self.seen.clear();
        for index in 0..self.processes.len() {
            self.process(index, interval.saturating_mul(100));
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

/// The process that has a client.
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
        let known = adapter.engines.iter().position(|name| **name == *engine.name);
        let index = known.unwrap_or_else(|| {
            adapter.engines.push(engine.name.into());
            adapter.engines.len() - 1
        });
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
        let is_used = |used: &EngineUse| {
            (used.process, used.start, used.adapter, used.engine)
                == (owner.process, owner.start, owner.adapter, index)
        };
        let used = match engines.iter().position(is_used) {
            Some(known) => &mut engines[known],
            None => {
                let name = format!(
                    "pid_{}_{}_eng_{index}_engtype_{}",
                    owner.process,
                    adapter.luid,
                    windows_type(engine.name)
                );
                engines.push(EngineUse {
                    key: owner.key(name),
                    process: owner.process,
                    start: owner.start,
                    adapter: owner.adapter,
                    engine: index,
                    busy: 0,
                    rest_ns: 0,
                    sample: owner.sample,
                });
                let last = engines.len() - 1;
                &mut engines[last]
            }
        };
        used.sample = owner.sample;
        let ns = used.rest_ns.saturating_add(growth_ns);
        used.busy = used.busy.wrapping_add(ns / 100);
        used.rest_ns = ns % 100;
    }
}

/// The nanoseconds of work since the last sample; for a new client, since it exists.
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
        // The frequency of the cycles is unknown, so those before the first sample are no time.
        _ => 0,
    }
}

fn add_memory(client: &Client<'_>, owner: Owner, adapter: &AdapterName, memories: &mut Vec<MemoryUse>) {
    let is_used = |used: &MemoryUse| {
        (used.process, used.start, used.adapter) == (owner.process, owner.start, owner.adapter)
    };
    let index = match memories.iter().position(is_used) {
        Some(index) => index,
        None => {
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
        }
    };
    let used = &mut memories[index];
    if std::mem::replace(&mut used.sample, owner.sample) != owner.sample {
        (used.dedicated, used.shared, used.committed) = (0, 0, 0);
    }
    for region in client.regions() {
        let resident = region.resident.unwrap_or_default();
        let part = if region.is_dedicated() { &mut used.dedicated } else { &mut used.shared };
        *part = part.saturating_add(resident);
        used.committed = used.committed.saturating_add(region.total.unwrap_or(resident));
    }
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
    crate::scan::number(crate::scan::words(&text[end + 1..]).nth(19)?)
}
