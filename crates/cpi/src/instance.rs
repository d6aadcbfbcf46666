//! Instances of [`Cpi`], which measure intervals with counters that keep running.

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

/// The pair of events that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Events {
    /// Cycles and instructions of the hardware.
    #[default]
    Hardware,
    /// Task clock (for processors: processor clock, in ns) instead of cycles, page faults instead of instructions. The
    /// result is not a CPI; this serves to test and measure the counting itself on machines without hardware counters.
    Software,
}

/// What to measure and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// What to measure.
    pub mode: Mode,
    /// Count user code only. If counting the kernel is not permitted, threads are counted this way even if this is false;
    /// [`CpiData::is_user_only`] reports it.
    pub user_only: bool,
    /// If processor counters are unavailable, measure only busy and idle shares; [`Cpi::why_no_cpi`] returns the cause.
    pub or_shares_only: bool,
    /// The events to count.
    pub events: Events,
}

impl From<Mode> for Options {
    fn from(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }
}

/// Measures an interval, for example a region of code between [`start`](Self::start) and [`get`](Self::get), with counters that
/// all instances of the process share.
///
/// The counters run until the last instance is dropped; instances only read them and subtract readings. So instances can be
/// nested, overlap, and be used by any thread. Reading a processor's counters interrupts it for about 20 us, so avoid `start`
/// and `get` over many processors in tight loops. Measuring the thread alone ([`Mode::ON_THREAD`]) costs at most one
/// system call.
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
    buffers: Buffers,
    trace: Option<Arc<Trace>>,
    hook: Hook,
}

/// Buffers that are reused by each reading.
#[derive(Debug, Default)]
struct Buffers {
    online: Vec<u32>,
    times: Vec<Times>,
    /// The processors whose counters must be reopened; see [`measure`].
    lost: Vec<(u32, u32)>,
}

/// The minor code and the label of the hooks that `get` writes.
#[derive(Debug, Default)]
struct Hook {
    minor: u8,
    label: Option<String>,
}

impl Cpi {
    /// Creates an instance and starts its interval.
    ///
    /// # Errors
    ///
    /// If the events of the mode cannot be counted.
    pub fn new(options: impl Into<Options>) -> Result<Self, Error> {
        Self::with_kernel(machine(), options.into())
    }

    /// Like [`new`](Self::new), on a given machine.
    pub(crate) fn with_kernel(kernel: Arc<dyn Kernel>, options: Options) -> Result<Self, Error> {
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
            let shared = ThreadCounters::for_this_thread(&kernel, events, user_only)?;
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
            buffers: Buffers::default(),
            trace: None,
            hook: Hook::default(),
        };
        cpi.start()?;
        // Allocates the buffers of `get`, so that the first call does not disturb the measurement.
        cpi.end = cpi.start.clone();
        cpi.data.processors.reserve(cpi.start.processors.len());
        Ok(cpi)
    }

    /// Starts a new interval.
    ///
    /// # Errors
    ///
    /// If a counter cannot be read; the instance then has no valid interval until `start` succeeds.
    pub fn start(&mut self) -> Result<(), Error> {
        begin_reading(&*self.kernel);
        // Values that must be closest to the region are read last. The two `far_ticks` readings enclose the two `now`
        // readings: if the thread is interrupted in between, an interval seems shorter, and no processor seems to have
        // been halted.
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

    /// Measures from the last start, or from the creation of the instance, until now. The interval continues.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NeverRan`] if the counters never ran; if a counter cannot be read; if the mode traces and the trace cannot
    /// be written.
    pub fn get(&mut self) -> Result<&CpiData, Error> {
        self.read_end()?;
        self.finish_reading()
    }

    /// Like [`get`](Self::get), but the next interval starts at the same reading, so no counts between the intervals are lost.
    /// Counters that never ran keep their start, so their next interval includes this one.
    ///
    /// # Errors
    ///
    /// Same as `get`. The next interval has started even on an error, unless a counter could not be read.
    pub fn get_and_start(&mut self) -> Result<&CpiData, Error> {
        self.read_end()?;
        let outcome = self.finish_reading().map(|_| ());
        let keeps_thread = self.data.thread.is_some_and(|thread| has_never_run(&thread));
        let thread = self.start.thread;
        let never_ran = |index: usize| {
            self.data.processors.get(index).is_some_and(|data| data.state == ProcessorState::NeverRan)
        };
        for (index, now) in self.end.processors.iter_mut().enumerate() {
            if let Some(then) = self.start.processors.get(index).filter(|_| never_ran(index)) {
                *now = *then;
            }
        }
        std::mem::swap(&mut self.start, &mut self.end);
        if keeps_thread {
            self.start.thread = thread;
        }
        outcome.map(|()| &self.data)
    }

    /// Like [`get`](Self::get), and writes hooks with `minor` and `label` to the trace. `flags` selects them
    /// ([`Mode::TRACE_SUMMARY`], [`Mode::TRACE_DETAILED`]); if neither is set, the instance's mode selects them.
    ///
    /// # Errors
    ///
    /// Same as `get`; [`ErrorKind::NoTrace`] if no trace is set.
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

    /// The result of the last `get`, even if it returned an error.
    pub fn last(&self) -> &CpiData {
        &self.data
    }

    /// Sets the minor code and label of the hooks that `get` writes.
    pub fn set_trace_hook(&mut self, minor: u8, label: Option<&str>) {
        self.hook = Hook { minor, label: label.map(str::to_owned) };
    }

    /// Replaces the trace that receives the hooks.
    pub fn set_trace(&mut self, trace: Option<Arc<Trace>>) {
        self.trace = trace;
    }

    /// The mode in effect: the requested flags and those they imply.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Why there is no CPI of processors, if only busy and idle shares are measured.
    pub fn why_no_cpi(&self) -> Option<&Error> {
        self.why_no_cpi.as_ref()
    }

    /// Limitations of the measurement, one sentence each, such as that work in the kernel is not counted.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Reads the processors, the current one last, because it is nearest to the region.
    fn start_processors(&mut self) -> Result<(), Error> {
        let readings = &mut self.start.processors;
        if let Some(processors) = &self.processors {
            processors.update_online(&mut self.buffers.online)?;
            if self.mode.needs_times(&*self.kernel, processors) {
                read_times(&*self.kernel, &mut self.buffers, readings)?;
            }
            if processors.read(readings)? {
                return Ok(());
            }
            // Processors that were offline are opened again, so the next interval includes them.
            processors.remove_offline(readings, &self.buffers.online);
            processors.read(readings).map(|_| ())
        } else {
            read_times(&*self.kernel, &mut self.buffers, readings)
        }
    }

    /// Reads everything, nearest to the region first.
    #[inline(always)]
    fn read_end(&mut self) -> Result<(), Error> {
        begin_reading(&*self.kernel);
        if let Some(thread) = &self.thread
            && let Err(failure) = thread.read(&mut self.end.thread)
        {
            return Err(unreadable_thread(failure, self.data.tid));
        }
        self.read_others()
    }

    #[inline(never)]
    fn read_others(&mut self) -> Result<(), Error> {
        self.end.ticks = clock_ticks(&*self.kernel);
        if self.mode.has_processors() {
            let readings = &mut self.end.processors;
            if let Some(processors) = &self.processors {
                processors.read(readings)?;
                processors.update_online(&mut self.buffers.online)?;
                processors.remove_offline(readings, &self.buffers.online);
                if self.mode.needs_times(&*self.kernel, processors) {
                    read_times(&*self.kernel, &mut self.buffers, readings)?;
                }
            } else {
                read_times(&*self.kernel, &mut self.buffers, readings)?;
            }
        }
        (self.end.now, self.end.far_ticks) = (self.kernel.now(), clock_ticks(&*self.kernel));
        Ok(())
    }

    /// Evaluates the readings, and writes the trace if the mode requests it.
    fn finish_reading(&mut self) -> Result<&CpiData, Error> {
        let outcome = self.evaluate();
        let mut traced = Ok(());
        if self.mode.has_any(Mode::TRACE_ON_GET | Mode::TRACE_ONLY_ON_GET) {
            let Some(trace) = &self.trace else { return outcome.and(Err(no_trace())).map(|()| &self.data) };
            traced = trace.write(&self.data, self.hook.minor, self.mode.traced(), self.hook.label.as_deref());
        }
        outcome.and(traced).map(|()| &self.data)
    }

    /// Computes the result from the readings at the start and at the end.
    fn evaluate(&mut self) -> Result<(), Error> {
        self.data.thread = self.thread.as_ref().map(|thread| {
            let [then, now] = [&self.start.thread, &self.end.thread].map(|raw| thread.evaluate(raw));
            counts(&then, &now, thread.has_reference())
        });
        let in_idle = self.determine_in_idle()?;
        let clock_counts_cycles = self.kernel.clock_counts_cycles();
        let is_scaled = self.mode.has(Mode::SCALED);
        let has_counters = self.processors.is_some();
        let meaning = Meaning { clock_counts_cycles, in_idle, is_scaled, has_counters };
        measure(&self.start, &self.end, meaning, &mut self.data, &mut self.buffers.lost);
        if let Some(processors) = &self.processors {
            for &(id, opening) in &self.buffers.lost {
                // If reopening fails, the results of the other processors remain valid; the next reading tries again and
                // reports the error.
                let _ = processors.reopen(id, opening);
            }
        }
        self.check_scheduled()
    }

    /// Determines whether the cycle counter runs in idle, if that matters, and adds a note if it cannot be determined.
    fn determine_in_idle(&mut self) -> Result<InIdle, Error> {
        let Some(processors) = self.processors.as_ref().filter(|_| !self.kernel.clock_counts_cycles()) else {
            return Ok(InIdle::Unknown);
        };
        processors.observe_idle(&self.start.processors, &self.end.processors)?;
        let in_idle = processors.in_idle();
        let is_noted = self.notes.iter().any(|note| note == ASSUMED_HALTING);
        match (in_idle, is_noted) {
            (InIdle::Unknown, false) => self.notes.push(ASSUMED_HALTING.to_owned()),
            (InIdle::Counts | InIdle::Halts, true) => self.notes.retain(|note| note != ASSUMED_HALTING),
            _ => {}
        }
        Ok(in_idle)
    }

    /// Checks that the counters were scheduled on the hardware in the interval.
    fn check_scheduled(&self) -> Result<(), Error> {
        if let Some(thread) = self.data.thread.filter(has_never_run) {
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

/// The note shown while it is unknown whether the cycle counter runs in idle.
const ASSUMED_HALTING: &str = "no processor was idle, so it is unknown whether the cycle counter runs in idle: it is assumed to \
    halt";

impl fmt::Debug for Cpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpi").field("mode", &self.mode).field("data", &self.data).finish_non_exhaustive()
    }
}

/// Whether the thread's counters were enabled but never ran.
fn has_never_run(thread: &crate::Counts) -> bool {
    thread.enabled_ns > 0 && thread.running_ns == 0
}

impl Mode {
    /// Whether the kernel's busy times are needed: to report them, or because the cycle counter counts busy cycles only.
    fn needs_times(self, kernel: &dyn Kernel, processors: &Processors) -> bool {
        let may_halt = !kernel.clock_counts_cycles() && processors.in_idle() != InIdle::Counts;
        (self.has(Self::SCALED) || may_halt) && !processors.has_unhalted()
    }
}

#[cold]
fn unreadable_thread(failure: ReadFailure, tid: u32) -> Error {
    describe::read_error(failure, Target::Thread(Some(tid)))
}

/// Reads the kernel's busy times into the readings.
fn read_times(
    kernel: &dyn Kernel,
    buffers: &mut Buffers,
    into: &mut Vec<ProcessorReading>,
) -> Result<(), Error> {
    kernel.times(&mut buffers.times).map_err(|reason| {
        Error::new(ErrorKind::System, format!("the busy times of the processors cannot be read: {reason}"))
    })?;
    store_times(&buffers.times, into);
    Ok(())
}

/// Stores the times in the readings, extending the list to all processors that have times.
fn store_times(times: &[Times], into: &mut Vec<ProcessorReading>) {
    for reading in into.iter_mut() {
        (reading.busy, reading.total) = (0, 0);
    }
    for times in times {
        let index = times.processor as usize;
        if into.len() <= index {
            into.resize(index + 1, ProcessorReading::default());
        }
        (into[index].busy, into[index].total) = (times.busy, times.total);
    }
}

fn no_trace() -> Error {
    Error::new(ErrorKind::NoTrace, "tracing was requested, but no trace is open")
}

#[cfg(test)]
mod tests;
