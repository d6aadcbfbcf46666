//! What was measured of each processor, summed up over the intervals.

use crate::{CpiData, Measured, ProcessorState};

/// The sums of a processor, or of several. None of them ever falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Sums {
    pub(super) instructions: u64,
    /// Elapsed cycles.
    pub(super) cycles: u64,
    /// The instructions that belong to `cycles`.
    pub(super) elapsed_instructions: u64,
    pub(super) core_cycles: u64,
    pub(super) enabled_ns: u64,
    pub(super) running_ns: u64,
    /// Cycles scaled to busy.
    pub(super) busy_cycles: u64,
    /// The instructions that belong to `busy_cycles`.
    pub(super) busy_instructions: u64,
    /// What no busy share is known of yet.
    waiting: Waiting,
    /// What no elapsed cycles are known of yet.
    unseen: Unseen,
}

/// Counts of intervals of a processor whose cycle counter halts in idle, and which was not seen busy: their elapsed cycles are
/// made with those of the interval that ends them, so that they are right over any stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Unseen {
    core_cycles: u64,
    instructions: u64,
    elapsed_ticks: u64,
}

/// Counts of intervals in which no busy time was seen, though instructions were executed: too short for the account of busy
/// time, or idle but for less than a step of it. They are told with the interval that ends them, by the share of all their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Waiting {
    cycles: u64,
    instructions: u64,
    elapsed_ticks: u64,
    /// Of those of which not even that is known how long they were in the account of busy time.
    enabled_ns: u64,
}

/// An interval longer than this is not too short for a busy share: the machine does not tell it.
const MOST_WAITING_NS: u64 = 1_000_000_000;

impl Sums {
    fn add_interval(&mut self, measured: &Measured) {
        add(&mut self.instructions, measured.instructions);
        add(&mut self.core_cycles, measured.core_cycles);
        add(&mut self.enabled_ns, measured.enabled_ns);
        add(&mut self.running_ns, measured.running_ns);
        self.add_elapsed(measured);
        if measured.cycles_scaled == 0 && measured.instructions > 0 {
            self.waiting.add(&Waiting {
                cycles: measured.cycles,
                instructions: measured.instructions,
                elapsed_ticks: measured.elapsed_ticks,
                enabled_ns: if measured.elapsed_ticks == 0 { measured.enabled_ns } else { 0 },
            });
            return;
        }
        let Waiting { cycles, instructions, elapsed_ticks, .. } = std::mem::take(&mut self.waiting);
        let scaled = match instructions {
            0 => measured.cycles_scaled,
            _ => {
                // All of them by the share of all their time.
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
            add(&mut self.unseen.core_cycles, measured.core_cycles);
            add(&mut self.unseen.instructions, measured.instructions);
            add(&mut self.unseen.elapsed_ticks, measured.elapsed_ticks);
            return;
        }
        let unseen = std::mem::take(&mut self.unseen);
        let cycles = match unseen.core_cycles {
            0 => measured.cycles,
            core_cycles => {
                let core_cycles = u128::from(core_cycles) + u128::from(measured.core_cycles);
                let elapsed = u128::from(unseen.elapsed_ticks) + u128::from(measured.elapsed_ticks);
                let cycles = core_cycles.saturating_mul(elapsed) / u128::from(measured.busy_ticks.max(1));
                u64::try_from(cycles).unwrap_or(u64::MAX)
            }
        };
        add(&mut self.cycles, cycles);
        add(&mut self.elapsed_instructions, unseen.instructions);
        add(&mut self.elapsed_instructions, measured.instructions);
    }

    fn add_other(&mut self, other: &Self) {
        add(&mut self.instructions, other.instructions);
        add(&mut self.cycles, other.cycles);
        add(&mut self.elapsed_instructions, other.elapsed_instructions);
        add(&mut self.core_cycles, other.core_cycles);
        add(&mut self.enabled_ns, other.enabled_ns);
        add(&mut self.running_ns, other.running_ns);
        add(&mut self.busy_cycles, other.busy_cycles);
        add(&mut self.busy_instructions, other.busy_instructions);
    }
}

impl Waiting {
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

/// The sums of all processors.
#[derive(Debug, Default)]
pub(super) struct ProcessorSums {
    /// By processor number.
    processors: Vec<Processor>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Processor {
    /// As of the last interval.
    state: ProcessorState,
    sums: Sums,
}

/// What is to be told of some processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) sums: Sums,
    /// Why there are no counts up to now, if so.
    pub(super) no_counts: Option<NoCounts>,
    /// Whether a busy share is known.
    pub(super) has_busy_share: bool,
}

/// Why a processor has no counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCounts {
    /// Its counters did not run.
    NeverRan,
    /// It has none.
    NoCounters,
}

impl ProcessorSums {
    /// Takes the processors as they are at the begin of the first interval: nothing is added up.
    pub(super) fn begin(&mut self, data: &CpiData) {
        self.see(data, false);
    }

    /// Adds an interval. Of processors whose counters never ran in it nothing is added: the next one covers both.
    pub(super) fn add(&mut self, data: &CpiData) {
        self.see(data, true);
    }

    fn see(&mut self, data: &CpiData, adds: bool) {
        if self.processors.len() < data.processors.len() {
            self.processors.resize_with(data.processors.len(), Processor::default);
        }
        for (number, processor) in self.processors.iter_mut().enumerate() {
            let now = data.processors.get(number).copied().unwrap_or_default();
            processor.state = match now.state {
                // What is told at the begin is 0, which holds whether or not the counters run.
                ProcessorState::NeverRan if !adds => ProcessorState::Measured,
                state => state,
            };
            if adds && now.state == ProcessorState::Measured {
                processor.sums.add_interval(&now.measured);
            }
        }
    }

    /// The numbers of the processors that are online.
    pub(super) fn online(&self) -> impl Iterator<Item = u32> {
        let processors = (0..).zip(&self.processors);
        processors
            .filter(|(_, processor)| processor.state != ProcessorState::Offline)
            .map(|(number, _)| number)
    }

    /// The sums over the processors of these numbers, those included that are offline now.
    pub(super) fn over(&self, numbers: &[u32]) -> Told {
        let mut told = Told { sums: Sums::default(), no_counts: None, has_busy_share: true };
        for &number in numbers {
            let Some(Processor { state, sums }) = self.processors.get(number as usize) else { continue };
            told.sums.add_other(sums);
            match state {
                ProcessorState::Measured => told.has_busy_share &= sums.waiting.enabled_ns < MOST_WAITING_NS,
                ProcessorState::NeverRan => told.no_counts = Some(NoCounts::NeverRan),
                ProcessorState::NoCounters => {
                    told.no_counts.get_or_insert(NoCounts::NoCounters);
                }
                ProcessorState::Offline => {}
            }
        }
        told
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

    /// 2 GHz, one cycle per instruction, busy for 4 ms of each second, which the kernel sees as a tick of 10 ms in two of
    /// five seconds.
    #[test]
    fn elapsed_cycles_of_a_processor_that_is_hardly_busy() {
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
        let cpi = sums.cycles as f64 / sums.elapsed_instructions as f64;
        // As right as ticks of 10 ms are, and not 100, which the seen intervals alone would give.
        assert!((240.0..265.0).contains(&cpi), "{cpi}: 250 cycles elapse per instruction");
        assert_eq!((sums.busy_cycles, sums.busy_instructions), (8_000_000_000, 8_000_000_000));
    }

    #[test]
    fn the_begin_adds_nothing_and_fails_nothing() {
        let mut sums = ProcessorSums::default();
        sums.begin(&data(&[(Ran, measured(7)), (NeverRan, measured(7)), (Offline, measured(7))]));
        let told = sums.over(&[0, 1, 2]);
        assert_eq!(told, Told { sums: Sums::default(), no_counts: None, has_busy_share: true });
        assert_eq!(online(&sums), [0, 1]);
    }

    #[test]
    fn intervals_add_up_and_totals_are_sums() {
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(2))]));
        sums.add(&data(&[(Ran, measured(4)), (Ran, measured(8))]));
        let one = sums.over(&[1]).sums;
        assert_eq!((one.instructions, one.cycles, one.core_cycles), (10_000, 30_000, 20_000));
        assert_eq!((one.enabled_ns, one.running_ns), (100, 50));
        assert_eq!((one.busy_cycles, one.busy_instructions), (15_000, 10_000));
        let both = sums.over(&[0, 1]).sums;
        assert_eq!((both.instructions, both.busy_cycles, both.running_ns), (15_000, 22_500, 75));
    }

    #[test]
    fn a_processor_whose_counters_never_ran_adds_nothing() {
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(1))]));
        sums.add(&data(&[(Ran, measured(1)), (NeverRan, Measured { enabled_ns: 9, ..Measured::default() })]));
        assert_eq!(sums.over(&[0]).no_counts, None);
        assert_eq!(sums.over(&[1]).no_counts, Some(NoCounts::NeverRan));
        assert_eq!(sums.over(&[0, 1]).no_counts, Some(NoCounts::NeverRan));
        assert_eq!(sums.over(&[1]).sums.enabled_ns, 10);
        // The next interval covers both.
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(2))]));
        assert_eq!(sums.over(&[0, 1]).no_counts, None);
        assert_eq!(sums.over(&[1]).sums.enabled_ns, 30);
    }

    #[test]
    fn a_processor_that_goes_keeps_its_part_of_the_total() {
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(1)), (NoCounters, Measured::default())]));
        assert_eq!(online(&sums), [0, 1, 2]);
        assert_eq!(sums.over(&[0, 2]).no_counts, Some(NoCounts::NoCounters));
        // The list may become shorter as well.
        for gone in [data(&[(Ran, measured(1)), (Offline, measured(5))]), data(&[(Ran, measured(1))])] {
            sums.add(&gone);
            assert_eq!(online(&sums), [0]);
        }
        assert_eq!(sums.over(&[0, 1, 2]).sums.instructions, 4000);
        assert_eq!(sums.over(&[0, 1, 2]).no_counts, None);
    }

    #[test]
    fn what_is_too_short_for_a_busy_share_takes_that_of_the_next_interval() {
        let short = Measured { busy_ticks: 0, elapsed_ticks: 0, cycles_scaled: 0, ..measured(2) };
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, short)]));
        sums.add(&data(&[(Ran, short)]));
        let told = sums.over(&[0]);
        assert_eq!((told.sums.cycles, told.sums.instructions), (12_000, 4000));
        assert_eq!((told.sums.busy_cycles, told.sums.busy_instructions), (0, 0));
        assert!(told.has_busy_share);
        let next = Measured { busy_ticks: 1, elapsed_ticks: 4, cycles_scaled: 750, ..measured(1) };
        sums.add(&data(&[(Ran, next)]));
        let told = sums.over(&[0]).sums;
        assert_eq!((told.busy_cycles, told.busy_instructions), (3000 + 750, 5000));
    }

    #[test]
    fn a_second_without_a_busy_share_is_no_short_interval() {
        let half = Measured { elapsed_ticks: 0, cycles_scaled: 0, enabled_ns: 500_000_000, ..measured(1) };
        let mut sums = ProcessorSums::default();
        sums.add(&data(&[(Ran, half), (Ran, measured(1))]));
        assert!(sums.over(&[0, 1]).has_busy_share);
        sums.add(&data(&[(Ran, half), (Ran, measured(1))]));
        assert!(!sums.over(&[0, 1]).has_busy_share && sums.over(&[1]).has_busy_share);
        sums.add(&data(&[(Ran, measured(1)), (Ran, measured(1))]));
        assert!(sums.over(&[0, 1]).has_busy_share);
    }

    #[test]
    fn nothing_overflows() {
        let most = Measured {
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
        for measured in [Measured { elapsed_ticks: 0, cycles_scaled: 0, ..most }, most, most] {
            sums.add(&data(&[(Ran, measured), (Ran, measured)]));
        }
        assert_eq!(sums.over(&[0, 1]).sums.busy_cycles, u64::MAX);
    }
}
