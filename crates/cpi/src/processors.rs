//! The counters of all processors: opened by the first instance of the process, closed with the last, only read between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use rustix::io::Errno;

use crate::describe::{self, Asked};
use crate::event::{Excluded, Target};
use crate::group::{Group, ReadFailure, Reading, Refusal};
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
    slots: RwLock<Slots>,
    /// Whether idle processors were looked at.
    has_probed: AtomicBool,
}

/// A group per processor that is online, by number.
#[derive(Debug, Default)]
struct Slots {
    by_number: Vec<Option<Slot>>,
    /// How many were opened so far.
    opened: u32,
}

#[derive(Debug)]
struct Slot {
    group: Group,
    /// Which opening this is: counts of different ones are not to be subtracted.
    opening: u32,
    has_unhalted: bool,
}

/// What the counters of a processor tell at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct ProcessorReading {
    /// Which opening of the counters this is of; 0 when there are none.
    pub(crate) opening: u32,
    /// As the kernel told them: evaluated later, and not next to a region.
    pub(crate) words: [u64; GROUP_WORDS],
    /// The clock before and after the counters were read.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Whether the third number of the counts is of unhalted reference cycles.
    pub(crate) has_unhalted: bool,
    /// The kernel has taken the group apart: its processor was offline.
    pub(crate) is_apart: bool,
    /// Time busy and all time, where it was asked for; 0 where the processor is offline.
    pub(crate) busy: u64,
    pub(crate) total: u64,
}

impl ProcessorReading {
    /// What had been counted.
    pub(crate) fn counts(&self) -> Reading {
        Reading::of_words(&self.words)
    }
}

/// Whether the cycle counter goes on while its processor has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum InIdle {
    /// Not found out yet, since no processor was idle.
    Unknown,
    Counts,
    Halts,
}

type Shared = (bool, Events, Weak<Processors>);

/// Those that instances use now.
static SHARED: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// Cycles in a nanosecond that no core reaches.
const MOST_CYCLES_PER_NS: u128 = 7;

/// For how long an idle processor is looked at, once.
const PROBE: Duration = Duration::from_millis(20);

impl Processors {
    /// The counters that the instances of this process share.
    pub(crate) fn shared(
        kernel: &Arc<dyn Kernel>,
        events: Events,
        user_only: bool,
    ) -> Result<Arc<Self>, Error> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(_, _, processors)| processors.strong_count() > 0);
        let known = shared.iter().filter(|(only, of, _)| (*only, *of) == (user_only, events));
        let mut living = known.filter_map(|(_, _, processors)| processors.upgrade());
        if let Some(processors) = living.find(|processors| Arc::ptr_eq(&processors.kernel, kernel)) {
            return Ok(processors);
        }
        let processors = Arc::new(Self::open(kernel, events, user_only)?);
        shared.push((user_only, events, Arc::downgrade(&processors)));
        Ok(processors)
    }

    /// Opens the counters of every processor that is online.
    pub(crate) fn open(kernel: &Arc<dyn Kernel>, events: Events, user_only: bool) -> Result<Self, Error> {
        let processors = Self {
            kernel: Arc::clone(kernel),
            plans: Plans::new(&**kernel, events),
            user_only,
            slots: RwLock::default(),
            has_probed: AtomicBool::new(false),
        };
        let mut online = Vec::new();
        processors.look_at_online(&mut online)?;
        Ok(processors)
    }

    fn excluded(&self) -> Excluded {
        if self.user_only { Excluded::KernelAndHypervisor } else { Excluded::Nothing }
    }

    /// Whether the kernel's work is not counted: that was asked for, and the hardware can do it.
    pub(crate) fn is_user_only(&self) -> bool {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        self.user_only
            && slots.by_number.iter().flatten().all(|slot| slot.group.excluded != Excluded::Nothing)
    }

    /// Whether busy time is told by a counter.
    pub(crate) fn has_unhalted(&self) -> bool {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.by_number.iter().flatten().all(|slot| slot.has_unhalted)
    }

    /// Opens what is online and not open, and closes what is offline.
    fn refresh(&self, online: &[u32]) -> Result<(), Error> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        for (number, slot) in (0_u32..).zip(&mut slots.by_number) {
            if !online.contains(&number) {
                *slot = None;
            }
        }
        for &number in online {
            if slots.by_number.get(number as usize).is_none_or(Option::is_none) {
                self.open_slot(&mut slots, number, online.len())?;
            }
        }
        Ok(())
    }

    fn open_slot(&self, slots: &mut Slots, number: u32, processors: usize) -> Result<(), Error> {
        let place = number as usize;
        if slots.by_number.len() <= place {
            slots.by_number.resize_with(place + 1, || None);
        }
        match self.open_group(number) {
            Ok(group) => {
                slots.opened += 1;
                let (opening, has_unhalted) = (slots.opened, group.has_third());
                slots.by_number[place] = Some(Slot { group, opening, has_unhalted });
                Ok(())
            }
            // It went offline just now.
            Err(Refusal { errno: Errno::NODEV | Errno::NXIO, .. }) => Ok(()),
            Err(refusal) => {
                let target = Target::Processor(number);
                let asked = Asked {
                    target,
                    user_only: self.user_only,
                    targets: processors,
                    files_each: self.plans.files_each(),
                };
                Err(describe::refused(&*self.kernel, refusal, asked))
            }
        }
    }

    fn open_group(&self, number: u32) -> Result<Group, Refusal> {
        let target = Target::Processor(number);
        let excluded = self.excluded();
        let mut first = None;
        for plan in self.plans.of_processor(number, excluded) {
            match Group::open(&self.kernel, &plan, target, excluded) {
                Ok(group) if group.has_third() || plan.third.is_none() => return Ok(group),
                Ok(_) => {}
                Err(refusal) => {
                    first.get_or_insert(refusal);
                    // Only these can be answers to what another plan does not ask for.
                    if !matches!(refusal.errno, Errno::NOENT | Errno::INVAL | Errno::OPNOTSUPP) {
                        break;
                    }
                }
            }
        }
        Err(first.unwrap_or(Refusal { event: "cycles", errno: Errno::NOENT }))
    }

    /// Opens what came online, closes what went offline; `online` is room for the numbers.
    pub(crate) fn look_at_online(&self, online: &mut Vec<u32>) -> Result<(), Error> {
        self.kernel.online(online).map_err(|reason| Error::new(ErrorKind::System, reason))?;
        let is_as_before = {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            let is_open = |number: u32| slots.by_number.get(number as usize).is_some_and(Option::is_some);
            let count = slots.by_number.iter().flatten().count();
            online.len() == count && online.iter().all(|&number| is_open(number))
        };
        if is_as_before { Ok(()) } else { self.refresh(online) }
    }

    /// Reads the counters of all processors, and nothing else. Busy times stay what they are. Gives whether all groups are
    /// whole.
    #[inline]
    pub(crate) fn read(&self, into: &mut Vec<ProcessorReading>) -> Result<bool, Error> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        if into.len() != slots.by_number.len() {
            into.resize(slots.by_number.len(), ProcessorReading::default());
        }
        let mut are_whole = true;
        for (place, (slot, reading)) in slots.by_number.iter().zip(into).enumerate() {
            let Some(slot) = slot else {
                *reading = ProcessorReading::default();
                continue;
            };
            reading.opening = slot.opening;
            reading.has_unhalted = slot.has_unhalted;
            reading.is_apart = false;
            reading.before = clock_ticks(&*self.kernel);
            match slot.group.read_words(&mut reading.words) {
                Ok(()) => reading.after = clock_ticks(&*self.kernel),
                Err(ReadFailure::TakenApart) => (reading.is_apart, are_whole) = (true, false),
                Err(failure) => {
                    return Err(describe::unreadable(failure, Target::Processor(place as u32)));
                }
            }
        }
        Ok(are_whole)
    }

    /// Takes those out of a reading that are offline by now, or were since they were opened; these are opened anew.
    pub(crate) fn leave_out(&self, readings: &mut [ProcessorReading], online: &[u32]) {
        for (number, reading) in (0_u32..).zip(readings) {
            if reading.is_apart {
                // Where that fails, the next reading tries again, and tells.
                let _ = self.reopen(number, reading.opening);
            }
            if reading.is_apart || !online.contains(&number) {
                reading.opening = 0;
            }
        }
    }

    /// Opens the counters of a processor anew, if they still are those of this opening: once it was offline they stay as
    /// they were, for ever.
    pub(crate) fn reopen(&self, number: u32, opening: u32) -> Result<(), Error> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let processors = slots.by_number.len();
        match slots.by_number.get_mut(number as usize) {
            Some(slot) if slot.as_ref().is_some_and(|slot| slot.opening == opening) => *slot = None,
            _ => return Ok(()),
        }
        self.open_slot(&mut slots, number, processors)
    }

    /// Whether the cycle counter goes on in idle.
    pub(crate) fn in_idle(&self) -> InIdle {
        // Nothing idles in user code.
        if self.user_only {
            return InIdle::Halts;
        }
        match self.kernel.in_idle().load(Ordering::Relaxed) {
            1 => InIdle::Counts,
            2 => InIdle::Halts,
            _ => InIdle::Unknown,
        }
    }

    /// Finds out whether the cycle counter goes on in idle, if that is not known yet: from an interval, and where that tells
    /// nothing, once from a short time in which this thread does nothing.
    pub(crate) fn find_out_in_idle(
        &self,
        start: &[ProcessorReading],
        end: &[ProcessorReading],
    ) -> Result<(), Error> {
        self.judge_idle(start, end);
        if self.in_idle() == InIdle::Unknown && !self.has_probed.swap(true, Ordering::Relaxed) {
            let (mut start, mut end) = (Vec::new(), Vec::new());
            self.read(&mut start)?;
            self.kernel.sleep(PROBE);
            self.read(&mut end)?;
            self.judge_idle(&start, &end);
        }
        Ok(())
    }

    fn judge_idle(&self, start: &[ProcessorReading], end: &[ProcessorReading]) {
        if self.in_idle() != InIdle::Unknown {
            return;
        }
        let mut least: Option<Seen> = None;
        let mut most: Option<Seen> = None;
        let pairs = start.iter().zip(end);
        for (then, now) in pairs.filter(|(then, now)| now.opening != 0 && then.opening == now.opening) {
            let Some(counts) = now.counts().since(&then.counts()) else { continue };
            let total = if then.total == 0 { 0 } else { now.total.saturating_sub(then.total) };
            let seen = Seen { counts, busy: now.busy.saturating_sub(then.busy).min(total), total };
            self.settle_in_idle(judged(&seen));
            if least.is_none_or(|least| seen.busy < least.busy) {
                least = Some(seen);
            }
            if most.is_none_or(|most| seen.busy > most.busy) {
                most = Some(seen);
            }
        }
        if let (Some(least), Some(most)) = (least, most) {
            self.settle_in_idle(judged_together(&least, &most));
        }
    }

    fn settle_in_idle(&self, judged: InIdle) {
        if judged != InIdle::Unknown && self.in_idle() == InIdle::Unknown {
            self.kernel.in_idle().store(judged as u8, Ordering::Relaxed);
        }
    }
}

/// What was seen of a processor in an interval: its counts, and its busy time of all time (0 where it is not known).
#[derive(Clone, Copy, Debug)]
struct Seen {
    counts: Reading,
    busy: u64,
    total: u64,
}

/// What two processors tell of their cycle counters, of which one was busy for much longer than the other: as many cycles on both
/// are those of the time that went by, cycles in the proportion of busy time are those of that.
fn judged_together(least: &Seen, most: &Seen) -> InIdle {
    let is_clear = least.total > 0 && most.busy >= 20 && most.busy / 2 > least.busy;
    if !is_clear || least.counts.cycles == 0 {
        return InIdle::Unknown;
    }
    let of_cycles = most.counts.cycles as f64 / least.counts.cycles as f64;
    let of_busy = most.busy as f64 / (least.busy as f64 + 1.0);
    if (0.95..1.05).contains(&of_cycles) {
        InIdle::Counts
    } else if of_cycles > 0.8 * of_busy {
        InIdle::Halts
    } else {
        InIdle::Unknown
    }
}

/// What a processor alone tells of its cycle counter in idle.
fn judged(seen: &Seen) -> InIdle {
    let Seen { counts: Reading { enabled_ns, cycles, instructions, .. }, busy, total } = *seen;
    // More cycles than any core makes in the time that this one was busy, a step of the account more: it counted on in idle.
    let most_in_busy_time = u128::from(enabled_ns) * MOST_CYCLES_PER_NS * u128::from(busy + 1);
    if total > 0 && u128::from(cycles) * u128::from(total) > most_in_busy_time {
        return InIdle::Counts;
    }
    // Who executed next to nothing was idle.
    // Fewer than 10 instructions in a microsecond.
    let is_idle = enabled_ns >= 1_000_000 && instructions.saturating_mul(100) < enabled_ns;
    if !is_idle {
        InIdle::Unknown
    } else if cycles >= enabled_ns / 10 && cycles >= instructions.saturating_mul(50) {
        // 100 MHz and more, of which hardly any cycle went into instructions.
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
    fn idle_is_told_by_counts() {
        let reading = |cycles, instructions| Reading {
            enabled_ns: 20_000_000,
            running_ns: 20_000_000,
            cycles,
            instructions,
            third: 0,
        };
        let judged = |counts: &Reading| judged(&Seen { counts: *counts, busy: 0, total: 0 });
        // As observed on an emulated processor whose counter goes on.
        assert_eq!(judged(&reading(20_000_000, 40_000)), InIdle::Counts);
        // A few wake-ups on a processor whose counter halts.
        assert_eq!(judged(&reading(150_000, 100_000)), InIdle::Halts);
        // Busy, so that nothing can be told.
        assert_eq!(judged(&reading(60_000_000, 30_000_000)), InIdle::Unknown);
        // A little busy with slow code.
        assert_eq!(judged(&reading(3_000_000, 150_000)), InIdle::Unknown);
    }

    /// Where the instructions tell nothing, as those of an emulated machine with several processors.
    #[test]
    fn idle_is_told_by_the_busy_share() {
        let second = Reading {
            enabled_ns: 1_000_000_000,
            running_ns: 1_000_000_000,
            cycles: 1_000_000_000,
            instructions: 500_000_000,
            third: 0,
        };
        let seen = |busy, total| Seen { counts: second, busy, total };
        assert_eq!(judged(&seen(1, 100)), InIdle::Counts);
        // A GHz is nothing for a processor that was busy for half of the time.
        assert_eq!(judged(&seen(50, 100)), InIdle::Unknown);
        assert_eq!(judged(&seen(0, 0)), InIdle::Unknown);
        // As many cycles on two processors, of which one was busy for a quarter and the other all the time.
        assert_eq!(judged_together(&seen(25, 100), &seen(100, 100)), InIdle::Counts);
        let quarter = Reading { cycles: 260_000_000, ..second };
        let quarter = Seen { counts: quarter, busy: 25, total: 100 };
        assert_eq!(judged_together(&quarter, &seen(100, 100)), InIdle::Halts);
        assert_eq!(judged_together(&seen(60, 100), &seen(100, 100)), InIdle::Unknown);
    }
}
