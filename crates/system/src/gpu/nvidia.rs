//! NVIDIA's cards, from the library of its driver (NVML), which is loaded at run time.
//!
//! Calls of the library can hang, for example while a card is reset. So a thread calls it, and a collection waits for a limited
//! time. While the library is loaded, its open files keep the cards awake. So it is loaded for the first collection and closed
//! when no set uses it.

mod library_file;

use std::ffi::{OsStr, OsString};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use tachograph_counters::IgnorePoison;
use tachograph_perflib::{ErrorCode, FREQUENCY, Failure, Reading, Timestamps};

use super::adapters::MAX_ADAPTERS;
use super::tables::{BUSY, MEMORY_BUSY, POWER, TEMPERATURE};
use crate::roots::Roots;
use library_file::is_installed;

/// The file name of the library.
pub(super) const LIBRARY: &str = "libnvidia-ml.so.1";

/// The maximum time that a collection waits for the library to be loaded. Without a persistence daemon, loading initializes the
/// cards, which takes seconds. Later collections do not wait for that.
const MAX_START: Duration = Duration::from_secs(5);

/// The maximum time that a collection waits for the loaded library.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// The time between two attempts to load the library, in ticks of the performance clock.
const RETRY_TICKS: i64 = 60 * FREQUENCY;

/// The maximum number of processes of a card.
const MAX_PROCESSES: usize = 4096;

/// The engines whose work for each process the library reports, under the names that other drivers use.
pub(super) const ENGINES: [&[u8]; 3] = [b"gfx", b"enc", b"dec"];

/// The state of a card. Numbers that the card does not report are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Card {
    /// The address, as in fdinfo files: `0000:01:00.0`.
    pub(super) pci: String,
    /// How busy the processor and the memory are, in percent.
    percent: Option<[u32; 2]>,
    degrees: Option<u32>,
    milliwatts: Option<u32>,
    /// The used and the total memory, in bytes.
    pub(super) memory: Option<[u64; 2]>,
    /// The memory that each process uses, in bytes.
    pub(super) processes: Vec<(u32, u64)>,
    /// How busy each process keeps the [`ENGINES`], in percent, from samples that are newer than those of the last
    /// update. The library has no samples of idle processes. Invalid values are `None`.
    pub(super) work: Vec<(u32, [Option<u32>; ENGINES.len()])>,
    /// The library's time of the newest sample in `work`.
    last_seen: u64,
}

impl Card {
    /// The value of a counter of `GPU Adapter`.
    pub(super) fn value(&self, id: u32) -> Option<u64> {
        match id {
            BUSY => self.percent.map(|percent| percent[0].into()),
            MEMORY_BUSY => self.percent.map(|percent| percent[1].into()),
            TEMPERATURE => self.degrees.map(u64::from),
            POWER => self.milliwatts.map(u64::from),
            _ => None,
        }
    }

    fn update(&mut self, device: &Device<'_>) {
        self.percent = device.utilization_rates().ok().map(|rates| [rates.gpu, rates.memory]);
        self.degrees = device.temperature(TemperatureSensor::Gpu).ok();
        self.milliwatts = device.power_usage().ok();
        self.memory = device.memory_info().ok().map(|memory| [memory.used, memory.total]);
        self.processes.clear();
        // A process with both kinds of contexts is in both lists, with the same amount of memory.
        for list in [device.running_compute_processes(), device.running_graphics_processes()] {
            for process in list.into_iter().flatten() {
                let is_known = self.processes.iter().any(|(known, _)| *known == process.pid);
                if let (UsedGpuMemory::Used(bytes), false) = (process.used_gpu_memory, is_known)
                    && self.processes.len() < MAX_PROCESSES
                {
                    self.processes.push((process.pid, bytes));
                }
            }
        }
        self.work.clear();
        // An error means that there are no newer samples.
        let mut samples = device.process_utilization_stats(self.last_seen).unwrap_or_default();
        samples.retain(|sample| sample.timestamp > self.last_seen);
        samples.sort_by_key(|sample| std::cmp::Reverse(sample.timestamp));
        self.last_seen = samples.first().map_or(self.last_seen, |newest| newest.timestamp);
        for sample in samples {
            let known = self.work.iter().position(|(known, _)| *known == sample.pid);
            if known.is_none() && self.work.len() >= MAX_PROCESSES {
                continue;
            }
            let index = known.unwrap_or_else(|| {
                self.work.push((sample.pid, [None; ENGINES.len()]));
                self.work.len() - 1
            });
            // The newest valid value of each engine.
            let percent = [sample.sm_util, sample.enc_util, sample.dec_util];
            for (newest, percent) in self.work[index].1.iter_mut().zip(percent) {
                *newest = newest.or((percent <= 100).then_some(percent));
            }
        }
    }
}

/// The addresses of the cards of NVIDIA's driver, if its library is installed.
///
/// # Errors
///
/// The reason why no card can be read.
pub(super) fn addresses(roots: &Roots, library: &OsStr) -> Result<Vec<String>, String> {
    let folder = roots.proc.join("driver/nvidia");
    if !folder.join("version").exists() {
        return Err("NVIDIA's driver is not loaded".to_owned());
    }
    let entries = std::fs::read_dir(folder.join("gpus")).into_iter().flatten().take(MAX_ADAPTERS);
    let mut addresses: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    addresses.sort_unstable();
    match addresses.as_slice() {
        [] => Err("NVIDIA's driver shows no cards in /proc/driver/nvidia/gpus".to_owned()),
        _ if !is_installed(roots, library) => Err(format!(
            "NVIDIA's driver is loaded, but its library {} is not installed (a package such as libnvidia-compute or \
             nvidia-utils has it)",
            library.display()
        )),
        _ => Ok(addresses),
    }
}

/// The cards, read once per collection.
pub(super) struct Nvidia {
    pub(super) cards: Vec<Card>,
    /// Whether the library was loaded in this collection.
    pub(super) is_new: bool,
    library: Arc<Mutex<Library>>,
}

impl Nvidia {
    /// Creates a reader; the library is loaded for the first collection.
    pub(super) fn new(library: &OsStr) -> Self {
        let library = Library { path: library.to_owned(), users: 0, state: State::Closed, closing: None };
        Self { cards: Vec::new(), is_new: false, library: Arc::new(Mutex::new(library)) }
    }

    /// Creates a user of the library. The library is closed when all its users are idle.
    pub(super) fn user(&self) -> User {
        User { library: Arc::clone(&self.library), is_active: false }
    }

    /// The state of a card with this address.
    pub(super) fn card(&self, pci: &str) -> Option<&Card> {
        self.cards.iter().find(|card| card.pci == pci)
    }
}

impl Reading for Nvidia {
    fn read(&mut self, at: Timestamps) -> Result<(), Failure> {
        let mut library = self.library.lock().ignore_poison();
        self.is_new = matches!(library.state, State::Closed | State::Failed { .. });
        library.update(&mut self.cards, at.ticks)
    }
}

/// A counter set that uses the library.
pub(super) struct User {
    library: Arc<Mutex<Library>>,
    is_active: bool,
}

impl User {
    /// Keeps the library loaded until [`idle`](Self::idle) is called.
    pub(super) fn activate(&mut self) {
        if !std::mem::replace(&mut self.is_active, true) {
            self.library.lock().ignore_poison().users += 1;
        }
    }

    /// Closes the library, and thus the files of the cards, unless it has other active users.
    pub(super) fn idle(&mut self) {
        if std::mem::replace(&mut self.is_active, false) {
            let mut library = self.library.lock().ignore_poison();
            library.users -= 1;
            if library.users == 0 {
                library.close();
            }
        }
    }
}

/// The result of an update.
struct Answer {
    /// The cards: updated, or unchanged after an error.
    cards: Vec<Card>,
    outcome: Result<(), String>,
    /// Whether the library could be loaded.
    is_loaded: bool,
}

/// The library, and the thread that calls it.
struct Library {
    path: OsString,
    /// The number of active users.
    users: usize,
    state: State,
    /// The thread that called the library before it was closed. It can hang.
    closing: Option<JoinHandle<()>>,
}

enum State {
    Closed,
    Open(Worker),
    /// The library could not be loaded, or its thread has ended.
    Failed {
        reason: String,
        /// When to load the library again.
        retry_ticks: i64,
    },
}

impl Library {
    /// Makes the thread end: immediately, or after its current call.
    fn close(&mut self) {
        if let State::Open(Worker { thread, .. }) = std::mem::replace(&mut self.state, State::Closed) {
            self.closing = Some(thread);
        }
    }

    /// Updates the cards. Loads the library if it is closed.
    fn update(&mut self, cards: &mut Vec<Card>, ticks: i64) -> Result<(), Failure> {
        if let State::Failed { reason, retry_ticks } = &self.state
            && ticks < *retry_ticks
        {
            return Err(Failure::new(ErrorCode::NO_DATA, reason.as_str()));
        }
        let is_open = matches!(self.state, State::Open(_));
        if !is_open {
            self.wait_until_closed()?;
            match Worker::start(&self.path) {
                Ok(worker) => self.state = State::Open(worker),
                Err(error) => return self.fail(format!("NVML: cannot start a thread: {error}"), ticks),
            }
        }
        let State::Open(worker) = &mut self.state else { return Ok(()) };
        match worker.update(std::mem::take(cards), if is_open { MAX_WAIT } else { MAX_START }) {
            Ok(answer) => {
                *cards = answer.cards;
                match answer.outcome {
                    Ok(()) => Ok(()),
                    Err(reason) if answer.is_loaded => Err(Failure::new(ErrorCode::NO_DATA, reason)),
                    Err(reason) => self.fail(reason, ticks),
                }
            }
            Err(Unanswered::Late(time)) => Err(late_failure(time)),
            Err(Unanswered::Ended) => {
                self.fail("NVML: the thread that calls the library has ended".to_owned(), ticks)
            }
        }
    }

    fn fail(&mut self, reason: String, ticks: i64) -> Result<(), Failure> {
        let failure = Failure::new(ErrorCode::NO_DATA, reason.as_str());
        self.state = State::Failed { reason, retry_ticks: ticks.saturating_add(RETRY_TICKS) };
        Err(failure)
    }

    /// Waits until the previous thread that called the library has ended, so that at most one thread hangs.
    fn wait_until_closed(&mut self) -> Result<(), Failure> {
        let Some(thread) = &self.closing else { return Ok(()) };
        let until = Instant::now() + MAX_WAIT;
        while !thread.is_finished() {
            if Instant::now() >= until {
                return Err(late_failure(MAX_WAIT));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.closing = None;
        Ok(())
    }
}

fn late_failure(time: Duration) -> Failure {
    Failure::new(ErrorCode::TIMEOUT, format!("NVML: no answer within {} ms", time.as_millis()))
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
enum Unanswered {
    /// The thread has not answered within this time.
    Late(Duration),
    /// The thread has ended.
    Ended,
}

/// The thread that calls the library.
struct Worker {
    requests: SyncSender<Vec<Card>>,
    answers: Receiver<Answer>,
    /// If an answer is still missing: how long a collection has waited for it.
    late: Option<Duration>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start(library: &OsStr) -> std::io::Result<Self> {
        let (requests, receiver) = sync_channel::<Vec<Card>>(1);
        let (sender, answers) = sync_channel(1);
        let path = library.to_owned();
        let run = move || {
            let loaded = Nvml::builder().lib_path(&path).init();
            while let Ok(mut cards) = receiver.recv() {
                let outcome = match &loaded {
                    Ok(nvml) => update(nvml, &mut cards).map_err(|error| format!("NVML: {error}")),
                    Err(error) => Err(format!("{}: {error}", path.display())),
                };
                if sender.send(Answer { cards, outcome, is_loaded: loaded.is_ok() }).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("nvml".to_owned()).spawn(run)?;
        Ok(Self { requests, answers, late: None, thread })
    }

    fn update(&mut self, mut cards: Vec<Card>, wait: Duration) -> Result<Answer, Unanswered> {
        if let Some(time) = self.late {
            match self.answers.try_recv() {
                // The answer to the earlier request is outdated, but now the thread can process another one.
                Ok(answer) if answer.is_loaded => cards = answer.cards,
                Ok(answer) => return Ok(answer),
                Err(TryRecvError::Empty) => return Err(Unanswered::Late(time)),
                Err(TryRecvError::Disconnected) => return Err(Unanswered::Ended),
            }
            self.late = None;
        }
        self.requests.send(cards).map_err(|_| Unanswered::Ended)?;
        self.answers.recv_timeout(wait).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                self.late = Some(wait);
                Unanswered::Late(wait)
            }
            RecvTimeoutError::Disconnected => Unanswered::Ended,
        })
    }
}

/// Updates the cards, in the order of the library.
fn update(nvml: &Nvml, cards: &mut Vec<Card>) -> Result<(), NvmlError> {
    let count = (nvml.device_count()? as usize).min(MAX_ADAPTERS);
    cards.resize_with(count, Card::default);
    for (index, card) in (0..).zip(cards) {
        // A card that fails is skipped, so that the others are still shown.
        let Ok(device) = nvml.device_by_index(index) else {
            *card = Card::default();
            continue;
        };
        if card.pci.is_empty()
            && let Ok(pci) = device.pci_info()
        {
            card.pci = format!("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
        }
        card.update(&device);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
