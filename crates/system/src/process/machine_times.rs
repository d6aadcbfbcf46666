//! The times of all processors, from `/proc/stat`.

use std::sync::Arc;

use tachograph_perflib::{SharedReading, Timestamps};

use crate::stat::{ProcessorTicks, Stat};

/// Adds up the times of all processors.
///
/// The kernel's own sums decrease when a processor goes offline. These sums add the increases of each processor, so they
/// never decrease.
#[derive(Debug)]
pub(super) struct MachineReader {
    stat: SharedReading<Stat>,
    processors: Vec<Processor>,
    /// The sums: idle, user and system time.
    ticks: [u64; TIMES],
    /// The number of reads so far.
    reads: u64,
    /// Why the times are missing, if they cannot be read.
    pub(super) reason: Arc<str>,
}

#[derive(Debug)]
struct Processor {
    id: u32,
    /// The times at the last read.
    ticks: [u64; TIMES],
    /// The number of the last read that found this processor, counted from 1.
    last_read: u64,
}

/// The times of all processors in the kernel's ticks, and the number of online processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MachineTimes {
    /// Idle, including waits for I/O.
    pub(super) idle: u64,
    /// User mode, including guests.
    pub(super) user: u64,
    /// Kernel mode, without interrupts.
    pub(super) system: u64,
    pub(super) processors: u64,
}

/// The number of times that are added up.
const TIMES: usize = 3;

/// The kernel sometimes takes back a little idle time (iowait). A larger decrease means that the processor was
/// offline in between.
const MAX_DECREASE: u64 = 100;

impl MachineReader {
    pub(super) fn new(stat: &SharedReading<Stat>) -> Self {
        Self {
            stat: stat.clone(),
            processors: Vec::new(),
            ticks: [0; TIMES],
            reads: 0,
            reason: "/proc/stat: the times of the processors cannot be read".into(),
        }
    }

    /// The current times; `None` if the file cannot be read.
    pub(super) fn read(&mut self, at: Timestamps) -> Option<MachineTimes> {
        let Self { stat, processors, ticks, reads, .. } = self;
        *reads += 1;
        let read = stat.at(at, |stat| {
            for line in stat.processors() {
                add(processors, ticks, *reads, line.id, parts(&line.ticks?));
            }
            Some(stat.processors().len() as u64)
        });
        let count = read.ok().flatten()?;
        processors.retain(|processor| processor.last_read == *reads);
        let &mut [idle, user, system] = ticks;
        (count > 0).then_some(MachineTimes { idle, user, system, processors: count })
    }
}

fn parts(ticks: &ProcessorTicks) -> [u64; TIMES] {
    [ticks.idle.saturating_add(ticks.iowait), ticks.user.saturating_add(ticks.nice), ticks.system]
}

/// Adds the increases of one processor's times to the sums.
fn add(processors: &mut Vec<Processor>, sums: &mut [u64; TIMES], read: u64, id: u32, times: [u64; TIMES]) {
    let Some(known) = processors.iter_mut().find(|known| known.id == id) else {
        processors.push(Processor { id, ticks: times, last_read: read });
        // Time from before a processor appeared belongs to no interval.
        if read == 1 {
            sums.iter_mut().zip(times).for_each(|(sum, time)| *sum = sum.saturating_add(time));
        }
        return;
    };
    known.last_read = read;
    for ((sum, last), time) in sums.iter_mut().zip(&mut known.ticks).zip(times) {
        *sum = sum.saturating_add(time.saturating_sub(*last));
        if time > *last || *last - time > MAX_DECREASE {
            *last = time;
        }
    }
}
