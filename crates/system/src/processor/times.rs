//! The times of the processors that are online, in 100 ns and never falling, and which of them is which.

use std::collections::HashMap;

use crate::Roots;
use crate::stat::{ProcessorLine, ProcessorTicks};

/// A processor that is online.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processor {
    pub(super) number: u32,
    /// How often its counts have begun anew: a processor that comes back is another instance.
    pub(super) generation: u32,
    /// `None` where its line is broken.
    pub(super) times: Option<Times>,
    last: Times,
}

/// Times since the start, in 100 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Nothing to do, waits for devices included (idle, iowait).
    pub(super) idle: u64,
    /// Programs (user, nice); guests included.
    pub(super) user: u64,
    /// The kernel, interrupts and softirqs included (system, irq, softirq).
    pub(super) privileged: u64,
    /// Softirqs.
    pub(super) dpc: u64,
    /// Hardware interrupts.
    pub(super) interrupt: u64,
    /// Nothing to do, or only programs of low priority (idle, iowait, nice).
    pub(super) unimportant: u64,
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
            unimportant: time(&[ticks.idle, ticks.iowait, ticks.nice]),
        }
    }

    fn fields(&self) -> [u64; 6] {
        [self.idle, self.user, self.privileged, self.dpc, self.interrupt, self.unimportant]
    }

    /// The greater of each time.
    fn held(self, last: Self) -> Self {
        Self {
            idle: self.idle.max(last.idle),
            user: self.user.max(last.user),
            privileged: self.privileged.max(last.privileged),
            dpc: self.dpc.max(last.dpc),
            interrupt: self.interrupt.max(last.interrupt),
            unimportant: self.unimportant.max(last.unimportant),
        }
    }
}

/// A fall of a time by more than this is no quirk: the kernel has begun to count anew, because the processor was
/// offline since the last sample. (The idle times of a processor are corrected by a few ticks now and then.)
const MOST_QUIRK: u64 = 10_000_000;

/// The processors that are online.
#[derive(Debug, Default)]
pub(super) struct ProcessorTimes {
    processors: Vec<Processor>,
    generations: HashMap<u32, u32>,
}

impl ProcessorTimes {
    /// In the order of `/proc/stat`.
    pub(super) fn processors(&self) -> &[Processor] {
        &self.processors
    }

    /// Takes the processors as they are now. Whether others are online than before, or one has begun anew.
    pub(super) fn update(&mut self, lines: &[ProcessorLine], roots: &Roots) -> bool {
        let is_same = self.processors.len() == lines.len()
            && self.processors.iter().zip(lines).all(|(processor, line)| processor.number == line.number);
        if !is_same {
            let before = std::mem::take(&mut self.processors);
            for line in lines {
                let known = before.iter().find(|processor| processor.number == line.number);
                let processor = known.copied().unwrap_or_else(|| Processor {
                    number: line.number,
                    generation: next_generation(&mut self.generations, line.number),
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
                if now.fields().iter().zip(last).any(|(now, last)| now.saturating_add(MOST_QUIRK) < last) {
                    processor.generation = next_generation(&mut self.generations, processor.number);
                    processor.last = Times::default();
                    changed = true;
                }
                processor.last = now.held(processor.last);
                processor.last
            });
        }
        changed
    }
}

fn next_generation(generations: &mut HashMap<u32, u32>, number: u32) -> u32 {
    let generation = generations.entry(number).or_default();
    *generation = generation.wrapping_add(1);
    *generation
}
