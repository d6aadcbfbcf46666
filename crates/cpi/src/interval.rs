//! Computes a measurement from two readings.

use std::time::Duration;

use crate::data::{Counts, CpiData, Measured, ProcessorData, ProcessorState};
use crate::group::{RawReading, Reading};
use crate::processors::{InIdle, ProcessorReading};

/// The readings at one end of an interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// The clock, read closest to the measured code.
    pub(crate) ticks: u64,
    /// The clock and the time, read together a little farther from the measured code; they give the length of a tick.
    pub(crate) far_ticks: u64,
    pub(crate) now: Duration,
    pub(crate) thread: RawReading,
    pub(crate) processors: Vec<ProcessorReading>,
}

/// How to interpret readings on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    /// Whether ticks of the clock are elapsed cycles.
    pub(crate) clock_counts_cycles: bool,
    /// Whether the cycle counter runs in idle.
    pub(crate) in_idle: InIdle,
    /// Whether busy time and the cycles scaled by it are requested.
    pub(crate) is_scaled: bool,
    /// Whether the processors have counters.
    pub(crate) has_counters: bool,
}

/// Computes the interval between two snapshots into `data`. `lost` receives each processor whose counters were halted
/// and must be reopened, with the [`ProcessorReading::opening`] of those counters.
pub(crate) fn measure(
    start: &Snapshot,
    end: &Snapshot,
    meaning: Meaning,
    data: &mut CpiData,
    lost: &mut Vec<(u32, u32)>,
) {
    data.elapsed_cycles = end.ticks.saturating_sub(start.ticks);
    // The length of a tick is measured, so the clock's frequency need not be known.
    let far = end.now.saturating_sub(start.now);
    let far_ticks = u128::from(end.far_ticks.saturating_sub(start.far_ticks).max(1));
    let ns = |ticks: u64| u64::try_from(u128::from(ticks) * far.as_nanos() / far_ticks).unwrap_or(u64::MAX);
    data.elapsed = if end.ticks < start.ticks { far } else { Duration::from_nanos(ns(data.elapsed_cycles)) };
    data.ended_at = end.ticks;
    data.is_scaled = meaning.is_scaled;

    // Busy times can be added only if those of all processors come from the same source, and so have the same unit.
    let has_unhalted = |snapshot: &Snapshot| {
        snapshot.processors.iter().all(|reading| reading.opening == 0 || reading.has_unhalted)
    };
    let busy_time = if meaning.has_counters && has_unhalted(start) && has_unhalted(end) {
        BusyTime::Unhalted
    } else {
        let steps = if data.elapsed < ACCOUNT_STEP { ACCOUNT_STATES } else { 0 };
        BusyTime::Accounted { more_than: steps }
    };
    lost.clear();
    data.processors.clear();
    data.processors.resize(end.processors.len(), ProcessorData::default());
    let none = ProcessorReading::default();
    for (index, (now, measured)) in end.processors.iter().zip(&mut data.processors).enumerate() {
        let then = start.processors.get(index).unwrap_or(&none);
        let at_least = ns(now.before.saturating_sub(then.after));
        *measured = processor(then, now, meaning, busy_time);
        if measured.state != ProcessorState::Offline && was_halted(then, now, at_least) {
            lost.push((index as u32, now.opening));
            *measured = ProcessorData::default();
        }
    }
    while data.processors.last().is_some_and(|last| last.state == ProcessorState::Offline) {
        data.processors.pop();
    }
    if meaning.has_counters {
        estimate_cycles_of_idle_processors(&mut data.processors);
    }
    data.system = Measured::default();
    for online in data.processors.iter().filter(|data| data.state != ProcessorState::Offline) {
        data.system.add(&online.measured);
    }
    if !meaning.is_scaled {
        for measured in data.processors.iter_mut().map(|data| &mut data.measured).chain([&mut data.system]) {
            (measured.busy_ticks, measured.elapsed_ticks, measured.cycles_scaled) = (0, 0, 0);
        }
    }
}

/// The source of busy time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BusyTime {
    /// A counter that halts with the processor, relative to the clock.
    Unhalted,
    /// The kernel's accounting, if it advanced by more than this number of steps.
    Accounted { more_than: u64 },
}

/// A step of the kernel's accounting of busy and idle time (`USER_HZ` is 100). The accounting says nothing about a
/// shorter interval, because a processor that was busy all the time can show a step of idle time and none of busy time.
const ACCOUNT_STEP: Duration = Duration::from_millis(10);

/// The number of states that the kernel accounts separately. Each can advance by one step in an interval shorter than a
/// step.
const ACCOUNT_STATES: u64 = 10;

/// Estimates the elapsed cycles of processors whose counter halts in idle and that had no busy time, from the rate of
/// the other processors. If no other processor has a rate, the cycles remain unknown (0), and so does the sum.
fn estimate_cycles_of_idle_processors(processors: &mut [ProcessorData]) {
    let is_unknown =
        |data: &ProcessorData| data.state == ProcessorState::Measured && data.measured.cycles == 0;
    if !processors.iter().any(is_unknown) {
        return;
    }
    let mut seen = Measured::default();
    let seen_busy = |data: &&ProcessorData| data.measured.busy_ticks > 0 && data.measured.cycles > 0;
    processors.iter().filter(seen_busy).for_each(|data| seen.add(&data.measured));
    for data in processors.iter_mut().filter(|data| is_unknown(data)) {
        data.measured.cycles = share(seen.core_cycles, data.measured.elapsed_ticks, seen.busy_ticks);
    }
}

/// Whether a processor's counters were halted for part of the time, for example because it was offline: their enabled
/// time advanced by less than the time between the two readings (`at_least`, in ns).
fn was_halted(then: &ProcessorReading, now: &ProcessorReading, at_least: u64) -> bool {
    if now.opening == 0 {
        return false;
    }
    let enabled = now.counts().enabled_ns.saturating_sub(then.counts().enabled_ns);
    // The kernel's counter clock differs from the interval's clock: allow 1 ms (a timer tick of the kernel), and 1/256, because
    // the two clocks can run at different rates.
    let tolerance = 1_000_000 + at_least / 256;
    at_least > enabled.saturating_add(tolerance) || (enabled == 0 && at_least > 100_000)
}

/// The result for one processor.
fn processor(
    then: &ProcessorReading,
    now: &ProcessorReading,
    meaning: Meaning,
    busy_time: BusyTime,
) -> ProcessorData {
    let was_counted = match meaning.has_counters {
        true => then.opening != 0 && then.opening == now.opening,
        false => then.total != 0 && now.total != 0,
    };
    // A clock that went backwards (it can restart after the machine sleeps) is useless.
    let Some(clock) = now.after.checked_sub(then.after).filter(|_| was_counted) else {
        return ProcessorData::default();
    };
    let counts = if meaning.has_counters { now.counts().since(&then.counts()) } else { None };
    let (busy, total) = match (busy_time, counts) {
        (BusyTime::Unhalted, Some(counts)) => (counts.reference_cycles.min(clock), clock),
        (BusyTime::Accounted { more_than }, _) if then.total != 0 && now.total != 0 => {
            match now.total.saturating_sub(then.total) {
                total if total > more_than => (now.busy.saturating_sub(then.busy).min(total), total),
                _ => (0, 0),
            }
        }
        _ => (0, 0),
    };
    let mut measured = Measured { busy_ticks: busy, elapsed_ticks: total, ..Measured::default() };
    let Some(counts) = counts else {
        let state = match meaning.has_counters {
            true => ProcessorState::NeverRan,
            false => ProcessorState::NoCounters,
        };
        if meaning.has_counters {
            measured.enabled_ns = now.counts().enabled_ns.saturating_sub(then.counts().enabled_ns);
        }
        return ProcessorData { state, measured };
    };
    measured.instructions = counts.instructions;
    measured.core_cycles = counts.cycles;
    measured.enabled_ns = counts.enabled_ns;
    measured.running_ns = counts.running_ns;
    let cycles_with_idle = if meaning.clock_counts_cycles {
        Some(clock)
    } else {
        (meaning.in_idle == InIdle::Counts).then_some(counts.cycles)
    };
    match cycles_with_idle {
        Some(cycles) => {
            measured.cycles = cycles;
            measured.cycles_scaled = share(cycles, busy, total);
        }
        // The counter halts in idle: it counts busy cycles, and the busy share extends them to elapsed cycles.
        None => {
            measured.cycles = share(counts.cycles, total, busy);
            measured.cycles_scaled = counts.cycles;
        }
    }
    ProcessorData { state: ProcessorState::Measured, measured }
}

/// The counts of a thread between two readings. If counters were enabled but never ran, only `enabled_ns` is not 0.
pub(crate) fn counts(then: &Reading, now: &Reading, has_reference: bool) -> Counts {
    let Some(since) = now.since(then) else {
        let enabled_ns = now.enabled_ns.saturating_sub(then.enabled_ns);
        return Counts { enabled_ns, ..Counts::default() };
    };
    Counts {
        instructions: since.instructions,
        cycles: if has_reference { since.reference_cycles } else { since.cycles },
        core_cycles: since.cycles,
        enabled_ns: since.enabled_ns,
        running_ns: since.running_ns,
    }
}

/// `value * numerator / denominator`, rounded to nearest; 0 if the denominator is 0.
fn share(value: u64, numerator: u64, denominator: u64) -> u64 {
    if denominator == 0 {
        return 0;
    }
    let scaled =
        (u128::from(value) * u128::from(numerator) + u128::from(denominator / 2)) / u128::from(denominator);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The busy share of an interval of `milliseconds` without counters, for which the kernel accounted `busy` of `total` steps.
    fn busy_percent(milliseconds: u64, busy: u64, total: u64) -> Option<f64> {
        let at = |milliseconds: u64, busy: u64, total: u64| Snapshot {
            ticks: milliseconds * 1_000_000,
            far_ticks: milliseconds * 1_000_000,
            now: Duration::from_millis(milliseconds),
            thread: RawReading::default(),
            processors: vec![ProcessorReading { busy, total, ..ProcessorReading::default() }; 2],
        };
        let meaning = Meaning {
            clock_counts_cycles: true,
            in_idle: InIdle::Counts,
            is_scaled: true,
            has_counters: false,
        };
        let mut data = CpiData::default();
        let (start, end) = (at(5, 70, 900), at(5 + milliseconds, 70 + busy, 900 + total));
        measure(&start, &end, meaning, &mut data, &mut Vec::new());
        assert_eq!(data.processors[0].measured.busy_percent(), data.system.busy_percent());
        data.system.busy_percent()
    }

    #[test]
    fn an_interval_shorter_than_an_accounting_step_has_no_busy_share() {
        assert_eq!(busy_percent(3, 0, 0), None);
        // A step of idle time ended in the interval, but it began before, so it says nothing about these 3 ms.
        assert_eq!(busy_percent(3, 0, 1), None);
        assert_eq!(busy_percent(9, 1, 2), None);
        assert_eq!(busy_percent(10, 0, 1), Some(0.0));
        assert_eq!(busy_percent(20, 1, 2), Some(50.0));
    }
}
