//! Sums of current values, such as memory, over all processes.

use super::process::{Details, RequestedFiles};
use super::stat::Stat;
use super::value_error::ValueError;

/// Sums over all processes in one sample, for `_Total`. Sizes are in bytes.
#[derive(Debug, Default)]
pub(super) struct Amounts {
    pub(super) virtual_bytes: u64,
    pub(super) virtual_peak: u64,
    pub(super) resident: u64,
    pub(super) resident_peak: u64,
    pub(super) anonymous: u64,
    pub(super) swapped: u64,
    pub(super) threads: u64,
    pub(super) handles: u64,
    /// Whether each kind of file could be read.
    pub(super) memory: Outcome,
    pub(super) io: Outcome,
    pub(super) handles_read: Outcome,
    pub(super) waits: Outcome,
    pub(super) delays: Outcome,
}

/// Whether a kind of file could be read for any process, and if not, why.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Whether a file could be read.
    is_read: bool,
    /// Why a file could not be read.
    reason: Option<ValueError>,
    /// Whether access to a file was denied.
    is_denied: bool,
}

impl Amounts {
    pub(super) fn add(&mut self, stat: &Stat, details: &Details, requested: RequestedFiles) {
        self.threads += stat.threads;
        let mut virtual_bytes = stat.virtual_bytes;
        if requested.memory
            && let Some(memory) = self.memory.record(details.memory)
        {
            virtual_bytes = memory.virtual_size.unwrap_or(virtual_bytes);
            self.virtual_peak += memory.virtual_peak.unwrap_or_default();
            self.resident += memory.resident.unwrap_or_default();
            self.resident_peak += memory.resident_peak.unwrap_or_default();
            self.anonymous += memory.anonymous.unwrap_or_default();
            self.swapped += memory.swapped.unwrap_or_default();
        }
        self.virtual_bytes += virtual_bytes;
        self.io.record(details.io);
        self.waits.record(details.waits);
        self.delays.record(details.delays);
        self.handles += self.handles_read.record(details.handles).unwrap_or_default();
    }
}

impl Outcome {
    fn record<T>(&mut self, read: Result<T, ValueError>) -> Option<T> {
        match read {
            Ok(value) => {
                self.is_read = true;
                Some(value)
            }
            Err(reason) => {
                self.reason = Some(reason);
                self.is_denied |= reason == ValueError::Denied;
                None
            }
        }
    }

    /// Why no file could be read; `None` if one could, or none was requested.
    pub(super) fn reason(&self) -> Option<ValueError> {
        self.reason.filter(|_| !self.is_read)
    }

    /// Whether the sum lacks processes because access to their files was denied.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_read && self.is_denied
    }
}
