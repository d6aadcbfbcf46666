//! Totals of each processor's measurements over all intervals.

use crate::{CpiData, Measured, ProcessorState};

/// Running totals of one or more processors. They never decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Sums {
    pub(super) instructions: u64,
    /// Cycles that elapsed while a processor was busy or idle.
    pub(super) elapsed_cycles: u64,
    /// The instructions of the intervals that `elapsed_cycles` includes. `instructions` also includes intervals whose elapsed
    /// cycles are not known yet.
    pub(super) elapsed_instructions: u64,
    pub(super) core_cycles: u64,
    pub(super) enabled_ns: u64,
    pub(super) running_ns: u64,
    /// `elapsed_cycles` scaled by the busy share.
    pub(super) busy_cycles: u64,
    /// The instructions of the intervals that `busy_cycles` includes.
    pub(super) busy_instructions: u64,
    /// Counts whose busy share is not known yet.
    without_busy_share: WithoutBusyShare,
    /// Counts whose elapsed cycles are not known yet.
    without_elapsed: WithoutElapsed,
}

/// Counts of intervals in which a processor's cycle counter halted in idle and no busy time was observed. Their elapsed
/// cycles are computed together with the next interval that has busy time, so that totals are right over any time
/// range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct WithoutElapsed {
    core_cycles: u64,
    instructions: u64,
    elapsed_ticks: u64,
}

/// Counts of intervals in which instructions were executed but no busy time was accounted: the interval, or its busy
/// time, was shorter than one step (10 ms) of the kernel's accounting. They are added together with the next interval
/// that has busy time, scaled by the busy share of the combined time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct WithoutBusyShare {
    cycles: u64,
    instructions: u64,
    elapsed_ticks: u64,
    /// Enabled time of the intervals whose total time is unknown too.
    enabled_ns: u64,
}

/// If the busy share is still unknown after this much counted time, the machine is considered to provide none.
const MAX_WAITING_NS: u64 = 1_000_000_000;

impl Sums {
    fn add_interval(&mut self, measured: &Measured) {
        add(&mut self.instructions, measured.instructions);
        add(&mut self.core_cycles, measured.core_cycles);
        add(&mut self.enabled_ns, measured.enabled_ns);
        add(&mut self.running_ns, measured.running_ns);
        self.add_elapsed(measured);
        if measured.cycles_scaled == 0 && measured.instructions > 0 {
            self.without_busy_share.add(&WithoutBusyShare {
                cycles: measured.cycles,
                instructions: measured.instructions,
                elapsed_ticks: measured.elapsed_ticks,
                enabled_ns: if measured.elapsed_ticks == 0 { measured.enabled_ns } else { 0 },
            });
            return;
        }
        let WithoutBusyShare { cycles, instructions, elapsed_ticks, .. } =
            std::mem::take(&mut self.without_busy_share);
        let scaled = match instructions {
            0 => measured.cycles_scaled,
            _ => {
                // Scale all cycles by the busy share of the combined time.
                let cycles = u128::from(cycles) + u128::from(measured.cycles);
                let elapsed = u128::from(elapsed_ticks) + u128::from(measured.elapsed_ticks);
                let scaled = cycles.saturating_mul(measured.busy_ticks.into()) / elapsed.max(1);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        };
        add(&mut self.busy_cycles, scaled);
        add(&mut self.busy_instructions, instructions);
        add(&mut self.busy_instructions, measured.instructions);
    }

    fn add_elapsed(&mut self, measured: &Measured) {
        if measured.cycles == 0 && measured.core_cycles > 0 {
            add(&mut self.without_elapsed.core_cycles, measured.core_cycles);
            add(&mut self.without_elapsed.instructions, measured.instructions);
            add(&mut self.without_elapsed.elapsed_ticks, measured.elapsed_ticks);
            return;
        }
        let without_elapsed = std::mem::take(&mut self.without_elapsed);
        let cycles = match without_elapsed.core_cycles {
            0 => measured.cycles,
            core_cycles => {
                let core_cycles = u128::from(core_cycles) + u128::from(measured.core_cycles);
                let elapsed = u128::from(without_elapsed.elapsed_ticks) + u128::from(measured.elapsed_ticks);
                let cycles = core_cycles.saturating_mul(elapsed) / u128::from(measured.busy_ticks.max(1));
                u64::try_from(cycles).unwrap_or(u64::MAX)
            }
        };
        add(&mut self.elapsed_cycles, cycles);
        add(&mut self.elapsed_instructions, without_elapsed.instructions);
        add(&mut self.elapsed_instructions, measured.instructions);
    }

    fn add_other(&mut self, other: &Self) {
        add(&mut self.instructions, other.instructions);
        add(&mut self.elapsed_cycles, other.elapsed_cycles);
        add(&mut self.elapsed_instructions, other.elapsed_instructions);
        add(&mut self.core_cycles, other.core_cycles);
        add(&mut self.enabled_ns, other.enabled_ns);
        add(&mut self.running_ns, other.running_ns);
        add(&mut self.busy_cycles, other.busy_cycles);
        add(&mut self.busy_instructions, other.busy_instructions);
    }
}

impl WithoutBusyShare {
    fn add(&mut self, other: &Self) {
        add(&mut self.cycles, other.cycles);
        add(&mut self.instructions, other.instructions);
        add(&mut self.elapsed_ticks, other.elapsed_ticks);
        add(&mut self.enabled_ns, other.enabled_ns);
    }
}

fn add(sum: &mut u64, value: u64) {
    *sum = sum.saturating_add(value);
}

/// The totals of all processors.
#[derive(Debug, Default)]
pub(super) struct ProcessorSums {
    /// Indexed by processor id.
    processors: Vec<Processor>,
}

/// The totals of a processor.
#[derive(Clone, Copy, Debug, Default)]
struct Processor {
    /// The state in the last interval.
    state: ProcessorState,
    sums: Sums,
}

/// Totals over a set of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) sums: Sums,
    /// Why counts are missing in the last interval, if any are.
    pub(super) no_counts: Option<NoCounts>,
    /// Whether the busy shares of all these processors are known.
    pub(super) has_busy_share: bool,
}

/// Why a processor has no counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCounts {
    /// The counters of a processor did not run.
    NeverRan,
    /// A processor has no counters.
    NoCounters,
}

impl ProcessorSums {
    /// Stores the state of the processors at the start of the first interval, without adding counts.
    pub(super) fn begin(&mut self, data: &CpiData) {
        self.update(data, false);
    }

    /// Adds an interval. Processors whose counters never ran are skipped; their next interval includes this one.
    pub(super) fn add(&mut self, data: &CpiData) {
        self.update(data, true);
    }

    fn update(&mut self, data: &CpiData, adds: bool) {
        if self.processors.len() < data.processors.len() {
            self.processors.resize_with(data.processors.len(), Processor::default);
        }
        for (id, processor) in self.processors.iter_mut().enumerate() {
            let now = data.processors.get(id).copied().unwrap_or_default();
            processor.state = match now.state {
                // Before the first interval all totals are 0, so counters that have not run yet are not an error.
                ProcessorState::NeverRan if !adds => ProcessorState::Measured,
                state => state,
            };
            if adds && now.state == ProcessorState::Measured {
                processor.sums.add_interval(&now.measured);
            }
        }
    }

    pub(super) fn online(&self) -> impl Iterator<Item = u32> {
        let processors = (0..).zip(&self.processors);
        processors.filter(|(_, processor)| processor.state != ProcessorState::Offline).map(|(id, _)| id)
    }

    /// Totals over the given processors, including any that are now offline.
    pub(super) fn totals_of(&self, processors: &[u32]) -> Totals {
        let mut totals = Totals { sums: Sums::default(), no_counts: None, has_busy_share: true };
        for &id in processors {
            let Some(Processor { state, sums }) = self.processors.get(id as usize) else { continue };
            totals.sums.add_other(sums);
            match state {
                ProcessorState::Measured => {
                    totals.has_busy_share &= sums.without_busy_share.enabled_ns < MAX_WAITING_NS
                }
                ProcessorState::NeverRan => totals.no_counts = Some(NoCounts::NeverRan),
                ProcessorState::NoCounters => {
                    totals.no_counts.get_or_insert(NoCounts::NoCounters);
                }
                ProcessorState::Offline => {}
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProcessorData;

    fn measured(number: u64) -> Measured {
        Measured {
            instructions: 1000 * number,
            cycles: 3000 * number,
            cycles_scaled: 1500 * number,
            core_cycles: 2000 * number,
            busy_ticks: 50,
            elapsed_ticks: 100,
            enabled_ns: 10 * number,
            running_ns: 5 * number,
        }
    }

    fn data(processors: &[(ProcessorState, Measured)]) -> CpiData {
        let processors = processors.iter().map(|&(state, measured)| ProcessorData { state, measured });
        CpiData { processors: processors.collect(), ..CpiData::default() }
    }

    use ProcessorState::{Measured as Ran, NeverRan, NoCounters, Offline};

    fn online(sums: &ProcessorSums) -> Vec<u32> {
        sums.online().collect()
    }

    /// A 2 GHz processor that needs one cycle per instruction and is busy for 4 ms of each second. The kernel accounts this as
    /// one 10 ms tick in two of every five seconds.
    #[test]
    fn elapsed_cycles_include_intervals_without_accounted_busy_time() {
        let mut sums = Sums::default();
        for second in 0..1000_u64 {
            let busy_ticks = u64::from(second % 5 == 2) + u64::from(second % 5 == 4);
            let cycles = if busy_ticks > 0 { 8_000_000 * 100 } else { 0 };
            sums.add_interval(&Measured {
                instructions: 8_000_000,
                cycles,
                cycles_scaled: 8_000_000,
                core_cycles: 8_000_000,
                busy_ticks,
                elapsed_ticks: 100,
                ..Measured::default()
            });
        }
        let cpi = sums.elapsed_cycles as f64 / sums.elapsed_instructions as f64;
        // The tolerance is due to the 10 ms ticks. If only intervals with busy time were counted, the result would be 100.
        assert!((240.0..265.0).contains(&cpi), "{cpi}: 250 cycles elapse per instruction");
        assert_eq!((sums.busy_cycles, sums.busy_instructions), (8_000_000_000, 8_000_000_000));
    }

    #[test]
    fn the_first_reading_adds_nothing_and_reports_no_error() {
        let mut sums = ProcessorSums::default();
        sums.begin(&data(&[(Ran, measured(7)), (NeverRan, measured(7)), (Offline, measured(7))]));
        let totals = sums.totals_of(&[0, 1, 2]);
        assert_eq!(totals, Totals { sums: Sums::default(), no_counts: None, has_busy_share: true });
        assert_eq!(online(&sums), [0, 1]);
    }

    #[test]
    fn intervals_add_up_and_totals_are_sums() {
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(2))]));
        sums.add(&data(&[(Ran, measured(4)), (Ran, measured(8))]));
        let one = sums.totals_of(&[1]).sums;
        assert_eq!((one.instructions, one.elapsed_cycles, one.core_cycles), (10_000, 30_000, 20_000));
        assert_eq!((one.enabled_ns, one.running_ns), (100, 50));
        assert_eq!((one.busy_cycles, one.busy_instructions), (15_000, 10_000));
        let both = sums.totals_of(&[0, 1]).sums;
        assert_eq!((both.instructions, both.busy_cycles, both.running_ns), (15_000, 22_500, 75));
    }

    #[test]
    fn a_processor_whose_counters_never_ran_adds_nothing() {
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(1))]));
        sums.add(&data(&[(Ran, measured(1)), (NeverRan, Measured { enabled_ns: 9, ..Measured::default() })]));
        assert_eq!(sums.totals_of(&[0]).no_counts, None);
        assert_eq!(sums.totals_of(&[1]).no_counts, Some(NoCounts::NeverRan));
        assert_eq!(sums.totals_of(&[0, 1]).no_counts, Some(NoCounts::NeverRan));
        assert_eq!(sums.totals_of(&[1]).sums.enabled_ns, 10);
        // The next interval includes the skipped one.
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(2))]));
        assert_eq!(sums.totals_of(&[0, 1]).no_counts, None);
        assert_eq!(sums.totals_of(&[1]).sums.enabled_ns, 30);
    }

    #[test]
    fn an_offline_processor_keeps_its_part_of_the_total() {
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(1)), (NoCounters, Measured::default())]));
        assert_eq!(online(&sums), [0, 1, 2]);
        assert_eq!(sums.totals_of(&[0, 2]).no_counts, Some(NoCounts::NoCounters));
        // The list can become shorter too.
        for without_processor_1 in
            [data(&[(Ran, measured(1)), (Offline, measured(5))]), data(&[(Ran, measured(1))])]
        {
            sums.add(&without_processor_1);
            assert_eq!(online(&sums), [0]);
        }
        assert_eq!(sums.totals_of(&[0, 1, 2]).sums.instructions, 4000);
        assert_eq!(sums.totals_of(&[0, 1, 2]).no_counts, None);
    }

    #[test]
    fn intervals_too_short_for_a_busy_share_use_that_of_the_next_interval() {
        let short = Measured { busy_ticks: 0, elapsed_ticks: 0, cycles_scaled: 0, ..measured(2) };
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, short)]));
        sums.add(&data(&[(Ran, short)]));
        let totals = sums.totals_of(&[0]);
        assert_eq!((totals.sums.elapsed_cycles, totals.sums.instructions), (12_000, 4000));
        assert_eq!((totals.sums.busy_cycles, totals.sums.busy_instructions), (0, 0));
        assert!(totals.has_busy_share);
        let next = Measured { busy_ticks: 1, elapsed_ticks: 4, cycles_scaled: 750, ..measured(1) };
        sums.add(&data(&[(Ran, next)]));
        let totals = sums.totals_of(&[0]).sums;
        assert_eq!((totals.busy_cycles, totals.busy_instructions), (3000 + 750, 5000));
    }

    #[test]
    fn after_a_second_without_a_busy_share_it_is_considered_missing() {
        let half = Measured { elapsed_ticks: 0, cycles_scaled: 0, enabled_ns: 500_000_000, ..measured(1) };
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, half), (Ran, measured(1))]));
        assert!(sums.totals_of(&[0, 1]).has_busy_share);
        sums.add(&data(&[(Ran, half), (Ran, measured(1))]));
        assert!(!sums.totals_of(&[0, 1]).has_busy_share && sums.totals_of(&[1]).has_busy_share);
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(1))]));
        assert!(sums.totals_of(&[0, 1]).has_busy_share);
    }

    #[test]
    fn nothing_overflows() {
        let max = Measured {
            instructions: u64::MAX,
            cycles: u64::MAX,
            cycles_scaled: u64::MAX,
            core_cycles: u64::MAX,
            busy_ticks: u64::MAX,
            elapsed_ticks: 1,
            enabled_ns: u64::MAX,
            running_ns: u64::MAX,
        };
        let mut sums = ProcessorSums::default();
        for measured in [Measured { elapsed_ticks: 0, cycles_scaled: 0, ..max }, max, max] {
            sums.add(&data(&[(Ran, measured), (Ran, measured)]));
        }
        assert_eq!(sums.totals_of(&[0, 1]).sums.busy_cycles, u64::MAX);
    }
}
