//! The result of a measurement.

use std::time::Duration;

/// The result for the interval from the last start until now.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CpiData {
    /// Length of the interval in ticks of the [clock](crate::clock_ticks).
    pub elapsed_cycles: u64,
    /// Length of the interval.
    pub elapsed: Duration,
    /// End of the interval, in ticks of the [clock](crate::clock_ticks).
    pub ended_at: u64,
    /// Indexed by processor id, up to the highest one measured. If a processor has no data, `state` says why. Empty if
    /// processors are not measured.
    pub processors: Vec<ProcessorData>,
    /// Sums over the processors with data, so ratios are ratios of sums, never means of ratios.
    pub system: Measured,
    /// Whether busy and idle shares were measured.
    pub is_scaled: bool,
    /// The id (`gettid`) of the thread that created the instance, measured or not.
    pub tid: u32,
    /// The counts of that thread, if it is measured.
    pub thread: Option<Counts>,
    /// Whether work in the kernel is not counted.
    pub is_user_only: bool,
}

/// The result for one processor.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ProcessorData {
    /// Whether there is data.
    pub state: ProcessorState,
    /// The data; zeros if absent.
    pub measured: Measured,
}

/// Whether a processor has data, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ProcessorState {
    /// Measured over the whole interval.
    Measured,
    /// Nonexistent, or offline at some time in the interval.
    #[default]
    Offline,
    /// The counters never ran in the interval, because other programs used the hardware. Busy and idle shares are known, but
    /// no counts.
    NeverRan,
    /// The machine has no hardware counters; only busy and idle shares are known.
    NoCounters,
}

/// Counts and times of a processor, or their sums over processors, in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Measured {
    /// Instructions executed.
    pub instructions: u64,
    /// Elapsed cycles: reference cycles that also run in idle (the time stamp counter on x86); on other processors derived
    /// from the cycle counter. 0 if unknown: the counter halts in idle, and no busy time was observed.
    pub cycles: u64,
    /// Elapsed cycles scaled by the busy share.
    pub cycles_scaled: u64,
    /// Cycles of the core's own clock, as `perf stat` counts them.
    pub core_cycles: u64,
    /// Busy part of `elapsed_ticks`.
    pub busy_ticks: u64,
    /// Total time of the processor in the unit of `busy_ticks`, which depends on the source. 0 if the interval was too short for
    /// the source.
    pub elapsed_ticks: u64,
    /// Nanoseconds for which the counters were enabled.
    pub enabled_ns: u64,
    /// Nanoseconds for which the counters ran. If less than `enabled_ns`, the kernel multiplexed counters, and counts
    /// are scaled.
    pub running_ns: u64,
}

impl Measured {
    /// Elapsed cycles per instruction, including idle time: `cycles / instructions`. `None` if the cycles are unknown.
    pub fn cpi(&self) -> Option<f64> {
        ratio(self.cycles, self.instructions).filter(|_| self.cycles != 0)
    }

    /// Cycles per instruction while busy: `cycles_scaled / instructions`. `None` if no busy time was observed: the source can be
    /// too coarse for the interval (10 ms with the kernel's accounting).
    pub fn cpi_scaled(&self) -> Option<f64> {
        ratio(self.cycles_scaled, self.instructions).filter(|_| self.cycles_scaled != 0)
    }

    /// Core cycles per instruction, as in `perf stat`: `core_cycles / instructions`.
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

    /// Adds the values of another processor.
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
    /// Reference cycles while the thread or process ran (time stamp counter on x86, if available per thread), otherwise
    /// core cycles.
    pub cycles: u64,
    /// Cycles of the core's own clock, as `perf stat` counts them.
    pub core_cycles: u64,
    /// Nanoseconds for which the counters were enabled, that is, while the thread or process ran.
    pub enabled_ns: u64,
    /// Nanoseconds for which the counters ran.
    pub running_ns: u64,
}

impl Counts {
    /// Cycles per instruction: `cycles / instructions`.
    pub fn cpi(&self) -> Option<f64> {
        ratio(self.cycles, self.instructions)
    }

    /// Core cycles per instruction, as in `perf stat`.
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
