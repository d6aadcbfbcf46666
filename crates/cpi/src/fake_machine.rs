//! A fake machine for tests of this crate and its users. Its counters, processor times and clock follow formulas.

use std::collections::BTreeMap;
use std::fs::read_link;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use tachograph_counters::IgnorePoison;

use crate::event::{Event, Target};
use crate::kernel::{CoreUnit, GROUP_WORDS, Kernel, Times};
use crate::user_read::UserPage;

/// The id of every thread.
const THREAD: u32 = 4242;

/// The number in the name of the last counter file, across all fake machines of the process.
static LAST_FILE: AtomicU64 = AtomicU64::new(0);

/// A fake machine: its state, and the value of [`Kernel::in_idle`].
#[derive(Debug)]
pub(crate) struct FakeMachine(Mutex<State>, AtomicU8);

/// The state, which tests can change.
#[derive(Debug)]
pub(crate) struct State {
    /// Steps of time so far: one per reading.
    pub(crate) step: u64,
    pub(crate) online: Vec<u32>,
    pub(crate) units: Vec<CoreUnit>,
    pub(crate) clock_counts_cycles: bool,
    /// Events that are refused, by name.
    pub(crate) refused: BTreeMap<&'static str, Errno>,
    /// The number of quarters of each step in which the counters run: 0 to 4.
    pub(crate) running_quarters: u64,
    /// Whether the hardware cannot exclude anything: attributes that request it are refused.
    pub(crate) cannot_exclude: bool,
    /// Whether units in generic events are refused, as by kernels before 5.14.
    pub(crate) refuses_units: bool,
    /// The value of `perf_event_paranoid`.
    pub(crate) paranoid: i64,
    pub(crate) file_limit: u64,
    /// The kind of core (the type of its unit) on which the thread runs. The thread's counters on other kinds are
    /// halted.
    pub(crate) thread_unit: Option<u32>,
    /// If set, busy time is accounted for this processor only.
    pub(crate) accounts_busy_of: Option<u32>,
    /// Ticks to add to the clock.
    pub(crate) clock_offset: i64,
    /// An event that this processor lacks.
    pub(crate) refused_on: Option<(&'static str, u32)>,
    /// Number of calls of [`Kernel::sleep`].
    pub(crate) slept: u32,
    /// Number of groups read.
    pub(crate) readings: u64,
    counters: BTreeMap<RawFd, Counter>,
    /// Number of counters opened so far.
    order: u64,
}

/// An open counter.
#[derive(Clone, Copy, Debug)]
struct Counter {
    event: Event,
    target: Target,
    /// The number in the name of its file.
    file: u64,
    leader: Option<RawFd>,
    /// The value of [`State::order`] when the counter was opened.
    order: u64,
    /// Whether the counter counts; false once its processor has been offline.
    is_on: bool,
    /// Number of steps for which the counter was enabled, and of quarters of steps for which it ran.
    steps: u64,
    quarters: u64,
}

impl Counter {
    /// Whether `descriptor` is still the file of this counter. After the file was closed, another test may have reused the number.
    fn is_open(&self, descriptor: RawFd) -> bool {
        let target = format!("/memfd:counter-{} (deleted)", self.file);
        read_link(format!("/proc/self/fd/{descriptor}")).is_ok_and(|link| link.as_os_str() == target.as_str())
    }
}

impl FakeMachine {
    pub(crate) fn new(processors: u32) -> Self {
        let state = State {
            step: 0,
            online: (0..processors).collect(),
            units: Vec::new(),
            clock_counts_cycles: true,
            // Busy time comes from the processor times unless a test removes them.
            refused: BTreeMap::from([("ref-cycles", Errno::NOENT)]),
            running_quarters: 4,
            cannot_exclude: false,
            refuses_units: false,
            paranoid: 2,
            file_limit: 1024,
            thread_unit: None,
            accounts_busy_of: None,
            clock_offset: 0,
            refused_on: None,
            slept: 0,
            readings: 0,
            counters: BTreeMap::new(),
            order: 0,
        };
        Self(Mutex::new(state), AtomicU8::new(0))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().ignore_poison()
    }
}

/// Replaces the machine by a fake one with this number of processors, for all instances that the process creates after this
/// call. For tests of crates that use this one.
///
/// Each reading (by [`Cpi::new`](crate::Cpi::new), `start`, `get`) is one step of time. In each step the clock advances by
/// 1,000,000 ticks and 1 ms; processor `c` executes 400,000 + 1,000 c instructions in 600,000 + 1,000 c core cycles and
/// 1,000,000 elapsed cycles, and is busy for 50 + c mod 50 of 100 ticks; the thread, whose id is 4242, executes 300,000
/// instructions in 450,000 cycles (reference and core).
#[cfg(feature = "fake-machine")]
pub fn install_fake_machine(processors: u32) {
    let fake = FakeMachine::new(processors);
    fake.state().file_limit = u64::MAX;
    crate::kernel::set_machine(std::sync::Arc::new(fake));
}

impl State {
    /// Takes a processor offline. Its counters halt permanently.
    #[cfg(test)]
    pub(crate) fn set_offline(&mut self, number: u32) {
        self.online.retain(|&online| online != number);
        for counter in
            self.counters.values_mut().filter(|counter| counter.target == Target::Processor(number))
        {
            counter.is_on = false;
        }
    }

    /// Splits a processor's group, as the kernel does when the processor goes offline and online again.
    #[cfg(test)]
    pub(crate) fn split_group(&mut self, number: u32) {
        for counter in
            self.counters.values_mut().filter(|counter| counter.target == Target::Processor(number))
        {
            (counter.is_on, counter.leader) = (false, None);
        }
    }

    #[cfg(test)]
    pub(crate) fn set_online(&mut self, number: u32) {
        self.online.push(number);
        self.online.sort_unstable();
    }

    #[cfg(test)]
    pub(crate) fn open_counters(&self) -> usize {
        self.counters.len()
    }

    /// The types of the units of a target's counters, in the order of opening.
    #[cfg(test)]
    pub(crate) fn units_of(&self, target: Target) -> Vec<u32> {
        let mut counters: Vec<&Counter> =
            self.counters.values().filter(|counter| counter.target == target).collect();
        counters.sort_by_key(|counter| counter.order);
        counters.iter().map(|counter| (counter.event.config >> 32) as u32).collect()
    }

    fn value(counter: &Counter) -> u64 {
        let per_step = match (counter.target, counter.event.name) {
            (Target::Processor(number), "instructions") => 400_000 + 1000 * u64::from(number),
            (Target::Processor(number), "cycles") => 600_000 + 1000 * u64::from(number),
            (Target::Processor(number), "ref-cycles" | "mperf") => 500_000 + 10_000 * u64::from(number % 50),
            (Target::Thread(_), "instructions") => 300_000,
            (Target::Thread(_), "cycles") => 450_000,
            _ => 0,
        };
        counter.quarters * per_step / 4
    }

    pub(crate) fn advance(&mut self, steps: u64) {
        self.step += steps;
        let (thread_unit, running_quarters) = (self.thread_unit, self.running_quarters);
        for counter in self.counters.values_mut().filter(|counter| counter.is_on) {
            let unit = (counter.event.config >> 32) as u32;
            counter.steps += steps;
            counter.quarters += match (counter.target, thread_unit) {
                (Target::Thread(_), Some(current_unit)) if unit != current_unit => 0,
                _ => steps * running_quarters,
            };
        }
    }
}

impl Kernel for FakeMachine {
    fn open(&self, event: &Event, target: Target, leader: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
        let mut state = self.state();
        if let Some(&errno) = state.refused.get(event.name) {
            return Err(errno);
        }
        if matches!(target, Target::Processor(number) if !state.online.contains(&number)) {
            return Err(Errno::NODEV);
        }
        if matches!((state.refused_on, target), (Some((name, of)), Target::Processor(number)) if name == event.name && of == number)
        {
            return Err(Errno::NOENT);
        }
        if state.refuses_units && event.config >> 32 != 0 {
            return Err(Errno::INVAL);
        }
        if state.cannot_exclude && event.excluded != crate::event::Excluded::Nothing {
            return Err(Errno::OPNOTSUPP);
        }
        state.counters.retain(|descriptor, counter| counter.is_open(*descriptor));
        if state.counters.len() as u64 >= state.file_limit {
            return Err(Errno::MFILE);
        }
        let file = LAST_FILE.fetch_add(1, Ordering::Relaxed) + 1;
        let opened = memfd_create(format!("counter-{file}"), MemfdFlags::CLOEXEC)?;
        state.order += 1;
        let counter = Counter {
            event: *event,
            target,
            file,
            leader: leader.map(|leader| leader.as_raw_fd()),
            order: state.order,
            is_on: leader.is_some(),
            steps: 0,
            quarters: 0,
        };
        state.counters.insert(opened.as_raw_fd(), counter);
        Ok(opened)
    }

    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut state = self.state();
        state.counters.get_mut(&leader.as_raw_fd()).ok_or(Errno::BADF)?.is_on = true;
        Ok(())
    }

    fn read(&self, leader: BorrowedFd<'_>, words: &mut [u64; GROUP_WORDS]) -> Result<usize, Errno> {
        let mut state = self.state();
        state.readings += 1;
        let leader = leader.as_raw_fd();
        let head = *state.counters.get(&leader).ok_or(Errno::BADF)?;
        words[1..3].copy_from_slice(&[head.steps * 1_000_000, head.quarters * 250_000]);
        let mut count = 3;
        let mut next = Some(head);
        // In order of opening; without a list, because reading must not allocate.
        while let Some((counter, word)) = next.zip(words.get_mut(count)) {
            *word = State::value(&counter);
            count += 1;
            let members = state.counters.values().filter(|member| member.leader == Some(leader));
            let later = members.filter(|member| member.order > counter.order);
            next = later.min_by_key(|member| member.order).copied();
        }
        words[0] = count as u64 - 3;
        Ok(count)
    }

    fn map(&self, _counter: BorrowedFd<'_>) -> Option<UserPage> {
        None
    }

    fn begin_reading(&self) {
        self.state().advance(1);
    }

    fn clock_ticks(&self) -> u64 {
        let state = self.state();
        (state.step * 1_000_000).saturating_add_signed(state.clock_offset)
    }

    fn clock_counts_cycles(&self) -> bool {
        self.state().clock_counts_cycles
    }

    fn in_idle(&self) -> &AtomicU8 {
        &self.1
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.state().step)
    }

    fn sleep(&self, time: Duration) {
        let mut state = self.state();
        state.slept += 1;
        state.advance(u64::try_from(time.as_millis()).unwrap_or_default());
    }

    fn online(&self, into: &mut Vec<u32>) -> Result<(), String> {
        into.clear();
        into.extend_from_slice(&self.state().online);
        Ok(())
    }

    fn times(&self, into: &mut Vec<Times>) -> Result<(), String> {
        let state = self.state();
        into.clear();
        into.extend(state.online.iter().map(|&processor| Times {
            processor,
            busy: match state.accounts_busy_of {
                Some(only) if only != processor => 0,
                _ => state.step * (50 + u64::from(processor % 50)),
            },
            total: state.step * 100,
        }));
        Ok(())
    }

    fn thread(&self) -> u32 {
        THREAD
    }

    fn core_units(&self) -> Vec<CoreUnit> {
        self.state().units.clone()
    }

    fn has_core_unit(&self) -> bool {
        !self.state().units.is_empty()
    }

    fn msr_event(&self, _name: &str) -> Option<(u32, u64)> {
        None
    }

    fn setting(&self, name: &str) -> Option<i64> {
        (name == "perf_event_paranoid").then_some(self.state().paranoid)
    }

    fn is_virtual(&self) -> bool {
        false
    }

    fn file_limit(&self) -> Option<u64> {
        Some(self.state().file_limit)
    }
}
