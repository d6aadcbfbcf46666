//! The kernel's records of ended processes, for the sets `Process` and `Process V2`.

use std::sync::Arc;

use super::ended::EndedProcesses;
use super::exit_listener::{ExitListener, Loss};
use super::reader::Reader;
use super::taskstats::unavailable_reason;
use crate::roots::Roots;

/// The listener for records, opened when records are requested, if the kernel permits it.
#[derive(Debug)]
pub(super) struct ExitRecords {
    roots: Roots,
    is_permitted: bool,
    listener: Option<ExitListener>,
    /// Whether [`prepare`](Self::prepare) was called for this collection.
    is_prepared: bool,
    /// Whether records were lost in this collection.
    pub(super) is_lossy: bool,
    /// The reason that is reported if records were lost.
    pub(super) loss: Arc<str>,
}

impl ExitRecords {
    /// Creates the state without a listener, and checks whether the kernel permits one. The error says why there are no records.
    pub(super) fn new(roots: &Roots, reader: &Reader) -> (Self, Result<(), String>) {
        let outcome = if reader.is_procfs() {
            ExitListener::open(roots).map(drop).map_err(|error| unavailable_reason(&error))
        } else {
            Err("the processes are not those of this machine".into())
        };
        let records = Self {
            roots: roots.clone(),
            is_permitted: outcome.is_ok(),
            listener: None,
            is_prepared: false,
            is_lossy: false,
            loss: "taskstats: records of ended processes were lost; the part of their processor time that the kernel did \
                   not add to a parent remains in _Unattributed"
                .into(),
        };
        (records, outcome)
    }

    /// Receives the records that have arrived, before the timestamp of a collection is read. After a long interval there can
    /// be tens of thousands of records; receiving them later would delay the reading of the processes.
    pub(super) fn prepare(&mut self, ended: &mut EndedProcesses) {
        self.is_lossy &= std::mem::replace(&mut self.is_prepared, true);
        self.receive(ended);
    }

    /// Begins a collection: opens the listener if records are requested, and receives those that have arrived.
    pub(super) fn begin(&mut self, is_requested: bool, ended: &mut EndedProcesses) {
        self.is_lossy &= std::mem::take(&mut self.is_prepared);
        if is_requested && self.is_permitted && self.listener.is_none() {
            self.listener = ExitListener::open(&self.roots).ok();
        }
        self.receive(ended);
    }

    /// Receives the records that have arrived.
    pub(super) fn receive(&mut self, ended: &mut EndedProcesses) {
        let Some(listener) = &mut self.listener else { return };
        let received = listener.receive(|record| ended.add_record(record));
        self.is_lossy |= received.is_err();
        match received {
            Ok(()) => {}
            Err(Loss::Some) => ended.lose_some_records(),
            Err(Loss::All) => self.close(ended),
        }
    }

    /// Closes the listener until the next collection that requests records.
    pub(super) fn close(&mut self, ended: &mut EndedProcesses) {
        if self.listener.take().is_some() {
            ended.lose_all_records();
        }
    }

    #[cfg(test)]
    pub(super) fn is_open(&self) -> bool {
        self.listener.is_some()
    }
}
