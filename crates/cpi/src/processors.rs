//! The counters of all processors: opened by the first instance of the process, closed with the last, only read between.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use rustix::io::Errno;

use crate::Error;
use crate::describe::{self, Asked};
use crate::event::{Excluded, Target};
use crate::group::{Group, Reading, Refusal};
use crate::instance::Events;
use crate::kernel::Kernel;
use crate::plan::Plans;

/// The counters of all processors.
#[derive(Debug)]
pub(crate) struct Processors {
    kernel: Arc<dyn Kernel>,
    plans: Plans,
    user_only: bool,
    slots: RwLock<Slots>,
    in_idle: AtomicU8,
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
}

/// What the counters of a processor tell at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct ProcessorReading {
    /// Which opening of the counters this is of; 0 when there are none.
    pub(crate) opening: u32,
    pub(crate) counts: Reading,
    /// The clock before and after the counters were read.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Whether the third number of the counts is of unhalted reference cycles.
    pub(crate) has_unhalted: bool,
    /// Time busy and all time, where it was asked for; 0 where the processor is offline.
    pub(crate) busy: u64,
    pub(crate) total: u64,
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
            in_idle: AtomicU8::new(InIdle::Unknown as u8),
        };
        let mut online = Vec::new();
        kernel.online(&mut online).map_err(|reason| Error::new(crate::ErrorKind::System, reason))?;
        processors.refresh(&online)?;
        if user_only {
            // Nothing idles in user code.
            processors.set_in_idle(InIdle::Halts);
        } else if !kernel.clock_counts_cycles() {
            processors.probe_idle()?;
        }
        Ok(processors)
    }

    fn excluded(&self) -> Excluded {
        if self.user_only { Excluded::KernelAndHypervisor } else { Excluded::Nothing }
    }

    /// Whether the hardware could not leave the kernel out, though that was asked for.
    pub(crate) fn counts_kernel_all_the_same(&self) -> bool {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        self.user_only
            && slots.by_number.iter().flatten().any(|slot| slot.group.excluded == Excluded::Nothing)
    }

    /// Whether busy time is told by a counter.
    pub(crate) fn has_unhalted(&self) -> bool {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.by_number.iter().flatten().all(|slot| slot.group.has_third())
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
                slots.by_number[place] = Some(Slot { group, opening: slots.opened });
                Ok(())
            }
            // It went offline just now.
            Err(Refusal { errno: Errno::NODEV | Errno::NXIO, .. }) => Ok(()),
            Err(refusal) => {
                let target = Target::Processor(number);
                let asked = Asked { target, user_only: self.user_only, processors };
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

    /// Reads the counters of all processors; `online` is room for their numbers.
    pub(crate) fn read(&self, into: &mut Vec<ProcessorReading>, online: &mut Vec<u32>) -> Result<(), Error> {
        self.kernel.online(online).map_err(|reason| Error::new(crate::ErrorKind::System, reason))?;
        let is_as_before = {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            let open = |number: u32| slots.by_number.get(number as usize).is_some_and(Option::is_some);
            let count = slots.by_number.iter().flatten().count();
            online.len() == count && online.iter().all(|&number| open(number))
        };
        if !is_as_before {
            self.refresh(online)?;
        }
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        into.resize(slots.by_number.len(), ProcessorReading::default());
        for ((number, slot), reading) in (0_u32..).zip(&slots.by_number).zip(into) {
            *reading = ProcessorReading::default();
            let Some(slot) = slot else { continue };
            reading.opening = slot.opening;
            reading.has_unhalted = slot.group.has_third();
            reading.before = self.kernel.clock_ticks();
            reading.counts = slot
                .group
                .read()
                .map_err(|failure| describe::unreadable(failure, Target::Processor(number)))?;
            reading.after = self.kernel.clock_ticks();
        }
        Ok(())
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
        match self.in_idle.load(Ordering::Relaxed) {
            1 => InIdle::Counts,
            2 => InIdle::Halts,
            _ => InIdle::Unknown,
        }
    }

    fn set_in_idle(&self, in_idle: InIdle) {
        self.in_idle.store(in_idle as u8, Ordering::Relaxed);
    }

    /// Looks for a while at processors that are likely to be idle.
    fn probe_idle(&self) -> Result<(), Error> {
        let (mut start, mut end, mut online) = (Vec::new(), Vec::new(), Vec::new());
        self.read(&mut start, &mut online)?;
        self.kernel.sleep(PROBE);
        self.read(&mut end, &mut online)?;
        let of_same_opening = start.iter().zip(&end).filter(|(start, end)| start.opening == end.opening);
        for (start, end) in of_same_opening {
            if let Some(counts) = end.counts.since(&start.counts) {
                self.judge_idle(&counts);
            }
        }
        Ok(())
    }

    /// Finds out from what a processor counted whether the counter goes on in idle, if that is not known yet and can be
    /// told.
    pub(crate) fn judge_idle(&self, counts: &Reading) {
        if self.in_idle() == InIdle::Unknown {
            self.set_in_idle(judged(counts));
        }
    }
}

/// What the counts of a processor tell of its cycle counter in idle: a processor that executed next to nothing was idle.
fn judged(counts: &Reading) -> InIdle {
    let Reading { enabled_ns, cycles, instructions, .. } = *counts;
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
        // As observed on an emulated processor whose counter goes on.
        assert_eq!(judged(&reading(20_000_000, 40_000)), InIdle::Counts);
        // A few wake-ups on a processor whose counter halts.
        assert_eq!(judged(&reading(150_000, 100_000)), InIdle::Halts);
        // Busy, so that nothing can be told.
        assert_eq!(judged(&reading(60_000_000, 30_000_000)), InIdle::Unknown);
        // A little busy with slow code.
        assert_eq!(judged(&reading(3_000_000, 150_000)), InIdle::Unknown);
    }
}
