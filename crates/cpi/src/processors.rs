//! The counters of all processors: opened by the first [`Cpi`](crate::Cpi) in this process, closed when the last one is
//! dropped, and only read in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;

use rustix::io::Errno;
use tachograph_counters::IgnorePoison;

use crate::describe::{self, Requested};
use crate::event::{Excluded, Target};
use crate::group::{Group, OpenError, ReadFailure, Reading};
use crate::instance::Events;
use crate::kernel::{GROUP_WORDS, Kernel, clock_ticks};
use crate::plan::Plans;
use crate::{Error, ErrorKind};

/// The counters of all processors.
#[derive(Debug)]
pub(crate) struct Processors {
    kernel: Arc<dyn Kernel>,
    plans: Plans,
    user_only: bool,
    groups: RwLock<OpenGroups>,
    /// Whether the one-time probe of idle processors has run.
    has_probed: AtomicBool,
}

/// One group per online processor, by processor id.
#[derive(Debug, Default)]
struct OpenGroups {
    by_id: Vec<Option<OpenGroup>>,
    /// How many times the counters of a processor were opened so far, for all processors together.
    open_count: u32,
}

/// The open counters of a processor.
#[derive(Debug)]
struct OpenGroup {
    group: Group,
    /// The number of the opening that created these counters: 1 for the first one of any processor. Counts of different openings
    /// must not be subtracted from each other.
    opening: u32,
    /// Whether the group counts unhalted reference cycles, that is, busy time.
    has_unhalted: bool,
}

/// A reading of a processor's counters and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct ProcessorReading {
    /// The [`OpenGroup::opening`] of the counters that were read; 0 if there are none.
    pub(crate) opening: u32,
    /// The words that the kernel returned. They are evaluated later, away from the measured region.
    pub(crate) words: [u64; GROUP_WORDS],
    /// The clock before and after the counters were read.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Whether the words contain unhalted reference cycles.
    pub(crate) has_unhalted: bool,
    /// Whether the kernel has split the group, because its processor was offline.
    pub(crate) is_split: bool,
    /// Busy and total time, if requested; 0 if the processor is offline.
    pub(crate) busy: u64,
    pub(crate) total: u64,
}

impl ProcessorReading {
    pub(crate) fn counts(&self) -> Reading {
        Reading::from_words(&self.words)
    }
}

/// Whether the cycle counter runs while its processor is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum InIdle {
    /// Unknown, because no processor was idle so far.
    Unknown,
    /// The counter runs in idle.
    Counts,
    /// The counter halts in idle.
    Halts,
}

/// The fields are: whether only user code is counted; the events; the counters.
type Shared = (bool, Events, Weak<Processors>);

/// The counters that are currently in use.
static SHARED: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// More cycles per nanosecond than any core has.
const MAX_CYCLES_PER_NS: u128 = 7;

/// How long an idle processor is observed, once.
const PROBE_TIME: Duration = Duration::from_millis(20);

impl Processors {
    /// The counters that all [`Cpi`](crate::Cpi)s in this process share.
    pub(crate) fn shared(
        kernel: &Arc<dyn Kernel>,
        events: Events,
        user_only: bool,
    ) -> Result<Arc<Self>, Error> {
        let mut shared = SHARED.lock().ignore_poison();
        shared.retain(|(_, _, processors)| processors.strong_count() > 0);
        let known = shared.iter().filter(|(only, of, _)| (*only, *of) == (user_only, events));
        let mut in_use = known.filter_map(|(_, _, processors)| processors.upgrade());
        if let Some(processors) = in_use.find(|processors| Arc::ptr_eq(&processors.kernel, kernel)) {
            return Ok(processors);
        }
        let processors = Arc::new(Self::open(kernel, events, user_only)?);
        shared.push((user_only, events, Arc::downgrade(&processors)));
        Ok(processors)
    }

    /// Opens the counters of every online processor.
    pub(crate) fn open(kernel: &Arc<dyn Kernel>, events: Events, user_only: bool) -> Result<Self, Error> {
        let processors = Self {
            kernel: Arc::clone(kernel),
            plans: Plans::new(&**kernel, events),
            user_only,
            groups: RwLock::default(),
            has_probed: AtomicBool::new(false),
        };
        let mut online = Vec::new();
        processors.update_online(&mut online)?;
        Ok(processors)
    }

    fn excluded_code(&self) -> Excluded {
        if self.user_only { Excluded::KernelAndHypervisor } else { Excluded::Nothing }
    }

    /// Whether the kernel's work is excluded: true if this was requested and the hardware supports it.
    pub(crate) fn is_user_only(&self) -> bool {
        let groups = self.groups.read().ignore_poison();
        self.user_only && groups.by_id.iter().flatten().all(|open| open.group.excluded != Excluded::Nothing)
    }

    /// Whether all processors have a counter of busy time.
    pub(crate) fn has_unhalted(&self) -> bool {
        let groups = self.groups.read().ignore_poison();
        groups.by_id.iter().flatten().all(|open| open.has_unhalted)
    }

    /// Opens the counters of processors that came online, and closes those of offline ones.
    fn refresh(&self, online: &[u32]) -> Result<(), Error> {
        let mut groups = self.groups.write().ignore_poison();
        for (id, open) in (0_u32..).zip(&mut groups.by_id) {
            if !online.contains(&id) {
                *open = None;
            }
        }
        for &id in online {
            if groups.by_id.get(id as usize).is_none_or(Option::is_none) {
                self.open_processor(&mut groups, id, online.len())?;
            }
        }
        Ok(())
    }

    fn open_processor(&self, groups: &mut OpenGroups, id: u32, processors: usize) -> Result<(), Error> {
        let index = id as usize;
        if groups.by_id.len() <= index {
            groups.by_id.resize_with(index + 1, || None);
        }
        match self.open_group(id) {
            Ok(group) => {
                groups.open_count += 1;
                let (opening, has_unhalted) = (groups.open_count, group.has_reference_cycles());
                groups.by_id[index] = Some(OpenGroup { group, opening, has_unhalted });
                Ok(())
            }
            // The processor has just gone offline.
            Err(OpenError { errno: Errno::NODEV | Errno::NXIO, .. }) => Ok(()),
            Err(refusal) => {
                let target = Target::Processor(id);
                let requested = Requested {
                    target,
                    user_only: self.user_only,
                    targets: processors,
                    files_each: self.plans.files_each(),
                };
                Err(describe::open_error(&*self.kernel, refusal, requested))
            }
        }
    }

    fn open_group(&self, id: u32) -> Result<Group, OpenError> {
        let target = Target::Processor(id);
        let excluded = self.excluded_code();
        let mut first = None;
        for plan in self.plans.for_processor(id, excluded) {
            match Group::open(&self.kernel, &plan, target, excluded) {
                Ok(group) if group.has_reference_cycles() || plan.reference_cycles.is_none() => {
                    return Ok(group);
                }
                Ok(_) => {}
                Err(refusal) => {
                    first.get_or_insert(refusal);
                    // Another plan can succeed only after one of these errors.
                    if !matches!(refusal.errno, Errno::NOENT | Errno::INVAL | Errno::OPNOTSUPP) {
                        break;
                    }
                }
            }
        }
        Err(first.unwrap_or(OpenError { event: "cycles", errno: Errno::NOENT }))
    }

    /// Opens the counters of processors that came online, and closes those of offline ones; `online` is a reused
    /// buffer.
    pub(crate) fn update_online(&self, online: &mut Vec<u32>) -> Result<(), Error> {
        self.kernel.online(online).map_err(|reason| Error::new(ErrorKind::System, reason))?;
        let is_unchanged = {
            let groups = self.groups.read().ignore_poison();
            let is_open = |id: u32| groups.by_id.get(id as usize).is_some_and(Option::is_some);
            let count = groups.by_id.iter().flatten().count();
            online.len() == count && online.iter().all(|&id| is_open(id))
        };
        if is_unchanged { Ok(()) } else { self.refresh(online) }
    }

    /// Reads the counters of all processors, and leaves busy times unchanged. Returns whether all groups are intact.
    #[inline]
    pub(crate) fn read(&self, into: &mut Vec<ProcessorReading>) -> Result<bool, Error> {
        let groups = self.groups.read().ignore_poison();
        if into.len() != groups.by_id.len() {
            into.resize(groups.by_id.len(), ProcessorReading::default());
        }
        let mut are_intact = true;
        for (index, (open, reading)) in groups.by_id.iter().zip(into).enumerate() {
            let Some(open) = open else {
                *reading = ProcessorReading::default();
                continue;
            };
            reading.opening = open.opening;
            reading.has_unhalted = open.has_unhalted;
            reading.is_split = false;
            reading.before = clock_ticks(&*self.kernel);
            match open.group.read_words(&mut reading.words) {
                Ok(()) => reading.after = clock_ticks(&*self.kernel),
                Err(ReadFailure::Split) => (reading.is_split, are_intact) = (true, false),
                Err(failure) => {
                    return Err(describe::read_error(failure, Target::Processor(index as u32)));
                }
            }
        }
        Ok(are_intact)
    }

    /// Removes from the readings the processors that are offline, or were offline since their counters were opened. In
    /// the second case the counters are reopened.
    pub(crate) fn remove_offline(&self, readings: &mut [ProcessorReading], online: &[u32]) {
        for (id, reading) in (0_u32..).zip(readings) {
            if reading.is_split {
                // If reopening fails, the next reading tries again and reports the error.
                let _ = self.reopen(id, reading.opening);
            }
            if reading.is_split || !online.contains(&id) {
                reading.opening = 0;
            }
        }
    }

    /// Reopens the counters of a processor, unless they have been reopened since `opening` was read. After an offline period,
    /// the old counters stay halted.
    pub(crate) fn reopen(&self, id: u32, opening: u32) -> Result<(), Error> {
        let mut groups = self.groups.write().ignore_poison();
        let processors = groups.by_id.len();
        match groups.by_id.get_mut(id as usize) {
            Some(open) if open.as_ref().is_some_and(|open| open.opening == opening) => *open = None,
            _ => return Ok(()),
        }
        self.open_processor(&mut groups, id, processors)
    }

    /// Whether the cycle counter runs in idle.
    pub(crate) fn in_idle(&self) -> InIdle {
        // User code is never idle.
        if self.user_only {
            return InIdle::Halts;
        }
        match self.kernel.in_idle().load(Ordering::Relaxed) {
            1 => InIdle::Counts,
            2 => InIdle::Halts,
            _ => InIdle::Unknown,
        }
    }

    /// Determines whether the cycle counter runs in idle, if that is unknown. The given interval is examined first. If
    /// that is inconclusive, this thread sleeps for [`PROBE_TIME`], once, and the processors are observed during this
    /// time.
    pub(crate) fn observe_idle(
        &self,
        start: &[ProcessorReading],
        end: &[ProcessorReading],
    ) -> Result<(), Error> {
        self.decide_idle(start, end);
        if self.in_idle() == InIdle::Unknown && !self.has_probed.swap(true, Ordering::Relaxed) {
            let (mut start, mut end) = (Vec::new(), Vec::new());
            self.read(&mut start)?;
            self.kernel.sleep(PROBE_TIME);
            self.read(&mut end)?;
            self.decide_idle(&start, &end);
        }
        Ok(())
    }

    /// Determines whether the cycle counter runs in idle, if this interval shows it.
    fn decide_idle(&self, start: &[ProcessorReading], end: &[ProcessorReading]) {
        if self.in_idle() != InIdle::Unknown {
            return;
        }
        let mut least_busy: Option<Observation> = None;
        let mut most_busy: Option<Observation> = None;
        let pairs = start.iter().zip(end);
        for (then, now) in pairs.filter(|(then, now)| now.opening != 0 && then.opening == now.opening) {
            let Some(counts) = now.counts().since(&then.counts()) else { continue };
            let total = if then.total == 0 { 0 } else { now.total.saturating_sub(then.total) };
            let observed = Observation { counts, busy: now.busy.saturating_sub(then.busy).min(total), total };
            self.set_in_idle(decide_from_one(&observed));
            if least_busy.is_none_or(|least_busy| observed.busy < least_busy.busy) {
                least_busy = Some(observed);
            }
            if most_busy.is_none_or(|most_busy| observed.busy > most_busy.busy) {
                most_busy = Some(observed);
            }
        }
        if let (Some(least_busy), Some(most_busy)) = (least_busy, most_busy) {
            self.set_in_idle(decide_from_two(&least_busy, &most_busy));
        }
    }

    /// Stores the answer, unless it is inconclusive or an answer is already known.
    fn set_in_idle(&self, decided: InIdle) {
        if decided != InIdle::Unknown && self.in_idle() == InIdle::Unknown {
            self.kernel.in_idle().store(decided as u8, Ordering::Relaxed);
        }
    }
}

/// The counts of a processor in an interval, and its busy and total time (0 if unknown).
#[derive(Clone, Copy, Debug)]
struct Observation {
    counts: Reading,
    busy: u64,
    total: u64,
}

/// Decides from two processors, if one of them was busy for much longer. Equal cycles on both mean that the counter runs
/// in idle; cycles in proportion to busy time mean that it halts.
fn decide_from_two(least_busy: &Observation, most_busy: &Observation) -> InIdle {
    let is_clear = least_busy.total > 0 && most_busy.busy >= 20 && most_busy.busy / 2 > least_busy.busy;
    if !is_clear || least_busy.counts.cycles == 0 {
        return InIdle::Unknown;
    }
    let cycles_ratio = most_busy.counts.cycles as f64 / least_busy.counts.cycles as f64;
    let busy_ratio = most_busy.busy as f64 / (least_busy.busy as f64 + 1.0);
    if (0.95..1.05).contains(&cycles_ratio) {
        InIdle::Counts
    } else if cycles_ratio > 0.8 * busy_ratio {
        InIdle::Halts
    } else {
        InIdle::Unknown
    }
}

/// Decides from one processor, if it was idle or its cycles exceed what its busy time allows.
fn decide_from_one(observed: &Observation) -> InIdle {
    let Observation { counts: Reading { enabled_ns, cycles, instructions, .. }, busy, total } = *observed;
    // If there are more cycles than any core can have in its busy time, plus one tick, the counter runs in idle.
    let max_in_busy_time = u128::from(enabled_ns) * MAX_CYCLES_PER_NS * u128::from(busy + 1);
    if total > 0 && u128::from(cycles) * u128::from(total) > max_in_busy_time {
        return InIdle::Counts;
    }
    // A processor that executed fewer than 10 instructions per microsecond was idle.
    let is_idle = enabled_ns >= 1_000_000 && instructions.saturating_mul(100) < enabled_ns;
    if !is_idle {
        InIdle::Unknown
    } else if cycles >= enabled_ns / 10 && cycles >= instructions.saturating_mul(50) {
        // The cycle counter ran at 100 MHz or more, although hardly any instruction was executed.
        InIdle::Counts
    } else if cycles < enabled_ns / 20 {
        InIdle::Halts
    } else {
        InIdle::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_show_whether_the_counter_runs_in_idle() {
        let reading = |cycles, instructions| Reading {
            enabled_ns: 20_000_000,
            running_ns: 20_000_000,
            cycles,
            instructions,
            reference_cycles: 0,
        };
        let decide = |counts: &Reading| decide_from_one(&Observation { counts: *counts, busy: 0, total: 0 });
        // Numbers of an emulated processor whose counter runs in idle.
        assert_eq!(decide(&reading(20_000_000, 40_000)), InIdle::Counts);
        // A few wake-ups on a processor whose counter halts.
        assert_eq!(decide(&reading(150_000, 100_000)), InIdle::Halts);
        // A busy processor, which is inconclusive.
        assert_eq!(decide(&reading(60_000_000, 30_000_000)), InIdle::Unknown);
        // The processor was briefly busy with slow code.
        assert_eq!(decide(&reading(3_000_000, 150_000)), InIdle::Unknown);
    }

    /// For machines whose instruction counts are inconclusive, such as an emulated one with several processors.
    #[test]
    fn busy_shares_show_whether_the_counter_runs_in_idle() {
        let second = Reading {
            enabled_ns: 1_000_000_000,
            running_ns: 1_000_000_000,
            cycles: 1_000_000_000,
            instructions: 500_000_000,
            reference_cycles: 0,
        };
        let observed = |busy, total| Observation { counts: second, busy, total };
        assert_eq!(decide_from_one(&observed(1, 100)), InIdle::Counts);
        // If the processor was busy half of the time, all cycles (1 GHz) can be from busy time, which is inconclusive.
        assert_eq!(decide_from_one(&observed(50, 100)), InIdle::Unknown);
        assert_eq!(decide_from_one(&observed(0, 0)), InIdle::Unknown);
        // Equal cycles on two processors, one busy for a quarter of the time and the other all the time.
        assert_eq!(decide_from_two(&observed(25, 100), &observed(100, 100)), InIdle::Counts);
        let quarter = Reading { cycles: 260_000_000, ..second };
        let quarter = Observation { counts: quarter, busy: 25, total: 100 };
        assert_eq!(decide_from_two(&quarter, &observed(100, 100)), InIdle::Halts);
        assert_eq!(decide_from_two(&observed(60, 100), &observed(100, 100)), InIdle::Unknown);
    }
}
