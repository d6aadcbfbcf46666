//! The times of the online processors, in 100 ns and corrected so that they never fall.

use std::collections::HashMap;

use crate::roots::Roots;
use crate::stat::{ProcessorLine, ProcessorTicks};

/// An online processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processor {
    pub(super) id: u32,
    /// How many times the processor's counts have restarted. Each generation is a separate instance.
    pub(super) generation: u32,
    /// `None` if the processor's line is malformed.
    pub(super) times: Option<Times>,
    last: Times,
}

/// Times since boot, in 100 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Idle, including waits for I/O (idle, iowait).
    pub(super) idle: u64,
    /// User mode, including guests (user, nice).
    pub(super) user: u64,
    /// Kernel mode, including interrupts and softirqs (system, irq, softirq).
    pub(super) privileged: u64,
    /// Softirqs.
    pub(super) dpc: u64,
    /// Hardware interrupts.
    pub(super) interrupt: u64,
    /// Idle, or running programs of low priority (idle, iowait, nice).
    pub(super) low_priority: u64,
}

impl Times {
    fn new(ticks: &ProcessorTicks, roots: &Roots) -> Self {
        let time = |parts: &[u64]| {
            let ticks = parts.iter().fold(0_u64, |sum, &part| sum.saturating_add(part));
            roots.hundred_ns(ticks)
        };
        Self {
            idle: time(&[ticks.idle, ticks.iowait]),
            user: time(&[ticks.user, ticks.nice]),
            privileged: time(&[ticks.system, ticks.irq, ticks.softirq]),
            dpc: time(&[ticks.softirq]),
            interrupt: time(&[ticks.irq]),
            low_priority: time(&[ticks.idle, ticks.iowait, ticks.nice]),
        }
    }

    fn fields(&self) -> [u64; 6] {
        [self.idle, self.user, self.privileged, self.dpc, self.interrupt, self.low_priority]
    }

    /// For each time, the larger of the two values.
    fn max(self, last: Self) -> Self {
        Self {
            idle: self.idle.max(last.idle),
            user: self.user.max(last.user),
            privileged: self.privileged.max(last.privileged),
            dpc: self.dpc.max(last.dpc),
            interrupt: self.interrupt.max(last.interrupt),
            low_priority: self.low_priority.max(last.low_priority),
        }
    }
}

/// If a time decreases by more than this, the kernel has restarted the count, because the processor was offline in
/// between. (The kernel sometimes corrects idle times by a few ticks.)
const MAX_CORRECTION: u64 = 10_000_000;

/// The online processors.
#[derive(Debug, Default)]
pub(super) struct ProcessorTimes {
    processors: Vec<Processor>,
    generations: HashMap<u32, u32>,
}

impl ProcessorTimes {
    /// The online processors, in the order of `/proc/stat`.
    pub(super) fn processors(&self) -> &[Processor] {
        &self.processors
    }

    /// Updates the times; returns whether the online processors have changed or a count has restarted.
    pub(super) fn update(&mut self, lines: &[ProcessorLine], roots: &Roots) -> bool {
        let is_same = self.processors.len() == lines.len()
            && self.processors.iter().zip(lines).all(|(processor, line)| processor.id == line.id);
        if !is_same {
            let before = std::mem::take(&mut self.processors);
            for line in lines {
                let known = before.iter().find(|processor| processor.id == line.id);
                let processor = known.copied().unwrap_or_else(|| Processor {
                    id: line.id,
                    generation: next_generation(&mut self.generations, line.id),
                    times: None,
                    last: Times::default(),
                });
                self.processors.push(processor);
            }
        }
        let mut changed = !is_same;
        for (processor, line) in self.processors.iter_mut().zip(lines) {
            processor.times = line.ticks.as_ref().map(|ticks| {
                let now = Times::new(ticks, roots);
                let last = processor.last.fields();
                if now.fields().iter().zip(last).any(|(now, last)| now.saturating_add(MAX_CORRECTION) < last)
                {
                    processor.generation = next_generation(&mut self.generations, processor.id);
                    processor.last = Times::default();
                    changed = true;
                }
                processor.last = now.max(processor.last);
                processor.last
            });
        }
        changed
    }
}

fn next_generation(generations: &mut HashMap<u32, u32>, id: u32) -> u32 {
    let generation = generations.entry(id).or_default();
    *generation = generation.wrapping_add(1);
    *generation
}
