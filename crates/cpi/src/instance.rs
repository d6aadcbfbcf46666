//! Instances: intervals over counters that run on.

use std::fmt;
use std::sync::Arc;

use crate::data::ProcessorState;
use crate::describe;
use crate::event::Target;
use crate::group::ReadFailure;
use crate::interval::{Meaning, Snapshot, counts, measure};
use crate::kernel::{Kernel, Times, begin_reading, clock_ticks, machine};
use crate::processors::{InIdle, ProcessorReading, Processors};
use crate::thread::ThreadCounters;
use crate::trace::Trace;
use crate::{CpiData, Error, ErrorKind, Mode};

/// Which pair of events stands for cycles and instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Events {
    /// Cycles and instructions of the hardware.
    #[default]
    Hardware,
    /// Task clock (of processors: processor clock; ns) in place of cycles, page faults in place of instructions. The result
    /// is no CPI: it serves to test and to measure the way of counting where there is no hardware counter.
    Software,
}

/// What to measure, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// What to measure.
    pub mode: Mode,
    /// Count user code only. Where the kernel's work may not be counted, this is chosen anyway for threads:
    /// [`CpiData::is_user_only`] tells.
    pub user_only: bool,
    /// Where there are no counters to be had for processors, measure busy and idle shares alone;
    /// [`Cpi::why_no_cpi`] tells the cause.
    pub or_shares_only: bool,
    /// What is counted.
    pub events: Events,
}

impl From<Mode> for Options {
    fn from(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }
}

/// One measurement: an interval over counters that all instances of the process share.
///
/// The counters run from the first instance to the last, and are only read and subtracted. So instances may be nested, overlap,
/// and be used by any threads, without knowing of each other. A reading of a processor costs an interrupt to it (some
/// 20 us): over many processors, `start` and `get` are not for tight loops. On-thread measuring alone ([`Mode::ON_THREAD`])
/// costs a system call, or less.
pub struct Cpi {
    mode: Mode,
    kernel: Arc<dyn Kernel>,
    thread: Option<Arc<ThreadCounters>>,
    processors: Option<Arc<Processors>>,
    why_no_cpi: Option<Error>,
    notes: Vec<String>,
    start: Snapshot,
    end: Snapshot,
    data: CpiData,
    room: Room,
    trace: Option<Arc<Trace>>,
    hook: Hook,
}

/// Buffers that are kept from one reading to the next.
#[derive(Debug, Default)]
struct Room {
    online: Vec<u32>,
    times: Vec<Times>,
    lost: Vec<(u32, u32)>,
}

/// What the next hooks carry.
#[derive(Debug, Default)]
struct Hook {
    minor: u8,
    label: Option<String>,
}

impl Cpi {
    /// A new instance, its interval started.
    ///
    /// # Errors
    ///
    /// When what the mode asks for cannot be counted.
    pub fn new(options: impl Into<Options>) -> Result<Self, Error> {
        Self::on(machine(), options.into())
    }

    pub(crate) fn on(kernel: Arc<dyn Kernel>, options: Options) -> Result<Self, Error> {
        let Options { mut mode, user_only, or_shares_only, events } = options;
        let mut data = CpiData { tid: kernel.thread(), ..CpiData::default() };
        let mut notes = Vec::new();
        let mut why_no_cpi = None;
        let mut processors = None;
        if mode.has_processors() {
            mode |= Mode::RAW;
            match Processors::shared(&kernel, events, user_only) {
                Ok(shared) => processors = Some(shared),
                Err(error) if or_shares_only => {
                    mode |= Mode::SCALED;
                    why_no_cpi = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        let mut thread = None;
        if mode.has(Mode::ON_THREAD) {
            let shared = ThreadCounters::of_this_thread(&kernel, events, user_only)?;
            if shared.is_user_only() && !user_only {
                notes.push(
                    "work in the kernel is not counted on the thread, since kernel.perf_event_paranoid forbids it"
                        .to_owned(),
                );
            }
            thread = Some(shared);
        }
        let of_processors = processors.as_ref().map(|processors| processors.is_user_only());
        let of_thread = thread.as_ref().map(|thread| thread.is_user_only());
        data.is_user_only = [of_processors, of_thread].into_iter().flatten().all(|is_user_only| is_user_only)
            && (of_processors.is_some() || of_thread.is_some());
        if user_only && [of_processors, of_thread].contains(&Some(false)) {
            notes.push(
                "the hardware cannot count user code alone: work in the kernel is counted too".to_owned(),
            );
        }
        let mut cpi = Self {
            mode,
            kernel,
            thread,
            processors,
            why_no_cpi,
            notes,
            start: Snapshot::default(),
            end: Snapshot::default(),
            data,
            room: Room::default(),
            trace: None,
            hook: Hook::default(),
        };
        cpi.start()?;
        // Room for what a get needs, so that the first one does not disturb what it measures.
        cpi.end = cpi.start.clone();
        cpi.data.processors.reserve(cpi.start.processors.len());
        Ok(cpi)
    }

    /// Starts a new interval.
    ///
    /// # Errors
    ///
    /// When a counter cannot be read: there is no whole interval then until `start` succeeds.
    pub fn start(&mut self) -> Result<(), Error> {
        begin_reading(&*self.kernel);
        // The nearer to the region, the later it is read.
        // The ticks around the time: should the thread be stopped in between, an interval seems shorter, and no processor
        // seems to have stood still.
        (self.start.far_ticks, self.start.now) = (clock_ticks(&*self.kernel), self.kernel.now());
        if self.mode.has_processors() {
            self.start_processors()?;
        }
        self.start.ticks = clock_ticks(&*self.kernel);
        if let Some(thread) = &self.thread
            && let Err(failure) = thread.read(&mut self.start.thread)
        {
            return Err(unreadable_thread(failure, self.data.tid));
        }
        Ok(())
    }

    /// What was measured from the last start, or from the making of the instance, to now. The interval goes on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NeverRan`] when the counters never ran; when a counter cannot be read; when the trace, where the mode
    /// traces, cannot be written.
    pub fn get(&mut self) -> Result<&CpiData, Error> {
        self.read_end()?;
        self.conclude()
    }

    /// As [`get`](Self::get), and the next interval starts at the same reading: nothing is lost in between. Counters that
    /// never ran keep their start, so that the next interval covers both.
    ///
    /// # Errors
    ///
    /// As `get`. The next interval has started all the same, unless a counter could not be read.
    pub fn get_and_start(&mut self) -> Result<&CpiData, Error> {
        self.read_end()?;
        let outcome = self.conclude().map(|_| ());
        let keeps_thread = self.data.thread.is_some_and(|thread| is_never(&thread));
        let thread = self.start.thread;
        let never_ran = |place: usize| {
            self.data.processors.get(place).is_some_and(|data| data.state == ProcessorState::NeverRan)
        };
        for (place, now) in self.end.processors.iter_mut().enumerate() {
            if let Some(then) = self.start.processors.get(place).filter(|_| never_ran(place)) {
                *now = *then;
            }
        }
        std::mem::swap(&mut self.start, &mut self.end);
        if keeps_thread {
            self.start.thread = thread;
        }
        outcome.map(|()| &self.data)
    }

    /// As [`get`](Self::get), and writes what `flags` ([`Mode::TRACE_SUMMARY`], [`Mode::TRACE_DETAILED`]; those of the
    /// instance's mode where neither is given) and the label ask for to the trace.
    ///
    /// # Errors
    ///
    /// As `get`; [`ErrorKind::NoTrace`] when no trace is set.
    pub fn get_and_trace(&mut self, minor: u8, flags: Mode, label: Option<&str>) -> Result<&CpiData, Error> {
        self.read_end()?;
        let outcome = self.evaluate();
        let flags = if flags.traced() == Mode::default() { self.mode.traced() } else { flags.traced() };
        let traced = match &self.trace {
            Some(trace) => trace.write(&self.data, minor, flags, label),
            None => Err(no_trace()),
        };
        outcome.and(traced).map(|()| &self.data)
    }

    /// What the last `get` measured, also when it ended in an error.
    pub fn last(&self) -> &CpiData {
        &self.data
    }

    /// Minor code and label of the hooks that `get` writes.
    pub fn set_trace_hook(&mut self, minor: u8, label: Option<&str>) {
        self.hook = Hook { minor, label: label.map(str::to_owned) };
    }

    /// Where hooks go from now on.
    pub fn set_trace(&mut self, trace: Option<Arc<Trace>>) {
        self.trace = trace;
    }

    /// The mode in force: what was asked for, and what that includes.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Why there is no CPI of processors, where only shares of time are measured.
    pub fn why_no_cpi(&self) -> Option<&Error> {
        self.why_no_cpi.as_ref()
    }

    /// What a user should know of how it is measured, a sentence each: work in the kernel is not counted, ...
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Reads the processors: what is nearest to the region last.
    fn start_processors(&mut self) -> Result<(), Error> {
        let readings = &mut self.start.processors;
        if let Some(processors) = &self.processors {
            processors.look_at_online(&mut self.room.online)?;
            if self.mode.wants_times(&*self.kernel, processors) {
                account(&*self.kernel, &mut self.room, readings)?;
            }
            if processors.read(readings)? {
                return Ok(());
            }
            // Some were offline since they were opened: opened anew, they count.
            processors.leave_out(readings, &self.room.online);
            processors.read(readings).map(|_| ())
        } else {
            account(&*self.kernel, &mut self.room, readings)
        }
    }

    /// Reads everything, the nearest to the region first.
    #[inline(always)]
    fn read_end(&mut self) -> Result<(), Error> {
        begin_reading(&*self.kernel);
        if let Some(thread) = &self.thread
            && let Err(failure) = thread.read(&mut self.end.thread)
        {
            return Err(unreadable_thread(failure, self.data.tid));
        }
        self.read_farther()
    }

    #[inline(never)]
    fn read_farther(&mut self) -> Result<(), Error> {
        self.end.ticks = clock_ticks(&*self.kernel);
        if self.mode.has_processors() {
            let readings = &mut self.end.processors;
            if let Some(processors) = &self.processors {
                processors.read(readings)?;
                processors.look_at_online(&mut self.room.online)?;
                processors.leave_out(readings, &self.room.online);
                if self.mode.wants_times(&*self.kernel, processors) {
                    account(&*self.kernel, &mut self.room, readings)?;
                }
            } else {
                account(&*self.kernel, &mut self.room, readings)?;
            }
        }
        (self.end.now, self.end.far_ticks) = (self.kernel.now(), clock_ticks(&*self.kernel));
        Ok(())
    }

    /// Evaluates what was read, and traces where the mode says so.
    fn conclude(&mut self) -> Result<&CpiData, Error> {
        let outcome = self.evaluate();
        let mut traced = Ok(());
        if self.mode.has_any(Mode::TRACE_ON_GET | Mode::TRACE_ONLY_ON_GET) {
            let Some(trace) = &self.trace else { return outcome.and(Err(no_trace())).map(|()| &self.data) };
            traced = trace.write(&self.data, self.hook.minor, self.mode.traced(), self.hook.label.as_deref());
        }
        outcome.and(traced).map(|()| &self.data)
    }

    fn evaluate(&mut self) -> Result<(), Error> {
        self.data.thread = self.thread.as_ref().map(|thread| {
            let [then, now] = [&self.start.thread, &self.end.thread].map(|raw| thread.evaluate(raw));
            counts(&then, &now, thread.has_reference())
        });
        let in_idle = self.settle_in_idle()?;
        let clock_counts_cycles = self.kernel.clock_counts_cycles();
        let is_scaled = self.mode.has(Mode::SCALED);
        let has_counters = self.processors.is_some();
        let meaning = Meaning { clock_counts_cycles, in_idle, is_scaled, has_counters };
        measure(&self.start, &self.end, meaning, &mut self.data, &mut self.room.lost);
        if let Some(processors) = &self.processors {
            for &(number, opening) in &self.room.lost {
                // Where that fails, what was measured of the others stands: the next reading tries again, and tells.
                let _ = processors.reopen(number, opening);
            }
        }
        self.check_turns()
    }

    /// Finds out whether the cycle counter goes on in idle, where that matters, and notes when it cannot be.
    fn settle_in_idle(&mut self) -> Result<InIdle, Error> {
        let Some(processors) = self.processors.as_ref().filter(|_| !self.kernel.clock_counts_cycles()) else {
            return Ok(InIdle::Unknown);
        };
        processors.find_out_in_idle(&self.start.processors, &self.end.processors)?;
        let in_idle = processors.in_idle();
        let is_noted = self.notes.iter().any(|note| note == TAKEN_AS_HALTING);
        match (in_idle, is_noted) {
            (InIdle::Unknown, false) => self.notes.push(TAKEN_AS_HALTING.to_owned()),
            (InIdle::Counts | InIdle::Halts, true) => self.notes.retain(|note| note != TAKEN_AS_HALTING),
            _ => {}
        }
        Ok(in_idle)
    }

    /// Whether what was to be counted had a turn on the hardware.
    fn check_turns(&self) -> Result<(), Error> {
        if let Some(thread) = self.data.thread.filter(is_never) {
            return Err(describe::never_ran(thread.enabled_ns));
        }
        let of_state = |state| self.data.processors.iter().filter(move |data| data.state == state);
        let mut never = of_state(ProcessorState::NeverRan);
        match never.next() {
            Some(data) if of_state(ProcessorState::Measured).next().is_none() => {
                Err(describe::never_ran(data.measured.enabled_ns))
            }
            _ => Ok(()),
        }
    }
}

/// What is noted while nothing is known of the cycle counter in idle.
const TAKEN_AS_HALTING: &str = "whether the cycle counter goes on in idle could not be found out, since no processor was idle: it \
    is taken as halting";

impl fmt::Debug for Cpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpi").field("mode", &self.mode).field("data", &self.data).finish_non_exhaustive()
    }
}

/// Whether a thread was to be counted, and never was.
fn is_never(thread: &crate::Counts) -> bool {
    thread.enabled_ns > 0 && thread.running_ns == 0
}

impl Mode {
    /// Whether the kernel's account of busy time is needed: to be told, or because the cycle counter tells busy cycles only.
    fn wants_times(self, kernel: &dyn Kernel, processors: &Processors) -> bool {
        let may_halt = !kernel.clock_counts_cycles() && processors.in_idle() != InIdle::Counts;
        (self.has(Self::SCALED) || may_halt) && !processors.has_unhalted()
    }
}

#[cold]
fn unreadable_thread(failure: ReadFailure, tid: u32) -> Error {
    describe::unreadable(failure, Target::Thread(Some(tid)))
}

/// Reads the kernel's account of busy time into the readings.
fn account(kernel: &dyn Kernel, room: &mut Room, into: &mut Vec<ProcessorReading>) -> Result<(), Error> {
    kernel.times(&mut room.times).map_err(|reason| {
        Error::new(ErrorKind::System, format!("how busy the processors are cannot be read: {reason}"))
    })?;
    put_times(&room.times, into);
    Ok(())
}

/// Puts the times into the readings, making room for all processors that have some.
fn put_times(times: &[Times], into: &mut Vec<ProcessorReading>) {
    for reading in into.iter_mut() {
        (reading.busy, reading.total) = (0, 0);
    }
    for times in times {
        let place = times.processor as usize;
        if into.len() <= place {
            into.resize(place + 1, ProcessorReading::default());
        }
        (into[place].busy, into[place].total) = (times.busy, times.total);
    }
}

fn no_trace() -> Error {
    Error::new(ErrorKind::NoTrace, "tracing was asked for, and no trace is open")
}

#[cfg(test)]
mod tests;
