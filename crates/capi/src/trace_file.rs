//! The trace of the process: one file for the hooks of all instances.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_counters::IgnorePoison;
use tachograph_cpi::trace::Trace;

use crate::code::Code;
use crate::environment;
use crate::failure::{Failure, call};

/// The trace of the process.
#[derive(Debug)]
struct TraceState {
    /// The open trace.
    trace: Option<Arc<Trace>>,
    /// Whether the environment variable was read, or the program opened a trace.
    is_initialized: bool,
    /// The process to which this state belongs; 0 before the first use.
    process_id: u32,
}

static STATE: Mutex<TraceState> =
    Mutex::new(TraceState { trace: None, is_initialized: false, process_id: 0 });

/// The process whose trace is closed at its exit; 0 for none.
static PROCESS_WITH_TRACE: AtomicU32 = AtomicU32::new(0);

fn state() -> MutexGuard<'static, TraceState> {
    // If creating a trace panics, the state is unchanged, so a poisoned lock can be ignored.
    let mut state = STATE.lock().ignore_poison();
    let process_id = std::process::id();
    if state.process_id != process_id {
        // A forked child does not write to its parent's trace; it may open one of its own.
        *state = TraceState { trace: None, is_initialized: false, process_id };
    }
    state
}

impl TraceState {
    fn create(&mut self, path: &Path) -> Result<(), Failure> {
        self.trace = Some(Arc::new(Trace::create(path)?));
        self.is_initialized = true;
        PROCESS_WITH_TRACE.store(self.process_id, Ordering::Relaxed);
        environment::at_exit(close_at_exit);
        Ok(())
    }
}

pub(crate) fn current() -> Option<Arc<Trace>> {
    state().trace.clone()
}

/// Opens the trace that `TACHO_CPI_TRACE` names, unless an earlier call did so or the program has opened a trace itself.
pub(crate) fn open_from_environment() -> Result<(), Failure> {
    let mut state = state();
    if state.is_initialized {
        return Ok(());
    }
    match environment::trace_path() {
        Some(path) => state.create(&path).map_err(|failure| Failure {
            text: format!("{} (The environment variable TACHO_CPI_TRACE names the file.)", failure.text)
                .into(),
            ..failure
        }),
        None => {
            state.is_initialized = true;
            Ok(())
        }
    }
}

pub(crate) fn open(path: &Path) -> Result<(), Failure> {
    let mut state = state();
    if state.trace.is_some() {
        return Err(Failure::new(
            Code::PU_ERROR_INCORRECT_STATE,
            "A trace is open already, by TachoTraceOpen or by the environment variable TACHO_CPI_TRACE: call \
             TachoTraceClose first.",
        ));
    }
    state.create(path)
}

/// Closes the trace, after writing all its hooks to the file.
pub(crate) fn close() -> Result<(), Failure> {
    // The state is unlocked before the trace is closed, so that a slow disk does not block `current`.
    let trace = state().trace.take();
    let Some(trace) = trace else {
        return Err(Failure::new(Code::PU_ERROR_NO_BUFFER, "No trace is open: call TachoTraceOpen first."));
    };
    Ok(trace.close()?)
}

/// Called at exit: closes a trace that the program has left open, to write its end time.
extern "C" fn close_at_exit() {
    // A forked child without a trace of its own has nothing to close, and may have inherited a lock that is held.
    if PROCESS_WITH_TRACE.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    call(|| {
        let trace = state().trace.take();
        if let Some(Err(error)) = trace.map(|trace| trace.close()) {
            // No caller is left to receive the error.
            eprintln!("libtachograph: cannot close the trace: {error}");
        }
        Ok(())
    });
}
