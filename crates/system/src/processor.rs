//! `Processor Information` and `Processor`.
//!
//! How Linux' processor times become Windows':
//!
//! | Windows | Linux (`/proc/stat`) |
//! |---|---|
//! | idle | idle + iowait: a processor that waits for a device has nothing to do |
//! | user | user + nice, the time of guests included as the kernel does |
//! | privileged | system + irq + softirq |
//! | interrupt, DPC | irq, softirq |
//! | low priority, for `% Priority Time` | idle + nice: programs with a nice value above 0 |
//!
//! Time that the hypervisor gave to others (steal) is busy time, because it is not idle, but neither user nor
//! privileged time. So `% Processor Time` is what is left of `% Idle Time`, as on Windows.
//!
//! Not here, because Linux has no such number:
//!
//! - `% Processor Utility`, `% Privileged Utility`: work done in relation to the nominal frequency. That needs the
//!   frequency while busy; the kernel sums up time per frequency and time busy, but not both at once. (`% Processor
//!   Performance` is there where the kernel sums up time per frequency.)
//! - `Average Idle Time`: its type on Windows is a percentage of a time stamp, its meaning a duration.
//! - `DPC Rate`: DPCs of the last clock tick; Linux keeps totals only.
//! - `Parking Status`: Linux parks no processors; who is offline is absent.
//! - `Processor State Flags`, `Performance Limit Flags`: reasons that only Windows' power manager knows.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Moments, Provider, Rows};

use crate::Roots;
use crate::shared::Shared;
use crate::stat::Stat;
use crate::table::SetTable;

mod columns;
mod frequency;
mod idle_states;
mod instances;
mod number_file;
mod outputs;
mod readings;
mod tables;
mod times;
mod topology;

pub use instances::{ProcessorInstance, ProcessorInstances};

use instances::Order;
use readings::Processors;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[&tables::PROCESSOR_INFORMATION, &tables::PROCESSOR];

/// The providers of these sets, as far as this machine has what they read.
pub(crate) fn providers(roots: &Roots, stat: &Shared<Stat>) -> Vec<Box<dyn Provider>> {
    let processors = Shared::new(Processors::new(roots, stat));
    let at = Moments::default();
    let present = processors.at(at, |processors| processors.probe(at));
    // Without any line of a processor there is no processor to be told of.
    let Ok(Some(present)) = present else { return Vec::new() };
    let provider = |table: &SetTable, order| -> Box<dyn Provider> {
        let info = table.info_of(|id| present.has(id));
        Box::new(ProcessorSet { info, order, processors: processors.clone() })
    };
    vec![
        provider(&tables::PROCESSOR_INFORMATION, Order::ByNode),
        provider(&tables::PROCESSOR, Order::ByNumber),
    ]
}

/// One of the two sets: they have the same values, in another order under other names.
struct ProcessorSet {
    info: Arc<CounterSetInfo>,
    order: Order,
    processors: Shared<Processors>,
}

impl Provider for ProcessorSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.processors.at(rows.at(), |processors| processors.tell(self.order, rows))
    }
}

#[cfg(test)]
mod tests;
