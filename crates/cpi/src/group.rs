//! A group of two or three counters, which the kernel schedules together or not at all.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;

use crate::event::{ARM_USER_ACCESS, Event, Excluded, HARDWARE, Target};
use crate::kernel::{GROUP_WORDS, Kernel};
use crate::user_read::{RawCounter, TickRate, UserPage};

/// The events of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) cycles: Event,
    pub(crate) instructions: Event,
    /// Reference cycles while running, if the machine has an event for them. If the kernel refuses it, the group works
    /// without it.
    pub(crate) reference_cycles: Option<Event>,
    /// Whether the thread that owns the counters may read them without the kernel.
    pub(crate) user_reads: bool,
}

/// An open group.
#[derive(Debug)]
pub(crate) struct Group {
    kernel: Arc<dyn Kernel>,
    leader: OwnedFd,
    _instructions: OwnedFd,
    reference_cycles: ReferenceCycles,
    /// The pages for reading the cycle and instruction counters without the kernel.
    pages: Option<[UserPage; 2]>,
    pub(crate) excluded: Excluded,
}

/// The source of a group's reference cycles.
#[derive(Debug)]
enum ReferenceCycles {
    /// The group has no reference cycles.
    None,
    /// A counter.
    Counter { _counter: OwnedFd },
    /// The time for which the group ran, converted to clock ticks. Used for groups that are read without the kernel; a
    /// counter of clock ticks would have the same value.
    RunningTime(TickRate),
}

/// The counts of a group since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Reading {
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
    /// Reference cycles while running; 0 if the group does not have them.
    pub(crate) reference_cycles: u64,
}

/// An unprocessed reading; it is evaluated later, away from the measured region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawReading {
    /// From the kernel: number of members, time enabled, time running, values.
    Words([u64; GROUP_WORDS]),
    /// Read by the program itself: cycles and instructions.
    Pages([RawCounter; 2]),
    /// The sum of several groups.
    Sum(Reading),
}

impl Default for RawReading {
    fn default() -> Self {
        Self::Words([0; GROUP_WORDS])
    }
}

/// Why a group could not be opened: the event and the kernel's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenError {
    pub(crate) event: &'static str,
    pub(crate) errno: Errno,
}

/// Why a group could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFailure {
    /// The kernel's error.
    Errno(Errno),
    /// The group is in error state: it could not be scheduled.
    NotScheduled,
    /// The group was split, as the kernel does when its processor goes offline.
    Split,
}

impl Group {
    /// Opens a group. Work that the hardware cannot exclude is counted too; see [`Group::excluded`].
    ///
    /// # Errors
    ///
    /// The kernel's first error, if no fallback succeeds.
    pub(crate) fn open(
        kernel: &Arc<dyn Kernel>,
        plan: &Plan,
        target: Target,
        excluded: Excluded,
    ) -> Result<Self, OpenError> {
        // If the hardware does not support an exclusion, the kernel returns EOPNOTSUPP or EINVAL.
        let candidates: &[Excluded] = match excluded {
            Excluded::Nothing => &[Excluded::Nothing],
            Excluded::Kernel => &[Excluded::Kernel, Excluded::Nothing],
            Excluded::KernelAndHypervisor => {
                &[Excluded::KernelAndHypervisor, Excluded::Kernel, Excluded::Nothing]
            }
        };
        let mut first = None;
        for &excluded in candidates {
            match Self::open_excluding(kernel, plan, target, excluded) {
                Ok(group) => return Ok(group),
                Err(refusal) => {
                    let first = *first.get_or_insert(refusal);
                    if !matches!(refusal.errno, Errno::OPNOTSUPP | Errno::INVAL) {
                        return Err(first);
                    }
                }
            }
        }
        Err(first.unwrap_or(OpenError { event: plan.cycles.name, errno: Errno::INVAL }))
    }

    fn open_excluding(
        kernel: &Arc<dyn Kernel>,
        plan: &Plan,
        target: Target,
        excluded: Excluded,
    ) -> Result<Self, OpenError> {
        let open = |event: Event, leader: Option<&OwnedFd>| {
            let event = Event { excluded, ..event };
            open_counter(kernel, &event, target, leader)
        };
        let open_for_user = |event: Event, leader: Option<&OwnedFd>| {
            // Units that do not support the bit reject the event.
            if plan.user_reads && cfg!(target_arch = "aarch64") {
                let with_access = Event { config1: event.config1 | ARM_USER_ACCESS, ..event };
                if let Ok(counter) = open(with_access, leader) {
                    return Ok(counter);
                }
            }
            open(event, leader)
        };
        let leader = open_for_user(plan.cycles, None)?;
        let instructions = open_for_user(plan.instructions, Some(&leader))?;
        let map = |counter: &OwnedFd| plan.user_reads.then(|| kernel.map(counter.as_fd())).flatten();
        let mut pages = map(&leader).and_then(|cycles| Some([cycles, map(&instructions)?]));
        // A thread's ticks cover all of its running time, so they are not comparable with counts of user code alone.
        let is_comparable = excluded == Excluded::Nothing || matches!(target, Target::Processor(_));
        let reference_cycles = match (plan.reference_cycles.filter(|_| is_comparable), &pages) {
            (None, _) => ReferenceCycles::None,
            (Some(_), Some([page, _])) => {
                page.tick_rate().map_or(ReferenceCycles::None, ReferenceCycles::RunningTime)
            }
            (Some(event), None) => {
                // Events of the time stamp counter do not distinguish kernel and user.
                let excluded = if event.kind == HARDWARE { excluded } else { Excluded::Nothing };
                let event = Event { excluded, ..event };
                match open_counter(kernel, &event, target, Some(&leader)) {
                    Ok(counter) => ReferenceCycles::Counter { _counter: counter },
                    // The event does not exist, does not fit into this group, or is not permitted.
                    Err(OpenError {
                        errno: Errno::NOENT | Errno::INVAL | Errno::OPNOTSUPP | Errno::ACCESS | Errno::PERM,
                        ..
                    }) => ReferenceCycles::None,
                    Err(refusal) => return Err(refusal),
                }
            }
        };
        if !plan.cycles.from_exec {
            let enabled = kernel.enable(leader.as_fd());
            enabled.map_err(|errno| OpenError { event: plan.cycles.name, errno })?;
        }
        // Some kernels allow the mapping but never name a register in the page, so trying to read it would waste time.
        let counts_in_registers = |pages: &[UserPage; 2]| {
            plan.reference_cycles.is_some() || pages.iter().all(UserPage::is_in_register)
        };
        pages = pages.filter(counts_in_registers);
        Ok(Self {
            kernel: Arc::clone(kernel),
            leader,
            _instructions: instructions,
            reference_cycles,
            pages,
            excluded,
        })
    }

    /// Whether the group has reference cycles.
    pub(crate) fn has_reference_cycles(&self) -> bool {
        !matches!(self.reference_cycles, ReferenceCycles::None)
    }

    /// Reads the counts from the kernel.
    #[inline(always)]
    pub(crate) fn read_words(&self, words: &mut [u64; GROUP_WORDS]) -> Result<(), ReadFailure> {
        match self.kernel.read(self.leader.as_fd(), words) {
            Ok(5..) => Ok(()),
            // A group in error state reads as end of file.
            Ok(0) => Err(ReadFailure::NotScheduled),
            Ok(_) => Err(ReadFailure::Split),
            Err(errno) => Err(ReadFailure::Errno(errno)),
        }
    }

    /// Reads the counts without the kernel; returns whether that was possible. Only for the thread that owns the
    /// counters.
    ///
    /// Not inlined, because the instructions that save its registers would also be counted in readings from the kernel.
    #[inline(never)]
    pub(crate) fn read_without_kernel(&self, into: &mut RawReading) -> bool {
        let Some(pages) = &self.pages else { return false };
        if !matches!(into, RawReading::Pages(_)) {
            *into = RawReading::Pages(Default::default());
        }
        match into {
            RawReading::Pages(counters) => UserPage::read_pair(pages, counters),
            _ => false,
        }
    }

    /// Whether [`read_without_kernel`](Self::read_without_kernel) is possible.
    #[inline]
    pub(crate) fn has_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// Like [`read_words`](Self::read_words), but replaces any earlier reading.
    #[inline(always)]
    pub(crate) fn read_raw(&self, into: &mut RawReading) -> Result<(), ReadFailure> {
        if !matches!(into, RawReading::Words(_)) {
            *into = RawReading::default();
        }
        match into {
            RawReading::Words(words) => self.read_words(words),
            _ => Ok(()),
        }
    }

    /// Evaluates a reading.
    pub(crate) fn evaluate(&self, raw: &RawReading) -> Reading {
        let mut reading = match raw {
            RawReading::Words(words) => Reading::from_words(words),
            RawReading::Pages([cycles, instructions]) => {
                let (enabled_ns, running_ns) = instructions.times();
                let (cycles, instructions) = (cycles.count(), instructions.count());
                Reading { enabled_ns, running_ns, cycles, instructions, reference_cycles: 0 }
            }
            RawReading::Sum(reading) => return *reading,
        };
        if let ReferenceCycles::RunningTime(rate) = &self.reference_cycles {
            reading.reference_cycles = rate.ticks(reading.running_ns);
        }
        reading
    }

    /// Like [`read_words`](Self::read_words), and evaluates the reading.
    pub(crate) fn read(&self) -> Result<Reading, ReadFailure> {
        let mut raw = RawReading::default();
        self.read_raw(&mut raw)?;
        Ok(self.evaluate(&raw))
    }
}

/// Opens a counter.
fn open_counter(
    kernel: &Arc<dyn Kernel>,
    event: &Event,
    target: Target,
    leader: Option<&OwnedFd>,
) -> Result<OwnedFd, OpenError> {
    let opened = kernel.open(event, target, leader.map(|leader| leader.as_fd()));
    opened.map_err(|errno| OpenError { event: event.name, errno })
}

impl Reading {
    /// The reading that the kernel returned in `words`.
    pub(crate) fn from_words(words: &[u64; GROUP_WORDS]) -> Self {
        let [_, enabled_ns, running_ns, cycles, instructions, reference_cycles] = *words;
        Self { enabled_ns, running_ns, cycles, instructions, reference_cycles }
    }

    /// Adds the reading of a group on another kind of core. Both groups were enabled for the same time, and each ran
    /// only while the other could not.
    pub(crate) fn add_kind(&mut self, other: &Self) {
        self.enabled_ns = self.enabled_ns.max(other.enabled_ns);
        self.running_ns += other.running_ns;
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.reference_cycles += other.reference_cycles;
    }

    /// Adds the reading of another target's group.
    pub(crate) fn add_target(&mut self, other: &Self) {
        let enabled_ns = self.enabled_ns + other.enabled_ns;
        self.add_kind(other);
        self.enabled_ns = enabled_ns;
    }

    /// The counts since an earlier reading, scaled to the enabled time if the kernel multiplexed counters; `None` if the group
    /// was enabled and never ran.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Self> {
        let enabled_ns = self.enabled_ns.saturating_sub(earlier.enabled_ns);
        let running_ns = self.running_ns.saturating_sub(earlier.running_ns);
        if running_ns == 0 && enabled_ns > 0 {
            return None;
        }
        let scaled_difference = |now: u64, then: u64| scale(now.saturating_sub(then), enabled_ns, running_ns);
        Some(Self {
            enabled_ns,
            running_ns,
            cycles: scaled_difference(self.cycles, earlier.cycles),
            instructions: scaled_difference(self.instructions, earlier.instructions),
            reference_cycles: scaled_difference(self.reference_cycles, earlier.reference_cycles),
        })
    }
}

/// `count * enabled / running`, rounded to nearest; `count` if the counter ran all the time.
fn scale(count: u64, enabled_ns: u64, running_ns: u64) -> u64 {
    if running_ns >= enabled_ns || running_ns == 0 {
        return count;
    }
    let scaled =
        (u128::from(count) * u128::from(enabled_ns) + u128::from(running_ns / 2)) / u128::from(running_ns);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(enabled_ns: u64, running_ns: u64, count: u64) -> Reading {
        Reading {
            enabled_ns,
            running_ns,
            cycles: count,
            instructions: 2 * count,
            reference_cycles: 3 * count,
        }
    }

    #[test]
    fn differences_are_scaled_but_values_are_not() {
        let start = reading(1000, 1000, 500);
        let end = reading(3000, 2000, 1500);
        let since = end.since(&start).expect("the counters ran");
        // The counters counted 1000 in half of the time.
        assert_eq!((since.cycles, since.instructions, since.reference_cycles), (2000, 4000, 6000));
        assert_eq!((since.enabled_ns, since.running_ns), (2000, 1000));
    }

    #[test]
    fn a_group_that_never_ran_has_no_count() {
        assert_eq!(reading(10, 5, 7).since(&reading(5, 5, 7)), None);
        // Counters that were never enabled are not an error: a thread that did not run, a command without an exec.
        assert_eq!(Reading::default().since(&Reading::default()), Some(Reading::default()));
    }

    #[test]
    fn counts_on_several_kinds_of_cores_add_up() {
        // A thread that ran for 3 of 10 ns on one kind of core, and for 7 on the other.
        let mut sum = reading(10, 3, 30);
        sum.add_kind(&reading(10, 7, 70));
        let since = sum.since(&Reading::default()).expect("the counters ran");
        assert_eq!((since.cycles, since.enabled_ns, since.running_ns), (100, 10, 10));
    }

    #[test]
    fn huge_counts_saturate() {
        assert_eq!(scale(u64::MAX, u64::MAX, 1), u64::MAX);
        assert_eq!(scale(3, 2, 3), 3);
    }

    proptest! {
        /// Full running time gives the exact count, partial running time the count within one unit.
        #[test]
        fn scaled_counts_are_exact_within_one_unit(count in 0_u64..1 << 60, enabled in 1_u64..1 << 40, running in 1_u64..1 << 40) {
            let scaled = scale(count, enabled, running);
            if running >= enabled {
                prop_assert_eq!(scaled, count);
            } else {
                let back = u128::from(scaled) * u128::from(running);
                let wanted = u128::from(count) * u128::from(enabled);
                let is_near = back.abs_diff(wanted) <= u128::from(running);
                prop_assert!(is_near || scaled == u64::MAX);
            }
        }
    }
}
