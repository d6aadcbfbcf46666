//! `Processor Information` and `Processor`.
//!
//! Linux processor times correspond to those of Windows as follows:
//!
//! | Windows | Linux (`/proc/stat`) |
//! |---|---|
//! | idle | idle + iowait: a processor that only waits for devices is idle |
//! | user | user + nice; both include guest time |
//! | privileged | system + irq + softirq |
//! | interrupt, DPC | irq, softirq |
//! | low priority, for `% Priority Time` | nice: programs with a nice value above 0 |
//!
//! Steal time is neither busy nor idle: `% Processor Time` is the time spent executing a thread, as Windows defines it.
//! So it is `% User Time` plus `% Privileged Time`, and these two, idle time and steal time add up to 100 %. The raw value of `%
//! Processor Time`, an inverse type, is idle + iowait + steal.
//!
//! Windows counters without a source in Linux:
//!
//! - `% Processor Utility`, `% Privileged Utility`: work relative to the nominal frequency. They would need the
//!   frequency while busy; the kernel counts time per frequency and busy time, but does not combine the two. (`%
//!   Processor Performance` exists if the kernel counts time per frequency.)
//! - `Average Idle Time`: on Windows, a duration whose counter type is a percentage.
//! - `DPC Rate`: the DPCs in the last clock tick; Linux has only totals.
//! - `Parking Status`: Linux does not park processors; offline ones are absent.
//! - `Processor State Flags`, `Performance Limit Flags`: internal to Windows' power manager.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Rows, SharedReading, Timestamps};

use crate::roots::Roots;
use crate::shared_file::InterruptFiles;
use crate::stat::Stat;
use crate::table::SetTable;

mod columns;
mod frequency;
mod idle_states;
mod instances;
mod outputs;
mod readings;
mod softnet;
mod tables;
mod times;
mod topology;

pub use instances::{ProcessorInstance, ProcessorInstances};

use instances::Order;
use readings::Processors;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[&tables::PROCESSOR_INFORMATION, &tables::PROCESSOR];

/// The providers of these sets, with the counters that this machine has.
pub(crate) fn providers(
    roots: &Roots,
    stat: &SharedReading<Stat>,
    files: &InterruptFiles,
) -> Vec<Box<dyn Provider>> {
    let processors = SharedReading::new(Processors::new(roots, stat, files));
    let at = Timestamps::default();
    let present = processors.at(at, |processors| processors.probe(at));
    // Closes the files, because the sets may never be queried.
    processors.with(Processors::close);
    // No sets if /proc/stat cannot be read or lists no processors.
    let Ok(Some(present)) = present else { return Vec::new() };
    let provider = |table: &SetTable, order| -> Box<dyn Provider> {
        let info = table.info_of(|id| present.has_counter(id));
        Box::new(ProcessorSet { info, order, processors: processors.clone() })
    };
    vec![provider(&tables::PROCESSOR_INFORMATION, Order::ByNode), provider(&tables::PROCESSOR, Order::ById)]
}

/// One of the two sets: the same values in different order and with different instance names.
struct ProcessorSet {
    info: Arc<CounterSetInfo>,
    order: Order,
    processors: SharedReading<Processors>,
}

impl Provider for ProcessorSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.processors.at(rows.timestamps(), |processors| processors.push_rows(self.order, rows))
    }

    fn idle(&mut self) {
        // Files that the other set still needs are opened again by its next collection.
        self.processors.with(Processors::close);
    }
}

#[cfg(test)]
mod tests;
