//! NVIDIA's cards, from the library of its driver (NVML), which is loaded at run time.
//!
//! Its calls can hang, for example while a card is reset. So a thread calls it, and a collection waits a limited time.

use std::ffi::OsStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use tachograph_perflib::{ErrorCode, Failure, Reading, Timestamps};

use super::adapters::MAX_ADAPTERS;
use super::tables::{BUSY, MEMORY_BUSY, POWER, TEMPERATURE};
use crate::roots::Roots;

/// The file name of the library.
pub(super) const LIBRARY: &str = "libnvidia-ml.so.1";

/// The maximum time to load the library. Without a persistence daemon, it initializes the cards, which takes seconds.
const MAX_START: Duration = Duration::from_secs(10);

/// The maximum time that a collection waits.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// The maximum number of processes of a card.
const MAX_PROCESSES: usize = 4096;

/// The engines of which the library reports the work of each process, by the names of other drivers.
pub(super) const ENGINES: [&[u8]; 3] = [b"gfx", b"enc", b"dec"];

/// The state of a card. Numbers that the card does not report are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Card {
    /// The address, as in fdinfo files: `0000:01:00.0`.
    pub(super) pci: String,
    percent: Option<[u32; 2]>,
    degrees: Option<u32>,
    milliwatts: Option<u32>,
    /// Used bytes and all bytes.
    pub(super) memory: Option<[u64; 2]>,
    /// The memory that each process uses, in bytes.
    pub(super) processes: Vec<(u32, u64)>,
    /// How busy each process keeps the [`ENGINES`], in percent.
    pub(super) work: Vec<(u32, [u32; ENGINES.len()])>,
    /// The time of the newest sample of the work.
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
        // A process with both kinds of contexts is in both lists, with the same memory.
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
        // The newest sample of each process.
        let mut samples = device.process_utilization_stats(self.last_seen).unwrap_or_default();
        samples.sort_by_key(|sample| std::cmp::Reverse(sample.timestamp));
        self.last_seen =
            samples.first().map_or(self.last_seen, |newest| newest.timestamp.max(self.last_seen));
        for sample in samples {
            let is_known = self.work.iter().any(|(known, _)| *known == sample.pid);
            if !is_known && self.work.len() < MAX_PROCESSES {
                let percent = [sample.sm_util, sample.enc_util, sample.dec_util];
                self.work.push((sample.pid, percent.map(|percent| percent.min(100))));
            }
        }
    }
}

/// The cards, read once per collection.
pub(super) struct Nvidia {
    pub(super) cards: Vec<Card>,
    requests: SyncSender<Vec<Card>>,
    answers: Receiver<Result<Vec<Card>, String>>,
    is_late: bool,
}

impl Nvidia {
    /// Loads the library if NVIDIA's driver is loaded.
    ///
    /// # Errors
    ///
    /// Why it cannot be used, as a text for people.
    pub(super) fn open(roots: &Roots, library: &OsStr) -> Result<Self, String> {
        if !roots.proc.join("driver/nvidia/version").exists() {
            return Err("NVIDIA's driver is not loaded".to_owned());
        }
        let (requests, receiver) = sync_channel::<Vec<Card>>(1);
        let (sender, answers) = sync_channel(1);
        let path = library.to_owned();
        let thread = std::thread::Builder::new().name("nvml".to_owned());
        let run = move || {
            let started = Nvml::builder().lib_path(&path).init().and_then(|nvml| Ok((list(&nvml)?, nvml)));
            let (cards, nvml) = match started {
                Ok(started) => started,
                Err(error) => {
                    let _ = sender.send(Err(error.to_string()));
                    return;
                }
            };
            let mut next = Ok(cards);
            while sender.send(next).is_ok() {
                let Ok(mut cards) = receiver.recv() else { break };
                next = update(&nvml, &mut cards).map(|()| cards).map_err(|error| error.to_string());
            }
        };
        thread.spawn(run).map_err(|error| error.to_string())?;
        let cards = match answers.recv_timeout(MAX_START) {
            Ok(started) => started,
            Err(_) => Err(format!("no answer within {} s", MAX_START.as_secs())),
        };
        let cards = cards.map_err(|error| format!("{}: {error}", library.display()))?;
        if cards.is_empty() {
            return Err(format!("{}: no cards", library.display()));
        }
        Ok(Self { cards, requests, answers, is_late: false })
    }

    /// The state of a card with this address.
    pub(super) fn card(&self, pci: &str) -> Option<&Card> {
        self.cards.iter().find(|card| card.pci == pci)
    }
}

impl Reading for Nvidia {
    fn read(&mut self, _: Timestamps) -> Result<(), Failure> {
        let late = || {
            Failure::new(ErrorCode::TIMEOUT, format!("NVML: no answer within {} ms", MAX_WAIT.as_millis()))
        };
        if self.is_late {
            // The answer to the earlier request only shows that the thread is free again.
            match self.answers.try_recv() {
                Ok(answer) => (self.is_late, self.cards) = (false, answer.unwrap_or_default()),
                Err(_) => return Err(late()),
            }
        }
        let stopped = || Failure::new(ErrorCode::NO_DATA, "NVML: the thread has ended");
        self.requests.send(std::mem::take(&mut self.cards)).map_err(|_| stopped())?;
        match self.answers.recv_timeout(MAX_WAIT) {
            Ok(Ok(cards)) => {
                self.cards = cards;
                Ok(())
            }
            Ok(Err(error)) => Err(Failure::new(ErrorCode::NO_DATA, format!("NVML: {error}"))),
            Err(RecvTimeoutError::Timeout) => {
                self.is_late = true;
                Err(late())
            }
            Err(RecvTimeoutError::Disconnected) => Err(stopped()),
        }
    }
}

/// The cards with their state.
fn list(nvml: &Nvml) -> Result<Vec<Card>, NvmlError> {
    let mut cards = Vec::new();
    update(nvml, &mut cards)?;
    Ok(cards)
}

/// Updates the cards, in the order of the library.
fn update(nvml: &Nvml, cards: &mut Vec<Card>) -> Result<(), NvmlError> {
    let count = (nvml.device_count()? as usize).min(MAX_ADAPTERS);
    cards.resize_with(count, Card::default);
    for (index, card) in (0..).zip(cards) {
        // A card that has failed is skipped, so that the others are shown.
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
