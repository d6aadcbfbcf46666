//! Instances: intervals over counters that run on.

use std::fmt;
use std::sync::Arc;

use crate::data::ProcessorState;
use crate::describe;
use crate::event::Target;
use crate::interval::{Meaning, Snapshot, measure};
use crate::kernel::{Kernel, Times, machine};
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
        let mut data = CpiData { tid: kernel.thread(), is_user_only: user_only, ..CpiData::default() };
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
                data.is_user_only = processors.is_none();
                notes.push(
                    "work in the kernel is not counted on the thread, since kernel.perf_event_paranoid forbids it"
                        .to_owned(),
                );
            }
            thread = Some(shared);
        }
        if let Some(processors) = &processors {
            if processors.counts_kernel_all_the_same() {
                data.is_user_only = false;
                notes.push(
                    "the hardware cannot count user code alone: work in the kernel is counted too".to_owned(),
                );
            }
            let is_needed = !kernel.clock_counts_cycles();
            if is_needed && processors.in_idle() == InIdle::Unknown {
                notes.push(
                    "whether the cycle counter goes on in idle could not be found out, since no processor was idle: \
                     it is taken as halting"
                        .to_owned(),
                );
            }
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
    /// When a counter cannot be read.
    pub fn start(&mut self) -> Result<(), Error> {
        self.kernel.begin_reading();
        // The nearer to the region, the later it is read.
        (self.start.now, self.start.far_ticks) = (self.kernel.now(), self.kernel.clock_ticks());
        if self.mode.has_processors() {
            read_processors(
                &*self.kernel,
                self.processors.as_deref(),
                self.mode,
                &mut self.room,
                &mut self.start.processors,
                true,
            )?;
        }
        self.start.ticks = self.kernel.clock_ticks();
        if let Some(thread) = &self.thread {
            self.start.thread = thread
                .read()
                .map_err(|failure| describe::unreadable(failure, Target::Thread(Some(self.data.tid))))?;
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
    /// As `get`; the next interval has started all the same.
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

    /// Reads everything, the nearest to the region first.
    fn read_end(&mut self) -> Result<(), Error> {
        self.kernel.begin_reading();
        if let Some(thread) = &self.thread {
            self.end.thread = thread
                .read()
                .map_err(|failure| describe::unreadable(failure, Target::Thread(Some(self.data.tid))))?;
        }
        self.end.ticks = self.kernel.clock_ticks();
        if self.mode.has_processors() {
            read_processors(
                &*self.kernel,
                self.processors.as_deref(),
                self.mode,
                &mut self.room,
                &mut self.end.processors,
                false,
            )?;
        }
        (self.end.now, self.end.far_ticks) = (self.kernel.now(), self.kernel.clock_ticks());
        Ok(())
    }

    /// Evaluates what was read, and traces where the mode says so.
    fn conclude(&mut self) -> Result<&CpiData, Error> {
        let outcome = self.evaluate();
        if self.mode.has_any(Mode::TRACE_ON_GET | Mode::TRACE_ONLY_ON_GET) {
            let trace = self.trace.as_ref().ok_or_else(no_trace)?;
            trace.write(&self.data, self.hook.minor, self.mode.traced(), self.hook.label.as_deref())?;
        }
        outcome.map(|()| &self.data)
    }

    fn evaluate(&mut self) -> Result<(), Error> {
        let meaning = Meaning {
            clock_counts_cycles: self.kernel.clock_counts_cycles(),
            in_idle: self.processors.as_ref().map_or(InIdle::Unknown, |processors| processors.in_idle()),
            is_scaled: self.mode.has(Mode::SCALED),
            has_counters: self.processors.is_some(),
            has_thread: self.thread.is_some(),
            has_reference: self.thread.as_ref().is_some_and(|thread| thread.has_reference()),
        };
        measure(&self.start, &self.end, meaning, &mut self.data, &mut self.room.lost);
        if let Some(processors) = &self.processors {
            for &(number, opening) in &self.room.lost {
                processors.reopen(number, opening)?;
            }
            if meaning.in_idle == InIdle::Unknown && !meaning.clock_counts_cycles {
                for (then, now) in self.start.processors.iter().zip(&self.end.processors) {
                    if let Some(counts) =
                        now.counts.since(&then.counts).filter(|_| then.opening == now.opening)
                    {
                        processors.judge_idle(&counts);
                    }
                }
            }
        }
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

impl fmt::Debug for Cpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpi").field("mode", &self.mode).field("data", &self.data).finish_non_exhaustive()
    }
}

/// Whether a thread was to be counted, and never was.
fn is_never(thread: &crate::Counts) -> bool {
    thread.enabled_ns > 0 && thread.running_ns == 0
}

/// Reads the counters of the processors, and the times that are needed beside them: farther from the region.
fn read_processors(
    kernel: &dyn Kernel,
    processors: Option<&Processors>,
    mode: Mode,
    room: &mut Room,
    into: &mut Vec<ProcessorReading>,
    times_first: bool,
) -> Result<(), Error> {
    let Some(processors) = processors else {
        read_times(kernel, room)?;
        let count = room.times.iter().map(|times| times.processor as usize + 1).max().unwrap_or_default();
        into.clear();
        into.resize(count, ProcessorReading::default());
        put_times(&room.times, into);
        return Ok(());
    };
    let is_halting = !kernel.clock_counts_cycles() && processors.in_idle() != InIdle::Counts;
    let wants_times = (mode.has(Mode::SCALED) || is_halting) && !processors.has_unhalted();
    if wants_times && times_first {
        read_times(kernel, room)?;
    }
    processors.read(into, &mut room.online)?;
    if wants_times && !times_first {
        read_times(kernel, room)?;
    }
    if wants_times {
        put_times(&room.times, into);
    }
    Ok(())
}

fn read_times(kernel: &dyn Kernel, room: &mut Room) -> Result<(), Error> {
    kernel.times(&mut room.times).map_err(|reason| {
        Error::new(ErrorKind::System, format!("how busy the processors are cannot be read: {reason}"))
    })
}

fn put_times(times: &[Times], into: &mut [ProcessorReading]) {
    for times in times {
        if let Some(reading) = into.get_mut(times.processor as usize) {
            (reading.busy, reading.total) = (times.busy, times.total);
        }
    }
}

fn no_trace() -> Error {
    Error::new(ErrorKind::NoTrace, "tracing was asked for, and no trace is open")
}

#[cfg(test)]
mod tests;
