//! What was measured in an interval.

use std::time::Duration;

/// What was measured from the last start to now.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CpiData {
    /// Length of the interval in ticks of the [clock](crate::clock_ticks).
    pub elapsed_cycles: u64,
    /// Length of the interval.
    pub elapsed: Duration,
    /// When it ended, in ticks of the [clock](crate::clock_ticks).
    pub ended_at: u64,
    /// By processor number, up to the highest that was measured; those between that have no data say so in their state.
    /// Empty when processors are not measured.
    pub processors: Vec<ProcessorData>,
    /// The sums over the processors that have data: all ratios are of sums, none is a mean of ratios.
    pub system: Measured,
    /// Whether busy and idle shares were measured.
    pub is_scaled: bool,
    /// The thread that made the instance (its number, as `gettid` tells), measured or not.
    pub tid: u32,
    /// Of that thread, where it is measured.
    pub thread: Option<Counts>,
    /// Whether work in the kernel is not counted.
    pub is_user_only: bool,
}

/// What was measured of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ProcessorData {
    /// Whether there is data.
    pub state: ProcessorState,
    /// The data; zeros where there is none.
    pub measured: Measured,
}

/// Why a processor has data or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ProcessorState {
    /// Measured over the whole interval.
    Measured,
    /// Offline now, or at the start, or in between; or no such processor.
    #[default]
    Offline,
    /// Its counters never ran in the interval, as others had the hardware. Shares of time are there, counts are not.
    NeverRan,
    /// The machine has no hardware counters: only shares of time are there.
    NoCounters,
}

/// Counts and times of a processor, or their sums over processors, in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Measured {
    /// Instructions executed.
    pub instructions: u64,
    /// Elapsed cycles: reference cycles that go on in idle (the time stamp counter on x86); elsewhere made of the cycle
    /// counter. 0 where they are not known: where that counter halts in idle and no busy time was seen.
    pub cycles: u64,
    /// Elapsed cycles scaled to busy.
    pub cycles_scaled: u64,
    /// Cycles of the core's own clock, as `perf stat` counts them.
    pub core_cycles: u64,
    /// Busy part of `elapsed_ticks`.
    pub busy_ticks: u64,
    /// Time of the processor in the unit of `busy_ticks`, which depends on its source. 0 where the interval was too short
    /// for the source to tell.
    pub elapsed_ticks: u64,
    /// Nanoseconds for which the counters were wanted.
    pub enabled_ns: u64,
    /// Nanoseconds for which they ran. Where less than `enabled_ns`, others had the hardware in turns, and counts are scaled.
    pub running_ns: u64,
}

impl Measured {
    /// Elapsed cycles per instruction, idle time included: `cycles / instructions`. `None` where the cycles are not known.
    pub fn cpi(&self) -> Option<f64> {
        ratio(self.cycles, self.instructions).filter(|_| self.cycles != 0)
    }

    /// Cycles per instruction while busy: `cycles_scaled / instructions`. `None` where no busy time was seen: the source of
    /// shares may be too coarse for the interval (10 ms where the kernel accounts it).
    pub fn cpi_scaled(&self) -> Option<f64> {
        ratio(self.cycles_scaled, self.instructions).filter(|_| self.cycles_scaled != 0)
    }

    /// Core cycles per instruction, what `perf stat` tells: `core_cycles / instructions`.
    pub fn core_cpi(&self) -> Option<f64> {
        ratio(self.core_cycles, self.instructions)
    }

    /// Busy share in percent: `100 * busy_ticks / elapsed_ticks`.
    pub fn busy_percent(&self) -> Option<f64> {
        ratio(self.busy_ticks, self.elapsed_ticks).map(|share| 100.0 * share)
    }

    /// Share of the time for which the counters ran, 0 to 1: `running_ns / enabled_ns`.
    pub fn running_share(&self) -> Option<f64> {
        ratio(self.running_ns, self.enabled_ns)
    }

    /// Adds another processor's.
    pub fn add(&mut self, other: &Self) {
        for (sum, value) in [
            (&mut self.instructions, other.instructions),
            (&mut self.cycles, other.cycles),
            (&mut self.cycles_scaled, other.cycles_scaled),
            (&mut self.core_cycles, other.core_cycles),
            (&mut self.busy_ticks, other.busy_ticks),
            (&mut self.elapsed_ticks, other.elapsed_ticks),
            (&mut self.enabled_ns, other.enabled_ns),
            (&mut self.running_ns, other.running_ns),
        ] {
            *sum = sum.saturating_add(value);
        }
    }
}

/// Counts of a thread, or of a process with its children, in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Counts {
    /// Instructions executed.
    pub instructions: u64,
    /// Reference cycles while it ran (time stamp counter on x86, where it can be counted per thread); else core cycles.
    pub cycles: u64,
    /// Cycles of the core's own clock, as `perf stat` counts them.
    pub core_cycles: u64,
    /// Nanoseconds for which the counters were wanted: for which it ran.
    pub enabled_ns: u64,
    /// Nanoseconds for which they ran.
    pub running_ns: u64,
}

impl Counts {
    /// Cycles per instruction: `cycles / instructions`.
    pub fn cpi(&self) -> Option<f64> {
        ratio(self.cycles, self.instructions)
    }

    /// Core cycles per instruction, what `perf stat` tells.
    pub fn core_cpi(&self) -> Option<f64> {
        ratio(self.core_cycles, self.instructions)
    }

    /// Share of the time for which the counters ran, 0 to 1.
    pub fn running_share(&self) -> Option<f64> {
        ratio(self.running_ns, self.enabled_ns)
    }
}

fn ratio(numerator: u64, denominator: u64) -> Option<f64> {
    (denominator != 0).then(|| numerator as f64 / denominator as f64)
}
