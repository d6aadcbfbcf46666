//! The times of the online processors, in 100 ns, corrected so that they never decrease.

use std::collections::HashMap;

use super::outputs::{TIMES, Value};
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
    /// The last valid times.
    last: Times,
}

/// Times since boot, in 100 ns, indexed by [`Value`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times(pub(super) [u64; TIMES]);

impl Times {
    fn new(ticks: &ProcessorTicks, roots: &Roots) -> Self {
        let mut times = Self::default();
        let mut set = |value: Value, parts: &[u64]| {
            let ticks = parts.iter().fold(0_u64, |sum, &part| sum.saturating_add(part));
            times.0[value as usize] = roots.hundred_ns(ticks);
        };
        set(Value::Idle, &[ticks.idle, ticks.iowait]);
        set(Value::IdleOrStolen, &[ticks.idle, ticks.iowait, ticks.steal]);
        set(Value::User, &[ticks.user, ticks.nice]);
        set(Value::Privileged, &[ticks.system, ticks.irq, ticks.softirq]);
        set(Value::Dpc, &[ticks.softirq]);
        set(Value::Interrupt, &[ticks.irq]);
        set(Value::LowPriority, &[ticks.idle, ticks.iowait, ticks.steal, ticks.nice]);
        set(Value::Steal, &[ticks.steal]);
        set(Value::Iowait, &[ticks.iowait]);
        set(Value::Guest, &[ticks.guest, ticks.guest_nice]);
        set(Value::Nice, &[ticks.nice]);
        times
    }

    /// Whether the kernel has restarted the counts since `last`. Iowait is ignored, because the kernel moves time,
    /// even minutes, from iowait to idle when the wait ends on another processor.
    fn has_restarted(&self, last: &Self) -> bool {
        let values = self.0.iter().zip(&last.0).enumerate();
        values
            .filter(|(index, _)| *index != Value::Iowait as usize)
            .any(|(_, (now, last))| now.saturating_add(MAX_CORRECTION) < *last)
    }

    /// For each time, the larger of the two values.
    fn max(self, last: Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index].max(last.0[index])))
    }
}

/// If a time decreases by more than this, the kernel has restarted the count, because the processor was offline in
/// between. (The kernel sometimes corrects idle times by a few ticks.)
const MAX_CORRECTION: u64 = 10_000_000;

/// The online processors.
#[derive(Debug, Default)]
pub(super) struct ProcessorTimes {
    processors: Vec<Processor>,
    /// The last generation of each processor id.
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
                if now.has_restarted(&processor.last) {
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
